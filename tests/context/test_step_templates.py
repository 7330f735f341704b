"""Templates of steps: what a team's file changes, and what of it is refused."""

from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.context.receipt import receipt
from hornbook.context.templates.roles import (
    SHIPPED,
    instructions,
    load_step_template,
    shipped_instructions,
    shipped_templates,
    step_templates,
)
from hornbook.errors import ConfigError
from tests.kit.fakes import git
from tests.kit.workspaces import with_the_example_sop, write

D = "<description>d</description>"
SUBTASK = 'type="atomic" subtype="subtask"'


def template(kind: str = 'type="atomic"', inner: str = "", **settings: str) -> str:
    block = "".join(f"<{key}>{value}</{key}>" for key, value in settings.items())
    around = f"<context_management>{block}</context_management>" if block else ""
    return f"<task {kind}>{D}{inner}{around}</task>"


def codes(step: str, text: str) -> list[str]:
    return [error.code for error in load_step_template(step, text).errors]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_template_is_one_of_its_step(name: str) -> None:
    found = shipped_templates()[name]
    assert (found.step, found.file) == (name, f"{name}.xml (shipped)")


INDEPENDENT = {"inherit_context": "none", "fresh_context": "enabled"}


@pytest.mark.parametrize(
    ("step", "text", "expected"),
    [
        ("reviewer", template(SUBTASK), []),
        ("reviewer", template(**INDEPENDENT), []),
        ("reviewer", template(), []),
        ("reviewer", template('type="atomic" subtype="standard"'), ["hides_rules"]),
        ("reviewer", template(SUBTASK, fresh_context="disabled"), ["hides_rules"]),
        ("reviewer", template(SUBTASK, inherit_context="subset", fresh_context="disabled"), ["hides_rules"]),
        ("own", template(inner="<role>reviewer</role>"), ["hides_rules"]),
        ("own", template('type="sequential"', f'<steps><task type="atomic">{D}<role>reviewer</role></task></steps>'), ["hides_rules"]),
        ("reviewer", template('type="script"', **INDEPENDENT), ["bad_value:type"]),
        ("reviewer", template(SUBTASK, "<role>developer</role>"), ["bad_value:role"]),
        ("reviewer", template(SUBTASK, "<output_schema>other.json</output_schema>"), ["bad_value:output_schema"]),
        ("reviewer", template(SUBTASK, '<inputs><input name="plan"/></inputs>'), ["unknown_input:plan"]),
        ("developer", template(inner="<output_schema>review.schema.json</output_schema>"), ["bad_value:output_schema"]),
        ("developer", template(inner='<inputs><input name="feedbak"/></inputs>'), ["unknown_input:feedbak"]),
        ("developer", template('type="sequential"'), ["bad_value:type"]),
        ("gates", template('type="script"', inherit_context="none"), ["not_applicable:inherit_context"]),
        ("gates", template('type="script"', '<prompt><part name="a">x</part></prompt>'), ["not_applicable:prompt"]),
        ("loop", template('type="sequential"'), []),
        ("loop", template('type="sequential"', '<prompt><part name="a">x</part></prompt>'), ["not_applicable:prompt"]),
        ("loop", template('type="sequential"', f'<steps><task type="atomic">{D}<role>developer</role></task></steps>'), ["bad_value:steps"]),
        ("decomposition", template('type="reduce"', f"<inner_task>{D}<context_management><inherit_context>none</inherit_context></context_management></inner_task>"), ["not_applicable:inherit_context"]),
        ("decomposition", template('type="reduce"', f"<inner_task>{D}<inputs/></inner_task>"), ["not_applicable:inputs"]),
        ("decomposition", template('type="reduce"', inherit_context="full", fresh_context="disabled"), []),
    ],
)  # fmt: skip
def test_what_would_have_no_effect_is_refused(step: str, text: str, expected: list[str]) -> None:
    assert codes(step, text) == expected


def test_a_step_of_the_loop_says_what_it_is_and_nothing_more() -> None:
    steps = [
        f'<task type="atomic">{D}<role>developer</role><inputs/></task>',
        f'<task type="script">{D}<role>gates</role></task>',
        f"<task {SUBTASK}>{D}<role>reviewer</role></task>",
    ]
    text = template('type="sequential"', f"<steps>{''.join(steps)}</steps>")
    assert codes("loop", text) == ["not_applicable:inputs"]


