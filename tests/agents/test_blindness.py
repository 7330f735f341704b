"""A developer cannot read the rules: not in a prompt, not in a file of its worktree."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook import Workspace
from hornbook.agents.rule_leaks import RUN, Blindness, RuleTexts, in_files
from hornbook.commits.worktrees import prepare
from hornbook.rules.document_reader import is_rule_file
from hornbook.settings.settings import Sight
from tests.kit.workspaces import ERROR_HANDLING, with_the_example_sop, write

RULE = "All errors must include context about what operation failed."


def git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *identity, "-C", str(root), *arguments], check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = with_the_example_sop(tmp_path / "repository")
    write(
        place,
        {
            ".hornbook/sources/docs/sops/naming.md": "# Naming\n\nA name MUST say what the value is, in domain words.\n",
            "AGENTS.md": "# For agents\n\nEvery change MUST come with a test that can fail.\n",
            "handlers/user.go": "package handlers\n",
            "logo.png": "\0\1binary",
        },
    )
    git(place, "init", "-q", "-b", "main")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "first")
    return place


def rules(root: Path) -> dict[str, str]:
    found = [
        *root.glob(".semspec/**/*.md"),
        *root.glob(".hornbook/sources/**/*.md"),
        root / "AGENTS.md",
    ]
    return {path.relative_to(root).as_posix(): path.read_text() for path in found}


def told_below(folder: Path, texts: dict[str, str]) -> Blindness:
    """What the files below a folder tell of rules."""
    return in_files(RuleTexts(texts), folder, is_host_file=is_rule_file)


def test_a_worktree_and_the_developers_prompt_hold_no_rule(root: Path) -> None:
    texts = rules(root)
    assert len(texts) == 4
    tree = prepare(root, "p", "1", "main")
    with Workspace.open(root) as work:
        work.ingest()
        context = work.develop_packet(["handlers/user.go"], description="Load users").context
    assert context.text is not None
    assert not list(RuleTexts(texts).leaks("prompt", context.text))
    assert told_below(tree.path, texts) == Blindness((), ("AGENTS.md",))


def test_the_users_own_work_tree_is_not_blind(root: Path) -> None:
    found = in_files(RuleTexts(rules(root)), root, is_host_file=lambda path: path == "AGENTS.md")
    assert {leak.rule_id for leak in found.leaks} == set(rules(root)) - {"AGENTS.md"}


@pytest.mark.parametrize(
    "place", ["notes.txt", "deep/er/x.md", "page.bin", ".hidden", "docs/.hornbook/x"]
)
def test_a_rule_in_any_file_is_a_leak(root: Path, place: str) -> None:
    tree = prepare(root, "p", "1", "main")
    write(tree.path, {place: f"\0\1{'x' * 13}{RULE}"})
    (leak,) = told_below(tree.path, rules(root)).leaks
    assert (leak.where, leak.text) == (place, RULE)


def test_a_rule_behind_a_link_is_a_leak(root: Path) -> None:
    tree = prepare(root, "p", "1", "main")
    (tree.path / "out").symlink_to(root / ".semspec", target_is_directory=True)
    (tree.path / "loop").symlink_to(tree.path, target_is_directory=True)
    (tree.path / "dangling").symlink_to("nowhere")
    found = in_files(RuleTexts(rules(root)), tree.path, is_host_file=lambda _: False)
    assert "out/sources/docs/sops/error-handling.md" in {leak.where for leak in found.leaks}


def test_a_rule_in_a_prompt_is_a_leak() -> None:
    (leak,) = RuleTexts({"r": ERROR_HANDLING}).leaks("prompt", f"Fix it. {RULE}")
    assert (leak.where, leak.rule_id) == ("prompt", "r")


def test_a_ruler_is_no_rule(tmp_path: Path) -> None:
    known = RuleTexts({"r": "-" * 80 + "\n" + "| " * 40})
    assert not list(known.leaks("x", "-" * 200))
    assert not list(known.leaks("x", "| " * 100))


letters = st.text(alphabet="abcdefghij ", min_size=0, max_size=60)


@given(st.tuples(letters, letters, letters, letters), st.integers(0, 100), st.integers(RUN, 80))
def test_a_run_of_forty_is_always_found_wherever_it_stands(
    around: tuple[str, str, str, str], seed: int, length: int
) -> None:
    before, after, left, right = around
    run = "".join(chr(ord("k") + (seed + place * place) % 15) for place in range(length))
    (leak,) = RuleTexts({"r": before + run + after}).leaks("x", left + run + right)
    assert len(leak.text) >= RUN
    assert leak.text in before + run + after
    assert leak.text in left + run + right


@given(st.text(alphabet="ab", max_size=120), st.text(alphabet="ab", max_size=120))
def test_a_leak_is_told_exactly_when_forty_characters_are_shared(rule: str, text: str) -> None:
    shared = any(rule[place : place + RUN] in text for place in range(len(rule) - RUN + 1))
    assert bool(list(RuleTexts({"r": rule}).leaks("x", text))) is shared


def test_what_a_developer_sees_has_three_values() -> None:
    assert [each.value for each in Sight] == ["blind", "requirements", "full"]
