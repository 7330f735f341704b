"""How a generation is laid out in a store that others run, and that named queries fit any store."""

import re
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyparsing import ParseResults
from rdflib import Dataset
from rdflib.plugins.sparql.parser import parseQuery

from hornbook import resources
from hornbook.graph import store as queries
from hornbook.graph.oxigraph import OxigraphStore
from hornbook.graph.remote.manifest import (
    PAGE_OF,
    STATE_OF,
    Manifest,
    digest,
    line_of,
    stored,
    through_manifest,
)
from hornbook.graph.statements import SubjectStatements, iri, literal, quads
from hornbook.graph.store import NamedGraph
from hornbook.vocabulary import predicates as p
from hornbook.vocabulary.names import Namespace
from hornbook.vocabulary.predicates import Class

NAMES = Namespace("acme-1a2b3c")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
XSD = "http://www.w3.org/2001/XMLSchema#"
NAMED = sorted(path.stem for path in (resources.folder("queries") / "sparql").glob("*.rq"))
HASHES = st.text("0123456789abcdef", min_size=64, max_size=64)
MEMBERS = st.dictionaries(
    st.from_regex(r"[a-z]{1,6}(\.[a-z]{1,6}){0,2}", fullmatch=True).map(NAMES.graph), HASHES
)


def as_a_store_says(statement: str) -> str:
    store = ox.Store()
    store.load(f"{statement} .\n".encode(), format=ox.RdfFormat.N_TRIPLES)
    quad = next(iter(store))
    return f"{quad.subject} {quad.predicate} {quad.object}"


@given(TEXT)
def test_a_text_is_spelled_as_a_store_gives_it_back(text: str) -> None:
    statement = f"<urn:s> <urn:p> {literal(text)}"
    assert line_of(statement) == as_a_store_says(statement)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("integer", "007"),
        ("integer", "12"),
        ("decimal", "1.50"),
        ("boolean", "true"),
        ("boolean", "1"),
        ("date", "2026-01-02"),
        ("dateTime", "2026-01-02T03:04:05.100Z"),
    ],
)
def test_a_typed_value_is_spelled_as_a_store_gives_it_back(kind: str, text: str) -> None:
    statement = f'<urn:s> <urn:p> "{text}"^^<{XSD}{kind}>'
    assert line_of(statement) == as_a_store_says(statement)


@given(MEMBERS)
def test_pages_list_each_member_once_and_the_manifest_each_page(members: dict[str, str]) -> None:
    manifest = Manifest(NAMES, members)
    lines = [line for page in manifest.pages.values() for line in page.lines]
    assert sorted(lines) == sorted(
        f"<{graph}@{hashed}> {STATE_OF} <{graph}>" for graph, hashed in members.items()
    )
    listed = [line for line in manifest.root.lines if f" {PAGE_OF} " in line]
    assert len(listed) == len(manifest.pages)
    assert manifest.root.hash == digest(manifest.root.lines)


@given(MEMBERS.filter(bool), HASHES, st.data())
def test_an_edit_makes_one_page_anew(
    members: dict[str, str], hashed: str, data: st.DataObject
) -> None:
    edited = data.draw(st.sampled_from(sorted(members)))
    before = Manifest(NAMES, members)
    after = Manifest(NAMES, {**members, edited: hashed})
    known = {page.iri for page in before.pages.values()}
    fresh = [page for page in after.pages.values() if page.iri not in known]
    assert len(fresh) == (members[edited] != hashed)
    assert (before.root.hash == after.root.hash) == (members[edited] == hashed)


def test_a_document_and_its_past_are_in_one_page_of_few() -> None:
    names = [f"source.doc.sops.rule-{number}" for number in range(5000)]
    members = {graph(name): "0" * 64 for name in names for graph in (NAMES.graph, NAMES.history)}
    pages = Manifest(NAMES, members).pages
    assert len(pages) == 128
    assert max(len(page.lines) for page in pages.values()) < 3 * len(members) / len(pages)
    where = {line.rpartition(" ")[2]: page for page, each in pages.items() for line in each.lines}
    for name in names:
        assert where[f"<{NAMES.graph(name)}>"] == where[f"<{NAMES.history(name)}>"]


