"""The clients of the soak: each asks one interface again and again and judges every answer."""

import http.client
import json
import random
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from typing import Any
from urllib.parse import quote

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from tests.benchmarks.mcp_calls import HANDSHAKE, NEWEST, call
from tests.benchmarks.soak_workspace import Ground, Seen, numbers_in, rule_id

PAGE = 20
# A reviewer gets no rules whose file is newer than the graph: that is refused, and counted apart.
STALE = b"changed since it was ingested"
JSON = {"content-type": "application/json"}
PAGES = "query ($after: String) { version entities(first: %d, after: $after) { id triples { predicate object } } }"
RELAY = "query ($after: String) { version entitiesConnection(first: %d, after: $after) { edges { cursor node { id triples { predicate object } } } pageInfo { hasNextPage endCursor } } }"
# Two ways through the server in one document, which must agree: the swift one and the other.
BOTH_WAYS = """query ($id: ID!, $prefix: String!) {
  before: version
  whole: entities(filter: { idPrefix: $prefix, includeChunks: true }) { id triples { predicate object } }
  entity(id: $id) { id triples { predicate object } }
  traverse(start: $id, direction: INBOUND) { nodes { id triples { predicate object } } }
  entitiesByPrefix(prefix: $prefix) { id triples { predicate object } }
  after: version
}"""
SWIFT = "query ($prefix: String!) { before: version whole: entities(filter: { idPrefix: $prefix, includeChunks: true }) { id triples { predicate object } } after: version }"
CHUNKS = """SELECT ?title ?count ?text {{
  id:{path} source.doc:title ?title ; source.doc:chunk_count ?count .
  ?chunk code.structure:belongs id:{path} ; source.doc:content ?text }}"""
VERSIONS = "subscription { graphVersions { version documents } }"


