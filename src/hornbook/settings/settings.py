"""The settings of a workspace: every key of `.hornbook/config.yaml`, its type and its default."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath

from hornbook.settings.models import SHIPPED_MODELS, Models, ModelSettings
from hornbook.settings.reserve import AUTO, reserve_in
from hornbook.settings.surroundings import (
    AnswerSettings,
    AuditSettings,
    EngineSettings,
    GraphSettings,
    HomeSettings,
    LimitSettings,
    NotifySettings,
    ServeSettings,
)
from hornbook.text.tokens import DEFAULT_COUNTER

ROLES = ("developer", "reviewer", "planner")
"""Who works: the keys of `guard.tools`."""
KeyPlaces = tuple[tuple[str, str], ...]
"""Where each key of an entry stands, as `file, line N`; the entry itself has the key ""."""


class Confine(StrEnum):
    """Which gates are confined: those of runs, those that are run by hand too, or none."""

    RUNS = "runs"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class PresetChoice:
    """A preset, the folders that its gates run in, and what is different in all of these."""

    preset: str = field(metadata={"bare": True})
    folder: tuple[str, ...] = (".",)
    without: tuple[str, ...] = ()
    commands: dict[str, str] = field(default_factory=dict)
    places: KeyPlaces = field(default=(), metadata={"places": True}, compare=False)


@dataclass(frozen=True, slots=True)
class Override:
    """What is different in a gate of a preset; none keeps what the preset says."""

    name: str
    command: str | None = None
    required: bool | None = None
    threshold: int | None = None
    timeout: int | None = None
    folder: str | None = None
    environment: dict[str, str] | None = None
    after: tuple[str, ...] | None = None
    creates: tuple[str, ...] | None = None
    network: bool | None = None
    enabled: bool | None = None
    places: KeyPlaces = field(default=(), metadata={"places": True}, compare=False)


@dataclass(frozen=True, slots=True)
class Additional:
    """A gate of the team's own."""

    name: str
    command: str
    required: bool = True
    threshold: int | None = None
    timeout: int = 300
    folder: str = "."
    environment: dict[str, str] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    creates: tuple[str, ...] = ()
    network: bool | None = None
    places: KeyPlaces = field(default=(), metadata={"places": True}, compare=False)


@dataclass(frozen=True, slots=True)
class GateSettings:
    """The gates of a repository: presets, what is different in them, and what is added."""

    preset: tuple[PresetChoice, ...] = field(
        default=(),
        metadata={"meaning": "Shipped gates of a language or build tool, each for a folder."},
    )
    overrides: tuple[Override, ...] = field(
        default=(), metadata={"meaning": "What is different in a preset's gate, by its name."}
    )
    additional: tuple[Additional, ...] = field(
        default=(), metadata={"meaning": "Gates of your own: name, command and what else it needs."}
    )
    tests: str = field(
        default="warn",
        metadata={
            "meaning": "Changed code without tests: `off`, `warn`, or `required` to stop it."
        },
    )
    base_tests: str = field(
        default="auto",
        metadata={
            "meaning": "Whether BASE's tests run over HEAD where tests were edited: `auto`, `off`."
        },
    )
    mutate: bool = field(
        default=False,
        metadata={"meaning": "Whether runs try faults in added lines; `gates run --mutate` does."},
    )
    mutate_seconds: int = field(
        default=300, metadata={"meaning": "How many seconds all such faults may take together."}
    )
    confine: str = field(
        default="runs",
        metadata={
            "meaning": "Which gates are confined: those of `runs`, `always`, or `never` any."
        },
    )
    network: bool = field(
        default=False,
        metadata={"meaning": "Whether confined gates have the network; a gate may say otherwise."},
    )
    writable: tuple[str, ...] = field(
        default=(),
        metadata={"meaning": "Folders beside the tree that confined gates may write to."},
    )
    readable: tuple[str, ...] = field(
        default=(),
        metadata={"meaning": "What confined gates may read of your home beside installed tools."},
    )
    limits: LimitSettings = field(
        default=LimitSettings(), metadata={"meaning": "What a confined gate may use."}
    )


def place_of(places: KeyPlaces, key: str = "") -> str:
    """Where a key stands; the entry's own place where that is not known."""
    known = dict(places)
    return known.get(key) or known.get("") or "settings"


@dataclass(frozen=True, slots=True)
class Budget:
    """The fixed parts of a context window, in tokens, and the rules of task sizing."""

    system_prompt: int = field(
        default=2000, metadata={"meaning": "Room for the system prompt: role and tools."}
    )
    plan: int = field(
        default=1500, metadata={"meaning": "Room for the plan's situation and mission."}
    )
    task: int = field(
        default=2000, metadata={"meaning": "Room for a task, its criteria, constraints and gates."}
    )
    core: int = field(default=2000, metadata={"meaning": "Room for the files of the core tier."})
    notes: int = field(default=1500, metadata={"meaning": "Room for a plan's decisions and risks."})
    recent: int = field(
        default=2000, metadata={"meaning": "Room for what just happened: gates, log and diff."}
    )
    feedback: int = field(
        default=2000, metadata={"meaning": "Room for what the last attempt was told."}
    )
    rules: int = field(
        default=4000, metadata={"meaning": "What is planned for rules, whatever `reserve` allows."}
    )
    response: int = field(
        default=6400, metadata={"meaning": "Room for the developer's answer, in task sizing."}
    )
    working_memory: int = field(
        default=6000, metadata={"meaning": "Room for the reviewer's working memory."}
    )
    output: int = field(default=1000, metadata={"meaning": "Room for the review itself."})
    safety_percent: int = field(
        default=15, metadata={"meaning": "Share of the window that is never planned with."}
    )
    task_percent: int = field(
        default=40, metadata={"meaning": "Share of the available room that a task may fill."}
    )
    warn_files: int = field(
        default=3, metadata={"meaning": "More files than this are worth a warning."}
    )
    most_files: int = field(
        default=4, metadata={"meaning": "More files than this are too many for one task."}
    )
    generated_tokens: int = field(
        default=100, metadata={"meaning": "What a generated or binary file counts."}
    )