def refused(root: Path) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        step_templates(root)
    return list(caught.value.problems)


def test_a_file_that_names_no_step_is_refused_with_the_nearest(tmp_path: Path) -> None:
    write(tmp_path, {".hornbook/templates/reviewers.xml": template()})
    assert refused(tmp_path) == [
        ".hornbook/templates/reviewers.xml: no step is called `reviewers`: did you mean `reviewer`?"
    ]


def test_a_developers_template_is_checked_for_its_subtasks_too(tmp_path: Path) -> None:
    write(tmp_path, {".hornbook/templates/developer.xml": template(inherit_context="subset")})
    (problem,) = refused(tmp_path)
    assert "(default for atomic.subtask)" in problem
    assert problem.endswith("It is so for a subtask that a developer asks for.")
    both = template(inherit_context="subset", fresh_context="disabled")
    write(tmp_path, {".hornbook/templates/developer.xml": both})
    found = step_templates(tmp_path)
    assert found.developer(continuation=True).template.operator == "atomic.subtask"
    assert found.developer(continuation=True).settings["inherit_context"].value == "subset"
    assert found.developer(continuation=False).template.operator == "atomic.standard"


def test_a_problem_of_a_developers_template_is_told_once(tmp_path: Path) -> None:
    write(tmp_path, {".hornbook/templates/developer.xml": template(inner="<rol>x</rol>")})
    assert len(refused(tmp_path)) == 1


def test_loop_and_step_name_the_same_operator(tmp_path: Path) -> None:
    write(tmp_path, {".hornbook/templates/developer.xml": template(SUBTASK)})
    (problem,) = refused(tmp_path)
    assert "developer is atomic.standard here and atomic.subtask in" in problem


PROMPT = '<prompt><part name="a">Be a hawk.</part></prompt>'


def test_a_prompt_takes_the_place_of_the_shipped_one_and_the_form_stays(tmp_path: Path) -> None:
    write(tmp_path, {".hornbook/templates/reviewer.xml": template(SUBTASK, PROMPT)})
    text = instructions(step_templates(tmp_path)["reviewer"], "Ask this.")
    assert text == "Be a hawk.\n\nAsk this.\n\n" + shipped_instructions("review_form")
    assert "You review a change" in instructions(shipped_templates()["reviewer"])
    write(tmp_path, {".hornbook/templates/reviewer.xml": template(SUBTASK)})
    silent = step_templates(tmp_path)["reviewer"]
    assert "You review a change" in instructions(silent)
    said = "the shipped prompt, since .hornbook/templates/reviewer.xml has none"
    assert silent.prompt_because == said


def test_the_reviewers_template_of_the_base_counts_and_the_receipt_says_so(tmp_path: Path) -> None:
    root = with_the_example_sop(tmp_path)
    write(root, {".hornbook/templates/reviewer.xml": template(SUBTASK, PROMPT), "a.go": "1\n"})
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "one")
    write(root, {".hornbook/templates/reviewer.xml": template(), "a.go": "package a\n"})
    git(root, "add", "a.go")
    git(root, "commit", "-q", "-m", "two")
    with Workspace.open(root) as work:
        packet = work.review_packet(diff="HEAD~1..HEAD")
        facts = receipt(packet.context, packet.made_for)
    assert "Be a hawk." in (packet.context.text or "")
    assert packet.made_for.step is not None
    assert facts["step"]["template"] == ".hornbook/templates/reviewer.xml"  # type: ignore[index]  # a receipt is JSON
    assert packet.made_for.step.settings["fresh_context"] == {
        "value": "enabled",
        "from": "default for atomic.subtask",
    }
    because = {each.name: each.because for each in packet.context.sections}
    assert because["instructions"] == "the prompt of .hornbook/templates/reviewer.xml"
    assert because["sops"] == "fresh_context: enabled (default for atomic.subtask)"
    assert because["diff"] == "always there"


def test_a_required_input_that_is_not_there_refuses_the_context(tmp_path: Path) -> None:
    needs = '<inputs><input name="conventions"/></inputs>'
    write(tmp_path, {".hornbook/templates/reviewer.xml": template(SUBTASK, needs), "a.py": ""})
    with Workspace.open(with_the_example_sop(tmp_path)) as work:
        work.ingest()
        found = work.review_context(["a.py"])
    assert (found.outcome, found.text) == ("failed", None)
    assert [each.code for each in found.reasons] == ["missing_input"]
