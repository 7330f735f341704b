"""Answers about rules come from the files as they are, and a repository is only read for them."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hornbook.graph.repository import Repository
from hornbook.settings.places import Places, cache_folder
from hornbook.workspace import Workspace
from tests.kit.commands import answer, expect, run
from tests.kit.git import commit, git, start
from tests.kit.workspaces import write

FILES = {
    "AGENTS.md": "# Agents\n\nMUST be kind.\n",
    "lib/a.py": "x = 1\n",
    "docs/more.md": "More.\n",
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "repo"
    root.mkdir()
    start(root, FILES)
    return root


@pytest.fixture
def work(root: Path) -> Iterator[Workspace]:
    with Workspace.open(root) as work:
        yield work


def rules(work: Workspace, file: str = "lib/a.py") -> list[str]:
    return sorted(rule.path for rule in work.why([file])[0].rules)


def state(root: Path) -> tuple[str, list[str]]:
    """What git sees of a repository, and every file in it, git's own included."""
    seen = git(root, "status", "--porcelain", "--ignored")
    return seen, sorted(str(path) for path in root.rglob("*"))


def test_nothing_needs_to_be_ingested_and_nothing_is_written_into_the_repository(
    root: Path,
) -> None:
    commit(root, {"lib/a.py": "x = 2\n"})
    before = state(root)
    first = run(root, "why", "lib/a.py", "--json")
    assert "nothing was ingested yet: read 1 document" in first.stderr
    assert expect(root, "why", "lib/a.py", "--json").stderr == ""
    expect(root, "why", "lib/a.py", "--at", "HEAD~1")
    expect(root, "size", "--files", "lib/a.py")
    expect(root, "doctor")
    expect(root, "replay", "--last", "2", "--worktree")
    printed = expect(root, "review", "prepare", "--diff", "main..work")
    assert "MUST be kind." in printed.stdout
    assert "--output names a folder" in printed.stderr
    expect(root, "context", "review", "--files", "lib/a.py", "--output", str(root.parent / "out"))
    assert state(root) == before


def test_every_place_of_a_repository_gives_the_same_answer(root: Path, tmp_path: Path) -> None:
    asked = ("why", "--json")
    here = answer(root, *asked, "lib/a.py")
    assert here["files"][0]["rules"][0]["path"] == "AGENTS.md"
    assert answer(root / "lib", *asked, "a.py") == here
    git(root, "worktree", "add", "-q", str(tmp_path / "linked"))
    assert answer(tmp_path / "linked" / "lib", *asked, "a.py") == here
    above = tmp_path / "above"
    above.mkdir()
    start(above, {"README.md": "x\n"})
    git(above, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(root), "sub")
    assert answer(above / "sub" / "lib", *asked, "a.py") == here
    assert git(above, "status", "--porcelain", "--ignored").splitlines() == [
        "A  .gitmodules",
        "A  sub",
    ]


@pytest.mark.parametrize("own_folder", [True, False])
def test_what_changed_is_read_before_the_answer(root: Path, own_folder: bool) -> None:
    if own_folder:
        write(root, {".hornbook/config.yaml": "reserve: 9000\n"})
    said: list[str] = []
    with Workspace.open(root) as work:
        work.tell = said.append
        assert rules(work) == ["AGENTS.md"]
        write(root, {"AGENTS.md": "# Agents\n\nMUST be kinder, and more so.\n"})
        assert "kinder" in (work.review_context(["lib/a.py"]).text or "")
        write(root, {"lib/AGENTS.md": "# Lib\n\nMUST be small.\n"})
        assert rules(work) == ["AGENTS.md", "lib/AGENTS.md"]
        (root / "AGENTS.md").unlink()
        assert rules(work) == ["lib/AGENTS.md"]
        assert rules(work) == ["lib/AGENTS.md"]
    assert said == [
        "nothing was ingested yet: read 1 document",
        "read again since the last ingest: AGENTS.md (changed)",
        "read again since the last ingest: lib/AGENTS.md (new)",
        "read again since the last ingest: AGENTS.md (gone)",
    ]
    assert (root / ".hornbook" / "store").exists() == own_folder


