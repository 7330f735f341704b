"""Every way in which a review fails to prove that it looked, all at once.

Each problem has a code, which is part of the answer and never changes its meaning. The codes come
in three kinds. Most make a review invalid, because its form is wrong or its evidence does not
exist: the reviewer is asked again. Those in `ESCALATING` are of a review that is well formed and
still convinces nobody, so that a person decides. Those in `WARNINGS` keep nothing from being
approved; they are told so that a person can look.

A large rule is answered section by section: what is said of rules here goes for each of them.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from hornbook.review.evidence.bearing import (
    added_forbidden,
    as_bound,
    bears,
    covered,
    said_beside,
    taken_away,
    to_cover,
)
from hornbook.review.evidence.changed_files import Reviewed, nothing_to_cite
from hornbook.review.evidence.proof import Proof, is_about_one_thing
from hornbook.review.evidence.resolution import resolve
from hornbook.review.evidence.search import Searches
from hornbook.review.evidence.stamps import Answer, shared, stamped, waved_away
from hornbook.review.evidence.subjects import Subjects
from hornbook.review.judgement import (
    Citation,
    JudgedUnit,
    Review,
    ReviewProblem,
    SopEntry,
    Status,
    Verdict,
)
from hornbook.settings.settings import ESCALATED_WARNINGS
from hornbook.vocabulary.terms import Severity

ESCALATING = frozenset(
    {
        "rule_not_read",
        "low_confidence",
        "all_not_applicable",
        "several_merge_bases",
        "incomplete_history",
        "hidden_content",
        "unnamed_change",
        "beside_the_change",
        "beside_the_rule",
        "uncovered_files",
        "contradicting_verdict",
        "forbidden_code",
        "missed_canary",
        "edited_judges",
        "reviewers_disagree",
        "no_second_opinion",
    }
)
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
    "several_merge_bases",
    "incomplete_history",
    "hidden_content",
    "unnamed_change",
    "rule_not_read",
    "beside_the_change",
    "beside_the_rule",
    "uncovered_files",
    "contradicting_verdict",
    "forbidden_code",
    "missed_canary",
    "edited_judges",
    "reviewers_disagree",
    "no_second_opinion",
    "no_context",
    "unparsable",
)
WARNINGS = (
    "unbound_gates",
    "rule_not_understood",
    "told_besides",
    "shared_evidence",
    "unrelated_search",
    "narrow_search",
    "partial_search",
    "perhaps_forbidden",
    "unrelated_quote",
    "perhaps_beside",
    "unseen_generated",
    "corrected_line",
)
SEARCHES = frozenset({"unrelated_search", "narrow_search", "partial_search"})
LEAST = 0.7
"""Below which confidence a person decides, unless the settings say otherwise."""
MOST_HINTS = 50
LONGEST_ID = 300
_RANK = {Severity.INFO: 0, Severity.WARNING: 1, Severity.ERROR: 2}


@dataclass(frozen=True, slots=True)
class Standard:
    """What a review is held to: from which severity a violation blocks, how sure to be, and over
    which warnings a person is asked.
    """

    block_on: Severity = Severity.ERROR
    confidence: float = LEAST
    escalate_on: frozenset[str] = frozenset(ESCALATED_WARNINGS)

    def blocks(self, severity: str) -> bool:
        """Whether a violated rule of this severity forbids an approval."""
        return _RANK[Severity(severity)] >= _RANK[self.block_on]


class IntegrityCheck:
    """Checks one review against the rules, and sections of rules, that it had to answer.

    `units` are those that it may answer by id, `asked` the ids of those that it must. `places`
    has, for each whose evidence holds, the first place that it cites; `warnings` is what a person
    should look at though the evidence holds.
    """

    def __init__(
        self,
        units: Mapping[str, JudgedUnit],
        asked: Collection[str],
        reviewed: Reviewed,
        standard: Standard,
    ) -> None:
        self._units = units
        self._asked = asked
        self._reviewed = reviewed
        self._standard = standard
        self._subjects = Subjects(reviewed)
        self._searches = Searches(reviewed.changed_code(), reviewed.rules)
        self._rule_files = {unit.path for unit in units.values()} - set(reviewed.changed)
        self.places: dict[str, Citation] = {}
        self.warnings: list[ReviewProblem] = []
        self.answers: list[Answer] = []
        self.notes: list[str] = []

    def problems(self, review: Review) -> list[ReviewProblem]:
        """What keeps the review from being accepted, in the order of its entries."""
        found = list(_coverage(review.entries, self._units, self._asked))
        answered: set[str] = set()
        for entry in review.entries:
            rule = self._units.get(entry.sop_id)
            if rule is None:
                continue
            if rule.id not in answered:
                found += self._evidence(entry, rule, review.verdict)
            answered.add(rule.id)
            found += self._status(entry, rule, review.verdict)
        approves = review.verdict is Verdict.APPROVED
        same = list(stamped(self.answers, self._reviewed)) if approves else []
        found += [*waved_away(self.answers, self._reviewed), *same]
        self.warnings += [] if same else shared(self.answers)
        found += self._confidence(review)
        return found

    def _evidence(
        self, entry: SopEntry, rule: JudgedUnit, verdict: Verdict
    ) -> Iterator[ReviewProblem]:
        # A rejection rests on what it says is violated, and on its feedback.
        weighed = verdict is Verdict.APPROVED or entry.status is Status.VIOLATED
        seen = as_bound(rule, self._reviewed)
        resolved = resolve(entry, rule, seen, self._searches, self._rule_files, weighed=weighed)
        answer = Answer(entry, rule, resolved)
        self.answers.append(answer)
        needless = self._has_no_need_to_search(answer)
        for code, said in resolved.warnings:
            if needless and code in SEARCHES:
                self.notes.append(f"{rule.id}: {said}")
            else:
                self.warnings.append(ReviewProblem(code, rule.id, said))
        self.notes += [f"{rule.id}: {said}" for said in resolved.notes]
        if resolved.places:
            self.places[rule.id] = resolved.places[0]
        for code, message in resolved.problems:
            yield ReviewProblem(code, rule.id, message)
        if not resolved.problems and self._is_beside(answer, verdict):
            said = said_beside(entry, resolved.places)
            yield ReviewProblem("beside_the_change", rule.id, said)
        if verdict is Verdict.APPROVED:
            yield from self._forbidden(answer, rule)
            yield from self._beside_the_rule(answer, rule)
            yield from self._unshown(entry, rule)

    def _beside_the_rule(self, answer: Answer, rule: JudgedUnit) -> Iterator[ReviewProblem]:
        """That an answer speaks of no line that the rule is about, though the change has some."""
        if answer.entry.status is Status.VIOLATED or rule.severity != "error":
            return
        if answer.resolved.problems:
            return
        proof = Proof(answer.entry, answer.resolved, rule, self._reviewed, self._subjects)
        said, one_thing = proof.lack(), self._is_about_one_thing(rule)
        surely = said if one_thing else proof.lack_of_page()
        if surely:
            said = surely
            message = f"{said[0].upper()}{said[1:]}: a person decides."
            yield ReviewProblem("beside_the_rule", rule.id, message)
        elif said:
            message = f"{said[0].upper()}{said[1:]}: is it answered?"
            self.warnings.append(ReviewProblem("perhaps_beside", rule.id, message))
        elif answer.entry.status is Status.PASSED and proof.is_unrelated():
            said = "no word of the rule is in what is quoted for it: does it speak of the rule?"
            self.warnings.append(ReviewProblem("unrelated_quote", rule.id, said))

    def _has_no_need_to_search(self, answer: Answer) -> bool:
        """Whether an answer holds by its places alone.

        Then a search beside them is more than was asked for: a doubt about it is not one about
        the answer.
        """
        unit, reviewed = answer.unit, as_bound(answer.unit, self._reviewed)
        places = replace(answer.resolved, searched=())
        if not bears(answer.entry, places, unit, reviewed):
            return False
        spoken = covered(answer.entry, places, unit.bound, reviewed)
        if not spoken.issuperset(to_cover(unit.files, reviewed)):
            return False
        proof = Proof(answer.entry, places, unit, self._reviewed, self._subjects)
        one_thing = self._is_about_one_thing(unit)
        return not (one_thing and (proof.lack() or proof.is_unrelated()))

    def _is_about_one_thing(self, rule: JudgedUnit) -> bool:
        return is_about_one_thing(rule, self._reviewed)

    def _unshown(self, entry: SopEntry, rule: JudgedUnit) -> Iterator[ReviewProblem]:
        """That a rule is said to be kept, and the change takes away what it asks for; where
        nothing that is added has it, a warning.
        """
        if entry.status is not Status.PASSED or rule.severity != "error":
            return
        lost = taken_away(self._reviewed, rule)
        if lost is not None:
            said = (
                f"It says that the rule is kept, which asks for `{lost}`, and the change takes it "
                "away or does not touch it: a person decides."
            )
            yield ReviewProblem("beside_the_rule", rule.id, said)
            return

    def _forbidden(self, answer: Answer, rule: JudgedUnit) -> Iterator[ReviewProblem]:
        """That the change adds what the rule forbids by name, whatever a review says of it.

        Where the order has a condition, a review that speaks of the line has judged that. What is
        no error may be approved, so that there it is only told.
        """
        if answer.entry.status is Status.VIOLATED:
            return
        found = added_forbidden(answer.entry, answer.resolved, self._reviewed, rule)
        if found is None:
            return
        said = f"{found.shown} at {found.path}:{found.line} is added, which the rule forbids"
        if not found.sure:
            said += " under some condition, or which was moved"
        asked = found.sure or found.ask
        if rule.severity == "error" and asked:
            unsaid = "" if found.sure else ", and the review does not speak of it"
            said = f"{said}{unsaid}: a person decides."
            yield ReviewProblem("forbidden_code", rule.id, said)
        elif rule.severity == "error" or found.sure:
            said = f"{said}: is it kept there?"
            self.warnings.append(ReviewProblem("perhaps_forbidden", rule.id, said))

    def _is_beside(self, answer: Answer, verdict: Verdict) -> bool:
        """Whether an answer that counts rests on nothing of the change.

        A rejection rests on the rules that it says are violated, and on its own reason; what it
        says beside them keeps nothing from being mended.
        """
        entry, unit = answer.entry, answer.unit
        if entry.status is not Status.VIOLATED and verdict is Verdict.REJECTED:
            return False
        if entry.status is Status.NOT_APPLICABLE and unit.severity != "error":
            return False
        if nothing_to_cite(unit.bound, self._reviewed):
            return False
        return not bears(entry, answer.resolved, unit, as_bound(unit, self._reviewed))

    def _status(
        self, entry: SopEntry, rule: JudgedUnit, verdict: Verdict
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
    entries: Sequence[SopEntry], rules: Mapping[str, JudgedUnit], asked: Collection[str]
) -> Iterator[ReviewProblem]:
    times = Counter(entry.sop_id for entry in entries)
    for rule_id in sorted(set(asked) - times.keys()):
        what = "rule" if rules[rule_id].unit is None else "section of a rule"
        yield ReviewProblem(
            "missing_sop", rule_id, f"The review has no entry for this {what}: judge it."
        )
    for place, (rule_id, count) in enumerate(times.items()):
        if rule_id not in rules:
            near = get_close_matches(rule_id[:LONGEST_ID], rules, 1) if place < MOST_HINTS else []
            hint = f"did you mean {near[0]}?" if near else "remove the entry."
            said = f"{rule_id!r} is {_no_answer(rule_id, rules)}: {hint}"
            yield ReviewProblem("unknown_sop", rule_id, said)
        if count > 1:
            said = f"The rule has {count} entries: write one."
            yield ReviewProblem("duplicate_sop", rule_id, said)


def _no_answer(name: str, rules: Mapping[str, JudgedUnit]) -> str:
    """Why nothing is to be answered by this id."""
    documents = {unit.sop_id for unit in rules.values()}
    if name in documents:
        return "answered by its sections, each by its own id"
    if name.rpartition(".section.")[0] in documents:
        return "no section that this review has to answer"
    return "no rule that binds this change"
