"""What is read from the extracts is what the graph says."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pyoxigraph
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hornbook import Workspace
from hornbook.errors import StoreError
from hornbook.graph.extracts import FOLDER, MOST_SEGMENTS, PLACES, Extracts, extract
from hornbook.graph.generations import Generation
from hornbook.graph.oxigraph import OxigraphStore
from hornbook.graph.snapshot import Snapshot
from hornbook.graph.statements import XSD, SubjectStatements
from hornbook.graph.store import NamedGraph
from hornbook.vocabulary import predicates as p
from hornbook.vocabulary.names import UNNAMED, predicate_iri
from tests.kit.servers import DECISIONS
from tests.kit.workspaces import SOPS, with_the_example_sop, write


def generation_of(work: Workspace) -> Generation:
    work.snapshot()
    found = work._generation
    assert isinstance(found, Generation)
    return found


def extracted(work: Workspace) -> int:
    """How many documents were extracted; of each the graph must say the same."""
    snapshot, generation = work.snapshot(), generation_of(work)
    asked = Snapshot(lambda: snapshot.store, snapshot.catalog, snapshot.settings)
    assert snapshot.describe(snapshot.ids) == asked.describe(snapshot.ids)
    assert [snapshot.thing(each) for each in snapshot.ids] == asked.describe(snapshot.ids)
    extracts = generation.extracts()
    assert extracts is not None
    return sum(extracts.of(place) is not None for place in range(len(snapshot.ids)))


@contextmanager
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the queries that are asked of the store meanwhile."""
    names: list[str] = []
    rows = OxigraphStore.rows

    def counted(self: OxigraphStore, name: str, /, **terms: str) -> list[tuple[str, ...]]:
        names.append(name)
        return rows(self, name, **terms)

    with monkeypatch.context() as patched:
        patched.setattr(OxigraphStore, "rows", counted)
        yield names


def test_every_document_is_read_without_asking_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write(with_the_example_sop(tmp_path), DECISIONS)
    with Workspace.open(root) as work:
        work.ingest()
        assert extracted(work) == 4
        snapshot = work.snapshot()
        with counting(monkeypatch) as names:
            assert all(thing.triples for thing in snapshot.describe(snapshot.ids))
            assert names == []
            chunk = snapshot.describe([f"{snapshot.ids[-1]}.chunk.1", "nothing.here"])
            assert [bool(thing.triples) for thing in chunk] == [True, False]
            assert names == ["describe"]


def test_plans_decisions_and_clashing_documents_are_extracted_as_the_graph_has_them(
    tmp_path: Path,
) -> None:
    root = write(
        with_the_example_sop(tmp_path),
        {
            **DECISIONS,
            f"{SOPS}/a/b.md": "---\nkeywords: [x, y, x]\n---\n# B\n\n## Requirements\n\n10. Ten\n2. Two\n",
            f"{SOPS}/a-b.md": '---\ntitle: "quoted \\"and\\" \\u0007"\n---\n# B again \\\\ é\t€\n',
            f"{SOPS}/bad.md": "---\nseverity: [\n---\n# Bad\n",
            "src/a.py": 'def f() -> None:\n    """Say."""\n',
        },
    )
    with Workspace.open(root) as work:
        work.ingest()
        work.plan_book().explore("Rate limits", None, path="text")
        work.ingest()
        found = extracted(work)
        assert found == len(work.snapshot().ids) > 7


@pytest.mark.parametrize(
    ("time", "certain"),
    [
        ("2026-11-17T02:42:36.120Z", True),
        ("2026-11-17T02:42:36.000Z", True),
        ("2026-11-17T02:42:36Z", True),
        ("2026-11-17T02:42:36.123456789Z", True),
        ("0001-01-01T00:00:00.10Z", True),
        ("2026-02-30T00:00:00.10Z", False),
        ("2026-11-17T24:00:00.10Z", False),
        ("2026-11-17T02:42:36.1200000000000000000Z", False),
    ],
)
def test_a_time_is_extracted_as_the_store_spells_it(time: str, *, certain: bool) -> None:
    predicate = predicate_iri(p.PLAN_CREATED_AT.name)
    line = f'{UNNAMED.term("a.b")} <{predicate}> "{time}"^^<{XSD}dateTime>'
    found = extract([line], "a.b", UNNAMED)
    store = pyoxigraph.Store()
    store.load(f"{line} .".encode(), format=pyoxigraph.RdfFormat.N_TRIPLES)
    (quad,) = store
    assert isinstance(quad.object, pyoxigraph.Literal)
    assert bool(found) is certain
    if certain:
        assert msgspec.msgpack.decode(found)[0][1] == quad.object.value


