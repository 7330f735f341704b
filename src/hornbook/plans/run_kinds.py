"""The kinds of events that runs leave: what each means and what it must carry."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

from hornbook.plans.events import Data, Event, EventKind
from hornbook.plans.state import PLAN_KINDS

if TYPE_CHECKING:
    from hornbook.located import Json

TRIGGER = "workflow.trigger."
DEVELOP, REVIEW = "agent.task.development", "agent.task.review"
ESCALATE, ERROR = "user.signal.escalate", "user.signal.error"
STARTED, ENDED = "run.started", "run.ended"
WAITING, ANSWERED = "run.waiting", "run.answered"
STEP_STARTED, STEP_FINISHED = "step.started", "step.finished"
TAMPERED = "git.tampered"
BASE_STARTED, BASE_GATED, BASE_STEP = "base.started", "base.gated", "base gates"
SIZED, GATED, ASSEMBLED = "task.sized", "gates.ran", "context.assembled"
CHECKED, REASKED = "review.checked", "review.reasked"
PLANTED, CANARY = "review.planted", "agent.task.canary"
APPROVED, DECOMPOSED, CONTINUED = "task.approved", "task.decomposed", "task.continued"
MERGED, RETURNED = "task.merged", "task.returned"
PLAN, TOLD, CLAIM = "agent.task.planning", "agent.told", "agent.claim.differs"
SIGHTED, CHECKPOINTED = "blindness.checked", "plan.checkpointed"
UNSEEN = {
    "host": "network: host: no network of its own is possible here, so a blind developer is not "
    "wholly blind",
    "open": "network: open: its settings let it reach every host, so a blind developer is not "
    "wholly blind",
}
"""What to say of the networks in which nobody sees what a developer reads."""
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
            "seal clone",
        ),
        _kind(
            TAMPERED,
            "Git's configuration or hooks were changed while others worked; they are put back.",
            f"{_AT} step seal found",
        ),
        _kind(
            STEP_FINISHED,
            "A step ended: it succeeded, was refused or erred.",
            f"{_AT} step subject result seconds",
            "output error",
        ),
        _kind(
            SIZED,
            "A task was sized before anybody worked on it.",
            "task fits route message base sizing",
        ),
        _kind(
            BASE_STARTED,
            "The gates are run on the commit that the plan begins with, before anybody works.",
            "base",
        ),
        _kind(
            BASE_GATED,
            "What the gates say to the commit that the plan begins with; `definition` is theirs.",
            "base definition passed gates",
            "tree notes confined_by reused problem",
        ),
        _kind(
            DEVELOP,
            "A developer worked; commit, tree and files are git's.",
            f"{_ASKED} task attempt base commit tree files result",
            "claimed error exit_code log model problems subtask escalation decisions risks due"
            " type",
        ),
        _kind(
            REVIEW,
            "A reviewer answered; `ask` counts how often they were asked.",
            f"{_ASKED} task tree ask packet receipt_sha256 answer",
            "error exit_code log model opinion",
        ),
        _kind(
            PLANTED,
            "A change is one in N: a violation was planted into a packet of its own, if one could.",
            f"{_AT} opinion eligible units canary",
            "head packet",
        ),
        _kind(
            CANARY,
            "A reviewer was tried with what was planted; one who misses it is not believed here.",
            f"{_ASKED} task tree opinion receipt_sha256 found record record_sha256 problems",
            "exit_code log model",
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
            "network",
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
            "notes warnings fingerprint confined_by base_tests mutants",
        ),
        _kind(
            ASSEMBLED,
            "A context was assembled, or refused.",
            f"{_AT} role outcome tokens window",
            "reasons split base head tree packets sop_ids model second second_model",
        ),
        _kind(
            CHECKED,
            "A review was checked; the outcome is derived.",
            f"{_AT} outcome rejection_type route tree problems findings record",
            "explanation feedback verdict record_sha256 warnings",
        ),
        _kind(REASKED, "A reviewer is asked again, and why.", f"{_AT} ask problems", "opinion"),
        _kind(
            APPROVED,
            "A task was approved: its work is a commit.",
            "task commit tree",
            "receipts round number carried_from patterns answer",
        ),
        _kind(
            MERGED,
            "Approved work was put on top of what came onto the plan's branch first, to be judged "
            "there.",
            f"{_AT} task of base commit tree files review conflicts feedback",
        ),
        _kind(
            RETURNED,
            "Work that a person approved does not go with what came first: a developer goes on.",
            f"{_AT} task reason",
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
        _kind(
            ANSWERED,
            "A person answered; `tree` and `review` are what the word is about.",
            f"{_AT} text asked",
            "action reason tree review against verdict rejection_type about base scope",
        ),
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


class AtStep(TypedDict):
    """Where in a run something happened: every round counts its steps from the first."""

    run: str
    round: int
    number: int


class UsageData(TypedDict):
    """What a call of an agent cost; `cost` in `currency`, dollars in old events, if it is known."""

    input_tokens: int
    output_tokens: int
    cost: float | None
    steps: NotRequired[int]
    currency: NotRequired[str | None]


class StepResultData(AtStep):
    """How a step ended: `output` if it succeeded or was refused, `error` if it erred."""

    step: str
    subject: str
    result: str
    seconds: float
    output: NotRequired["dict[str, Json]"]
    error: NotRequired[str]


class SubtaskData(TypedDict):
    """A subtask that a developer asks for first."""

    description: str
    files: list[str]
    criteria: list[str]


class AttemptData(AtStep):
    """An attempt of a developer: commit, tree and files are git's, all else is what it said."""

    agent: str
    prompt_sha256: str
    tokens: int
    window: int
    usage: UsageData
    task: str
    attempt: int
    base: str
    commit: str
    tree: str
    files: list[str]
    result: str
    claimed: NotRequired[list[str] | None]
    error: NotRequired[str | None]
    exit_code: NotRequired[int | None]
    log: NotRequired[str | None]
    model: NotRequired[str]
    problems: NotRequired[list[str]]
    subtask: NotRequired[SubtaskData | None]
    escalation: NotRequired[str | None]
    decisions: NotRequired[list[list[str]]]
    risks: NotRequired[list[list[str]]]
    due: NotRequired[bool]
    type: NotRequired[str]


