"""`context step`: what a step would see is what the run then sends, and nothing is written."""

from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.cli.commands.context import _step_lines
from hornbook.cli.screen import Screen, cell_width
from hornbook.context.prompt import Outcome
from hornbook.errors import UsageError
from hornbook.loop.step_context import StepContext
from tests.kit.commands import answer, run
from tests.kit.fakes import git, reviews, writes
from tests.kit.loops import BROKEN, CONFIG, GREET, PLAN, Stage, repository

WELL = writes({"src/greet.py": GREET})
BADLY = writes({"src/greet.py": BROKEN})
DEVELOPER = ".hornbook__templates__developer.xml"
NOTHING = """\
<task type="atomic"><description>d</description>
<context_management>
<inherit_context>none</inherit_context><fresh_context>disabled</fresh_context>
</context_management></task>
"""


def shown(root: Path, name: str, task: str = "1") -> StepContext:
    with Workspace.open(root) as work:
        return work.step_context(name, task)


def stepped_to(stage: Stage, *steps: str) -> None:
    """Begin the run of the first task, unless it is begun, and step it until one comes next."""
    loop = stage.loop()
    loop.start("hello", "1", agent=None, run_id="run-1")
    for _ in range(30):
        if loop.step("run-1").message in steps:
            return
    raise AssertionError(f"the run never came to {steps}")


def test_what_is_shown_before_a_run_is_what_its_developer_is_sent(tmp_path: Path) -> None:
    stage = Stage(repository(tmp_path))
    before = shown(tmp_path, "developer")
    assert before.run is None
    stage.go()
    assert stage.developer.seen[0].prompt == before.context.text


def test_a_retry_is_shown_with_the_failure_that_its_developer_is_sent(tmp_path: Path) -> None:
    stage = Stage(repository(tmp_path), [BADLY, WELL])
    stepped_to(stage, "retry_developer_gates")
    before = shown(tmp_path, "developer")
    assert (before.run, before.notes) == ("run-1", ())
    assert "Structural gate checks failed." in str(before.context.text)
    assert shown(tmp_path, "retry_developer_gates").context == before.context
    stage.drive("run-1")
    assert stage.developer.seen[1].prompt == before.context.text


def test_a_reviewer_is_shown_the_packet_that_it_is_sent(tmp_path: Path) -> None:
    stage = Stage(repository(tmp_path), [WELL], [reviews()])
    ahead = shown(tmp_path, "reviewer")
    assert any("nobody has worked on the task yet" in each for each in ahead.notes)
    assert ahead.context.sop_ids
    stepped_to(stage, "assemble_context")
    before = shown(tmp_path, "reviewer")
    stage.drive("run-1")
    assert stage.reviewer.seen[0].prompt == before.context.text


def test_a_teams_template_at_the_base_decides_and_is_named(tmp_path: Path) -> None:
    repository(tmp_path, **{DEVELOPER: NOTHING})
    made = shown(tmp_path, "developer")
    assert made.step.template == ".hornbook/templates/developer.xml"
    assert made.step.settings["inherit_context"] == {
        "value": "none",
        "from": ".hornbook/templates/developer.xml, line 3",
    }
    assert "plan" not in {section.name for section in made.context.sections}
    (tmp_path / ".hornbook/templates/developer.xml").write_text(NOTHING + "<!-- new -->", "utf-8")
    assert any("is not committed as it stands" in note for note in shown(tmp_path, "gates").notes)


def test_gates_are_shown_with_their_commands(tmp_path: Path) -> None:
    made = shown(repository(tmp_path), "structural_gates")
    assert made.step.operator == "script"
    assert "- check: `sh check.sh` (ready, required)" in str(made.context.text)


def test_nothing_of_the_repository_is_changed(tmp_path: Path) -> None:
    repository(tmp_path)

    def state() -> tuple[str, str, dict[str, bytes]]:
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        mine = {str(path): path.read_bytes() for path in files if ".git" not in path.parts}
        return git(tmp_path, "for-each-ref"), git(tmp_path, "worktree", "list"), mine

    before = state()
    for name in ("developer", "gates", "reviewer"):
        shown(tmp_path, name)
    assert state() == before


def test_a_prompt_that_would_show_a_rule_is_shown_as_refused(tmp_path: Path) -> None:
    quoted = "Every greeting MUST name the person whom it is for, and nobody else at all."
    repository(tmp_path, plan=PLAN.replace("a name is greeted", quoted))
    made = shown(tmp_path, "developer")
    assert (made.context.outcome, made.context.text) == (Outcome.FAILED, None)
    assert [reason.code for reason in made.context.reasons] == ["rules_in_prompt"]


def test_what_comes_before_the_step_is_noted(tmp_path: Path) -> None:
    repository(tmp_path, config=CONFIG + "engine: {red_first: true}\n")
    assert any("`engine.red_first`" in note for note in shown(tmp_path, "developer").notes)
    assert any("the task waits for 1" in note for note in shown(tmp_path, "gates", "2").notes)


@pytest.mark.parametrize(
    ("name", "task", "said"),
    [
        ("develper", "1", "there are developer, gates, reviewer, structural_gates"),
        ("developer", "9", "there are task.hello.1, task.hello.2"),
        ("developer", "task.nope.1", "there are hello"),
        ("retry_developer_gates", "1", "`structural_gates` has not run"),
    ],
)
def test_what_is_not_known_is_refused_with_what_is(
    tmp_path: Path, name: str, task: str, said: str
) -> None:
    with pytest.raises(UsageError) as caught:
        shown(repository(tmp_path), name, task)
    assert said in str(caught.value)


def test_the_command_tells_the_step_in_json_and_exits_with_two_for_an_unknown_one(
    tmp_path: Path,
) -> None:
    repository(tmp_path)
    facts = answer(tmp_path, "context", "step", "developer", "--task", "1", "--json")
    assert facts["operator"] == "atomic.standard"
    assert facts["settings"]["fresh_context"] == {
        "value": "disabled",
        "from": "default for atomic.standard",
    }
    assert all(section["because"] for section in facts["sections"])
    assert run(tmp_path, "context", "step", "develper", "--task", "1").returncode == 2


def test_people_read_it_at_eighty_columns(tmp_path: Path) -> None:
    made = shown(repository(tmp_path, **{DEVELOPER: NOTHING}), "developer")
    lines = _step_lines(made, Screen(80))
    assert max(map(cell_width, lines)) <= 80
    for wanted in ("instructions", "inherit_context", "none", "left out: plan.hello"):
        assert any(wanted in line for line in lines)
