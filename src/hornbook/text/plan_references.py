"""What a plan's text names: paths in backticks or as a task's files, and ids of entities."""

import re
from collections.abc import Iterator

from hornbook.text.constraint_bullets import split_globs

QUOTED = re.compile(r"`(?P<path>[^`]+)`(?P<new>[ \t]*\(new\))?", re.IGNORECASE)
PATH = re.compile(r"[\w.@+-]+(?:/[\w.@+-]+)*\.\w{1,10}|[\w.@+-]+(?:/[\w.@+-]+)+")
NEW = re.compile(r"[ \t]*\(new\)$", re.IGNORECASE)
_FILES = re.compile(r"[ \t]*[-*+][ \t]+\**files?\**[ \t]*:\**[ \t]*(?P<value>.*)", re.IGNORECASE)

_SEGMENTS = r"[a-z0-9_%A-F-]+(?:\.[a-z0-9_%A-F-]+)*"
_FAMILIES = "source\\.doc|decision|convention|plan|task|run|review|receipt"
_ID = re.compile(rf"(?<![\w./-])(?P<id>(?P<family>{_FAMILIES})\.(?P<rest>{_SEGMENTS}))(?![\w/(])")
_FILE_ENDING = re.compile(r"(?:[a-z0-9-]+\.)?(?:md|ya?ml|json|jsonl|toml|txt|py|go|ts|js|rs|sh)")
_CODE_ID = re.compile(
    r"`(?P<quoted>code\.file\.[^`]+)`|(?<![\w./-])(?P<bare>code\.file\.[\w./@+%~-]++)(?!\()"
)
"""A source file's path stands in its id as it is; in backticks also with spaces and brackets."""


def is_path(name: str) -> bool:
    """Whether a name in backticks is a path; the id of a source file is none."""
    return PATH.fullmatch(name) is not None and not any(_code_ids(f"`{name}`"))


def quoted_paths(line: str) -> Iterator[tuple[str, bool]]:
    """The paths in backticks in a line, each with whether it is marked as to be created."""
    for found in QUOTED.finditer(line):
        if "/" in found["path"] and is_path(found["path"]):
            yield found["path"], found["new"] is not None


def task_files(line: str) -> Iterator[str]:
    """The paths that a line lists as a task's files; globs are none."""
    listed = _FILES.fullmatch(line)
    for item in split_globs(listed["value"]) if listed else ():
        path = NEW.sub("", item).strip("`")
        if PATH.fullmatch(path):
            yield path


def entity_ids(line: str) -> Iterator[str]:
    """The ids of entities in a line.

    Words such as `plan.md` are none; outside of backticks an id of most kinds must have a hyphen
    or a digit, so that prose is not taken for it.
    """
    quoted = [found.span("path") for found in QUOTED.finditer(line)]
    for found in _ID.finditer(line):
        inside = any(start <= found.start() and found.end() <= end for start, end in quoted)
        plain = found["family"] == "source.doc" or inside or re.search(r"[-0-9]", found["rest"])
        if plain and not _FILE_ENDING.fullmatch(found["rest"]):
            yield found["id"]
    yield from _code_ids(line)


def _code_ids(line: str) -> Iterator[str]:
    """The ids of source files: their paths have a slash or an ending, unlike `code.file.name`."""
    for found in _CODE_ID.finditer(line):
        name = found["quoted"] or found["bare"].rstrip(".")
        path = name.removeprefix("code.file.")
        if re.search(r"[./]", path) and not path.endswith(("/", "()")):
            yield name


def references(line: str) -> Iterator[str]:
    """Everything that a line of a plan names."""
    yield from (path for path, _ in quoted_paths(line))
    yield from task_files(line)
    yield from entity_ids(line)
