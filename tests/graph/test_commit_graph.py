"""The graph of a commit is the right one, whatever was kept before and whoever kept it."""

import subprocess
import sys
from pathlib import Path

import pytest

from hornbook.commits import git as asked
from hornbook.commits.commit import commit_at
from hornbook.graph import commit_graph
from hornbook.graph.commit_graph import MOST_KEPT, KeptGraphs, MadeGraph, graph_at
from hornbook.graph.snapshot import Snapshot
from hornbook.rules.catalog import Catalog
from tests.kit.git import commit, git, start

RULE = """\
---
applies_to: "src/**"
severity: error
---

# Names

Functions MUST have names that say what they return, in café or elsewhere.
"""
SOPS = ".hornbook/sources/docs/sops"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "repo"
    place.mkdir()
    start(place, {f"{SOPS}/names.md": RULE, ".hornbook/config.yaml": "reserve: 6000\n"})
    return place


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commits whose graphs were made, not found."""
    made: list[str] = []
    build = commit_graph.build

    def counted(*arguments: object) -> MadeGraph:
        made.append(repr(arguments[0]))
        return build(*arguments)  # type: ignore[arg-type]  # handed on as they are

    monkeypatch.setattr(commit_graph, "build", counted)
    return made


def said(snapshot: Snapshot) -> tuple[object, ...]:
    return (snapshot.catalog, snapshot.settings, snapshot.store.canonical())


def kept(root: Path) -> list[Path]:
    return sorted((root / ".git" / "hornbook" / "graphs").iterdir())


def test_a_graph_is_made_once_and_says_the_same_when_it_is_found(
    root: Path, builds: list[str]
) -> None:
    made = said(graph_at(root, "HEAD"))
    found = said(graph_at(root, "HEAD"))
    assert len(builds) == 1
    assert found == made


def test_another_commit_with_the_same_rules_has_its_own_version(
    root: Path, builds: list[str]
) -> None:
    before = graph_at(root, "HEAD")
    head = commit(root, {"src/app.py": "pass\n"})
    after = graph_at(root, "HEAD")
    assert len(builds) == 1
    assert after.version == head != before.version
    assert after.registry.version == head


@pytest.mark.parametrize(
    "change",
    [
        {f"{SOPS}/names.md": RULE.replace("MUST", "SHOULD")},
        {f"{SOPS}/more.md": RULE},
        {".hornbook/config.yaml": "reserve: 6000\ncounter: o200k\n"},
        {".hornbook/config.yaml": f"exclude: [{SOPS}/names.md]\n"},
        {"AGENTS.md": "# For agents\n"},
    ],
)
def test_whatever_a_graph_is_made_from_makes_another_one(
    root: Path, change: dict[str, str], builds: list[str]
) -> None:
    graph_at(root, "HEAD")
    commit(root, change)
    found = said(graph_at(root, "HEAD"))
    assert len(builds) == 2
    for entry in kept(root):
        entry.unlink()
    assert said(graph_at(root, "HEAD")) == found


def test_the_mode_of_a_rule_file_counts(root: Path, builds: list[str]) -> None:
    graph_at(root, "HEAD")
    (root / SOPS / "names.md").chmod(0o755)
    commit(root, {})
    graph_at(root, "HEAD")
    assert len(builds) == 2


def test_another_version_of_ours_makes_its_own(
    root: Path, builds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph_at(root, "HEAD")
    monkeypatch.setattr(commit_graph, "__version__", "99")
    graph_at(root, "HEAD")
    monkeypatch.setattr(commit_graph, "_maker", lambda: "a checkout that was edited")
    graph_at(root, "HEAD")
    assert len(builds) == 3


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "foreign", "folder"])
def test_an_entry_that_is_damaged_or_foreign_is_made_anew(
    root: Path, damage: str, builds: list[str]
) -> None:
    right = said(graph_at(root, "HEAD"))
    (entry,) = kept(root)
    data = entry.read_bytes()
    if damage == "cut":
        entry.write_bytes(data[:-20])
    elif damage == "changed":
        entry.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    elif damage == "empty":
        entry.write_bytes(b"")
    elif damage == "foreign":  # a whole entry, of other rules
        commit(root, {f"{SOPS}/names.md": RULE.replace("MUST", "MAY")})
        graph_at(root, "HEAD")
        (other,) = set(kept(root)) - {entry}
        entry.write_bytes(other.read_bytes())
    else:
        entry.unlink()
        entry.mkdir()
    builds.clear()
    base = git(root, "rev-parse", "main")
    assert said(graph_at(root, base)) == right
    assert len(builds) == 1


def test_where_nothing_can_be_written_it_is_made_each_time(root: Path, builds: list[str]) -> None:
    (root / ".git" / "hornbook").write_text("in the way")
    first, second = (said(graph_at(root, "HEAD")) for _ in range(2))
    assert first == second
    assert len(builds) == 2


def test_only_so_many_are_kept(tmp_path: Path) -> None:
    graphs = KeptGraphs(tmp_path)
    for number in range(MOST_KEPT + 5):
        graphs.write(f"{number:064}", MadeGraph(Catalog(), b""))
    assert len(list(tmp_path.iterdir())) == MOST_KEPT
    assert graphs.read(f"{MOST_KEPT + 4:064}") == MadeGraph(Catalog(), b"")


def test_two_processes_at_once_get_the_same_graph(root: Path) -> None:
    program = (
        "import sys, hashlib; from pathlib import Path\n"
        "from hornbook.graph.commit_graph import graph_at\n"
        "found = graph_at(Path(sys.argv[1]), 'HEAD')\n"
        "print(hashlib.sha256(b''.join(found.store.canonical())).hexdigest())\n"
    )
    command = [sys.executable, "-c", program, str(root)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = {process.communicate()[0] for process in both}
    assert [process.returncode for process in both] == [0, 0]
    assert len(told) == 1
    assert len(kept(root)) == 1


def test_a_branch_that_moves_is_another_commit_within_one_operation(root: Path) -> None:
    with asked.operation(root):
        before = graph_at(root, "work")
        assert graph_at(root, "work") is before
        commit(root, {f"{SOPS}/names.md": RULE.replace("# Names", "# Other names")})
        after = graph_at(root, "work")
        assert [entry.title for entry in before.catalog.entries] == ["Names"]
        assert [entry.title for entry in after.catalog.entries] == ["Other names"]
        git(root, "reset", "-q", "--hard", "main")
        assert graph_at(root, "work") is before


def test_nothing_is_kept_where_a_change_could_bring_it_along(root: Path) -> None:
    graph_at(root, "HEAD")
    assert git(root, "status", "--porcelain", "--ignored") == ""
    assert commit_at(root, "HEAD").sha == git(root, "rev-parse", "HEAD")
