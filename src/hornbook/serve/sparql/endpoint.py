"""SPARQL 1.1 Protocol, query only."""

import asyncio
import json
import queue
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hornbook.errors import HornbookError
from hornbook.graph.sparql import Dataset, Forms, SparqlLimits, service_description
from hornbook.graph.sparql_process import Asker, Question, Reply
from hornbook.serve.http.problems import HttpRefusal, refusal_of
from hornbook.serve.http.request import request_context_of
from hornbook.serve.http.response import best, body_of, send_bytes
from hornbook.settings.surroundings import ServeSettings

FORM = "application/x-www-form-urlencoded"
QUERY = "application/sparql-query"
TABLES = {
    "application/sparql-results+json": "json",
    "application/json": "json",
    "application/sparql-results+xml": "xml",
    "application/xml": "xml",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
}
GRAPHS = {
    "text/turtle": "turtle",
    "application/n-triples": "ntriples",
    "application/rdf+xml": "rdfxml",
    "application/ld+json": "jsonld",
    "application/n-quads": "nquads",
    "application/trig": "trig",
}
PAGE = "text/html"
EXAMPLE = """\
SELECT ?rule ?title ?severity
WHERE { ?rule source.doc:title ?title ; source.doc:severity ?severity }
ORDER BY ?title"""
_TABLE, _GRAPH = next(iter(TABLES)), next(iter(GRAPHS))
_DIFFERS_EACH_TIME = re.compile(r"\b(?:now|rand|uuid|struuid|bnode)\s*\(", re.IGNORECASE)
"""Functions whose answers the version of the graph does not tell."""
_TEXT = frozenset({"text/csv", "text/tab-separated-values", "text/turtle"})

MakePage = Callable[..., Response]
"""Makes a page from a request, the name of a template and what it shows."""


class SparqlProcesses:
    """Some processes that answer SPARQL, each asked by one thread at a time."""

    def __init__(self, folder: Callable[[], Path], settings: ServeSettings) -> None:
        """`folder` is asked before each question: where the graph lies that is published now."""
        self._folder = folder
        self._settings = settings
        self._threads = ThreadPoolExecutor(settings.sparql_workers, "sparql")
        self._in_flight = 0
        self._most = settings.sparql_workers + settings.concurrency
        self._free: queue.LifoQueue[Asker] = queue.LifoQueue()
        for _ in range(settings.sparql_workers):
            self._free.put(Asker(settings.sparql_megabytes))

    async def ask(self, question: Question) -> Reply:
        """The answer to a question.

        Raises:
            HornbookError: It is refused or was ended.
            Refusal: Too many wait already.
        """
        if self._in_flight >= self._most:
            raise HttpRefusal(
                503,
                "busy",
                f"{self._in_flight} SPARQL queries run or wait: try again later.",
                headers={"retry-after": "2"},
            )
        self._in_flight += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, self._ask, question)
        finally:
            self._in_flight -= 1

    def _ask(self, question: Question) -> Reply:
        folder = self._folder()
        asker = self._free.get()
        try:
            return asker.ask(question, folder, self._settings.sparql_seconds)
        finally:
            self._free.put(asker)

    def close(self) -> None:
        """End the processes; a question that is being asked is given its time first."""
        self._threads.shutdown(cancel_futures=True)
        while not self._free.empty():
            self._free.get().close()


class SparqlEndpoint:
    """The application behind `/sparql`."""

    def __init__(self, processes: SparqlProcesses, settings: ServeSettings, page: MakePage) -> None:
        self._processes = processes
        self._page = page
        self._bounds = SparqlLimits(settings.sparql_rows, settings.sparql_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008, "reason": ""})
            return
        headers = dict(scope["headers"])
        if scope["method"] == "GET" and _wants_page(headers):
            await (await self._browsed(scope))(scope, receive, send)
            return
        if scope["method"] == "GET" and not scope["query_string"]:
            await _describe(scope, headers, send)
            return
        text, dataset = await _asked(scope, receive, headers)
        chosen = _Chosen(headers.get(b"accept"))
        reply = await self._reply(scope, Question(text, chosen.forms, dataset, self._bounds))
        extra = [(b"vary", b"accept")]
        if not _DIFFERS_EACH_TIME.search(text):
            extra.append((b"etag", f'W/"{reply.version}-{reply.form}"'.encode()))
        await send_bytes(send, 200, chosen.media_type(reply.form), reply.data, extra)

    async def _reply(self, scope: Scope, question: Question) -> Reply:
        # It waits for another process: meanwhile another request may have its slot.
        request_context_of(scope).release_slot()
        try:
            return await self._processes.ask(question)
        except HornbookError as error:
            raise refusal_of(error) from error

    async def _browsed(self, scope: Scope) -> Response:
        """The form of a browser, with the answer to what stands in it, or why there is none."""
        asked = bool(scope["query_string"])
        shown = _Shown()
        problem, status, query = "", 200, EXAMPLE
        if asked:
            try:
                given = _pairs(scope["query_string"])
                query = _query(given)
                reply = await self._reply(
                    scope, Question(query, Forms(), _dataset(given), self._bounds)
                )
                shown = _shown(reply)
            except HttpRefusal as refusal:
                if refusal.status >= 500:
                    raise
                problem, status, asked = refusal.detail, refusal.status, False
        facts = {"query": query, "asked": asked, "problem": problem, **asdict(shown)}
        return self._page(Request(scope), "sparql.html", status=status, **facts)


