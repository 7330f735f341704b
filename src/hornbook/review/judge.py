"""Derives the outcome of a change from its reviews, its gates and what the change itself says."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from hornbook.gates.gate import GateReport, GateResult, GateStatus
from hornbook.review.evidence import shown
from hornbook.review.integrity import (
    ESCALATING,
    IntegrityCheck,
    Reviewed,
    Standard,
    alike_over_passes,
    shared,
)
from hornbook.review.judgement import (
    Citation,
    Finding,
    JudgedRule,
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
from hornbook.review.printed_review import read_review


@dataclass(frozen=True, slots=True)
class ReviewBrief:
    """What one review had to answer: the rules of its packet, and what was printed.

    `name` tells reviews apart when there are several.
    """

    name: str
    rule_ids: frozenset[str]
    printed: bytes


@dataclass(frozen=True, slots=True)
class Case:
    """A change to be judged: its rules, its tree, what gates and the change itself say.

    `doubts` are problems that no review can mend, such as a receipt that was edited;
    `questions` are facts that only a person can judge; `outside` are changed files that lie
    outside the root, which no rule here can bind. `warnings` weigh nothing and are told.
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


@dataclass(frozen=True, slots=True)
class CheckedReview:
    """One review, read and checked; `places` has the first place cited for each rule."""

    brief: ReviewBrief
    review: Review | None
    problems: tuple[ReviewProblem, ...]
    notes: tuple[str, ...]
    places: Mapping[str, Citation]
    warnings: tuple[ReviewProblem, ...] = ()


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
    problems = _problems(case, checked, together)
    reviews = [each.review for each in checked if each.review is not None]
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
        warnings=tuple(dict.fromkeys(_warnings(case, checked, together))),
        rules=case.rules,
        base=case.base,
        head=case.head,
    )


def _check(case: Case, brief: ReviewBrief) -> CheckedReview:
    reading = read_review(brief.printed)
    if reading.review is None:
        return CheckedReview(brief, None, tuple(reading.problems), tuple(reading.notes), {})
    rules = {rule.id: rule for rule in case.rules if rule.id in brief.rule_ids}
    check = IntegrityCheck(rules, case.reviewed, case.standard)
    problems = (*reading.problems, *check.problems(reading.review))
    warnings = tuple(check.warnings)
    return CheckedReview(
        brief, reading.review, problems, tuple(reading.notes), check.places, warnings
    )


def _problems(
    case: Case, checked: Sequence[CheckedReview], together: Sequence[Sequence[SopEntry]]
) -> list[ReviewProblem]:
    """Everything that keeps the reviews from being accepted, each problem of a kind once."""
    found = [*case.doubts, *_unanswered(case, [each.brief for each in checked])]
    for each in checked:
        found += _named(each.problems, each.brief, len(checked))
    known = {problem.code for problem in found}
    stamps = dict.fromkeys(each for entries in together for each in alike_over_passes(entries))
    return [*found, *(each for each in stamps if each.code not in known)]


def _warnings(
    case: Case, checked: Sequence[CheckedReview], together: Sequence[Sequence[SopEntry]]
) -> Iterator[ReviewProblem]:
    yield from case.warnings
    for each in checked:
        yield from _named(each.warnings, each.brief, len(checked))
    for entries in together:
        yield from shared(entries, case.reviewed.tree)


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


def _over_passes(checked: Sequence[CheckedReview]) -> Iterator[list[SopEntry]]:
    """What the passes of a review say together; nothing where there is one packet only.

    A pass may have been reviewed several times. The first reviews of all passes are read as one
    review, then the second ones, and so on; a pass with fewer reviews repeats its last.
    """
    passes: dict[frozenset[str], list[Review]] = {}
    for each in checked:
        if each.review is not None:
            passes.setdefault(each.brief.rule_ids, []).append(each.review)
    for turn in range(max(map(len, passes.values())) if len(passes) > 1 else 0):
        chosen = [reviews[min(turn, len(reviews) - 1)] for reviews in passes.values()]
        yield [entry for review in chosen for entry in review.entries]


def _unanswered(case: Case, briefs: Sequence[ReviewBrief]) -> Iterator[ReviewProblem]:
    """Rules that no review was asked about: the passes do not cover the set."""
    asked = frozenset[str]().union(*(brief.rule_ids for brief in briefs))
    for rule in case.rules:
        if rule.id not in asked:
            said = "No review of the pass that holds this rule was given: review that pass too."
            yield ReviewProblem("missing_sop", rule.id, said)
    if not briefs:
        yield ReviewProblem("unparsable", None, "There is no review: nothing was looked at.")


def _outcome(case: Case, problems: Sequence[ReviewProblem], reviews: Sequence[Review]) -> Ruling:
    if any(problem.code not in ESCALATING for problem in problems):
        return Ruling.INVALID
    if problems or case.questions:
        return Ruling.ESCALATE
    if gates_stop(case.gates) or any(r.verdict is Verdict.REJECTED for r in reviews):
        return Ruling.REJECTED
    return Ruling.APPROVED


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
    for rule in case.rules:
        for each, entry in answers:
            if entry.sop_id == rule.id:
                yield from _answers(rule, entry, each.places.get(rule.id))
    yield from _of_no_rule(case)


def _of_no_rule(case: Case) -> Iterator[Finding]:
    for gate in case.gates.gates if case.gates is not None else ():
        if gate.status not in {GateStatus.PASSED, GateStatus.SKIPPED}:
            severity = "error" if gate.required else "warning"
            said = f"gate {gate.name}: {gate.message or gate.status}"
            yield Finding("", severity, str(gate.status), None, None, said)
    for path in case.edited:
        said = f"The change edits {path}, which judges changes: is that meant?"
        yield Finding("", "warning", "edited", path, None, said)
    for path in case.outside:
        said = f"The change also touches {path}, outside the root: nothing here judges that."
        yield Finding("", "warning", "outside", None, None, said)


def _answers(rule: JudgedRule, entry: SopEntry, place: Citation | None) -> Iterator[Finding]:
    path, line = (place.path, place.start) if place is not None else (None, None)
    violated = entry.status is Status.VIOLATED and entry.violations
    for said in entry.violations if violated else (_evidence_of(entry),):
        yield Finding(rule.id, rule.severity, str(entry.status), path, line, said)


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
    if len({each.brief.rule_ids for each in checked}) == 1:
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
    failed = [g.name for g in gates if g.required and g.status is not GateStatus.PASSED]
    return ", ".join(failed) or "they say so themselves"


def _rules_of(entries: Iterable[SopEntry], case: Case) -> list[JudgedRule]:
    ids = {entry.sop_id for entry in entries}
    return [rule for rule in case.rules if rule.id in ids]


def _coverage_line(case: Case, checked: Sequence[CheckedReview]) -> str:
    if not case.rules:
        return "no rule binds these files, so there was none to answer"
    entries = [entry for _, entry in _entries(checked)]
    answered = _rules_of(entries, case)
    violated = _rules_of((each for each in entries if each.status is Status.VIOLATED), case)
    blocking = sum(case.standard.blocks(rule.severity) for rule in violated)
    flagged = len(violated) - blocking
    text = f"{len(answered)} of {len(case.rules)} rules are answered"
    text += f", {blocking} violated so that they block" if blocking else ""
    return text + (f", {flagged} violated and flagged" if flagged else "")
