"""What the events of a plan add up to: its text, status, decisions, risks and tasks."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from hornbook.plans.events import (
    START,
    TEXTS,
    Data,
    Event,
    EventKind,
    SchemaViolation,
    artifacts_of,
    faults,
)
from hornbook.plans.plan import (
    Constraints,
    Invariant,
    Plan,
    PlanDecision,
    PlanTask,
    Risk,
    TaskType,
)


class PlanStatus(StrEnum):
    """How far a plan is."""

    EXPLORING = "exploring"
    COMMITTED = "committed"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Amendment:
    """A change to a committed plan: which of its parts, why, when and by whom."""

    changed: tuple[str, ...]
    reason: str
    at: str
    actor: str


@dataclass(frozen=True, slots=True)
class PlanState:
    """A plan as its events leave it; `head` is the hash of the last one.

    `others` counts the events that say nothing about these things: those of the engine, and
    kinds that a later Hornbook added. `set_aside` is what is wrong with events that violate the
    schema: they change nothing. `artifacts` are those that the newest event with any names.
    """

    plan: Plan
    status: PlanStatus = PlanStatus.EXPLORING
    decisions: tuple[PlanDecision, ...] = ()
    risks: tuple[Risk, ...] = ()
    tasks: tuple[PlanTask, ...] = ()
    amendments: tuple[Amendment, ...] = ()
    superseded_by: str | None = None
    seq: int = 0
    head: str = START
    others: int = 0
    invariants: tuple[Invariant, ...] = ()
    artifacts: tuple[tuple[str, str], ...] = ()
    set_aside: tuple[SchemaViolation, ...] = ()

    def decision(self, decision_id: str) -> PlanDecision | None:
        """The decision with this id."""
        return next((each for each in self.decisions if each.id == decision_id), None)

    @property
    def current_decisions(self) -> tuple[PlanDecision, ...]:
        """The decisions that no later one replaced."""
        return tuple(each for each in self.decisions if each.superseded_by is None)


def project(events: Iterable[Event]) -> PlanState | None:
    """What a plan's events add up to; None where there are none.

    Equal events give equal states. Kinds that are not known change nothing: they are counted.
    """
    state: PlanState | None = None
    for event in events:
        state = advance(state, event)
    return state


def advance(state: PlanState | None, event: Event) -> PlanState:
    """The state after one more event."""
    before = state or PlanState(Plan(event.plan, event.plan, created_at=event.at))
    wrong = faults(event)
    fold = None if wrong else _FOLDS.get(event.kind)
    after = fold(before, event) if fold else replace(before, others=before.others + 1)
    named = artifacts_of(event)
    return replace(
        after,
        seq=event.seq,
        head=event.hash,
        set_aside=(*before.set_aside, *wrong),
        artifacts=after.artifacts if named is None else tuple(sorted(named.items())),
    )


def plan_data(plan: Plan) -> dict[str, object]:
    """The text of a plan as an event carries it."""
    data: dict[str, object] = {name: getattr(plan, name) for name in TEXTS}
    data["constraints"] = constraints_data(plan.constraints)
    return data


def constraints_data(constraints: Constraints) -> dict[str, list[str]]:
    """Constraints with the names that the source documents give them."""
    return {
        "in": list(constraints.inside),
        "out": list(constraints.outside),
        "do_not_touch": list(constraints.do_not_touch),
    }


def task_data(task: PlanTask) -> dict[str, object]:
    """A task as an event carries it."""
    return {
        "number": task.number,
        "title": task.title,
        "description": task.description,
        "files": list(task.files),
        "creates": list(task.creates),
        "criteria": list(task.criteria),
        "depends_on": list(task.depends_on),
        "line": task.line,
        # what most tasks say nothing of
        **({"type": str(task.type)} if task.type is not TaskType.IMPLEMENT_FEATURE else {}),
        **({"finding": task.finding} if task.finding else {}),
    }


def changes_between(before: Plan, after: Plan) -> dict[str, object]:
    """The parts of a plan's text that differ, with their new values."""
    old, new = plan_data(before), plan_data(after)
    return {name: value for name, value in new.items() if old[name] != value}


def with_changes(plan: Plan, data: Data) -> Plan:
    """The plan with the parts of its text that `data` holds."""
    texts = {name: data[name] for name in TEXTS if name in data}
    if "constraints" in data:
        listed = data["constraints"]
        texts["constraints"] = Constraints(
            *(tuple(listed.get(name, ())) for name in ("in", "out", "do_not_touch"))
        )
    return replace(plan, **texts)


def _explored(state: PlanState, event: Event) -> PlanState:
    begun = replace(state.plan, created_at=event.at, supersedes=event.data.get("supersedes"))
    return replace(state, plan=with_changes(begun, event.data))


def _edited(state: PlanState, event: Event) -> PlanState:
    return replace(state, plan=with_changes(state.plan, event.data))


