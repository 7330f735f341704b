from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from hornbook import Workspace
from hornbook.context.budget import DevelopRoom
from hornbook.context.developer_context import Development, FileText, assemble_development
from hornbook.context.prompt import Outcome, Part, Unit
from hornbook.context.step_parts import StepOutput, step_parts
from hornbook.context.templates.context_settings import DEFAULTS, Operator, effective
from hornbook.text.tokens import counter
from tests.kit.workspaces import with_the_example_sop, write

COUNT = counter("cl100k")
PARENT = [Part("sops", "Rules", (Unit("a", "1", "A\n"), Unit("b", "1", "B\n")), 9)]
OUTPUTS = [StepOutput("develop", "short\n", "short and long\n")]


def names(operator: Operator, **given: str) -> list[tuple[str, tuple[str, ...]]]:
    settings = effective(operator, given).effective
    assert settings is not None
    parts = step_parts(
        settings,
        inherited=PARENT,
        outputs=OUTPUTS,
        fresh=lambda: [Part("fresh", "Fresh", (Unit("f", "1", "F\n"),), 9)],
        concerns=lambda unit: unit.id == "b",
    )
    return [(part.name, tuple(unit.text for unit in part.units)) for part in parts]


def test_a_standard_step_inherits_and_asks_nothing() -> None:
    assert names(Operator.ATOMIC) == [("sops", ("A\n", "B\n"))]


def test_a_subtask_inherits_nothing_and_asks_anew() -> None:
    assert names(Operator.SUBTASK) == [("fresh", ("F\n",))]


def test_a_subset_keeps_what_concerns_the_files() -> None:
    given = {"inherit_context": "subset", "fresh_context": "disabled"}
    assert names(Operator.SUBTASK, **given) == [("sops", ("B\n",))]


def test_a_sequence_passes_notes_on_or_everything() -> None:
    assert ("earlier", ("short\n",)) in names(Operator.SEQUENTIAL)
    whole = names(Operator.SEQUENTIAL, accumulation_format="full_output")
    assert ("earlier", ("short and long\n",)) in whole


@given(st.sampled_from(list(Operator)))
def test_nobody_inherits_and_asks_anew_at_once(operator: Operator) -> None:
    assert operator in DEFAULTS
    found = {name for name, _ in names(operator)}
    assert not {"sops", "fresh"} <= found


ROOM = DevelopRoom(9999, 500, 100, 200, 100, 60)


def development(*files: FileText, **more: object) -> Development:
    return Development("Do it.\n", "Add paging.", files, criteria=("Pages tile",), **more)  # type: ignore[arg-type]


def test_a_developer_gets_task_criteria_gates_and_files_whole() -> None:
    work = development(
        FileText("a.py", "x = 1\n"), FileText("b.py", None), gates=("make test",), mission="Ship."
    )
    context = assemble_development(work, ROOM, COUNT)
    assert context.outcome is Outcome.COMPLETE
    text = context.text or ""
    for piece in (
        "Add paging.",
        "- Pages tile",
        "- `make test`",
        "x = 1\n",
        "To be created",
        "Ship.",
    ):
        assert piece in text
    assert [section.name for section in context.sections] == [
        "instructions",
        "plan",
        "task",
        "files",
    ]


def test_files_over_the_budget_are_split_and_never_cut() -> None:
    files = [FileText(f"{n}.py", "word " * 30) for n in range(3)]
    context = assemble_development(development(*files), ROOM, COUNT)
    assert (context.outcome, context.text) == (Outcome.TOO_BIG, None)
    assert len(context.split) == 3


def test_a_plan_over_its_budget_is_refused() -> None:
    work = development(situation="word " * 200)
    context = assemble_development(work, ROOM, COUNT)
    assert [reason.code for reason in context.reasons] == ["plan_over_budget"]


def test_no_forty_characters_of_a_rule_reach_the_developer(tmp_path: Path) -> None:
    root = with_the_example_sop(tmp_path)
    write(root, {"main.go": "package main\n"})
    with Workspace.open(root) as work:
        work.ingest()
        context = work.develop_context(["main.go"], description="Add a flag")
        rules = [work.snapshot().document(entry.id) for entry in work.snapshot().catalog.entries]
    text = context.text or ""
    assert "package main" in text
    for rule in rules:
        body = rule.head + rule.body
        assert not any(body[n : n + 40] in text for n in range(len(body) - 40))
