"""The kinds of events that runs leave: what each means and what it must carry."""

from collections.abc import Iterable, Mapping

from hornbook.plans.events import EventKind
from hornbook.plans.state import PLAN_KINDS

TRIGGER = "workflow.trigger."
DEVELOP, REVIEW = "agent.task.development", "agent.task.review"
ESCALATE, ERROR = "user.signal.escalate", "user.signal.error"
STARTED, ENDED = "run.started", "run.ended"
WAITING, ANSWERED = "run.waiting", "run.answered"
STEP_STARTED, STEP_FINISHED = "step.started", "step.finished"
SIZED, GATED, ASSEMBLED = "task.sized", "gates.ran", "context.assembled"
CHECKED, REASKED = "review.checked", "review.reasked"
APPROVED, DECOMPOSED, CONTINUED = "task.approved", "task.decomposed", "task.continued"
PLAN, TOLD, CLAIM = "agent.task.planning", "agent.told", "agent.claim.differs"
SIGHTED, CHECKPOINTED = "blindness.checked", "plan.checkpointed"
PAUSED, DRAFTED = "plan.paused", "plan.drafted"
PUBLISHED = "workflow.events"
QUESTION, PROMOTE = "user.signal.question", "user.signal.promote"
SIGNALS = (ESCALATE, ERROR, QUESTION, PROMOTE)


def _kind(name: str, meaning: str, required: str, optional: str = "") -> EventKind:
    return EventKind(
        name, meaning, frozenset({"run", *required.split()}), frozenset(optional.split())
    )


_AT = "round number"
_ASKED = f"{_AT} agent prompt_sha256 tokens window usage"

RUN_KINDS: Mapping[str, EventKind] = {
    kind.name: kind
    for kind in (
        _kind(
            STARTED,
            "A run was begun.",
            "workflow payload",
            "task agent parent base only attempts",
        ),
        _kind(
            STEP_STARTED,
            "A step was begun; again if it was cut off, waited, or asks more than once.",
            f"{_AT} step subject execution",
        ),
        _kind(
            STEP_FINISHED,
            "A step ended: it succeeded, was refused or erred.",
            f"{_AT} step subject result seconds",
            "output error",
        ),
        _kind(SIZED, "A task was sized before anybody worked on it.", "task fits base sizing"),
        _kind(
            DEVELOP,
            "A developer worked; commit, tree and files are git's.",
            f"{_ASKED} task attempt base commit tree files result",
            "claimed error exit_code log model problems subtask escalation decisions risks due",
        ),
        _kind(
            REVIEW,
            "A reviewer answered; `ask` counts how often they were asked.",
            f"{_ASKED} task tree ask packet receipt_sha256 answer",
            "error exit_code log model",
        ),
        _kind(
            PLAN,
            "A planner answered.",
            f"{_ASKED} answer decisions children",
            "error exit_code log model",
        ),
        _kind(
            SIGHTED,
            "Rules were looked for in what a blind developer can read, before it was asked.",
            f"{_AT} rules commit leaks host_files unread whole prompt left_out",
        ),
        _kind(
            CHECKPOINTED,
            "The tiers of the plan that grow were due, and its checkpoint was written.",
            f"{_AT} path seq event_hash written",
            "left quarantined",
        ),
        _kind(TOLD, "What an agent told while it worked.", f"{_AT} execution told"),
        _kind(CLAIM, "An agent claims other files than git has.", f"{_AT} claimed files"),
        _kind(
            GATED,
            "The gates were run over a tree.",
            f"{_AT} tree base head passed gates",
            "notes warnings fingerprint confined_by",
        ),
        _kind(
            ASSEMBLED,
            "A context was assembled, or refused.",
            f"{_AT} role outcome tokens window",
            "reasons split base head tree packets sop_ids model",
        ),
        _kind(
            CHECKED,
            "A review was checked; the outcome is derived.",
            f"{_AT} outcome rejection_type route tree problems findings record",
            "explanation feedback verdict record_sha256 warnings",
        ),
        _kind(REASKED, "A reviewer is asked again, and why.", f"{_AT} ask problems"),
        _kind(
            APPROVED,
            "A task was approved: its work is a commit.",
            "task commit tree",
            "receipts round number carried_from patterns",
        ),
        _kind(DECOMPOSED, "A task was split into others.", "task children", f"{_AT} parts"),
        _kind(CONTINUED, "A developer asked for a subtask first.", f"{_AT} task child"),
        _kind(PAUSED, "The plan's other tasks stop at their next step.", f"{_AT} task"),
        _kind(DRAFTED, "A successor plan was written.", f"{_AT} successor diff"),
        _kind(PUBLISHED, "Something that a workflow says.", f"{_AT} payload"),
        *(
            _kind(name, meaning, f"{_AT} payload record", "halts")
            for name, meaning in (
                (ESCALATE, "A person has to decide."),
                (ERROR, "Something broke; a person has to look."),
                (QUESTION, "A person is asked for what a planner would write."),
                (PROMOTE, "A person is asked whether a successor plan is right."),
            )
        ),
        _kind(WAITING, "The run waits; that is no attempt.", f"{_AT} until seconds reason"),
        _kind(ANSWERED, "A person answered.", f"{_AT} text asked"),
        _kind(ENDED, "The run ended.", "status reason", "to spawned"),
    )
}


def kinds_for(workflows: Iterable[str]) -> dict[str, EventKind]:
    """Every kind that plans and runs have, with a trigger for each workflow."""
    triggers = {
        f"{TRIGGER}{name}": _kind(
            f"{TRIGGER}{name}", f"The workflow `{name}` was started.", f"{_AT} payload runs"
        )
        for name in workflows
    }
    return {**PLAN_KINDS, **RUN_KINDS, **triggers}