@dataclass(frozen=True, slots=True)
class _Shown:
    """An answer as a page shows it: a table, a truth, or a graph as text."""

    names: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    truth: bool | None = None
    text: str | None = None


def _shown(reply: Reply) -> _Shown:
    if reply.form in GRAPHS.values():
        return _Shown(text=reply.data.decode())
    found = json.loads(reply.data)
    if "boolean" in found:
        return _Shown(truth=found["boolean"])
    names = tuple(found["head"]["vars"])
    rows = (
        tuple(str(row[name]["value"]) if name in row else "" for name in names)
        for row in found["results"]["bindings"]
    )
    return _Shown(names, tuple(rows))


def _wants_page(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a person asks with a browser: a page suits them better than any form of data."""
    accept = headers.get(b"accept", b"").decode("latin-1")
    return PAGE in accept and best(accept, (*TABLES, *GRAPHS, PAGE), _TABLE) == PAGE


async def _describe(scope: Scope, headers: Mapping[bytes, bytes], send: Send) -> None:
    """Say what this endpoint is, as RDF in the form that is wanted."""
    accept = headers.get(b"accept")
    said = accept.decode("latin-1") if accept is not None else None
    wanted = best(said, tuple(GRAPHS), _GRAPH)
    if wanted is None:
        raise HttpRefusal(
            406,
            "form",
            f"no query is named, and what this endpoint is we tell as {', '.join(GRAPHS)}: accept "
            "one of them, or ask with `query`.",
        )
    prefix = request_context_of(scope).prefix
    host = headers.get(b"host", b"").decode("latin-1")
    data = service_description(f"{scope['scheme']}://{host}{prefix}/sparql", GRAPHS[wanted])
    kind = f"{wanted}; charset=utf-8" if wanted in _TEXT else wanted
    await send_bytes(send, 200, kind, data, [(b"vary", b"accept")])


class _Chosen:
    """The forms that a client accepts: the best one for tables and the best one for graphs."""

    def __init__(self, accept: bytes | None) -> None:
        said = accept.decode("latin-1") if accept is not None else None
        self._table = best(said, tuple(TABLES), _TABLE)
        self._graph = best(said, tuple(GRAPHS), _GRAPH)
        if self._table is None and self._graph is None:
            raise HttpRefusal(
                406, "form", f"we answer as {', '.join((*TABLES, *GRAPHS))}: accept one of them."
            )

    @property
    def forms(self) -> Forms:
        return Forms(
            TABLES[self._table] if self._table is not None else None,
            GRAPHS[self._graph] if self._graph is not None else None,
        )

    def media_type(self, form: str) -> str:
        found = self._table if form in TABLES.values() else self._graph
        return f"{found}; charset=utf-8" if found in _TEXT else str(found)


async def _asked(
    scope: Scope, receive: Receive, headers: Mapping[bytes, bytes]
) -> tuple[str, Dataset]:
    method = scope["method"]
    given = _pairs(scope["query_string"])
    if method == "GET":
        return _query(given), _dataset(given)
    if method != "POST":
        raise HttpRefusal(
            405, "method", f"{method} is not answered here.", headers={"allow": "GET, POST"}
        )
    return _posted(headers, given, await body_of(receive))


def _posted(
    headers: Mapping[bytes, bytes], given: list[tuple[str, str]], body: bytes
) -> tuple[str, Dataset]:
    kind = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
    if kind == FORM:
        posted = _pairs(body)
        if given:
            raise HttpRefusal(400, "query", "parameters stand in the URL and in the form: use one.")
        return _query(posted), _dataset(posted)
    if kind == QUERY:
        if any(name == "query" for name, _ in given):
            raise HttpRefusal(400, "query", "a query stands in the URL and in the body: send one.")
        return _text(body), _dataset(given)
    if kind == "application/sparql-update":
        raise _read_only()
    raise HttpRefusal(
        415, "content-type", f"the body is {kind or 'of no type'}: send {FORM} or {QUERY}."
    )


def _pairs(data: bytes) -> list[tuple[str, str]]:
    try:
        text = data.decode("ascii")
        return parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError as problem:
        raise HttpRefusal(400, "query", f"the parameters cannot be read ({problem}).") from problem


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise HttpRefusal(400, "query", f"the query is not UTF-8 ({problem.reason}).") from problem


def _query(pairs: list[tuple[str, str]]) -> str:
    if any(name == "update" for name, _ in pairs):
        raise _read_only()
    found = [value for name, value in pairs if name == "query"]
    if len(found) != 1:
        raise HttpRefusal(400, "query", f"found {len(found)} queries: send one as `query`.")
    return found[0]


def _read_only() -> HttpRefusal:
    return HttpRefusal(
        403, "read-only", "the graph is read-only here: only SELECT, ASK, CONSTRUCT and DESCRIBE."
    )


def _dataset(pairs: list[tuple[str, str]]) -> Dataset:
    default = tuple(value for name, value in pairs if name == "default-graph-uri")
    named = tuple(value for name, value in pairs if name == "named-graph-uri")
    if not default and not named:
        return Dataset()
    return Dataset(default, named)