def test_equal_content_has_an_equal_name_in_any_order() -> None:
    lines = ['<urn:s> <urn:p> "a"', '<urn:s> <urn:p> "b"']
    assert stored("urn:g", lines) == stored("urn:g", reversed(lines))
    assert stored("urn:g", lines).iri.startswith("urn:g@")


@pytest.mark.parametrize("name", NAMED)
def test_every_graph_of_a_named_query_is_held_to_the_manifest(name: str) -> None:
    groups = re.findall(r"GRAPH [?$]\w+", queries.text(name))
    through = through_manifest(name)
    assert groups
    assert len(groups) == through.count("GRAPH $manifest {") == through.count(f" {STATE_OF} ")
    texts = re.findall(r'"([^"]*)"', queries.text(name))
    assert not any(brace in text for text in texts for brace in "{}"), "braces are counted"


def said(entity: str, kind: Class, *facts: tuple[p.Predicate, str]) -> NamedGraph:
    lines: list[str] = []
    say = SubjectStatements(entity, lines, NAMES)
    say.say(p.RDF_TYPE, kind)
    for predicate, value in facts:
        say.say(predicate, value)
    return NamedGraph(NAMES.graph(entity), tuple(lines))


RULE = "source.doc.sops.error-handling"
PATH = ".semspec/sources/docs/sops/error-handling.md"
AT = (p.GENERATED_AT, "2026-01-02T03:04:05Z")
FINDING = said(
    "review.r1.1.finding.1", Class.FINDING, (p.FINDING_PATH, PATH), (p.FINDING_LINE, "3")
)
GRAPHS = [
    said(
        RULE,
        Class.SOP,
        (p.TYPE, "document"),
        (p.APPLIES_TO, "*.go"),
        (p.ACTIVATION, "glob"),
        (p.CATEGORY, "sop"),
        (p.FILE_PATH, PATH),
        (p.DERIVED_FROM, "plan.tax"),
    ),
    said("source.doc.sops.all", Class.SOP, (p.TYPE, "document"), (p.ACTIVATION, "always")),
    said(
        "convention.wrap",
        Class.CONVENTION,
        (p.APPLIES_TO, "*.go"),
        (p.ACTIVATION, "glob"),
        (p.CATEGORY, "convention"),
        (p.CONVENTION_STANDING, "promoted"),
        (p.DERIVED_FROM, "review.r1.1"),
    ),
    said(
        "decision.go",
        Class.DECISION,
        (p.APPLIES_TO, "*.go"),
        (p.ACTIVATION, "glob"),
        (p.CATEGORY, "decision"),
        (p.DECISION_STATUS, "accepted"),
        (p.DERIVED_FROM, "plan.tax"),
    ),
    said("plan.tax", Class.PLAN, (p.TITLE, "Tax"), (p.PLAN_COMMITTED, "true")),
    said(
        "review.r1.1",
        Class.REVIEW,
        (p.REVIEW_OUTCOME, "approved"),
        (p.REVIEW_PASSED, RULE),
        (p.REVIEW_FINDING, "review.r1.1.finding.1"),
        (p.DERIVED_FROM, f"{RULE}.rev.0123456789ab"),
        AT,
    ),
    said(
        "run.r1",
        Class.RUN,
        (p.DERIVED_FROM, "plan.tax"),
        (p.RUN_STATUS, "approved"),
        (p.RUN_WORKFLOW, "plan"),
        (p.RUN_ATTEMPTS, "1"),
        (p.RUN_TOKENS, "12"),
        (p.RUN_COST, "0.5"),
        AT,
    ),
    said(
        f"{RULE}.rev.0123456789ab",
        Class.REVISION,
        (p.REVISION_OF, RULE),
    ),
    said(
        "source.doc.sops.gone",
        Class.TOMBSTONE,
        (p.FILE_PATH, "gone.md"),
        (p.INVALIDATED_AT, "2026-01-02T03:04:05Z"),
    ),
    said(
        "receipt.r1",
        Class.RECEIPT,
        (p.RECEIPT_FILE, PATH),
        (p.RECEIPT_BASE, "0" * 40),
        (p.RECEIPT_HEAD, "1" * 40),
        (p.DERIVED_FROM, f"{RULE}.rev.0123456789ab"),
    ),
    NamedGraph(NAMES.meta_graph, said("store.current", Class.STORE).statements),
]


