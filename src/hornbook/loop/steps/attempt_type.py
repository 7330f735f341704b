"""What an attempt of a developer is about: the type of its work, and the violation it mends.

The first attempt does what the task says. Later ones do what the newest word on the work asks for:
a failed gate and a violated rule are mended, a rejection without one is answered. Tests that are to
be written stay to be written: no gate has to pass for them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hornbook.agents.assignment import RuleViolation
from hornbook.graph.commit_graph import graph_at
from hornbook.graph.snapshot import Snapshot
from hornbook.loop.runs.state import RunState
from hornbook.loop.steps.services import StepRun
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Event
from hornbook.plans.plan import PlanTask, TaskType
from hornbook.plans.run_kinds import DEVELOP
from hornbook.settings.settings import Sight

if TYPE_CHECKING:
    from hornbook.review.recorded_finding import RecordedFinding

_STOPPED = frozenset({"failed", "refused"})
_HIDDEN = "a reviewer who reads the rule finds no violation of it; its text is not shown here"
_WORDS = {
    TaskType.WRITE_TESTS: (
        "This task writes tests and nothing else. The new tests must be collected, run, and fail "
        "because the feature is missing; no other test may fail, and no code may be changed."
    ),
    TaskType.FIX_VIOLATION: "This task mends a violation and changes nothing else.",
    TaskType.REFINE: "This task answers the feedback and changes nothing else.",
}


@dataclass(frozen=True, slots=True)
class AttemptType:
    """The type of an attempt, and what it mends where that is known."""

    type: TaskType
    violation: RuleViolation | None = None

    def without(self, hide: Callable[[str], str]) -> "AttemptType":
        """The same with each text of the violation as a developer may read it."""
        if self.violation is None:
            return self
        found = self.violation
        shown = replace(
            found,
            message=hide(found.message),
            fix_hint=hide(found.fix_hint),
            pattern=hide(found.pattern),
            requirement=hide(found.requirement),
        )
        return replace(self, violation=shown)

    def described(self, task: PlanTask) -> str:
        """What a task's type asks for, in words, and what was found where it mends that."""
        said = _WORDS.get(task.type, "")
        found = self.violation
        if found is None or not task.finding or self.type is not TaskType.FIX_VIOLATION:
            return said
        place = f"{found.file_path}:{found.line}" if found.line else found.file_path
        lines = [
            f"- Found by: {found.id}",
            f"- Rule: {found.check_id} ({found.severity})",
            f"- Place: {place or 'not told'}",
            f"- Violation: {found.message}",
            *([f"- Hint: {found.fix_hint}"] if found.fix_hint else []),
            f"- Required: {found.requirement}",
        ]
        return "\n\n".join([said, "\n".join(lines)])


def attempt_type(step: StepRun, base: str, commands: Mapping[str, str]) -> AttemptType:
    """What the next attempt of a run is about; `commands` are those of the gates by name.

    Raises:
        NotFound, UsageError: The finding that the task mends cannot be read.
    """
    task = step.services.task_of(step.run)
    if task.type is TaskType.WRITE_TESTS:
        return AttemptType(task.type)
    told = _newest_word(step.run)
    if told is not None and told.kind == kinds.GATED:
        found = _failed_gate(kinds.gates(told), commands)
        return AttemptType(TaskType.FIX_VIOLATION, found)
    if told is not None and told.kind == kinds.MERGED:
        return AttemptType(TaskType.REFINE)
    if told is not None:
        return _reviewed(step, kinds.checked(told), base)
    if task.finding:
        from hornbook.review.recorded_finding import recorded_finding  # noqa: PLC0415  # start-up of execute

        known = recorded_finding(step.services.places.records, task.finding)
        return AttemptType(task.type, _violated(step, known, base))
    return AttemptType(task.type)


def _newest_word(run: RunState) -> Event | None:
    """The last word that sent work back: of gates, a review, or work that came first.

    There is none while nothing was changed.
    """
    work = run.newest(DEVELOP)
    if work is None or not kinds.attempt(work)["files"]:
        return None
    for event in reversed(run.events):
        if event.kind == kinds.MERGED:
            return event
        if event.kind == kinds.CHECKED:
            return event if kinds.checked(event)["outcome"] != "approved" else None
        if event.kind == kinds.GATED and not kinds.gates(event)["passed"]:
            return event
    return None


def _failed_gate(report: kinds.GatesData, commands: Mapping[str, str]) -> RuleViolation | None:
    failed = [each for each in report["gates"] if each["required"] and each["status"] in _STOPPED]
    if not failed:
        return None
    from hornbook.agents.embedded.progress import issues  # noqa: PLC0415  # start-up of execute

    gate = failed[0]
    place = next(iter(issues(gate["output"])), None)
    return RuleViolation(
        id=f"gate.{gate['name']}",
        check_id=gate["name"],
        severity="error",
        file_path=place.path if place else "",
        line=place.line if place else None,
        message=place.text if place else gate["message"] or gate["output"],
        pattern=commands.get(gate["name"], ""),
        requirement=f"the gate {gate['name']} passes",
    )


def _reviewed(step: StepRun, checked: kinds.CheckedData, base: str) -> AttemptType:
    violated = [each for each in checked["findings"] if each["status"] == "violated"]
    if not violated:
        return AttemptType(TaskType.REFINE)
    from hornbook.review.recorded_finding import FoundPlace, RecordedFinding  # noqa: PLC0415  # start-up of execute

    worst = next((each for each in violated if each["severity"] == "error"), violated[0])
    name = worst.get("unit") or worst["sop_id"]
    same = [each for each in violated if (each.get("unit") or each["sop_id"]) == name]
    found = RecordedFinding(
        review=str(checked["record"]),
        sop_id=worst["sop_id"],
        check_id=name,
        severity=worst["severity"],
        places=tuple(FoundPlace(each["path"], each["line"], each["message"]) for each in same),
        feedback=checked.get("feedback", ""),
        base=base,
        head=None,
    )
    return AttemptType(TaskType.FIX_VIOLATION, _violated(step, found, base))


def _violated(step: StepRun, found: "RecordedFinding", base: str) -> RuleViolation:
    first = found.places[0]
    snapshot = graph_at(step.services.root, base)
    return RuleViolation(
        id=found.review,
        check_id=found.check_id,
        severity=found.severity,
        file_path=first.path or "",
        line=first.line,
        message="; ".join(dict.fromkeys(each.message for each in found.places)),
        fix_hint=found.feedback,
        pattern=_pattern(snapshot, found),
        requirement=_requirement(step, snapshot, found),
    )


def _pattern(snapshot: Snapshot, found: "RecordedFinding") -> str:
    """Which files the rule looks at: what makes it bind those that were found."""
    rules = (rule for answer in snapshot.why(found.files) for rule in answer.rules)
    bound = next((rule for rule in rules if rule.id == found.sop_id), None)
    return f"files that match {bound.pattern}" if bound is not None else ""


def _requirement(step: StepRun, snapshot: Snapshot, found: "RecordedFinding") -> str:
    """What correct code looks like, as far as developers may see rules."""
    sees = step.services.settings.developer_sees
    if sees == Sight.BLIND or found.sop_id not in snapshot.by_id:
        return _HIDDEN
    rule = snapshot.document(found.sop_id)
    return "; ".join(rule.requirements) or (rule.body if sees == Sight.FULL else _HIDDEN)
