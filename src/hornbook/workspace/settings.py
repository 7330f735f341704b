"""The settings of a workspace: every key of `.hornbook/config.yaml`, its type and its default."""

from dataclasses import dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path, PurePosixPath

from hornbook.agents.blindness import Sight
from hornbook.agents.profile import RESERVED, OwnCommand, problems_of
from hornbook.errors import BadGlob, ConfigError, UsageError
from hornbook.execute.hooks.tools import DEFAULT_TOOLS
from hornbook.gates.definitions import define
from hornbook.gates.settings import Confine, GateSettings
from hornbook.model.budget import CAPABILITIES, SHIPPED_MODELS, Budget, Endpoint, Models
from hornbook.model.terms import Severity
from hornbook.text.globs import parse, parse_set
from hornbook.text.tokens import COUNTERS, DEFAULT_COUNTER
from hornbook.workspace.config_file import ConfigReading
from hornbook.workspace.serve_settings import ServeSettings, check_serve

CONFIG = Path(".hornbook") / "config.yaml"
FOREIGN_CONFIG = Path(".semspec") / "config.yaml"
"""Whose gates are read where there is no configuration of ours."""


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


def template(gates: str = "") -> str:
    """A config file that says nothing yet: every key with its default, commented out.

    `gates` is a block that stands there instead of the commented one.
    """
    lines = ["# Hornbook's settings; docs/settings.md explains them. Unknown keys are errors.\n"]
    for each in fields(Settings):
        default = getattr(Settings(), each.name)
        shown = "[]" if default == () else default
        lines.append(f"# {each.metadata['meaning']}")
        if not is_dataclass(default):
            lines.append(f"# {each.name}: {shown}\n")
            continue
        if each.name == "gates" and gates:
            lines.append(gates)
            continue
        lines.append(f"# {each.name}:")
        for part in fields(default):
            value = getattr(default, part.name)
            plain = {"": '""', (): "[]", False: "false", True: "true"}
            shown = plain.get(value, value) if isinstance(value, str | tuple | bool) else value
            lines.append(f"#   {part.name}: {shown}  # {part.metadata['meaning']}")
        lines.append("")
    return "\n".join(lines)


def load(root: Path) -> Settings:
    """The settings of the workspace at `root`; defaults where nothing is said.

    Raises:
        ConfigError: With every problem of the file, each with its line and remedy.
    """
    path = root / CONFIG
    if not path.is_file():
        return Settings()
    return parse_settings(path.read_bytes())


def parse_settings(data: bytes) -> Settings:
    """The settings that a config file states.

    Raises:
        ConfigError: With every problem of the file, each with its line and remedy.
    """
    reading = ConfigReading(CONFIG.as_posix())
    text = _decoded(data, CONFIG.as_posix())
    settings = reading.read(text, Settings)
    _check(settings, reading)
    _check_models(settings.models, reading)
    _check_agents(settings, reading)
    reading.problems += define(settings.gates).problems
    _check_guard(settings.guard, reading)
    check_serve(settings.serve, reading)
    reading.finish()
    return settings


def parse_foreign_gates(data: bytes) -> GateSettings | None:
    """The gates that another tool's configuration states; its other keys are not ours to judge.

    Raises:
        ConfigError: With every problem of the block, each with its line and remedy.
    """
    reading = ConfigReading(FOREIGN_CONFIG.as_posix())
    text = _decoded(data, FOREIGN_CONFIG.as_posix())
    settings = reading.read_key(text, "gates", GateSettings)
    if settings is not None:
        reading.problems += define(settings).problems
    reading.finish()
    return settings


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise ConfigError([f"{name}: not UTF-8 ({problem}): save it as UTF-8."]) from problem


