"""What a session starts with: the core tier and the active plan, whole units within the limit.

`CLAUDE.md` is not repeated, the host loads it itself; rules stay with the reviewer.
"""

import json
import re
from pathlib import Path

from hornbook.context.tiers import CORE_FILES, LOADED_BY_HOST
from hornbook.hooks.active_file import STATE, active_slug
from hornbook.text.plan_syntax import is_guidance

MOST_CHARACTERS = 10_000
CORE = tuple(path for path in CORE_FILES if path not in LOADED_BY_HOST)
_HEADING = re.compile(r"^##[ \t]+(.+?)[ \t]*$", re.MULTILINE)
_FRONTMATTER = re.compile(r"\A---\n.*?^---\n", re.MULTILINE | re.DOTALL)
_ENTRY_HEADING = re.compile(r"^(?=#{2,6} )", re.MULTILINE)
_NOTE = re.compile(r"\n\n(?=- (?:Decision|Risk): )")
_BLANK_LINES = re.compile(r"\n[ \t]*\n+")
_ROOM_FOR_POINTERS = 1_200

Unit = tuple[str, str]
"""Where a text comes from, and the text."""


def session_context(root: str) -> str:
    """The text that a session starts with; empty where there is no workspace.

    Units go in whole and in order; what does not fit is named with its file and size.

    Raises:
        UsageError: The active pointer is damaged.
        OSError: A file cannot be read.
    """
    base = Path(root)
    if not (base / STATE).is_dir():
        return ""
    slug = active_slug(root)
    units = _core(base) + (_plan(base, slug) if slug is not None else [])
    if slug is None and not units:
        return ""
    head = (
        f"# Hornbook\n\nActive plan: `{slug}`.\n" if slug else "# Hornbook\n\nNo plan is active.\n"
    )
    return _fitted(head, units)


def _fitted(head: str, units: list[Unit]) -> str:
    parts, left_out = [head], []
    room = MOST_CHARACTERS - _ROOM_FOR_POINTERS - _length(head)
    for where, text in units:
        size = _length(text) + 2
        if size <= room:
            parts.append(text + "\n")
            room -= size
        else:
            left_out.append(f"- {where} ({_length(text)} characters)")
    if left_out:
        pointer = "## Left out\n\nRead these when you need them:\n"
        kept = _few(left_out, _ROOM_FOR_POINTERS - _length(pointer) - 60)
        parts.append(pointer + "\n".join(kept) + "\n")
    return "\n".join(parts)


def _few(lines: list[str], room: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        room -= _length(line) + 1
        if room < 0:
            return [*kept, f"- and {len(lines) - len(kept)} more"]
        kept.append(line)
    return kept


def _length(text: str) -> int:
    """Characters as the host counts them, in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _core(base: Path) -> list[Unit]:
    found = []
    for name in CORE:
        path = base / name
        if path.is_file():
            found.append((name, _text(path)))
    return found


def _plan(base: Path, slug: str) -> list[Unit]:
    folder = base / STATE / "plans" / slug
    place = folder.relative_to(base).as_posix()
    units = _sections(_text(folder / "plan.md"), f"{place}/plan.md")
    for name, title in (("decisions.md", "Decisions"), ("risks.md", "Risks")):
        if (folder / name).is_file():
            units += _entries(_text(folder / name), f"{place}/{name}", title)
    checkpoint = folder / "checkpoint.json"
    if checkpoint.is_file():
        units.append((f"{place}/checkpoint.json", _checkpoint(checkpoint)))
    return units


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8-sig", errors="replace").strip()


def _sections(text: str, where: str) -> list[Unit]:
    """The sections of a plan; the execution comes last, being the longest."""
    body = _FRONTMATTER.sub("", text + "\n").strip()
    starts = [found.start() for found in _HEADING.finditer(body)]
    pieces = [body[a:b] for a, b in zip(starts, [*starts[1:], len(body)], strict=True)]
    title = body[: starts[0] if starts else len(body)].strip()
    units = [(where, title)] if title else []
    order = {"situation": 0, "mission": 1, "constraints": 2, "coordination": 3, "execution": 4}
    named = [(piece.split("\n", 1)[0].strip("# \t"), piece) for piece in pieces]
    named.sort(key=lambda each: order.get(each[0].lower(), 5))
    return units + [(f"{where}, {name}", _said(name, piece)) for name, piece in named]


def _said(name: str, piece: str) -> str:
    """A section without the guidance for its author."""
    return "\n".join(line for line in piece.split("\n") if not is_guidance(name, line)).strip()


def _separator(text: str) -> re.Pattern[str]:
    return next((each for each in (_NOTE, _ENTRY_HEADING) if each.search(text)), _BLANK_LINES)


def _entries(text: str, where: str, title: str) -> list[Unit]:
    """The entries of a record, newest first: those are what a session goes on with."""
    between = _separator(text)
    pieces = (piece.strip() for piece in between.split(text))
    entries = [piece for piece in pieces if piece and not piece.startswith("# ")]
    if not entries:
        return []
    return [(where, each) for each in (f"## {title}", *reversed(entries))]


def _checkpoint(path: Path) -> str:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        told = f"at event {kept['seq']}, hash {kept['event_hash']}"
    except (ValueError, KeyError, TypeError):
        told = "that cannot be read: run `hornbook recover`"
    return f"## Checkpoint\n\nThe newest checkpoint is {told}."
