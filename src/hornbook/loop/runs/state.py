"""What the events of a run add up to: where its workflow stands, and all that was found out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hornbook.errors import EventLogError
from hornbook.loop.workflow.definition import Step, Workflow, Workflows
from hornbook.loop.workflow.interpreter import (
    Do,
    Ended,
    Erred,
    Refused,
    Reopened,
    Result,
    Succeeded,
    WorkflowOutcome,
    WorkflowRun,
    advance,
    start,
)
from hornbook.plans import event_keys
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Data, Event
from hornbook.plans.run_kinds import DEVELOP, ERROR, ESCALATE

ESCALATION = "escalation"
REJECTED_TREE = "floor:rejected"
"""The floor that fails where a rejected tree is offered again."""
HOLDS, AGAIN = "holds", "again"
"""Whether a review counts for work together with what came onto the branch before it."""
BASE = "base"
"""What a question and a person's word are about where the gates are red before anybody works."""
COST = "cost"
"""The same where agents cost as much as they may."""
DECISIONS = frozenset({"accept", "overrule", "split", "stop"})
"""A person's words that the run carries out and ends by; all others begin its workflow anew."""


@dataclass(frozen=True, slots=True)
class RunState:
    """A run as its events leave it; every round begins its workflow anew, after an answer.

    `machine` is the workflow as far as it is done, None for the run of a whole plan, and for one
    that ended by a workflow that is another one by now. `decided` is a person's word that the run
    has to carry out.
    """

    id: str
    plan: str
    begun: Event
    events: tuple[Event, ...]
    machine: WorkflowRun | None
    round: int = 1
    ended: Event | None = None
    asked: Event | None = None
    waits_until: str | None = None
    keys: Mapping[str, Event] = field(default_factory=dict)
    decided: Event | None = None

    @property
    def workflow(self) -> str:
        """The id of its workflow; empty for the run of a whole plan."""
        return kinds.started(self.begun)["workflow"]

    @property
    def task(self) -> str | None:
        """The id of the task that it is about."""
        return kinds.started(self.begun).get("task")

    @property
    def payload(self) -> Data:
        """What it was begun with."""
        return kinds.started(self.begun)["payload"]

    @property
    def agent(self) -> str | None:
        """The agent that was asked for."""
        return kinds.started(self.begun).get("agent")

    @property
    def parent(self) -> str | None:
        """The run of a whole plan, or of a workflow, that began it."""
        return kinds.started(self.begun).get("parent")

    @property
    def develops(self) -> bool:
        """Whether its workflow has a developer work on its task."""
        steps = self.machine.workflow.steps if self.machine is not None else ()
        return self.task is not None and any(each.action.subject == DEVELOP for each in steps)

    @property
    def status(self) -> str:
        """How it stands, in a word."""
        if self.ended is not None:
            return kinds.ended(self.ended)["status"]
        if self.is_asking:
            return "asking"
        return "waiting" if self.waits_until else "running"

    @property
    def is_asking(self) -> bool:
        """Whether nothing goes on before a person answers."""
        if self.ended is not None or self.asked is None or self.decided is not None:
            return False
        if self.asked.kind in {kinds.QUESTION, kinds.PROMOTE}:
            return True
        if kinds.signal(self.asked).get("halts"):
            return True
        return self.machine is None or isinstance(self.machine.upcoming, Ended)

    @property
    def attempt(self) -> int:
        """Which attempt of the round it is, from 1."""
        if self.machine is not None:
            return self.machine.iteration
        return max((kinds.attempt(event)["attempt"] for event in self.of(DEVELOP)), default=1)

    @property
    def step(self) -> str:
        """The step that comes next, or the gates that run before the first one."""
        if self.events[-1].kind == kinds.BASE_STARTED:
            return kinds.BASE_STEP
        if self.machine is None or isinstance(self.machine.upcoming, Ended):
            return ""
        return self.machine.upcoming.step

    def key(self, number: int, what: str) -> str:
        """The idempotency key of what happens at a step of this round."""
        return event_keys.run_step(self.id, self.round, number, what)

    def fact(self, number: int, what: str) -> Event | None:
        """What happened already at a step of this round."""
        return self.keys.get(self.key(number, what))

    def of(self, *names: str) -> list[Event]:
        """The events of some kinds, oldest first."""
        return [event for event in self.events if event.kind in names]

    def newest(self, *names: str) -> Event | None:
        """The last event of some kinds."""
        return next((event for event in reversed(self.events) if event.kind in names), None)

    def works(self) -> Iterator[tuple[kinds.AttemptData, Event]]:
        """All work with its event, oldest first: attempts, and attempts on top of other work."""
        made: kinds.AttemptData | None = None
        for event in self.of(DEVELOP, kinds.MERGED):
            if event.kind == DEVELOP:
                made = kinds.attempt(event)
            elif made is not None:
                merged = kinds.merged(event)
                made = {
                    **made,
                    "base": merged["base"],
                    "commit": merged["commit"],
                    "tree": merged["tree"],
                    "files": merged["files"],
                }
            if made is not None:
                yield made, event

    def work(self) -> kinds.AttemptData | None:
        """The newest work: an attempt, or one on top of what the plan's branch had by then."""
        return next((work for work, _ in reversed([*self.works()])), None)

    def reviewed_work(self) -> kinds.AttemptData | None:
        """The newest work that a review is asked for: one that holds is of the work before."""
        found = reversed([*self.works()])
        return next((work for work, event in found if event.data.get("review") != HOLDS), None)

    def merged_since_review(self) -> kinds.MergedData | None:
        """The newest work together with what came first, if the review holds for both."""
        event = self.newest(DEVELOP, kinds.MERGED)
        if event is None or event.kind == DEVELOP or kinds.merged(event)["review"] != HOLDS:
            return None
        return kinds.merged(event)

    def executions(self, number: int) -> int:
        """How often a step of this round was begun."""
        return sum(
            1
            for event in self.of(kinds.STEP_STARTED)
            if (event.data["round"], event.data["number"]) == (self.round, number)
        )

    def deaths(self, number: int) -> int:
        """How often a step of this round was begun, and nothing came of it."""
        count = 0
        for event in reversed(self.events):
            at = (event.data.get("round"), event.data.get("number"))
            if at != (self.round, number) or not _is_beginning(event):
                return count
            count += event.kind == kinds.STEP_STARTED
        return count

    def answers(self) -> list[str]:
        """What people said to escalations, oldest first; of the base they tell no developer."""
        answers = map(kinds.answer, self.of(kinds.ANSWERED))
        return [words_of(each) for each in answers if each["asked"] == ESCALATION]

    def this_round(self) -> list[Event]:
        """The events since a person last answered an escalation."""
        if self.round == 1:
            return list(self.events)
        answers = self.of(kinds.ANSWERED)
        last = [each for each in answers if kinds.answer(each)["asked"] == ESCALATION][-1]
        return [event for event in self.events if event.seq > last.seq]

    def feedback(self) -> str:
        """What the newest attempt was told: by a person, and by a failed gate or a reviewer."""
        answers: list[str] = []
        for event in reversed(self.events):
            if event.kind == kinds.ANSWERED and kinds.answer(event)["asked"] == ESCALATION:
                answers.append(words_of(kinds.answer(event)))
            elif event.kind == kinds.CHECKED and kinds.checked(event)["outcome"] != "approved":
                feedback = kinds.checked(event).get("feedback", "")
                return "\n\n".join(filter(None, [*answers, feedback]))
            elif event.kind == kinds.MERGED and kinds.merged(event)["feedback"]:
                return "\n\n".join(filter(None, [*answers, kinds.merged(event)["feedback"]]))
            elif event.kind == kinds.GATED and is_offered_again(kinds.gates(event)):
                answers.append(gate_feedback(kinds.gates(event)))  # and what the review said of it
            elif event.kind == kinds.GATED and not kinds.gates(event)["passed"]:
                return "\n\n".join(filter(None, [*answers, gate_feedback(kinds.gates(event))]))
        return "\n\n".join(filter(None, answers))

    def rejections(self) -> list[kinds.CheckedData]:
        """The checked reviews that did not approve, oldest first."""
        checks = map(kinds.checked, self.of(kinds.CHECKED))
        return [each for each in checks if each["outcome"] != "approved"]

    def open_findings(self) -> list[kinds.FindingData]:
        """What reviewers found violated so far, each once, oldest first."""
        found: dict[tuple[str, str], kinds.FindingData] = {}
        for checked in self.rejections():
            for each in checked["findings"]:
                if each["status"] == "violated":
                    found.setdefault((each["sop_id"], each["message"]), each)
        return list(found.values())


