"""What the root of a tree shows settles which of several files a tool reads."""

from pathlib import Path

import pytest

from hornbook.rules.document_reader import is_rule_file, read
from hornbook.rules.tool_setup import NO_SETUP, ToolSetup, present_among, tool_setup
from hornbook.workspace import Workspace
from tests.kit.git import commit, git
from tests.kit.workspaces import write


def setup_of(files: dict[str, str]) -> ToolSetup:
    return tool_setup(present_among(files), lambda path: files[path].encode())


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ('{"context": {"fileName": "A.md"}}', {"A.md"}),
        ('{"context": {"fileName": ["A.md", "GEMINI.md"]}}', {"A.md", "GEMINI.md"}),
        ('{"contextFileName": "A.md"}', {"A.md"}),
        ('{"url": "http://x", /* two\nlines */ "contextFileName": "A.md" // end\n}', {"A.md"}),
        ('{"context": {"fileName": ["docs/A.md", 1, ""]}}', set()),
        ('{"context": []}', set()),
        ("[]", set()),
        ("{", set()),
        ("", set()),
    ],
)
def test_names_of_context_files_are_read_from_geminis_settings(
    settings: str, names: set[str]
) -> None:
    assert setup_of({".gemini/settings.json": settings}).context_names == names


@pytest.mark.parametrize(
    ("config", "read_files"),
    [
        ("read: A.md", {"A.md"}),
        ("read: [A.md, ./b/C.md]", {"A.md", "b/C.md"}),
        ("read:\r\n  - A.md\r\n", {"A.md"}),
        ("read: [~/mine.md, /etc/x.md]", set()),
        ("read: 3", set()),
        ("- read", set()),
        ("read: [", set()),
    ],
)
def test_files_that_aider_reads_are_named_in_its_configuration(
    config: str, read_files: set[str]
) -> None:
    assert setup_of({".aider.conf.yml": config}).aider_reads == read_files


def test_what_decides_nothing_is_no_part_of_the_setup() -> None:
    assert setup_of({"AGENTS.md": "x", ".junie/AGENTS.md": "x", "src/a.py": "x"}) == NO_SETUP


def test_a_named_file_is_a_rule_only_where_it_is_named() -> None:
    setup = setup_of({".aider.conf.yml": "read: CONVENTIONS.md"})
    assert is_rule_file("CONVENTIONS.md", setup)
    assert not is_rule_file("CONVENTIONS.md")
    assert read("CONVENTIONS.md", b"# C\n", setup).tool == "aider"
    assert read("CONVENTIONS.md", b"# C\n").tool == "plain"


def test_a_file_that_comes_first_is_noticed_by_the_next_ingest(tmp_path: Path) -> None:
    write(tmp_path, {".junie/guidelines.md": "# G\n\nText.\n"})
    with Workspace(tmp_path) as work:
        work.ingest()
        assert [rule.path for rule in work.why(["a.kt"])[0].rules] == [".junie/guidelines.md"]
        write(tmp_path, {"AGENTS.md": "# A\n\nText.\n"})
        work.ingest([tmp_path / "AGENTS.md"])
        assert [rule.path for rule in work.why(["a.kt"])[0].rules] == ["AGENTS.md"]


def test_what_git_ignores_shows_no_tool(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, {".gitignore": ".continue/\n", ".continue/config.yaml": "name: x\n"})
    commit(tmp_path, {"src/rules.md": "# R\n\nText.\n"})
    with Workspace(tmp_path) as work:
        work.ingest()
        answers = work.why(["src/a.ts"])
        assert answers == work.why(["src/a.ts"], at="HEAD")
        assert answers[0].rules == ()
        assert ".continue" in answers[0].not_enforced[0].reason


def test_a_change_that_edits_a_named_rule_edits_its_judges(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    before = {".aider.conf.yml": "read: C.md\n", "C.md": "# C\n\nText.\n", "docs/rules.md": "# R\n"}
    commit(tmp_path, {**before, "a.py": "x = 1\n"})
    commit(tmp_path, {"C.md": "# C\n\nOther.\n", "docs/rules.md": "# S\n", "a.py": "x = 2\n"})
    with Workspace(tmp_path) as work:
        packet = work.review_packet(diff="HEAD~1..HEAD")
        assert packet.made_for.findings == ("C.md",)
