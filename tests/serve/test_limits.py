"""How much one request may cost."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import pytest
from graphql import parse
from graphql.language import OperationDefinitionNode
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from hornbook import Workspace
from hornbook.errors import ConfigError, TooSlow
from hornbook.graph.snapshot import EntityTriples, Snapshot
from hornbook.loop.engine.background_runs import Executions
from hornbook.serve.access.callers import (
    MOST_UNAUTHENTICATED,
    MOST_UNAUTHENTICATED_OF_ONE,
    Access,
    CallerCheck,
    address_of,
)
from hornbook.serve.access.callers import (
    READER as ANYBODY,
)
from hornbook.serve.app import create_app
from hornbook.serve.graph_updates import GraphUpdates
from hornbook.serve.graphql.context import Deadline, ResolverContext
from hornbook.serve.graphql.documents import DocumentLimits, Documents, Measuring, Size
from hornbook.serve.graphql.executor import GraphQLExecutor, OperationRequest, ReadyOperation
from hornbook.serve.graphql.fast_path import FastPath
from hornbook.serve.graphql.schema import graphql_schema
from hornbook.serve.graphql.transport import GraphQLEndpoint
from hornbook.serve.http.metrics import Metrics
from hornbook.serve.http.problems import HttpRefusal
from hornbook.serve.http.rate_limit import MOST_NAMES, ConcurrencyLimit, RateLimit
from hornbook.serve.http.request import RequestContext
from hornbook.serve.leases import Leases
from hornbook.settings.load import parse_settings
from tests.kit.servers import HERE, READER, SOCKET, TOKENS, ask, client, workspace
from tests.kit.waiting import SAFETY, until


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workspace(tmp_path_factory.mktemp("limits"))


@pytest.fixture(scope="module")
def local(root: Path) -> Iterator[TestClient]:
    with client(root) as found:
        yield found


def bomb(levels: int, inside: str) -> str:
    """Each fragment spreads the next one twice."""
    spreads = "".join(
        f" fragment f{n} on Query {{ ...f{n + 1} ...f{n + 1} }}" for n in range(levels)
    )
    return f"{{ ...f0 }}{spreads} fragment f{levels} on Query {{ {inside} }}"


def size_of(text: str, variables: dict[str, object] | None = None) -> Size:
    document = parse(text)
    operation = next(e for e in document.definitions if isinstance(e, OperationDefinitionNode))
    return Measuring(document, variables).operation(operation)


def test_a_bomb_of_sixty_levels_is_measured_exactly_and_refused(local: TestClient) -> None:
    text = bomb(60, "a: version")
    assert size_of(text) == Size(depth=1, aliases=2**60, cost=2**60)
    (error,) = ask(local, text)["errors"]
    assert error["extensions"] == {"code": "LIMIT_EXCEEDED", "limit": "aliases", "allowed": 30}
    (error,) = ask(local, bomb(60, "version"))["errors"]
    assert error["extensions"]["limit"] == "cost"


def test_a_bomb_of_introspection_is_refused(local: TestClient) -> None:
    text = "{ __schema { types { ...f0 } } }" + "".join(
        f" fragment f{n} on __Type {{ ofType {{ ...f{n + 1} }} fields {{ type {{ ...f{n + 1} }} }} }}"
        for n in range(40)
    )
    assert ask(local, text + " fragment f40 on __Type { name }")["errors"]


def test_fragments_that_spread_themselves_are_refused(local: TestClient) -> None:
    text = "{ ...a } fragment a on Query { ...b } fragment b on Query { ...a version }"
    errors = ask(local, text)["errors"]
    assert errors[0]["extensions"]["code"] == "GRAPHQL_VALIDATION_FAILED"


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("{" + " version" * 2001 + "}", "tokens"),
        ("{" + "".join(f" a{n}: version" for n in range(31)) + "}", "aliases"),
        ("{" + "entities{id " * 11 + "}" * 12, "depth"),
        ("{ entities(first: 1000) {" + " id" * 60 + "} }", "cost"),
    ],
)
def test_each_limit_has_its_refusal(local: TestClient, text: str, limit: str) -> None:
    (error,) = ask(local, text)["errors"]
    assert error["extensions"]["code"] == "LIMIT_EXCEEDED"
    assert error["extensions"]["limit"] == limit


def test_a_page_counts_also_when_a_variable_names_it(local: TestClient) -> None:
    text = "query ($n: Int!) { entities(first: $n) {" + " id" * 60 + "} }"
    assert "errors" not in ask(local, text, n=10)
    (error,) = ask(local, text, n=1000)["errors"]
    assert error["extensions"]["limit"] == "cost"
    default = "query ($n: Int = 1000) { entities(first: $n) {" + " id" * 60 + "} }"
    assert ask(local, default)["errors"][0]["extensions"]["limit"] == "cost"


def test_deep_values_do_not_exhaust_the_stack(local: TestClient) -> None:
    text = "{ why(files: " + "[" * 990 + "]" * 990 + ") { path } }"
    assert ask(local, text)["errors"]
    body = '{"query":"{version}","variables":' + '{"a":' * 50_000 + "1" + "}" * 50_001
    headers = {"content-type": "application/json"}
    assert local.post("/graphql", content=body, headers=headers).status_code == 400


def test_the_usual_introspection_is_within_limits(local: TestClient) -> None:
    from graphql import get_introspection_query

    assert "errors" not in ask(local, get_introspection_query(input_value_deprecation=True))


def spread_out(shape: list[list[int]], start: int) -> int:
    return 1 + sum(spread_out(shape, target) for target in shape[start])


@given(st.data())
def test_a_measure_is_that_of_the_document_without_fragments(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 7))
    shape = [
        data.draw(st.lists(st.integers(n + 1, count - 1), max_size=3)) if n < count - 1 else []
        for n in range(count)
    ]
    fragments = " ".join(
        f"fragment f{n} on Query {{ x{n}: version {' '.join(f'...f{t}' for t in targets)} }}"
        for n, targets in enumerate(shape)
    )
    total = spread_out(shape, 0)
    assert size_of(f"{{ ...f0 }} {fragments}") == Size(1, total, total)


def test_a_document_is_prepared_once() -> None:
    documents = Documents(graphql_schema, DocumentLimits(2000, 10, 30, 50_000, introspection=True))
    assert documents.prepare("{ version }") is documents.prepare("{ version }")


# Bodies, turns, rates, deadlines


def test_a_body_over_the_limit_is_refused(local: TestClient) -> None:
    for path in ("/graphql", "/api/v1/why", "/sparql"):
        answer = local.post(
            path, content=b" " * 1_048_577, headers={"content-type": "application/json"}
        )
        assert (answer.status_code, answer.json()["code"]) == (413, "body")


def test_a_body_without_length_is_counted(local: TestClient) -> None:
    pieces = (b" " * 65_536 for _ in range(17))
    answer = local.post("/graphql", content=pieces, headers={"content-type": "application/json"})
    assert answer.status_code == 413


def test_a_compressed_body_is_refused(local: TestClient) -> None:
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    assert local.post("/graphql", content=b"x", headers=headers).status_code == 415


def test_turns_are_kept_and_too_many_are_turned_away() -> None:
    async def scene() -> None:
        limit = ConcurrencyLimit(at_once=2, waiting=1)
        running = 0
        most = 0
        leave = asyncio.Event()

        async def request_context() -> None:
            nonlocal running, most
            with limit.admitted():
                async with limit.slot():
                    running += 1
                    most = max(most, running)
                    await leave.wait()
                    running -= 1

        tasks = [asyncio.create_task(request_context()) for _ in range(4)]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        (refused,) = done
        with pytest.raises(HttpRefusal) as told:
            refused.result()
        assert told.value.status == 503
        leave.set()
        await asyncio.gather(*(set(tasks) - done))
        assert (most, limit.in_flight) == (2, 0)

    asyncio.run(scene())


def test_a_stream_gives_its_turn_up() -> None:
    async def scene() -> bool:
        limit = ConcurrencyLimit(at_once=1, waiting=5)
        async with limit.slot() as mine:
            mine.release()
            mine.release()
            async with asyncio.timeout(SAFETY), limit.slot():
                return True

    assert asyncio.run(scene())


def test_a_rate_refills() -> None:
    now = 0.0
    rates = RateLimit(60, clock=lambda: now)
    assert [rates.spend("ci") is None for _ in range(16)] == [True] * 15 + [False]
    assert rates.spend("ops") is None
    refusal = rates.spend("ci")
    assert refusal is not None
    assert (refusal.status, refusal.headers) == (429, {"retry-after": "2"})
    now = 1.5
    assert rates.spend("ci") is None


def test_a_token_that_asks_too_often_is_told_to_wait(tmp_path: Path) -> None:
    root = workspace(tmp_path, "serve:\n  rate_per_minute: 8\n")
    with client(root, environment=TOKENS) as found:
        headers = {"authorization": f"Bearer {READER}"}
        seen = [found.get("/metrics", headers=headers).status_code for _ in range(3)]
        assert seen == [200, 200, 429]
        assert found.get("/healthz").status_code == 200


def test_settings_of_the_server_are_checked() -> None:
    with pytest.raises(ConfigError) as told:
        parse_settings(
            b"serve:\n  introspection: maybe\n  concurrency: 0\n  origins: [evil]\n  querydepth: 1\n"
        )
    assert len(told.value.problems) == 4


async def never(_scope: Scope, _receive: Receive, _send: Send) -> None:
    await asyncio.Event().wait()


async def broken(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise ZeroDivisionError("a secret of the inside")


def test_what_takes_too_long_is_given_up_and_what_breaks_is_not_shown(tmp_path: Path) -> None:
    root = workspace(tmp_path / "hasty", "serve:\n  deadline_seconds: 1\n")
    app = create_app(root, endpoints={"/never": lambda _: never})
    with TestClient(app, base_url=HERE, raise_server_exceptions=False) as found:
        answer = found.get("/never")
        assert (answer.status_code, answer.json()["code"]) == (504, "deadline")
        refused = 'hornbook_refused_total{reason="deadline"}'
        assert until(lambda: refused in found.get("/metrics").text, "the metrics within a second")
    app = create_app(workspace(tmp_path / "patient"), endpoints={"/broken": lambda _: broken})
    with TestClient(app, base_url=HERE, raise_server_exceptions=False) as found:
        answer = found.get("/broken", headers={"x-request-id": "mine-1"})
        assert (answer.status_code, answer.json()["code"]) == (500, "internal")
        assert "secret" not in answer.text
        assert answer.headers["x-request-id"] == "mine-1"


# Those who are not known


def test_an_address_that_sends_wrong_tokens_is_told_to_wait(tmp_path: Path) -> None:
    root = workspace(tmp_path, "serve:\n  failures_per_minute: 8\n")
    wrong = {"authorization": "Bearer wrong-token-0123456789"}
    right = {"authorization": f"Bearer {READER}"}
    with client(root, environment=TOKENS) as found:
        for _ in range(5):
            assert found.get("/metrics", headers=right).status_code == 200
            assert found.get("/metrics").status_code == 401
        assert [found.get("/metrics", headers=wrong).status_code for _ in range(3)] == [
            401,
            401,
            429,
        ]
        # Not even the right one is looked at: else wrong ones could be tried without end.
        refused = found.get("/metrics", headers=right)
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) > 0
        assert found.get("/healthz", headers=wrong).status_code == 200
        with (
            pytest.raises(WebSocketDisconnect),
            found.websocket_connect(SOCKET, subprotocols=["graphql-transport-ws"], headers=right),
        ):
            pass


def test_wrong_tokens_over_a_socket_count_as_well(tmp_path: Path) -> None:
    root = workspace(tmp_path, "serve:\n  failures_per_minute: 8\n")
    with client(root, environment=TOKENS) as found:
        codes = []
        for _ in range(3):
            with found.websocket_connect(SOCKET, subprotocols=["graphql-transport-ws"]) as socket:
                payload = {"authorization": "Bearer wrong-token-0123456789"}
                socket.send_json({"type": "connection_init", "payload": payload})
                with pytest.raises(WebSocketDisconnect) as closed:
                    socket.receive_json()
                codes.append(closed.value.code)
        assert codes == [4403, 4403, 1013]


def test_sockets_that_do_not_say_whose_they_are_are_few() -> None:
    callers = CallerCheck(Access(Path("none")))
    with ExitStack() as waiting:
        for _ in range(MOST_UNAUTHENTICATED_OF_ONE):
            waiting.enter_context(callers.unauthenticated("10.0.0.1"))
        with pytest.raises(HttpRefusal), callers.unauthenticated("10.0.0.1"):
            pass
        for number in range(MOST_UNAUTHENTICATED - MOST_UNAUTHENTICATED_OF_ONE):
            waiting.enter_context(callers.unauthenticated(f"10.0.1.{number}"))
        with pytest.raises(HttpRefusal), callers.unauthenticated("10.0.0.2"):
            pass
    with callers.unauthenticated("10.0.0.1"):
        pass


def test_a_socket_counts_as_nameless_only_until_it_is_greeted(local: TestClient) -> None:
    with ExitStack() as opened:
        for _ in range(MOST_UNAUTHENTICATED_OF_ONE + 1):
            socket = opened.enter_context(
                local.websocket_connect(SOCKET, subprotocols=["graphql-transport-ws"])
            )
            socket.send_json({"type": "connection_init"})
            assert socket.receive_json() == {"type": "connection_ack"}


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("testclient", "testclient"),
    ],
)
def test_a_network_of_one_machine_is_one_address(host: str, expected: str) -> None:
    assert address_of({"client": (host, 1)}) == expected


def test_rates_remember_no_more_names_than_they_need() -> None:
    now = 0.0
    rates = RateLimit(60, clock=lambda: now)
    for number in range(MOST_NAMES * 2):
        rates.spend(f"10.{number}")
    assert rates.names <= MOST_NAMES
    assert [rates.spend("last") is None for _ in range(16)] == [True] * 15 + [False]
    now = 3600.0
    for number in range(MOST_NAMES):
        rates.spend(f"later {number}")
    assert rates.names <= MOST_NAMES


# Nobody waits any longer


def test_a_query_that_nobody_waits_for_stops_at_its_next_piece(root: Path) -> None:
    """The store ends the patience itself, so that what is asked of it later can be counted."""
    deadline = Deadline()
    asked = []

    class Ending(Snapshot):
        def describe(self, ids: Sequence[str]) -> list[EntityTriples]:
            asked.append(len(ids))
            deadline.end()
            return super().describe(ids)

    with Workspace.open(root) as work:
        found = work.snapshot()
        snapshot = Ending(lambda: found.store, found.catalog, found.settings)
        context = ResolverContext(work, snapshot, deadline=deadline)
        engine = GraphQLExecutor(graphql_schema)
        fields = " ".join(f"a{n}: entities {{ id triples {{ object }} }}" for n in range(20))
        ready = engine.ready(OperationRequest(f"{{ {fields} }}"))
        assert isinstance(ready, ReadyOperation)
        answer = engine.run(ready, context)
        assert len(asked) == 1
        errors = cast("list[dict[str, Any]]", answer["errors"])  # an answer is made of objects
        assert {error["extensions"]["code"] for error in errors} == {"DEADLINE"}
        plan = FastPath(graphql_schema, 0).plan(ready)
        assert plan is not None
        with pytest.raises(TooSlow):
            FastPath(graphql_schema, 0).answer(plan, context)
        assert len(asked) == 1


def test_a_request_that_is_given_up_ends_the_patience_of_its_thread(root: Path) -> None:
    began, seen, go_on = threading.Event(), threading.Event(), threading.Event()

    class Slow(GraphQLExecutor):
        def run(self, ready: ReadyOperation, context: ResolverContext) -> dict[str, object]:
            began.set()
            go_on.wait(SAFETY)
            try:
                context.deadline.check()
            except TooSlow:
                seen.set()
            return {}

    async def scene() -> None:
        leases = Leases(root)
        updates = GraphUpdates(leases, Metrics(), Executions({}, lambda _run, _code: None), 1)
        engine = Slow(graphql_schema)
        with ThreadPoolExecutor(1) as pool:
            room = GraphQLEndpoint(
                engine, updates, pool, page=None, callers=CallerCheck(Access(Path("none")))
            )
            ready = engine.ready(OperationRequest("{ collections }"))
            assert isinstance(ready, ReadyOperation)
            task = asyncio.ensure_future(room.answer(ready, RequestContext("x", ANYBODY)))
            await asyncio.to_thread(began.wait, 30)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            go_on.set()
        updates.follower.close()
        leases.close()

    asyncio.run(scene())
    assert seen.is_set()
