"""Patches as lines that a page shows: what was there, what is there now, and on which line."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff

AROUND = 3
MOST_COMPARED = 4_000_000
"""Lines before times lines after that are compared; of more, all are shown as exchanged."""
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_KINDS = {"+": "added", "-": "removed", " ": "same", "": "same"}


@dataclass(frozen=True, slots=True)
class PatchLine:
    """A line of a patch: `kind` is added, removed, same, hunk or note."""

    kind: str
    text: str
    old: int | None = None
    new: int | None = None


def read_patch(text: str) -> list[PatchLine]:
    """The lines of a unified patch, without the head that names the files."""
    return list(_lines(text.split("\n")))


def _lines(given: list[str]) -> Iterator[PatchLine]:
    old = new = 0
    inside = False
    for text in given:
        hunk = _HUNK.match(text)
        if hunk is not None:
            inside, old, new = True, int(hunk[1]), int(hunk[2])
            yield PatchLine("hunk", text)
        elif not inside:
            if text and not text.startswith(("diff --git", "index ", "--- ", "+++ ")):
                yield PatchLine("note", text)
        elif text.startswith("\\"):
            yield PatchLine("note", text[1:].strip())
        elif text[:1] in _KINDS and text:
            kind = _KINDS[text[0]]
            before, after = kind != "added", kind != "removed"
            yield PatchLine(kind, text[1:], old if before else None, new if after else None)
            old, new = old + before, new + after


def text_patch(before: str, after: str) -> list[PatchLine]:
    """How a text became another."""
    old, new = before.splitlines(), after.splitlines()
    if old == new:
        said = "the line ends differ" if before != after else "the text is the same"
        return [PatchLine("note", said)]
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    gone, come = old[start : len(old) - end], new[start : len(new) - end]
    if len(gone) * len(come) <= MOST_COMPARED:
        # Far from what differs nothing has to be compared.
        skipped = max(0, start - AROUND)
        old_part = old[skipped : len(old) - max(0, end - AROUND)]
        new_part = new[skipped : len(new) - max(0, end - AROUND)]
        made = [line.rstrip("\n") for line in unified_diff(old_part, new_part, lineterm="")]
        return [_moved(each, skipped) for each in _lines(made)]
    head = PatchLine("hunk", f"@@ -{start + 1},{len(gone)} +{start + 1},{len(come)} @@")
    removed = (PatchLine("removed", each, old=start + n) for n, each in enumerate(gone, 1))
    added = (PatchLine("added", each, new=start + n) for n, each in enumerate(come, 1))
    return [head, *removed, *added]


def _moved(line: PatchLine, by: int) -> PatchLine:
    if line.kind == "hunk":
        hunk = _HUNK.match(line.text)
        if hunk is not None and by:
            text = f"@@ -{int(hunk[1]) + by} +{int(hunk[2]) + by} @@"
            return PatchLine("hunk", text)
        return line
    old = None if line.old is None else line.old + by
    return PatchLine(line.kind, line.text, old, None if line.new is None else line.new + by)


def _common(one: list[str], other: list[str]) -> int:
    """How many lines both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    shorter = min(len(one), len(other))
    return next((at for at, (mine, theirs) in pairs if mine != theirs), shorter)
