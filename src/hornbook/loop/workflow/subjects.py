"""The actions that a workflow may ask for: one table of what each takes and answers.

The engine does what stands here; a definition that names anything else is refused at load.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from hornbook.located import Json, JsonKind, kind_of
from hornbook.plans.run_kinds import DEVELOP, ERROR, ESCALATE, REVIEW, TRIGGER

GATES = "workflow.gate.structural"
ASSEMBLE = "workflow.context.assemble"
VALIDATE = "workflow.review.validate"
COMPLETE = "workflow.task.complete"
STATUSES = ("approved", "decomposed")
APPROVED = "approved"


class ActionType(StrEnum):
    """How an action is done."""

    PUBLISH_AGENT = "publish_agent"
    CALL = "call"
    PUBLISH = "publish"
    ASK = "ask"


MEANINGS: Mapping[ActionType, str] = MappingProxyType(
    {
        ActionType.PUBLISH_AGENT: "an agent in a role is given a prompt and answers",
        ActionType.CALL: "Hornbook itself does or judges something and answers",
        ActionType.PUBLISH: "an event is recorded; nothing is waited for",
        ActionType.ASK: "the run waits for a person, and the time does not count",
    }
)


@dataclass(frozen=True, slots=True)
class Field:
    """A member of an answer: its kind, whether it may be null, and the values it may have.

    An `optional` one is an array, and empty where an answer leaves it out.
    """

    kind: JsonKind
    nullable: bool = False
    optional: bool = False
    values: tuple[str, ...] = ()

    def fits(self, value: Json) -> bool:
        """Whether a value is of the field's kind."""
        return kind_of(value) is self.kind or (self.nullable and value is None)


@dataclass(frozen=True, slots=True)
class Subject:
    """What an action takes and answers.

    `judges` means that it answers yes or no, and no takes `on_fail`; `open` that it takes further
    members than those named.
    """

    action: ActionType
    meaning: str
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    outputs: Mapping[str, Field] = field(default_factory=dict)
    judges: bool = False
    open: bool = False
    role: str | None = None


_TEXT = Field(JsonKind.STRING)
_LIST = Field(JsonKind.ARRAY)
_SPARE = Field(JsonKind.ARRAY, optional=True)
_FEEDBACK = {"feedback": _TEXT}
_VERDICTS = ("approved", "rejected")
_REJECTIONS = ("fixable", "misscoped", "architectural", "too_big")
_WRITTEN = {"answer": _TEXT, "decisions": _SPARE, "children": _SPARE}

_AGENT, _CALL = ActionType.PUBLISH_AGENT, ActionType.CALL
_PUBLISH, _ASK = ActionType.PUBLISH, ActionType.ASK

