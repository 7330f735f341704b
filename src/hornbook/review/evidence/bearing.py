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
from fnmatch import fnmatchcase
from keyword import kwlist

from hornbook.errors import BadGlob
from hornbook.gates.test_files import is_test
from hornbook.review.evidence.ban_forms import has_code, is_of_another, may_offend, offence
from hornbook.review.evidence.bans import bans, demands, is_file_name
from hornbook.review.evidence.changed_files import Reviewed
from hornbook.review.evidence.file_kinds import PROSE, is_code, kind_of, words_of
from hornbook.review.evidence.languages import LINE
from hornbook.review.evidence.quotes import squeezed
from hornbook.review.evidence.resolution import (
    SHORTEST_REASON,
    Resolved,
    shown,
    visible_letters,
)
from hornbook.review.evidence.search import finder
from hornbook.review.evidence.subjects import Lines, Subjects, shares_word
from hornbook.review.judgement import Citation, Excuse, JudgedUnit, SopEntry, Status
from hornbook.text.globs import parse_set

MOST_LISTED = 5
NEAR = 10
"""Lines of a place that somebody who cites it has in view."""
IN_VIEW = 20
"""The same where it is enough to have seen some line that a rule is about."""
FEWEST_LINES = 7
"""Added lines from which on it can be told that an answer has nothing to do with its rule."""
SHORTEST_PIECE = 6
"""Letters of a piece of code that say which line is meant."""
_LINE_SAID = re.compile(rf"(?<!\w)(?:{LINE})\s{{0,2}}(\d{{1,6}})(?![\d-])", re.IGNORECASE)
_TICKED = re.compile(r"`([^`\n]+)`")
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
    ordered = demands(reviewed.rules.get(entry.sop_id, ""))
    if _in_change(resolved, set(asked_files(ordered, reviewed)), reviewed):
        return set(bound)
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
        if self.aspect == "words":
            return f"something with the words {', '.join(self.code.split())}"
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
    ordered = bans(reviewed.rules.get(unit.id, ""))
    readable = dict.fromkeys((*_readable(unit.files, reviewed), *_moved_in(unit, reviewed)))
    for path in readable if ordered else ():
        lines = reviewed.code_of(path)
        for ban in (each for each in ordered if may_offend(each, lines)):
            for number in _new_to(unit, path, reviewed):
                sure = offence(ban, lines, number)
                if sure is not None:
                    moved = reviewed.is_moved(path, number)
                    other = is_of_another(ban, lines.code[number - 1])
                    ask = not (moved or ban.mention or other)
                    certain = sure and not moved
                    yield Offence(ban.code, ban.aspect, path, number, certain, ask)


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


def unshown(reviewed: Reviewed, unit: JudgedUnit) -> tuple[str, ...]:
    """The code that a rule asks for, if no line that the change adds has any of it."""
    wanted = demands(reviewed.rules.get(unit.id, ""))
    if any(True for _ in asked_files(wanted, reviewed)):
        return ()
    files = [reviewed.files[path] for path in (to_cover(unit.files, reviewed) if wanted else ())]
    there = (
        has_code(code, reviewed.code_of(each.path), number)
        for each in files
        for number in each.added
        for code in wanted
    )
    return wanted if files and not any(there) else ()


def asked_files(wanted: Iterable[str], reviewed: Reviewed) -> Iterator[str]:
    """The changed files that a rule orders to change, by their names."""
    names = {each.strip("/*") for each in wanted if is_file_name(each)}
    for path in reviewed.files if names else ():
        if any(fnmatchcase(path, name) or path.endswith(f"/{name}") for name in names):
            yield path


_TO_WRITE = re.compile(
    r"\b(?:updat\w+|add(?:s|ed|ing)?|append\w*|entr(?:y|ies)|bump\w*|changelog)\b", re.IGNORECASE
)
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
    wanted = demands(rule)
    files = [each for each in wanted if is_file_name(each)]
    to_write = bool(files) and len(files) == len(wanted) and _TO_WRITE.search(rule) is not None
    if to_write and not any(asked_files(wanted, reviewed)):
        return files[0]
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


