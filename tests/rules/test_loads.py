"""Whatever a tool would load for a file is in that file's review context, or named with the reason.

The tables in `tests/data/loads` were written by hand from each tool's documentation.
"""

import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from hornbook.context.prompt import Context
from hornbook.graph.catalog_view import FileAnswer
from hornbook.rules.readers.registry import NATIVE
from hornbook.workspace import Workspace
from tests.kit.git import git
from tests.kit.pages import codes, rows, text_of
from tests.kit.paths import DATA


@dataclass(frozen=True)
class Expected:
    """What a table says about one file; paths of rule files, some with a word of the reason."""

    loads: tuple[str, ...] = ()
    included: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    not_enforced: tuple[tuple[str, str], ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class LoadCase:
    """One tree of a tool's table, and what is expected for each file that is asked about."""

    number: int
    tool: str
    name: str
    tree: dict[str, str]
    asks: dict[str, Expected]

    @property
    def files(self) -> dict[str, str]:
        return {**dict.fromkeys(self.asks, "x = 1\n"), **self.tree}


def _expected(written: Mapping[str, Any] | None) -> Expected:  # as YAML has it
    found = written or {}
    return Expected(
        loads=tuple(found.get("loads", ())),
        included=tuple(found.get("included", ())),
        others=tuple(found.get("others", ())),
        not_enforced=tuple(found.get("not_enforced", {}).items()),
        left_out=tuple(found.get("left_out", {}).items()),
    )


def _cases() -> list[LoadCase]:
    found: list[LoadCase] = []
    for table in sorted((DATA / "loads").glob("*.yaml")):
        written = yaml.load(table.read_text("utf-8"), yaml.CSafeLoader)
        for each in written["trees"]:
            asks = {path: _expected(ask) for path, ask in each["asks"].items()}
            found.append(LoadCase(len(found), written["tool"], each["name"], each["tree"], asks))
    return found


CASES = _cases()


PARAMETERS = [pytest.param(case, id=f"{case.tool}: {case.name}") for case in CASES]


@pytest.fixture(scope="module")
def commits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with every tree as a commit, written in one go: `tree<number>` names it."""
    root = tmp_path_factory.mktemp("loads")
    git(root, "init", "-q", "-b", "main")
    stream = b"".join(map(_as_commit, CASES))
    subprocess.run(["git", "-C", root, "fast-import", "--quiet"], input=stream, check=True)
    return root


def _as_commit(case: LoadCase) -> bytes:
    head = f"commit refs/tags/tree{case.number}\ncommitter t <t@example.org> 0 +0000\ndata 0\n"
    files = []
    for path, text in case.files.items():
        linked = text.startswith("-> ")
        data = text.removeprefix("-> ").encode()
        mode = "120000" if linked else "100644"
        files.append(f"M {mode} inline {path}\ndata {len(data)}\n".encode() + data + b"\n")
    return head.encode() + b"".join(files) + b"\n"


def _plant(root: Path, case: LoadCase, commits: Path) -> None:
    """Write the tree as a work tree of the repository of all commits."""
    for path, text in case.files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            target.symlink_to(text.removeprefix("-> "))
        else:
            target.write_bytes(text.encode())
    (root / ".git").write_text(f"gitdir: {commits / '.git'}\n", "utf-8")


def _without_metadata(text: str) -> str:
    lines = text.splitlines(keepends=True)
    if not lines or lines[0].strip() != "---":
        return text
    end = next((n for n, line in enumerate(lines[1:], 1) if line.strip() == "---"), None)
    return text if end is None else "".join(lines[end + 1 :])


@pytest.mark.parametrize("case", PARAMETERS)
def test_a_file_gets_what_its_tool_would_load(
    case: LoadCase, tmp_path: Path, commits: Path
) -> None:
    _plant(tmp_path, case, commits)
    with Workspace(tmp_path) as workspace:
        workspace.ingest()
        paths = {entry.id: entry.path for entry in workspace.snapshot().catalog.entries}
        answers = workspace.why(list(case.asks))
        if case.number % 4 == 0:  # a graph of its own, which takes as long as all else
            assert answers == workspace.why(list(case.asks), at=f"tree{case.number}")
        for answer, expected in zip(answers, case.asks.values(), strict=True):
            _check_bindings(answer, expected, paths)
            _check_texts(workspace.review_context([answer.path]), expected, tmp_path)


def _check_bindings(answer: FileAnswer, expected: Expected, paths: dict[str, str]) -> None:
    bound = {rule.path for rule in answer.rules}
    assert bound == {*expected.loads, *expected.others}, answer.path
    told = {paths[each.id]: each.reason for each in answer.not_enforced}
    wanted = dict(expected.not_enforced)
    for path, _word in expected.left_out:  # a rule that cannot be read is told twice
        told.pop(path, None)
    assert told.keys() == wanted.keys(), answer.path
    assert [(path, told[path]) for path, word in wanted.items() if word not in told[path]] == []


def _check_texts(context: Context, expected: Expected, root: Path) -> None:
    assert context.outcome == "complete"
    for path in (*expected.loads, *expected.included):
        text = (root / path).read_bytes().decode()
        assert context.text is not None
        assert _without_metadata(text) in context.text, path
    reasons = {getattr(each, "path", ""): each.reason for each in context.left_out}
    for path, word in expected.left_out:
        assert word in reasons[path]


OWN = {"hornbook", "decision", "record", "plan", "code", "plain"}
"""What is read and is no other tool's rule: held by tests of its own."""


def test_every_tool_that_is_read_has_a_table_of_at_least_eight_trees() -> None:
    counted = Counter(case.tool for case in CASES)
    assert len(counted) == len(list((DATA / "loads").glob("*.yaml")))
    documented = {
        codes(row[0])[0] for row in rows(text_of("formats"), "tool", "files", "activation")
    }
    assert documented - OWN - counted.keys() == set()
    assert {reader.tool for reader in NATIVE} - OWN - counted.keys() == set()
    assert min(counted.values()) >= 8, counted
