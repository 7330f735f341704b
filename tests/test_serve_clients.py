"""Clients that others wrote: schemathesis, gql, SPARQLWrapper and rdflib."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from gql import Client, gql
from gql.transport.aiohttp import AIOHTTPTransport
from gql.transport.websockets import WebsocketsTransport
from hypothesis import HealthCheck, Phase, given, settings
from rdflib.plugins.stores.sparqlstore import SPARQLStore
from schemathesis.specs.openapi.checks import positive_data_acceptance
from SPARQLWrapper import JSON, SPARQLWrapper

from hornbook.serve.app import create_app
from tests.serving import on_a_port, workspace

SELECT = (
    "PREFIX d: <https://w3id.org/hornbook/p/source/doc/> "
    "SELECT ?title { ?s d:title ?title } ORDER BY ?title"
)
TITLES = ["Error Handling", "Test Coverage", "Use Go", "Use Rust"]
CHECKED = settings(
    max_examples=15,
    deadline=None,
    database=None,
    derandomize=True,
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


def rest_call(case: Any) -> None:
    # A file that is not there is refused, which no description of a path can say.
    case.call_and_validate(excluded_checks=[positive_data_acceptance])


def graphql_call(case: Any) -> None:
    answer = case.call()
    assert answer.status_code == 200, answer.text
    codes = {error["extensions"]["code"] for error in answer.json().get("errors", ())}
    assert codes <= {"BAD_USER_INPUT", "LIMIT_EXCEEDED", "NOT_FOUND", "BUSY"}, answer.text


def check_all(schema: Any, check: Callable[[Any], None]) -> int:
    """Call every operation with what its description allows."""
    count = 0
    for found in schema.get_all_operations():
        operation = found.ok()

        @CHECKED
        @given(case=operation.as_strategy())
        def call(case: Any) -> None:
            check(case)

        call()
        count += 1
    return count


def test_rest_answers_as_it_is_described(address: str) -> None:
    assert check_all(schemathesis.openapi.from_url(f"{address}/openapi.json"), rest_call) == 9


def test_graphql_answers_whatever_its_schema_allows(address: str) -> None:
    assert check_all(schemathesis.graphql.from_url(f"{address}/graphql"), graphql_call) > 10


def test_gql_asks_over_http_and_follows_over_a_socket(address: str) -> None:
    async def scene() -> None:
        transport = AIOHTTPTransport(url=f"{address}/graphql")
        async with Client(transport=transport, fetch_schema_from_transport=True) as session:
            found = await session.execute(gql("{ sops { id } }"))
            assert len(found["sops"]) == 2
        socket = WebsocketsTransport(url=f"{address.replace('http', 'ws')}/graphql")
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

    from tests.serving import HERE, ask

    with TestClient(create_app(root), base_url=HERE) as client:
        entity = "decision.0002-rust"
        by_graphql = ask(
            client, f'{{ entity(id: "{entity}") {{ triples {{ predicate object }} }} }}'
        )
        by_rest = client.get(f"/api/v1/entities/{entity}").json()
        assert by_graphql["data"]["entity"]["triples"] == by_rest["triples"]
        text = "SELECT ?p ?o { <https://w3id.org/hornbook/id/decision/0002-rust> ?p ?o }"
        rows = client.get("/sparql", params={"query": text}).json()["results"]["bindings"]
        assert len({(row["p"]["value"], row["o"]["value"]) for row in rows}) == len(
            by_rest["triples"]
        )
