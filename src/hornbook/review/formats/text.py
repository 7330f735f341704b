"""A judgement in words, as a person reads it in a terminal: the outcome first, then its reasons."""

from collections import Counter
from collections.abc import Iterable, Iterator

from hornbook.review.formats.plain_text import clipped, one_line, plain
from hornbook.review.judgement import (
    Finding,
    JudgedRule,
    JudgedUnit,
    Judgement,
    ReviewProblem,
    Route,
    Ruling,
    counted,
)

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
    rules = judged_rules(judgement)
    states = Counter(state(rule, judgement) for rule in rules)
    others = Counter(each.status for each in judgement.findings if not each.sop_id)
    besides = (
        (others["failed"], "gate", " failed"),
        (others["edited"], "rule file", " edited"),
        (len(judgement.problems), "problem", " with the review"),
        (len(judgement.warnings), "warning", ""),
    )
    parts = [counted(len(rules), "rule") if rules else "no rule binds this change"]
    parts += (
        f"{states[status]} {STATUS_WORDS.get(status, status)}"
        for status in filter(states.get, (*STATUS_ORDER, "not_judged"))
    )
    parts += (f"{counted(number, noun)}{how}" for number, noun, how in besides if number)
    return ", ".join(parts)


def judged_rules(judgement: Judgement) -> dict[str, JudgedRule]:
    """The rules of a judgement by id, in id order, with those that only findings name."""
    named = {
        each.sop_id: JudgedRule(each.sop_id, each.severity, revision="")
        for each in reversed(judgement.findings)
        if each.sop_id
    }
    rules = named | {rule.id: rule for rule in judgement.rules}
    return {rule_id: rules[rule_id] for rule_id in sorted(rules)}


def judged_units(judgement: Judgement) -> dict[str, JudgedUnit]:
    """What a judgement's reviews had to answer by id: rules, and sections of large ones."""
    named = {
        each.about: JudgedUnit(each.about, each.sop_id, each.severity)
        for each in reversed(judgement.findings)
        if each.sop_id
    }
    units = named | {unit.id: unit for rule in judgement.rules for unit in rule.judged}
    return {name: units[name] for name in sorted(units)}


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
    side = "-" if finding.old_side else ""
    return f"{path}:{side}{finding.line}" if finding.line is not None else path


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
    answered = {each.about for each in judgement.findings}
    rows += (
        ("not judged", one_line(unit.severity), one_line(name), "", "")
        for name, unit in judged_units(judgement).items()
        if name not in answered
    )
    order = [STATUS_WORDS.get(status, status) for status in STATUS_ORDER]
    return _aligned(
        sorted(rows, key=lambda row: (order.index(row[0]) if row[0] in order else -1, row[2]))
    )


def _row(finding: Finding) -> tuple[str, ...]:
    status = STATUS_WORDS.get(finding.status, one_line(finding.status))
    about = one_line(finding.about)
    said = clipped(one_line(finding.message), MESSAGE_LIMIT)
    return (status, one_line(finding.severity), about, place(finding), said)


def _aligned(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Rows as lines whose columns but the last are aligned; empty columns are left out."""
    listed = list(rows)
    *widths, _ = [max(map(len, column)) for column in zip(*listed, strict=True)] or [0]
    kept = [index for index, width in enumerate(widths) if width]
    return ["  ".join((*(row[i].ljust(widths[i]) for i in kept), row[-1])) for row in listed]
