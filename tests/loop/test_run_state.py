"""Runs as events leave them: splitting, the audit of a log, limits, and what a successor keeps."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook.loop.loop import EFFECTS
from hornbook.loop.runs.run_book import breaches
from hornbook.loop.runs.state import with_attempts
from hornbook.loop.steps.decompose import Child, as_tasks, children_in, split, uncovered
from hornbook.loop.workflow.load import shipped_workflow
from hornbook.loop.workflow.subjects import SUBJECTS
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Event, check_kind, next_event
from hornbook.plans.plan import Plan, PlanTask
from hornbook.plans.principal import unknown
from hornbook.plans.run_kinds import DEVELOP, REVIEW
from hornbook.plans.run_records import spent
from hornbook.plans.store import carried, rewritten, section_diff
from hornbook.plans.tasks import Ledger

NAMES = st.lists(st.sampled_from("abcdefghijkl"), min_size=1, max_size=8, unique=True)


@given(NAMES, st.lists(st.text("abc x", min_size=1, max_size=6), max_size=5, unique=True))
def test_a_split_covers_every_file_and_criterion_exactly_once(
    names: list[str], criteria: list[str]
) -> None:
    files = [f"src/{name}.py" for name in names]
    task = PlanTask(1, "Do it", files=tuple(files), criteria=tuple(criteria))
    children = split(task, files, lambda group: len(group) <= 2)
    if len(files) == 1:
        assert children == []
        return
    assert list(uncovered(sorted(files), criteria, children)) == []
    assert all(len(child.files) <= 2 for child in children)
    tasks = as_tasks(task, children, 7)
    assert [each.number for each in tasks] == list(range(7, 7 + len(children)))
    assert [each.depends_on for each in tasks[1:]] == [(each.number - 1,) for each in tasks[1:]]


@given(NAMES, NAMES)
def test_what_is_not_covered_once_is_named(wanted: list[str], given_files: list[str]) -> None:
    children = [Child("One", tuple(given_files)), Child("Two", ())]
    said = list(uncovered(wanted, (), children))
    assert (said == []) == (Counter(wanted) == Counter(given_files))
    for name in set(wanted) ^ set(given_files):
        assert any(repr(name) in each for each in said)


def test_children_are_read_from_json_bare_or_fenced() -> None:
    text = '{"children": [{"title": "A", "files": ["a.py"], "criteria": []}]}'
    assert children_in(text) == children_in(f"Here:\n```json\n{text}\n```\nDone.")
    assert children_in("no JSON at all") == []


def test_a_file_that_does_not_fit_alone_is_not_split() -> None:
    task = PlanTask(1, "Do it", files=("a", "b"))
    assert split(task, ["a", "b"], lambda _: False) == []


GATE = {"name": "check", "required": True, "status": "passed", "message": "", "output": ""}
STEPS = st.sampled_from(["develop", "gates", "failed gates", "review", "check", "approve"])


def events_of(steps: list[str], trees: list[str]) -> list[Event]:
    """A log of made-up steps, each with its tree."""
    kinds_of = {
        "develop": DEVELOP,
        "gates": kinds.GATED,
        "failed gates": kinds.GATED,
        "review": REVIEW,
        "check": kinds.CHECKED,
        "approve": kinds.APPROVED,
    }
    log: list[Event] = []
    for place, (step, tree) in enumerate(zip(steps, trees, strict=False)):
        failed = step == "failed gates"
        gate = {**GATE, "status": "failed"} if failed else GATE
        data = {
            "run": "r",
            "tree": tree,
            "passed": not failed,
            "gates": [gate],
            "outcome": "approved",
        }
        log.append(
            next_event(
                log[-1] if log else None,
                plan="p",
                kind=kinds_of[step],
                data=data,
                key=str(place),
                by=unknown("loop"),
                at="2026-01-01T00:00:00Z",
            )
        )
    return log


@given(st.lists(STEPS, max_size=12), st.lists(st.sampled_from("xy"), min_size=12, max_size=12))
def test_every_review_without_passed_gates_for_its_tree_is_a_breach(
    steps: list[str], trees: list[str]
) -> None:
    log = events_of(steps, trees)
    expected = 0
    for place, event in enumerate(log):
        if event.kind != REVIEW:
            continue
        judged = [e for e in log[:place] if e.kind in {DEVELOP, kinds.GATED}]
        last = judged[-1] if judged else None
        fine = last is not None and last.kind == kinds.GATED and last.data["passed"]
        same = last is not None and last.data["tree"] == event.data["tree"]
        expected += not (fine and same)
    assert len([said for said in breaches(log) if REVIEW in said]) == expected


def test_an_approval_of_another_tree_is_a_breach() -> None:
    log = events_of(["develop", "gates", "review", "check", "approve"], list("xxxxy"))
    assert breaches(log[:4]) == []
    assert len(breaches(log)) == 1


def test_gates_that_only_say_that_they_passed_are_a_breach() -> None:
    honest = events_of(["gates"], ["x"])[0]
    data = {**honest.data, "gates": [{**GATE, "status": "failed"}]}
    lying = next_event(
        None,
        plan="p",
        kind=kinds.GATED,
        data=data,
        key="k",
        by=unknown("a"),
        at="2026-01-01T00:00:00Z",
    )
    assert len(breaches([lying])) == 1


def test_every_subject_that_is_no_event_and_no_question_is_done() -> None:
    done = {name for name, each in SUBJECTS.items() if each.action in {"call", "publish_agent"}}
    assert done == set(EFFECTS)


def test_every_kind_names_its_run_and_every_workflow_has_its_trigger() -> None:
    known = kinds.kinds_for(["plan-refinement"])
    assert all("run" in kind.required for name, kind in kinds.RUN_KINDS.items())
    data = {"run": "r", "round": 1, "number": 1, "payload": {}, "runs": []}
    check_kind("workflow.trigger.plan-refinement", data, known)


def test_attempts_are_those_of_the_settings() -> None:
    flow = with_attempts(shipped_workflow("plan-and-execute"), 5)
    limits = {
        step.condition.value for step in flow.steps if step.starts_iteration and step.condition
    }
    assert (flow.max_iterations, limits) == (5, {5})
    other = shipped_workflow("plan-refinement")
    assert with_attempts(other, 5) == other


def test_nothing_was_spent_where_nothing_happened() -> None:
    assert (spent([]).steps, spent([]).tokens) == (0, 0)


def test_a_decomposed_task_is_done_when_all_its_parts_are() -> None:
    first = (PlanTask(number, f"Task {number}") for number in (1, 2, 3))
    tasks = (*first, PlanTask(4, "Last", depends_on=(1,)))
    ledger = Ledger("p", tasks, {2: "c2"}, {1: (2, 3)})
    assert not ledger.done(1)
    assert ledger.waits_for(tasks[3]) == [1]
    ledger = Ledger("p", tasks, {2: "c2", 3: "c3"}, {1: (2, 3)})
    assert ledger.built_on(tasks[3]) == ["c2", "c3"]
    assert (ledger.depth(1), ledger.depth(3)) == (0, 1)


def test_a_successor_has_the_new_sections_the_feedback_and_a_diff() -> None:
    plan = Plan("p", "P", execution="1. Old", coordination="Ann decides.")
    changed, wrong = rewritten(plan, "## Execution\n\n1. New\n", "Too much.\nReally.")
    assert (wrong, changed is not None) == ([], True)
    assert changed is not None
    assert changed.execution == "1. New"
    assert changed.coordination.endswith("> Too much.\n> Really.")
    assert changed.coordination.startswith("Ann decides.")
    diff = section_diff(plan, changed)
    assert "-1. Old\n" in diff
    assert "+1. New" in diff
    again, _ = rewritten(changed, "## Execution\n\n1. Newer\n", "Second word.")
    assert again is not None
    assert "Too much." not in again.coordination


def test_an_answer_without_sections_is_no_successor() -> None:
    changed, wrong = rewritten(Plan("p", "P"), "Just do it.", "Too much.")
    assert changed is None
    assert "no section of a plan" in wrong[0]


def test_a_task_in_the_same_words_stays_approved() -> None:
    before = [PlanTask(1, "A", files=("a",)), PlanTask(2, "B")]
    after = [PlanTask(1, "B"), PlanTask(2, "A", files=("a",)), PlanTask(3, "C", depends_on=(2,))]
    assert carried(before, {1: "commit"}, after) == {2: "commit"}


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        (kinds.STEP_FINISHED, kinds.StepResultData),
        (DEVELOP, kinds.AttemptData),
        (kinds.GATED, kinds.GatesData),
        (kinds.ASSEMBLED, kinds.ContextData),
        (kinds.ANSWERED, kinds.AnswerData),
        (kinds.STARTED, kinds.StartedData),
        (kinds.ENDED, kinds.EndedData),
        (kinds.REVIEW, kinds.ReviewAnswerData),
        (kinds.CHECKED, kinds.CheckedData),
        *((kind, kinds.SignalData) for kind in kinds.SIGNALS),
    ],
)
def test_the_typed_form_of_an_event_is_what_its_kind_demands(kind: str, form: type) -> None:
    declared = kinds.RUN_KINDS[kind]
    assert form.__required_keys__ == declared.required  # type: ignore[attr-defined]  # a TypedDict
    assert form.__optional_keys__ == declared.optional  # type: ignore[attr-defined]  # a TypedDict
