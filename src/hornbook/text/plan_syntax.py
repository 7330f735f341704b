"""How a plan's text is written: what it names, its bullets of constraints, words for its author.

It names paths, in backticks or as a task's files, and ids of entities. Constraints are bullets
`- IN: glob`, with one glob or a comma list. The empty sections of an exploration's file hold
guidance for its author, which is never content: a line is guidance only in its own section and as a
whole, and whoever reads the file drops it, so that it is in no event, hash, graph, guard or prompt.
"""

import json
import re
from collections.abc import Iterator, Mapping

KINDS = ("IN", "OUT", "DO NOT TOUCH")

_BULLET = re.compile(
    r"[ \t]*[-*+][ \t]+\**(?P<name>IN|OUT|DO[ _]NOT[ _]TOUCH)\**[ \t]*:\**(?P<value>.*)",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"[^\s\"`][^\x00-\x1f\x7f\x85\u2028\u2029]*")
_QUOTED = re.compile(r"`([^`]+)`")


def read_bullet(line: str) -> tuple[str, list[str]] | None:
    """The kind and the globs of a bullet; None if the line is none."""
    bullet = _BULLET.fullmatch(line)
    if bullet is None:
        return None
    return bullet["name"].upper().replace("_", " "), _items(bullet["value"])


def render_bullet(kind: str, glob: str) -> str:
    """The bullet of one constraint; a text that would be misread is a JSON string."""
    plain = _PLAIN.fullmatch(glob) and glob == glob.strip() and _items(glob) == [glob]
    return f"- {kind}: {glob if plain else json.dumps(glob)}"


def split_globs(text: str) -> list[str]:
    """The items of a comma list; commas inside braces do not count."""
    items, depth, item = [], 0, ""
    for character in text:
        depth += (character == "{") - (character == "}" and depth > 0)
        if character == "," and depth == 0:
            items.append(item)
            item = ""
        else:
            item += character
    return [each.strip() for each in (*items, item) if each.strip()]


def _items(text: str) -> list[str]:
    """The globs of a bullet; a sentence with commas in it stays whole."""
    value = text.strip()
    if value.startswith('"'):
        try:
            found = json.loads(value)
        except ValueError:
            return [value]
        return [found] if isinstance(found, str) else [value]
    items = split_globs(value)
    if any(re.search(r"\s", item) and not _QUOTED.fullmatch(item) for item in items):
        return [value]
    return [
        quoted[1] if (quoted := _QUOTED.fullmatch(item)) is not None else item for item in items
    ]


GUIDANCE: Mapping[str, tuple[str, ...]] = {
    "situation": ("What exists now. Entity references to existing code/specs.",),
    "mission": ("What we're doing and why. Success criteria.",),
    "execution": ("Approach and sketch. Architectural decisions.",),
    "constraints": (
        "- IN: what's in scope",
        "- OUT: what's excluded",
        "- DO NOT TOUCH: files/systems that must not be modified",
    ),
    "coordination": ("Dependencies, sequencing, entity references.",),
}


def guidance(section: str) -> str:
    """The guidance of a section, by its name in any case."""
    return "\n".join(GUIDANCE[section.lower()])


def is_guidance(section: str, line: str) -> bool:
    """Whether a line is guidance of its section; an editor may have curled its quotes."""
    return line.strip().replace("\u2019", "'") in GUIDANCE.get(section.lower(), ())


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
