"""Says in words what a judgement rests on."""

from collections.abc import Iterator, Sequence

from hornbook.model.gates import GateStatus
from hornbook.model.review import ReviewProblem, Ruling, Status, Verdict
from hornbook.review.case import Case, Checked, gates_stop


def disagreements(checked: Sequence[Checked]) -> Iterator[str]:
    """Where reviewers over the same rules differ."""
    said: dict[str, dict[str, str]] = {}
    for each in checked:
        for entry in each.review.entries if each.review is not None else ():
            said.setdefault(entry.sop_id, {})[each.brief.name] = entry.status
    for rule_id in sorted(said):
        if len(set(said[rule_id].values())) > 1:
            parts = ", ".join(f"{name} says {status}" for name, status in said[rule_id].items())
            yield f"{rule_id}: {parts}"
    verdicts = {each.brief.name: each.review.verdict for each in checked if each.review is not None}
    same_rules = len({each.brief.rule_ids for each in checked}) == 1
    if same_rules and len(set(verdicts.values())) > 1:
        yield "verdict: " + ", ".join(f"{name} says {each}" for name, each in verdicts.items())


def explanation(
    case: Case, checked: Sequence[Checked], outcome: Ruling, problems: Sequence[ReviewProblem]
) -> Iterator[str]:
    """What the outcome rests on, a sentence each."""
    yield _coverage_line(case, checked)
    if case.gates is not None:
        ran = [gate for gate in case.gates.gates if gate.status is not GateStatus.SKIPPED]
        failed = [
            gate.name
            for gate in case.gates.gates
            if gate.required and gate.status is not GateStatus.PASSED
        ]
        nobody = "they say so themselves" if case.gates.gates else "none ran"
        stopped = f"the gates did not pass ({', '.join(failed) or nobody})"
        passed = f"{_counted(len(ran), 'gate')} passed"
        yield stopped if gates_stop(case.gates) else passed + _only_said(case)
    else:
        yield "no gate results were given, so none count"
    if outcome is Ruling.INVALID:
        keeps = "keeps" if len(problems) == 1 else "keep"
        yield f"{_counted(len(problems), 'problem')} {keeps} the review from being accepted"
    if outcome is Ruling.REJECTED:
        rejecting = [
            each.brief.name
            for each in checked
            if each.review is not None and each.review.verdict is Verdict.REJECTED
        ]
        if rejecting:
            yield f"rejected by {', '.join(rejecting)}"
    yield from case.questions


def _only_said(case: Case) -> str:
    loose = any(warning.code == "unbound_gates" for warning in case.warnings)
    return ", by results that do not say which tree they are of" if loose else ""


def _coverage_line(case: Case, checked: Sequence[Checked]) -> str:
    if not case.rules:
        return "no rule binds these files, so there was none to answer"
    statuses: dict[str, set[Status]] = {}
    for each in checked:
        for entry in each.review.entries if each.review is not None else ():
            statuses.setdefault(entry.sop_id, set()).add(entry.status)
    answered = [rule for rule in case.rules if rule.id in statuses]
    blocking = [
        rule
        for rule in answered
        if Status.VIOLATED in statuses[rule.id] and case.standard.blocks(rule.severity)
    ]
    flagged = [
        rule
        for rule in answered
        if Status.VIOLATED in statuses[rule.id] and not case.standard.blocks(rule.severity)
    ]
    text = f"{len(answered)} of {len(case.rules)} rules are answered"
    text += f", {len(blocking)} violated so that they block" if blocking else ""
    return text + (f", {len(flagged)} violated and flagged" if flagged else "")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
