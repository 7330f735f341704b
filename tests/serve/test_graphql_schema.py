from pathlib import Path
from typing import Any

import pytest
from graphql import parse, validate
from inline_snapshot import snapshot

from hornbook import Workspace, resources
from hornbook.graph.selection import Filter
from hornbook.serve.graphql.schema import execute, graphql_schema
from hornbook.vocabulary.names import within
from tests.kit.workspaces import with_the_example_sop, write

DOCUMENTED = """
{ entities(filter: { predicatePrefix: "source.doc.sops" }) { id triples { predicate object } } }
"""
TRAVERSAL = """
{ traverse(start: "source.doc.sops.error-handling", depth: 1, direction: INBOUND) {
    nodes { id triples { predicate object } } edges { source target predicate } } }
"""


@pytest.fixture
def work(tmp_path: Path) -> Workspace:
    root = with_the_example_sop(tmp_path)
    write(
        root,
        {
            "docs/adr/0001-use-go.md": "# 1. Use Go\n\n## Status\n\nSuperseded by [2](0002-rust.md)\n",
            "docs/adr/0002-rust.md": "# 2. Use Rust\n\n## Status\n\nAccepted\n",
        },
    )
    work = Workspace.open(root)
    work.ingest()
    return work


def data(work: Workspace, text: str, **variables: object) -> Any:
    answer = execute(work, text, variables)
    assert "errors" not in answer, answer["errors"]
    return answer["data"]


def test_the_documented_prefix_query_gives_parents_and_no_chunks(work: Workspace) -> None:
    found = data(work, DOCUMENTED)["entities"]
    assert [each["id"] for each in found] == [
        "source.doc.sops.error-handling",
        "source.doc.sops.test-coverage",
    ]
    triples = {(each["predicate"], each["object"]) for each in found[0]["triples"]}
    assert ("source.doc.applies_to", "*.go") in triples
    assert ("source.doc.category", "sop") in triples


def test_the_documented_traversal_gives_the_chunks(work: Workspace) -> None:
    found = data(work, TRAVERSAL)["traverse"]
    assert [each["id"] for each in found["nodes"]] == [
        "source.doc.sops.error-handling",
        "source.doc.sops.error-handling.chunk.1",
    ]
    assert found["edges"] == snapshot(
        [
            {
                "source": "source.doc.sops.error-handling.chunk.1",
                "target": "source.doc.sops.error-handling",
                "predicate": "code.structure.belongs",
            }
        ]
    )


def ids(work: Workspace, conditions: str) -> list[str]:
    found = data(work, f"{{ entities(filter: {{ {conditions} }}) {{ id }} }}")["entities"]
    return [each["id"] for each in found]


def test_a_prefix_matches_at_dots_only(work: Workspace) -> None:
    assert ids(work, 'predicatePrefix: "source.doc.sop"') == []
    assert len(ids(work, 'predicatePrefix: "source.doc.severity"')) == 4
    assert len(ids(work, 'predicatePrefix: "decision.status"')) == 2
    assert ids(work, 'predicatePrefix: "no.such"') == []


def test_filters_combine(work: Workspace) -> None:
    assert ids(work, 'category: "sop", severity: "warning"') == ["source.doc.sops.test-coverage"]
    assert ids(work, 'text: "use rust"') == ["decision.0002-rust"]
    assert ids(work, 'appliesTo: "cmd/main.go"') == ["source.doc.sops.error-handling"]
    assert ids(work, 'idPrefix: "decision"') == ["decision.0001-use-go", "decision.0002-rust"]


def test_chunks_and_revisions_come_when_asked_for(work: Workspace) -> None:
    found = ids(work, 'predicatePrefix: "source.doc.sops", includeChunks: true')
    assert "source.doc.sops.error-handling.chunk.1" in found
    found = ids(work, 'predicatePrefix: "source.doc.sops", includeRevisions: true')
    assert any(".rev." in each for each in found)


