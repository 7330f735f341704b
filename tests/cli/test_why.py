"""`hornbook why` for people: nothing is cut, at any width, and ids only where asked."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.cli.change_matrix import FILES_SHOWN, change_lines
from hornbook.cli.rule_lines import why_lines
from hornbook.cli.screen import Screen, cell_width
from hornbook.graph.catalog_view import FileAnswer
from hornbook.graph.change_answer import ChangeAnswer
from tests.kit.commands import answer, expect
from tests.kit.git import commit, git, start

LONG = "packages/with/a/long/name/AGENTS.md"
MONEY = ".cursor/rules/money.mdc"
FILES = {
    "AGENTS.md": "# House\n\nYou MUST be kind.\n",
    LONG: "# Package\n\nYou SHOULD be brief.\n",
    MONEY: "---\nglobs: 'packages/with/**/*.py,shop/**'\n---\n\n# Money\n\nUse integers.\n",
    ".cursor/rules/manual.mdc": "---\nalwaysApply: false\n---\n\n# Manual\n\nAsk.\n",
    "packages/with/a/long/name/orders.py": "total = 1\n",
    "other.txt": "x\n",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("asked")
    start(root, FILES)
    git(root, "rm", "-q", "other.txt")
    commit(root, {"packages/with/a/long/name/orders.py": "total = 2\n", "shop/new.py": "x = 1\n"})
    with Workspace.open(root) as work:
        work.ingest()
    return root


@pytest.fixture(scope="module")
def asked(root: Path) -> list[FileAnswer]:
    with Workspace.open(root) as work:
        return work.why(["packages/with/a/long/name/orders.py"])


@pytest.fixture(scope="module")
def changed(root: Path) -> ChangeAnswer:
    with Workspace.open(root) as work:
        return work.why_change("main..work")


@pytest.mark.parametrize("width", [80, 100, 120, None])
def test_every_width_has_path_and_line_pattern_severity_and_tokens(
    asked: list[FileAnswer], changed: ChangeAnswer, width: int | None
) -> None:
    for lines in (why_lines(asked, Screen(width)), change_lines(changed, "said", Screen(width))):
        shown = list(lines)
        text = "\n".join(shown)
        for rule in asked[0].rules:
            assert f"{rule.path}:{rule.pattern_line}".removesuffix(":None") in text
            assert rule.pattern in text
            assert rule.severity in text
            assert re.search(rf"\b{rule.tokens}\b", text)
            assert rule.id not in text
        assert width is None or max(map(cell_width, shown)) <= width


def test_a_table_that_is_too_wide_becomes_records(asked: list[FileAnswer]) -> None:
    narrow = list(why_lines(asked, Screen(80)))
    place = narrow.index(f"{MONEY}:2")
    assert re.fullmatch(
        r"    packages/with/\*\*/\*.py   warning\*   \d+ tokens", narrow[place + 1]
    ), narrow
    wide = list(why_lines(asked, Screen(120)))
    assert wide[1].split() == ["rule", "pattern", "severity", "tokens"]
    assert sum(line.startswith(f" {MONEY}:2 ") for line in wide) == 1


def test_a_severity_that_is_inferred_is_marked_and_one_that_is_stated_is_not(
    asked: list[FileAnswer], changed: ChangeAnswer
) -> None:
    mark = "* the severity is inferred from the words of the rule."
    for lines in (why_lines(asked, Screen()), change_lines(changed, "said", Screen())):
        shown = list(lines)
        assert mark in shown
        assert sum("warning*" in line or "error*" in line for line in shown) == len(asked[0].rules)
    stated = [replace(rule, inferred=False) for rule in asked[0].rules]
    shown = list(why_lines([replace(asked[0], rules=tuple(stated))], Screen()))
    assert mark not in shown
    assert not any("warning*" in line or "error*" in line for line in shown)


def test_the_matrix_has_a_row_for_each_file_and_a_mark_for_each_rule(
    changed: ChangeAnswer,
) -> None:
    lines = list(change_lines(changed, "as set", Screen()))
    assert lines[0].endswith(f": 3 files, 3 rules, {changed.tokens} of 30000 tokens, fits")
    assert lines[1] == "the reserve: as set"
    place = lines.index("    1 2 3")
    assert lines[place + 1 : place + 4] == [
        " D  ● · ·   other.txt",
        " M  ● ● ●   packages/with/a/long/name/orders.py",
        " A  ● ● ·   shop/new.py",
    ]
    assert lines[-1] == "known but not enforced: 1 rule (--json has them)"


def test_a_rule_with_several_patterns_is_shown_with_those_that_bind(changed: ChangeAnswer) -> None:
    (line,) = [line for line in change_lines(changed, "", Screen()) if MONEY in line]
    assert "packages/with/**/*.py, shop/**" in line
    assert line.split()[-1] == "2"


def test_a_terminal_is_told_how_many_files_more_there_are_and_a_pipe_gets_them_all(
    changed: ChangeAnswer,
) -> None:
    many = (
        replace(changed.files[-1], path=f"shop/{number:03}.py")
        for number in range(FILES_SHOWN + 10)
    )
    large = replace(changed, files=(*changed.files[:2], *many))
    shown = list(change_lines(large, "", Screen(80)))
    assert "and 12 more files, bound by rules 1-2 (--json has all)" in shown
    assert not any("shop/049.py" in line for line in shown)
    assert any("shop/049.py" in line for line in change_lines(large, "", Screen()))


def test_many_rules_are_told_by_their_numbers(changed: ChangeAnswer) -> None:
    first = changed.files[0].rules[0]
    rules = tuple(replace(first, id=f"rule.{number:02}") for number in range(21))
    file = replace(changed.files[0], rules=(*rules[:4], rules[9]))
    listed = tuple(replace(changed.rules[0], id=rule.id, files=(file.path,)) for rule in rules)
    bound = replace(changed.files[1], rules=rules)
    large = replace(changed, files=(file, bound), rules=listed)
    lines = [" ".join(line.split()) for line in change_lines(large, "", Screen())]
    assert "D other.txt 1-4, 10" in lines
    assert f"M {bound.path} 1-21" in lines


def test_an_empty_change_says_so(root: Path) -> None:
    assert expect(root, "why", "--diff", "main..main").stdout.endswith(": nothing changed\n")


def test_colour_takes_no_room(asked: list[FileAnswer]) -> None:
    plain = list(why_lines(asked, Screen(100)))
    painted = list(why_lines(asked, Screen(100, colour=True)))
    assert painted != plain
    assert [re.sub(r"\x1b\[\d+m", "", line).rstrip() for line in painted] == plain


def test_ids_are_shown_where_they_are_asked_for(root: Path) -> None:
    for what in (("shop/new.py",), ("--diff", "main..work")):
        assert "source.doc" not in expect(root, "why", *what).stdout
        assert "source.doc.sops.cursor-money" in expect(root, "why", *what, "--ids").stdout


def test_a_change_answers_with_the_documented_keys(root: Path) -> None:
    found = answer(root, "why", "--diff", "main..work", "--json")
    sums = ["tokens", "reserve", "reserve_from", "fits", "notes"]
    assert list(found) == ["base", "head", "files", "rules", *sums]
    (file, *_) = answer(root, "why", "a", "--json")["files"]
    assert set(found["files"][0]) == {*file, "status"}
    assert list(found["rules"][0]) == ["id", "path", "severity", "inferred", "tokens", "files"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ((), "either FILEs, or --diff BASE..HEAD"),
        (("a.py", "--diff", "main..work"), "either FILEs, or --diff BASE..HEAD"),
        (("--diff", "main..work", "--at", "main"), "leave --at out"),
    ],
)
def test_files_and_a_change_exclude_each_other(
    root: Path, asked: tuple[str, ...], said: str
) -> None:
    assert said in expect(root, "why", *asked, code=2).stderr


def test_a_name_that_leaves_no_room_has_its_verdict_below() -> None:
    assert Screen(20).headed("a.py", "1 rule, fits") == ["a.py: 1 rule, fits"]
    assert Screen(16).headed("a.py", "1 rule, fits") == ["a.py:", "    1 rule, fits"]
    assert Screen().headed("a.py", "1 rule, fits") == ["a.py: 1 rule, fits"]


def test_a_sentence_is_broken_between_words_and_keeps_its_paths_whole() -> None:
    said = "  note: packages/with/a/long/name/AGENTS.md: it is here"
    assert Screen(40).prose(said) == [
        "  note:",
        "    packages/with/a/long/name/AGENTS.md:",
        "    it is here",
    ]
    assert Screen().prose(said) == [said]


def test_rules_that_overflow_are_named_by_their_files(root: Path) -> None:
    review = ("context", "review", "--diff", "main..work", "--reserve", "100")
    told = expect(root, *review, code=1).stdout
    assert "  pass 1: " in told
    assert LONG in told
    assert "source.doc" not in told


def test_a_bare_repository_has_no_files_to_ask_about(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    start(tmp_path / "whole", {"AGENTS.md": "# A\n\nText.\n"})
    git(tmp_path, "clone", "-q", "--bare", "whole", "bare.git")
    for asked in (["why", "a.py"], ["why", "--at", "HEAD", "a.py"], ["doctor"]):
        told = expect(tmp_path / "bare.git", *asked, code=2).stderr
        assert "is a bare repository" in told
        assert "`git worktree add ../bare-files`" in told


def test_a_rule_whose_name_is_not_utf8_is_told_and_hides_no_other(tmp_path: Path) -> None:
    root = tmp_path / "kept"
    root.mkdir()
    start(root, {"AGENTS.md": "# A\n\nText.\n", "a.py": "x = 1\n"})
    folder = Path(os.fsdecode(os.fsencode(root) + b"/d\xe9"))
    folder.mkdir()
    (folder / "AGENTS.md").write_text("# B\n\nText.\n", "utf-8")
    git(root, "add", "-A")
    git(root, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "b")
    (found,) = answer(root, "why", "--json", "a.py")["files"]
    assert [rule["path"] for rule in found["rules"]] == ["AGENTS.md"]
    assert "bad_path" in expect(root, "ingest", "--strict", "--json", code=1).stdout
    told = expect(root, "why", "--at", "HEAD", "a.py", code=2).stderr
    assert "names are not UTF-8" in told
