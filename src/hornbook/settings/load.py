"""Reads the settings of a workspace from its file, with every problem of it at once."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path

from hornbook.errors import ConfigError, UsageError
from hornbook.located import FileReading, Node, read_yaml
from hornbook.settings.settings import GateSettings, Settings

CONFIG = Path(".hornbook") / "config.yaml"
FOREIGN_CONFIG = Path(".semspec") / "config.yaml"
"""Whose gates are read where there is no configuration of ours."""
Check = Callable[[GateSettings], Iterable[str]]
"""What the room of gates finds wrong with its block: everything, each with file and line."""


def template(
    gates: str = "",
    measured: Sequence[str] = (),
    reserve: int | None = None,
    repository: str = "",
) -> str:
    """A config file that says nothing yet: every key with its default, commented out.

    `gates` is a block that stands there instead of the commented one. `measured` says how the
    rules sit with the reserve, and `reserve` is the number that they need, if `auto` is too small.
    `repository` is its name, which is stated.
    """
    lines = ["# Hornbook's settings; docs/settings.md explains them. Unknown keys are errors.\n"]
    for each in fields(Settings):
        if each.metadata.get("places"):
            continue
        default = getattr(Settings(), each.name)
        shown = _yaml(default)
        lines.append(f"# {each.metadata['meaning']}")
        if each.name == "repository":
            lines.append(f"repository: {repository}\n" if repository else '# repository: ""\n')
            continue
        if each.name == "reserve":
            lines += [f"# {line}" for line in measured]
            lines.append(f"# reserve: {shown}\n" if reserve is None else f"reserve: {reserve}\n")
            continue
        if not is_dataclass(default):
            lines.append(f"# {each.name}: {shown}\n")
            continue
        if each.name == "gates" and gates:
            lines.append(gates)
            continue
        lines.append(f"# {each.name}:")
        for part in fields(default):
            shown = _yaml(getattr(default, part.name))
            lines.append(f"#   {part.name}: {shown}  # {part.metadata['meaning']}")
        lines.append("")
    return "\n".join(lines)


_PLAIN = re.compile(r"[A-Za-z0-9.][\w.:/-]*")


def _yaml(value: object) -> str:
    """A default as one writes it on a line of the file."""
    if is_dataclass(value):
        value = {each.name: getattr(value, each.name) for each in fields(value)}
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_yaml(each)}" for name, each in value.items()) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_yaml, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    plain = not isinstance(value, str) or _PLAIN.fullmatch(value)
    return str(value) if plain else f'"{value}"'


def with_gates(data: bytes, gates: str) -> tuple[bytes, int]:
    """A config file with a block of gates behind what stands there, and the line where it begins.

    Where gates are stated already, or the block cannot simply follow, the bytes stay as they are;
    the line is that of the stated gates, 0 where there are none.

    Raises:
        ConfigError: With every problem of the file as it stands.
    """
    stated = read_yaml(_decoded(data, CONFIG.as_posix()))
    if isinstance(stated, Node) and "gates" in stated.key_lines:
        return data, stated.key_lines["gates"]
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    apart = b"" if not data.strip() else newline if data.endswith(b"\n") else newline * 2
    whole = data + apart + gates.encode().replace(b"\n", newline)
    before = parse_settings(data)
    try:
        after = parse_settings(whole)
    except ConfigError:
        return data, 0
    keeps_all = replace(after, gates=before.gates) == before
    return (whole, (data + apart).count(b"\n") + 1) if keeps_all else (data, 0)


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
    from hornbook.settings.checks import check_settings  # noqa: PLC0415  # start-up: loads the globs

    reading = FileReading(CONFIG.as_posix())
    text = _decoded(data, CONFIG.as_posix())
    settings = reading.read(text, Settings)
    check_settings(settings, reading)
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


def find_root(given: str | None, environment: str | None, start: Path) -> Path:
    """The workspace's root: what was given, else the nearest folder that looks like one.

    Raises:
        UsageError: The folder that was given does not exist, or there is no work tree.
    """
    root = _found_root(given, environment, start)
    if _is_bare(root):
        name = root.name.removesuffix(".git")
        remedy = f"clone it, or `git worktree add ../{name}-files`, and ask there"
        raise UsageError(f"{root} is a bare repository, which has no files: {remedy}.")
    return root


def _is_bare(folder: Path) -> bool:
    """Whether a folder is what git keeps, without the files that it keeps."""
    kept = (folder / "objects").is_dir() and (folder / "refs").is_dir()
    return kept and (folder / "HEAD").is_file() and not (folder / ".git").exists()


def _found_root(given: str | None, environment: str | None, start: Path) -> Path:
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