def _promoted(state: PlanState, event: Event) -> PlanState:
    plan = replace(state.plan, committed=True, committed_at=event.at)
    return replace(state, plan=plan, status=PlanStatus.COMMITTED)


def _amended(state: PlanState, event: Event) -> PlanState:
    changes = event.data["changes"]
    made = Amendment(tuple(sorted(changes)), event.data["reason"], event.at, event.actor)
    return replace(
        state,
        plan=with_changes(state.plan, changes),
        amendments=(*state.amendments, made),
    )


def _superseded(state: PlanState, event: Event) -> PlanState:
    return replace(state, status=PlanStatus.SUPERSEDED, superseded_by=event.data["by"])


def _decided(state: PlanState, event: Event) -> PlanState:
    data = event.data
    replaced = data.get("supersedes")
    made = PlanDecision(
        id=f"decision.{event.plan}-{len(state.decisions) + 1}",
        decision=data["decision"],
        reason=data["reason"],
        impact=data["impact"],
        at=data.get("at", event.at),
        supersedes=replaced,
    )
    earlier = tuple(
        replace(each, superseded_by=made.id) if each.id == replaced else each
        for each in state.decisions
    )
    return replace(state, decisions=(*earlier, made))


def _risked(state: PlanState, event: Event) -> PlanState:
    data = event.data
    risk = Risk(data["id"], data["severity"], data["text"], data.get("at", event.at))
    known = {each.id: each for each in state.risks} | {risk.id: risk}
    return replace(state, risks=tuple(known.values()))


def _proposed(state: PlanState, event: Event) -> PlanState:
    made = Invariant(
        id=f"invariant.{event.plan}-{len(state.invariants) + 1}",
        text=event.data["text"],
        reason=event.data["reason"],
        at=event.at,
    )
    return replace(state, invariants=(*state.invariants, made))


def _bound(state: PlanState, event: Event) -> PlanState:
    listed = tuple(
        replace(each, promoted_at=event.at) if each.id == event.data["id"] else each
        for each in state.invariants
    )
    return replace(state, invariants=listed)


def _tasked(state: PlanState, event: Event) -> PlanState:
    return replace(state, tasks=tuple(map(_task, event.data["tasks"])))


def _task(data: Data) -> PlanTask:
    return PlanTask(
        number=data["number"],
        title=data["title"],
        description=data["description"],
        files=tuple(data["files"]),
        creates=tuple(data["creates"]),
        criteria=tuple(data["criteria"]),
        depends_on=tuple(data["depends_on"]),
        line=data["line"],
        type=TaskType(data.get("type", TaskType.IMPLEMENT_FEATURE)),
        finding=data.get("finding", ""),
    )


_TEXT_DATA = frozenset({*TEXTS, "constraints"})

PLAN_KINDS: Mapping[str, EventKind] = {
    kind.name: kind
    for kind in (
        EventKind("plan.explored", "A plan was begun.", _TEXT_DATA, frozenset({"supersedes"})),
        EventKind("plan.edited", "An exploration was changed.", optional=_TEXT_DATA),
        EventKind("plan.promoted", "The plan was committed: its text is frozen."),
        EventKind(
            "plan.amended", "A committed plan was changed.", frozenset({"changes", "reason"})
        ),
        EventKind("plan.superseded", "Another plan took its place.", frozenset({"by"})),
        EventKind(
            "decision.recorded",
            "A decision was taken.",
            frozenset({"decision", "reason", "impact"}),
            frozenset({"supersedes", "at"}),
        ),
        EventKind(
            "risk.recorded",
            "A risk was named.",
            frozenset({"id", "severity", "text"}),
            frozenset({"at"}),
        ),
        EventKind(
            "invariant.proposed", "An invariant was proposed.", frozenset({"text", "reason"})
        ),
        EventKind(
            "invariant.promoted", "A person put an invariant into the core.", frozenset({"id"})
        ),
        EventKind(
            "plan.imported",
            "The plan was taken over from another layout.",
            frozenset({"origin", "files"}),
            frozenset({"artifacts"}),
        ),
        EventKind(
            "plan.tried",
            "A planner answered with a plan; `findings` are what is wrong with it.",
            frozenset({"try", "answer", "findings"}),
        ),
        EventKind("tasks.generated", "The plan's tasks were fixed.", frozenset({"tasks"})),
    )
}
"""The kinds of events that plans have; whoever appends others gives the log its own as well."""

_FOLDS: Mapping[str, Callable[[PlanState, Event], PlanState]] = {
    "plan.explored": _explored,
    "plan.edited": _edited,
    "plan.promoted": _promoted,
    "plan.amended": _amended,
    "plan.superseded": _superseded,
    "decision.recorded": _decided,
    "risk.recorded": _risked,
    "tasks.generated": _tasked,
    "invariant.proposed": _proposed,
    "invariant.promoted": _bound,
}