def _is_beginning(event: Event) -> bool:
    """Whether an event only tells that a step or an agent was begun."""
    if event.kind == kinds.TOLD:
        told = event.data["told"]
        return isinstance(told, Mapping) and told.get("kind") == "agent.started"
    return event.kind == kinds.STEP_STARTED


def words_of(said: kinds.AnswerData) -> str:
    """What the next attempt is told of a person's word; the text of an amended plan is the plan's.

    A review that was accepted is told as the newest feedback anyway.
    """
    if said.get("about") == BASE:
        return ""
    if said.get("action") in {"amend", "accept"}:
        return said.get("reason") or ""
    return said["text"]


def is_offered_again(report: kinds.GatesData) -> bool:
    """Whether gates failed for nothing but that the tree was rejected before."""
    return failed_gates(report["gates"]) == [REJECTED_TREE]


def failed_gates(results: Iterable[kinds.GateResultData]) -> list[str]:
    """The names of the required gates that did not pass."""
    return [
        gate["name"]
        for gate in results
        if gate["required"] and gate["status"] not in {"passed", "warned"}
    ]


def base_told(found: kinds.BaseGatesData) -> str:
    """What the gates said to the commit that a plan begins with, in a line."""
    short = found["base"][:12]
    if found.get("problem"):
        return f"the gates can judge nothing on the base {short}: {found['problem']}"
    if not found["passed"]:
        return f"red on the base {short}: {', '.join(failed_gates(found['gates']))}"
    reused = ", as known from before" if found.get("reused") else ""
    return f"all required gates pass on the base {short}{reused}"


