"""Whether an answer shows what it says of a rule of severity error.

A quote may be true, part of the change, and still prove nothing. So an answer is held against the
whole of what the change adds where the rule binds: what the rule asks for must be there, what it
names must be spoken of, what it protects must not be gone unsaid, and one line speaks neither for
others that look like it nor for a function that nobody cited. What cites everything that is new in
places of at most forty lines is past all of this: then it can only be a lie about these very lines.
"""

import itertools
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from itertools import pairwise

from hornbook.gates.test_files import is_test
from hornbook.review.evidence.bearing import (
    NEAR,
    asked_for,
    excused,
    may_offend_in,
    numbers_said,
    to_cover,
)
from hornbook.review.evidence.changed_files import LONGEST_RANGE, Reviewed
from hornbook.review.evidence.marked_text import forbidden_code, parts
from hornbook.review.evidence.presence import (
    A_TEST,
    Line,
    answers_elsewhere,
    demands,
    missing,
    naming,
    shows,
    weakened,
)
from hornbook.review.evidence.quotes import squeezed
from hornbook.review.evidence.resolution import Resolved
from hornbook.review.evidence.subjects import BEGINNING, Lines, Subjects, shares_word
from hornbook.review.judgement import Citation, JudgedUnit, SopEntry, Status
from hornbook.text.tokens import HeuristicCounter

_TRIVIAL = re.compile(
    r"\s*(?:[\W_]*$|(?:import|from|use|using|require|#include|package|namespace|module)\b|end\b\W*$|"
    r"//|#|--|\*|/\*)"
)
_GOES_ON = re.compile(r"\s*(?:[)\]}]|(?:else|elif|elsif|except|catch|finally|rescue|ensure|end)\b)")
_MODIFIERS = re.compile(
    r"(?:(?:export|default|pub|public|private|protected|internal|static|final|abstract|override|"
    r"async|virtual|readonly|open|sealed|partial|extern|inline|suspend)\s+)+"
)
_KEYWORD = re.compile(
    r"(?:def|func|fn|fun|function|sub|proc|class|interface|struct|enum|trait|type|record|protocol|"
    r"resource|variable|output|data|test|it|describe)\b"
)
_ENTRY = re.compile(
    r"-\s+[\w.-]+(?=\s*:)|<[A-Za-z][\w.-]*|[\"'][\w@/.-]+[\"']\s*[:=]|@[\w.]+|"
    r"[\w$.:]+(?=\()|[A-Za-z]\w*(?=\s+[\w\"'<])|[\w-]+(?=\s*:\s)"
)
_NO_KIND = re.compile(
    r"(?:return|const|let|var|val|mut|if|else|for|while|switch|case|when|match|try|catch|except|"
    r"finally|with|yield|await|raise|throw|defer|go|import|from|use|using|require|package|end|do|in|"
    r"not|and|or|self|this)\b"
)


def blocks(reviewed: Reviewed, path: str) -> Iterator[list[int]]:
    """The numbers of the lines that a file gains, function by function."""
    lines = reviewed.lines(path, old=False)
    for run in _runs(each for each in reviewed.files[path].added if each <= len(lines)):
        depth = {n: _depth(lines[n - 1]) for n in run if lines[n - 1].strip()}
        lowest, block, ended = min(depth.values(), default=0), list[int](), False
        for number in run:
            if number not in depth:
                ended = True
                continue
            begins = depth[number] <= lowest and not _GOES_ON.match(lines[number - 1])
            if block and begins and ended:
                yield block
                block = []
            ended = depth[number] > lowest or (ended and not begins)
            block.append(number)
        if block:
            yield block


def _runs(numbers: Iterable[int]) -> Iterator[list[int]]:
    run: list[int] = []
    for number in numbers:
        if run and run[-1] != number - 1:
            yield run
            run = []
        run.append(number)
    if run:
        yield run


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def unseen_block(
    paths: Iterable[str], seen: Collection[Line], reviewed: Reviewed, fewest: int
) -> str:
    """The first new block of which no line is in view, as people write a place; empty if none."""
    for path in paths:
        lines = reviewed.lines(path, old=False)
        for block in blocks(reviewed, path):
            telling = sum(not _TRIVIAL.match(lines[each - 1]) for each in block)
            if telling >= fewest and not any((path, each) in seen for each in block):
                return f"{path}:{block[0]}-{block[-1]}"
    return ""


