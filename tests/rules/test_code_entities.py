from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.graph import documents
from hornbook.rules.code.file import code_id
from tests.kit.workspaces import with_the_example_sop, write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = with_the_example_sop(tmp_path)
    return write(
        root,
        {
            ".hornbook/config.yaml": "code: ['app/**']\n",
            "app/__init__.py": "",
            "app/store.py": "class Store:\n    def put(self, key: str) -> None:\n        pass\n",
            "app/main.py": "from app.store import Store\nimport json\n\n\ndef run() -> None:\n    pass\n",
            "other/x.py": "def hidden(): pass\n",
        },
    )


def test_code_that_is_asked_for_becomes_entities_with_edges(root: Path) -> None:
    with Workspace.open(root) as work:
        report = work.ingest(strict=True)
        assert report.problems == ()
        graph = work.snapshot()
        thing = graph.thing(code_id("app/main.py"))
        assert ("code.language", "python") in thing.triples
        assert any(name == "code.signature" and "def run" in text for name, text in thing.triples)
        assert ("code.imports", code_id("app/store.py")) in thing.triples
        assert code_id("other/x.py") not in graph.ids
        assert documents.catalog(graph.store).entries == graph.catalog.entries


def test_related_files_are_told_in_both_directions(root: Path) -> None:
    with Workspace.open(root) as work:
        work.ingest()
        assert "app/store.py" in work.snapshot().related_files("app/main.py")
        assert work.snapshot().related_files("app/store.py") == ["app/main.py"]


def test_an_edge_appears_when_the_imported_file_does(root: Path) -> None:
    write(root, {"app/main.py": "from app.later import x\n"})
    with Workspace.open(root) as work:
        work.ingest()
        assert "app/later.py" not in work.snapshot().related_files("app/main.py")
        write(root, {"app/later.py": "x = 1\n"})
        work.ingest()
        assert "app/later.py" in work.snapshot().related_files("app/main.py")
        before = work.export()
        work.ingest(rebuild=True)
        assert work.export() == before
        (root / "app/later.py").unlink()
        work.ingest()
        assert "app/later.py" not in work.snapshot().related_files("app/main.py")


def test_a_review_shows_what_the_files_declare_from_the_graph_or_anew(root: Path) -> None:
    with Workspace.open(root) as work:
        work.ingest()
        known = work.snapshot().code("app/store.py", (root / "app/store.py").read_bytes())
        assert known is not None
        assert [each.text for each in known.signatures] == [
            "class Store",
            "def put(self, key: str) -> None",
        ]
        assert work.snapshot().code("app/store.py", b"changed") is None
        for path in ("app/store.py", "other/x.py"):
            text = work.review_context([path]).text or ""
            assert f'### "{path}" (python)' in text


def test_code_binds_nothing_and_is_no_rule(root: Path) -> None:
    with Workspace.open(root) as work:
        work.ingest()
        (answer,) = work.why(["app/main.py"])
    assert answer.rules == ()
    assert answer.not_enforced == ()
