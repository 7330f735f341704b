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
from dataclasses import dataclass, replace
from keyword import kwlist

from hornbook.errors import BadGlob
from hornbook.gates.test_files import is_test
from hornbook.review.evidence.ban_forms import excesses, is_of_another, may_offend, offence
from hornbook.review.evidence.bans import bans
from hornbook.review.evidence.changed_files import Reviewed
from hornbook.review.evidence.file_kinds import PROSE, is_code, kind_of, words_of
from hornbook.review.evidence.languages import LINE
from hornbook.review.evidence.presence import answers_elsewhere
from hornbook.review.evidence.presence import demands as demands_of
from hornbook.review.evidence.quotes import squeezed
from hornbook.review.evidence.resolution import (
    SHORTEST_REASON,
    Resolved,
    shown,
    visible_letters,
)
from hornbook.review.judgement import Citation, Excuse, JudgedUnit, SopEntry, Status
from hornbook.text.globs import parse_set

MOST_LISTED = 5
NEAR = 10
"""Lines of a place that somebody who cites it has in view."""
_LINE_SAID = re.compile(rf"(?<!\w)(?:{LINE})\s{{0,2}}(\d{{1,6}})(?![\d-])", re.IGNORECASE)
_TESTS = re.compile(r"\b(?:tests?|tested|specs?|coverage)\b", re.IGNORECASE)


def bears(entry: SopEntry, resolved: Resolved, unit: JudgedUnit, reviewed: Reviewed) -> bool:
    """Whether the evidence of an entry rests on the change, in a file that the rule is about.

    What is said not to apply rests on having looked at such a file, on whatever line.
    """
    files = {*unit.bound, *asked_for(reviewed.rules.get(unit.id, ""), reviewed)}
    if entry.status is Status.NOT_APPLICABLE and not files.isdisjoint(resolved.named):
        return True
    if resolved.searched:
        return True
    if entry.status is Status.PASSED and unit.severity == "error":
        return not files.isdisjoint(
            {each.path for each in resolved.quoted} | _gone(resolved, reviewed)
        )
    return bool(_in_change(resolved, files, reviewed))


def asked_for(rule: str, reviewed: Reviewed) -> Iterator[str]:
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
    if answers_elsewhere(
        reviewed.rules.get(entry.sop_id, ""), _in_change(resolved, set(reviewed.files), reviewed)
    ):
        return set(bound)
    if entry.status is Status.NOT_APPLICABLE:
        found |= set(resolved.named) & set(bound)
    return found | set(excused(entry.excused, to_cover(bound, reviewed)))


def to_cover(bound: Iterable[str], reviewed: Reviewed) -> list[str]:
    """Those of the files that must be looked at one by one: code that people wrote and changed.

    A rule that binds no code of the change is about its settings, so that there it is these.
    """
    files = [reviewed.files[path] for path in bound if path in reviewed.files]
    wanted = [each for each in files if each.code] or [each for each in files if each.settings]
    return [each.path for each in wanted]


def excused(excuses: Iterable[Excuse], files: Sequence[str]) -> Iterator[str]:
    """Those of some files that an answer says the rule has nothing to say of, with a reason."""
    for excuse in excuses:
        try:
            globs = parse_set(excuse.paths)
        except BadGlob:
            continue
        found = [path for path in files if globs.match(path) is not None]
        if len(found) * 2 <= len(files) and visible_letters(excuse.reason) >= SHORTEST_REASON:
            yield from found


@dataclass(frozen=True, slots=True)
class Offence:
    """A line of the change that has what a rule orders not to write; `sure` if no condition is
    attached to the order that only a reader can judge. With `ask` somebody has to judge it.
    """

    code: str
    aspect: str
    path: str
    line: int
    sure: bool
    ask: bool

    @property
    def shown(self) -> str:
        """What stands there, in words."""
        return self.code if self.aspect == "concept" else f"`{self.code}`"


def added_forbidden(
    answer: SopEntry, resolved: Resolved, reviewed: Reviewed, unit: JudgedUnit
) -> Offence | None:
    """A line that the change adds against an order of the rule: first one that is sure, then one
    that the answer does not speak of, then any.
    """
    perhaps: Offence | None = None
    for each in _offences(reviewed, unit):
        if each.sure:
            return each
        ask = each.ask and not _speaks_of(answer, resolved, each, reviewed)
        if perhaps is None or (ask and not perhaps.ask):
            perhaps = replace(each, ask=ask)
    return perhaps