def gate_feedback(report: kinds.GatesData) -> str:
    """What a developer is told of gates that did not pass."""
    lines = []
    for gate in report["gates"]:
        if gate["status"] in {"failed", "refused"} and gate["required"]:
            lines.append(f"{gate['name']} {gate['status']}: {gate['message']}".rstrip(": "))
            if gate["output"]:
                lines += ["", gate["output"].rstrip("\n"), ""]
    return "\n".join(lines).strip()


def by_run(events: Iterable[Event]) -> dict[str, list[Event]]:
    """The events of each run in a plan's log, in the order in which the runs were begun."""
    found: dict[str, list[Event]] = {}
    for event in events:
        run = event.data.get("run")
        if event.kind == kinds.STARTED:
            found.setdefault(str(run), [])
        if run in found:
            found[run].append(event)
    return found


def project_run(
    events: Sequence[Event], run_id: str, workflows: Mapping[str, Workflow]
) -> RunState | None:
    """A run from its plan's events; None if it was never begun.

    One that has ended needs its workflow no more: it is told by its events alone if that is
    another one by now.

    Raises:
        EventLogError: The workflow is not there any more, or is another one by now.
    """
    mine = tuple(event for event in events if event.data.get("run") == run_id)
    begun = next((event for event in mine if event.kind == kinds.STARTED), None)
    if begun is None:
        return None
    state = RunState(run_id, begun.plan, begun, mine, None, keys={e.key: e for e in mine})
    if not state.workflow:
        return _all_folded(state, workflows)
    try:
        return _all_folded(replace(state, machine=_begun(state, workflows)), workflows)
    except EventLogError:
        told_by_events = _all_folded(state, workflows)
        if told_by_events.ended is None:
            raise
        return told_by_events


def advance_run(
    state: RunState, events: Sequence[Event], workflows: Mapping[str, Workflow]
) -> RunState:
    """A run after some more events of its own; the same as if all were projected.

    Raises:
        EventLogError: As `project_run` does.
    """
    fresh = tuple(events)
    keys = {**state.keys, **{event.key: event for event in fresh}}
    after = replace(state, events=(*state.events, *fresh), keys=keys)
    for event in fresh:
        after = _folded(after, event, workflows)
    return after


def _all_folded(state: RunState, workflows: Mapping[str, Workflow]) -> RunState:
    for event in state.events:
        state = _folded(state, event, workflows)
    return state


def _folded(state: RunState, event: Event, workflows: Mapping[str, Workflow]) -> RunState:
    if event.kind == kinds.STEP_FINISHED:
        asks = kinds.step_result(event)["subject"] in {kinds.QUESTION, kinds.PROMOTE}
        after = _stepped(state, event)
        return replace(after, waits_until=None, asked=None if asks else state.asked)
    if event.kind in kinds.SIGNALS:
        # A word that could not be carried out has to be said again.
        return replace(state, asked=event, decided=None)
    if event.kind == kinds.RETURNED:
        later = replace(state, asked=None, decided=None, round=state.round + 1)
        return replace(later, machine=_begun(later, workflows))
    if event.kind == kinds.WAITING:
        return replace(state, waits_until=event.data["until"])
    if event.kind == kinds.ENDED:
        return replace(state, ended=event, asked=None, waits_until=None)
    return _answered(state, event, workflows) if event.kind == kinds.ANSWERED else state