SUBJECTS: Mapping[str, Subject] = MappingProxyType(
    {
        DEVELOP: Subject(
            _AGENT,
            "a developer changes the task's files",
            outputs={"files_modified": _LIST, "result": _TEXT},
            role="developer",
        ),
        REVIEW: Subject(
            _AGENT,
            "a reviewer judges the change",
            outputs={
                "verdict": Field(JsonKind.STRING, values=_VERDICTS),
                "rejection_type": Field(JsonKind.STRING, nullable=True, values=_REJECTIONS),
                "sop_review": _LIST,
                "confidence": Field(JsonKind.NUMBER),
                "feedback": _TEXT,
                "patterns": _SPARE,
            },
            role="reviewer",
        ),
        "agent.task.planning": Subject(
            _AGENT,
            "a planner writes sections of a plan, decisions or child tasks",
            outputs=_WRITTEN,
            role="planner",
        ),
        GATES: Subject(
            _CALL,
            "runs the gates over the task's tree; no: a required gate failed",
            required=("slug",),
            optional=("preset", "overrides"),
            outputs=_FEEDBACK,
            judges=True,
        ),
        ASSEMBLE: Subject(
            _CALL,
            "assembles what the reviewer sees, whole, or fails",
            required=("task_id", "files"),
            outputs={"sops": _TEXT, "sop_ids": _LIST, "conventions": _TEXT},
        ),
        VALIDATE: Subject(
            _CALL,
            "checks the review's integrity; no: it is not accepted",
            required=("task_id", "review_output", "expected_sops"),
            optional=("confidence_threshold",),
            outputs={"reason": _TEXT, "details": _LIST},
            judges=True,
        ),
        "workflow.plan.pause": Subject(
            _CALL,
            "stops the plan's other tasks at their next step",
            required=("plan_slug", "task_id"),
        ),
        "workflow.plan.draft": Subject(
            _CALL,
            "writes an uncommitted successor plan with the feedback and a section diff; no: the "
            "answer holds no sections",
            required=("plan_slug", "answer", "feedback"),
            outputs={"successor": _TEXT, "diff": _TEXT, **_FEEDBACK},
            judges=True,
        ),
        "workflow.plan.check": Subject(
            _CALL,
            "checks a plan as `plans check` does; no: it may not start",
            required=("plan_slug",),
            outputs=_FEEDBACK,
            judges=True,
        ),
        "workflow.plan.supersede": Subject(
            _CALL,
            "puts a promoted successor in a plan's place and generates the unfinished tasks anew",
            required=("plan_slug", "successor"),
            outputs={"tasks": _LIST},
        ),
        "workflow.plan.decide": Subject(
            _CALL,
            "records decisions, derived from the plan",
            required=("plan_slug", "decisions"),
        ),
        "workflow.task.read": Subject(
            _CALL,
            "tells a task: how many decompositions lie above it, its text, files and criteria",
            required=("task_id",),
            outputs={
                "depth": Field(JsonKind.NUMBER),
                "description": _TEXT,
                "files": _LIST,
                "criteria": _LIST,
            },
        ),
        "workflow.task.split": Subject(
            _CALL,
            "proposes child tasks without a model; no: it finds no split",
            required=("task_id",),
            outputs={"children": _LIST, **_FEEDBACK},
            judges=True,
        ),
        "workflow.task.cover": Subject(
            _CALL,
            "judges whether children cover every file and criterion of the parent exactly once",
            required=("task_id", "children"),
            outputs=_FEEDBACK,
            judges=True,
        ),
        "workflow.task.size": Subject(
            _CALL,
            "judges whether each child fits, as `size` does",
            required=("children",),
            outputs=_FEEDBACK,
            judges=True,
        ),
        "workflow.context.check": Subject(
            _CALL,
            "judges whether each child's review context is complete, as `context review` does",
            required=("children",),
            outputs=_FEEDBACK,
            judges=True,
        ),
        "workflow.task.create": Subject(
            _CALL,
            "makes child tasks of a task",
            required=("task_id", "children"),
            outputs={"tasks": _LIST},
        ),
        "workflow.events": Subject(
            _PUBLISH, "records that something happened", required=("event",), open=True
        ),
        COMPLETE: Subject(
            _PUBLISH,
            f"ends a task; `status` is {' or '.join(f'`{status}`' for status in STATUSES)}",
            required=("task_id", "status"),
            optional=("patterns",),
        ),
        f"{TRIGGER}*": Subject(
            _PUBLISH,
            "starts the workflow of that id; with `tasks`, once for each of them",
            required=("plan_slug",),
            open=True,
        ),
        ESCALATE: Subject(
            _PUBLISH, "hands the run to a person", required=("task_id", "reason"), open=True
        ),
        ERROR: Subject(
            _PUBLISH,
            "hands the run to a person because something broke",
            required=("task_id", "error"),
            open=True,
        ),
        "user.signal.question": Subject(
            _ASK,
            "asks a person for what a planner would write",
            required=("task_id", "question"),
            outputs=_WRITTEN,
            open=True,
        ),
        "user.signal.promote": Subject(
            _ASK,
            "waits until a person promotes the successor; no: they decline",
            required=("plan_slug", "successor", "diff"),
            outputs=_FEEDBACK,
            judges=True,
        ),
    }
)


def subject_named(name: str) -> Subject | None:
    """The subject of that name; `workflow.trigger.` and any id is one."""
    if name.startswith(TRIGGER) and name not in SUBJECTS and name != TRIGGER:
        return SUBJECTS[f"{TRIGGER}*"]
    return SUBJECTS.get(name) if not name.endswith("*") else None
