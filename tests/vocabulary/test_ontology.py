"""What an RDF engineer asks of the ontology and of an export, answered by foreign tools."""

import json
from pathlib import Path

import owlrl  # type: ignore[import-untyped]  # it has no types
import pyshacl
import pytest
import rdflib
from rdflib.namespace import DCTERMS, OWL, PROV, RDF, RDFS, VANN, XSD

from hornbook import Workspace, resources
from hornbook.rules.code.file import code_id, unencoded_id
from hornbook.vocabulary.names import BASE, ONTOLOGY, PREDICATE, Namespace, encode
from tests.kit import review_cases as cases
from tests.kit.git import commit, git, start
from tests.kit.reviews import REJECTION, recorded
from tests.kit.workspaces import write

HB = rdflib.Namespace(f"{BASE}c/")
STANDARDS = Path(__file__).parents[1] / "data" / "vocabulary" / "standards.ttl"
TOLD = rdflib.URIRef("http://www.daml.org/2002/03/agents/agent-ont#error")
"""How owlrl tells of a contradiction."""
ORIGINS = ("ssh://git@example.org/acme/shop.git", "https://example.org/acme/till.git")


def ontology() -> rdflib.Graph:
    graph = rdflib.Graph()
    for path in sorted(resources.folder("vocabulary").glob("*.ttl")):
        graph.parse(path)
    return graph


