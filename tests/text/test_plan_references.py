"""What a line of a plan names."""

import pytest

from hornbook.plans.tasks import read_tasks
from hornbook.rules.code.file import code_id
from hornbook.text.plan_syntax import entity_ids, quoted_paths, references

PATHS = ("src/app.py", "app.py", ".github/x.yml", "src/App~1.py", "bin/run", "a/b.section.c/d.py")
ONLY_QUOTED = ("my docs/a b.py", "app/(group)/[id]/page.tsx")
OTHERS = ("code.file.name", "`code.file.name`", "code.file.io.read()", "`code.file.io.read()`")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("line", ["See {}.", "{}: first", "It (see {}) is old", "- `{}`, then"])
def test_the_id_of_a_source_file_is_found_with_its_whole_path(path: str, line: str) -> None:
    assert list(entity_ids(line.format(code_id(path)))) == [code_id(path)]


@pytest.mark.parametrize("path", ONLY_QUOTED)
def test_in_backticks_the_path_of_an_id_may_have_any_character(path: str) -> None:
    assert list(entity_ids(f"See `{code_id(path)}`.")) == [code_id(path)]


@pytest.mark.parametrize("line", OTHERS)
def test_a_name_without_a_path_is_no_id_of_a_source_file(line: str) -> None:
    assert list(entity_ids(line)) == []


def test_the_id_of_a_source_file_is_no_path_beside_it() -> None:
    line = "Read `code.file.src/app.py` and `src/b.py`"
    assert list(quoted_paths(line)) == [("src/b.py", False)]
    assert sorted(references(line)) == ["code.file.src/app.py", "src/b.py"]
    assert read_tasks(f"1. {line}").tasks[0].files == ("src/b.py",)
