"""A judgement in words, as a person reads it in a terminal: the outcome first, then its reasons."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from hornbook.gates.values import GateStatus
from hornbook.review.case import Case, Checked, gates_stop
from hornbook.review.plain_text import clipped, one_line, plain
from hornbook.review.values import Finding, Judgement, ReviewProblem, Route, Ruling, Status, Verdict

OUTCOMES = {
    Ruling.APPROVED: "The change is approved.",
    Ruling.REJECTED: "The change is rejected.",
    Ruling.ESCALATE: "A person must decide on the change.",
    Ruling.INVALID: "The review is not valid, and the change was not judged by it.",
}
NEXT = {
    Route.DEVELOPER: "The developer works on it again, with the feedback.",
    Route.PLAN_REFINEMENT: "The plan is refined first: the task was cut wrongly.",
    Route.DESIGN_REFINEMENT: "The design is refined first: the change does not fit it.",
    Route.TASK_DECOMPOSITION: "The task is split into smaller ones first.",
    Route.HUMAN: "A person decides.",
}
STATUS_WORDS = {"not_applicable": "not applicable", "not_judged": "not judged"}
MESSAGE_LIMIT = 1000
STATUS_ORDER = ("failed", "edited", "violated", "passed", "not_applicable")


def render(judgement: Judgement) -> str:
    """Plain text whose first word is the outcome.

    Every line starts with a word or mark of ours, and none holds `##[`: a CI runner that reads
    commands from the log finds none in what a model wrote.
    """
    return "\n".join(_lines(judgement)).replace("##[", "## [") + "\n"


def headline(judgement: Judgement) -> str:
    """The outcome and what was counted, on one line."""
    kind = f" ({judgement.rejection_type})" if judgement.rejection_type else ""
    return f"{judgement.outcome}{kind}: {counts(judgement)}"


def counts(judgement: Judgement) -> str:
    """How many rules there are and how they stand, with what else weighs."""
    rules = {rule.id for rule in judgement.rules} | {
        each.sop_id for each in judgement.findings if each.sop_id
    }
    states = Counter(state(rule, judgement) for rule in rules)
    parts = [_counted(len(rules), "rule") if rules else "no rule binds this change"]
    parts += (
        f"{states[status]} {STATUS_WORDS.get(status, status)}"
        for status in (*STATUS_ORDER, "not_judged")
        if states[status]
    )
    others = Counter(each.status for each in judgement.findings if not each.sop_id)
    if others["failed"]:
        parts.append(f"{_counted(others['failed'], 'gate')} failed")
    if others["edited"]:
        parts.append(f"{_counted(others['edited'], 'rule file')} edited")
    if judgement.problems:
        parts.append(f"{_counted(len(judgement.problems), 'problem')} with the review")
    if judgement.warnings:
        parts.append(_counted(len(judgement.warnings), "warning"))
    return ", ".join(parts)


def state(rule_id: str, judgement: Judgement) -> str:
    """How a rule stands; the worst that was said of it, `not_judged` when nothing was."""
    said = {each.status for each in judgement.findings if each.sop_id == rule_id}
    return next((status for status in STATUS_ORDER if status in said), "not_judged")


def what_next(judgement: Judgement) -> str:
    """Where the change goes from here, in words."""
    if judgement.outcome is Ruling.APPROVED:
        return "The change may go on."
    if judgement.outcome is Ruling.INVALID:
        return "The change was not judged: a new review is needed, or a person looks at it."
    if judgement.route is None:
        return "The change does not go on."
    return NEXT[judgement.route]


def place(finding: Finding) -> str:
    """Path and line of a finding; empty when it has none."""
    if not finding.path:
        return ""
    path = one_line(finding.path)
    return f"{path}:{finding.line}" if finding.line is not None else path


def _lines(judgement: Judgement) -> Iterator[str]:
    yield headline(judgement)
    if judgement.base and judgement.head:
        yield f"  change {one_line(judgement.base)[:12]}..{one_line(judgement.head)[:12]}"
    yield from _section("rests on", map(_bullet, judgement.explanation))
    yield from _section("problems with the review", map(_problem, judgement.problems))
    yield from _section("warnings", map(_problem, judgement.warnings))
    yield from _section("rules", _rules(judgement))
    others = (each for each in judgement.findings if not each.sop_id)
    yield from _section("gates and rule files", _aligned(map(_row, others)))
    yield from _section("reviewers disagree", map(_bullet, judgement.disagreements))
    yield from _section("notes", map(_bullet, judgement.notes))
    feedback = plain(judgement.feedback).expandtabs(4).strip()
    yield from _section("feedback", (f"| {line}" for line in feedback.split("\n") if feedback))
    yield from _section("next", (what_next(judgement),))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    listed = list(lines)
    if listed:
        yield ""
        yield title
        yield from (f"  {line}".rstrip() for line in listed)


def _bullet(text: str) -> str:
    return f"- {one_line(text)}"


def _problem(problem: ReviewProblem) -> str:
    about = f" {one_line(problem.sop_id)}" if problem.sop_id else ""
    return f"- {one_line(problem.code)}{about}: {one_line(problem.message)}"


def _rules(judgement: Judgement) -> list[str]:
    """Each rule with status, severity and place; the worst first, then by id."""
    rows = [_row(each) for each in judgement.findings if each.sop_id]
    answered = {each.sop_id for each in judgement.findings}
    rows += (
        ("not judged", one_line(rule.severity), one_line(rule.id), "", "")
        for rule in judgement.rules
        if rule.id not in answered
    )
    order = [STATUS_WORDS.get(status, status) for status in STATUS_ORDER]
    return _aligned(
        sorted(rows, key=lambda row: (order.index(row[0]) if row[0] in order else -1, row[2]))
    )


def _row(finding: Finding) -> tuple[str, ...]:
    status = STATUS_WORDS.get(finding.status, one_line(finding.status))
    about = one_line(finding.sop_id)
    said = clipped(one_line(finding.message), MESSAGE_LIMIT)
    return (status, one_line(finding.severity), about, place(finding), said)


def _aligned(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Rows as lines whose columns but the last are aligned; empty columns are left out."""
    listed = list(rows)
    *widths, _ = [max(map(len, column)) for column in zip(*listed, strict=True)] or [0]
    kept = [index for index, width in enumerate(widths) if width]
    return ["  ".join((*(row[i].ljust(widths[i]) for i in kept), row[-1])) for row in listed]


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


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