def kind_of_line(line: str) -> str:
    """What a line is, if others may be just like it: a definition, an entry, a call."""
    said = line.strip()
    modifiers = _MODIFIERS.match(said)
    rest = said[modifiers.end() :] if modifiers is not None else said
    keyword = _KEYWORD.match(rest)
    if keyword is not None:
        return keyword[0]
    if modifiers is not None:
        if "(" in rest.partition("=")[0]:
            return "member ("
        return "constant" if "static" in modifiers[0] else "member"
    entry = _ENTRY.match(said)
    if entry is None or _NO_KIND.match(said):
        return ""
    return "entry" if said[0] in "\"'" else entry[0].lower()


def unseen_twin(
    quoted: Iterable[Line], added: Iterable[Line], seen: Collection[Line], reviewed: Reviewed
) -> str:
    """The first added line that is just like one that is quoted and is not in view.

    One that was there before but for what ends it is not new.
    """
    kinds = {(path, _kind(path, number, reviewed)) for path, number in quoted}
    for path, number in added:
        if (path, number) not in seen and not _was_there(path, number, reviewed):
            kind = _kind(path, number, reviewed)
            if kind[0] and (path, kind) in kinds:
                return f"{path}:{number}"
    return ""


def _was_there(path: str, number: int, reviewed: Reviewed) -> bool:
    now = reviewed.lines(path, old=False)
    line = now[number - 1]
    before = [each for each in reviewed.lines(path, old=True) if _unended(each) == _unended(line)]
    return any(each not in now for each in before)


def _unended(line: str) -> str:
    return line.strip().rstrip(",;")


def _kind(path: str, number: int, reviewed: Reviewed) -> tuple[str, int]:
    lines = reviewed.lines(path, old=False)
    line = lines[number - 1] if number <= len(lines) else ""
    return kind_of_line(line), _depth(line)


LONGEST_STATED = 400
LONGEST_INFERRED = 100
"""Tokens of a rule whose every sentence can be held against a change: see `is_about_one_thing`."""
IN_VIEW = 20
"""Lines of a place in which it is enough to have seen some line that a rule is about."""
FEWEST_LINES = 2
"""Added lines from which on it can be told that an answer has nothing to do with its rule."""
FEWEST_FOREIGN = 6
"""The same where a rule asks for nothing plainly, so that its words say less."""
EACH_FOR_ITSELF = 3
"""Lines of a place that are cited each for itself, so that their likes matter."""
SHORTEST_PIECE = 6
"""Letters of a piece of code that say which line is meant."""
_ADMITS = re.compile(
    r"\b(?<!no )(?<!any )(?:minor|small|slight|cosmetic|low[- ]severity)\s+(?:\w+\s+){0,2}?"
    r"(?:violation|breach|remark|issue|deviation|concern|problem|offen[cs]e|slip|gap)\b|"
    r"\bnit(?:pick)?\s*[:,]|\blow[- ]severity\b|\bfollow(?:ed)?[- ]up\b|"
    r"\b(?:fix(?:ed)?|address(?:ed)?|mend(?:ed)?|improve[d]?|tighten(?:ed)?|do(?:ne)?|correct(?:ed)?)"
    r"\s+(?:\w+\s+)?(?:later|afterwards|soon|some\s+day|next\s+time)\b|"
    r"\botherwise\s+(?:fine|ok(?:ay)?|good|clean)\b|\bstrictly\s+speaking\b|"
    r"\btechnically\s+(?:\w+\s+)?(?:violat|break|against|breach)\w*|\bnot\s+ideal\b|"
    r"\b(?:good|fine|ok(?:ay)?|acceptable|tolerable)\s+(?:enough|for\s+now)\b",
    re.IGNORECASE,
)
_EXPECTS = re.compile(
    r"(?i:assert|expect|should|verif|check|require|raises|throws|match|snapshot|equal|ensure)|"
    r"\bt\.(?:Error|Fatal|Fail)|\b(?:fail|is|ok|eq|cmp)\w*\("
)
"""What a test holds a result against."""
_PUBLIC = re.compile(
    r"\s*(?:export\s+|default\s+|async\s+|pub\s+|public\s+|static\s+)*"
    r"(?:def|func|fn|function|fun)\s+(?:\([^)]*\)\s*|self\.)?([A-Za-z]\w*)\s*[(<\[]?"
)
"""A definition that others may call; one with `_` before its name is not meant for them."""
_TICKED = re.compile(r"`([^`\n]+)`")
_TESTS = re.compile(r"\b(?:tests?|tested|specs?|coverage)\b", re.IGNORECASE)


