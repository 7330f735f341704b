"""Attacks by numbers and by patience: everybody else is still answered."""

import json
import socket
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from hornbook import Workspace
from hornbook.errors import UsageError
from hornbook.graph.ingest.report import IngestReport
from hornbook.loop.engine.background_runs import Executions
from hornbook.serve import service
from hornbook.serve.answers import MOST_LINES, PIECE, why_within
from hornbook.serve.graph_updates import GraphUpdates
from hornbook.serve.graphql.context import Deadline, ResolverContext
from hornbook.serve.graphql.documents import _KEPT_CHARACTERS, Documents
from hornbook.serve.graphql.executor import GraphQLExecutor, OperationRequest, ReadyOperation
from hornbook.serve.graphql.schema import graphql_schema
from hornbook.serve.http.gateway import MOST_LARGE, Bodies
from hornbook.serve.http.metrics import Metrics
from hornbook.serve.http.problems import HttpRefusal
from hornbook.serve.leases import Leases
from tests.kit.raw_requests import HOST, attacked, get, heard, post, query, served, talk
from tests.kit.servers import workspace
from tests.kit.waiting import SAFETY


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with attacked(tmp_path_factory.mktemp("attacked"), "  sparql_seconds: 1\n") as found:
        yield found


# Those who keep others waiting


def is_answered(port: int) -> bool:
    return b'{"data":{"__typename":"Query"}}' in talk(port, query("{ __typename }"))


def test_bodies_that_never_end_keep_nobody_waiting(port: int) -> None:
    head = b"POST /graphql HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
    with ExitStack() as held:
        for _ in range(12):  # of which four could be worked on at a time
            line = held.enter_context(socket.create_connection(("127.0.0.1", port)))
            line.sendall(head + b"Content-Length: 1000\r\n\r\n{")
        assert is_answered(port)


def test_heavy_sparql_keeps_nobody_else_waiting(port: int) -> None:
    heavy = b"SELECT (COUNT(*) AS ?n) {?a ?b ?c. ?d ?e ?f. ?g ?h ?i. ?j ?k ?l}"
    with ExitStack() as held:
        for _ in range(6):
            line = held.enter_context(socket.create_connection(("127.0.0.1", port)))
            line.sendall(post("/sparql", heavy, "application/sparql-query"))
        assert is_answered(port)


def test_too_many_bytes_of_bodies_together_are_refused() -> None:
    bodies = Bodies(10)
    with ExitStack() as held:
        for _ in range(MOST_LARGE):
            body = held.enter_context(bodies.one())
            bodies.hold(10)
            body.size = 10
        with pytest.raises(HttpRefusal) as told:
            bodies.hold(1)
        assert (told.value.status, told.value.headers) == (503, {"retry-after": "1"})
    assert bodies.held == 0


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "LOOK_EVERY", 0.1)


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", get(b"/healthz") + b"GET /"],
    ids=["nothing", "half a line", "half a header", "half of a second request"],
)
def test_who_never_ends_a_request_is_left(port: int, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=SAFETY) as line:
        line.sendall(sent)
        assert is_left(line)


@pytest.mark.usefixtures("quickly")
def test_who_never_reads_an_answer_is_left(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    with served(root) as port, socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.settimeout(SAFETY)
        line.connect(("127.0.0.1", port))
        # Some megabytes of answers, more than the system keeps for a connection.
        asked = query("{" + " ".join(f"a{n}: entities {{ id triples {{ predicate object }} }}" for n in range(30)) + "}")  # fmt: skip
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            _for_ever(line.sendall, asked)


def is_left(line: socket.socket) -> bool:
    """Whether the other side lets go of a connection, before it gets late for us."""
    try:
        while line.recv(65536):
            pass
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True


def _for_ever(call: Callable[..., object], *arguments: object) -> None:
    while True:
        call(*arguments)


@pytest.mark.usefixtures("quickly")
def test_a_stream_that_is_silent_is_not_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = workspace(tmp_path)
    looks, often = count(), threading.Event()
    look = service.WatchedConnection.look

    def counted(self: service.WatchedConnection) -> None:
        look(self)
        if next(looks) > 5:
            often.set()

    monkeypatch.setattr(service.WatchedConnection, "look", counted)
    with (
        served(root) as port,
        socket.create_connection(("127.0.0.1", port), timeout=SAFETY) as line,
    ):
        body = b'{"query":"subscription { graphVersions { documents } }"}'
        line.sendall(post("/graphql", body, more=b"accept: text/event-stream\r\n"))
        found = b""
        while b'"documents":4' not in found:
            found += line.recv(65536)
        assert often.wait(SAFETY)
        (root / ".semspec/sources/docs/sops/new.md").write_text("# New\n\nText.\n")
        with Workspace.open(root) as work:
            work.ingest()
        while b'"documents":5' not in found:
            piece = line.recv(65536)
            assert piece, found
            found += piece


def test_there_are_only_so_many_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MOST_CONNECTIONS", 5)
    with served(workspace(tmp_path)) as port, ExitStack() as held:
        lines = [
            held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=SAFETY))
            for _ in range(6)
        ]
        with suppress(ConnectionResetError):
            assert lines[-1].recv(1) == b""
        lines[0].sendall(get(b"/healthz"))
        assert heard(lines[0])[9:12] == b"200"


# WebSockets and streams


