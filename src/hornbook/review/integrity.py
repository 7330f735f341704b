"""Every way in which a review fails to prove that it looked, all at once.

Each problem has a code, which is part of the answer and never changes its meaning. The codes come
in three kinds. Most make a review invalid, because its form is wrong or its evidence does not
exist: the reviewer is asked again. Those in `ESCALATING` are of a review that is well formed and
still convinces nobody, so that a person decides. Those in `WARNINGS` keep nothing from being
approved; they are told so that a person can look.

A review that answers every rule with the same words has looked at none of them. What counts as the
same is decided in `alike`: the words without the rule's own name, spacing and case, or the places
that are cited. Two alike answers are enough where they are all there is, else three that are most.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from hornbook.review.evidence import Tree, find, resolve, shown
from hornbook.review.judgement import (
    Citation,
    JudgedRule,
    Review,
    ReviewProblem,
    Search,
    SopEntry,
    Status,
    Verdict,
)
from hornbook.review.search import Searches
from hornbook.vocabulary.terms import Severity

FEWEST_ALIKE = 3


def alike_over_passes(entries: Sequence[SopEntry]) -> Iterator[ReviewProblem]:
    """The same over passes, whose reviewers do not know of each other.

    Each may honestly quote the same line of a small change, so that only the same words count,
    and from three rules on.
    """
    judged = _judged(entries)
    if not judged:
        yield from _waved_away(entries)
    elif len(judged) >= FEWEST_ALIKE:
        yield from _stamped(_same(map(_words, judged), len(judged)))


def alike(entries: Sequence[SopEntry], tree: Tree) -> Iterator[ReviewProblem]:
    """Reviews that look at nothing: every rule waved away, or answered with the same words."""
    judged = _judged(entries)
    if not judged:
        yield from _waved_away(entries)
    elif len(entries) > 1:
        pointers = [_pointers(entry, tree) for entry in judged]
        times = (
            _same(map(_words, entries), len(entries)),
            _same(map(_words, judged), len(judged)),
            _same(pointers, max(len(judged), FEWEST_ALIKE)),
        )
        yield from _stamped(max(times))


def _judged(entries: Sequence[SopEntry]) -> list[SopEntry]:
    return [entry for entry in entries if entry.status is not Status.NOT_APPLICABLE]


def _waved_away(entries: Sequence[SopEntry]) -> Iterator[ReviewProblem]:
    if len(entries) > 1:
        yield ReviewProblem(
            "all_not_applicable",
            None,
            f"None of {len(entries)} rules is said to apply, and all of them bind: "
            "a person decides.",
        )


def _stamped(count: int) -> Iterator[ReviewProblem]:
    if count:
        yield ReviewProblem(
            "rubber_stamp",
            None,
            f"{count} rules are answered with the same evidence: look at each on its own.",
        )


def shared(entries: Sequence[SopEntry], tree: Tree) -> Iterator[ReviewProblem]:
    """Rules that rest on the same lines and quotes, or on the same search."""
    groups: dict[object, list[str]] = {}
    for entry in _judged(entries):
        groups.setdefault(_pointers(entry, tree), []).append(entry.sop_id)
    for ids in groups.values():
        others = list(dict.fromkeys(ids))
        if len(others) > 1:
            said = f"it rests on the same evidence as {', '.join(others[1:])}: does it prove both?"
            yield ReviewProblem("shared_evidence", others[0], said)


def _same(signatures: Iterable[object], whole: int) -> int:
    """How many of them are alike, if that is all (from two on), or most of three or more."""
    counts = Counter(signatures)
    ((_, times),) = counts.most_common(1)
    everywhere = times >= 2 and times == whole
    most = times >= FEWEST_ALIKE and 2 * times > counts.total()
    return times if everywhere or most else 0


def _words(entry: SopEntry) -> tuple[str, tuple[Citation, ...], Search | None]:
    """The evidence without what is the rule's own name, spacing, case and punctuation."""
    text = entry.evidence.casefold()
    slug = entry.sop_id.rpartition(".")[2].casefold()
    for name in (entry.sop_id.casefold(), slug, slug.replace("-", " ")):
        text = text.replace(name, "") if name else text
    words = "".join(letter for letter in text if letter.isalnum())
    return words, entry.citations, entry.search


def _pointers(entry: SopEntry, tree: Tree) -> object:
    """What the evidence points at, whatever is said around it; an entry that points at nothing
    is like no other."""
    found = find(entry.evidence, tree.has)
    points = (found.places, found.quotes, entry.citations, entry.search)
    return points if any(points) else entry


ESCALATING = frozenset({"low_confidence", "all_not_applicable"})
CODES = (
    "missing_sop",
    "unknown_sop",
    "duplicate_sop",
    "no_evidence",
    "unresolved_evidence",
    "rubber_stamp",
    "violated_but_approved",
    "violation_without_detail",
    "passed_with_violations",
    "low_confidence",
    "bad_confidence",
    "verdict_mismatch",
    "missing_rejection_type",
    "unexpected_rejection_type",
    "missing_feedback",
    "all_not_applicable",
    "no_context",
    "unparsable",
)
WARNINGS = (
    "unbound_gates",
    "rule_not_understood",
    "told_besides",
    "outside_change",
    "shared_evidence",
    "unrelated_search",
    "narrow_search",
    "partial_search",
)
MOST_HINTS = 50
LONGEST_ID = 300
_RANK = {Severity.INFO: 0, Severity.WARNING: 1, Severity.ERROR: 2}


