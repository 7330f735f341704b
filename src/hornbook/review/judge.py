"""Derives the outcome of one or several reviews of a change."""

from collections.abc import Iterator, Sequence

from hornbook.gates.values import GateStatus
from hornbook.review.case import Case, Checked, ReviewBrief, gates_stop
from hornbook.review.evidence import shown
from hornbook.review.formats.text import disagreements, explanation
from hornbook.review.integrity import ESCALATING, IntegrityCheck, alike_over_passes, shared
from hornbook.review.reader import read
from hornbook.review.values import (
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
)

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
    problems = [*case.doubts, *_unanswered(case, briefs)]
    for each in checked:
        several = len(briefs) > 1
        problems += [_named(p, each.brief) if several else p for p in each.problems]
    together = list(_over_passes(checked))
    known = {problem.code for problem in problems}
    stamps = dict.fromkeys(each for entries in together for each in alike_over_passes(entries))
    problems += [each for each in stamps if each.code not in known]
    same = dict.fromkeys(
        each for entries in together for each in shared(entries, case.reviewed.tree)
    )
    told = [warning for each in checked for warning in _told(each, len(briefs))]
    reviews = [each.review for each in checked if each.review is not None]
    outcome = _outcome(case, problems, reviews)
    kind = _rejection_type(case, reviews) if outcome is Ruling.REJECTED else None
    return Judgement(
        outcome=outcome,
        rejection_type=kind,
        route=_route(outcome, kind),
        problems=tuple(problems),
        findings=tuple(_findings(case, checked)),
        explanation=tuple(explanation(case, checked, outcome, problems)),
        feedback="\n\n".join(dict.fromkeys(review.feedback for review in reviews)),
        patterns=_patterns(reviews) if outcome is Ruling.APPROVED else (),
        disagreements=tuple(disagreements(checked)),
        notes=tuple(note for each in checked for note in each.notes),
        warnings=tuple(dict.fromkeys((*case.warnings, *told, *same))),
        rules=case.rules,
        base=case.base,
        head=case.head,
    )


def _check(case: Case, brief: ReviewBrief) -> Checked:
    reading = read(brief.printed)
    if reading.review is None:
        return Checked(brief, None, tuple(reading.problems), tuple(reading.notes), {})
    rules = {rule.id: rule for rule in case.rules if rule.id in brief.rule_ids}
    check = IntegrityCheck(rules, case.reviewed, case.standard)
    problems = (*reading.problems, *check.problems(reading.review))
    return Checked(
        brief,
        reading.review,
        problems,
        tuple(reading.notes),
        check.places,
        tuple(check.warnings),
    )


def _told(checked: Checked, reviews: int) -> list[ReviewProblem]:
    """What a review's warnings are; of several reviews, each with its name."""
    return [_named(w, checked.brief) if reviews > 1 else w for w in checked.warnings]


def _over_passes(checked: Sequence[Checked]) -> Iterator[list[SopEntry]]:
    """What the passes of a review say together; nothing where there is one packet only."""
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


def _named(problem: ReviewProblem, brief: ReviewBrief) -> ReviewProblem:
    return ReviewProblem(problem.code, problem.sop_id, f"{brief.name}: {problem.message}")


def _outcome(case: Case, problems: Sequence[ReviewProblem], reviews: Sequence[Review]) -> Ruling:
    if any(problem.code not in ESCALATING for problem in problems):
        return Ruling.INVALID
    if problems or case.questions:
        return Ruling.ESCALATE
    if gates_stop(case.gates) or any(r.verdict is Verdict.REJECTED for r in reviews):
        return Ruling.REJECTED
    return Ruling.APPROVED


def _rejection_type(case: Case, reviews: Sequence[Review]) -> RejectionType:
    kinds = {review.rejection_type for review in reviews if review.verdict is Verdict.REJECTED}
    return next((kind for kind in _FURTHEST if kind in kinds), RejectionType.FIXABLE)


def _route(outcome: Ruling, kind: RejectionType | None) -> Route | None:
    if outcome is Ruling.APPROVED:
        return None
    return ROUTES[kind] if kind is not None else Route.HUMAN


def _patterns(reviews: Sequence[Review]) -> tuple[LearnedPattern, ...]:
    return tuple(dict.fromkeys(pattern for review in reviews for pattern in review.patterns))


def _findings(case: Case, checked: Sequence[Checked]) -> Iterator[Finding]:
    """What the judgement rests on: each rule's answers in id order, gates, edited rules."""
    for rule in case.rules:
        for each in checked:
            for entry in each.review.entries if each.review is not None else ():
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
    for said in entry.violations if violated else (_said(entry),):
        yield Finding(rule.id, rule.severity, str(entry.status), path, line, said)


def _said(entry: SopEntry) -> str:
    said = entry.evidence.strip() or ", ".join(map(shown, entry.citations))
    if entry.search is None:
        return said
    where = ", ".join(entry.search.paths) or "every changed file"
    return " ".join(filter(None, (said, f"[search for {entry.search.pattern!r} in {where}]")))
