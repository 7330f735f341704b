"""Reads the settings of a workspace from its file, with every problem of it at once."""

from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

from hornbook.errors import BadGlob, ConfigError, UsageError
from hornbook.located import FileReading
from hornbook.settings.agent_block import RESERVED, Sight, problems_of
from hornbook.settings.serve_block import check_serve
from hornbook.settings.values import (
    CAPABILITIES,
    ROLES,
    SHIPPED_MODELS,
    Confine,
    GateSettings,
    GuardSettings,
    ModelSettings,
    Settings,
)
from hornbook.text.globs import parse, parse_set
from hornbook.text.tokens import COUNTERS
from hornbook.vocabulary.terms import Severity

CONFIG = Path(".hornbook") / "config.yaml"
FOREIGN_CONFIG = Path(".semspec") / "config.yaml"
"""Whose gates are read where there is no configuration of ours."""
Check = Callable[[GateSettings], Iterable[str]]
"""What the room of gates finds wrong with its block: everything, each with file and line."""


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


def load(root: Path, *checks: Check) -> Settings:
    """The settings of the workspace at `root`; defaults where nothing is said.

    Raises:
        ConfigError: With every problem of the file, each with its line and remedy.
    """
    path = root / CONFIG
    if not path.is_file():
        return Settings()
    return parse_settings(path.read_bytes(), *checks)


def parse_settings(data: bytes, *checks: Check) -> Settings:
    """The settings that a config file states; rooms hand in checks of what only they know.

    Raises:
        ConfigError: With every problem of the file, each with its line and remedy.
    """
    settings, known = _settings_in(data)
    problems = [*known, *(each for check in checks for each in check(settings.gates))]
    if problems:
        raise ConfigError(problems)
    return settings


@lru_cache(maxsize=16)
def _settings_in(data: bytes) -> tuple[Settings, tuple[str, ...]]:
    """Read each text once: a commit's settings are mostly those of the work tree."""
    return read_settings(data)


def read_settings(data: bytes) -> tuple[Settings, tuple[str, ...]]:
    """The settings that a config file states, and everything that is wrong with it."""
    reading = FileReading(CONFIG.as_posix())
    text = _decoded(data, CONFIG.as_posix())
    settings = reading.read(text, Settings)
    _check(settings, reading)
    _check_models(settings.models, reading)
    _check_agents(settings, reading)
    _check_guard(settings.guard, reading)
    check_serve(settings.serve, reading)
    return settings, tuple(reading.problems)


def parse_foreign_gates(data: bytes, *checks: Check) -> GateSettings | None:
    """The gates that another tool's configuration states; its other keys are not ours to judge.

    Raises:
        ConfigError: With every problem of the block, each with its line and remedy.
    """
    reading = FileReading(FOREIGN_CONFIG.as_posix())
    text = _decoded(data, FOREIGN_CONFIG.as_posix())
    settings = reading.read_key(text, "gates", GateSettings)
    if settings is not None:
        for check in checks:
            reading.problems += check(settings)
    reading.finish()
    return settings


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise ConfigError([f"{name}: not UTF-8 ({problem}): save it as UTF-8."]) from problem


def _check(settings: Settings, reading: FileReading) -> None:
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


def _check_confining(gates: GateSettings, reading: FileReading) -> None:
    reading.check(
        "gates.confine",
        f"`gates.confine` is {gates.confine!r}: write {', '.join(Confine)}.",
        valid=gates.confine in list(Confine),
    )
    for folder in gates.writable:
        text = f"`gates.writable` has {folder!r}: write the whole path of a folder, or `~/…`."
        whole = Path(folder).is_absolute() or folder.startswith("~/")
        reading.check("gates.writable", text, valid=whole and ".." not in Path(folder).parts)


def _check_models(models: ModelSettings, reading: FileReading) -> None:
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


def _check_guard(guard: GuardSettings, reading: FileReading) -> None:
    for role, patterns in guard.tools.items():
        key = f"guard.tools.{role}"
        near = get_close_matches(role, ROLES, 1)
        hint = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(ROLES)}."
        reading.check(key, f"no role `{role}`: {hint}", valid=role in ROLES)
        try:
            parse_set(patterns)
        except BadGlob as problem:
            reading.check(key, str(problem), valid=False)
    for folder in guard.scratch:
        text = f"`guard.scratch` has {folder!r}: write the whole path of a folder."
        reading.check("guard.scratch", text, valid=Path(folder).is_absolute())


def _check_agents(settings: Settings, reading: FileReading) -> None:
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
