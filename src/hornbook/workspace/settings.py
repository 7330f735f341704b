"""The settings of a workspace: every key of `.hornbook/config.yaml`, its type and its default."""

from dataclasses import dataclass, field
from pathlib import PurePosixPath

from hornbook.agents.profile import OwnCommand
from hornbook.gates.settings import GateSettings
from hornbook.model.budget import SHIPPED_MODELS, Budget, Endpoint, Models
from hornbook.text.tokens import DEFAULT_COUNTER
from hornbook.workspace.serve_settings import ServeSettings


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What a team says about models: added to, and taken before, the shipped registry."""

    endpoints: dict[str, Endpoint] = field(
        default_factory=dict,
        metadata={"meaning": "Models by name: provider, model, max_tokens and what else is known."},
    )
    capabilities: dict[str, tuple[str, ...]] = field(
        default_factory=dict,
        metadata={"meaning": "For developing, reviewing, planning: endpoints, best first."},
    )


@dataclass(frozen=True, slots=True)
class ReviewSettings:
    """What a review is held to."""

    block_on: str = field(
        default="error",
        metadata={"meaning": "From which severity a violated rule forbids an approval."},
    )
    confidence_percent: int = field(
        default=70, metadata={"meaning": "Below which confidence a person decides."}
    )
    gates: str = field(
        default="any",
        metadata={"meaning": "Whose gate results count: `any`, or `bound` to the change's tree."},
    )


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Where events are kept, and what the loop may do and cost."""

    database: str = field(
        default="",
        metadata={
            "meaning": "The URL of a shared database for events; empty is SQLite in `.hornbook`."
        },
    )
    agent: str = field(
        default="",
        metadata={"meaning": "Who works unless `--agent` says so: `claude`, `claude,codex` …"},
    )
    parallel: int = field(
        default=2, metadata={"meaning": "How many runs one process works on at the same time."}
    )
    run_minutes: int = field(
        default=0,
        metadata={"meaning": "How long a run may work and wait for agents; 0 is no limit."},
    )
    heartbeat_seconds: int = field(
        default=5, metadata={"meaning": "How often a worker tells that it lives."}
    )
    dead_after_seconds: int = field(
        default=30,
        metadata={"meaning": "After how long without a word others take a worker's runs."},
    )
    attempts: int = field(
        default=3,
        metadata={
            "meaning": "Attempts at a task before a person decides; a run keeps what it began with."
        },
    )
    reask: int = field(
        default=0,
        metadata={"meaning": "How often a reviewer is asked again when a review is invalid."},
    )
    subtasks: int = field(
        default=3, metadata={"meaning": "How many subtasks a developer may ask for in a task."}
    )
    most_steps: int = field(
        default=200, metadata={"meaning": "Steps of a run before a person decides."}
    )
    most_tokens: int = field(
        default=0,
        metadata={"meaning": "Tokens of a run, as agents tell them; 0 is no limit."},
    )
    most_seconds: int = field(
        default=7200,
        metadata={"meaning": "Seconds of work of a run; waiting does not count; 0 is no limit."},
    )
    most_cost_cents: int = field(
        default=0,
        metadata={"meaning": "What a run may cost in cents, where agents tell it; 0 is no limit."},
    )