class MergedData(AtStep):
    """Work on top of the plan's branch: `of` is the commit that was made elsewhere, `base` the tip.

    `review` says whether the one that was given `holds`, or is asked for `again`; with `conflicts`
    there is none, and the commit has the branch's side of them.
    """

    task: str
    of: str
    base: str
    commit: str
    tree: str
    files: list[str]
    review: str
    conflicts: list[str]
    feedback: str


class GateResultData(TypedDict):
    """One gate of a report."""

    name: str
    required: bool
    status: str
    message: str
    output: str


class GatesData(AtStep):
    """What the gates said to a tree."""

    tree: str
    base: str
    head: str
    passed: bool
    gates: list[GateResultData]
    notes: NotRequired[list[str]]
    warnings: NotRequired[list[str]]
    fingerprint: NotRequired[str]
    confined_by: NotRequired[str | None]
    base_tests: NotRequired[dict[str, object] | None]
    mutants: NotRequired[list[dict[str, object]]]


class PacketData(TypedDict):
    """A packet that a reviewer is handed, by its hashes; `asked` is what a review answers."""

    prompt_sha256: str
    receipt_sha256: str
    sop_ids: list[str]
    asked: list[str]
    tokens: int
    window: int


class ContextData(AtStep):
    """A context that was assembled, or refused; a reviewer's has packets."""

    role: str
    outcome: str
    tokens: int
    window: int
    reasons: NotRequired[list[str]]
    split: NotRequired[list[list[str]]]
    base: NotRequired[str]
    head: NotRequired[str]
    tree: NotRequired[str]
    packets: NotRequired[list[PacketData]]
    second: NotRequired[list[PacketData]]
    second_model: NotRequired[str]
    sop_ids: NotRequired[list[str]]
    model: NotRequired[str]


class AnswerData(AtStep):
    """What a person answered, and what they were asked.

    `action` is missing in words from before there were any: those gave the work back.
    """

    text: str
    asked: str
    action: NotRequired[str]
    reason: NotRequired[str]
    tree: NotRequired[str]
    review: NotRequired[str | None]
    against: NotRequired[str]
    verdict: NotRequired[str | None]
    rejection_type: NotRequired[str | None]
    about: NotRequired[str]
    base: NotRequired[str]
    scope: NotRequired[str]


class BaseGatesData(TypedDict):
    """What the gates said to the commit that a plan begins with; `problem` if they cannot judge."""

    run: str
    base: str
    definition: str
    passed: bool
    gates: list[GateResultData]
    notes: NotRequired[list[str]]
    confined_by: NotRequired[str | None]
    reused: NotRequired[bool]
    problem: NotRequired[str]