@contextmanager
def socket_to(port: int) -> Iterator[Any]:
    place = f"ws://127.0.0.1:{port}/graphql"
    with connect(place, subprotocols=["graphql-transport-ws"], max_size=None) as line:  # type: ignore[list-item]  # a plain name will do
        yield line


HOSTILE: dict[str, Callable[[Any], object]] = {
    "a frame that is too large": lambda line: line.send("x" * 200_000),
    "a frame that grows": lambda line: line.send("x" * 50_000_000),
    "bytes": lambda line: line.send(b"\x00\xff"),
    "many brackets": lambda line: line.send("[" * 50_000),
    "a number of many digits": lambda line: line.send('{"type":' + "9" * 5000 + "}"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_frame_ends_its_socket_and_nothing_else(port: int, name: str) -> None:
    with socket_to(port) as line:
        with suppress(ConnectionClosed):
            HOSTILE[name](line)
        with pytest.raises(ConnectionClosed):
            _for_ever(line.recv, 20)
        assert is_answered(port)
    assert len(zlib.compress(b"x" * 50_000_000)) < 100_000  # it is sent compressed


def test_a_flood_of_operations_ends_its_socket(port: int) -> None:
    asked = {"query": "subscription { graphVersions { version } }"}
    with socket_to(port) as line:
        line.send('{"type":"connection_init"}')
        with suppress(ConnectionClosed):
            for number in range(100):
                line.send(json.dumps({"type": "subscribe", "id": str(number), "payload": asked}))
        with pytest.raises(ConnectionClosed) as closed:
            _for_ever(line.recv, 20)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4429


def test_a_flood_of_streams_is_turned_away_and_others_are_answered(port: int) -> None:
    body = b'{"query":"subscription { graphVersions { documents } }"}'
    asked = post("/graphql", body, more=b"accept: text/event-stream\r\n")
    with ExitStack() as held:
        statuses = []
        for _ in range(10):
            line = held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=SAFETY))
            line.sendall(asked)
            statuses.append(line.recv(4096)[9:12])
        assert statuses == [b"200"] * 6 + [b"503"] * 4
        assert is_answered(port)


# Small requests with large answers


def test_an_answer_of_too_many_fields_is_refused(tmp_path: Path) -> None:
    with Workspace.open(workspace(tmp_path)) as work:
        engine = GraphQLExecutor(graphql_schema)
        ready = engine.ready(OperationRequest("{ entities { id triples { predicate object } } }"))
        assert isinstance(ready, ReadyOperation)
        context = ResolverContext(work, work.snapshot(), deadline=Deadline(most_fields=50))
        answer: Any = engine.run(ready, context)
        assert answer["data"] is None
        assert "ask for less" in answer["errors"][0]["message"]
        assert len(answer["errors"]) == 1


def test_rules_of_many_files_are_told_as_long_as_they_are_few(tmp_path: Path) -> None:
    with Workspace.open(workspace(tmp_path)) as work:
        files = [f"a{number}.go" for number in range(100)]
        assert why_within(work.why, files) == work.why(files)
        (answer,) = work.why(["a.go"])
        asked: list[int] = []

        def many(piece: Any) -> Any:
            asked.append(len(piece))
            return [answer] * (MOST_LINES // 3)

        with pytest.raises(UsageError, match="at a time"):
            why_within(many, files)
        assert len(asked) < len(files) / PIECE


def test_documents_are_kept_only_as_far_as_there_is_room() -> None:
    documents = Documents(graphql_schema, None)
    texts = ["{ " + f"version #{number} " + "x" * (_KEPT_CHARACTERS // 4) + "\n}" for number in range(8)]  # fmt: skip
    for text in texts:
        documents.prepare(text)
    assert [documents.knows(text) for text in texts] == [False] * 5 + [True] * 3


REPLAYS = {
    "REST": post("/api/v1/replay", b"{}", more=b"authorization: Bearer %s\r\n"),
    "GraphQL": query("{ replay { notes } }"),
    "a page": get(b"/replay"),
}


def test_a_replay_that_its_client_left_keeps_no_other_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = threading.Semaphore(0)

    def without_end(*_of: object, progress: Callable[..., None], **_asked: object) -> None:
        begun.release()
        _for_ever(progress)

    monkeypatch.setattr(Workspace, "replay", without_end)
    root = workspace(tmp_path)
    with served(root) as port:
        secret = (root / ".hornbook/secret").read_bytes().strip()
        for door, asked in REPLAYS.items():
            with socket.create_connection(("127.0.0.1", port), timeout=SAFETY) as line:
                line.sendall(asked.replace(b"%s", secret))
                assert begun.acquire(timeout=SAFETY), f"{door} waits for the one before"


def test_one_request_ingests_at_a_time_and_the_watch_waits_for_it(tmp_path: Path) -> None:
    leases = Leases(workspace(tmp_path))
    began = threading.Event()

    class Telling(GraphUpdates):
        def ingest_in_turn(self, paths: Sequence[str] = ()) -> IngestReport:
            began.set()
            return super().ingest_in_turn(paths)

    updates = Telling(leases, Metrics(), Executions({}, lambda _run, _code: None), 1)
    with updates._ingesting:  # as the watch does
        first = threading.Thread(target=updates.ingest)
        first.start()
        assert began.wait(SAFETY)
        with pytest.raises(Exception, match="ingesting already"):
            updates.ingest()
    first.join(SAFETY)
    assert updates.ingest().documents == 4
    updates.follower.close()
    leases.close()
