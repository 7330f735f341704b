"""No error over HTTP tells where on the machine the root lies."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from hornbook import Workspace
from hornbook.serve.http.problems import without_root
from tests.benchmarks.mcp_calls import HANDSHAKE, NEWEST, call
from tests.kit.servers import client
from tests.kit.workspaces import SOPS, with_the_example_sop, write

HIDDEN = "hidden-4711"
POSTED: dict[str, list[object]] = {
    "ingest": [{}, {"paths": ["no/such"]}, {"paths": ["out"]}, {"paths": ["../.."]}, {"paths": [f"{SOPS}/new.md"]}],
    "why": [{"files": ["a.go"]}, {"files": ["a.go"], "at": "HEAD"}, {"files": ["out/x"]}],
    "size": [{"files": ["a.go"]}, {"files": ["src"]}, {"files": ["none"]}, {"files": ["a.go"], "model": "x"}, {"files": ["a.go"], "window": 1}],
    "context/review": [{"files": ["a.go"]}, {"files": ["none"]}, {"files": ["src"]}, {"diff": "a..b"}, {"files": ["a.go"], "plan": "p"}, {"files": ["a.go"], "task": "task.p.1"}],
    "context/develop": [{"files": ["a.go"], "description": "x"}, {"files": ["src"], "description": "x"}, {"task": "task.p.1"}, {}],
    "reviews/check": [{"review": "x", "receipt": {}}, {"review": {}, "receipt": {"base": "a", "head": "b", "schema": 1}}],
    "plans": [{"title": "P"}, {"title": "Q", "text": "# Q\n\nno"}, {"title": "R", "supersedes": "none"}],
    "plans/p/promote": [None],
    "plans/p/execute": [{}, {"task": "x"}],
}  # fmt: skip
GOTTEN = (
    "/api/v1/entities/none", "/api/v1/plans", "/api/v1/plans/p", "/api/v1/runs", "/api/v1/runs?plan=p",
    "/api/v1/runs/none", "/api/v1/runs/none/events", "/readyz", "/metrics", "/nothing",
)  # fmt: skip
QUERIES = (
    "{ version }", '{ why(files: ["a.go"]) { path } }', '{ sops(files: ["out/x"]) { id } }', "{ entities { id } }",
    '{ reviewContext(files: ["a.go"]) { outcome } }', '{ reviewContext(files: ["none"], planId: "plan.p") { outcome } }',
    "{ plans { slug } }", '{ plan(slug: "p") { slug } }', "{ runs { id } }", '{ run(id: "x") { id } }', "{ decisions { id } }",
    "mutation { ingest { documents problems { message } } }", 'mutation { ingest(paths: ["no/such"]) { documents } }',
    'mutation { createPlan(title: "S", text: "x") { slug } }', 'mutation { promotePlan(slug: "p") { slug } }',
    'mutation { checkReview(review: "x", receipt: {}) { outcome } }', '{ entities(filter: {appliesTo: "out/x"}) { id } }', "{ predicates { name } }",
)  # fmt: skip
SPARQL = ("SELECT * { ?s ?p ?o } LIMIT 1", "SELECT", "SELECT * { SERVICE <http://x/> { ?s ?p ?o } }", "LOAD <file:///etc/passwd>", "SELECT * FROM <file:///etc/passwd> { ?s ?p ?o }")  # fmt: skip
TOOLS: dict[str, list[dict[str, object]]] = {
    "rules_for_files": [{"files": ["a.go"]}, {"files": ["out/x"]}, {"files": ["/etc/passwd"]}],
    "review_context": [{"files": ["a.go"]}, {"files": ["none"]}, {"files": ["src"]}, {"diff": "a..b"}],
    "check_review": [{"review": {}, "receipt": {}}],
    "get_entity": [{"id": "none"}],
    "search_entities": [{"text": "x"}, {"category": "none"}],
    "size_task": [{"files": ["src"]}, {"files": ["none"]}, {"files": ["a.go"], "model": "x"}],
    "plan_status": [{}, {"slug": "none"}],
}  # fmt: skip
READ: tuple[tuple[str, dict[str, object]], ...] = (
    ("resources/read", {"uri": "rule://none"}),
    ("resources/read", {"uri": "rule://source.doc.sops.error-handling"}),
    ("resources/read", {"uri": "plan://p"}),
    ("resources/read", {"uri": "rule://../../etc/passwd"}),
    ("resources/list", {}),
    ("prompts/get", {"name": "review_change", "arguments": {"files": "none"}}),
    ("prompts/get", {"name": "review_change", "arguments": {"diff": "a..b"}}),
)


def nothing(root: Path) -> None:
    """Leave all as it is."""


def not_ingested(root: Path) -> None:
    shutil.rmtree(root / ".hornbook" / "store")


def pointer(root: Path) -> None:
    (root / ".hornbook/store/CURRENT").write_text("nonsense")


def generation(root: Path) -> None:
    (root / ".hornbook/store/CURRENT").write_text("99-abcd")


def catalog(root: Path) -> None:
    _publish(root)
    for path in (root / ".hornbook/store/generations").glob("*/catalog"):
        path.write_bytes(b"nonsense")


def tables(root: Path) -> None:
    _publish(root)
    for path in (root / ".hornbook/store/generations").glob("*/graph/*.sst"):
        path.write_bytes(b"nonsense")


def extracts(root: Path) -> None:
    for path in (root / ".hornbook/store/generations").glob("*/extracts/places"):
        path.write_bytes(b"")


def config(root: Path) -> None:
    _publish(root)
    write(root, {".hornbook/config.yaml": "nonsense: [\n"})


def plans(root: Path) -> None:
    write(root, {".hornbook/plans/p/events.jsonl": "nonsense\n", ".hornbook/plans/p/plan.md": "x"})


def events(root: Path) -> None:
    (root / ".hornbook/events.db").write_bytes(b"nonsense" * 1000)


def gates(root: Path) -> None:
    write(root, {".hornbook/gates.yaml": "nonsense: [\n", ".hornbook/templates/x.xml": "<x"})


def journal(root: Path) -> None:
    write(root, {".hornbook/objects/journal.jsonl": "nonsense\nnonsense\n"})


def rules(root: Path) -> None:
    for path in (root / SOPS).glob("*.md"):
        path.unlink()
        path.mkdir()


def _publish(root: Path) -> None:
    """Have a newer version than the server has open."""
    write(root, {f"{SOPS}/new.md": "# New\n\nText.\n"})
    with Workspace.open(root) as work:
        work.ingest()


# What the processes that answer SPARQL meet as well; each one takes a second to start.
OF_THE_STORE = (nothing, pointer, catalog)
DAMAGES: tuple[Callable[[Path], None], ...] = (
    nothing, not_ingested, pointer, generation, catalog, tables, extracts, config, plans, events, gates, journal, rules,
)  # fmt: skip


def over_rest(asked: TestClient) -> Iterator[tuple[str, str]]:
    for path, bodies in POSTED.items():
        for body in bodies:
            yield f"{path} {body}", asked.post(f"/api/v1/{path}", json=body).text
    for path in GOTTEN:
        yield path, asked.get(path).text


def over_queries(asked: TestClient) -> Iterator[tuple[str, str]]:
    for query in QUERIES:
        yield query, asked.post("/graphql", json={"query": query}).text


def over_sparql(asked: TestClient) -> Iterator[tuple[str, str]]:
    for text in SPARQL:
        yield text, asked.get("/sparql", params={"query": text}).text


def over_mcp(asked: TestClient) -> Iterator[tuple[str, str]]:
    for name, arguments in TOOLS.items():
        for each in arguments:
            body, headers = call(NEWEST, "tools/call", {"name": name, "arguments": each})
            yield f"{name} {each}", asked.post("/mcp", content=body, headers=headers).text
    for method, params in READ:
        body, headers = call(HANDSHAKE, method, params)
        yield f"{method} {params}", asked.post("/mcp", content=body, headers=headers).text


@pytest.mark.parametrize("damage", DAMAGES)
def test_no_answer_tells_where_the_root_lies(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    place = tmp_path / HIDDEN / "project"
    place.mkdir(parents=True)
    (place / "out").symlink_to(tmp_path)
    root = write(with_the_example_sop(place), {"a.go": "package a\n", "src/b.go": "package b\n"})
    with Workspace.open(root) as work:
        work.ingest()
        work.plan_book().explore("P", None, path="text")
    with client(root) as asked:
        damage(root)
        ways = [over_rest, over_queries, over_mcp]
        ways += [over_sparql] if damage in OF_THE_STORE else []
        found = [each for way in ways for each in way(asked)]
        assert [each for each in found if HIDDEN in each[1]] == []
        assert len(found) > 60
        problem = asked.post("/api/v1/ingest", json={"paths": ["no/such"]})
        if damage is nothing:
            assert json.loads(problem.text)["detail"] == (
                "no/such does not exist in the root: check the path."
            )


@given(st.text(), st.text())
def test_only_the_root_itself_is_taken_out(before: str, after: str) -> None:
    said = without_root(Path("/srv/some where"))
    assert said(f"{before}/srv/some where/a.md") == f"{said(before)}a.md"
    assert said("no /srv/some where: run") == "no the root: run"
    assert said("/srv/some where-else/a") == "/srv/some where-else/a"
    assert "/srv/some where/" not in said(f"{before}/srv/some where/{after}") or (
        "/srv/some where/" in before + after
    )
    assert without_root(Path("/"))("/etc/x") == "/etc/x"
