"""Derives the outcome of a change from its reviews, its gates and what the change itself says."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from hornbook.gates.gate import GateReport, GateResult, GateStatus
from hornbook.review.canary import Canary, finds, missed, told
from hornbook.review.evidence.bearing import as_bound, covered, said_uncovered, to_cover
from hornbook.review.evidence.changed_files import Reviewed
from hornbook.review.evidence.resolution import shown
from hornbook.review.evidence.stamps import Answer, shared, stamped_over_passes, waved_away
from hornbook.review.integrity import ESCALATING, IntegrityCheck, Standard
from hornbook.review.judgement import (
    CanaryResult,
    Citation,
    Finding,
    JudgedRule,
    JudgedUnit,
    Judgement,
    LearnedPattern,
    RejectionType,
    Review,
    ReviewProblem,
    Route,
    Ruling,
    SopEntry,
    Status,
    Verdict,
    counted,
)
from hornbook.review.opinions import OpinionsAsked, Side, missing_opinions, violated_in
from hornbook.review.printed_review import read_review
from hornbook.rules.units import HEAD, unit_id

if TYPE_CHECKING:
    from hornbook.review.calibration import Threshold


@dataclass(frozen=True, slots=True)
class ReviewBrief:
    """What one review had to answer: the rules and sections of its packet, and what was printed.

    `name` tells reviews apart when there are several. `shown` are sections that its packet shows
    beside them, as the head of a rule in each of its passes: it may answer them.
    """

    name: str
    asked: frozenset[str]
    printed: bytes
    shown: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Case:
    """A change to be judged: its rules, its tree, what gates and the change itself say.

    `doubts` are problems that no review can mend, such as a receipt that was edited;
    `questions` are facts that only a person can judge; `outside` are changed files that lie
    outside the root, which no rule here can bind. `warnings` weigh nothing and are told. With a
    `canary` in it the change is none that could be approved.
    """

    rules: tuple[JudgedRule, ...]
    reviewed: Reviewed
    standard: Standard = field(default=Standard())
    gates: GateReport | None = None
    edited: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    doubts: tuple[ReviewProblem, ...] = ()
    questions: tuple[str, ...] = ()
    warnings: tuple[ReviewProblem, ...] = ()
    base: str | None = None
    head: str | None = None
    canary: Canary | None = None
    opinions: OpinionsAsked = field(default=OpinionsAsked())
    thresholds: "Mapping[str, Threshold]" = field(default_factory=dict)
    """Below which confidence a person decides, by the names of reviews that records tell of."""

    @property
    def units(self) -> dict[str, JudgedUnit]:
        """What the reviews have to answer, by id."""
        return {unit.id: unit for rule in self.rules for unit in rule.judged}


def heads_in(rules: Iterable[JudgedRule]) -> dict[str, str]:
    """The section that an entry with the id of a large rule answers: its head, if it has one."""
    return {
        rule.id: unit.id
        for rule in rules
        for unit in rule.units
        if unit.id == unit_id(rule.id, HEAD)
    }


@dataclass(frozen=True, slots=True)
class CheckedReview:
    """One review, read and checked; `places` has the first place cited for each rule."""

    brief: ReviewBrief
    review: Review | None
    problems: tuple[ReviewProblem, ...]
    notes: tuple[str, ...]
    places: Mapping[str, Citation]
    warnings: tuple[ReviewProblem, ...] = ()
    answers: tuple[Answer, ...] = ()


def gates_stop(gates: GateReport | None) -> bool:
    """Whether gates were run and did not pass, whatever they say they add up to."""
    return gates is not None and not gates.holds


ROUTES = {
    RejectionType.FIXABLE: Route.DEVELOPER,
    RejectionType.MISSCOPED: Route.PLAN_REFINEMENT,
    RejectionType.ARCHITECTURAL: Route.DESIGN_REFINEMENT,
    RejectionType.TOO_BIG: Route.TASK_DECOMPOSITION,
}
# Of several rejections the one that reaches back furthest decides.
_FURTHEST = (
    RejectionType.ARCHITECTURAL,
    RejectionType.MISSCOPED,
    RejectionType.TOO_BIG,
    RejectionType.FIXABLE,
)


def judge(case: Case, briefs: Sequence[ReviewBrief]) -> Judgement:
    """The outcome that follows from the reviews; a derivation can only forbid an approval."""
    checked = [_check(case, brief) for brief in briefs]
    together = list(_over_passes(checked))
    rounds = together or [[each] for each in checked]
    warnings = tuple(dict.fromkeys(_warnings(case, checked, together)))
    reviews = [each.review for each in checked if each.review is not None]
    problems = [
        *_problems(case, checked, together),
        *_uncovered(case, rounds),
        *missing_opinions(list(_sides(rounds)), case.opinions),
        *_escalated(case, checked),
        *_missed(case, checked),
    ]
    outcome = _outcome(case, problems, reviews)
    kind = _rejection_type(reviews) if outcome is Ruling.REJECTED else None
    return Judgement(
        outcome=outcome,
        rejection_type=kind,
        route=_route(outcome, kind),
        problems=tuple(problems),
        findings=tuple(_findings(case, checked)),
        explanation=tuple(_explanation(case, checked, outcome, problems)),
        feedback="\n\n".join(dict.fromkeys(review.feedback for review in reviews)),
        patterns=_patterns(reviews) if outcome is Ruling.APPROVED else (),
        disagreements=tuple(_disagreements(checked)),
        notes=tuple(chain.from_iterable(each.notes for each in checked)),
        warnings=warnings,
        rules=case.rules,
        base=case.base,
        head=case.head,
        canary=_canary_result(case, problems),
    )


def judge_gates(case: Case) -> Judgement:
    """The outcome of a change that its gates stop before anybody reviews it."""
    outcome = _outcome(case, case.doubts, ())
    kind = RejectionType.FIXABLE if outcome is Ruling.REJECTED else None
    return Judgement(
        outcome=outcome,
        rejection_type=kind,
        route=_route(outcome, kind),
        problems=case.doubts,
        findings=tuple(_of_no_rule(case)),
        explanation=(_gates_line(case), "no reviewer was asked", *case.questions),
        warnings=case.warnings,
        rules=case.rules,
        base=case.base,
        head=case.head,
    )


def _check(case: Case, brief: ReviewBrief) -> CheckedReview:
    reading = read_review(brief.printed)
    if reading.review is None:
        return CheckedReview(brief, None, tuple(reading.problems), tuple(reading.notes), {})
    review = by_section(reading.review, heads_in(case.rules))
    units = {name: unit for name, unit in case.units.items() if name in brief.asked | brief.shown}
    own = case.thresholds.get(brief.name)
    standard = case.standard if own is None else replace(case.standard, confidence=own.confidence)
    check = IntegrityCheck(units, brief.asked, case.reviewed, standard)
    problems = (*reading.problems, *check.problems(review))
    return CheckedReview(
        brief,
        review,
        problems,
        (*reading.notes, *_threshold_note(brief, own), *check.notes),
        check.places,
        tuple(check.warnings),
        tuple(check.answers),
    )


def _threshold_note(brief: ReviewBrief, own: "Threshold | None") -> Iterator[str]:
    if own is not None:
        yield f"the confidence at which {brief.name} is believed is {own.reason}"


def by_section(review: Review, heads: Mapping[str, str]) -> Review:
    """The review with entries for a large rule as entries for its head, which they answer."""
    entries = (replace(each, sop_id=heads.get(each.sop_id, each.sop_id)) for each in review.entries)
    return replace(review, entries=tuple(entries))


def _problems(
    case: Case, checked: Sequence[CheckedReview], together: Sequence[Sequence[CheckedReview]]
) -> list[ReviewProblem]:
    """Everything that keeps the reviews from being accepted, each problem of a kind once."""
    found = [*case.doubts, *_unanswered(case, [each.brief for each in checked])]
    for each in checked:
        found += _named(each.problems, each.brief, len(checked))
    known = {problem.code for problem in found}
    stamps = dict.fromkeys(
        each
        for answers in map(_answers_of, together)
        for each in (*waved_away(answers, case.reviewed), *stamped_over_passes(answers))
    )
    return [*found, *(each for each in stamps if each.code not in known)]


def _answers_of(reviews: Sequence[CheckedReview]) -> list[Answer]:
    return [answer for review in reviews for answer in review.answers]


def _uncovered(case: Case, rounds: Sequence[Sequence[CheckedReview]]) -> Iterator[ReviewProblem]:
    """The rules of severity error that an approval did not hold some changed file of code against.

    A round is what one reviewer said of all rules, in one packet or over its passes.
    """
    approving = [_answers_of(each) for each in rounds if all(map(_approves, each))]
    for rule in case.rules:
        wanted = set(to_cover(rule.files, case.reviewed)) if rule.severity == "error" else set()
        missed: set[str] = set()
        for answers in approving:
            of_rule = [each for each in answers if each.unit.sop_id == rule.id]
            if of_rule and not any(each.resolved.problems for each in of_rule):
                seen = (
                    covered(e.entry, e.resolved, rule.files, as_bound(e.unit, case.reviewed))
                    for e in of_rule
                )
                missed |= wanted.difference(*seen)
        if missed:
            yield ReviewProblem("uncovered_files", rule.id, said_uncovered(sorted(missed)))


def _sides(rounds: Sequence[Sequence[CheckedReview]]) -> Iterator[Side]:
    """What each reviewer says of the whole change; nothing of those that could not be read."""
    for each in rounds:
        reviews = [one.review for one in each if one.review is not None]
        if len(reviews) < len(each):
            continue
        statuses = {e.sop_id: e.status for review in reviews for e in review.entries}
        rejects = any(review.verdict is Verdict.REJECTED for review in reviews)
        yield Side(
            tuple(one.brief.name for one in each),
            Verdict.REJECTED if rejects else Verdict.APPROVED,
            "\n".join(dict.fromkeys(review.feedback for review in reviews)),
            violated_in(statuses),
            frozenset(one.brief.printed.strip() for one in each),
        )


def _approves(checked: CheckedReview) -> bool:
    return checked.review is not None and checked.review.verdict is Verdict.APPROVED


def _escalated(case: Case, checked: Sequence[CheckedReview]) -> Iterator[ReviewProblem]:
    """The warnings about approvals that a person is asked over, by the settings of the base."""
    approving = [each for each in checked if _approves(each)]
    told = [*case.warnings] if approving else []
    for each in approving:
        told += _named(each.warnings, each.brief, len(checked))
    yield from (each for each in dict.fromkeys(told) if each.code in case.standard.escalate_on)


def _missed(case: Case, checked: Sequence[CheckedReview]) -> Iterator[ReviewProblem]:
    """The reviews that were shown what was planted and do not tell of it."""
    canary = case.canary
    if canary is None:
        return
    for each in checked:
        if canary.unit in each.brief.asked and not finds(canary, each.answers):
            yield from _named([missed(canary)], each.brief, len(checked))


def _canary_result(case: Case, problems: Iterable[ReviewProblem]) -> CanaryResult | None:
    """Whether every review that was shown what was planted found it."""
    if case.canary is None:
        return None
    lost = {(code, case.canary.unit) for code in ("missed_canary", "missing_sop")}
    found = all((each.code, each.sop_id) not in lost for each in problems)
    return CanaryResult(case.canary.id, found)


def _warnings(
    case: Case, checked: Sequence[CheckedReview], together: Sequence[Sequence[CheckedReview]]
) -> Iterator[ReviewProblem]:
    yield from case.warnings
    for each in checked:
        yield from _named(each.warnings, each.brief, len(checked))
    for answers in map(_answers_of, together):
        yield from shared(answers)


def _named(
    problems: Sequence[ReviewProblem], brief: ReviewBrief, reviews: int
) -> Iterator[ReviewProblem]:
    """The problems of a review; where there are several reviews, each says whose it is."""
    for each in problems:
        message = f"{brief.name}: {each.message}" if reviews > 1 else each.message
        yield ReviewProblem(each.code, each.sop_id, message)


def _entries(checked: Sequence[CheckedReview]) -> Iterator[tuple[CheckedReview, SopEntry]]:
    """What every review that could be read says of each rule."""
    for each in checked:
        for entry in each.review.entries if each.review is not None else ():
            yield each, entry


def _over_passes(checked: Sequence[CheckedReview]) -> Iterator[list[CheckedReview]]:
    """What the passes of a review say together; nothing where there is one packet only.

    A pass may have been reviewed several times. The first reviews of all passes are read as one
    review, then the second ones, and so on; a pass with fewer reviews repeats its last.
    """
    passes: dict[frozenset[str], list[CheckedReview]] = {}
    for each in checked:
        if each.review is not None:
            passes.setdefault(each.brief.asked, []).append(each)
    for turn in range(max(map(len, passes.values())) if len(passes) > 1 else 0):
        yield [reviews[min(turn, len(reviews) - 1)] for reviews in passes.values()]


def _unanswered(case: Case, briefs: Sequence[ReviewBrief]) -> Iterator[ReviewProblem]:
    """Rules that no review was asked about: the passes do not cover the set."""
    asked = frozenset[str]().union(*(brief.asked for brief in briefs))
    for name in sorted(case.units.keys() - asked):
        said = "No review of the pass that holds it was given: review that pass too."
        yield ReviewProblem("missing_sop", name, said)
    if not briefs:
        yield ReviewProblem("unparsable", None, "There is no review: nothing was looked at.")


def _outcome(case: Case, problems: Sequence[ReviewProblem], reviews: Sequence[Review]) -> Ruling:
    if any(problem.code not in ESCALATING | case.standard.escalate_on for problem in problems):
        return Ruling.INVALID
    if problems or case.questions:
        return Ruling.ESCALATE
    if gates_stop(case.gates) or any(r.verdict is Verdict.REJECTED for r in reviews):
        return Ruling.REJECTED
    return Ruling.APPROVED if case.canary is None else Ruling.ESCALATE


def _rejection_type(reviews: Sequence[Review]) -> RejectionType:
    kinds = {review.rejection_type for review in reviews if review.verdict is Verdict.REJECTED}
    return next((kind for kind in _FURTHEST if kind in kinds), RejectionType.FIXABLE)


def _route(outcome: Ruling, kind: RejectionType | None) -> Route | None:
    if outcome is Ruling.APPROVED:
        return None
    return ROUTES[kind] if kind is not None else Route.HUMAN


def _patterns(reviews: Sequence[Review]) -> tuple[LearnedPattern, ...]:
    return tuple(dict.fromkeys(pattern for review in reviews for pattern in review.patterns))


def _findings(case: Case, checked: Sequence[CheckedReview]) -> Iterator[Finding]:
    """What the judgement rests on: each rule's answers in id order, gates, edited rules."""
    answers = list(_entries(checked))
    for unit in (unit for rule in case.rules for unit in rule.judged):
        for each, entry in answers:
            if entry.sop_id == unit.id:
                yield from _answers(unit, entry, each.places.get(unit.id))
    yield from _of_no_rule(case)


