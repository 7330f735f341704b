"""Rules that teams share by links and includes: read at their place, from disk and from a commit."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from hornbook import Workspace
from hornbook.errors import UsageError
from hornbook.graph.catalog_view import FileAnswer
from hornbook.graph.commit_graph import graph_at
from tests.kit.git import commit, git
from tests.kit.workspaces import write

MUST = "# Rules\n\nEvery error MUST be wrapped.\n"
SCOPED = '---\npaths: ["**/*.ts"]\n---\n# Types\n\nTypes MUST be exported.\n'


def lay(root: Path, files: Mapping[str, str], links: Mapping[str, str]) -> Path:
    """A repository with files and links, all of it committed."""
    git(root, "init", "-q", "-b", "main")
    write(root, {"README": "x\n", **files})
    for path, target in links.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).symlink_to(target)
    commit(root, {})
    return root


def asked(root: Path, paths: Sequence[str]) -> list[FileAnswer]:
    """What binds the files, on disk and in the commit: the same, or the test fails."""
    with Workspace.open(root) as work:
        report = work.ingest()
        on_disk = work.why(paths)
        entries = work.snapshot().catalog.entries
        committed = work.why(paths, at="HEAD")
        there = graph_at(root, "HEAD").catalog.entries
        assert entries == there
        assert on_disk == committed
        assert work.ingest().problems == report.problems
    return on_disk


def bound(answer: FileAnswer) -> dict[str, tuple[str, ...]]:
    """The rules by path, each with the other paths of the same text."""
    return {rule.path: rule.also for rule in answer.rules}


def test_a_linked_rule_file_binds_at_the_place_of_the_link(tmp_path: Path) -> None:
    lay(tmp_path, {".agents/AGENTS.md": MUST}, {"AGENTS.md": ".agents/AGENTS.md"})
    (answer,) = asked(tmp_path, ["src/main.go"])
    (rule,) = answer.rules
    assert (rule.id, rule.path, rule.pattern) == (
        "source.doc.sops.agents-agents",
        "AGENTS.md",
        "**",
    )


def test_a_linked_folder_of_rules_is_read_whole(tmp_path: Path) -> None:
    rules = {f"agents/rules/r{n}.md": SCOPED.replace("Types", f"Types{n}") for n in range(5)}
    lay(tmp_path, rules, {".claude/rules": "../agents/rules"})
    code, other = asked(tmp_path, ["a/b.ts", "a/b.go"])
    assert [rule.path for rule in code.rules] == [f".claude/rules/r{n}.md" for n in range(5)]
    assert other.rules == ()


def test_a_linked_folder_above_the_rules_is_followed_too(tmp_path: Path) -> None:
    lay(tmp_path, {"shared/rules/a.md": SCOPED}, {".claude": "shared"})
    (answer,) = asked(tmp_path, ["a.ts"])
    assert list(bound(answer)) == [".claude/rules/a.md"]


def test_the_same_text_at_the_same_place_is_one_rule_by_its_regular_file(tmp_path: Path) -> None:
    links = {"AGENTS.md": "ZED.md", "CLAUDE.md": "AGENTS.md", "GEMINI.md": "CLAUDE.md"}
    lay(tmp_path, {"ZED.md": MUST}, links)
    (answer,) = asked(tmp_path, ["a.go"])
    assert bound(answer) == {"AGENTS.md": ("CLAUDE.md", "GEMINI.md")}
    (tmp_path / "AGENTS.md").unlink()
    (tmp_path / "CLAUDE.md").unlink()
    (tmp_path / "AGENTS.md").symlink_to("CLAUDE.md")
    commit(tmp_path, {"CLAUDE.md": MUST})
    (answer,) = asked(tmp_path, ["a.go"])
    assert bound(answer) == {"CLAUDE.md": ("AGENTS.md", "GEMINI.md")}


def test_a_link_to_the_rules_of_a_folder_above_is_no_second_rule(tmp_path: Path) -> None:
    lay(tmp_path, {"AGENTS.md": MUST}, {"providers/AGENTS.md": "../AGENTS.md"})
    inside, outside = asked(tmp_path, ["providers/a.py", "b.py"])
    assert bound(inside) == {"AGENTS.md": ("providers/AGENTS.md",)}
    assert bound(outside) == {"AGENTS.md": ()}


def test_a_link_to_the_rules_of_another_folder_binds_its_own(tmp_path: Path) -> None:
    lay(tmp_path, {"core/AGENTS.md": MUST}, {"tasks/AGENTS.md": "../core/AGENTS.md"})
    core, tasks = asked(tmp_path, ["core/a.py", "tasks/b.py"])
    assert (bound(core), bound(tasks)) == ({"core/AGENTS.md": ()}, {"tasks/AGENTS.md": ()})


@pytest.mark.parametrize(
    ("links", "why"),
    [
        ({"AGENTS.md": "gone.md"}, "gone.md does not exist"),
        ({"AGENTS.md": "../outside.md"}, "it leads out of the repository"),
        ({"AGENTS.md": "/etc/hosts"}, "it leads out of the repository"),
        ({"AGENTS.md": "b", "b": "AGENTS.md"}, "it leads in a circle"),
        ({"AGENTS.md": "readme"}, "readme does not exist"),
        ({"AGENTS.md": "README/x.md"}, "README is a file, not a folder"),
        ({"AGENTS.md": "docs"}, "docs is a folder, not a file"),
        ({"AGENTS.md": ".git/config"}, ".git does not exist"),
        ({".claude/rules": "../gone"}, "gone does not exist"),
        ({".claude/rules": ".."}, "it leads to a folder that holds it"),
        ({".cursor": "."}, "it leads to a folder that holds it"),
    ],
)
def test_a_link_that_leads_nowhere_is_an_error_everywhere(
    tmp_path: Path, links: dict[str, str], why: str
) -> None:
    lay(tmp_path, {"docs/a.txt": "x"}, links)
    (answer,) = asked(tmp_path, ["a.ts"])
    path = next(iter(links))
    assert [(each.path, each.reason) for each in answer.left_out] == [(path, "broken_link")]
    with Workspace.open(tmp_path) as work:
        (problem,) = work.ingest().problems
    assert (problem.path, problem.code, problem.level) == (path, "broken_link", "error")
    assert why in problem.message


def test_a_broken_link_of_a_folder_is_told_for_its_files_only(tmp_path: Path) -> None:
    lay(tmp_path, {}, {"web/AGENTS.md": "../gone.md"})
    inside, outside = asked(tmp_path, ["web/a.ts", "api/b.ts"])
    assert [each.path for each in inside.left_out] == ["web/AGENTS.md"]
    assert outside.left_out == ()


def test_what_git_ignores_is_broken_for_everybody_else(tmp_path: Path) -> None:
    files = {".gitignore": "local/\n", "local/AGENTS.md": MUST, "local/rules/a.md": SCOPED}
    links = {"AGENTS.md": "local/AGENTS.md", ".claude/rules": "../local/rules"}
    lay(tmp_path, files, links)
    with Workspace.open(tmp_path) as work:
        told = {(each.path, each.code) for each in work.ingest().problems}
        assert told == {("AGENTS.md", "broken_link"), (".claude/rules", "broken_link")}
        here, there = work.why(["a.ts"]), work.why(["a.ts"], at="HEAD")
        assert here[0].rules == there[0].rules == ()
        assert here[0].left_out == there[0].left_out


def test_a_link_that_is_mended_or_led_elsewhere_is_read_anew(tmp_path: Path) -> None:
    lay(tmp_path, {"a.txt": MUST, "b.txt": MUST}, {"AGENTS.md": "gone.md"})
    with Workspace.open(tmp_path) as work:
        work.ingest()
        for target in ("a.txt", "b.txt"):
            (tmp_path / "AGENTS.md").unlink()
            (tmp_path / "AGENTS.md").symlink_to(target)
            assert work.ingest().problems == ()
            assert work.snapshot().by_id["source.doc.sops.agents-agents"].link == target
        (tmp_path / "b.txt").write_text(MUST + "And logged.\n")
        assert work.ingest().changed == 1


def test_links_in_a_circle_of_folders_end(tmp_path: Path) -> None:
    files = {"a/rules/one.md": SCOPED, "b/rules/two.md": SCOPED.replace("Types", "Names")}
    links = {".claude": "a", "a/.claude": "../b", "b/.claude": "../a"}
    lay(tmp_path, files, links)
    (answer,) = asked(tmp_path, ["x.ts"])
    assert ".claude/rules/one.md" in bound(answer)


def test_a_change_of_what_is_included_is_noticed_through_every_step(tmp_path: Path) -> None:
    files = {"CLAUDE.md": "@AGENTS.md\n", "AGENTS.md": MUST, "docs/a.md": "a\n", "docs/b.md": "b\n"}
    lay(tmp_path, files, {})
    with Workspace.open(tmp_path) as work:
        work.ingest()
        for text, included in (
            (MUST + "@docs/a.md\n", ("docs/a.md",)),
            (MUST + "@docs/a.md @docs/b.md\n", ("docs/a.md", "docs/b.md")),
            (MUST, ()),
        ):
            write(tmp_path, {"AGENTS.md": text})
            work.ingest([tmp_path / "AGENTS.md"])
            assert [rule.includes for rule in work.why(["x"])[0].rules if rule.includes] == [
                included
            ] * bool(included)


FILES = st.dictionaries(
    st.sampled_from(
        ["AGENTS.md", "CLAUDE.md", "a/AGENTS.md", "a/CLAUDE.md", "a/x.md", "b/rules/r.md", "c.md"]
    ),
    st.sampled_from(
        [MUST, SCOPED, "@AGENTS.md\n", "See @../c.md.\n", "@a/x.md\n@gone.md\n", "@~/me.md `@c.md`"]
    ),
    min_size=1,
)
LINKS = st.dictionaries(
    st.sampled_from(
        ["GEMINI.md", "b/CLAUDE.md", ".claude", ".cursor/rules", "a/.claude/rules", "d"]
    ),
    st.sampled_from(["AGENTS.md", "../c.md", "a", "../b/rules", "../../b/rules", "b", "gone", "d"]),
)


@settings(max_examples=15, deadline=None, phases=[Phase.generate])
@given(FILES, LINKS)
def test_a_commit_and_its_work_tree_give_the_same_answers(
    files: dict[str, str], links: dict[str, str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = lay(Path(folder), files, links)
        asked(root, ["x.ts", "a/y.ts", "b/z.go"])


def test_a_packet_holds_what_rules_include_and_says_what_is_missing(tmp_path: Path) -> None:
    files = {
        "AGENTS.md": MUST,
        "CLAUDE.md": "@AGENTS.md @docs/a.md @gone.md\n",
        "docs/a.md": "Aye.\n",
    }
    lay(tmp_path, files, {".claude/rules": "../nowhere"})
    commit(tmp_path, {"main.go": "package main\n"})
    with Workspace.open(tmp_path) as work:
        work.ingest()
        context = work.review_packet(diff="HEAD~1..HEAD").context
    assert context.outcome == "complete"
    assert context.text is not None
    assert "docs/a.md" in context.text
    assert "Aye.\n" in context.text
    assert context.text.count("Every error MUST be wrapped.") == 2  # summary and body, once
    missing = {(each.path, each.reason) for each in context.left_out if each.path}
    assert missing == {("gone.md", "broken_include"), (".claude/rules", "broken_link")}
    assert "These should bind the change and could not be read:" in context.text


def test_a_rule_that_a_sparse_checkout_leaves_out_is_told(tmp_path: Path) -> None:
    rules = {"AGENTS.md": MUST, "web/AGENTS.md": MUST, ".claude/rules/types.md": SCOPED}
    lay(tmp_path, {**rules, "src/a.ts": "x\n", "web/b.ts": "x\n"}, {})
    git(tmp_path, "sparse-checkout", "set", "src")
    assert not (tmp_path / "web").exists()
    with Workspace.open(tmp_path) as work:
        here, there = work.why(["src/a.ts", "web/b.ts"])
        assert [rule.path for rule in here.rules] == ["AGENTS.md"]
        types = (".claude/rules/types.md", "not_written")
        assert [(each.path, each.reason) for each in here.left_out] == [types]
        web = ("web/AGENTS.md", "not_written")
        assert [(each.path, each.reason) for each in there.left_out] == [web, types]
        told = [(each.path, each.code) for each in work.ingest(strict=True).problems]
        assert sorted(told) == [types, web]
        git(tmp_path, "sparse-checkout", "disable")
        assert work.why(["web/b.ts"]) == work.why(["web/b.ts"], at="HEAD")


def test_an_include_that_a_sparse_checkout_leaves_out_is_not_called_broken(tmp_path: Path) -> None:
    files = {"CLAUDE.md": f"{MUST}\n@docs/more.md\n", "docs/more.md": "More.\n", "src/a.ts": "x\n"}
    lay(tmp_path, files, {})
    git(tmp_path, "sparse-checkout", "set", "src")
    assert not (tmp_path / "docs").exists()
    with Workspace.open(tmp_path) as work:
        (here,) = work.why(["src/a.ts"])
        assert [rule.path for rule in here.rules] == ["CLAUDE.md"]
        left_out = [(each.path, each.reason) for each in here.left_out]
        assert left_out == [("docs/more.md", "not_written")]
        told = [(each.path, each.code, each.level) for each in work.ingest(strict=True).problems]
        assert told == [("CLAUDE.md", "not_written", "warning")]
        health = work.doctor()
        assert "broken_include" not in {each.code for each in health.findings}
        assert any("docs/more.md" in each.reason for each in health.not_judged)
        git(tmp_path, "sparse-checkout", "disable")
        assert work.why(["src/a.ts"]) == work.why(["src/a.ts"], at="HEAD")


def test_what_lies_in_a_submodule_is_another_repository_s(tmp_path: Path) -> None:
    for name in ("library", "root"):
        (tmp_path / name).mkdir()
    library = lay(tmp_path / "library", {"AGENTS.md": MUST, "CLAUDE.md": "@AGENTS.md\n"}, {})
    root = lay(tmp_path / "root", {"AGENTS.md": "# Root\n\nNames MUST be short.\n"}, {})
    add = ("submodule", "add", "-q", str(library), "library")
    git(root, "-c", "protocol.file.allow=always", *add)
    commit(root, {})
    (answer,) = asked(root, ["library"])
    assert list(bound(answer)) == ["AGENTS.md"]
    with Workspace.open(root) as work, pytest.raises(UsageError, match="--root library"):
        work.why(["library/a.go"])


@pytest.mark.parametrize("in_git", [True, False])
def test_no_link_and_no_include_leads_to_a_secret(tmp_path: Path, *, in_git: bool) -> None:
    if in_git:  # where git was told to ignore nothing
        lay(tmp_path, {".hornbook/.gitignore": "/store/\n/objects/\n"}, {})
    secrets = (".hornbook/secret", ".hornbook/tokens", ".hornbook/canaries/x.md")
    write(tmp_path, dict.fromkeys(secrets, "SECRET\n"))
    write(tmp_path, {"CLAUDE.md": MUST + "".join(f"@{each}\n" for each in secrets)})
    rules = tmp_path / ".cursor/rules"
    rules.mkdir(parents=True)
    (rules / "a.mdc").symlink_to("../../.hornbook/secret")
    (rules / "b").symlink_to("../../.hornbook/canaries")
    (tmp_path / ".hornbook/sources/docs/sops").mkdir(parents=True)
    (tmp_path / ".hornbook/sources/docs/sops/c.md").symlink_to("../../../secret")
    with Workspace.open(tmp_path) as work:
        problems = work.ingest().problems
        assert b"SECRET" not in work.export("nquads")
    told = {(each.path, each.code) for each in problems}
    assert ("CLAUDE.md", "broken_include") in told
    assert (".cursor/rules/a.mdc", "broken_link") in told
    assert (".hornbook/sources/docs/sops/c.md", "broken_link") in told