NAMES = st.sampled_from([f"{SOPS}/rule-{number}.md" for number in range(6)])
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=60)


@settings(
    deadline=None,
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(changes=st.lists(st.dictionaries(NAMES, TEXTS | st.none(), max_size=4), max_size=6))
def test_after_any_changes_they_say_what_the_graph_says(
    tmp_path_factory: pytest.TempPathFactory, changes: list[dict[str, str | None]]
) -> None:
    root = with_the_example_sop(tmp_path_factory.mktemp("extracts"))
    with Workspace.open(root) as work:
        work.ingest()
        for change in changes:
            for path, text in change.items():
                if text is None:
                    (root / path).unlink(missing_ok=True)
                else:
                    write(root, {path: f"# {text}\n\n{text}\n"})
            work.ingest()
            assert extracted(work) == len(work.snapshot().ids)
        before = work.export()
        work.ingest(rebuild=True)
        assert extracted(work) == len(work.snapshot().ids)
        assert work.export() == before


def test_many_ingests_leave_few_files_and_no_dead_bytes_in_masses(tmp_path: Path) -> None:
    root = with_the_example_sop(tmp_path)
    with Workspace.open(root) as work:
        work.ingest()
        for number in range(3 * MOST_SEGMENTS):
            write(root, {f"{SOPS}/rule-{number % 20}.md": f"# Rule {number}\n\nText {number}.\n"})
            work.ingest()
        assert extracted(work) == 22
        folder = generation_of(work).folder / FOLDER
        files = [path for path in folder.iterdir() if path.name != PLACES]
        assert len(files) <= MOST_SEGMENTS
        extracts = Extracts(folder)
        live = sum(len(extract_bytes(extracts, place)) for place in range(22))
        extracts.close()
        assert sum(path.stat().st_size for path in files) <= 2 * live


def extract_bytes(extracts: Extracts, place: int) -> bytes:
    return msgspec.msgpack.encode(extracts.of(place))


def test_a_store_without_extracts_answers_from_the_graph(tmp_path: Path) -> None:
    root = with_the_example_sop(tmp_path)
    with Workspace.open(root) as work:
        work.ingest()
        expected = work.snapshot().describe(work.snapshot().ids)
        (generation_of(work).folder / FOLDER / PLACES).unlink()
        assert work.refresh().describe(work.snapshot().ids) == expected
        assert generation_of(work).extracts() is None
        # What is written from now on is extracted; the rest stays with the graph.
        write(root, {f"{SOPS}/new.md": "# New\n\nText.\n"})
        work.ingest()
        assert extracted(work) == 1
        work.ingest(rebuild=True)
        assert extracted(work) == 3


def test_damaged_extracts_are_told_and_the_next_ingest_builds_them_anew(tmp_path: Path) -> None:
    root = with_the_example_sop(tmp_path)
    with Workspace.open(root) as work:
        work.ingest()
        places = generation_of(work).folder / FOLDER / PLACES
        whole = places.read_bytes()
        places.write_bytes(whole[:-3])
        with pytest.raises(StoreError, match="--rebuild"):
            work.refresh().describe(work.snapshot().ids)
        places.write_bytes(whole)
        (places.parent / "1").unlink()
        with pytest.raises(StoreError, match="--rebuild"):
            work.refresh().describe(work.snapshot().ids)
        write(root, {f"{SOPS}/newer.md": "# Newer\n\nText.\n"})
        assert "index_rebuilt" in [each.code for each in work.ingest().problems]
        places = generation_of(work).folder / FOLDER / PLACES
        places.write_bytes(b"\xff")
        write(root, {f"{SOPS}/new.md": "# New\n\nText.\n"})
        assert "index_rebuilt" in [each.code for each in work.ingest().problems]
        assert extracted(work) == 4


@given(
    value=st.one_of(
        st.datetimes().map(lambda at: at.isoformat() + "Z"),
        st.sampled_from(["2026-01-01T00:00:00.500Z", "2026-01-01T00:00:00+00:00", "soon", "24:00"]),
    )
)
def test_a_time_that_the_store_spells_otherwise_is_left_to_the_store(value: str) -> None:
    statements: list[str] = []
    SubjectStatements("plan.x", statements, UNNAMED).say(p.PLAN_CREATED_AT, value)
    store = OxigraphStore.in_memory()
    store.replace([NamedGraph("urn:x", tuple(statements))])
    ((name, said),) = store.rows("entity", subject=UNNAMED.term("plan.x"))
    assert extract(statements, "plan.x", UNNAMED) in {b"", extract_of(name, said)}


def extract_of(name: str, text: str) -> bytes:
    return msgspec.msgpack.encode(((name, text),))