class StartedData(TypedDict):
    """How a run was begun; `workflow` is empty for the run of a whole plan.

    `only` are the tasks that such a run is limited to, `parent` the run that began this one.
    """

    run: str
    workflow: str
    payload: Data
    task: NotRequired[str | None]
    agent: NotRequired[str | None]
    parent: NotRequired[str | None]
    base: NotRequired[str]
    only: NotRequired[list[int] | None]
    attempts: NotRequired[int]


class EndedData(TypedDict):
    """How a run ended; `to` are the workflows that go on with its task."""

    run: str
    status: str
    reason: str
    to: NotRequired[list[str]]
    spawned: NotRequired[list[str]]


class ReviewAnswerData(AtStep):
    """What a reviewer answered to one packet, unread; `ask` counts how often they were asked."""

    agent: str
    prompt_sha256: str
    tokens: int
    window: int
    usage: UsageData
    task: str
    tree: str
    ask: int
    packet: int
    receipt_sha256: str
    answer: str
    error: NotRequired[str | None]
    exit_code: NotRequired[int | None]
    log: NotRequired[str | None]
    opinion: NotRequired[str]
    model: NotRequired[str]


class CanaryData(AtStep):
    """How a reviewer did with what was planted: `found` it, or is not believed about the change."""

    agent: str
    usage: UsageData
    tree: str
    opinion: str
    receipt_sha256: str
    found: bool
    record: str
    record_sha256: str
    problems: list[Data]


class FindingData(TypedDict):
    """What a judgement says of one rule, or of one unit of a large rule."""

    sop_id: str
    severity: str
    status: str
    path: str | None
    line: int | None
    message: str
    unit: NotRequired[str | None]


class CheckedData(AtStep):
    """What was derived from a review of a tree; `record` names the record that was kept of it."""

    outcome: str
    rejection_type: str | None
    route: str | None
    tree: str
    problems: list[Data]
    findings: list[FindingData]
    record: str
    explanation: NotRequired[list[str]]
    feedback: NotRequired[str]
    verdict: NotRequired[str]
    record_sha256: NotRequired[str]
    warnings: NotRequired[list[Data]]


class SignalData(AtStep):
    """What a person is asked or told; with `halts` the run stops before its next step."""

    payload: Data
    record: str
    halts: NotRequired[bool]


# The log refuses data that lacks what its kind requires, so that a kind says what an event carries.


def step_result(event: Event) -> StepResultData:
    """What an event of the kind `STEP_FINISHED` carries."""
    return cast("StepResultData", event.data)


def attempt(event: Event) -> AttemptData:
    """What an event of the kind `DEVELOP` carries."""
    return cast("AttemptData", event.data)


def merged(event: Event) -> MergedData:
    """What an event of the kind `MERGED` carries."""
    return cast("MergedData", event.data)


def gates(event: Event) -> GatesData:
    """What an event of the kind `GATED` carries."""
    return cast("GatesData", event.data)


def base_gates(event: Event) -> BaseGatesData:
    """What an event of the kind `BASE_GATED` carries."""
    return cast("BaseGatesData", event.data)


def context(event: Event) -> ContextData:
    """What an event of the kind `ASSEMBLED` carries."""
    return cast("ContextData", event.data)


def answer(event: Event) -> AnswerData:
    """What an event of the kind `ANSWERED` carries."""
    return cast("AnswerData", event.data)


def started(event: Event) -> StartedData:
    """What an event of the kind `STARTED` carries."""
    return cast("StartedData", event.data)


def ended(event: Event) -> EndedData:
    """What an event of the kind `ENDED` carries."""
    return cast("EndedData", event.data)


def review_answer(event: Event) -> ReviewAnswerData:
    """What an event of the kind `REVIEW` carries."""
    return cast("ReviewAnswerData", event.data)


def canary(event: Event) -> CanaryData:
    """What an event of the kind `CANARY` carries."""
    return cast("CanaryData", event.data)


def checked(event: Event) -> CheckedData:
    """What an event of the kind `CHECKED` carries."""
    return cast("CheckedData", event.data)


def signal(event: Event) -> SignalData:
    """What an event of one of the kinds `SIGNALS` carries."""
    return cast("SignalData", event.data)