ESCALATED_WARNINGS = ("rule_not_understood", "unrelated_search", "narrow_search", "partial_search")
REVIEW_WARNINGS = (
    *ESCALATED_WARNINGS,
    "unbound_gates",
    "told_besides",
    "shared_evidence",
    "perhaps_forbidden",
    "unrelated_quote",
    "perhaps_beside",
    "unseen_generated",
    "corrected_line",
)


@dataclass(frozen=True, slots=True)
class AcceptedUnread:
    """A link or an include that cannot be read and keeps no review from counting until a day."""

    path: str
    until: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReviewSettings:
    """What a review is held to."""

    block_on: str = field(
        default="error",
        metadata={"meaning": "From which severity a violated rule forbids an approval."},
    )
    confidence_percent: str = field(
        default="70",
        metadata={"meaning": "Below which confidence a person decides; `auto` goes by records."},
    )
    reviewers: int = field(
        default=1,
        metadata={"meaning": "How many opinions an approval needs; the second is to refute."},
    )
    canary: int = field(
        default=0,
        metadata={"meaning": "One change in so many tries its reviewer in the loop; 0 is none."},
    )
    gates: str = field(
        default="any",
        metadata={"meaning": "Whose gate results count: `any`, or `bound` to the change's tree."},
    )
    base: str = field(
        default="",
        metadata={"meaning": "The branch that receipts' bases must be on; empty is the default."},
    )
    section_tokens: int = field(
        default=1500,
        metadata={"meaning": "A rule over so many tokens is judged section by section."},
    )
    unread: tuple[AcceptedUnread, ...] = field(
        default=(),
        metadata={
            "meaning": "Links and includes that may stay unread: `path`, `until` a day, `reason`."
        },
    )
    escalate_on: tuple[str, ...] = field(
        default=ESCALATED_WARNINGS,
        metadata={"meaning": "The warnings of a review over which a person is asked."},
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


SHIPPED = (
    *("claude", "codex", "opencode", "gemini", "aider"),
    *("qwen-code", "mini-swe-agent", "goose", "crush"),
)
SCRIPTED, EMBEDDED = "scripted", "embedded"
RESERVED = (*SHIPPED, SCRIPTED, EMBEDDED)
PLACEHOLDERS = (
    "prompt",
    "prompt_file",
    "model",
    "provider",
    "system",
    "schema",
    "schema_file",
    "scratch",
    "files",
    "role",
)
JSON_PATHS = ("text", "error", "input_tokens", "output_tokens", "cost", "files")


class PromptBy(StrEnum):
    """How the prompt reaches the command."""

    STDIN = "stdin"
    FILE = "file"
    ARGUMENT = "argument"


class Output(StrEnum):
    """What the command prints: plain text, one JSON document, or one JSON object a line."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"


class Sight(StrEnum):
    """What a developer sees of the rules: nothing, what they require, or all of them."""

    BLIND = "blind"
    REQUIREMENTS = "requirements"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class OwnCommand:
    """An agent of the team's own, as settings state it; a shipped one is changed without a command.

    `network` lists the hosts that it may reach, each with a port, beside its model's; `open` in it
    is the whole network.
    """

    command: str = ""
    reviewer: str | None = None
    prompt: str = "stdin"
    output: str = "text"
    text: str | None = None
    error: str | None = None
    input_tokens: str | None = None
    output_tokens: str | None = None
    cost: str | None = None
    files: str | None = None
    provider: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    inherits: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    home: HomeSettings = field(default_factory=HomeSettings)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a workspace is told to do differently; `docs/settings.md` explains each key."""

    repository: str = field(
        default="",
        metadata={"meaning": "Its name among others, which `init` writes and nothing changes."},
    )
    base_iri: str = field(
        default="https://w3id.org/hornbook/",
        metadata={"meaning": "What the IRI of everything in the graph begins with."},
    )
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
        default=AUTO,
        metadata={"meaning": "Room for rules in a review: `auto`, tokens, or a share (`10%`)."},
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

    graph: GraphSettings = field(
        default=GraphSettings(),
        metadata={"meaning": "Where the graph lies (docs/remote-store.md)."},
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
    answer: AnswerSettings = field(
        default=AnswerSettings(), metadata={"meaning": "Whose word counts on what a run asks."}
    )
    audit: AuditSettings = field(
        default=AuditSettings(), metadata={"meaning": "How long it is kept who did what."}
    )
    notify: NotifySettings = field(
        default=NotifySettings(),
        metadata={"meaning": "Whom to tell what waits for a person (docs/notify.md)."},
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
    places: KeyPlaces = field(default=(), metadata={"places": True}, compare=False)

    def states(self, key: str) -> bool:
        """Whether the file that these were read from has the key."""
        return key in dict(self.places)

    def place_of(self, key: str) -> str:
        """Where the key stands, as `file, line N`."""
        return place_of(self.places, key)

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
        """The room for rules in a window."""
        return reserve_in(self.reserve, window, self.budget.rules)

    def registry(self) -> Models:
        """The shipped models with the team's own before them."""
        return Models(
            endpoints={**SHIPPED_MODELS.endpoints, **self.models.endpoints},
            capabilities={**SHIPPED_MODELS.capabilities, **self.models.capabilities},
        )