def _offences(reviewed: Reviewed, unit: JudgedUnit) -> Iterator[Offence]:
    rule = reviewed.rules.get(unit.id, "")
    ordered = bans(rule)
    readable = dict.fromkeys((*may_offend_in(unit.files, reviewed), *_moved_in(unit, reviewed)))
    for path in readable if ordered else ():
        lines = reviewed.code_of(path)
        for ban in (each for each in ordered if may_offend(each, lines)):
            for number in _new_to(unit, path, reviewed):
                sure = offence(ban, lines, number)
                if sure is not None:
                    moved = reviewed.is_moved(path, number)
                    other = is_of_another(ban, lines.code[number - 1])
                    ask = not (moved or other)
                    certain = sure and not moved
                    yield Offence(ban.code, ban.aspect, path, number, certain, ask)
    for path in readable:
        lines = reviewed.code_of(path)
        for said, number, sure in excesses(rule, lines, _new_to(unit, path, reviewed)):
            yield Offence(said, "concept", path, number, sure, ask=True)


def _moved_in(unit: JudgedUnit, reviewed: Reviewed) -> Iterator[str]:
    """The files of code that a rule binds since they were renamed: none of their lines is shown."""
    for path in unit.files:
        file = reviewed.files.get(path)
        if file is not None and file.before not in (None, path, *unit.gone) and is_code(path, ()):
            yield path


def as_bound(unit: JudgedUnit, reviewed: Reviewed) -> Reviewed:
    """The change as a rule sees it: of a file that it binds since it was renamed, all is new."""
    whole = {
        path: replace(file, new=((1, len(lines)),))
        for path in _moved_in(unit, reviewed)
        for file, lines in ((reviewed.files[path], reviewed.lines(path, old=False)),)
    }
    return replace(reviewed, files={**reviewed.files, **whole}) if whole else reviewed


def _new_to(unit: JudgedUnit, path: str, reviewed: Reviewed) -> Iterable[int]:
    """The lines of a file that a rule has not bound before."""
    if path in _moved_in(unit, reviewed):
        return range(1, len(reviewed.lines(path, old=False)) + 1)
    return reviewed.files[path].added


_WORDS_OF_LANGUAGES = frozenset(kwlist) | words_of(
    "case catch const defer do end enum final fn func function interface let match new private "
    "public rescue static struct switch then this throw throws type unless var void"
)


def taken_away(reviewed: Reviewed, unit: JudgedUnit) -> str | None:
    """What a rule orders to have and the change takes away, or does not bring; none if neither.

    That is code of which more is removed than added, or a file that is to be written to and is not
    changed; most files that a rule names are only to be looked into.
    """
    rule = reviewed.rules.get(unit.id, "")
    wanted = [code for each in demands_of(rule) for code in each.codes]
    changed = [reviewed.files[path] for path in unit.bound if path in reviewed.files]
    removed = [line for each in changed for line in each.removed]
    added = [
        lines[number - 1]
        for each in changed
        for lines in (reviewed.lines(each.path, old=False),)
        for number in each.added
        if number <= len(lines)
    ]
    for code in wanted:
        if code in _WORDS_OF_LANGUAGES:  # its `try` may go together with what stood in it
            continue
        told = squeezed(code).removesuffix(")")
        lost = sum(told in squeezed(line) for line in removed)
        if lost and lost > sum(told in squeezed(line) for line in added):
            return code
    return None


def may_offend_in(bound: Iterable[str], reviewed: Reviewed) -> list[str]:
    """The files in which orders can be broken: code and settings, also code that says itself that
    nobody wrote it; prose where there is nothing else.
    """
    files = [reviewed.files[path] for path in bound if path in reviewed.files]
    wanted = [each for each in files if each.code or each.settings or each.only_said]
    return [each.path for each in wanted or (one for one in files if one.citable)]


def _speaks_of(answer: SopEntry, resolved: Resolved, found: Offence, reviewed: Reviewed) -> bool:
    """Whether an answer was written with a line in view: it quotes it, or names what is in it."""
    for place in (*resolved.quoted, *resolved.places):
        near = place.end - place.start < NEAR and not place.old
        if near and place.path == found.path and place.start <= found.line <= place.end:
            return True
    line = reviewed.squeezed_lines(found.path, old=False)[found.line - 1]
    code = squeezed(found.code)
    if code in squeezed(answer.evidence) and code in line:
        return True
    return found.path in resolved.named and found.line in numbers_said(answer.evidence)


def numbers_said(evidence: str) -> set[int]:
    """The numbers of lines that a text speaks of without their file: "the block on line 5"."""
    return {int(each) for each in _LINE_SAID.findall(evidence)}


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