def test_a_change_that_keeps_size_and_time_is_found(root: Path, work: Workspace) -> None:
    assert rules(work) == ["AGENTS.md"]
    before = (root / "AGENTS.md").stat()
    write(root, {"AGENTS.md": FILES["AGENTS.md"].replace("kind", "mild")})
    os.utime(root / "AGENTS.md", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "mild" in (work.review_context(["lib/a.py"]).text or "")


def test_what_decides_which_files_are_rules_is_followed_too(root: Path, work: Workspace) -> None:
    write(root, {"lib/AGENTS.md": "# Lib\n", "CLAUDE.md": "@docs/more.md\n\nMore rules.\n"})
    assert rules(work) == ["AGENTS.md", "CLAUDE.md", "lib/AGENTS.md"]
    write(root, {".gitignore": "lib/AGENTS.md\n"})
    assert rules(work) == ["AGENTS.md", "CLAUDE.md"]
    git(root, "add", "-f", "lib/AGENTS.md")
    assert rules(work) == ["AGENTS.md", "CLAUDE.md", "lib/AGENTS.md"]
    write(root, {"docs/more.md": "Another text.\n"})
    assert "Another text." in (work.review_context(["lib/a.py"]).text or "")
    (root / "CLAUDE.md").unlink()
    (root / "CLAUDE.md").symlink_to("docs/more.md")
    assert "Another text." in (work.review_context(["lib/a.py"]).text or "")
    (root / "CLAUDE.md").unlink()
    (root / "CLAUDE.md").symlink_to("lib/a.py")
    assert "Another text." not in (work.review_context(["lib/a.py"]).text or "")


def test_settings_that_changed_are_followed(root: Path) -> None:
    write(root, {".hornbook/config.yaml": "reserve: 9000\n"})
    with Workspace.open(root) as work:
        assert rules(work) == ["AGENTS.md"]
    write(root, {".hornbook/config.yaml": "exclude: [AGENTS.md]\n"})
    with Workspace.open(root) as work:
        assert rules(work) == []


def test_an_ingest_of_one_path_does_not_hide_the_rest(root: Path, work: Workspace) -> None:
    write(root, {"lib/AGENTS.md": "# Lib\n"})
    work.ingest([root / "lib"])
    assert rules(work) == ["AGENTS.md", "lib/AGENTS.md"]


def test_a_newer_graph_of_another_process_is_taken(root: Path, work: Workspace) -> None:
    (root / ".hornbook").mkdir()
    assert rules(work) == ["AGENTS.md"]
    write(root, {"lib/AGENTS.md": "# Lib\n"})
    with Workspace.open(root) as other:
        other.ingest()
    assert rules(work) == ["AGENTS.md", "lib/AGENTS.md"]


def test_where_nothing_changed_no_file_is_parsed(root: Path) -> None:
    with Workspace.open(root) as work:
        rules(work)
        places = work.places
    with Repository.open(root) as again:
        again.use(places)
        assert again.is_current()
        write(root, {"lib/b.py": "y = 1\n"})
        assert not again.is_current()  # a new name may be a rule's: only a reader can tell


def test_a_repository_that_cannot_be_written_is_answered_from_the_cache(root: Path) -> None:
    write(root, {".hornbook/store": "a file, so that no folder can be made here\n"})
    with Workspace.open(root) as work:
        assert rules(work) == ["AGENTS.md"]
        assert work.places == Places(root, cache_folder(root))
    assert (root / ".hornbook" / "store").is_file()


def test_without_a_cache_folder_the_graph_lasts_as_long_as_the_workspace(
    root: Path, tmp_path: Path
) -> None:
    write(tmp_path, {"cache": "a file, so that no folder can be made here\n"})
    before = state(root)
    with Workspace.open(root) as work:
        assert rules(work) == ["AGENTS.md"]
        write(root, {"lib/AGENTS.md": "# Lib\n"})
        assert rules(work) == ["AGENTS.md", "lib/AGENTS.md"]
        folder = work.places.aside
        assert folder is not None
    assert not folder.exists()
    (root / "lib" / "AGENTS.md").unlink()
    assert state(root) == before


def test_the_cache_forgets_repositories_that_are_gone(root: Path, tmp_path: Path) -> None:
    with Workspace.open(root) as work:
        rules(work)
    kept = cache_folder(root)
    assert kept is not None
    assert kept.exists()
    other = tmp_path / "other"
    shutil.move(root, other)
    with Workspace.open(other) as work:
        assert rules(work) == ["AGENTS.md"]
    assert not kept.exists()


def test_two_at_once_give_the_same_answer(root: Path) -> None:
    command = [sys.executable, "-m", "hornbook", "why", "lib/a.py", "--json"]
    started = [
        subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    printed = [process.communicate()[0] for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert printed[0] == printed[1]
    assert b"AGENTS.md" in printed[0]


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("origin")
    start(root, FILES)
    for number in range(3):
        commit(
            root, {"AGENTS.md": f"# Agents\n\nMUST be {number}.\n", "lib/a.py": f"x = {number}\n"}
        )
    git(root, "config", "uploadpack.allowFilter", "true")
    return root


ASKED = (
    ("why", "lib/a.py", "--at", "HEAD~2"),
    ("context", "review", "--diff", "HEAD~2..HEAD"),
    ("review", "prepare", "--diff", "HEAD~2..HEAD"),
)


def test_a_shallow_clone_gets_a_sentence_with_a_remedy_that_works(
    origin: Path, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth=1", origin.as_uri(), str(clone))
    for asked in (*ASKED, ("replay", "HEAD~2..HEAD")):
        told = expect(clone, *asked, code=2).stderr
        assert "'HEAD~2' names no commit in" in told
        assert "shallow clone: `git fetch --unshallow` brings" in told
        assert "hint:" not in told
    assert "--unshallow" in expect(clone, "replay", "--last", "3").stdout
    git(clone, "fetch", "-q", "--unshallow")
    assert answer(clone, *ASKED[0], "--json")["files"][0]["rules"]


def test_a_partial_clone_gets_a_sentence_with_a_remedy_that_works(
    origin: Path, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--filter=blob:none", origin.as_uri(), str(clone))
    assert answer(clone, "why", "lib/a.py", "--json")["files"][0]["rules"]
    for asked in ASKED:
        told = expect(clone, *asked, code=2).stderr
        assert "lacks the object" in told
        assert "`git fetch --refetch --no-filter` brings what is missing" in told
        assert "fatal" not in told
    assert "--no-filter" in expect(clone, "replay", "--last", "2").stdout
    git(clone, "fetch", "-q", "--refetch", "--no-filter")
    assert answer(clone, *ASKED[0], "--json")["files"][0]["rules"]
