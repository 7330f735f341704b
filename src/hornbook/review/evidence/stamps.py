"""Reviews that look at nothing: every rule waved away, or answered with the same evidence.

What counts as the same are the words, without the rule's own name, spacing and case, or the lines
that are quoted, whichever slice of them it is and however many lines are cited around it; lines
that are cited without a quote, where there is none. Two answers in the same words are enough where
they are all there is; the same lines may honestly speak to two rules, so that there it takes three,
and most of those that bind the same files. A change with fewer lines than rules leaves nothing else
to cite. Sections of one rule may rest on the same lines too.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hornbook.review.evidence.bearing import only_documents
from hornbook.review.evidence.changed_files import Reviewed, nothing_added, nothing_to_cite
from hornbook.review.evidence.resolution import Resolved
from hornbook.review.judgement import JudgedUnit, ReviewProblem, SopEntry, Status

FEWEST_ALIKE = 3
MOST_LINES = 2000


@dataclass(frozen=True, slots=True)
class Answer:
    """What a review says of one rule or section, and what its evidence rests on."""

    entry: SopEntry
    unit: JudgedUnit
    resolved: Resolved


def waved_away(answers: Sequence[Answer], reviewed: Reviewed) -> Iterator[ReviewProblem]:
    """That no rule is said to apply, though all of them bind.

    Where no changed file has a line to cite that is how it is; where only documents change, or
    nothing is added, it is too, if each answer to an error names what was looked at. One rule may
    not apply, if it is no error.
    """
    if not answers or judged(answers) or _is_small(answers):
        return
    bound = {path for each in answers for path in each.unit.bound}
    if nothing_to_cite(bound, reviewed):
        return
    if (only_documents(bound, reviewed) or nothing_added(bound, reviewed)) and all(
        bound.intersection(each.resolved.named) or each.unit.severity != "error" for each in answers
    ):
        return
    said = f"None of {len(answers)} rules is said to apply, and all of them bind: a person decides."
    yield ReviewProblem("all_not_applicable", None, said)


def _is_small(answers: Sequence[Answer]) -> bool:
    return len(answers) == 1 and answers[0].unit.severity != "error"


def stamped(answers: Sequence[Answer], reviewed: Reviewed) -> Iterator[ReviewProblem]:
    """That the answers of one review are a stamp."""
    found = judged(answers)
    if len(found) < 2 or _changed_lines(found, reviewed) < len(found):
        return
    lines = {(each.unit.sop_id, _lines(each)): _bound(each) for each in found}
    times = (
        _same([(_words(each), _bound(each)) for each in found], len(found)),
        _same([(each, files) for (_, each), files in lines.items()], max(len(lines), FEWEST_ALIKE)),
    )
    yield from _stamp(max(times))


def stamped_over_passes(answers: Sequence[Answer]) -> Iterator[ReviewProblem]:
    """The same over passes, whose reviewers do not know of each other.

    Each may honestly quote the same line of a small change, so that only the same words count,
    and from three rules on.
    """
    found = judged(answers)
    if len(found) >= FEWEST_ALIKE:
        yield from _stamp(_same([(_words(each), _bound(each)) for each in found], len(found)))


def shared(answers: Sequence[Answer]) -> Iterator[ReviewProblem]:
    """Rules that rest on the same lines, or on the same search."""
    groups: dict[object, list[str]] = {}
    for each in judged(answers):
        groups.setdefault(_lines(each), []).append(each.entry.sop_id)
    for ids in groups.values():
        others = list(dict.fromkeys(ids))
        if len(others) > 1:
            said = f"it rests on the same evidence as {', '.join(others[1:])}: does it prove both?"
            yield ReviewProblem("shared_evidence", others[0], said)


def judged(answers: Iterable[Answer]) -> list[Answer]:
    """Those that say that a rule is kept or violated."""
    return [each for each in answers if each.entry.status is not Status.NOT_APPLICABLE]


def _stamp(count: int) -> Iterator[ReviewProblem]:
    if count:
        said = f"{count} rules are answered with the same evidence: look at each on its own."
        yield ReviewProblem("rubber_stamp", None, said)


def _same(signatures: Sequence[tuple[object, frozenset[str]]], whole: int) -> int:
    """How many of them are alike, if that is all (from two on), or most of three or more.

    Each has the files that its rule binds: most are meant of the rules that bind the same ones.
    """
    groups: dict[object, list[frozenset[str]]] = {}
    for signature, files in signatures:
        groups.setdefault(signature, []).append(files)
    for alike in sorted(groups.values(), key=len, reverse=True):
        times, files = len(alike), frozenset.intersection(*alike)
        peers = sum(not files or not files.isdisjoint(each) for _, each in signatures)
        everywhere = times >= 2 and times == whole
        if everywhere or (times >= FEWEST_ALIKE and 2 * times > peers):
            return times
    return 0


def _bound(answer: Answer) -> frozenset[str]:
    return frozenset(answer.unit.bound)


def _words(answer: Answer) -> object:
    """The evidence without what is the rule's own name, spacing, case and punctuation."""
    entry = answer.entry
    text = entry.evidence.casefold()
    slug = entry.sop_id.rpartition(".")[2].casefold()
    for name in (entry.sop_id.casefold(), slug, slug.replace("-", " ")):
        text = text.replace(name, "") if name else text
    words = "".join(letter for letter in text if letter.isalnum())
    return words, entry.citations, entry.search


def _lines(answer: Answer) -> object:
    """The lines that the evidence rests on, else its search; one with neither is like no other."""
    quoted = answer.resolved.quoted
    known = {place.path for place in quoted}
    found = frozenset(
        (place.path, place.old, line)
        for place in (*quoted, *(each for each in answer.resolved.places if each.path not in known))
        for line in range(place.start, min(place.end, place.start + MOST_LINES) + 1)
    )
    return found or answer.entry.search or answer.entry


def _changed_lines(answers: Sequence[Answer], reviewed: Reviewed) -> int:
    bound = {path for each in answers for path in each.unit.bound}
    return sum(reviewed.files[path].changed_lines for path in bound if path in reviewed.files)
