"""`template check`, and the page about it: what is answered is what is documented."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hornbook.cli.commands.definition_checks import template as command
from hornbook.context.templates.safe_xml import MAX_NODES
from hornbook.context.templates.template import SHAPES, load_template
from hornbook.errors import UsageError
from hornbook.located import MAX_BYTES, MAX_DEPTH
from tests.kit.paths import ROOT

PAGE = (ROOT / "docs/context-settings.md").read_text(encoding="utf-8")
D = "<description>d</description>"


def block(key: str, value: str) -> str:
    return f"<context_management><{key}>{value}</{key}></context_management>"


def check(*arguments: str, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(command, ["check", *arguments], input=stdin)


def written(folder: Path, text: str) -> str:
    file = folder / "t.xml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_check_answers_with_the_documented_keys(tmp_path: Path) -> None:
    inner = f"<inner_task>{D}{block('inherit_context', 'none')}</inner_task>"
    done = check(written(tmp_path, f'<task type="reduce">{D}{inner}</task>'), "--json")
    assert done.exit_code == 0
    answer = json.loads(done.stdout)
    assert list(answer) == ["operator", "effective", "children", "errors", "warnings"]
    assert answer["operator"] == "reduce"
    assert answer["effective"] == {
        "inherit_context": "none",
        "accumulate_data": False,
        "accumulation_format": None,
        "fresh_context": "enabled",
    }
    assert list(answer["children"]) == ["inner_task"]
    assert answer["children"]["inner_task"]["inherit_context"] == "none"
    assert answer["errors"] == []
    (warning,) = answer["warnings"]
    assert (warning["code"], warning["path"], warning["line"]) == (
        "no_context",
        "reduce/inner_task",
        1,
    )


def test_check_refuses_with_exit_1_and_no_settings(tmp_path: Path) -> None:
    step = f'<task type="script">{D}{block("fresh_context", "enabled")}</task>'
    file = written(tmp_path, f'<task type="sequential">{D}<steps>{step}</steps></task>')
    done = check(file, "--json")
    answer = json.loads(done.stdout)
    assert done.exit_code == 1
    assert (answer["operator"], answer["effective"], answer["children"]) == ("sequential", None, {})
    (error,) = answer["errors"]
    assert set(error) == {"code", "path", "line", "message"}
    assert error["path"] == "sequential/steps[0]"


def test_check_is_readable(tmp_path: Path) -> None:
    valid = check(written(tmp_path, f'<task type="atomic">{D}</task>'))
    assert "t.xml: atomic.standard, valid" in valid.stdout
    assert re.search(r"task +atomic\.standard +full +false +none +disabled", valid.stdout)
    refused = check(written(tmp_path, "<task><steps>\n<x/></steps></task>"))
    assert refused.exit_code == 1
    assert "refused" in refused.stdout
    assert re.search(r"error +unknown_element:x +2 +task +<x> is not known", refused.stdout)


def test_check_reads_standard_input() -> None:
    assert check("-", stdin=f'<task type="script">{D}</task>'.encode()).exit_code == 0


@pytest.mark.parametrize("file", ["missing.xml", ".", "a\0b"])
def test_a_file_that_cannot_be_read_is_a_usage_error(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert isinstance(check(file).exception, UsageError)


def test_check_does_not_read_more_than_it_must(tmp_path: Path) -> None:
    file = tmp_path / "large.xml"
    with file.open("wb") as opened:
        opened.truncate(10 * 1024 * 1024)
    assert [each["code"] for each in json.loads(check(str(file), "--json").stdout)["errors"]] == [
        "too_large"
    ]


# The docs


def test_the_example_in_the_docs_is_valid() -> None:
    examples = re.findall(r"^```text\n(<task.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert examples
    for text in examples:
        assert load_template(text).template is not None


def test_the_docs_list_every_element() -> None:
    listed = re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \|$", PAGE, re.MULTILINE)
    assert set(SHAPES) <= set(listed)


def test_the_docs_list_every_code_and_no_other() -> None:
    files = (ROOT / "src" / "hornbook" / "context" / "templates").glob("*.py")
    source = "".join(file.read_text(encoding="utf-8") for file in files)
    listed = set(
        re.findall(r"^\| `([a-z_]+)(?::[^`]+)?` \| (?:error|warning) \|", PAGE, re.MULTILINE)
    )
    kinds = (
        r"exclusive|not_applicable|bad_value|no_context|unused|doctype_forbidden|not_well_formed"
        r"|hides_rules"
    )
    made = set(
        re.findall(rf'"((?:unknown|duplicate|missing|unexpected|too)_[a-z]+|{kinds})[":]', source)
    )
    assert listed == made


def test_the_docs_name_the_limits() -> None:
    assert f"more than {MAX_BYTES} bytes, or more than {MAX_NODES} elements" in PAGE
    assert f"more than {MAX_DEPTH} elements inside each other" in PAGE