@dataclass(frozen=True, slots=True)
class CheckpointSettings:
    """When a plan is checkpointed without anybody asking."""

    percent: int = field(
        default=60,
        metadata={"meaning": "Share of the task and transient tiers' room that makes one due."},
    )


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """What the guard of agent hosts lets each role do."""

    tools: dict[str, tuple[str, ...]] = field(
        default_factory=dict,
        metadata={"meaning": "For developer, reviewer, planner: the tools that replace its list."},
    )
    scratch: tuple[str, ...] = field(
        default=(),
        metadata={"meaning": "Folders outside the repository that a developer may write to."},
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """What a workspace is told to do differently; `docs/settings.md` explains each key."""

    sources: tuple[str, ...] = field(
        default=(),
        metadata={"meaning": "Folders or files to ingest beside the rule formats that are found."},
    )
    exclude: tuple[str, ...] = field(
        default=(), metadata={"meaning": "Globs of files that ingest never reads."}
    )
    counter: str = field(
        default=DEFAULT_COUNTER,
        metadata={"meaning": "The exact token counter for chunks and rules."},
    )
    chunk_target: int = field(
        default=1000, metadata={"meaning": "How many tokens a chunk should have."}
    )
    chunk_maximum: int = field(
        default=1500, metadata={"meaning": "How many tokens a chunk may have."}
    )
    chunk_minimum: int = field(
        default=200, metadata={"meaning": "Below how many tokens a chunk joins its neighbour."}
    )
    reserve: str = field(
        default="4000",
        metadata={"meaning": "Room for rules in a review: tokens, or a share such as `10%`."},
    )
    agents_merge: str = field(
        default="chain",
        metadata={
            "meaning": "Whether all AGENTS.md files above a file bind it (`chain`) "
            "or only the closest (`nearest`)."
        },
    )
    largest_file: int = field(
        default=8_388_608,
        metadata={"meaning": "Bytes above which a file is listed but its text is not read."},
    )

    code: tuple[str, ...] = field(
        default=(),
        metadata={"meaning": "Globs of source files whose declarations and imports are kept."},
    )
    generated: tuple[str, ...] = field(
        default=(),
        metadata={"meaning": "Globs of generated files, beside the shipped ones."},
    )
    budget: Budget = field(
        default=Budget(), metadata={"meaning": "The fixed parts of a context window."}
    )
    models: ModelSettings = field(
        default=ModelSettings(), metadata={"meaning": "Models and what they are used for."}
    )
    review: ReviewSettings = field(
        default=ReviewSettings(), metadata={"meaning": "What a review is held to."}
    )
    gates: GateSettings = field(
        default=GateSettings(),
        metadata={"meaning": "Checks that run before a reviewer looks (docs/gates.md)."},
    )
    engine: EngineSettings = field(
        default=EngineSettings(),
        metadata={"meaning": "Where events are kept, and what the loop may cost."},
    )
    checkpoint: CheckpointSettings = field(
        default=CheckpointSettings(), metadata={"meaning": "When plans are checkpointed."}
    )
    guard: GuardSettings = field(
        default=GuardSettings(), metadata={"meaning": "What agents may use and write."}
    )
    serve: ServeSettings = field(
        default=ServeSettings(), metadata={"meaning": "Who may ask the server, and for how much."}
    )
    agents: dict[str, OwnCommand] = field(
        default_factory=dict,
        metadata={"meaning": "Coding agents of your own by name: command, and how to read it."},
    )
    developer_sees: str = field(
        default="blind",
        metadata={
            "meaning": "What a developer sees of the rules: `blind`, `requirements`, `full`."
        },
    )

    @property
    def reserve_tokens(self) -> int:
        """The room for rules in tokens, in the reviewing model's window."""
        return self.reserve_of(self.window)

    @property
    def starts(self) -> tuple[str, ...]:
        """The configured sources as paths relative to the root; "" is the root itself."""
        cleaned = (PurePosixPath(source.lstrip("/")).as_posix() for source in self.sources)
        return tuple("" if source == "." else source for source in cleaned)

    @property
    def window(self) -> int:
        """The window of the model that reviews."""
        resolved = self.registry().resolve("reviewing")
        return resolved[1].max_tokens if resolved is not None else 0

    def reserve_of(self, window: int) -> int:
        """The room for rules in a window: a number, or a share of it."""
        if self.reserve.endswith("%"):
            return window * int(self.reserve[:-1]) // 100
        return int(self.reserve)

    def registry(self) -> Models:
        """The shipped models with the team's own before them."""
        return Models(
            endpoints={**SHIPPED_MODELS.endpoints, **self.models.endpoints},
            capabilities={**SHIPPED_MODELS.capabilities, **self.models.capabilities},
        )
