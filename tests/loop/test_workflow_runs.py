"""How runs move: every route, and what holds whatever the steps answer."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from hornbook.errors import ConfigError, UsageError
from hornbook.located import Json, JsonKind
from hornbook.loop.workflow.definition import SHIPPED, Workflow
from hornbook.loop.workflow.interpreter import (
    Do,
    Ended,
    Erred,
    Refused,
    Result,
    StepVisit,
    Succeeded,
    WorkflowOutcome,
    WorkflowRun,
    advance,
    start,
)
from hornbook.loop.workflow.load import load_workflow, require_workflow, shipped_workflow
from hornbook.loop.workflow.subjects import (
    ASSEMBLE,
    COMPLETE,
    GATES,
    VALIDATE,
    ActionType,
    Field,
    subject_named,
)
from hornbook.plans.run_kinds import DEVELOP, REVIEW
from tests.kit.workflow_texts import FOLDER, Definition, action, definition, step, text_of

TASK: dict[str, Json] = {
    "task_id": "task.users.1",
    "slug": "users",
    "model": "some-model",
    "gate_preset": "go",
    "task_description": "Add a handler.",
    "acceptance_criteria": ["it answers", "it is tested"],
    "constraints": "IN: handlers/**",
}
HANDED: dict[str, Json] = {
    "original_task_id": "task.users.1",
    "feedback": "The task is two tasks.",
    "plan_slug": "users",
}
PAYLOADS = {each: TASK if each == "plan-and-execute" else HANDED for each in SHIPPED}
EMPTY: dict[JsonKind, Json] = {JsonKind.STRING: "text", JsonKind.ARRAY: [], JsonKind.NUMBER: 1}


def answer(subject: str, **members: Json) -> dict[str, Json]:
    """An answer with every output of a subject, these among them."""
    rule = subject_named(subject)
    assert rule is not None
    return {**{name: EMPTY[each.kind] for name, each in rule.outputs.items()}, **members}


def review(verdict: str, rejection: str | None = None) -> Succeeded:
    told = answer(REVIEW, verdict=verdict, rejection_type=rejection, feedback=f"it is {rejection}")
    return Succeeded(told)


def gates(feedback: str) -> Refused:
    return Refused({"feedback": feedback})


Script = Mapping[str, Sequence[Result]]
APPROVED = review("approved")


def play(
    workflow: Workflow, payload: Mapping[str, Json], script: Script
) -> tuple[WorkflowRun, list[Do]]:
    """A run in which steps answer as scripted, the last answer again and again; else they agree."""
    run, done = start(workflow, payload), list[Do]()
    while isinstance(do := run.upcoming, Do):
        done.append(do)
        times = sum(each.step == do.step for each in done)
        scripted = script.get(do.step)
        agreed = Succeeded(answer(do.action.subject))
        run = advance(run, scripted[min(times, len(scripted)) - 1] if scripted else agreed)
    return run, done


def told(run: WorkflowRun) -> list[str]:
    """What became of each step, where it was not simply done."""
    return [
        each.step if each.visit is StepVisit.DONE else f"{each.step}: {each.visit}"
        for each in run.trail
    ]


def loop(**script: Sequence[Result]) -> tuple[WorkflowRun, list[Do]]:
    return play(shipped_workflow("plan-and-execute"), TASK, {"reviewer": [APPROVED], **script})


def ended(run: WorkflowRun) -> tuple[str, str, tuple[str, ...]]:
    assert isinstance(run.upcoming, Ended)
    return run.upcoming.outcome.value, run.upcoming.reason, run.upcoming.to


# Routes of the loop


def test_approved() -> None:
    run, done = loop()
    assert told(run) == snapshot(
        [
            "developer",
            "structural_gates",
            "assemble_context",
            "reviewer",
            "validate_review",
            "verdict_check",
            "complete",
        ]
    )
    assert ended(run) == snapshot(("approved", "the change was approved.", ()))
    assert [do.number for do in done] == [1, 2, 3, 4, 5, 6, 7]
    assert done[-1].action.payload["iterations"] == 1
    assert done[-2].action.payload["patterns"] == []


def test_fixable_twice_then_approved() -> None:
    run, done = loop(reviewer=[review("rejected", "fixable"), review("rejected", "fixable"), APPROVED])  # fmt: skip
    assert told(run) == snapshot(
        [
            "developer",
            "structural_gates",
            "assemble_context",
            "reviewer",
            "validate_review",
            "verdict_check: skipped",
            "categorize_rejection",
            "retry_developer_feedback",
            "structural_gates",
            "assemble_context",
            "reviewer",
            "validate_review",
            "verdict_check: skipped",
            "categorize_rejection",
            "retry_developer_feedback",
            "structural_gates",
            "assemble_context",
            "reviewer",
            "validate_review",
            "verdict_check",
            "complete",
        ]
    )
    assert ended(run)[0] == "approved"
    assert done[-1].action.payload["iterations"] == 3
    assert len({do.number for do in done}) == len(done)


@pytest.mark.parametrize(
    ("rejection", "to"),
    [
        ("misscoped", "plan-refinement"),
        ("architectural", "design-refinement"),
        ("too_big", "task-decomposition"),
    ],
)
def test_a_rejection_is_handed_on(rejection: str, to: str) -> None:
    run, done = loop(reviewer=[review("rejected", rejection)])
    assert ended(run) == ("handed_on", f"`{to}` goes on.", (to,))
    assert done[-2].action.payload == {
        "original_task_id": "task.users.1",
        "feedback": f"it is {rejection}",
        "plan_slug": "users",
    }
    skipped = {
        "misscoped": ["verdict_check: skipped", "categorize_rejection: skipped"],
        "architectural": [
            "verdict_check: skipped",
            "categorize_rejection: skipped",
            "check_misscoped: skipped",
        ],
        "too_big": [
            "verdict_check: skipped",
            "categorize_rejection: skipped",
            "check_misscoped: skipped",
            "check_architectural: skipped",
        ],
    }[rejection]
    assert told(run) == [
        "developer",
        "structural_gates",
        "assemble_context",
        "reviewer",
        "validate_review",
        *skipped,
        f"check_{rejection}",
        "complete",
    ]


def test_a_rejection_of_no_known_type_escalates() -> None:
    run, _ = loop(reviewer=[review("rejected", None)])
    assert told(run)[-2:] == ["unknown_rejection", "complete"]
    assert ended(run) == ("escalated", "Unknown rejection type: null", ())


def test_an_invalid_review_escalates_and_never_reaches_the_developer() -> None:
    run, _ = loop(validate_review=[Refused({"reason": "no evidence", "details": ["a"]})])
    assert told(run) == snapshot(
        [
            "developer",
            "structural_gates",
            "assemble_context",
            "reviewer",
            "validate_review: refused",
            "review_invalid",
            "complete",
        ]
    )
    assert ended(run) == snapshot(("escalated", "Review validation failed: no evidence", ()))


def test_a_gate_failure_is_repaired_with_its_output_and_the_newest_attempt_is_reviewed() -> None:
    newest = answer(DEVELOP, files_modified=["b.go"], result="second")
    run, done = loop(
        developer=[Succeeded(answer(DEVELOP, files_modified=["a.go"], result="first"))],
        structural_gates=[gates("vet: unused x"), Succeeded({"feedback": ""})],
        retry_developer_gates=[Succeeded(newest)],
    )
    assert told(run) == snapshot(
        [
            "developer",
            "structural_gates: refused",
            "retry_developer_gates",
            "structural_gates",
            "assemble_context",
            "reviewer",
            "validate_review",
            "verdict_check",
            "complete",
        ]
    )
    by_step = {do.step: do for do in done}
    assert "vet: unused x" in str(by_step["retry_developer_gates"].action.prompt)
    assert by_step["retry_developer_gates"].iteration == 2
    assert by_step["assemble_context"].action.payload["files"] == ["b.go"]
    assert "second" in str(by_step["reviewer"].action.prompt)
    assert "first" not in str(by_step["reviewer"].action.prompt)


def test_the_third_gate_failure_escalates_with_the_gates_output() -> None:
    run, done = loop(structural_gates=[gates("one"), gates("two"), gates("three")])
    assert told(run) == snapshot(
        [
            "developer",
            "structural_gates: refused",
            "retry_developer_gates",
            "structural_gates: refused",
            "retry_developer_gates",
            "structural_gates: refused",
            "retry_developer_gates: skipped",
            "max_retries_exceeded",
            "complete",
        ]
    )
    assert ended(run) == snapshot(("escalated", "Max retries exceeded after 3 attempts", ()))
    assert done[-2].action.payload["last_feedback"] == "three"


def test_gate_and_review_failures_count_together() -> None:
    run, done = loop(
        structural_gates=[gates("one"), Succeeded({"feedback": ""}), gates("three")],
        reviewer=[review("rejected", "fixable")],
    )
    assert told(run)[-3:] == ["retry_developer_gates: skipped", "max_retries_exceeded", "complete"]
    assert done[-2].action.payload["last_feedback"] == "three"
    third, done = loop(reviewer=[review("rejected", "fixable")])
    assert told(third)[-3:] == ["retry_developer_feedback: skipped", "max_retries_exceeded", "complete"]  # fmt: skip
    assert done[-2].action.payload["last_feedback"] == "it is fixable"


def test_a_developer_that_dies_is_told_to_a_person() -> None:
    run, _ = loop(developer=[Erred("exit code 137")])
    assert told(run) == snapshot(["developer: erred", "developer_failed", "complete"])
    assert ended(run) == snapshot(("escalated", "Developer agent failed: exit code 137", ()))


def test_a_developer_that_dies_on_a_retry_escalates_and_is_no_rejection() -> None:
    run, _ = loop(structural_gates=[gates("one")], retry_developer_gates=[Erred("timed out")])
    assert told(run) == snapshot(
        ["developer", "structural_gates: refused", "retry_developer_gates: erred"]
    )
    assert ended(run) == snapshot(("escalated", "`retry_developer_gates` failed: timed out", ()))


def test_a_reviewer_that_dies_is_told_to_a_person() -> None:
    run, _ = loop(reviewer=[Erred("no answer")])
    assert told(run) == snapshot(
        [
            "developer",
            "structural_gates",
            "assemble_context",
            "reviewer: erred",
            "reviewer_failed",
            "complete",
        ]
    )
    assert ended(run) == snapshot(("escalated", "Reviewer agent failed: no answer", ()))


def test_a_context_that_cannot_be_assembled_never_reaches_a_reviewer() -> None:
    run, _ = loop(assemble_context=[Erred("sop_overflow")])
    assert told(run) == snapshot(
        ["developer", "structural_gates", "assemble_context: erred", "context_failed", "complete"]
    )
    assert ended(run) == snapshot(("escalated", "Context assembly failed: sop_overflow", ()))


def test_gates_that_cannot_run_escalate_and_cost_the_developer_nothing() -> None:
    run, _ = loop(structural_gates=[Erred("no shell")])
    assert told(run) == ["developer", "structural_gates: erred"]
    assert ended(run) == ("escalated", "`structural_gates` judged nothing: no shell", ())


def test_an_answer_that_lacks_something_is_an_error() -> None:
    run, _ = loop(reviewer=[Succeeded({"verdict": "approved"})])
    assert ended(run)[:2] == ("escalated", "Reviewer agent failed: the answer has no `rejection_type`.")  # fmt: skip
    run, _ = loop(reviewer=[Succeeded({**APPROVED.output, "confidence": "high"})])
    assert "`confidence` of the answer is of kind string, not number" in ended(run)[1]


def test_an_error_after_the_approval_ends_as_an_escalation() -> None:
    run, _ = loop(complete=[Erred("disk full")])
    assert ended(run) == ("escalated", "`complete` failed: disk full", ())


# Routes of the others


def other(name: str, **script: Sequence[Result]) -> tuple[WorkflowRun, list[Do]]:
    return play(shipped_workflow(name), HANDED, script)


def test_a_refined_plan_is_promoted_by_a_person_and_execution_goes_on() -> None:
    run, done = other("plan-refinement")
    assert told(run) == snapshot(
        [
            "pause_plan",
            "planner",
            "draft_successor",
            "check_successor",
            "promote",
            "supersede",
            "execute",
            "complete",
        ]
    )
    assert ended(run) == ("handed_on", "`plan-and-execute` goes on.", ("plan-and-execute",))
    (promote,) = [do for do in done if do.step == "promote"]
    assert promote.timeout is None


def test_without_a_planner_a_person_writes_the_successor() -> None:
    run, done = other("design-refinement", planner=[Erred("no model")], ask_person=[Succeeded({"answer": "## Execution"})])  # fmt: skip
    assert told(run) == snapshot(
        [
            "pause_plan",
            "planner: erred",
            "ask_person",
            "draft_successor",
            "check_successor",
            "promote",
            "record_decisions",
            "supersede",
            "execute",
            "complete",
        ]
    )
    by_step = {do.step: do.action for do in done}
    assert by_step["draft_successor"].payload["answer"] == "## Execution"
    assert by_step["ask_person"].payload["planner_error"] == "no model"
    assert by_step["record_decisions"].payload["decisions"] == []
    assert by_step["planner"].model == "default"


def test_a_plan_that_fails_its_check_three_times_escalates() -> None:
    run, _ = other("plan-refinement", check_successor=[Refused({"feedback": "no Mission"})])
    assert told(run)[-3:] == ["retry_planner: skipped", "refinement_failed", "complete"]
    assert ended(run)[1] == snapshot(
        "No successor plan passed its check after 3 attempts: no Mission"
    )


def test_a_declined_successor_escalates() -> None:
    run, _ = other("plan-refinement", promote=[Refused({"feedback": "too wide"})])
    assert told(run)[-3:] == ["promote: refused", "declined", "complete"]
    assert ended(run)[1] == "The successor plan was declined: too wide"


def test_a_task_is_split_without_a_model_and_its_children_are_executed() -> None:
    children: list[Json] = [{"files": ["a.go"]}, {"files": ["b.go"]}]
    proposal = answer("workflow.task.split", children=children)
    run, done = other("task-decomposition", propose_split=[Succeeded(proposal)])
    assert told(run) == snapshot(
        [
            "read_task",
            "check_depth",
            "propose_split",
            "check_cover",
            "check_sizes",
            "check_contexts",
            "create_children",
            "parent_decomposed",
            "execute_children",
            "complete",
        ]
    )
    assert ended(run)[0] == "handed_on"
    by_step = {do.step: do.action for do in done}
    assert by_step["create_children"].payload["children"] == children


def test_a_split_that_does_not_cover_is_drawn_anew_and_the_newest_is_judged() -> None:
    newest = answer("agent.task.planning", children=[{"files": ["a.go"]}])
    run, done = other(
        "task-decomposition",
        propose_split=[Refused(answer("workflow.task.split"))],
        check_cover=[Refused({"feedback": "b.go is in none"}), Succeeded({"feedback": ""})],
        retry_planner=[Succeeded(newest)],
    )
    assert told(run)[2:7] == snapshot(
        [
            "propose_split: refused",
            "planner",
            "check_cover: refused",
            "retry_planner",
            "check_cover",
        ]
    )
    by_step = {do.step: do.action for do in done}
    assert by_step["check_sizes"].payload["children"] == [{"files": ["a.go"]}]
    assert "b.go is in none" in str(by_step["retry_planner"].prompt)


def test_a_task_two_decompositions_deep_escalates() -> None:
    deep = answer("workflow.task.read", depth=2)
    run, _ = other("task-decomposition", read_task=[Succeeded(deep)])
    assert told(run) == ["read_task", "check_depth: skipped", "too_deep", "complete"]
    assert ended(run)[1] == "The task is 2 decompositions deep and still too big"


# Time, limits and starting


def test_a_step_gets_its_own_time_or_what_is_left_of_the_workflows() -> None:
    run = start(shipped_workflow("plan-and-execute"), TASK)
    assert isinstance(run.upcoming, Do)
    assert run.upcoming.timeout == 600
    run = advance(run, Succeeded(answer(DEVELOP), seconds=1790))
    assert isinstance(run.upcoming, Do)
    assert run.upcoming.timeout == 10
    run = advance(run, Succeeded({"feedback": ""}, seconds=10))
    assert ended(run) == snapshot(
        ("escalated", "the workflow's 1800 seconds were used up before `assemble_context`.", ())
    )


def test_waiting_for_a_person_does_not_count() -> None:
    run, _ = other("plan-refinement", promote=[Succeeded({"feedback": ""}, seconds=10**7)])
    assert ended(run)[0] == "handed_on"
    assert run.seconds == 0


def changed(of: Definition) -> Workflow:
    return require_workflow(text_of(of), "changed.json")


def test_the_limit_of_iterations_holds_whatever_the_steps_say() -> None:
    of = definition()
    of["max_iterations"] = 2
    run, _ = play(changed(of), TASK, {"structural_gates": [gates("no")]})
    assert ended(run) == ("escalated", "`max_iterations` 2 reached.", ())


def test_a_workflow_that_is_not_enabled_does_not_start() -> None:
    with pytest.raises(UsageError, match="`plan-and-execute` is not enabled"):
        start(replace(shipped_workflow("plan-and-execute"), enabled=False), TASK)


def test_a_trigger_that_lacks_something_does_not_start_and_all_of_it_is_told() -> None:
    lacking = {key: TASK[key] for key in ("task_id", "slug", "task_description")}
    with pytest.raises(ConfigError) as caught:
        start(shipped_workflow("plan-and-execute"), lacking)
    assert [problem.split("`")[3] for problem in caught.value.problems] == [
        "trigger.payload.model",
        "trigger.payload.acceptance_criteria",
        "trigger.payload.constraints",
        "trigger.payload.gate_preset",
    ]


def test_arrays_stay_arrays_and_are_shown_in_a_prompt() -> None:
    given_overrides: dict[str, Json] = {**TASK, "gate_overrides": [{"name": "coverage"}]}
    _, done = play(shipped_workflow("plan-and-execute"), given_overrides, {"reviewer": [APPROVED]})  # fmt: skip
    by_step = {do.step: do.action for do in done}
    assert by_step["structural_gates"].payload == {
        "slug": "users",
        "preset": "go",
        "overrides": [{"name": "coverage"}],
    }
    assert '["it answers", "it is tested"]' in str(by_step["developer"].prompt)
    assert by_step["validate_review"].payload["confidence_threshold"] == 0.7


def test_a_kind_that_cannot_be_compared_escalates_and_is_no_false() -> None:
    of = definition()
    step(of, "categorize_rejection")["condition"] = {
        "field": "${trigger.payload.priority:-1}",
        "operator": "lt",
        "value": 3,
    }
    script = {"reviewer": [review("rejected", "misscoped")]}
    run, _ = play(changed(of), {**TASK, "priority": "high"}, script)
    assert ended(run)[1] == snapshot(
        "`categorize_rejection` cannot be done: the field of `lt` is the string 'high': it must be number."
    )


def test_exists_tells_whether_there_is_a_value() -> None:
    of = definition()
    step(of, "categorize_rejection")["condition"] = {
        "field": "${trigger.payload.hurry}",
        "operator": "exists",
        "value": False,
    }
    script = {"reviewer": [review("rejected", "misscoped")]}
    without, _ = play(changed(of), TASK, script)
    given_one, _ = play(changed(of), {**TASK, "hurry": 1}, script)
    assert "retry_developer_feedback" in told(without)
    assert "categorize_rejection: skipped" in told(given_one)


def test_a_model_without_a_name_escalates() -> None:
    run = start(shipped_workflow("plan-and-execute"), {**TASK, "model": " "})
    assert ended(run)[1] == "`developer` cannot be done: the name of the model is empty: name one."


def test_a_run_takes_only_results_that_can_be() -> None:
    run = start(shipped_workflow("plan-and-execute"), TASK)
    with pytest.raises(UsageError, match="cannot say no"):
        advance(run, Refused({}))
    with pytest.raises(UsageError, match="has ended"):
        advance(loop()[0], Succeeded({}))


def test_an_approval_can_be_lost_to_another_signal_but_never_won_back() -> None:
    of = definition()
    step(of, "verdict_check")["on_success"] = "doubt"
    of["steps"].append(
        {
            "name": "doubt",
            "action": {**action(of, "unknown_rejection"), "payload": {"task_id": 1, "reason": "?"}},
            "on_success": "complete",
        }
    )
    run, _ = play(changed(of), TASK, {"reviewer": [APPROVED]})
    assert ended(run)[0] == "escalated"


# Whatever the steps answer


def values_of(field: Field) -> st.SearchStrategy[Json]:
    texts = st.sampled_from(field.values) if field.values else st.text(max_size=3)
    kinds: dict[JsonKind, st.SearchStrategy[Json]] = {
        JsonKind.STRING: texts,
        JsonKind.NUMBER: st.integers(0, 4),
        JsonKind.ARRAY: st.builds(list),
    }
    return kinds[field.kind] | st.none() if field.nullable else kinds[field.kind]


def answers_of(do: Do) -> st.SearchStrategy[Result]:
    """Any result that a step may have, sensible or not."""
    rule = subject_named(do.action.subject)
    assert rule is not None
    seconds = st.sampled_from([0.0, 1.0, 400.0])
    output = st.fixed_dictionaries({name: values_of(each) for name, each in rule.outputs.items()})
    kinds: dict[str, st.SearchStrategy[Result]] = {
        "done": st.builds(Succeeded, output),
        "slow": st.builds(Succeeded, output, seconds),
        "erred": st.builds(Erred, st.sampled_from(["", "died"]), seconds),
        "odd": st.just(Succeeded({"odd": 1})) if rule.outputs else st.just(Erred("odd")),
        "refused": st.builds(Refused, output, seconds),
    }
    often = ["done"] * 12 + ["slow", "erred", "odd"] + ["refused"] * (4 if rule.judges else 0)
    return st.sampled_from(often).flatmap(lambda kind: kinds[kind])


def gated(run: WorkflowRun) -> int | None:
    """The attempt whose newest change has passed the gates, if it has."""
    for trace in reversed(run.trail):
        subject = run.workflow.step(trace.step).action.subject
        if trace.visit is not StepVisit.SKIPPED and subject in (DEVELOP, GATES):
            passed = subject == GATES and trace.visit is StepVisit.DONE
            return trace.iteration if passed else None
    return None


def judge_next(run: WorkflowRun) -> None:
    """Asserts what holds whenever a run is about to do something."""
    workflow, do = run.workflow, run.upcoming
    assert isinstance(do, Do)
    assert 1 <= do.iteration <= workflow.max_iterations
    assert do.number <= len(workflow.steps) * workflow.max_iterations
    assert (do.timeout is None) == (do.action.type is ActionType.ASK)
    assert do.timeout is None or 0 < do.timeout <= workflow.timeout
    if do.action.subject == REVIEW:
        assert gated(run) == do.iteration


def judge_end(run: WorkflowRun) -> None:
    """Asserts what holds for every run that has ended: above all, what an approval rests on."""
    assert isinstance(run.upcoming, Ended)
    assert run.upcoming.reason
    assert "cannot be done" not in run.upcoming.reason
    if run.upcoming.outcome is not WorkflowOutcome.APPROVED:
        return
    visits = [(run.workflow.step(trace.step).action.subject, trace.visit) for trace in run.trail]
    assert gated(run) is not None
    assert visits[-1][1] is StepVisit.DONE
    developed = max(place for place, (subject, _) in enumerate(visits) if subject == DEVELOP)
    later = [subject for subject, visit in visits[developed:] if visit is StepVisit.DONE]
    assert [each for each in later if each in EARNING] == EARNING


EARNING = [GATES, ASSEMBLE, REVIEW, VALIDATE, COMPLETE]


def results_of(do: Do) -> list[Result]:
    """Every result that makes a difference to where a run goes."""
    subject = do.action.subject
    rule = subject_named(subject)
    assert rule is not None
    results: list[Result] = [Succeeded(answer(subject)), Erred("died")]
    if subject == REVIEW:
        kinds = ["fixable", "misscoped", "architectural", "too_big", None]
        results = [APPROVED, *(review("rejected", kind) for kind in kinds), Erred("died")]
    if "depth" in rule.outputs:
        results.append(Succeeded(answer(subject, depth=2)))
    if rule.judges:
        results.append(Refused(answer(subject)))
    return results


def every_run(workflow: Workflow, payload: Mapping[str, Json]) -> Iterator[WorkflowRun]:
    """Every run that there can be, judged step by step."""
    waiting = [start(workflow, payload)]
    while waiting:
        run = waiting.pop()
        if isinstance(run.upcoming, Ended):
            judge_end(run)
            yield run
        else:
            judge_next(run)
            waiting += [advance(run, result) for result in results_of(run.upcoming)]


@pytest.mark.parametrize("name", SHIPPED)
def test_all_runs_end_review_only_what_passed_and_approve_nothing_that_erred(name: str) -> None:
    outcomes: dict[str, int] = {}
    visited = set()
    for run in every_run(shipped_workflow(name), PAYLOADS[name]):
        outcome = ended(run)[0]
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        visited |= {trace.step for trace in run.trail}
        if outcome == "approved":
            assert all(trace.visit is not StepVisit.ERRED for trace in run.trail)
    assert visited == {step.name for step in shipped_workflow(name).steps}
    assert outcomes == RUNS[name]


RUNS = {
    "plan-and-execute": {"approved": 7, "escalated": 334, "handed_on": 21},
    "plan-refinement": {"escalated": 188, "handed_on": 14},
    "design-refinement": {"escalated": 202, "handed_on": 14},
    "task-decomposition": {"escalated": 377, "handed_on": 26},
}


@given(st.sampled_from(SHIPPED), st.data())
def test_whatever_the_steps_answer_and_however_long_they_take_a_run_ends(
    name: str, data: st.DataObject
) -> None:
    run = start(shipped_workflow(name), PAYLOADS[name])
    while isinstance(run.upcoming, Do):
        judge_next(run)
        run = advance(run, data.draw(answers_of(run.upcoming)))
    judge_end(run)
    if any(trace.visit is StepVisit.ERRED for trace in run.trail):
        assert ended(run)[0] != "approved"


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(SHIPPED), st.data())
def test_whatever_way_the_loader_accepts_is_one_that_every_run_can_go(
    name: str, data: st.DataObject
) -> None:
    """Steps are wired anew at random: what loads ends, and never reads what is not there."""
    of = json.loads((FOLDER / "workflows" / f"{name}.json").read_text(encoding="utf-8"))
    names = [each["name"] for each in of["steps"]]
    for _ in range(data.draw(st.integers(1, 2))):
        wired = data.draw(st.sampled_from(of["steps"]))
        way = data.draw(st.sampled_from(["on_success", "on_fail", "output_as"]))
        if way == "output_as":
            wired.pop(way, None)
        else:
            wired[way] = data.draw(st.sampled_from(names))
    workflow = load_workflow(text_of(of)).workflow
    if workflow is not None:
        assert sum(1 for _ in islice(every_run(workflow, PAYLOADS[name]), 2000))


@given(st.sampled_from(SHIPPED), st.data())
def test_the_same_results_give_the_same_run(name: str, data: st.DataObject) -> None:
    run = start(shipped_workflow(name), PAYLOADS[name])
    results = []
    while isinstance(do := run.upcoming, Do):
        results.append(data.draw(answers_of(do)))
        run = advance(run, results[-1])
    again = start(shipped_workflow(name), json.loads(json.dumps(PAYLOADS[name])))
    for result in results:
        again = advance(again, result)
    assert again == run