def _check(settings: Settings, reading: ConfigReading) -> None:
    counters = [name for name in COUNTERS if name != "heuristic"]
    reading.check(
        "counter",
        f"`counter` is {settings.counter!r}: write {' or '.join(counters)}.",
        valid=settings.counter in counters,
    )
    reading.check(
        "agents_merge",
        f"`agents_merge` is {settings.agents_merge!r}: write chain or nearest.",
        valid=settings.agents_merge in {"chain", "nearest"},
    )
    reading.check(
        "reserve",
        f"`reserve` is {settings.reserve!r}: write tokens (4000) or a share (10%).",
        valid=_is_reserve(settings.reserve),
    )
    ordered = 0 < settings.chunk_minimum <= settings.chunk_target <= settings.chunk_maximum
    for key in ("chunk_minimum", "chunk_target", "chunk_maximum"):
        reading.check(
            key, "0 < chunk_minimum <= chunk_target <= chunk_maximum must hold.", valid=ordered
        )
    reading.check(
        "largest_file", "`largest_file` must be above 0.", valid=settings.largest_file > 0
    )
    reading.check(
        "review.block_on",
        f"`review.block_on` is {settings.review.block_on!r}: write {', '.join(Severity)}.",
        valid=settings.review.block_on in list(Severity),
    )
    reading.check(
        "review.gates",
        f"`review.gates` is {settings.review.gates!r}: write any or bound.",
        valid=settings.review.gates in {"any", "bound"},
    )
    reading.check(
        "gates.tests",
        f"`gates.tests` is {settings.gates.tests!r}: write off, warn or required.",
        valid=settings.gates.tests in {"off", "warn", "required"},
    )
    _check_confining(settings.gates, reading)
    reading.check(
        "review.confidence_percent",
        "`review.confidence_percent` must be at most 100.",
        valid=settings.review.confidence_percent <= 100,
    )
    reading.check(
        "checkpoint.percent",
        "`checkpoint.percent` must lie between 1 and 100.",
        valid=1 <= settings.checkpoint.percent <= 100,
    )
    database = settings.engine.database
    reading.check(
        "engine.database",
        f"`engine.database` is {database!r}: write a URL such as postgresql+psycopg://host/name.",
        valid=not database or "://" in database,
    )
    reading.check(
        "engine.parallel", "`engine.parallel` must be above 0.", valid=settings.engine.parallel > 0
    )
    beat, dead = settings.engine.heartbeat_seconds, settings.engine.dead_after_seconds
    for key in ("engine.heartbeat_seconds", "engine.dead_after_seconds"):
        text = "0 < heartbeat_seconds and 2 * heartbeat_seconds < dead_after_seconds must hold."
        reading.check(key, text, valid=0 < 2 * beat < dead)
    for key, patterns in (
        ("exclude", settings.exclude),
        ("code", settings.code),
        ("generated", settings.generated),
    ):
        for pattern in patterns:
            try:
                negated = parse(pattern).negated
            except BadGlob as problem:
                reading.check(key, str(problem), valid=False)
            else:
                text = f"`{pattern}` starts with `!`, which means nothing here: remove it."
                reading.check(key, text, valid=not negated)


def _check_confining(gates: GateSettings, reading: ConfigReading) -> None:
    reading.check(
        "gates.confine",
        f"`gates.confine` is {gates.confine!r}: write {', '.join(Confine)}.",
        valid=gates.confine in list(Confine),
    )
    for folder in gates.writable:
        text = f"`gates.writable` has {folder!r}: write the whole path of a folder, or `~/…`."
        whole = Path(folder).is_absolute() or folder.startswith("~/")
        reading.check("gates.writable", text, valid=whole and ".." not in Path(folder).parts)


def _check_models(models: ModelSettings, reading: ConfigReading) -> None:
    endpoints = {**SHIPPED_MODELS.endpoints, **models.endpoints}
    for name, endpoint in models.endpoints.items():
        key = f"models.endpoints.{name}.max_tokens"
        reading.check(key, f"`{key}` must be above 0.", valid=endpoint.max_tokens > 0)
        key = f"models.endpoints.{name}.output_tokens"
        fits = endpoint.output_tokens < max(1, endpoint.max_tokens)
        reading.check(key, f"`{key}` must be below max_tokens, which it is a part of.", valid=fits)
    for capability, names in models.capabilities.items():
        key = f"models.capabilities.{capability}"
        known = ", ".join(CAPABILITIES)
        reading.check(
            key,
            f"no capability `{capability}`: known are {known}.",
            valid=capability in CAPABILITIES,
        )
        for name in names:
            near = get_close_matches(name, endpoints, 1)
            hint = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(endpoints)}."
            reading.check(key, f"no endpoint `{name}`: {hint}", valid=name in endpoints)


def _check_guard(guard: GuardSettings, reading: ConfigReading) -> None:
    for role, patterns in guard.tools.items():
        key = f"guard.tools.{role}"
        near = get_close_matches(role, DEFAULT_TOOLS, 1)
        hint = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(DEFAULT_TOOLS)}."
        reading.check(key, f"no role `{role}`: {hint}", valid=role in DEFAULT_TOOLS)
        try:
            parse_set(patterns)
        except BadGlob as problem:
            reading.check(key, str(problem), valid=False)
    for folder in guard.scratch:
        text = f"`guard.scratch` has {folder!r}: write the whole path of a folder."
        reading.check("guard.scratch", text, valid=Path(folder).is_absolute())


def _check_agents(settings: Settings, reading: ConfigReading) -> None:
    reading.check(
        "developer_sees",
        f"`developer_sees` is {settings.developer_sees!r}: write {', '.join(Sight)}.",
        valid=settings.developer_sees in list(Sight),
    )
    for name, own in settings.agents.items():
        above = f"agents.{name}"
        if f"{above}.command" not in reading.lines:
            continue  # that it is missing was said
        for key, text in problems_of(name, own, RESERVED):
            stated = f"{above}.{key}" if f"{above}.{key}" in reading.lines else above
            reading.check(stated, text, valid=False)


def _is_reserve(text: str) -> bool:
    number = text.removesuffix("%")
    return number.isascii() and number.isdigit() and len(number) < 10 and int(number) > 0


def find_root(given: str | None, environment: str | None, start: Path) -> Path:
    """The workspace's root: what was given, else the nearest folder that looks like one.

    Raises:
        UsageError: The folder that was given does not exist.
    """
    named = given or environment
    if named:
        root = Path(named).resolve()
        if not root.is_dir():
            raise UsageError(f"root {named!r} is no folder: give an existing one.")
        return root
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / ".hornbook").is_dir() or (folder / ".git").exists():
            return folder
    return start
