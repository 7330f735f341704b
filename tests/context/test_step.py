from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.context.budget import DevelopRoom
from hornbook.context.developer_context import Development, FileText, assemble_development
from hornbook.context.prompt import Outcome, Unit
from hornbook.context.step_parts import StepOutput, StepView, names_one_of
from hornbook.context.templates.roles import StepTemplate
from hornbook.context.templates.template import load_template
from hornbook.text.tokens import counter
from tests.kit.workspaces import with_the_example_sop, write

COUNT = counter("cl100k")


def view(*files: str, loop: str = "", **given: str) -> StepView:
    """A step with these settings in a loop with those."""
    block = "".join(f"<{key}>{value}</{key}>" for key, value in given.items())
    d = "<description>d</description>"
    step = f'<task type="atomic">{d}<context_management>{block}</context_management></task>'
    around = f'<task type="sequential">{d}<context_management>{loop}</context_management></task>'
    return StepView(_template("developer", step), _template("loop", around), files)


def _template(name: str, text: str) -> StepTemplate:
    template = load_template(text).template
    assert template is not None
    return StepTemplate(name, f"{name}.xml", "0", template)


UNITS = (Unit("a", "1", "See `src/a.py`.\n"), Unit("b", "1", "Look into src/lib/ first.\n"))
OUTPUTS = (
    StepOutput("developer 1", "done", ("src/a.py",), "short", "short\nand long"),
    StepOutput("gates 1", "failed", ("src/b.py",), "check failed", "check failed\noutput"),
)
SUBSET = {"inherit_context": "subset"}
NONE = {"inherit_context": "none", "fresh_context": "enabled"}


def test_a_standard_step_inherits_all_and_asks_nothing() -> None:
    found = view()
    assert found.inherited(UNITS) == (UNITS, ())
    assert not found.asks_graph
    assert found.inherits_because == "inherit_context: full (default for atomic.standard)"


def test_a_step_that_inherits_nothing_says_what_it_leaves_and_by_which_setting() -> None:
    found = view(**NONE)
    kept, gone = found.inherited(UNITS)
    assert kept == ()
    assert [(each.id, each.reason) for each in gone] == [
        ("a", "not taken over (inherit_context: none (developer.xml, line 1))"),
        ("b", "not taken over (inherit_context: none (developer.xml, line 1))"),
    ]
    assert found.asks_graph
    assert found.outputs(OUTPUTS)[0] == ()


@pytest.mark.parametrize(
    ("file", "expected"),
    [("src/a.py", ["a"]), ("src/lib/x.py", ["b"]), ("src/other.py", [])],
)
def test_a_subset_is_what_names_the_files(file: str, expected: list[str]) -> None:
    kept, gone = view(file, **SUBSET).inherited(UNITS)
    assert [unit.id for unit in kept] == expected
    assert len(kept) + len(gone) == 2


@pytest.mark.parametrize(
    ("text", "concerned"),
    [
        ("in `src/a.py:12`", True),
        ("in src/a.py.", True),
        ("all of `src`", True),
        ("all of src", False),
        ("every `src/*.py`", True),
        ("every src/**", True),
        ("only `src/b.py`", False),
        ("a [link](src/a.py)", False),
        ("`[`", False),
    ],
)
def test_words_that_name_a_file(text: str, *, concerned: bool) -> None:
    assert names_one_of(text, ["src/a.py"]) is concerned


def test_a_subset_of_a_text_keeps_whole_paragraphs_below_their_headings() -> None:
    text = "## Situation\n\nAbout `src/a.py`.\n\nAbout b.\n\n## Mission\n\nGreet.\n"
    kept, gone = view("src/a.py", **SUBSET).inherited_text("plan.p", text)
    assert kept == "## Situation\n\nAbout `src/a.py`.\n"
    assert gone[0].id == "plan.p"
    assert view().inherited_text("plan.p", text) == (text, ())


def test_the_loop_passes_on_notes_or_everything_or_nothing() -> None:
    def told(loop: str = "", **given: str) -> list[str]:
        return [unit.text for unit in view("src/a.py", loop=loop, **given).outputs(OUTPUTS)[0]]

    assert told() == [
        "- gates 1: failed, src/b.py: check failed\n",
        "- developer 1: done, src/a.py: short\n",
    ]
    whole = told("<accumulation_format>full_output</accumulation_format>")
    assert whole[1] == "## developer 1: done, src/a.py\n\nshort\nand long\n"
    assert told("<accumulate_data>false</accumulate_data>") == []
    assert told(**SUBSET) == ["- developer 1: done, src/a.py: short\n"]


def test_the_narrower_of_loop_and_step_counts() -> None:
    found = view(loop="<inherit_context>none</inherit_context>")
    assert found.inherited(UNITS)[0] == ()
    assert found.inherits_because == "of the loop, inherit_context: none (loop.xml, line 1)"


def test_a_step_that_inherits_sees_what_the_loop_asked_the_graph() -> None:
    anew = "<inherit_context>none</inherit_context><fresh_context>enabled</fresh_context>"
    assert view(loop=anew).asks_graph
    assert view(loop=anew).graph_because.startswith("of the loop, fresh_context: enabled")
    assert not view(loop=anew, inherit_context="none").asks_graph


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
        context = work.develop_packet(["main.go"], description="Add a flag").context
        rules = [work.snapshot().document(entry.id) for entry in work.snapshot().catalog.entries]
    text = context.text or ""
    assert "package main" in text
    for rule in rules:
        body = rule.head + rule.body
        assert not any(body[n : n + 40] in text for n in range(len(body) - 40))