class Client:
    """One client: a connection that is kept, and what it has seen."""

    kind = ""

    def __init__(self, address: str, ground: Ground, seen: Seen, seed: int) -> None:
        self.host = address.removeprefix("http://")
        self.ground = ground
        self.seen = seen
        self.chance = random.Random(seed)
        self.newest: dict[int, int] = {}
        self.connection = http.client.HTTPConnection(self.host, timeout=60)

    def run(self, stop: threading.Event) -> None:
        """Ask until told to stop; a failure is noted, and the client goes on."""
        with closing(self.connection):
            while not stop.is_set():
                try:
                    self.once(stop)
                except (OSError, http.client.HTTPException, WebSocketException) as problem:
                    self.seen.fail(f"{self.kind}: {type(problem).__name__}: {problem}")
                    self.connection.close()

    def once(self, stop: threading.Event) -> None:
        """Ask one thing."""
        raise NotImplementedError

    def ask(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> tuple[http.client.HTTPResponse, bytes] | None:
        """An answer of status 200; None if the server says to come again later, or failed."""
        sent = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        self.connection.request(method, path, sent, {**JSON, **(headers or {})})
        answer = self.connection.getresponse()
        data = answer.read()
        if answer.status in {429, 503} and answer.getheader("retry-after"):
            self.seen.refused(f"{self.kind} {answer.status}")
            return None
        if STALE in data:
            self.seen.refused(f"{self.kind} stale")
            return None
        if answer.status not in {200, 304}:
            self.seen.fail(f"{self.kind}: {method} {path[:80]}: {answer.status} {data[:300]!r}")
            return None
        self.seen.answered(self.kind)
        return answer, data

    def graphql(self, query: str, **variables: object) -> Any:
        """The data of a GraphQL answer, or None."""
        found = self.ask("POST", "/graphql", {"query": query, "variables": variables})
        if found is None:
            return None
        answer = json.loads(found[1])
        if "errors" in answer:
            self.seen.fail(f"{self.kind}: {answer['errors']}")
            return None
        return answer["data"]

    def rule(self) -> int:
        """Any rule."""
        return self.chance.randrange(self.ground.rules)

    def judge(self, texts: Iterable[str], version: str | None) -> dict[int, int]:
        """Check the texts of one answer: nothing torn, as its version says, nothing going back."""
        numbers, torn = numbers_in(texts)
        for each in torn:
            self.seen.fail(f"{self.kind}: torn: {each}")
        if version is not None:
            self.seen.agree(self.kind, version, numbers)
        for rule, number in numbers.items():
            before = self.newest.get(rule, 0)
            if number < before:
                self.seen.fail(f"{self.kind}: rule {rule} went back from {before} to {number}")
            if number > self.ground.written[rule]:
                self.seen.fail(f"{self.kind}: rule {rule} has number {number}, never written")
            self.newest[rule] = max(before, number)
        return numbers


def texts_of(entities: Iterable[Any]) -> list[str]:
    """Every text of some entities."""
    return [triple["object"] for each in entities for triple in each["triples"]]


class Pager(Client):
    """Goes through all rules page by page, by ids or by Relay's cursors."""

    kind = "GraphQL pages"
    after: str | None = None

    def once(self, stop: threading.Event) -> None:
        """Ask for the next page."""
        relay = self.chance.random() < 0.3
        found = self.graphql((RELAY if relay else PAGES) % PAGE, after=self.after)
        if found is None:
            return
        if relay:
            nodes = [edge["node"] for edge in found["entitiesConnection"]["edges"]]
        else:
            nodes = found["entities"]
        ids = [node["id"] for node in nodes]
        if ids != sorted(set(ids)):
            self.seen.fail(f"{self.kind}: not in order: {ids}")
        rules = [each for each in ids if each.startswith("source.doc.sops.rule-")]
        numbers = self.judge(texts_of(nodes), found["version"])
        if len(numbers) != len(rules):
            self.seen.fail(f"{self.kind}: {len(rules)} rules, {len(numbers)} numbers")
        self.after = ids[-1] if len(ids) == PAGE else None


class Whole(Client):
    """Asks for a document with its chunks by several fields of one query, which must agree."""

    kind = "GraphQL wholes"

    def once(self, stop: threading.Event) -> None:
        """Ask for one document in several ways."""
        identity = rule_id(self.rule())
        if self.chance.random() < 0.5:
            found = self.graphql(SWIFT, prefix=identity)
        else:
            found = self.graphql(BOTH_WAYS, prefix=identity, id=identity)
        if found is None:
            return
        if found["before"] != found["after"]:
            self.seen.fail(f"{self.kind}: {found['before']} and {found['after']} in one answer")
        whole = found["whole"]
        nodes = [*whole, *found.get("entitiesByPrefix", ())]
        if "entity" in found:
            nodes += [found["entity"], *found["traverse"]["nodes"]]
        self.judge(texts_of(nodes), found["before"])
        said = next(
            int(triple["object"])
            for triple in whole[0]["triples"]
            if triple["predicate"] == "source.doc.chunk_count"
        )
        chunks = [each["id"] for each in whole[1:]]
        if sorted(chunks) != sorted(f"{identity}.chunk.{n}" for n in range(1, said + 1)):
            self.seen.fail(f"{self.kind}: {identity} has {said} chunks, and these came: {chunks}")


class Rest(Client):
    """Asks REST: an entity, the rules of a file, what a reviewer must see."""

    kind = "REST"
    tag: str | None = None

    def once(self, stop: threading.Event) -> None:
        """Ask one of three questions."""
        rule = self.rule()
        files = {"files": [f"area{rule}/main.go"]}
        chosen = self.chance.randrange(3)
        if chosen == 0:
            self._entity(rule)
        elif chosen == 1:
            self._judge(self.ask("POST", "/api/v1/why", files), rule)
        else:
            self._judge(self.ask("POST", "/api/v1/context/review", files), rule)

    def _entity(self, rule: int) -> None:
        headers = {"if-none-match": self.tag} if self.tag is not None else {}
        found = self.ask("GET", f"/api/v1/entities/{rule_id(rule)}", headers=headers)
        if found is None:
            return
        answer, data = found
        if answer.status == 304:
            if answer.getheader("etag") != self.tag or data:
                self.seen.fail(f"{self.kind}: 304 with {answer.getheader('etag')}, sent {self.tag}")
            return
        self.tag = answer.getheader("etag")
        self._judge(found, rule)

    def _judge(self, found: tuple[http.client.HTTPResponse, bytes] | None, rule: int) -> None:
        if found is None:
            return
        answer, data = found
        tag = answer.getheader("etag")
        if tag is None:
            self.seen.fail(f"{self.kind}: no ETag")
            return
        numbers = self.judge([data.decode()], _version(tag))
        if set(numbers) != {rule}:
            self.seen.fail(f"{self.kind}: asked for rule {rule}, answered {numbers}")


def _version(tag: str) -> str:
    """The version of the graph in a tag, whatever form or compression the tag is of."""
    return tag.removeprefix("W/").strip('"').partition("-")[0]


class Sparql(Client):
    """Asks SPARQL for a document with its chunks."""

    kind = "SPARQL"

    def once(self, stop: threading.Event) -> None:
        """Ask for one document."""
        rule = self.rule()
        text = CHUNKS.format(path=rule_id(rule).replace(".", "\\/"))
        accept = {"accept": "application/sparql-results+json"}
        found = self.ask("GET", f"/sparql?query={quote(text)}", headers=accept)
        if found is None:
            return
        answer, data = found
        rows = json.loads(data)["results"]["bindings"]
        counts = {int(row["count"]["value"]) for row in rows}
        if counts != {len(rows)}:
            self.seen.fail(f"{self.kind}: rule {rule} has {counts} chunks, {len(rows)} came")
        version = _version(answer.getheader("etag") or "")
        self.judge([row[key]["value"] for row in rows for key in ("title", "text")], version)


class Mcp(Client):
    """Calls MCP tools and reads resources, at both revisions of the protocol."""

    kind = "MCP"

    def once(self, stop: threading.Event) -> None:
        """Call one tool, or read one rule."""
        rule = self.rule()
        files = {"files": [f"area{rule}/main.go"]}
        questions: list[tuple[str, dict[str, object]]] = [
            ("tools/call", {"name": "rules_for_files", "arguments": files}),
            ("tools/call", {"name": "review_context", "arguments": files}),
            ("tools/call", {"name": "get_entity", "arguments": {"id": rule_id(rule)}}),
            ("resources/read", {"uri": f"rule://{rule_id(rule)}"}),
        ]
        method, params = self.chance.choice(questions)
        body, headers = call(self.chance.choice([NEWEST, HANDSHAKE]), method, params)
        if headers.get("mcp-method") == "resources/read":
            headers["mcp-name"] = str(params["uri"])
        found = self.ask("POST", "/mcp", body, headers)
        if found is None:
            return
        answer = json.loads(found[1])
        if "error" in answer or answer["result"].get("isError"):
            self.seen.fail(f"{self.kind}: {found[1][:300]!r}")
            return
        numbers = self.judge([found[1].decode()], None)
        if set(numbers) != {rule}:
            self.seen.fail(f"{self.kind}: asked for rule {rule}, answered {numbers}")


class Onlooker(Client):
    """Looks at the server itself: metrics, readiness, the status page, the description."""

    kind = "status"

    def once(self, stop: threading.Event) -> None:
        """Look at one page."""
        path = self.chance.choice(["/metrics", "/readyz", "/healthz", "/", "/openapi.json"])
        found = self.ask("GET", path)
        if found is not None and path == "/readyz":
            documents = json.loads(found[1])["documents"]
            if documents != self.ground.rules:
                self.seen.fail(f"{self.kind}: {documents} documents of {self.ground.rules}")


class SseFollower(Client):
    """Follows the versions of the graph over server-sent events, some of them at a time."""

    kind = "SSE"

    def once(self, stop: threading.Event) -> None:
        """Follow some versions, then come again."""
        body = json.dumps({"query": VERSIONS}).encode()
        self.connection.request("POST", "/graphql", body, {**JSON, "accept": "text/event-stream"})
        answer = self.connection.getresponse()
        if answer.status == 503 and answer.getheader("retry-after"):
            answer.read()
            self.seen.refused(f"{self.kind} 503")
            stop.wait(1)
            return
        if answer.status != 200:
            self.seen.fail(f"{self.kind}: {answer.status} {answer.read()[:300]!r}")
            return
        told: list[str] = []
        while len(told) < 10 and not stop.is_set():
            line = answer.readline()
            if not line:
                self.seen.fail(f"{self.kind}: the stream ended by itself")
                break
            if line.startswith(b"data: "):
                _followed(self, json.loads(line[6:]), told)
        self.connection.close()


class SocketFollower(Client):
    """Follows the versions of the graph over a WebSocket, and asks over it as well."""

    kind = "WebSocket"

    def once(self, stop: threading.Event) -> None:
        """Follow some versions and ask for the rules in between, then come again."""
        address = f"ws://{self.host}/graphql"
        with connect(address, subprotocols=["graphql-transport-ws"], open_timeout=60, close_timeout=20, max_size=None) as line:  # type: ignore[list-item]  # a plain name will do  # fmt: skip
            _say(line, type="connection_init")
            if json.loads(line.recv(60))["type"] != "connection_ack":
                self.seen.fail(f"{self.kind}: not acknowledged")
                return
            _say(line, type="subscribe", id="versions", payload={"query": VERSIONS})
            told: list[str] = []
            for message in _heard(line, stop):
                if message["type"] == "error":
                    self.seen.fail(f"{self.kind}: {message}")
                elif message["id"] == "versions":
                    _followed(self, message["payload"], told)
                    payload = {"query": SWIFT, "variables": {"prefix": rule_id(self.rule())}}
                    _say(line, type="subscribe", id=f"q{len(told)}", payload=payload)
                elif message["type"] == "next":
                    data = message["payload"]["data"]
                    self.seen.answered(self.kind)
                    self.judge(texts_of(data["whole"]), data["before"])
                if len(told) >= 10 and message["type"] == "complete":
                    break


def _say(line: ClientConnection, **message: object) -> None:
    line.send(json.dumps(message))


def _heard(line: ClientConnection, stop: threading.Event) -> Iterator[Any]:
    while not stop.is_set():
        with suppress(TimeoutError):
            yield json.loads(line.recv(timeout=1))


def _followed(client: Client, answer: Any, told: list[str]) -> None:
    if "errors" in answer:
        client.seen.fail(f"{client.kind}: {answer['errors']}")
        return
    found = answer["data"]["graphVersions"]
    if told and told[-1] == found["version"]:
        client.seen.fail(f"{client.kind}: told of {found['version']} twice")
    if found["documents"] != client.ground.rules:
        client.seen.fail(f"{client.kind}: {found['documents']} of {client.ground.rules} documents")
    told.append(found["version"])
    client.seen.answered(client.kind)


Making = Callable[[str, Ground, Seen, int], Client]
# How many of twenty clients are of each kind.
KINDS: tuple[tuple[Making, int], ...] = (
    (Pager, 6),
    (Whole, 4),
    (Rest, 3),
    (Sparql, 2),
    (Mcp, 2),
    (Onlooker, 1),
    (SseFollower, 1),
    (SocketFollower, 1),
)


def clients(count: int, address: str, ground: Ground, seen: Seen) -> list[Client]:
    """So many clients of all kinds; of few there is one of each first."""
    kinds = [kind for kind, _ in KINDS]
    share = [kind for kind, parts in KINDS for _ in range(parts)]
    chosen = [*kinds, *(share[n % len(share)] for n in range(max(0, count - len(kinds))))]
    return [make(address, ground, seen, seed) for seed, make in enumerate(chosen[:count])]
