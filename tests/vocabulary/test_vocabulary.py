import json
import re

import rdflib
from hypothesis import given
from hypothesis import strategies as st
from rdflib.namespace import OWL, RDF, RDFS, SKOS

from hornbook import resources
from hornbook.vocabulary import names
from hornbook.vocabulary.names import PREFIXES
from hornbook.vocabulary.predicates import (
    CLASS_OF,
    FACTS,
    LINKS,
    PART_KINDS,
    PREDICATES,
    W3C,
    Class,
    Datatype,
)
from hornbook.vocabulary.terms import Activation, Category, Scope, Severity
from tests.kit.paths import PACKAGE

SOURCE = PACKAGE
CARDINALITY = rdflib.URIRef("https://w3id.org/hornbook/vocabulary/cardinality")
RANGES = {
    Datatype.STRING: rdflib.XSD.string,
    Datatype.INTEGER: rdflib.XSD.integer,
    Datatype.BOOLEAN: rdflib.XSD.boolean,
    Datatype.DECIMAL: rdflib.XSD.decimal,
    Datatype.DATE_TIME: rdflib.XSD.dateTime,
    Datatype.MOMENT: RDFS.Literal,
}


def ontology() -> rdflib.Graph:
    graph = rdflib.Graph()
    for path in resources.folder("vocabulary").glob("*.ttl"):
        graph.parse(path)
    return graph


def ours() -> dict[str, rdflib.term.Node]:
    graph = ontology()
    return {str(name): subject for subject, name in graph.subject_objects(SKOS.notation)}


def test_turtle_and_constants_name_the_same_predicates() -> None:
    assert set(ours()) == set(PREDICATES) - set(names.STANDARD)


def test_turtle_says_of_each_predicate_what_the_constants_say() -> None:
    graph = ontology()
    for name, subject in ours().items():
        term = PREDICATES[name]
        assert str(subject) == names.predicate_iri(name)
        (domain,), (reach,) = (
            list(graph.objects(subject, each)) for each in (RDFS.domain, RDFS.range)
        )
        assert (domain, RDF.type, OWL.Class) in graph, name
        if term.datatype is Datatype.ENTITY:
            assert (reach, RDF.type, OWL.Class) in graph, name
        else:
            assert reach == RANGES[term.datatype], name
        assert str(graph.value(subject, CARDINALITY)) == ("many" if term.many else "one"), name
        assert str(graph.value(subject, RDFS.comment)), name


def test_turtle_and_constants_name_the_same_classes() -> None:
    declared = {
        names.UNNAMED.name_of(str(each)) for each in ontology().subjects(RDF.type, OWL.Class)
    }
    assert declared == {each.value for each in Class}


def test_every_category_has_a_class() -> None:
    assert set(CLASS_OF) == set(Category)


def test_the_json_ld_context_has_every_predicate_and_class() -> None:
    context = json.loads(resources.text("vocabulary", "context.jsonld"))["@context"]
    expected = {*PREDICATES, *(each.value for each in Class), "@version"} - {"rdf.type"}
    assert set(context) == expected
    for name in set(PREDICATES) - {"rdf.type"}:
        assert context[name]["@id"] == names.predicate_iri(name)


def constant_of(name: str) -> str:
    from hornbook.vocabulary import predicates

    return next(key for key, value in vars(predicates).items() if value is PREDICATES[name])


def uses(folder: str, constant: str) -> bool:
    pattern = re.compile(rf"\b{constant}\b")
    return any(pattern.search(path.read_text()) for path in (SOURCE / folder).rglob("*.py"))


LINKED = {value.name for value in LINKS.values()}


def test_every_predicate_has_a_writer() -> None:
    reading = "".join(path.read_text() for path in (SOURCE / "rules").rglob("*.py"))
    written = (SOURCE / "graph" / "statements.py").read_text()
    linked = {value.name for value in (*LINKS.values(), *FACTS)}
    parts = {kind.link.name for kind in PART_KINDS.values()}
    for name in PREDICATES:
        constant = constant_of(name)
        direct = re.search(rf"p\.{constant}\b", written) is not None
        read = re.search(rf"p\.{constant}\b", reading) is not None
        in_part = name in parts or (read and name.startswith(("finding.", "problem.")))
        stated = name in linked and (read or name in LINKED)
        assert direct or in_part or stated, f"nothing writes {name}"


def test_every_predicate_has_a_reader() -> None:
    queries = "".join(p.read_text() for p in resources.folder("queries").rglob("*.*"))
    shapes = "".join(p.read_text() for p in resources.folder("vocabulary").glob("shapes/*.ttl"))
    readers = "".join(
        path.read_text()
        for path in SOURCE.rglob("*.py")
        if path.name not in {"statements.py", "predicates.py"}
    )
    named = {*re.findall(r"\bp\.(\w+)", readers), *re.findall(r"\b(\w+)\.name\b", readers)}
    parts = {kind.link.name for kind in PART_KINDS.values()}  # read by kind
    for name in set(PREDICATES) - {"rdf.type"} - parts:
        family, _, last = name.rpartition(".")
        term = f"prov:{W3C[name]}" if name in W3C else f"{family}:{last}"
        asked = term in queries or f'"{name}"' in queries
        shaped = re.search(rf"\b(doc|meta|decision|structure):{last}\b", shapes) is not None
        assert asked or shaped or constant_of(name) in named, f"nothing reads {name}"


@given(st.text(min_size=1))
def test_names_and_iris_are_a_bijection(name: str) -> None:
    text = "".join(character for character in name if not 0xD800 <= ord(character) < 0xE000)
    path = names.encode(text)
    assert names.decode(path) == text
    assert re.fullmatch(r"(?:[A-Za-z0-9_/~-]|%[0-9A-F]{2})*", path)
    encoded = {chr(int(each, 16)) for each in re.findall("%([0-7][0-9A-F])", path)}
    assert not re.search(r"[A-Za-z0-9._~-]", "".join(encoded)), "unreserved is never encoded"


@given(st.text(), st.text())
def test_two_names_never_share_an_iri(one: str, other: str) -> None:
    clean = [
        "".join(character for character in name if not 0xD800 <= ord(character) < 0xE000)
        for name in (one, other)
    ]
    assert (clean[0] == clean[1]) == (names.encode(clean[0]) == names.encode(clean[1]))


def test_documented_iris_are_as_documented() -> None:
    assert (
        names.predicate_iri("source.doc.applies_to")
        == "https://w3id.org/hornbook/p/source/doc/applies_to"
    )
    assert (
        names.Namespace("acme-1a2b3c").entity("source.doc.sops.error-handling")
        == "https://w3id.org/hornbook/id/acme-1a2b3c/source/doc/sops/error-handling"
    )
    assert names.predicate_iri("prov.derived_from") == "http://www.w3.org/ns/prov#wasDerivedFrom"


def test_a_prefix_ends_at_a_dot() -> None:
    assert names.within("source.doc.sops.x", "source.doc.sops")
    assert names.within("source.doc.sops", "source.doc.sops")
    assert not names.within("source.doc.sops", "source.doc.sop")


def test_prefix_labels_are_the_dotted_parents() -> None:
    assert PREFIXES["source.doc"] == "https://w3id.org/hornbook/p/source/doc/"


def test_shapes_list_the_same_values_as_the_enums() -> None:
    text = resources.text("vocabulary", "shapes", "document.ttl")
    for enum in (Category, Severity, Scope, Activation):
        listed = " ".join(f'"{each.value}"' for each in enum)
        assert f"( {listed} )" in text, enum
