"""The SPARQL 1.1 protocol: forms, graphs, and what is refused."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import rdflib
from rdflib.namespace import OWL, RDF
from starlette.testclient import TestClient

from hornbook import Workspace
from hornbook.serve.http.response import best
from hornbook.serve.sparql.endpoint import EXAMPLE
from hornbook.vocabulary.names import ONTOLOGY
from tests.kit.servers import TOKENS, client, workspace
from tests.kit.waiting import until
from tests.kit.workspaces import SOPS, write

SELECT = "SELECT ?title { ?s source.doc:title ?title } ORDER BY ?title"
CONSTRUCT = "CONSTRUCT { ?s source.doc:title ?title } WHERE { ?s source.doc:title ?title }"
FORM = {"content-type": "application/x-www-form-urlencoded"}
GRAPH = "https://w3id.org/hornbook/graph/_/decision/0002-rust"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workspace(
        tmp_path_factory.mktemp("sparql"),
        "serve:\n  sparql_rows: 50\n  sparql_workers: 1\n  sparql_bytes: 20000\n",
    )


@pytest.fixture(scope="module")
def local(root: Path) -> Iterator[TestClient]:
    with client(root) as found:
        yield found


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("*/*", "application/sparql-results+json"),
        ("application/sparql-results+xml", "application/sparql-results+xml"),
        ("application/sparql-results+xml;q=0.5, text/csv;q=0.6", "text/csv; charset=utf-8"),
        ("text/tab-separated-values", "text/tab-separated-values; charset=utf-8"),
        ("text/*", "text/csv; charset=utf-8"),
        ("application/json", "application/json"),
        ("text/turtle, application/sparql-results+json;q=0.1", "application/sparql-results+json"),
    ],
)
def test_a_table_comes_in_the_form_that_is_wanted(
    local: TestClient, accept: str, kind: str
) -> None:
    answer = local.get("/sparql", params={"query": SELECT}, headers={"accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (200, kind)
    assert "Error Handling" in answer.text


def test_the_three_ways_to_ask_give_the_same(local: TestClient) -> None:
    by_get = local.get("/sparql", params={"query": SELECT})
    by_form = local.post("/sparql", data={"query": SELECT})
    direct = local.post(
        "/sparql", content=SELECT, headers={"content-type": "application/sparql-query"}
    )
    assert by_get.content == by_form.content == direct.content
    titles = [row["title"]["value"] for row in by_get.json()["results"]["bindings"]]
    assert titles == ["Error Handling", "Test Coverage", "Use Go", "Use Rust"]


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("*/*", "text/turtle; charset=utf-8"),
        ("application/n-triples", "application/n-triples"),
        ("application/rdf+xml", "application/rdf+xml"),
    ],
)
def test_a_graph_comes_in_the_form_that_is_wanted(
    local: TestClient, accept: str, kind: str
) -> None:
    answer = local.get("/sparql", params={"query": CONSTRUCT}, headers={"accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (200, kind)
    assert "Use Rust" in answer.text


def test_a_form_that_does_not_fit_is_refused(local: TestClient) -> None:
    answer = local.get("/sparql", params={"query": SELECT}, headers={"accept": "text/turtle"})
    assert (answer.status_code, answer.json()["code"]) == (406, "form")
    answer = local.get("/sparql", params={"query": SELECT}, headers={"accept": "image/png"})
    assert answer.status_code == 406


def test_graphs_of_the_request_are_what_is_asked(local: TestClient) -> None:
    def titles(**graphs: str) -> list[str]:
        text = (
            "SELECT ?t { { ?s source.doc:title ?t } UNION { GRAPH ?g { ?s source.doc:title ?t } } }"
        )
        answer = local.get("/sparql", params={"query": text, **graphs}).json()
        return [row["t"]["value"] for row in answer["results"]["bindings"]]

    assert titles(**{"default-graph-uri": GRAPH}) == ["Use Rust"]
    assert titles(**{"named-graph-uri": GRAPH}) == ["Use Rust"]
    assert titles(**{"default-graph-uri": "https://example.org/none"}) == []
    answer = local.get("/sparql", params={"query": SELECT, "default-graph-uri": "no iri"})
    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("method", "parameters", "body", "kind", "status"),
    [
        ("GET", {"default-graph-uri": "a:a"}, None, "", 400),
        ("GET", {"query": ["ASK {}", "ASK {}"]}, None, "", 400),
        ("GET", {"query": "nonsense"}, None, "", 400),
        ("GET", {"query": "INSERT DATA { <a:a> <a:b> 1 }"}, None, "", 400),
        ("GET", {"query": "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }"}, None, "", 400),
        ("GET", {"query": "SELECT * FROM <file:///etc/passwd> { ?s ?p ?o }"}, None, "", 200),
        ("GET", {"update": "CLEAR ALL"}, None, "", 403),
        ("POST", {}, b"update=CLEAR+ALL", "application/x-www-form-urlencoded", 403),
        ("POST", {}, b"CLEAR ALL", "application/sparql-update", 403),
        ("POST", {}, b"query=%FF", "application/x-www-form-urlencoded", 400),
        ("POST", {}, b"\xff", "application/sparql-query", 400),
        ("POST", {}, b"ASK {}", "text/plain", 415),
        ("POST", {"query": "ASK {}"}, b"ASK {}", "application/sparql-query", 400),
        ("POST", {}, ("{" * 300).encode(), "application/sparql-query", 400),
        ("PUT", {}, b"", "", 405),
    ],
)  # fmt: skip
def test_what_is_refused_has_its_status(  # noqa: PLR0917  # pytest passes by name
    local: TestClient, method: str, parameters: dict[str, str], body: bytes | None, kind: str, status: int
) -> None:  # fmt: skip
    headers = {"content-type": kind} if kind else {}
    answer = local.request(method, "/sparql", params=parameters, content=body, headers=headers)
    assert answer.status_code == status, answer.text
    if status == 200:
        assert answer.json()["results"]["bindings"] == []
    else:
        assert answer.headers["content-type"] == "application/problem+json"


def test_an_answer_with_too_many_rows_is_refused_and_not_cut(local: TestClient) -> None:
    answer = local.get("/sparql", params={"query": "SELECT * { ?s ?p ?o }"})
    assert (answer.status_code, answer.json()["code"]) == (413, "answer-too-large")
    assert "LIMIT" in answer.json()["detail"]
    answer = local.get("/sparql", params={"query": "SELECT * { ?s ?p ?o } LIMIT 50"})
    assert len(answer.json()["results"]["bindings"]) == 50
    sly = "SELECT * { ?s ?p ?o } # LIMIT 5"
    assert local.get("/sparql", params={"query": sly}).status_code == 413
    graph = local.get("/sparql", params={"query": "CONSTRUCT WHERE { ?s ?p ?o }"})
    assert graph.status_code == 413


def test_an_answer_with_too_many_bytes_is_refused(local: TestClient) -> None:
    text = f"SELECT (GROUP_CONCAT(CONCAT(STR(?o), {', '.join(['STR(?o)'] * 20)})) AS ?x) {{ ?s ?p ?o }}"
    answer = local.get("/sparql", params={"query": text})
    assert (answer.status_code, answer.json()["code"]) == (413, "answer-too-large")


def test_a_query_that_never_ends_is_ended_and_the_next_one_is_answered(tmp_path: Path) -> None:
    text = "SELECT (COUNT(*) AS ?n) { " + " ".join(f"?a{n} ?b{n} ?c{n} ." for n in range(6)) + " }"
    root = workspace(tmp_path, "serve:\n  sparql_seconds: 1\n  sparql_workers: 1\n")
    with client(root) as found:
        answer = found.get("/sparql", params={"query": text})
        assert (answer.status_code, answer.json()["code"]) == (504, "deadline")

        def next_one() -> bool:
            return found.get("/sparql", params={"query": "ASK {}"}).json().get("boolean") is True

        assert until(next_one, "an answer within a second, once the machine has one to spare")


def test_an_ingest_is_seen_by_the_next_query(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    count = "SELECT (COUNT(?s) AS ?n) { ?s source.doc:title ?title }"
    with client(root) as found:

        def titles() -> tuple[str, str]:
            answer = found.get("/sparql", params={"query": count})
            return answer.json()["results"]["bindings"][0]["n"]["value"], answer.headers["etag"]

        before = titles()
        write(root, {f"{SOPS}/new.md": "# New\n\nText.\n"})
        with Workspace.open(root) as work:
            work.ingest()
            version = work.snapshot().version
        assert before[0] == "4"
        assert titles() == ("5", f'W/"{version}-json"')


def test_before_anything_is_ingested_the_graph_is_empty(tmp_path: Path) -> None:
    with client(tmp_path) as found:
        answer = found.get("/sparql", params={"query": "ASK { ?s ?p ?o }"})
        assert json.loads(answer.text)["boolean"] is False


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, "b/b"),
        ("", "b/b"),
        ("*/*", "b/b"),
        ("a/a", "a/a"),
        ("a/*", "a/a"),
        ("a/a;q=0, */*", "b/b"),
        ("a/a;q=0", None),
        ("a/a;q=0.2, b/b;q=0.3", "b/b"),
        ("c/c", None),
        ("a/a;q=nonsense", None),
        ("A/A ; Q=1.000", "a/a"),
    ],
)
def test_negotiation_follows_quality_and_precision(
    accept: str | None, expected: str | None
) -> None:
    assert best(accept, ("a/a", "b/b"), "b/b") == expected


def test_a_query_that_takes_too_much_memory_is_ended(tmp_path: Path) -> None:
    root = workspace(tmp_path, "serve:\n  sparql_megabytes: 200\n")
    many = " ".join(f"?a{n} ?b{n} ?c{n} ." for n in range(4))
    with client(root) as found:
        answer = found.get("/sparql", params={"query": f"SELECT * {{ {many} }} ORDER BY ?c0"})
        assert (answer.status_code, answer.json()["code"]) == (504, "deadline")
        assert "200 MB" in answer.json()["detail"]
        assert found.get("/sparql", params={"query": "ASK {}"}).json()["boolean"] is True


@pytest.mark.parametrize(
    ("accept", "kind", "form"),
    [
        ("*/*", "text/turtle; charset=utf-8", "turtle"),
        ("application/ld+json", "application/ld+json", "json-ld"),
        ("application/n-triples", "application/n-triples", "nt"),
        ("application/rdf+xml, text/html;q=0.5", "application/rdf+xml", "xml"),
    ],
)
def test_the_vocabulary_comes_in_the_form_that_is_wanted(
    local: TestClient, accept: str, kind: str, form: str
) -> None:
    answer = local.get("/vocabulary", headers={"accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (200, kind)
    graph = rdflib.Graph().parse(data=answer.content, format=form)
    assert list(graph.subjects(RDF.type, OWL.Ontology)) == [rdflib.URIRef(ONTOLOGY)]


def test_people_read_the_vocabulary_as_a_page(local: TestClient) -> None:
    answer = local.get("/vocabulary", headers={"accept": "text/html,*/*;q=0.8"})
    assert answer.headers["content-type"].startswith("text/html")
    assert '<tr id="source.doc.applies_to">' in answer.text
    assert '<a href="#Document">Document</a>' in answer.text
    assert local.get("/vocabulary", headers={"accept": "image/png"}).status_code == 406
    shapes = local.get("/vocabulary/shapes.ttl")
    assert len(rdflib.Graph().parse(data=shapes.text)) > 100
    assert "@context" in local.get("/vocabulary/context.jsonld").json()
    assert local.get("/vocabulary/hornbook.exe").status_code == 404


def test_queries_can_ask_about_terms(local: TestClient) -> None:
    text = "SELECT ?c { ?c a owl:Class ; rdfs:subClassOf hb:Document }"
    rows = local.get("/sparql", params={"query": text}).json()["results"]["bindings"]
    assert len(rows) > 10


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("application/ld+json", "json-ld"),
        ("application/n-quads", "nquads"),
        ("application/trig", "trig"),
        ("text/turtle", "turtle"),
    ],
)
def test_a_graph_is_the_same_in_every_form_for_other_tools(
    local: TestClient, accept: str, form: str
) -> None:
    def read(kind: str, name: str) -> set[object]:
        answer = local.get("/sparql", params={"query": CONSTRUCT}, headers={"accept": kind})
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"].partition(";")[0] == kind
        return set(rdflib.Dataset(default_union=True).parse(data=answer.text, format=name))

    def plain(found: set[object]) -> set[str]:
        return {" ".join(map(str, each[:3])) for each in found}  # type: ignore[index]  # triples

    assert plain(read(accept, form)) == plain(read("application/n-triples", "nt"))


def test_the_endpoint_describes_itself_as_rdf(local: TestClient) -> None:
    sd = rdflib.Namespace("http://www.w3.org/ns/sparql-service-description#")
    for accept, form in (
        ("*/*", "turtle"),
        ("application/ld+json", "json-ld"),
        ("application/rdf+xml", "xml"),
    ):
        answer = local.get("/sparql", headers={"accept": accept})
        assert answer.status_code == 200, answer.text
        graph = rdflib.Graph().parse(data=answer.text, format=form)
        (service,) = graph.subjects(RDF.type, sd.Service)
        assert str(graph.value(service, sd.endpoint)) == "http://127.0.0.1:8765/sparql"
        assert (service, sd.supportedLanguage, sd.SPARQL11Query) in graph
        formats = {str(each).rpartition("/")[2] for each in graph.objects(service, sd.resultFormat)}
        assert {"SPARQL_Results_JSON", "JSON-LD", "TriG", "N-Quads"} <= formats
    refused = local.get("/sparql", headers={"accept": "image/png"})
    assert (refused.status_code, refused.json()["code"]) == (406, "form")


BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


def test_a_browser_has_a_form_and_an_answer_without_script(local: TestClient) -> None:
    blank = local.get("/sparql", headers=BROWSER)
    assert blank.status_code == 200
    assert blank.headers["content-type"].startswith("text/html")
    policy = blank.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert '<form method="get" action="/sparql">' in blank.text
    example = local.get("/sparql", params={"query": EXAMPLE}, headers=BROWSER)
    assert "Error Handling" in example.text
    hostile = 'SELECT ("<script>alert(1)</script>" AS ?x) {}'
    shown = local.get("/sparql", params={"query": hostile}, headers=BROWSER)
    assert "<td>&lt;script&gt;alert(1)&lt;/script&gt;</td>" in shown.text
    assert "<script>alert" not in shown.text
    truth = local.get("/sparql", params={"query": "ASK {}"}, headers=BROWSER)
    assert "<code>true</code>" in truth.text
    graph = local.get("/sparql", params={"query": CONSTRUCT}, headers=BROWSER)
    assert "<pre>@prefix" in graph.text
    wrong = local.get("/sparql", params={"query": "SELECT <"}, headers=BROWSER)
    assert wrong.status_code == 400
    assert "said bad" in wrong.text
    update = local.get("/sparql", params={"query": "CLEAR ALL"}, headers=BROWSER)
    assert update.status_code in {400, 403}


def test_a_browser_that_may_not_read_is_led_to_sign_in(root: Path) -> None:
    with client(root, environment=TOKENS) as found:
        led = found.get("/sparql", headers=BROWSER, follow_redirects=False)
        assert (led.status_code, led.headers["location"]) == (303, "/login?next=%2Fsparql")
        assert found.get("/sparql").status_code == 401
