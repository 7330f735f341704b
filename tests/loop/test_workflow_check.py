"""`workflow check`, and the page about workflows: what is answered is what is documented."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hornbook import located
from hornbook.cli.commands.definition_checks import workflow as command
from hornbook.errors import UsageError
from hornbook.located import MAX_BYTES, MAX_DEPTH
from hornbook.loop.workflow.definition import SHIPPED
from hornbook.loop.workflow.expressions import OPERATORS
from hornbook.loop.workflow.load import MAX_ITERATIONS, MAX_STEPS, WORKFLOW_KEYS
from hornbook.loop.workflow.parts import AGENT_KEYS, CONDITION_KEYS, OTHER_KEYS, STEP_KEYS
from hornbook.loop.workflow.subjects import MEANINGS, SUBJECTS, ActionType, Subject
from tests.kit.pages import codes, rows
from tests.kit.paths import DOCS
from tests.kit.workflow_texts import BAD, FOLDER, LOOP, SOURCE

PAGE = (DOCS / "workflows.md").read_text(encoding="utf-8")


def check(*arguments: str, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(command, ["check", *arguments], input=stdin)


def test_check_answers_with_the_documented_keys() -> None:
    done = check("-", "--json", stdin=LOOP.encode())
    answer = json.loads(done.stdout)
    assert done.exit_code == 0
    assert list(answer) == ["id", "steps", "errors", "warnings"]
    assert (answer["id"], answer["errors"], answer["warnings"]) == ("plan-and-execute", [], [])
    assert answer["steps"] == [step["name"] for step in json.loads(LOOP)["steps"]]


def test_check_refuses_with_exit_1_and_every_error() -> None:
    done = check(str(SOURCE), "--json")
    answer = json.loads(done.stdout)
    assert done.exit_code == 1
    assert len(answer["errors"]) == 7
    assert {tuple(error) for error in answer["errors"]} == {("code", "path", "line", "message")}


def test_a_warning_is_told_and_refuses_nothing() -> None:
    line = LOOP[: LOOP.index('"30s"')].count("\n") + 1
    done = check("-", stdin=LOOP.replace('"30s"', '"31m"').encode())
    assert done.exit_code == 0
    assert re.search(
        rf"warning +beyond_limit:assemble_context +{line} +steps\[2\]\.timeout", done.stdout
    )


def test_check_is_readable() -> None:
    valid = check("-", stdin=LOOP.encode())
    assert "-: plan-and-execute, valid" in valid.stdout
    assert re.search(
        r"verdict_check +workflow\.task\.complete +steps\.reviewer\.output\.verdict eq approved "
        r"+complete +categorize_rejection",
        valid.stdout,
    )
    refused = check("-", stdin=b"[\n1 2]")
    assert refused.exit_code == 1
    assert "no id, refused, errors: 1" in refused.stdout
    assert re.search(r"error +not_json +2 +file +expected `,` or `\]`", refused.stdout)


@pytest.mark.parametrize("file", ["missing.json", ".", "a\0b"])
def test_a_file_that_cannot_be_read_is_a_usage_error(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert isinstance(check(file).exception, UsageError)


def test_check_does_not_read_more_than_it_must(tmp_path: Path) -> None:
    file = tmp_path / "large.json"
    with file.open("wb") as opened:
        opened.truncate(10 * 1024 * 1024)
    errors = json.loads(check(str(file), "--json").stdout)["errors"]
    assert [each["code"] for each in errors] == ["too_large"]


# The docs


def test_the_docs_list_every_operator_with_its_kinds() -> None:
    assert rows(PAGE, "operator", "holds when", "field", "value") == [
        [
            f"`{name}`",
            rule.meaning,
            " or ".join(rule.field) or "any",
            " or ".join(rule.value) or "any",
        ]
        for name, rule in OPERATORS.items()
    ]


def test_the_docs_list_every_type_of_action_with_its_members() -> None:
    listed = {
        codes(name)[0]: (meaning, set(codes(members)))
        for name, meaning, members in rows(PAGE, "type", "meaning", "members")
    }
    assert listed == {
        kind.value: (
            MEANINGS[kind],
            set(AGENT_KEYS if kind is ActionType.PUBLISH_AGENT else OTHER_KEYS) - {"type"},
        )
        for kind in ActionType
    }


def takes(subject: Subject) -> str:
    named = [f"`{name}`" for name in subject.required]
    spare = [f"[`{name}`]" for name in subject.optional] + ["…"] * subject.open
    return ", ".join(named + spare) or "–"


def answers(subject: Subject) -> str:
    named = [f"[`{name}`]" if each.optional else f"`{name}`" for name, each in subject.outputs.items()]  # fmt: skip
    return ", ".join(named) or "–"


def test_the_docs_list_every_subject_as_the_table_has_it() -> None:
    assert rows(PAGE, "subject", "type", "takes", "answers", "judges", "meaning") == [
        [
            f"`{name}`",
            f"`{subject.action}`",
            takes(subject),
            answers(subject),
            "yes" if subject.judges else "no",
            subject.meaning,
        ]
        for name, subject in SUBJECTS.items()
    ]


def test_the_docs_list_every_member() -> None:
    listed = [
        (of, codes(name)[0], required)
        for of, name, required, _ in rows(PAGE, "of", "member", "required", "meaning")
    ]
    tables = {"workflow": WORKFLOW_KEYS, "step": STEP_KEYS, "condition": CONDITION_KEYS}
    assert [(of, name) for of, name, _ in listed] == [
        (of, name) for of, keys in tables.items() for name in keys
    ]
    for of, name, required in listed:
        assert (required == "yes") == tables[of][name].required, name


def codes_in(source: str) -> Iterator[str]:
    """Every code that a module makes: `name` as an argument of its own, `name:` before a value."""
    for node in ast.walk(ast.parse(source)):
        texts: list[ast.expr] = []
        if isinstance(node, ast.JoinedStr):
            texts = node.values[:1]
        elif isinstance(node, ast.Call):
            name = (
                node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
            )
            texts = node.args if name in {"wrong", "_wrong", "doubtful", "ReadingRefused"} else []
        for text in texts:
            value = text.value if isinstance(text, ast.Constant) else None
            tail = ":" if isinstance(node, ast.JoinedStr) else "(?::[a-z_]+)?"
            if isinstance(value, str) and re.fullmatch(f"[a-z]+(_[a-z]+)*{tail}", value):
                yield value.split(":")[0]


def test_the_docs_list_every_code_and_no_other() -> None:
    made = {
        code
        for file in [*FOLDER.glob("*.py"), Path(located.__file__)]
        for code in codes_in(file.read_text(encoding="utf-8"))
    } - set(WORKFLOW_KEYS)
    listed = [codes(code)[0].split(":")[0] for code, _, _ in rows(PAGE, "code", "level", "meaning")]
    assert set(listed) == made
    assert len(listed) == len(made)


def test_the_table_of_bad_definitions_has_every_documented_error_of_a_definition() -> None:
    listed = {
        codes(code)[0].split(":")[0]
        for code, level, _ in rows(PAGE, "code", "level", "meaning")
        if level == "error"
    }
    of_the_text = {"not_json", "too_large", "too_deep", "duplicate_key"}
    assert {bad.code.split(":")[0] for bad in BAD} == listed - of_the_text


def test_the_docs_name_the_limits_and_the_shipped_workflows() -> None:
    assert f"more than {MAX_BYTES} bytes" in PAGE
    assert f"deeper than {MAX_DEPTH}" in PAGE
    assert f"1 to {MAX_STEPS} steps" in PAGE
    assert f"1 to {MAX_ITERATIONS}" in PAGE
    assert [codes(name)[0] for name, _ in rows(PAGE, "workflow", "for")] == list(SHIPPED)