def _of_no_rule(case: Case) -> Iterator[Finding]:
    for gate in case.gates.gates if case.gates is not None else ():
        if gate.status not in {GateStatus.PASSED, GateStatus.SKIPPED}:
            severity = "error" if gate.stops else "warning"
            said = f"gate {gate.name}: {gate.message or gate.status}"
            yield Finding("", severity, str(gate.status), None, None, said)
    for mutant in case.gates.survivors if case.gates is not None else ():
        said = f"A mutant survived: {mutant.change} ({mutant.operator}), and no test noticed."
        yield Finding("", "warning", "survived", mutant.path, mutant.line, said, old_side=False)
    for path in case.edited:
        said = f"The change edits {path}, which judges changes: is that meant?"
        yield Finding("", "warning", "edited", path, None, said)
    for path in case.outside:
        said = f"The change also touches {path}, outside the root: nothing here judges that."
        yield Finding("", "warning", "outside", None, None, said)


def _answers(unit: JudgedUnit, entry: SopEntry, place: Citation | None) -> Iterator[Finding]:
    path, line = (place.path, place.start) if place is not None else (None, None)
    old_side = place.old if place is not None and line is not None else None
    violated = entry.status is Status.VIOLATED and entry.violations
    for said in entry.violations if violated else (_evidence_of(entry),):
        yield Finding(
            unit.sop_id, unit.severity, str(entry.status), path, line, said, unit.unit, old_side
        )