def asked_of(names: Namespace, name: str) -> dict[str, str]:
    """Terms for the parameters of a named query, which find something in the graphs above."""
    rule = "source.doc.sops.error-handling"
    path = literal(".semspec/sources/docs/sops/error-handling.md")
    terms = {
        "patterns": '"*.go" "handlers/**"',
        "subject": names.term(rule),
        "subjects": names.term(rule),
        "objects": f"{names.term('plan.tax')} {names.term('decision.0002-rust')}",
        "plan": names.term("plan.tax"),
        "document": names.term(rule),
        "documents": names.term(rule),
        "rules": names.term(rule),
        "decisions": names.term("decision.go"),
        "revision": names.term(f"{rule}.rev.0123456789ab"),
        "graph": iri(names.meta_graph if name == "meta" else names.graph(rule)),
        "path": path,
        "paths": path,
        "folder": literal(".semspec/"),
        "from": "1",
        "to": "9",
    }
    return {each: terms[each] for each in queries.parameters(name)}


REVIEW = NAMES.graph("review.r1.1")
GRAPHS = [
    NamedGraph(each.iri, (*each.statements, *FINDING.statements)) if each.iri == REVIEW else each
    for each in GRAPHS
]


@pytest.fixture(scope="module")
def foreign() -> Dataset:
    """The same graph in a store of another make."""
    dataset = Dataset()
    text = "".join(quads(graph.statements, graph.iri) for graph in GRAPHS)
    dataset.parse(data=text, format="nquads")
    return dataset


def spelled(term: object) -> str:
    """A term as a text; rdflib spells the time zone otherwise."""
    return str(term).replace("+00:00", "Z")


@pytest.mark.parametrize("name", NAMED)
def test_oxigraph_and_rdflib_give_equal_rows_for_a_named_query(name: str, foreign: Dataset) -> None:
    store = OxigraphStore.in_memory(NAMES)
    store.replace(GRAPHS)
    terms = asked_of(NAMES, name)
    # Its rows may be of any form; those of a SELECT are tuples.
    found: Any = foreign.query(queries.fill(name, terms), initNs=NAMES.prefixes)
    rows = [
        tuple("" if each is None else NAMES.name_of(spelled(each)) for each in row) for row in found
    ]
    assert rows, "a query that answers nothing here proves nothing"
    assert sorted(rows) == sorted(store.rows(name, **terms))


def calls_of_functions(node: object) -> list[str]:
    """The functions that only some stores have, and other queries' servers, in a parsed query."""
    name = getattr(node, "name", "")
    found = [name] if name in {"Function", "ServiceGraphPattern"} else []
    if isinstance(node, dict):
        return found + [call for value in node.values() for call in calls_of_functions(value)]
    if isinstance(node, list | tuple | ParseResults):
        return found + [call for value in node for call in calls_of_functions(value)]
    return found


def parsed(text: str) -> object:
    prefixes = "".join(f"PREFIX {name}: <{base}>\n" for name, base in NAMES.prefixes.items())
    return parseQuery(prefixes + text)


@pytest.mark.parametrize("name", NAMED)
def test_a_named_query_is_sparql_11_without_extension_functions(name: str) -> None:
    assert calls_of_functions(parsed(queries.fill(name, asked_of(NAMES, name)))) == []


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?s { GRAPH ?g { ?s ?p ?o } FILTER (hb:matches(?o)) }",
        "SELECT ?s { GRAPH ?g { ?s ?p ?o } FILTER (<urn:f>(?o) = 1) }",
        "SELECT ?s { SERVICE <urn:x> { ?s ?p ?o } }",
    ],
)
def test_an_extension_function_would_be_seen(text: str) -> None:
    assert calls_of_functions(parsed(text))
