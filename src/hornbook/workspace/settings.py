"""The settings of a workspace: every key of `.hornbook/config.yaml`, its type and its default."""

from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path

import yaml

from hornbook.errors import BadGlob, ConfigError, UsageError
from hornbook.text.globs import parse
from hornbook.text.tokens import COUNTERS, DEFAULT_COUNTER

CONFIG = Path(".hornbook") / "config.yaml"


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
    window: int = field(
        default=200_000, metadata={"meaning": "The reviewing model's context window in tokens."}
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

    @property
    def reserve_tokens(self) -> int:
        """The room for rules in tokens."""
        if self.reserve.endswith("%"):
            return self.window * int(self.reserve[:-1]) // 100
        return int(self.reserve)


def template() -> str:
    """A config file that says nothing yet: every key with its default, commented out."""
    lines = ["# Hornbook's settings; docs/settings.md explains them. Unknown keys are errors.\n"]
    for each in fields(Settings):
        shown = "[]" if each.default == () else each.default
        lines.append(f"# {each.metadata['meaning']}\n# {each.name}: {shown}\n")
    return "\n".join(lines)


def load(root: Path) -> Settings:
    """The settings of the workspace at `root`; defaults where nothing is said.

    Raises:
        ConfigError: With every problem of the file, each with its line and remedy.
    """
    path = root / CONFIG
    if not path.is_file():
        return Settings()
    try:
        text = path.read_text(encoding="utf-8")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError) as problem:
        raise ConfigError([f"{CONFIG}: not readable as YAML: {problem}"]) from problem
    if node is None:
        return Settings()
    if not isinstance(node, yaml.MappingNode):
        raise ConfigError([f"{CONFIG}, line 1: found no `key: value` lines: write settings so."])
    return _checked(_Reading(node))


class _Reading:
    """Collects values and problems while the file's keys are read one by one."""

    def __init__(self, node: yaml.MappingNode) -> None:
        self.values: dict[str, object] = {}
        self.lines: dict[str, int] = {}
        self.problems: list[str] = []
        for key_node, value_node in node.value:
            self._read(str(key_node.value), key_node.start_mark.line + 1, value_node)

    def _read(self, key: str, line: int, node: yaml.Node) -> None:
        known = {each.name: each for each in fields(Settings)}
        if key not in known:
            near = get_close_matches(key, known, 1)
            hint = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(known)}."
            self.complain(line, f"unknown setting `{key}`: {hint}")
        elif key in self.values:
            self.complain(
                line, f"`{key}` stands twice (first on line {self.lines[key]}): keep one."
            )
        else:
            self.lines[key] = line
            self.values[key] = self._value(key, line, node, type(known[key].default))

    def _value(self, key: str, line: int, node: yaml.Node, kind: type) -> object:
        loaded = yaml.safe_load(yaml.serialize(node))
        if kind is tuple:
            items = loaded if isinstance(loaded, list) else [loaded]
            if all(isinstance(item, str) and item for item in items):
                return tuple(items)
            self.complain(line, f"`{key}` is {loaded!r}: write a list of texts.")
        elif kind is int:
            if isinstance(loaded, int) and not isinstance(loaded, bool) and loaded > 0:
                return loaded
            self.complain(line, f"`{key}` is {loaded!r}: write a whole number above 0.")
        elif isinstance(loaded, str | int) and not isinstance(loaded, bool):
            return str(loaded)
        else:
            self.complain(line, f"`{key}` is {loaded!r}: write a text.")
        return None

    def complain(self, line: int, text: str) -> None:
        self.problems.append(f"{CONFIG}, line {line}: {text}")

    def check(self, key: str, *, valid: bool, text: str) -> None:
        if key in self.lines and not valid:
            self.complain(self.lines[key], text)


def _checked(reading: _Reading) -> Settings:
    given = {key: value for key, value in reading.values.items() if value is not None}
    settings = Settings(**given)  # type: ignore[arg-type]  # each value was checked by its field's type
    counters = [name for name in COUNTERS if name != "heuristic"]
    reading.check(
        "counter",
        valid=settings.counter in counters,
        text=f"`counter` is {settings.counter!r}: write {' or '.join(counters)}.",
    )
    reading.check(
        "agents_merge",
        valid=settings.agents_merge in {"chain", "nearest"},
        text=f"`agents_merge` is {settings.agents_merge!r}: write chain or nearest.",
    )
    reading.check(
        "reserve",
        valid=_is_reserve(settings.reserve),
        text=f"`reserve` is {settings.reserve!r}: write tokens (4000) or a share (10%).",
    )
    ordered = settings.chunk_minimum <= settings.chunk_target <= settings.chunk_maximum
    for key in ("chunk_minimum", "chunk_target", "chunk_maximum"):
        reading.check(
            key, valid=ordered, text="chunk_minimum <= chunk_target <= chunk_maximum must hold."
        )
    for pattern in settings.exclude:
        try:
            parse(pattern)
        except BadGlob as problem:
            reading.check("exclude", valid=False, text=str(problem))
    if reading.problems:
        raise ConfigError(reading.problems)
    return settings


def _is_reserve(text: str) -> bool:
    number = text.removesuffix("%")
    return number.isascii() and number.isdigit() and int(number) > 0


def find_root(given: str | None, environment: str | None, start: Path) -> Path:
    """The workspace's root: what was given, else the nearest folder that looks like one.

    Raises:
        UsageError: The folder that was given does not exist.
    """
    named = given or environment
    if named:
        root = Path(named).expanduser().resolve()
        if not root.is_dir():
            raise UsageError(f"root {named!r} is no folder: give an existing one.")
        return root
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / ".hornbook").is_dir() or (folder / ".git").exists():
            return folder
    return start
