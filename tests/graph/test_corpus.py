"""All rule formats at once, on real files where they are there; they are never committed."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hornbook import Workspace
from tests.kit.paths import CORPUS

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not here"),
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("corpus") / "repo"
    shutil.copytree(CORPUS, root)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    with Workspace.open(root) as work:
        work.ingest([root])
    return root


def test_every_file_is_a_document_or_a_reported_problem(root: Path) -> None:
    with Workspace.open(root) as work:
        report = work.ingest()
        known = {entry.path for entry in work.snapshot().catalog.entries}
        known |= {problem.path for problem in report.problems}
    files = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_file() and not {".git", ".hornbook"} & set(path.relative_to(root).parts)
    }
    assert files
    assert files <= known


def test_every_document_is_whole_in_the_graph(root: Path) -> None:
    with Workspace.open(root) as work:
        for entry in work.snapshot().catalog.entries:
            document = work.snapshot().document(entry.id)
            assert (document.head + document.body).encode() == (root / entry.path).read_bytes()


def test_the_catalog_equals_what_the_graph_says(root: Path) -> None:
    from hornbook.graph import documents

    with Workspace.open(root) as work:
        snapshot = work.snapshot()
        assert documents.catalog(snapshot.store).entries == snapshot.catalog.entries


def test_no_rule_is_of_unknown_activation(root: Path) -> None:
    with Workspace.open(root) as work:
        unknown = [e.path for e in work.snapshot().catalog.entries if e.activation == "unknown"]
    assert unknown == []


def test_a_rust_file_is_bound_by_the_rust_rules(root: Path) -> None:
    with Workspace.open(root) as work:
        (answer,) = work.why(["src/lib.rs"])
    bound = {rule.id for rule in answer.rules}
    assert "source.doc.sops.cursor-rust-general" in bound or any("rust" in each for each in bound)
    assert not any(each.endswith(("-dart", "copilot-csharp-ja")) for each in bound)