@dataclass(frozen=True, slots=True)
class Standard:
    """What a review is held to: from which severity a violation blocks, and how sure to be."""

    block_on: Severity = Severity.ERROR
    confidence: float = 0.7

    def blocks(self, severity: str) -> bool:
        """Whether a violated rule of this severity forbids an approval."""
        return _RANK[Severity(severity)] >= _RANK[self.block_on]


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The tree under review, the texts of the changed files in it, and the words of the rules."""

    tree: Tree
    changed: Mapping[str, str]
    rules: Mapping[str, str] = field(default_factory=dict)


class IntegrityCheck:
    """Checks one review against the rules that it had to answer.

    `places` has, for each rule whose evidence holds, the first place that it cites; `warnings`
    is what a person should look at though the evidence holds.
    """

    def __init__(
        self, rules: Mapping[str, JudgedRule], reviewed: Reviewed, standard: Standard
    ) -> None:
        self._rules = rules
        self._reviewed = reviewed
        self._standard = standard
        self._searches = Searches(reviewed.changed, reviewed.rules)
        self._rule_files = {rule.path for rule in rules.values()} - set(reviewed.changed)
        self.places: dict[str, Citation] = {}
        self.warnings: list[ReviewProblem] = []

    def problems(self, review: Review) -> list[ReviewProblem]:
        """What keeps the review from being accepted, in the order of its entries."""
        found = list(_coverage(review.entries, self._rules))
        answered: set[str] = set()
        for entry in review.entries:
            rule = self._rules.get(entry.sop_id)
            if rule is None:
                continue
            if rule.id not in answered:
                found += self._evidence(entry, rule)
            answered.add(rule.id)
            found += self._status(entry, rule, review.verdict)
        same = list(alike(review.entries, self._reviewed.tree))
        found += same
        self.warnings += [] if same else shared(review.entries, self._reviewed.tree)
        found += self._confidence(review)
        return found

    def _evidence(self, entry: SopEntry, rule: JudgedRule) -> Iterator[ReviewProblem]:
        tree, searches = self._reviewed.tree, self._searches
        resolved = resolve(entry, rule, tree, searches, self._rule_files)
        self.warnings += [ReviewProblem(code, rule.id, said) for code, said in resolved.warnings]
        if resolved.places:
            self.places[rule.id] = resolved.places[0]
            if not any(place.path in self._reviewed.changed for place in resolved.places):
                said = _elsewhere(entry, resolved.places[0])
                self.warnings.append(ReviewProblem("outside_change", rule.id, said))
        for code, message in resolved.problems:
            yield ReviewProblem(code, rule.id, message)

    def _status(
        self, entry: SopEntry, rule: JudgedRule, verdict: Verdict
    ) -> Iterator[ReviewProblem]:
        violated = entry.status is Status.VIOLATED
        if violated and not entry.violations:
            yield ReviewProblem(
                "violation_without_detail",
                entry.sop_id,
                "The rule is violated and `violations` is empty: say each violation.",
            )
        if not violated and entry.violations:
            yield ReviewProblem(
                "passed_with_violations",
                entry.sop_id,
                f"The rule is {entry.status} and has violations: decide for one of them.",
            )
        if violated and verdict is Verdict.APPROVED and self._standard.blocks(rule.severity):
            yield ReviewProblem(
                "violated_but_approved",
                entry.sop_id,
                f"A violated rule of severity {rule.severity} forbids an approval: reject.",
            )

    def _confidence(self, review: Review) -> Iterator[ReviewProblem]:
        least = self._standard.confidence
        if review.confidence is not None and review.confidence < least:
            yield ReviewProblem(
                "low_confidence",
                None,
                f"Confidence is {review.confidence:g}, below {least:g}: a person decides.",
            )


def _coverage(
    entries: Sequence[SopEntry], rules: Mapping[str, JudgedRule]
) -> Iterator[ReviewProblem]:
    times = Counter(entry.sop_id for entry in entries)
    for rule_id in sorted(rules.keys() - times.keys()):
        yield ReviewProblem(
            "missing_sop", rule_id, "The review has no entry for this rule: judge it."
        )
    for place, (rule_id, count) in enumerate(times.items()):
        if rule_id not in rules:
            near = get_close_matches(rule_id[:LONGEST_ID], rules, 1) if place < MOST_HINTS else []
            hint = f"did you mean {near[0]}?" if near else "remove the entry."
            said = f"{rule_id!r} is no rule that binds this change: {hint}"
            yield ReviewProblem("unknown_sop", rule_id, said)
        if count > 1:
            said = f"The rule has {count} entries: write one."
            yield ReviewProblem("duplicate_sop", rule_id, said)


def _elsewhere(entry: SopEntry, place: Citation) -> str:
    if entry.status is Status.VIOLATED:
        return (
            f"the violation is shown at {shown(place)}, which is not part of the change: is it "
            "this change that violates the rule?"
        )
    return f"its evidence {shown(place)} is not part of the change."
