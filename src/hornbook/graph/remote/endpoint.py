"""The HTTP client of a SPARQL 1.1 store: queries, updates, and graphs by the Graph Store protocol.

Everything that is sent can be sent twice: statements under a name that holds their hash, or an
update that is made only where its condition holds. So a request whose answer got lost is sent
again, and what the store holds then is read back.
"""

import base64
import http.client
import os
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

import pyoxigraph as ox

from hornbook.errors import RemoteStoreFailed
from hornbook.process.secret_mask import SecretMask
from hornbook.settings.surroundings import GraphSettings
from hornbook.version import __version__

RESULTS = "application/sparql-results+json"
_AWAY = frozenset({429, 502, 503, 504})
_SHOWN = 160
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
KEPT = "Nothing is lost: what was published before is still there."

Term = ox.NamedNode | ox.Literal | ox.BlankNode | ox.Triple | None


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    reason: str
    media_type: str
    location: str
    data: bytes


class Endpoint:
    """One store, asked by any number of threads; connections are kept for whoever asks next."""

    def __init__(
        self, settings: GraphSettings, environment: Mapping[str, str] = os.environ
    ) -> None:
        self.url = settings.store.rstrip("/")
        parts = urlsplit(self.url)
        self._settings = settings
        self._secure = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if self._secure else 80)
        self._paths = {
            kind: f"{parts.path}/{path}".rstrip("/") or "/"
            for kind, path in (
                ("query", settings.query_path),
                ("update", settings.update_path),
                ("graphs", settings.graphs_path),
            )
        }
        self._environment = environment
        secret = environment.get(settings.credentials, "").strip()
        self._mask = SecretMask({settings.credentials: secret} if secret else {})
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []

    def select(self, query: str) -> list[tuple[Term, ...]]:
        """The rows of a SELECT.

        Raises:
            RemoteStoreFailed: The store is away, or its answer is none.
        """
        solutions = self._results(query)
        if not isinstance(solutions, ox.QuerySolutions):
            raise self._failed("answered a question for rows with a yes or no")
        width = range(len(solutions.variables))
        try:
            return [tuple(row[column] for column in width) for row in solutions]
        except (SyntaxError, ValueError) as problem:
            raise self._failed(f"broke off in the middle of its answer ({problem})") from problem

    def ask(self, query: str) -> bool:
        """The answer to an ASK.

        Raises:
            RemoteStoreFailed: The store is away, or its answer is none.
        """
        answer = self._results(query)
        if not isinstance(answer, ox.QueryBoolean):
            raise self._failed("answered a yes-or-no question with rows")
        return bool(answer)

    def update(self, text: str) -> None:
        """Have the store carry out an update.

        Raises:
            RemoteStoreFailed: The store is away, or refuses it.
        """
        self._request("POST", self._paths["update"], text.encode(), "application/sparql-update")

    def put(self, graph: str, statements: Sequence[str]) -> None:
        """Have a named graph hold these statements and no others, by the Graph Store protocol.

        Raises:
            RemoteStoreFailed: The store is away, or refuses it.
        """
        path = f"{self._paths['graphs']}?graph={quote(graph, safe='')}"
        body = "".join(f"{each} .\n" for each in statements).encode()
        self._request("PUT", path, body, "application/n-triples")

    def close(self) -> None:
        """Close all connections; whoever asks again opens one."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _results(self, query: str) -> "ox.QuerySolutions | ox.QueryBoolean":
        kind = "application/sparql-query"
        answer = self._request("POST", self._paths["query"], query.encode(), kind)
        try:
            return ox.parse_query_results(answer.data, format=ox.QueryResultsFormat.JSON)
        except (SyntaxError, ValueError) as problem:
            said = f"answered {answer.media_type or 'something'} that is no SPARQL result in JSON"
            raise self._failed(f"{said}: {self._shown(answer.data)}") from problem

    def _request(self, method: str, path: str, body: bytes, kind: str) -> _Answer:
        """The answer to a request; one that is away is asked again for a while."""
        deadline = time.monotonic() + self._settings.wait_seconds
        pause = _FIRST_PAUSE
        while True:
            failure: RemoteStoreFailed
            try:
                answer = self._asked(method, path, body, kind)
            except (TimeoutError, ssl.SSLCertVerificationError) as problem:
                raise self._failed(f"did not answer ({problem})") from problem
            except http.client.IncompleteRead as problem:
                failure = self._failed("broke off in the middle of its answer")
                failure.__cause__ = problem
            except (OSError, http.client.HTTPException) as problem:
                shown = self._shown(f"{type(problem).__name__}: {problem}".encode())
                failure = self._failed(
                    f"cannot be reached ({shown}), asked for {self._settings.wait_seconds} s: "
                    "see that it runs, or wait longer with `graph.wait_seconds`"
                )
                failure.__cause__ = problem
            else:
                if answer.status not in _AWAY:
                    self._check(answer, path)
                    return answer
                failure = self._failed(
                    f"is busy or away ({answer.status} {answer.reason}), asked for "
                    f"{self._settings.wait_seconds} s: wait longer with `graph.wait_seconds`"
                )
            if time.monotonic() + pause > deadline:
                raise failure
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _asked(self, method: str, path: str, body: bytes, kind: str) -> _Answer:
        headers = {"content-type": kind, "accept": RESULTS, "user-agent": f"hornbook/{__version__}"}
        login = _login(self._settings, self._environment)
        if login:
            headers["authorization"] = login
        with self._lock:
            kept = self._idle.pop() if self._idle else None
        connection = kept if kept is not None else self._connect()
        try:
            try:
                connection.request(method, path, body, headers)
                response = connection.getresponse()
            except (http.client.RemoteDisconnected, ConnectionError):
                if kept is None:
                    raise
                connection.close()  # it was kept open, and the other side ended it meanwhile
                connection = self._connect()
                connection.request(method, path, body, headers)
                response = connection.getresponse()
            data = response.read()
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._idle.append(connection)
        return _Answer(
            response.status,
            response.reason,
            response.headers.get_content_type() if "content-type" in response.headers else "",
            response.headers.get("location", ""),
            data,
        )

    def _connect(self) -> http.client.HTTPConnection:
        seconds = self._settings.timeout_seconds
        if self._secure:
            return http.client.HTTPSConnection(self._host, self._port, timeout=seconds)
        return http.client.HTTPConnection(self._host, self._port, timeout=seconds)

    def _check(self, answer: _Answer, path: str) -> None:
        """Go on only if the store did what it was asked."""
        if answer.status in {200, 201, 204}:
            return
        said = f"{answer.status} {answer.reason}"
        if answer.status in {401, 403}:
            name = self._settings.credentials
            remedy = (
                f"see what the variable {name} holds"
                if name
                else "name the environment variable with the log-in in `graph.credentials`"
            )
            if path.partition("?")[0] != self._paths["query"]:
                remedy += ", or where it may only be read set `graph.read_only: true`"
            raise self._failed(f"does not let us in ({said}): {remedy}")
        if 300 <= answer.status < 400:
            target = urlsplit(answer.location)
            shown = f"{target.scheme}://{target.hostname}{target.path}" if target.hostname else path
            raise self._failed(
                f"leads elsewhere ({said}, to {shown}), which is not followed: "
                "write in `graph.store` where it really is"
            )
        if answer.status in {404, 405}:
            remedy = "see `graph.query_path`, `graph.update_path` and `graph.graphs_path`"
            if path.partition("?")[0] != self._paths["query"]:
                remedy += ", or where it may only be read set `graph.read_only: true`"
            raise self._failed(f"has no such thing at {path.partition('?')[0]} ({said}): {remedy}")
        raise self._failed(f"failed ({said}): {self._shown(answer.data)}")

    def _shown(self, data: bytes) -> str:
        text = self._mask.masked(data[: 8 * _SHOWN]).decode(errors="replace").strip()
        return repr(text[:_SHOWN] + ("…" if len(text) > _SHOWN else ""))

    def _failed(self, what: str) -> RemoteStoreFailed:
        return RemoteStoreFailed(f"the graph store at {self.url} {what}. {KEPT}")


def _login(settings: GraphSettings, environment: Mapping[str, str]) -> str:
    """The value of the header that logs us in; empty if there is none.

    Raises:
        RemoteStoreFailed: The variable is not set.
    """
    if not settings.credentials:
        return ""
    secret = environment.get(settings.credentials, "").strip()
    if not secret:
        raise RemoteStoreFailed(
            f"the variable {settings.credentials}, which `graph.credentials` names, is not set: "
            f"set it to the log-in for {settings.store}. {KEPT}"
        )
    if ":" in secret:
        return "Basic " + base64.b64encode(secret.encode()).decode("ascii")
    return f"Bearer {secret}"