def _evidence_of(entry: SopEntry) -> str:
    said = entry.evidence.strip() or ", ".join(map(shown, entry.citations))
    if entry.search is None:
        return said
    where = ", ".join(entry.search.paths) or "every changed file"
    return " ".join(filter(None, (said, f"[search for {entry.search.pattern!r} in {where}]")))


def _statuses_by_rule(checked: Sequence[CheckedReview]) -> dict[str, dict[str, str]]:
    """What each reviewer says of each rule, in the order of the rules' ids."""
    statuses: dict[str, dict[str, str]] = {}
    for each, entry in _entries(checked):
        statuses.setdefault(entry.sop_id, {})[each.brief.name] = entry.status
    return dict(sorted(statuses.items()))


def _disagreements(checked: Sequence[CheckedReview]) -> Iterator[str]:
    """Where reviewers over the same rules differ."""
    about = _statuses_by_rule(checked)
    if len({each.brief.asked for each in checked}) == 1:
        about["verdict"] = {
            each.brief.name: str(each.review.verdict) for each in checked if each.review is not None
        }
    for what, answers in about.items():
        if len(set(answers.values())) > 1:
            yield f"{what}: " + ", ".join(f"{name} says {said}" for name, said in answers.items())


def _explanation(
    case: Case, checked: Sequence[CheckedReview], outcome: Ruling, problems: Sequence[ReviewProblem]
) -> Iterator[str]:
    """What the outcome rests on, a sentence each."""
    yield _coverage_line(case, checked)
    yield _gates_line(case)
    if outcome is Ruling.INVALID:
        keeps = "keeps" if len(problems) == 1 else "keep"
        yield f"{counted(len(problems), 'problem')} {keeps} the review from being accepted"
    rejecting = [
        each.brief.name for each in checked if each.review and each.review.verdict == "rejected"
    ]
    if outcome is Ruling.REJECTED and rejecting:
        yield f"rejected by {', '.join(rejecting)}"
    yield from case.questions
    found = _canary_result(case, problems)
    if case.canary is not None and found is not None:
        yield from told(case.canary, found=found.found)


