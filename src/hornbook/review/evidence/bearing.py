"""Whether evidence has to do with the change and with the rule.

Evidence that exists may still be beside the point: the first line of some file is there in every
tree. So a place counts only in a hunk of a changed file that the rule binds, or in what the change
removed there; for a rule of severity error it is the quote that must stand there. A rule that asks
for something in another file, a test or a line in the changelog, is answered where that is. And one
place does not speak for a whole change: for a rule of severity error every
changed file of code that it binds is cited, searched, or excused with a reason. An excuse covers
half of these files at the most, so that none can stand for not looking.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from hornbook.errors import BadGlob
from hornbook.gates.test_files import is_test
from hornbook.review.evidence.changed_files import PROSE, Reviewed, kind_of
from hornbook.review.evidence.prohibitions import (
    banned_code,
    forbidden_calls,
    is_called,
    stands_in,
)
from hornbook.review.evidence.resolution import (
    SHORTEST_REASON,
    Resolved,
    shown,
    visible_letters,
)
from hornbook.review.judgement import Citation, Excuse, JudgedUnit, SopEntry, Status
from hornbook.text.globs import parse_set

MOST_LISTED = 5
_TESTS = re.compile(r"\b(?:tests?|tested|specs?|coverage)\b", re.IGNORECASE)


def bears(entry: SopEntry, resolved: Resolved, unit: JudgedUnit, reviewed: Reviewed) -> bool:
    """Whether the evidence of an entry rests on the change, in a file that the rule is about.

    What is said not to apply rests on having looked at such a file, on whatever line.
    """
    files = {*unit.bound, *_asked_for(reviewed.rules.get(unit.id, ""), reviewed)}
    if entry.status is Status.NOT_APPLICABLE and not files.isdisjoint(resolved.named):
        return True
    if resolved.searched:
        return True
    if entry.status is Status.PASSED and unit.severity == "error":
        return not files.isdisjoint(
            {each.path for each in resolved.quoted} | _gone(resolved, reviewed)
        )
    return bool(_in_change(resolved, files, reviewed))


def _asked_for(rule: str, reviewed: Reviewed) -> Iterator[str]:
    """The changed files that a rule asks for, whether it binds them or not."""
    tests = _TESTS.search(rule) is not None
    for path in reviewed.files:
        name = path.rpartition("/")[2]
        if (tests and is_test(path)) or (len(name) >= SHORTEST_REASON and name in rule):
            yield path


def _gone(resolved: Resolved, reviewed: Reviewed) -> set[str]:
    """The files that evidence names and that have no line to cite any more."""
    return {path for path in resolved.files if reviewed.files[path].gone}


def _in_change(resolved: Resolved, bound: set[str], reviewed: Reviewed) -> set[str]:
    cited = {place.path for place in resolved.places if reviewed.in_hunk(place)}
    return (cited | _gone(resolved, reviewed)) & bound


def covered(
    entry: SopEntry, resolved: Resolved, bound: Sequence[str], reviewed: Reviewed
) -> set[str]:
    """The changed files that an entry speaks for."""
    found = _in_change(resolved, set(bound), reviewed) | set(resolved.searched)
    if entry.status is Status.NOT_APPLICABLE:
        found |= set(resolved.named) & set(bound)
    return found | set(_excused(entry.excused, to_cover(bound, reviewed)))


def to_cover(bound: Iterable[str], reviewed: Reviewed) -> list[str]:
    """Those of the files that must be looked at one by one: code that people wrote and changed.

    A rule that binds no code of the change is about its settings, so that there it is these.
    """
    files = [reviewed.files[path] for path in bound if path in reviewed.files]
    wanted = [each for each in files if each.code] or [each for each in files if each.settings]
    return [each.path for each in wanted]


def _excused(excuses: Iterable[Excuse], files: Sequence[str]) -> Iterator[str]:
    for excuse in excuses:
        try:
            globs = parse_set(excuse.paths)
        except BadGlob:
            continue
        found = [path for path in files if globs.match(path) is not None]
        if len(found) * 2 <= len(files) and visible_letters(excuse.reason) >= SHORTEST_REASON:
            yield from found


def added_forbidden(reviewed: Reviewed, unit: JudgedUnit) -> str | None:
    """The first piece of code that a rule forbids by name and the change adds, with its place."""
    text = reviewed.rules.get(unit.id, "")
    shown = banned_code(text)
    for code in dict.fromkeys((*shown, *forbidden_calls(text))):
        is_there = stands_in if code in shown else is_called
        for path in to_cover(unit.files, reviewed):
            lines = reviewed.tree.lines(path)
            for number in reviewed.files[path].added:
                line = lines[number - 1] if number <= len(lines) else ""
                if is_there(code, line):
                    return f"`{code}` at {path}:{number}"
    return None


def said_beside(entry: SopEntry, places: Sequence[Citation]) -> str:
    """That evidence lies elsewhere, in words."""
    where = f"{shown(places[0])} is" if places else "What it names is"
    if entry.status is Status.VIOLATED:
        return (
            f"{where} not where this change is, in a file that the rule binds: is it this change "
            "that violates the rule? Cite a line of its hunks too."
        )
    return (
        f"{where} not where this change is, in a file that the rule binds: cite a line of its "
        "hunks, or `path:-line` for what it removes."
    )


def said_uncovered(files: Sequence[str]) -> str:
    """That files were not looked at, in words."""
    listed = ", ".join(files[:MOST_LISTED])
    more = f" and {len(files) - MOST_LISTED} more" if len(files) > MOST_LISTED else ""
    return (
        f"Nothing is cited in {listed}{more}, which this rule binds: cite a changed line of each, "
        "search them, or excuse them with a reason."
    )


def only_documents(bound: Iterable[str], reviewed: Reviewed) -> bool:
    """Whether all changed files that rules bind are prose."""
    return all(kind_of(path) in PROSE for path in bound if path in reviewed.files)