def _readable(bound: Iterable[str], reviewed: Reviewed) -> list[str]:
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
    return found.path in resolved.named and found.line in _numbers_said(answer.evidence)


def _numbers_said(evidence: str) -> set[int]:
    """The numbers of lines that a text speaks of without their file: "the block on line 5"."""
    return {int(each) for each in _LINE_SAID.findall(evidence)}


def unspoken(
    entry: SopEntry, resolved: Resolved, unit: JudgedUnit, reviewed: Reviewed, subjects: Subjects
) -> tuple[str, int] | None:
    """A line that a rule is about, if there are some and an answer speaks of none of them.

    A search looked at all lines for what it can find, and so speaks for the sentences that forbid
    that. Where nearly every line is meant, none is.
    """
    lost = subjects.removed(reviewed.rules.get(unit.id, ""), unit.bound)
    seen = {each.path for each in resolved.places if each.old} | set(resolved.files)
    if lost - seen and not lost & seen:
        return min(lost), 0
    files = to_cover(unit.files, reviewed) or _readable(unit.files, reviewed)
    if _TESTS.search(reviewed.rules.get(unit.id, "")) is None:
        files = [path for path in files if not is_test(path)] or files
    rule = reviewed.rules.get(unit.id, "")
    proved = finder(entry.search.pattern) if resolved.searched and entry.search else None
    closest = subjects.closest(rule, files, proved)
    if closest and not closest & _spoken(entry, resolved, reviewed, closest):
        return min(closest)
    if resolved.searched:
        return None
    about, titles = subjects.lines(rule, files)
    meant = Lines().union(*about, *titles)
    added = sum(len(reviewed.files[path].added) for path in files)
    if not about or len(meant) >= added or meant & _spoken(entry, resolved, reviewed, meant):
        return None
    return min(Lines().union(*about))


def is_unrelated(
    entry: SopEntry, resolved: Resolved, unit: JudgedUnit, reviewed: Reviewed, subjects: Subjects
) -> bool:
    """Whether nothing that an answer quotes has anything to do with the words of its rule."""
    if resolved.searched or not resolved.quoted:
        return False
    files = [path for path in unit.files if path in reviewed.files]
    asked = set(_asked_for(reviewed.rules.get(unit.id, ""), reviewed))
    if any(place.old or place.path in asked for place in resolved.quoted):
        return False
    related = subjects.related(reviewed.rules.get(unit.id, ""), files)
    return not related & _spoken(entry, resolved, reviewed, related)


def is_foreign(
    entry: SopEntry, resolved: Resolved, unit: JudgedUnit, reviewed: Reviewed, subjects: Subjects
) -> bool:
    """Whether an unrelated answer could stand below any rule: it has not one word of its own.

    In a few lines everything is near, and a section of a large rule may be about other things
    than code, such as how to set up a machine.
    """
    files = to_cover(unit.files, reviewed)
    rule = reviewed.rules.get(unit.id, "")
    if (
        unit.unit is not None
        or sum(len(reviewed.files[path].added) for path in files) < FEWEST_LINES
    ):
        return False
    said = entry.evidence
    for place in resolved.places:
        said = said.replace(place.path, " ")
    words = subjects.sharing(rule, files)
    return not words & _spoken(entry, resolved, reviewed, words) and not shares_word(rule, said)


def _spoken(entry: SopEntry, resolved: Resolved, reviewed: Reviewed, lines: Lines) -> Lines:
    """Those of some lines that an answer quotes, cites closely, or has a piece of in ticks."""
    found = {
        (place.path, number)
        for place in (*resolved.quoted, *resolved.places)
        if place.end - place.start < IN_VIEW and not place.old
        for number in range(place.start, place.end + 1)
    }
    pieces = [squeezed(each) for each in _TICKED.findall(entry.evidence)]
    for path, number in lines:
        line = reviewed.squeezed_lines(path, old=False)[number - 1]
        if any(len(each) >= SHORTEST_PIECE and each in line for each in pieces):
            found.add((path, number))
    return found


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
