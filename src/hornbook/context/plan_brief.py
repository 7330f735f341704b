"""What a step is told of its plan and task."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256

from hornbook.context.prompt import LeftOut, Unit
from hornbook.errors import UsageError
from hornbook.graph.store import AskedQuery
from hornbook.plans.files import records_of, render_task, risk_id
from hornbook.plans.plan import Plan, PlanDecision, PlanTask, Risk
from hornbook.plans.state import PlanState, PlanStatus
from hornbook.plans.text import render
from hornbook.rules.document import revision_id
from hornbook.text.plan_syntax import KINDS, render_bullet


@dataclass(frozen=True, slots=True)
class Brief:
    """A committed plan with its decisions that stand, and one of its tasks if one is meant."""

    plan: Plan
    decisions: tuple[Unit, ...] = ()
    superseded: tuple[LeftOut, ...] = ()
    risks: tuple[Unit, ...] = ()
    task: PlanTask | None = None
    files: tuple[str, ...] = ()
    """The files of the task, or all that the plan may change."""
    queries: tuple[AskedQuery, ...] = ()
    """What the plan's graph was asked."""

    @property
    def constraints(self) -> tuple[str, ...]:
        """The plan's constraints, a line each."""
        held = self.plan.constraints
        groups = zip(KINDS, (held.inside, held.outside, held.do_not_touch), strict=True)
        return tuple(
            render_bullet(kind, glob).removeprefix("- ") for kind, globs in groups for glob in globs
        )

    @property
    def intent(self) -> Unit:
        """The plan's situation and mission."""
        texts = (
            ("Situation", self.plan.situation),
            ("Mission", self.plan.mission),
        )
        said = [f"## {name}\n\n{text.strip()}\n" for name, text in texts if text.strip()]
        return Unit(self.plan.id, _revision(self.plan.id, render(self.plan)), "\n".join(said))

    @property
    def work(self) -> Unit:
        """The task with its criteria, or else what the plan is for; and the plan's constraints."""
        lines = []
        unit, text = f"{self.plan.id}.constraints", render(self.plan)
        if self.task is not None:
            unit, text = self.task.id_in(self.plan.slug), render_task(self.plan, self.task)
            lines += [f"## {self.task.title}", "", self.task.description, ""]
            lines += ["Acceptance criteria:", *(f"- {each}" for each in self.task.criteria), ""]
        elif self.plan.mission.strip():
            lines += ["## Mission", "", self.plan.mission.strip(), ""]
        if self.constraints:
            lines += ["Constraints:", *(f"- {each}" for each in self.constraints), ""]
        return Unit(unit, _revision(unit, text), "\n".join(lines))

    def description(self) -> str:
        """The task in words."""
        if self.task is None:
            return ""
        return "\n\n".join(filter(None, (self.task.title, self.task.description)))


def brief_of(
    state: PlanState,
    stands: Collection[str],
    task: PlanTask | None = None,
    files: Sequence[str] = (),
    queries: Sequence[AskedQuery] = (),
) -> Brief:
    """What there is to be said of a plan whose decisions `stands` stand, and of a task of it.

    `queries` are those by which the plan's graph was asked for the decisions.

    Raises:
        UsageError: The plan is not committed.
    """
    if state.status is PlanStatus.EXPLORING:
        raise UsageError(
            f"plan {state.plan.slug} is not committed and no step may see it: "
            f"`hornbook promote {state.plan.slug}` commits it."
        )
    records = records_of(state)
    return Brief(
        plan=state.plan,
        decisions=tuple(_unit(each, records) for each in state.decisions if each.id in stands),
        superseded=tuple(_past(each, state) for each in state.decisions if each.id not in stands),
        risks=tuple(_risk(each, state.plan, records) for each in state.risks),
        task=task,
        files=tuple(files),
        queries=tuple(queries),
    )


def _past(each: PlanDecision, state: PlanState) -> LeftOut:
    by = each.superseded_by or f"a decision outside of plan {state.plan.slug}"
    return LeftOut(each.id, f"it is superseded by {by}")


def _risk(each: Risk, plan: Plan, records: dict[str, str]) -> Unit:
    name = risk_id(plan, each.id)
    record = records[f"records/risks/{name}.json"]
    text = f"## {each.id}\n\n- Severity: {each.severity}\n- Risk: {each.text}\n"
    return Unit(name, _revision(name, record), text)


def _unit(each: PlanDecision, records: dict[str, str]) -> Unit:
    record = records[f"records/decisions/{each.id}.json"]
    text = (
        f"## {each.decision}\n\n- Decision: {each.id}\n- Reason: {each.reason}\n"
        f"- Impact: {each.impact}\n"
    )
    return Unit(each.id, _revision(each.id, record), text)


def _revision(name: str, text: str) -> str:
    """The revision of a thing whose file holds this text: as the graph has it."""
    return revision_id(name, sha256(text.encode()).hexdigest())
