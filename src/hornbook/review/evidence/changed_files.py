"""The changed files as evidence is held against them: their lines before and after, their hunks.

A place bears on the change if it lies in a hunk: the lines that changed and three around them, as
the patch shows them. Not every file has such a place. One that was deleted, is empty, binary or
only renamed has no line to cite, so that its name is enough.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from hornbook.commits.change import Change
from hornbook.commits.content import FileChange
from hornbook.review.evidence.ban_forms import CodeLines
from hornbook.review.evidence.file_kinds import (
    NO_CODE,
    SETTINGS,
    is_code,
    is_lock,
    is_script,
    kind_of,
)
from hornbook.review.evidence.places import meant
from hornbook.review.evidence.quotes import squeezed
from hornbook.review.judgement import Citation

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_CHANGED_LINE = re.compile(r"^[+-](?!\+\+ |-- )", re.MULTILINE)
SHORT = 60
"""Lines of a new file that are read though it calls itself generated."""
LONGEST_RANGE = 40
"""How many lines may be cited at once where little of them changed."""
Span = tuple[int, int]


class Tree(Protocol):
    """The files of a commit, as far as evidence needs them."""

    def has(self, path: str) -> bool:
        """Whether the path is a regular file of the tree."""

    def lines(self, path: str) -> list[str]:
        """The lines of a file of the tree."""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One changed file: `before` is its path at the merge base, and hunks are spans of lines.

    `code` must be looked at, file by file, and `settings` where there is no code; `citable` has a
    line that can be cited; `added` are the numbers of the lines that are new, `removed` the lines
    of code that are gone, without blanks around them.
    """

    path: str
    before: str | None
    new: tuple[Span, ...] = ()
    old: tuple[Span, ...] = ()
    changed_lines: int = 0
    code: bool = False
    citable: bool = False
    gone: bool = False
    added: tuple[int, ...] = ()
    settings: bool = False
    removed: tuple[str, ...] = ()
    only_said: bool = False
    """Whether it would be code, and only its own words or name call it generated, though it is new
    or little of it changed.
    """


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What a review is about: both trees, the changed files with their texts at HEAD, and the
    words of the rules by id. `inferred` are the ids of those whose severity only their words tell.
    """

    tree: Tree
    changed: Mapping[str, str]
    rules: Mapping[str, str] = field(default_factory=dict)
    old: Tree | None = None
    files: Mapping[str, ChangedFile] = field(default_factory=dict)
    inferred: Collection[str] = ()
    _squeezed: dict[tuple[str, bool], list[str]] = field(default_factory=dict, compare=False)
    _code: dict[str, CodeLines] = field(default_factory=dict, compare=False)
    _gained: dict[str, Counter[str]] = field(default_factory=dict, compare=False)

    def named(self, written: str) -> str | None:
        """The file of the trees that a written path means, if it means one."""
        return meant(written, self._known, list(self.files))

    def _known(self, path: str) -> bool:
        return self.tree.has(path) or (path in self.files and self.files[path].gone)

    def side(self, place: Citation) -> Citation:
        """The place on the side where its file is: what was deleted has only lines of before."""
        gone = place.path in self.files and self.files[place.path].gone
        return Citation(place.path, place.start, place.end, place.quote, old=place.old or gone)

    def lines(self, path: str, *, old: bool) -> list[str]:
        """The lines of a file, now or before the change."""
        if not old:
            return self.tree.lines(path) if self.tree.has(path) else []
        before = self.files[path].before if path in self.files else path
        held = self.old is not None and before is not None and self.old.has(before)
        return self.old.lines(before) if held and self.old and before else []

    def squeezed_lines(self, path: str, *, old: bool) -> list[str]:
        """The same as quotes are compared with them; each file is squeezed once."""
        key = (path, old)
        if key not in self._squeezed:
            self._squeezed[key] = [squeezed(line) for line in self.lines(path, old=old)]
        return self._squeezed[key]

    def added(self, path: str) -> list[tuple[str, int]]:
        """The lines that a file gains, each with its path; those without a letter are none."""
        lines = self.lines(path, old=False)
        numbers = self.files[path].added if path in self.files else ()
        known = (each for each in numbers if each <= len(lines))
        return [(path, each) for each in known if any(map(str.isalnum, lines[each - 1]))]

    def gained(self) -> Iterator[str]:
        """The texts of all lines that the change adds."""
        for path in self.files:
            lines = self.lines(path, old=False)
            yield from (lines[number - 1] for _, number in self.added(path))

    def code_of(self, path: str) -> CodeLines:
        """The lines of a file at HEAD, with and without remarks and strings; read once."""
        if path not in self._code:
            self._code[path] = CodeLines(path, self.lines(path, old=False))
        return self._code[path]

    def is_moved(self, path: str, number: int) -> bool:
        """Whether a line that was added stood in changed code before, and is gone there.

        Where more of the same are added than are gone, none of them counts as moved.
        """
        if not self._gained:
            self._gained["added"] = Counter(self._added_code())
            self._gained["removed"] = Counter(
                line for file in self.files.values() for line in file.removed
            )
        line = self.lines(path, old=False)[number - 1].strip()
        gone = self._gained["removed"][line]
        return gone > 0 and self._gained["added"][line] <= gone

    def _added_code(self) -> Iterator[str]:
        for path, file in self.files.items():
            lines = self.lines(path, old=False) if file.code else []
            yield from (lines[each - 1].strip() for each in file.added if each <= len(lines))

    def changed_code(self) -> dict[str, str]:
        """The texts of the changed files with nothing but new lines, every line at its number.

        A file that was only moved is new wherever it stands now.
        """
        return {path: self._hunks_of(path, text) for path, text in self.changed.items()}

    def _hunks_of(self, path: str, text: str) -> str:
        file = self.files.get(path)
        if file is None:
            return text
        lines = text.split("\n")
        kept = [""] * len(lines)
        for number in file.added:
            if number <= len(lines):
                kept[number - 1] = lines[number - 1]
        return "\n".join(kept)

    def in_hunk(self, place: Citation) -> bool:
        """Whether a place lies where the change is; a range over most of a file does not."""
        inside = sum(each.end - each.start + 1 for each in self.in_hunks(place))
        cited = place.end - place.start + 1
        return inside > 0 and (cited <= LONGEST_RANGE or inside * 4 >= cited)

    def in_hunks(self, place: Citation) -> list[Citation]:
        """The parts of a place that lie where the change is."""
        file = self.files.get(place.path)
        spans = () if file is None else file.old if place.old else file.new
        return [
            replace(place, start=max(first, place.start), end=min(last, place.end))
            for first, last in spans
            if first <= place.end and place.start <= last
        ]


def nothing_to_cite(bound: Iterable[str], reviewed: Reviewed) -> bool:
    """Whether no changed file that rules bind has a line to cite."""
    files = [reviewed.files[path] for path in bound if path in reviewed.files]
    return not any(file.citable for file in files)


def nothing_added(bound: Iterable[str], reviewed: Reviewed) -> bool:
    """Whether the change brings no code to the files that rules bind: it takes away, or remarks."""
    return not any(
        reviewed.code_of(path).told[number - 1].strip()
        for path in bound
        for _, number in reviewed.added(path)
    )


def changed_files(
    change: Change, texts: Mapping[str, str], is_generated: Callable[[FileChange, str], bool]
) -> dict[str, ChangedFile]:
    """The changed files by path; one that was renamed away stands by its old name too."""
    found = {}
    for each in change.files:
        file = _changed_file(each, change.patches[each.path], texts.get(each.path), is_generated)
        found[each.path] = file
        if each.status == "R" and each.before is not None:
            found.setdefault(
                each.before, ChangedFile(each.before, each.before, old=file.old, gone=True)
            )
    return found


def _changed_file(
    each: FileChange, patch: str, text: str | None, is_generated: Callable[[FileChange, str], bool]
) -> ChangedFile:
    hunks = list(_HUNK.finditer(patch))
    new = tuple(_spans((hunk[3], hunk[4]) for hunk in hunks))
    old = tuple(_spans((hunk[1], hunk[2]) for hunk in hunks))
    citable = bool(text and new)
    added = list(_marked_lines(patch, hunks, "+"))
    claimed = citable and is_generated(each, text or "")
    written = citable and not (claimed and _is_believed(each, added))
    removed = list(_marked_lines(patch, hunks, "-"))
    return ChangedFile(
        each.path,
        None if each.status == "A" else each.before or each.path,
        new,
        old,
        len(_CHANGED_LINE.findall(patch, hunks[0].end())) if hunks else 0,
        written and is_code(each.path, added),
        citable,
        each.status == "D",
        tuple(_added(patch, hunks)),
        written and kind_of(each.path) in SETTINGS,
        tuple(line.strip() for line in removed)
        if is_code(each.before or each.path, removed)
        else (),
        citable and not written and _is_short(each, added) and is_code(each.path, added),
    )


def _is_short(each: FileChange, added: Sequence[str]) -> bool:
    """Whether what calls itself generated may have been written by hand: it is new, or little."""
    return each.status == "A" or (len(added) <= SHORT and not is_lock(each.path))


def _is_believed(each: FileChange, added: Sequence[str]) -> bool:
    """Whether a file that calls itself generated need not be looked at.

    One that is new, and no longer than what people write at once, is read all the same: nothing but
    its own word speaks for it. What tools write to lock versions goes by its name.
    """
    if each.status != "A" or is_lock(each.path):
        return True
    if kind_of(each.path) == "lock" or is_script(added):
        return False
    return len(added) > SHORT or kind_of(each.path) in NO_CODE


def _marked_lines(patch: str, hunks: Sequence[re.Match[str]], mark: str) -> Iterator[str]:
    """The lines that a patch adds or removes, without their mark."""
    for line in patch[hunks[0].end() :].split("\n") if hunks else ():
        if line.startswith(mark):
            yield line[1:]


def _added(patch: str, hunks: Sequence[re.Match[str]]) -> Iterator[int]:
    """The numbers of the lines that a patch adds."""
    for place, hunk in enumerate(hunks):
        end = hunks[place + 1].start() if place + 1 < len(hunks) else len(patch)
        number = int(hunk[3])
        for line in patch[hunk.end() + 1 : end].split("\n"):
            if line.startswith("+"):
                yield number
            number += line.startswith(("+", " "))


def _spans(ranges: Iterable[tuple[str, str | None]]) -> Iterator[Span]:
    for start, count in ranges:
        length = 1 if count is None else int(count)
        if length:
            yield int(start), int(start) + length - 1
