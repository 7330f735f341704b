import subprocess
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.errors import UsageError
from tests.kit.workspaces import SOPS, with_the_example_sop, write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return with_the_example_sop(tmp_path)


def rules(root: Path, path: str, *, at: str | None = None) -> list[str]:
    with Workspace.open(root) as work:
        if at is None:
            work.ingest()
        (answer,) = work.why([path], at=at)
    return [rule.id.rpartition(".")[2] for rule in answer.rules]


def test_a_file_is_bound_by_every_rule_whose_pattern_fits(root: Path) -> None:
    assert rules(root, "main.go") == ["error-handling"]
    assert rules(root, "handlers/user.go") == ["error-handling", "test-coverage"]
    assert rules(root, "README.md") == []


def test_an_answer_names_pattern_file_and_line(root: Path) -> None:
    with Workspace.open(root) as work:
        work.ingest()
        (answer,) = work.why(["handlers/user.go"])
    first, second = answer.rules
    assert (first.pattern, first.path, first.pattern_line) == (
        "*.go",
        f"{SOPS}/error-handling.md",
        3,
    )
    assert (second.pattern, second.pattern_line) == ("handlers/**", 3)
    assert answer.tokens == first.tokens + second.tokens
    assert answer.fits


def test_rules_over_the_reserve_do_not_fit(root: Path) -> None:
    write(root, {".hornbook/config.yaml": "reserve: 100\n"})
    with Workspace.open(root) as work:
        work.ingest()
        (answer,) = work.why(["handlers/user.go"])
    assert (answer.reserve, answer.fits) == (100, False)


def test_an_answer_says_where_its_reserve_came_from(root: Path) -> None:
    with Workspace.open(root) as work:
        work.ingest()
        (answer,) = work.why(["handlers/user.go"])
        assert (answer.reserve, answer.reserve_from, answer.over_planned) == (
            30_000,
            "default",
            False,
        )
        (once,) = work.why(["handlers/user.go"], reserve="1%")
        assert (once.reserve, once.reserve_from) == (2000, "option")
        with pytest.raises(UsageError, match="a reserve of 'much' is none"):
            work.why(["handlers/user.go"], reserve="much")
        with pytest.raises(UsageError, match="a reserve of '101%' is none"):
            work.why(["handlers/user.go"], reserve="101%")
        with pytest.raises(UsageError, match="200001 is more than the window of 200000 tokens"):
            work.why(["handlers/user.go"], reserve=200001)
    write(root, {".hornbook/config.yaml": "reserve: auto\nbudget: {rules: 100}\n"})
    with Workspace.open(root) as work:
        (said,) = work.why(["handlers/user.go"])
    assert (said.reserve, said.reserve_from, said.over_planned) == (30_000, "worktree", True)


def test_a_reserve_may_be_a_share_of_the_window(root: Path) -> None:
    write(
        root,
        {
            ".hornbook/config.yaml": "reserve: 10%\nmodels:\n  endpoints:\n    small: {provider: p, model: m, max_tokens: 50000}\n  capabilities: {reviewing: [small]}\n"
        },
    )
    with Workspace.open(root) as work:
        assert work.settings.reserve_of(work.settings.window) == 5000


def test_what_nobody_can_enforce_is_listed_with_the_reason(root: Path) -> None:
    write(
        root,
        {
            ".cursor/rules/style.mdc": "---\ndescription: Style\n---\nBe nice.\n",
            f"{SOPS}/never.md": "---\napplies_to: []\n---\n# Never\n",
            f"{SOPS}/broken.md": "---\napplies_to: '[a'\n---\n# Broken\n",
            f"{SOPS}/plans.md": "---\napplies_to: '**'\nscope: plan\n---\n# Plans\n",
        },
    )
    with Workspace.open(root) as work:
        work.ingest()
        (answer,) = work.why(["x.md"])
    assert answer.rules == ()
    listed = {rule.id.rpartition(".")[2]: rule.activation for rule in answer.not_enforced}
    assert listed == {
        "cursor-style": "model",
        "never": "never",
        "broken": "unknown",
        "plans": "glob",
    }


