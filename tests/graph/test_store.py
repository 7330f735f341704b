import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook import resources
from hornbook.errors import BadQuery
from hornbook.graph import store as queries
from hornbook.graph.export import FORMATS, export
from hornbook.graph.oxigraph import OxigraphStore
from hornbook.graph.sparql import answer
from hornbook.graph.statements import SubjectStatements, iri
from hornbook.graph.store import NamedGraph
from hornbook.vocabulary import predicates as p
from hornbook.vocabulary.names import UNNAMED

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def said(entity_id: str, *texts: str) -> NamedGraph:
    statements: list[str] = []
    subject = SubjectStatements(entity_id, statements, UNNAMED)
    subject.each(p.KEYWORDS, texts)
    return NamedGraph(UNNAMED.graph(entity_id), tuple(statements))


def keywords(store: OxigraphStore, entity_id: str) -> set[str]:
    return {value for _, value in store.rows("entity", subject=UNNAMED.term(entity_id))}


@given(TEXT)
def test_any_text_survives_an_update(text: str) -> None:
    store = OxigraphStore.in_memory()
    store.replace([said("a.b", text)])
    assert keywords(store, "a.b") == {text}


@given(TEXT)
def test_any_text_survives_a_bulk_load_and_reads_back_as_written(text: str) -> None:
    graph = said("a.b", text)
    store = OxigraphStore.in_memory()
    with tempfile.NamedTemporaryFile(suffix=".nq") as file:
        file.write("".join(f"{line} {iri(graph.iri)} .\n" for line in graph.statements).encode())
        file.flush()
        store.load(Path(file.name))
    assert keywords(store, "a.b") == {text}
    assert store.statements(graph.iri) == list(graph.statements)


@given(TEXT)
def test_any_text_can_be_deleted_again(text: str) -> None:
    store = OxigraphStore.in_memory()
    store.replace([said("a.b", text, "stays")])
    store.replace([said("a.b", "stays")])
    assert keywords(store, "a.b") == {"stays"}


def test_replacing_a_graph_leaves_the_others_alone() -> None:
    store = OxigraphStore.in_memory()
    store.replace([said("a.b", "one"), said("a.c", "two")])
    store.replace([said("a.b", "three")])
    assert keywords(store, "a.b") == {"three"}
    assert keywords(store, "a.c") == {"two"}


def test_an_empty_graph_is_gone() -> None:
    store = OxigraphStore.in_memory()
    store.replace([said("a.b", "one")])
    store.replace([NamedGraph(UNNAMED.graph("a.b"), ())])
    assert store.canonical() == []


def all_queries() -> list[str]:
    return sorted(path.stem for path in (resources.folder("queries") / "sparql").glob("*.rq"))


@pytest.mark.parametrize("name", all_queries())
def test_every_query_parses_and_declares_its_parameters(name: str) -> None:
    store = OxigraphStore.in_memory()
    terms = {each: iri("https://example.org/x") for each in queries.parameters(name)}
    assert store.rows(name, **terms) == []
    comments = resources.text("queries", "sparql", f"{name}.rq").splitlines()
    assert comments[0].startswith("# ")
    declared = {line[3:].split(":")[0] for line in comments if line.startswith("# $")}
    assert declared == queries.parameters(name)


def test_every_query_is_asked_by_the_code() -> None:
    source = resources.folder("queries").parent / "src" / "hornbook"
    code = "".join(path.read_text() for path in source.rglob("*.py"))
    for name in all_queries():
        assert re.search(rf'rows\(\s*"{name}"', code), name


def test_a_query_without_its_parameters_is_refused() -> None:
    with pytest.raises(KeyError, match="subject"):
        OxigraphStore.in_memory().rows("entity")


@pytest.fixture
def store() -> OxigraphStore:
    store = OxigraphStore.in_memory()
    store.replace([said("a.b", "one", "two")])
    return store


def test_sparql_reads_over_all_graphs_as_one(store: OxigraphStore) -> None:
    found = answer(store, "SELECT ?k WHERE { ?s source.doc:keywords ?k } ORDER BY ?k", "csv")
    assert found == b"k\r\none\r\ntwo\r\n"


@pytest.mark.parametrize(
    "text",
    [
        "INSERT DATA { <urn:a> <urn:b> <urn:c> }",
        "DELETE WHERE { ?s ?p ?o }",
        "CLEAR ALL",
        "LOAD <http://example.org/x>",
        "DROP ALL",
    ],
)
def test_sparql_updates_are_refused(store: OxigraphStore, text: str) -> None:
    with pytest.raises(BadQuery, match="read-only"):
        answer(store, text, None)
    assert len(store.canonical()) == 2


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * WHERE { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }",
        "SELECT * WHERE { service SILENT ?x { ?s ?p ?o } }",
        "SELECT * WHERE { ?a ?b ?c .SERVICE<http://127.0.0.1:1/>{ ?s ?p ?o } }",
    ],
)
def test_sparql_never_asks_another_server(store: OxigraphStore, text: str) -> None:
    with pytest.raises(BadQuery, match="SERVICE"):
        answer(store, text, None)


def test_the_word_service_in_a_text_is_no_service(store: OxigraphStore) -> None:
    text = 'ASK { ?s source.doc:keywords "SERVICE" . # SERVICE\n ?s ?service ?o }'
    assert answer(store, text, "csv") == b"false\n"


def test_a_syntax_error_is_a_refusal_with_the_place(store: OxigraphStore) -> None:
    with pytest.raises(BadQuery, match="does not parse"):
        answer(store, "SELECT WHERE", None)


def test_construct_answers_as_a_graph(store: OxigraphStore) -> None:
    text = "CONSTRUCT { ?s source.doc:keywords ?k } WHERE { ?s source.doc:keywords ?k }"
    assert answer(store, text, "ntriples").count(b"\n") == 2
    with pytest.raises(BadQuery, match="turtle or ntriples"):
        answer(store, text, "csv")


@pytest.mark.parametrize("name", FORMATS)
def test_equal_content_exports_as_equal_bytes(name: str) -> None:
    one, other = OxigraphStore.in_memory(), OxigraphStore.in_memory()
    one.replace([said("a.b", "one", "two")])
    one.replace([said("a.c", "three")])
    other.replace([said("a.c", "three", "gone")])
    other.replace([said("a.c", "three"), said("a.b", "two", "one")])
    assert export(one, name) == export(other, name)
    assert b"three" in export(one, name)
