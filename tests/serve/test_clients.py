"""Clients that others wrote: schemathesis, gql, SPARQLWrapper and rdflib."""

import asyncio
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from gql import Client, gql
from gql.transport.aiohttp import AIOHTTPTransport
from gql.transport.websockets import WebsocketsTransport
from graphql import NameNode, ObjectFieldNode, ValueNode
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis_graphql import nodes
from rdflib.plugins.stores.sparqlstore import SPARQLStore
from schemathesis.specs.openapi.checks import positive_data_acceptance
from SPARQLWrapper import JSON, SPARQLWrapper

from hornbook.serve.app import create_app
from tests.conformance.schemathesis_checks import KNOWN_HERE_ONLY
from tests.kit.servers import ServedAddress, on_a_port, workspace
from tests.kit.waiting import SAFETY

SELECT = (
    "PREFIX d: <https://w3id.org/hornbook/p/source/doc/> "
    "SELECT ?title { ?s d:title ?title } ORDER BY ?title"
)
TITLES = ["Error Handling", "Test Coverage", "Use Go", "Use Rust"]
EXAMPLES = int(os.environ.get("HORNBOOK_EXAMPLES", "5"))
SEEDS = (1, 2, 3) if EXAMPLES > 5 else (1,)
CHECKED = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workspace(tmp_path_factory.mktemp("clients"))


@pytest.fixture(scope="module")
def address(root: Path) -> Iterator[str]:
    with on_a_port(root) as found:
        yield found


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAddress]:
    """A server of its own: what is generated begins plans."""
    with on_a_port(workspace(tmp_path_factory.mktemp("fuzzed"))) as found:
        yield found


def rest_call(case: Any, address: ServedAddress) -> None:
    answer = case.call(timeout=SAFETY, headers=address.headers)
    told = answer.status_code == 422 and answer.json()["code"] in KNOWN_HERE_ONLY
    excluded = [positive_data_acceptance] if told else []
    case.validate_response(answer, excluded_checks=excluded, headers=address.headers)


def graphql_call(case: Any, address: ServedAddress) -> None:
    answer = case.call(timeout=SAFETY, headers=address.headers)
    assert answer.status_code == 200, answer.text
    codes = {error["extensions"]["code"] for error in answer.json().get("errors", ())}
    assert codes <= {"BAD_USER_INPUT", "LIMIT_EXCEEDED", "NOT_FOUND", "BUSY"}, answer.text


KEYS = ("schema", "base", "head", "sop_ids", "sections", "verdict", "sop_review", "gates", "x")


def json_values() -> st.SearchStrategy[ValueNode]:
    """Values of the scalar JSON as GraphQL writes them, with keys that mean something here."""
    simple = st.one_of(
        st.text(st.characters(codec="utf-8"), max_size=20).map(nodes.String),
        st.integers(-9, 9).map(nodes.Int),
        st.booleans().map(nodes.Boolean),
    )

    def above(inner: st.SearchStrategy[ValueNode]) -> st.SearchStrategy[ValueNode]:
        pairs = st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
        return st.lists(inner, max_size=3).map(nodes.List) | pairs.map(_object)

    return st.recursive(simple, above, max_leaves=8)


def _object(pairs: dict[str, ValueNode]) -> ValueNode:
    fields = [ObjectFieldNode(name=NameNode(value=key), value=each) for key, each in pairs.items()]
    return nodes.Object(fields)


schemathesis.graphql.scalar("JSON", json_values())


def check_all(schema: Any, check: Callable[[Any], object], number: int) -> int:
    """Call every operation with what its description allows, as a seed makes it."""
    count = 0
    for found in schema.get_all_operations():
        operation = found.ok()

        @seed(number)
        @CHECKED
        @given(case=operation.as_strategy())
        def call(case: Any) -> None:
            check(case)

        call()
        count += 1
    return count


@pytest.mark.parametrize("number", SEEDS)
def test_rest_answers_as_it_is_described(fuzzed: ServedAddress, number: int) -> None:
    schema = schemathesis.openapi.from_url(f"{fuzzed}/openapi.json")
    assert check_all(schema, partial(rest_call, address=fuzzed), number) == 30


@pytest.mark.parametrize("number", SEEDS)
def test_graphql_answers_whatever_its_schema_allows(fuzzed: ServedAddress, number: int) -> None:
    schema = schemathesis.graphql.from_url(f"{fuzzed}/graphql")
    assert check_all(schema, partial(graphql_call, address=fuzzed), number) > 20


def test_gql_asks_over_http_and_follows_over_a_socket(address: str) -> None:
    async def scene() -> None:
        transport = AIOHTTPTransport(url=f"{address}/graphql")
        async with Client(
            transport=transport, fetch_schema_from_transport=True, execute_timeout=SAFETY
        ) as session:
            found = await session.execute(gql("{ sops { id } }"))
            assert len(found["sops"]) == 2
        socket = WebsocketsTransport(
            url=f"{address.replace('http', 'ws')}/graphql",
            connect_timeout=SAFETY,
            ack_timeout=SAFETY,
        )
        async with Client(transport=socket) as session:
            asked = gql("subscription { graphVersions { documents } }")
            async for found in session.subscribe(asked):
                assert found == {"graphVersions": {"documents": 4}}
                break

    asyncio.run(scene())


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_sparqlwrapper_is_answered(address: str, method: str) -> None:
    client = SPARQLWrapper(f"{address}/sparql")
    client.setQuery(SELECT)
    client.setReturnFormat(JSON)
    client.setMethod(method)
    rows: Any = client.queryAndConvert()
    assert [row["title"]["value"] for row in rows["results"]["bindings"]] == TITLES


@pytest.mark.parametrize("method", ["GET", "POST", "POST_FORM"])
def test_rdflib_is_answered(address: str, method: Any) -> None:
    store = SPARQLStore(f"{address}/sparql", method=method)
    rows: Any = store.query(SELECT)  # typed as every kind of answer at once
    assert [str(row[0]) for row in rows] == TITLES
    assert list(store.query("CONSTRUCT WHERE { ?s ?p 'Use Rust' }"))
    store.close()


def test_graphql_and_sparql_and_rest_say_the_same(root: Path) -> None:
    from starlette.testclient import TestClient

    from tests.kit.servers import HERE, ask

    with TestClient(create_app(root), base_url=HERE) as client:
        entity = "decision.0002-rust"
        by_graphql = ask(
            client, f'{{ entity(id: "{entity}") {{ triples {{ predicate object }} }} }}'
        )
        by_rest = client.get(f"/api/v1/entities/{entity}").json()
        assert by_graphql["data"]["entity"]["triples"] == by_rest["triples"]
        text = "SELECT ?p ?o { id:decision\\/0002-rust ?p ?o }"
        rows = client.get("/sparql", params={"query": text}).json()["results"]["bindings"]
        found = {row["p"]["value"].rpartition("/")[2] for row in rows}
        said = {each["predicate"] for each in by_rest["triples"]}
        assert {name.rpartition(".")[2] for name in said if name.startswith("source.")} <= found
