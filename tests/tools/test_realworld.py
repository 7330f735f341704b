"""The table of `make realworld`, on clones that are made for it."""

from pathlib import Path

import pytest

from tests.kit.histories import Made, make_history
from tests.tools.realworld import main, measured

RULE = "# House\n\nBe kind.\n"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    begin = Made({"AGENTS.md": RULE, "a.py": "a = 1\n"}, "Begin")
    much = Made({"big.txt": "".join(f"line {number}\n" for number in range(60_000))}, "Much")
    make_history(tmp_path / "clone", [begin, Made({"a.py": "a = 2\n"}, "Change"), much])
    return tmp_path / "clone"


def test_a_clone_is_measured_by_the_defaults(clone: Path) -> None:
    found = measured(clone, last=2)
    assert (found.documents, found.files, found.files_within) == (1, 2, 2)
    assert (found.changes["complete"], found.changes["too_big"]) == (1, 1)
    assert found.too_big_by_rules == 0
    assert len(found.listed) == 1
    assert "diff_over_budget" in found.listed[0]


def test_a_folder_that_is_no_clone_does_not_end_the_others(
    clone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert main([str(tmp_path / "empty"), str(clone)]) == 0
    said = capsys.readouterr().out
    assert "| empty | – |" in said
    assert "| clone | 1 | 0 | 100.0% | 3 |" in said
    assert said.endswith("Refused because of rules: 0 of 3 (0.0%).\n")