def _answered(state: RunState, event: Event, workflows: Mapping[str, Workflow]) -> RunState:
    """The run after a person's word; to an escalation, its workflow begins anew."""
    said = kinds.answer(event)
    if is_decision(said):
        return replace(state, asked=None, decided=event)
    if said["asked"] != ESCALATION:
        return replace(state, asked=None)
    later = replace(state, asked=None, round=state.round + 1)
    return replace(later, machine=_begun(later, workflows)) if state.machine else later


def is_decision(said: kinds.AnswerData) -> bool:
    """Whether a run ends by a person's word; a rejection that can be fixed is worked on."""
    action = said.get("action")
    if said.get("about") == BASE:
        return action == "stop"
    if action == "accept" and said.get("verdict") == "rejected":
        return said.get("rejection_type") != "fixable"
    return action in DECISIONS


def _begun(state: RunState, workflows: Mapping[str, Workflow]) -> WorkflowRun:
    """The workflow at its first step, with what people answered so far.

    It is the one that the commit has which the plan began with, whatever the work tree says.
    """
    base = kinds.started(state.begun).get("base")
    if base and isinstance(workflows, Workflows):
        workflows = workflows.at(base)
    if state.workflow not in workflows:
        raise EventLogError(
            f"run {state.id} follows the workflow {state.workflow!r}, which is not there any more: "
            "restore its file in .hornbook/workflows."
        )
    payload = dict(state.payload)
    said = state.answers()[: state.round - 1]
    if said and isinstance(payload.get("feedback"), str):
        payload["feedback"] = "\n\n".join([payload["feedback"], *filter(None, said)])
    # As many attempts as there were when it was begun: a setting that changes later is for others.
    attempts = kinds.started(state.begun).get("attempts")
    workflow = workflows[state.workflow]
    return start(workflow if attempts is None else with_attempts(workflow, attempts), payload)


def _stepped(state: RunState, event: Event) -> RunState:
    run, done = state.machine, kinds.step_result(event)
    if run is None or done["round"] != state.round:
        return state
    do = run.upcoming
    if not isinstance(do, Do) or (do.step, do.number) != (done["step"], done["number"]):
        raise EventLogError(
            f"run {state.id}, event {event.seq}: the step {done['step']!r} was done, which "
            f"the workflow {state.workflow!r} does not do there: it was changed since. Restore it."
        )
    return replace(state, machine=advance(run, result_of(done)))


def result_of(data: kinds.StepResultData) -> Result:
    """The result that an event tells of."""
    seconds = data["seconds"]
    if data["result"] == "succeeded":
        return Succeeded(data["output"], seconds)
    if data["result"] == "refused":
        return Refused(data["output"], seconds)
    if data["result"] == "reopened":
        output = data["output"]
        return Reopened(str(output["refusal"]), output["review"] == HOLDS, seconds)
    return Erred(data["error"], seconds)


def result_data(result: Result) -> dict[str, object]:
    """A result as an event carries it."""
    if isinstance(result, Reopened):
        output = {"refusal": result.refusal, "review": HOLDS if result.review else AGAIN}
        return {"result": "reopened", "output": output, "seconds": result.seconds}
    if isinstance(result, Erred):
        return {"result": "erred", "error": result.error, "seconds": result.seconds}
    name = "succeeded" if isinstance(result, Succeeded) else "refused"
    return {"result": name, "output": dict(result.output), "seconds": result.seconds}


def with_attempts(workflow: Workflow, attempts: int) -> Workflow:
    """The workflow with another number of attempts in the place of its own."""

    def limited(step: Step) -> Step:
        condition = step.condition
        if condition is None or not condition.limits_iterations:
            return step
        if condition.value != workflow.max_iterations:
            return step
        return replace(step, condition=replace(condition, value=attempts))

    if not any(step.action.subject == DEVELOP for step in workflow.steps):
        return workflow
    steps = tuple(map(limited, workflow.steps))
    return replace(workflow, steps=steps, max_iterations=attempts)


def last_escalation(state: RunState) -> Event | None:
    """The newest word to a person in this round."""
    found = [event for event in state.this_round() if event.kind in {ESCALATE, ERROR}]
    return found[-1] if found else None


def is_over(state: RunState) -> bool:
    """Whether the workflow came to an end that no person has to look at."""
    run = state.machine
    return (
        run is not None
        and isinstance(run.upcoming, Ended)
        and run.upcoming.outcome is not WorkflowOutcome.ESCALATED
    )


def pauses(states: Iterable[RunState]) -> Iterator[RunState]:
    """The live runs that keep the others of their plan from going on, who came first first."""
    found = [(state.of(kinds.PAUSED), state) for state in states if state.ended is None]
    asked = [(events[0].seq, state) for events, state in found if events]
    for _, state in sorted(asked, key=lambda each: each[0]):
        yield state