def test_pages_tile_the_whole_in_id_order(work: Workspace) -> None:
    text = """query ($after: String) { entitiesConnection(first: 1, after: $after) {
        edges { cursor node { id } } pageInfo { hasNextPage endCursor } } }"""
    seen: list[str] = []
    after = None
    while True:
        page = data(work, text, after=after)["entitiesConnection"]
        seen += [edge["node"]["id"] for edge in page["edges"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert seen == list(work.snapshot().ids)
    rest = data(work, f'{{ entities(after: "{seen[1]}") {{ id }} }}')["entities"]
    assert [each["id"] for each in rest] == seen[2:]


def test_superseded_decisions_are_linked(work: Workspace) -> None:
    text = """{ traverse(start: "decision.0001-use-go", direction: OUTBOUND) {
        edges { target predicate } } }"""
    assert {"target": "decision.0002-rust", "predicate": "decision.superseded_by"} in data(
        work, text
    )["traverse"]["edges"]


def test_values_have_their_type(work: Workspace) -> None:
    text = '{ entity(id: "source.doc.sops.error-handling") { triples(predicatePrefix: "source.doc.chunk_count") { object value } } }'
    assert data(work, text)["entity"]["triples"] == [{"object": "1", "value": 1}]


def test_what_is_not_there_is_null(work: Workspace) -> None:
    assert data(work, '{ entity(id: "no.such") { id } }') == {"entity": None}


def test_why_answers_in_graphql(work: Workspace) -> None:
    text = '{ why(files: ["handlers/user.go"]) { path fits rules { id pattern patternLine } } }'
    assert data(work, text)["why"] == snapshot(
        [
            {
                "path": "handlers/user.go",
                "fits": True,
                "rules": [
                    {
                        "id": "source.doc.sops.error-handling",
                        "pattern": "*.go",
                        "patternLine": 3,
                    },
                    {
                        "id": "source.doc.sops.test-coverage",
                        "pattern": "handlers/**",
                        "patternLine": 3,
                    },
                ],
            }
        ]
    )


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("{ entities(first: 0) { id } }", "first"),
        ("{ entities(first: 1001) { id } }", "first"),
        ('{ traverse(start: "a", depth: 99) { nodes { id } } }', "depth"),
        ('{ why(files: ["../x"]) { path } }', "files"),
    ],
)
def test_bad_input_names_the_field(work: Workspace, text: str, field: str) -> None:
    answer: Any = execute(work, text, {})
    (error,) = answer["errors"]
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
    assert error["extensions"]["field"] == field
    assert error["message"].endswith(error["extensions"]["remedy"])


def documents() -> list[Path]:
    return sorted((resources.folder("queries") / "graphql").glob("*.graphql"))


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.stem)
def test_every_shipped_document_is_valid_and_answers(work: Workspace, path: Path) -> None:
    document = parse(path.read_text())
    assert validate(graphql_schema, document) == []
    variables = {"files": ["handlers/user.go"], "id": "source.doc.sops.error-handling"}
    data(work, path.read_text(), **variables)


def test_the_predicates_are_those_in_the_graph(work: Workspace) -> None:
    found = data(work, '{ predicates(prefix: "source.doc") { name datatype many } collections }')
    assert {"name": "source.doc.applies_to", "datatype": "xsd:string", "many": True} in found[
        "predicates"
    ]
    assert found["collections"] == ["decision", "source.doc.sops"]


PREFIXES = [None, "source", "source.doc", "source.doc.sops", "decision", "decision.status", "x"]


@pytest.mark.parametrize("id_prefix", PREFIXES)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_page_is_what_a_look_at_everything_gives(
    work: Workspace, prefix: str | None, id_prefix: str | None
) -> None:
    graph = work.snapshot()
    asked = Filter(predicate_prefix=prefix, id_prefix=id_prefix)
    expected = [
        entry.id
        for entry in graph.catalog.entries
        if (id_prefix is None or within(entry.id, id_prefix))
        and (
            prefix is None
            or within(entry.id, prefix)
            or any(within(name, prefix) for name, _ in graph.thing(entry.id).triples)
        )
    ]
    assert graph.select(asked, 100, None) == (expected, False)
    assert graph.select(asked, 1, None) == (expected[:1], len(expected) > 1)
    for place, after in enumerate(expected):
        assert graph.select(asked, 2, after)[0] == expected[place + 1 : place + 3]
