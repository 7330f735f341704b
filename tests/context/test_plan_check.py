import pytest

from hornbook.context.plan_check import (
    Criterion,
    PlanSurroundings,
    check_plan,
    fails,
    success_criteria,
)
from hornbook.context.task_route import Route, TaskRoute
from hornbook.plans.text import parse
from tests.kit.plans import PLAN

FILES = ["handlers/user.go", "handlers/legacy.go", "handlers/admin/a.go", "main.go"]


def found(text: str, **around: object) -> list[tuple[str, int | None]]:
    given = PlanSurroundings(**{"files": FILES, "routes": {}, **around})  # type: ignore[arg-type]
    return [(each.code, each.line) for each in check_plan(parse(text), "plan.md", given)]


def test_a_plan_that_is_fit_has_only_the_overlap_to_look_at() -> None:
    assert found(PLAN) == [("scope_overlap", 28)]
    given = PlanSurroundings(FILES, {"test"}, routes={})
    assert not fails(check_plan(parse(PLAN), "plan.md", given))


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        ("Limit the rate.\n\nSuccess criteria:", "Limit the rate.\n\nAims:", "no_criteria", 9),
        ("(human)", "", "criterion_untied", 14),
        ("Depends on: 1", "Depends on: 2", "task_cycle", 23),
        ("Depends on: 1", "Depends on: it", "bad_dependency", 24),
        ("limit.go (new)", "limit.go", "file_missing", 20),
        ("`handlers/user.go` answers", "`handlers/usr.go` answers", "file_missing", 5),
        ("handlers/limit.go (new)", "main.go", "file_out_of_scope", 20),
        ("handlers/limit.go (new)", "handlers/legacy.go", "file_out_of_scope", 20),
        ("- IN: handlers/**", "- IN: lib/**", "nothing_in_scope", 28),
        ("- IN: handlers/**", "- IN: the handlers, all of them", "prose_constraint", 28),
        ("- IN: handlers/**", "- IN: handlers/[a", "bad_scope_glob", 28),
        ("- IN: handlers/**", "- IN: handlers/legacy.go", "scope_conflict", 28),
        ("- OUT: handlers/admin/**", "- OUT: handlers/**", "scope_conflict", 28),
        ("## Coordination\n\nNone.\n", "## Coordination\n", "empty_section", 33),
        ("## Coordination", "## Together", "unknown_section", 32),
        ("## Coordination", "## Together", "missing_section", 35),
        ("`handlers/user.go` answers as often as it is asked.\n", "", "empty_section", 5),
    ],
)
def test_what_keeps_a_plan_from_starting_is_told_with_its_line(
    old: str, new: str, code: str, line: int
) -> None:
    assert old in PLAN
    assert (code, line) in found(PLAN.replace(old, new, 1))


def test_a_gate_that_is_not_there_is_told_only_where_gates_are_known() -> None:
    assert ("unknown_gate", 13) in found(PLAN, gates={"build"})
    assert ("unknown_gate", 13) not in found(PLAN, gates={"test"})


def test_a_task_that_does_not_fit_is_told_with_the_reason() -> None:
    for route, code in ((Route.REFUSED, "task_too_large"), (Route.SPLIT, "task_split")):
        assert (code, 23) in found(PLAN, routes={2: TaskRoute(route, ("x",))})
    assert ("task_passes", 23) in found(PLAN, routes={2: TaskRoute(Route.PASSES, ("x",))})
    assert ("not_ingested", None) in found(PLAN, routes=None)


def test_an_id_that_nothing_has_is_told_with_its_line() -> None:
    text = PLAN.replace("None.", "After plan.a-1 and `plan.b`, see source.doc.sops.x.section.y.")
    known = {"plan.a-1", "source.doc.sops.x"}
    assert ("unknown_reference", 34) in found(text, entities=known)
    assert ("unknown_reference", 34) not in found(text, entities={*known, "plan.b"})
    assert ("unknown_reference", 34) not in found(text, entities=None)


def test_the_id_of_a_source_file_is_looked_up_and_is_no_path_that_is_missing() -> None:
    text = PLAN.replace("None.", "After `code.file.src/other.py`.")
    told = [code for code, line in found(text, entities=set()) if line == 34]
    assert told == ["unknown_reference"]
    assert ("unknown_reference", 34) not in found(text, entities={"code.file.src/other.py"})


def test_criteria_are_the_items_below_their_heading() -> None:
    text = "Why.\n### Success criteria\n- a (gate: test, lint)\n  goes on (human)\n1. b\n\n## More\n- c\n"
    assert success_criteria(text) == [
        Criterion("a (gate: test, lint) goes on (human)", ("test", "lint"), True, 3),
        Criterion("b", (), False, 5),
    ]
    assert success_criteria("**Success criteria:** all of it (human)")[0].tied
    assert success_criteria("```\nSuccess criteria:\n- a\n```\n- b\n") == []
