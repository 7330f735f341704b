"""Which rules bind a whole change: the same as judge it in a review."""

from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.errors import UsageError
from hornbook.graph.change_answer import ChangeAnswer
from tests.kit.git import commit, git, start

HOUSE = "# House\n\nYou MUST be kind.\n\n@docs/words.md\n"
MONEY = "---\nglobs: 'shop/**/*.py'\n---\n\n# Money\n\nYou MUST use integers.\n"
SQL = "---\nglobs: '*.sql, db/**'\n---\n\n# SQL\n\nYou SHOULD name columns.\n"
FILES = {
    "CLAUDE.md": HOUSE,
    "docs/words.md": "Words are short.\n" * 20,
    ".cursor/rules/money.mdc": MONEY,
    ".cursor/rules/sql.mdc": SQL,
    "shop/orders.py": "total = 1\n",
    "shop/old_name.py": "".join(f"line = {number}\n" for number in range(40)),
    "gone.sql": "select 1;\n",
    "left/alone.py": "x = 1\n",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("changed")
    start(root, FILES)
    git(root, "mv", "shop/old_name.py", "app.py")
    git(root, "rm", "-q", "gone.sql", ".cursor/rules/money.mdc")
    commit(root, {"shop/orders.py": "total = 2\n", "db/new.txt": "new\n"})
    return root


@pytest.fixture(scope="module")
def found(root: Path) -> ChangeAnswer:
    with Workspace.open(root) as work:
        return work.why_change("main..work")


def test_every_touched_path_has_its_status_and_a_renamed_file_both_its_paths(
    found: ChangeAnswer,
) -> None:
    assert {file.path: file.status for file in found.files} == {
        ".cursor/rules/money.mdc": "deleted",
        "app.py": "renamed",
        "db/new.txt": "added",
        "gone.sql": "deleted",
        "shop/old_name.py": "deleted",
        "shop/orders.py": "modified",
    }


def test_the_files_are_bound_as_why_binds_them_at_the_base(root: Path, found: ChangeAnswer) -> None:
    with Workspace.open(root) as work:
        asked = work.why([file.path for file in found.files], at="main")
    assert [(file.path, file.rules, file.tokens, file.left_out) for file in found.files] == [
        (file.path, file.rules, file.tokens, file.left_out) for file in asked
    ]


def test_each_rule_has_the_files_that_it_binds(found: ChangeAnswer) -> None:
    assert {rule.path: rule.files for rule in found.rules} == {
        "CLAUDE.md": tuple(file.path for file in found.files),
        ".cursor/rules/money.mdc": ("shop/old_name.py", "shop/orders.py"),
        ".cursor/rules/sql.mdc": ("db/new.txt", "gone.sql"),
    }
    assert [rule.id for rule in found.rules] == sorted(rule.id for rule in found.rules)


def test_the_rules_and_their_tokens_are_those_of_the_review(
    root: Path, found: ChangeAnswer
) -> None:
    with Workspace.open(root) as work:
        context = work.review_packet(diff="main..work").context
    assert tuple(rule.id for rule in found.rules) == context.sop_ids
    assert found.tokens == sum(rule.tokens for rule in found.rules)
    (rules,) = [section for section in context.sections if section.name == "sops"]
    own = {rule.id: rule.tokens for rule in found.rules if rule.path != "CLAUDE.md"}
    assert own == {item.id: item.tokens for item in rules.items if item.id in own}
    assert (found.reserve, found.reserve_from) == (context.reserve, context.reserve_from)


def test_what_a_rule_includes_is_counted_once(root: Path, found: ChangeAnswer) -> None:
    (house,) = [rule for rule in found.rules if rule.path == "CLAUDE.md"]
    with Workspace.open(root) as work:
        (alone,) = work.why(["left/alone.py"], at="main")
    assert house.tokens == alone.tokens > 100


def test_settings_are_those_of_the_base_and_an_option_is_for_once(root: Path) -> None:
    with Workspace.open(root) as work:
        asked = work.why_change("main..work", reserve=10)
    assert (asked.reserve, asked.reserve_from, asked.fits) == (10, "option", False)


def test_what_names_no_change_is_refused(root: Path) -> None:
    with Workspace.open(root) as work, pytest.raises(UsageError, match="nowhere"):
        work.why_change("nowhere..work")


def test_a_root_below_the_top_says_that_files_lie_outside(root: Path) -> None:
    with Workspace.open(root / "shop") as work:
        found = work.why_change("main..work")
    assert found.notes == ("4 changed files lie outside the root.",)