def test_nested_agents_files_bind_their_folder_and_chain(root: Path) -> None:
    write(root, {"AGENTS.md": "# Root\n", "pkg/api/AGENTS.md": "# Api\n"})
    assert rules(root, "pkg/api/x.py") == ["agents-agents", "agents-pkg-api-agents"]
    assert rules(root, "pkg/x.py") == ["agents-agents"]


def test_the_nearest_agents_file_alone_binds_if_so_set(root: Path) -> None:
    write(
        root,
        {
            "AGENTS.md": "# Root\n",
            "pkg/api/AGENTS.md": "# Api\n",
            ".hornbook/config.yaml": "agents_merge: nearest\n",
        },
    )
    assert rules(root, "pkg/api/x.py") == ["agents-pkg-api-agents"]
    assert rules(root, "pkg/x.py") == ["agents-agents"]


def git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *identity, "-C", str(root), *arguments], check=True, capture_output=True)


def test_the_rules_of_a_commit_are_those_it_holds(root: Path) -> None:
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "rules")
    (root / SOPS / "error-handling.md").unlink()
    write(root, {"AGENTS.md": "# New\n"})
    assert rules(root, "handlers/user.go", at="HEAD") == ["error-handling", "test-coverage"]
    assert rules(root, "handlers/user.go") == ["agents-agents", "test-coverage"]


def test_a_commit_gives_the_same_answers_as_its_checkout(root: Path) -> None:
    write(
        root, {"AGENTS.md": "# Agents\n", ".hornbook/sources/docs/sops/error-handling.md": "# O\n"}
    )
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "rules")
    with Workspace.open(root) as work:
        work.ingest()
        assert work.why(["handlers/user.go"], at="HEAD") == work.why(["handlers/user.go"])


def test_a_commit_that_is_not_there_is_refused(root: Path) -> None:
    git(root, "init", "-q")
    with Workspace.open(root) as work, pytest.raises(UsageError, match="names no commit"):
        work.why(["x"], at="--help")


@pytest.mark.parametrize("path", [".", "handlers", "handlers/"])
def test_a_folder_is_refused_for_its_files_may_have_more_rules(root: Path, path: str) -> None:
    (root / "handlers").mkdir(exist_ok=True)
    with Workspace.open(root) as work, pytest.raises(UsageError, match="is a folder"):
        work.why([path])


def test_a_submodule_is_asked_about_like_a_file(root: Path) -> None:
    write(root, {"vendor/lib/.git": "gitdir: ../../.git/modules/lib\n", "AGENTS.md": "A.\n"})
    assert rules(root, "vendor/lib") == ["agents-agents"]


def test_where_nothing_is_committed_the_remedy_is_not_git_log(root: Path) -> None:
    with Workspace.open(root) as work, pytest.raises(UsageError, match="in no git repository"):
        work.why(["x"], at="HEAD")
    git(root, "init", "-q")
    with Workspace.open(root) as work, pytest.raises(UsageError, match="Nothing is committed yet"):
        work.why(["x"], at="HEAD")


def test_a_path_that_leads_out_is_refused(root: Path) -> None:
    with Workspace.open(root) as work:
        work.ingest()
        with pytest.raises(UsageError, match="leads out"):
            work.why(["../x"])


def test_what_git_ignores_is_no_rule(root: Path) -> None:
    git(root, "init", "-q")
    write(
        root, {".gitignore": "vendor/\n", "vendor/AGENTS.md": "# Theirs\n", "AGENTS.md": "# Ours\n"}
    )
    assert rules(root, "vendor/x.py") == ["agents-agents"]


def test_a_path_is_the_same_however_the_root_is_spelled(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    link = tmp_path_factory.mktemp("elsewhere") / "link"
    link.symlink_to(root)
    with Workspace.open(root) as work:
        work.ingest()
        named: list[str | Path] = ["main.go", root / "main.go", link / "main.go", "a/../main.go"]
        assert {each.path for each in work.why(named)} == {"main.go"}
        with pytest.raises(UsageError, match="leads out"):
            work.why(["/etc/passwd"])