def merged(*exports: str) -> rdflib.Graph:
    dataset = rdflib.Dataset(default_union=True)
    for export in exports:
        dataset.parse(data=export, format="nquads")
    graph = rdflib.Graph()
    for subject, predicate, value, _ in dataset.quads():
        graph.add((subject, predicate, value))
    return graph


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two repositories with the same files, a recorded review in each, and a past."""
    return tuple(  # type: ignore[return-value]  # two of them
        _export(tmp_path_factory.mktemp("repository"), origin) for origin in ORIGINS
    )


def _export(root: Path, origin: str) -> str:
    start(root, {**cases.RULES, "README.md": "# It\n"})
    commit(root, cases.CHANGED)
    git(root, "remote", "add", "origin", origin)
    recorded(root, REJECTION)
    decision = "docs/adr/0002-later.md"
    write(root, {decision: "# Later\n\n- Status: accepted\n- Date: 2026-02-01\n"})
    with Workspace.open(root) as work:
        work.ingest()
        write(root, {decision: "# Later\n\n- Status: superseded by 0001\n- Date: 2026-02-01\n"})
        work.ingest()
        return work.export("nquads").decode()


def test_the_ontology_says_who_made_it_and_under_which_licence() -> None:
    graph, it = ontology(), rdflib.URIRef(ONTOLOGY)
    assert list(graph.subjects(RDF.type, OWL.Ontology)) == [it]
    for asked in (
        *(DCTERMS.title, DCTERMS.creator, DCTERMS.license, OWL.versionIRI, OWL.imports),
        *(VANN.preferredNamespacePrefix, VANN.preferredNamespaceUri),
    ):
        assert graph.value(it, asked) is not None or list(graph.objects(it, asked)), asked


def test_every_term_has_a_label_a_comment_and_a_home() -> None:
    graph = ontology()
    kinds = (OWL.Class, OWL.ObjectProperty, OWL.DatatypeProperty)
    terms = [term for kind in kinds for term in graph.subjects(RDF.type, kind)]
    assert len(terms) > 100
    for term in terms:
        assert graph.value(term, RDFS.label), term
        assert graph.value(term, RDFS.comment), term
        assert graph.value(term, RDFS.isDefinedBy) == rdflib.URIRef(ONTOLOGY), term


def test_prov_is_left_to_the_w3c() -> None:
    assert not [each for each in ontology().subjects() if str(each).startswith(str(PROV))]
    assert not [each for each in ontology().subjects() if str(each).startswith(f"{PREDICATE}prov/")]


def test_ontology_and_data_are_consistent_with_the_standards(exports: tuple[str, str]) -> None:
    graph = ontology() + merged(exports[0])
    graph.parse(STANDARDS)
    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    assert not list(graph.objects(None, TOLD))
    both = set(graph.subjects(RDF.type, PROV.Entity)) & set(graph.subjects(RDF.type, PROV.Activity))
    assert not both
    objects = set(graph.subjects(RDF.type, OWL.ObjectProperty))
    literals = [(s, p) for s, p, o in graph if p in objects and isinstance(o, rdflib.Literal)]
    assert not literals
    values = set(graph.subjects(RDF.type, OWL.DatatypeProperty))
    assert not [(s, p) for s, p, o in graph if p in values and not isinstance(o, rdflib.Literal)]


def test_a_contradiction_would_be_told() -> None:
    graph = ontology().parse(STANDARDS)
    graph.add((HB.it, RDF.type, HB.Review))
    graph.add((HB.it, PROV.used, HB.that))
    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    assert any("disjoint" in str(each).lower() for each in graph.objects(None, TOLD))


def test_two_repositories_share_no_subject_and_no_graph(exports: tuple[str, str]) -> None:
    one, other = (
        {term for line in export.splitlines() for term in (line.split()[0], line.split()[-2])}
        for export in exports
    )
    assert one
    assert not one & other


def test_what_is_merged_passes_the_shapes(exports: tuple[str, str]) -> None:
    shapes = rdflib.Graph()
    for path in sorted((resources.folder("vocabulary") / "shapes").glob("*.ttl")):
        shapes.parse(path)
    conforms, _, text = pyshacl.validate(merged(*exports), shacl_graph=shapes, inference="none")
    assert conforms, text


def test_every_class_has_a_shape() -> None:
    shapes = rdflib.Graph()
    for path in (resources.folder("vocabulary") / "shapes").glob("*.ttl"):
        shapes.parse(path)
    sh = rdflib.Namespace("http://www.w3.org/ns/shacl#")
    targets = set(shapes.objects(None, sh.targetClass))
    graph = ontology()
    for each in graph.subjects(RDF.type, OWL.Class):
        above = set(graph.transitive_objects(each, RDFS.subClassOf))
        below = set(graph.transitive_subjects(RDFS.subClassOf, each))
        held = above & targets or HB.Document in above  # by what every document has
        assert held or below & targets, each


def test_foreign_tools_find_rules_by_terms_of_standards(exports: tuple[str, str]) -> None:
    graph = merged(exports[0])
    (rule,) = graph.subjects(DCTERMS.identifier, rdflib.Literal(cases.ERRORS))
    assert {HB.SOP, HB.Document, PROV.Entity} <= set(graph.objects(rule, RDF.type))
    assert graph.value(rule, RDFS.label) == graph.value(rule, DCTERMS.title)
    reviews = set(graph.subjects(RDF.type, HB.Review))
    derived = {end for each in reviews for end in graph.objects(each, PROV.wasDerivedFrom)}
    assert {HB.Revision} <= {kind for end in derived for kind in graph.objects(end, RDF.type)}
    assert list(graph.subjects(PROV.specializationOf, rule))


def test_facts_are_things_and_typed_values(exports: tuple[str, str]) -> None:
    graph = merged(exports[0])
    finding = rdflib.Namespace(f"{PREDICATE}finding/")
    found = list(graph.subjects(RDF.type, HB.Finding))
    assert found
    for each in found:
        assert (graph.value(each, finding.rule), RDF.type, HB.SOP) in graph
    lines = list(graph.objects(None, finding.line))
    assert lines
    assert {line.datatype for line in lines if isinstance(line, rdflib.Literal)} == {XSD.integer}
    (day,) = graph.objects(None, rdflib.URIRef(f"{PREDICATE}decision/date"))
    assert isinstance(day, rdflib.Literal)
    assert day.datatype == XSD.date


def test_json_ld_has_types(tmp_path: Path) -> None:
    write(tmp_path, cases.RULES)
    with Workspace.open(tmp_path) as work:
        work.ingest()
        found = json.loads(work.export("jsonld"))
    nodes = [node for graph in found for node in graph.get("@graph", [graph])]
    typed = [node for node in nodes if str(HB.SOP) in node.get("@type", ())]
    assert len(typed) == len(cases.RULES)


OLD = {
    "code.file.src%2Fapp%2Epy": "code.file.src/app.py",
    "code.file.A%20b%2Ego": "code.file.A b.go",
    "code.file.a%2525%2Epy": "code.file.a%25.py",
    "code.file.src%2Fapp%2Epy.rev.0123456789ab": "code.file.src/app.py.rev.0123456789ab",
    "source.doc.sops.naming": "source.doc.sops.naming",
}


def test_old_ids_map_to_new_ones_one_to_one() -> None:
    assert {old: unencoded_id(old) for old in OLD} == OLD
    assert len(set(OLD.values())) == len(OLD)
    for new in OLD.values():
        assert unencoded_id(new) == new
    assert code_id("src/App~1.py") == "code.file.src/App~1.py"
    assert encode(code_id("src/App~1.py")) == "code/file/src%2FApp~1/py"


def test_an_iri_is_equal_to_its_normal_form() -> None:
    names = Namespace("acme-1a2b3c")
    for path in ("src/Ünï code.py", "a%b.py", "~x/_y-z.PY", "q?a=b#c.ts"):
        iri = names.entity(code_id(path))
        assert "%25" not in iri or "%" in path, "encoded once"
        assert names.name_of(iri) == code_id(path)