def is_about_one_thing(unit: JudgedUnit, reviewed: Reviewed) -> bool:
    """Whether a rule is so short that a change it binds has to do with most of what it says.

    A page of prose speaks of pull requests, tests, tools and much else. Some of its words stand in
    every change, so that an answer which is close to none of them has still looked, and honest ones
    would go to a person again and again. Where the team has stated the severity itself, a rule may
    be longer before that is so.
    """
    longest = LONGEST_INFERRED if unit.id in reviewed.inferred else LONGEST_STATED
    return HeuristicCounter()(reviewed.rules.get(unit.id, "")) <= longest


class Proof:
    """One answer that says `passed` or `not_applicable`, with the lines that it has in view."""

    def __init__(
        self,
        entry: SopEntry,
        resolved: Resolved,
        unit: JudgedUnit,
        reviewed: Reviewed,
        subjects: Subjects,
        *,
        rule: str | None = None,
    ) -> None:
        """`rule` is the part of a page that the answer is held to; without it, the whole text."""
        self._entry = entry
        self._resolved = resolved
        self._unit = unit
        self._reviewed = reviewed
        self._subjects = subjects
        self._rule = reviewed.rules.get(unit.id, "") if rule is None else rule
        self._files = to_cover(unit.files, reviewed) or may_offend_in(unit.files, reviewed)
        self._looked = self._files
        if _TESTS.search(self._rule) is None:
            self._looked = [path for path in self._files if not is_test(path)] or self._files
        self._added = [each for path in self._files for each in reviewed.added(path)]

    def lack(self) -> str:
        """What the answer does not show, in words; empty if it shows what it says."""
        return next(filter(None, self._lacks()), "")

    def lack_of_page(self) -> str:
        """The same where the rule is a page: each part that concerns the change is held by itself.

        Parts concern a change by the code that they name and by words that few lines have. What
        one of them has in common with most of the change tells nothing, so that less is asked here
        than of a rule about one thing.
        """
        if said := self._admitted():
            return said
        for part in parts(self._rule):
            told = (self._entry, self._resolved, self._unit, self._reviewed, self._subjects)
            if said := Proof(*told, rule=part).lack_of_part():
                return said
        return next(filter(None, self._lacks_of_places()), "")

    def lack_of_part(self) -> str:
        """What the answer does not show of one part of a page."""
        return next(filter(None, self._lacks_of_part()), "")

    def _lacks_of_part(self) -> Iterator[str]:
        if self._entry.status is Status.NOT_APPLICABLE:
            yield self._waved_away()
            return
        yield self._gone(well=True)
        if not self._added:
            return
        asked = missing(self._rule, self._whole, self._seen, self._reviewed, near=True)
        if asked != A_TEST or self._is_untested():
            yield _asked_in_vain(asked)
        yield self._unopened()
        yield self._unnamed()
        if self._resolved.searched:
            return
        meant = self._subjects.telling(self._rule, self._looked)
        if meant and not self._spoken(meant):
            where = _shown(min(meant))
            yield f"it speaks of none of the lines that a part of it is about, such as {where}"

    def _lacks_of_places(self) -> Iterator[str]:
        """What the places of an answer leave out, whatever the rule is about."""
        quoted = self._resolved.quoted
        if self._resolved.searched or self._entry.status is Status.NOT_APPLICABLE:
            return
        if not self._added or any(place.old for place in quoted):
            return
        yield self._nothing_new()
        yield self._unseen_twin()

    def _is_untested(self) -> bool:
        """Whether code is new that could be tested, and the answer does not speak of tests."""
        new = unseen_block(self._looked, (), self._reviewed, FEWEST_LINES)
        return bool(new) and _TESTS.search(self._entry.evidence) is None

    def is_unrelated(self) -> bool:
        """Whether nothing that the answer quotes has anything to do with the words of its rule."""
        quoted = self._resolved.quoted
        asked = set(asked_for(self._rule, self._reviewed))
        if self._resolved.searched or not quoted:
            return False
        if any(place.old or place.path in asked for place in quoted):
            return False
        files = [path for path in self._unit.files if path in self._reviewed.files]
        related = self._subjects.related(self._rule, files)
        return not related & self._spoken(related)

    def _lacks(self) -> Iterator[str]:
        yield self._admitted()
        elsewhere = answers_elsewhere(self._rule, self._resolved.named)
        quoted = [place.path for place in self._resolved.quoted]
        if not (elsewhere and answers_elsewhere(self._rule, quoted)):
            yield self._unspoken()
        if self._entry.status is Status.NOT_APPLICABLE:
            yield self._waved_away()
            return
        yield self._gone()
        if not self._added:
            return
        yield _asked_in_vain(missing(self._rule, self._whole, self._seen, self._reviewed))
        yield self._untested()
        yield self._unopened()
        yield self._wrongly_excused()
        # What a search is for does not stand here: it found nothing. Other code may.
        yield self._unnamed()
        if self._resolved.searched:
            return
        if any(place.old for place in self._resolved.quoted):
            return
        yield self._nothing_new()
        if elsewhere:
            yield self._unseen_twin()
        else:
            yield self._foreign()
            yield self._unseen()

    @cached_property
    def _whole(self) -> Lines:
        """Every line that the change adds, wherever."""
        files = (path for path, file in self._reviewed.files.items() if file.citable)
        return {each for path in files for each in self._reviewed.added(path)}

    @cached_property
    def _seen(self) -> Lines:
        """The lines that the answer has in view."""
        return set(self._cited(LONGEST_RANGE)) | self._in_ticks(self._whole)

    def _spoken(self, lines: Lines) -> Lines:
        """Those of some lines that the answer quotes, cites closely, or has a piece of in ticks;
        of what opens a block that the rule says it holds in, those into which it looks.
        """
        near = {*self._cited(IN_VIEW), *self._between(), *self._entered}
        return lines & near | self._in_ticks(lines)

    @cached_property
    def _entered(self) -> Lines:
        found = (
            each
            for code, lines in naming(self._rule, self._added, self._reviewed)
            if self._is_place(code)
            for each in lines
        )
        return set(filter(self._is_looked_into, found))

    def _between(self) -> Iterator[Line]:
        """The lines between two that are quoted and stand close together."""
        quoted = sorted({(each.path, each.start) for each in self._resolved.quoted if not each.old})
        for (path, first), (other, last) in pairwise(quoted):
            if path == other and last - first <= NEAR:
                yield from ((path, number) for number in range(first, last))

    def _cited(self, longest: int) -> Iterator[Line]:
        for place in self._places(longest):
            yield from ((place.path, number) for number in range(place.start, place.end + 1))

    def _places(self, longest: int) -> list[Citation]:
        places = (*self._resolved.quoted, *self._resolved.places)
        return [each for each in places if each.end - each.start < longest and not each.old]

    def _in_ticks(self, lines: Lines) -> Lines:
        pieces = [squeezed(each) for each in _TICKED.findall(self._entry.evidence)]
        pieces = [each for each in pieces if len(each) >= SHORTEST_PIECE]
        return {
            (path, number)
            for path, number in (lines if pieces else ())
            for line in (self._reviewed.squeezed_lines(path, old=False)[number - 1],)
            if any(piece in line for piece in pieces)
        }

    def _unspoken(self) -> str:
        """A line that a rule is about, if there are some and the answer speaks of none of them.

        Where nearly every line is meant, none is. A search has looked at every line.
        """
        if self._resolved.searched:
            return ""
        closest = self._subjects.closest(self._rule, self._looked)
        about, titles = self._subjects.lines(self._rule, self._looked)
        meant = Lines().union(*about, *titles)
        added = sum(len(self._reviewed.files[path].added) for path in self._looked)
        for lines, near in ((closest, closest), (Lines().union(*about), meant)):
            if lines and (lines is closest or len(meant) < added) and not self._spoken(near):
                where = _shown(min(lines))
                return f"it speaks of none of the lines that the rule is about, such as {where}"
        return ""

    def _waved_away(self) -> str:
        """A line with a word of a rule that is said to have nothing to do with the change."""
        files = [path for path in self._files if not is_test(path)]
        lines = self._subjects.named(self._rule, files)
        whom = self._subjects.with_words(" ".join(each.whom for each in demands(self._rule)), files)
        if whom:
            return f"the line {_shown(min(whom))} has what the rule holds for"
        if not lines or lines & self._seen:
            return ""
        return f"the line {_shown(min(lines))} has a word of the rule: say why it does not apply"

    def _gone(self, *, well: bool = False) -> str:
        """What the rule speaks of and the change takes away, if the answer says nothing of it."""
        lost = weakened(self._rule, self._unit.bound, self._reviewed, well=well)
        old = {place.path for place in self._resolved.places if place.old}
        if lost is None or lost[0] in old | set(self._resolved.files):
            return ""
        return f"`{lost[1]}` is gone from {lost[0]}: cite its line as `{lost[0]}:-line`"

    def _unnamed(self) -> str:
        """A line that has code which the rule names, and that the answer does not speak of."""
        said, numbers = squeezed(self._entry.evidence), numbers_said(self._entry.evidence)
        forbidden = forbidden_code(self._rule) if self._resolved.searched else None
        for code, lines in naming(self._rule, self._added, self._reviewed):
            if forbidden is not None and code not in forbidden:
                continue
            if lines & self._seen or numbers & {number for _, number in lines}:
                continue
            if lines & self._entered or self._is_kept_inside(code, lines):
                continue
            if squeezed(code) not in said:
                return f"it does not speak of {_shown(min(lines))}, which has `{code}`"
        return ""

    def _is_place(self, code: str) -> bool:
        """Whether a rule says by a piece of code where something holds."""
        inside = r"\b(?:in|inside|within)\s+(?:of\s+)?(?:an?\s+|the\s+|every\s+)?"
        return re.search(rf"{inside}`{re.escape(code)}`", self._rule) is not None

    def _is_kept_inside(self, code: str, heads: Lines) -> bool:
        """Whether a block is opened by code that a rule asks something of, and shows it in view."""
        asked = [
            each for demand in demands(self._rule) if code in demand.about for each in demand.codes
        ]
        seen = [line for head in heads for line in self._seen_inside(head)]
        return any(shows(each, self._reviewed, line) for each in asked for line in seen)

    def _is_looked_into(self, head: Line) -> bool:
        return next(self._seen_inside(head), None) is not None

    def _seen_inside(self, head: Line) -> Iterator[Line]:
        """The lines in view of the block that a line opens."""
        path, first = head
        lines = self._reviewed.lines(path, old=False)
        depth = _depth(lines[first - 1])
        inside = itertools.takewhile(
            lambda number: not lines[number - 1].strip() or _depth(lines[number - 1]) > depth,
            range(first + 1, len(lines) + 1),
        )
        return (line for number in inside if (line := (path, number)) in self._seen)

    def _admitted(self) -> str:
        """What the answer itself says against its `passed`."""
        if self._entry.status is not Status.PASSED:
            return ""
        said = _ADMITS.search(_TICKED.sub(" ", self._entry.evidence))
        return f"it says of itself {' '.join(said[0].split())!r}" if said is not None else ""

    def _untested(self) -> str:
        """A new function that no changed test names, or tests in which nothing is expected."""
        if not any(each.test for each in demands(self._rule)):
            return ""
        tests = [path for path in self._reviewed.files if is_test(path)]
        lines = [line for path in tests for line in self._reviewed.lines(path, old=False)]
        if not lines:
            return ""
        said = "\n".join((*lines, self._entry.evidence))
        if _EXPECTS.search("\n".join(lines)) is None:
            return f"nothing is expected in {tests[0]}"
        for path in self._own_files:
            for _, number in self._reviewed.added(path):
                name = _PUBLIC.match(self._reviewed.lines(path, old=False)[number - 1])
                if name is not None and not re.search(rf"(?<!\w){name[1]}(?!\w)", said):
                    return f"no changed test names `{name[1]}` of {path}:{number}"
        return ""

    def _unopened(self) -> str:
        """A new file that does not begin as the rule asks for."""
        codes = [code for each in demands(self._rule) if each.opening for code in each.codes]
        for path in self._files if codes else ():
            if self._reviewed.files[path].before is None:
                lines = {(path, number) for number in range(1, BEGINNING + 1)}
                for code in codes:
                    if not any(shows(code, self._reviewed, line) for line in lines):
                        return f"{path} does not begin with `{code}`"
        return ""

    def _wrongly_excused(self) -> str:
        """A line with a word of the rule in a file that is said to have nothing to do with it."""
        wanted = to_cover(self._unit.bound, self._reviewed)
        for path in excused(self._entry.excused, wanted):
            lines = self._subjects.named(self._rule, [path]) if not is_test(path) else Lines()
            if lines and not lines & self._seen:
                where = _shown(min(lines))
                return f"the line {where} has a word of the rule, and its file is excused"
        return ""

    def _foreign(self) -> str:
        """That nothing in view has a word of what the rule asks for; prose says it in others."""
        prose = not to_cover(self._unit.files, self._reviewed)
        if prose or self._unit.unit is not None or self._seen.issuperset(self._added):
            return ""
        if demands(self._rule):
            beside = len(self._added) >= FEWEST_LINES and not self._subjects.is_about(
                self._rule, self._seen, self._files
            )
        else:
            beside = len(self._added) >= FEWEST_FOREIGN and self._has_no_word()
        return "no line that it cites has anything to do with the rule" if beside else ""

    def _has_no_word(self) -> bool:
        """Whether the answer could stand below any rule, by its lines and by its words."""
        said = self._entry.evidence
        for place in self._resolved.places:
            said = said.replace(place.path, " ")
        lines = self._subjects.sharing(self._rule, self._files)
        lines |= self._subjects.related(self._rule, self._files)
        return not self._spoken(lines) and not shares_word(self._rule, said)

    def _unseen(self) -> str:
        """A new function that the answer has not in view, or a line that looks like a cited one."""
        asked = demands(self._rule)
        if asked and all(each.opening for each in asked):
            return ""
        block = unseen_block(self._own_files, self._seen, self._reviewed, 2 if asked else 3)
        return f"nothing is cited of {block}, which is new" if block else self._unseen_twin()

    def _unseen_twin(self) -> str:
        added = [each for path in self._own_files for each in self._reviewed.added(path)]
        asked = {squeezed(code) for each in demands(self._rule) for code in each.codes}
        # What is nothing but the code that is asked for needs no other line to be so too.
        cited = [
            (path, number)
            for path, number in self._cited(EACH_FOR_ITSELF)
            if squeezed(_unended(self._reviewed.lines(path, old=False)[number - 1])) not in asked
        ]
        twin = unseen_twin(cited, added, self._seen, self._reviewed)
        return f"the line {twin} looks like what is cited, and is not cited" if twin else ""

    def _nothing_new(self) -> str:
        if not self._resolved.quoted or self._seen & self._whole:
            return ""
        return f"it cites nothing that is new, such as {_shown(self._added[0])}"

    @cached_property
    def _own_files(self) -> list[str]:
        """The files that are no tests and are not excused."""
        free = set(excused(self._entry.excused, to_cover(self._unit.bound, self._reviewed)))
        paths = [path for path in self._files if not is_test(path)] or self._files
        return [path for path in paths if path not in free]


def _asked_in_vain(what: str) -> str:
    return f"it asks for {what}, which nothing of the change and of the answer has" if what else ""


def _shown(line: Line) -> str:
    return f"{line[0]}:{line[1]}"