def _gates_line(case: Case) -> str:
    if case.gates is None:
        return "no gate results were given, so none count"
    gates = case.gates.gates
    if gates_stop(case.gates):
        return f"the gates did not pass ({_stopping(gates)})"
    ran = sum(gate.status is not GateStatus.SKIPPED for gate in gates)
    loose = "unbound_gates" in {warning.code for warning in case.warnings}
    besides = ", by results that do not say which tree they are of" if loose else ""
    return f"{counted(ran, 'gate')} passed{besides}"


def _stopping(gates: Sequence[GateResult]) -> str:
    """The gates that keep a change from being approved, or why none is named."""
    if not gates:
        return "none ran"
    failed = [g.name for g in gates if g.stops]
    return ", ".join(failed) or "they say so themselves"


def _units_of(entries: Iterable[SopEntry], case: Case) -> list[JudgedUnit]:
    ids = {entry.sop_id for entry in entries}
    return [unit for name, unit in case.units.items() if name in ids]


def _coverage_line(case: Case, checked: Sequence[CheckedReview]) -> str:
    if not case.rules:
        return "no rule binds these files, so there was none to answer"
    entries = [entry for _, entry in _entries(checked)]
    answered = _units_of(entries, case)
    violated = _units_of((each for each in entries if each.status is Status.VIOLATED), case)
    blocking = sum(case.standard.blocks(unit.severity) for unit in violated)
    flagged = len(violated) - blocking
    what = "rules and sections" if any(rule.units for rule in case.rules) else "rules"
    text = f"{len(answered)} of {len(case.units)} {what} are answered"
    text += f", {blocking} violated so that they block" if blocking else ""
    return text + (f", {flagged} violated and flagged" if flagged else "")
