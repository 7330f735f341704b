import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook.plans.files import parse_decisions, parse_risks, render_decisions, render_risks
from hornbook.plans.plan import PlanDecision, PlanTask, Risk
from hornbook.plans.tasks import find_cycle, in_order, mentions, read_tasks

EXECUTION = """\
A token bucket, kept in memory.

1. Count the requests (`src/limit.py` (new))
   Keep it small, see `src/app.py`.
   - Files: src/limit.py (new), tests/test_{a,b}.py
   - Criteria: request 101 gets 429 (gate: test)
   - Acceptance:
     - no new dependency (human)
     - the log says who
2. [ ] Wire it in
   - Depends on: 1

```sh
3. not a task
```
- [x] Say it in the docs
  - Depends on: task 1 and 2
  - Depends on: none
- plain bullet, no task
"""


def test_tasks_are_the_numbered_and_checklist_items() -> None:
    found = read_tasks(EXECUTION)
    assert found.problems == ()
    assert found.tasks == (
        PlanTask(
            1,
            "Count the requests (`src/limit.py` (new))",
            "Keep it small, see `src/app.py`.",
            ("src/limit.py", "src/app.py", "tests/test_{a,b}.py"),
            ("src/limit.py",),
            ("request 101 gets 429 (gate: test)", "no new dependency (human)", "the log says who"),
            line=3,
        ),
        PlanTask(2, "Wire it in", depends_on=(1,), line=10),
        PlanTask(3, "Say it in the docs", depends_on=(1, 2), line=16),
    )


def test_the_same_text_gives_the_same_tasks_with_crlf() -> None:
    crlf = read_tasks(EXECUTION.replace("\n", "\r\n"))
    assert [task.files for task in crlf.tasks] == [
        task.files for task in read_tasks(EXECUTION).tasks
    ]
    assert crlf.problems == ()


def test_a_cycle_is_named() -> None:
    text = "1. a\n   - Depends on: 3\n2. b\n3. c\n   - Depends on: 2, 1\n"
    (problem,) = read_tasks(text).problems
    assert (problem.code, problem.line) == ("task_cycle", 1)
    assert "1 → 3 → 1" in problem.message


def test_a_task_that_waits_for_itself_is_a_cycle() -> None:
    (problem,) = read_tasks("1. a\n   - Depends on: 1\n").problems
    assert "1 → 1" in problem.message


@given(st.lists(st.lists(st.integers(1, 8), max_size=3), max_size=8))
def test_either_there_is_a_cycle_or_an_order(waits: list[list[int]]) -> None:
    count = len(waits)
    tasks = [
        PlanTask(n, "t", depends_on=tuple(each for each in wanted if each <= count))
        for n, wanted in enumerate(waits, 1)
    ]
    cycle = find_cycle(tasks)
    by_number = {task.number: task for task in tasks}
    if cycle:
        assert cycle[0] == cycle[-1]
        for one, other in itertools.pairwise(cycle):
            assert other in by_number[one].depends_on
    else:
        order = [task.number for task in in_order(tasks)]
        for task in tasks:
            assert all(order.index(each) < order.index(task.number) for each in task.depends_on)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("Just words.\n", "no_tasks", 1),
        ("1. a\n   - Depends on: 7\n", "bad_dependency", 1),
        ("1. a\n   - Depends on: the parser\n", "bad_dependency", 2),
        ("1. a\n5. b\n", "task_number", 2),
        ("1. a\n2. b\n   - Depend on: 1\n", "bad_task_field", 3),
        ("1. a\n   - Filse: a.py\n", "bad_task_field", 2),
        ("1. a\n- Files: a.py\n", "bad_task_field", 2),
        ("1. a\n\nWords.\n   - Files: a.py\n", "bad_task_field", 4),
        ("1. a\n   Files: a.py\n", "bad_task_field", 2),
        ("1. a\n   - Type: refine\n   - Type: write_tests\n", "bad_task_field", 3),
        ("1. a\n   - Finding: review.a-t1-1.1:b\n", "bad_task_field", 1),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, code: str, line: int) -> None:
    assert [(each.code, each.line) for each in read_tasks(text).problems] == [(code, line)]


def test_words_that_only_resemble_a_field_are_description() -> None:
    text = "1. a\n   - Note: keep it small\n   - Tests: none yet\n   A file: see below.\n   - Dependencies: 2\n2. b"
    found = read_tasks(text)
    assert found.problems == ()
    assert (found.tasks[0].depends_on, "Tests: none yet" in found.tasks[0].description) == (
        (2,),
        True,
    )


def test_mentions_are_paths_in_backticks_outside_code() -> None:
    text = "See `src/a.py` and `os.path`, `GET /users`.\n```\n`src/b.py`\n```\n`src/c.py` (new)"
    assert [(each.path, each.new, each.line) for each in mentions(text)] == [
        ("src/a.py", False, 1),
        ("src/c.py", True, 5),
    ]


WORDS = st.one_of(
    st.text(),
    st.sampled_from(["- Decision: x", "a\n- Decision: b\n\n- Id: c", "\n", "  ", "a\r\n\n"]),
)
DECISION = st.tuples(WORDS, WORDS, WORDS)


@given(st.lists(DECISION, max_size=5), st.data())
def test_decisions_survive_their_file(
    said: list[tuple[str, str, str]], data: st.DataObject
) -> None:
    made: list[PlanDecision] = []
    for number, (decision, reason, impact) in enumerate(said, 1):
        old = (
            data.draw(st.one_of(st.none(), st.sampled_from([e.id for e in made]))) if made else None
        )
        name = f"decision.rates-{number}"
        made = [
            PlanDecision(e.id, e.decision, e.reason, e.impact, e.at, e.supersedes, name)
            if e.id == old
            else e
            for e in made
        ]
        made.append(PlanDecision(name, decision, reason, impact, "2026", old))
    assert parse_decisions(render_decisions(made)) == tuple(made)


@given(st.lists(DECISION, min_size=1, max_size=4))
def test_a_further_decision_only_adds_to_the_file(said: list[tuple[str, str, str]]) -> None:
    made = [PlanDecision(f"decision.a-{n}", *each, "2026") for n, each in enumerate(said)]
    assert render_decisions(made).startswith(render_decisions(made[:-1]))


@given(st.lists(st.tuples(WORDS, st.sampled_from(["low", "high"]), WORDS), max_size=4))
def test_risks_survive_their_file(said: list[tuple[str, str, str]]) -> None:
    made = tuple(Risk(*each, "2026") for each in said)
    assert parse_risks(render_risks(made)) == made


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# Decisions\n\nwords\n", "line 3: no entry"),
        ("# Decisions\n\n- Reason: x\n", "line 3: `Reason` does not belong"),
        ("# Decisions\n\n- Decision: x\n", "lacks At, Id, Impact, Reason"),
    ],
)
def test_a_file_that_was_not_written_so_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_decisions(text)
