"""Stores that somebody else runs: Oxigraph's own server, and a proxy that answers wrongly."""

import http.client
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path

from hornbook.graph.remote.endpoint import Endpoint
from hornbook.settings.surroundings import GraphSettings
from tests.kit.waiting import SAFETY, until
from tests.kit.workspaces import with_the_example_sop, write

_NUMBERS = count(1)


def binary() -> str:
    """The server's program, which `make setup` installs."""
    found = Path(sys.executable).parent / "oxigraph"
    if not found.exists():
        raise FileNotFoundError("Oxigraph's server is not installed: run `make setup`.")
    return str(found)


@dataclass
class OxigraphServer:
    """A server that can be killed and started again, with its data in a folder or in memory."""

    location: Path | None = None
    port: int = 0
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        if not self.port:
            with socket.create_server(("127.0.0.1", 0)) as free:
                self.port = free.getsockname()[1]
        place = ["--location", str(self.location)] if self.location is not None else []
        self.process = subprocess.Popen(
            [binary(), "serve", "--bind", f"127.0.0.1:{self.port}", *place],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until(self._listens, "Oxigraph to listen")

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=SAFETY).close()
        except OSError:
            return False
        return True

    def kill(self) -> None:
        """As a machine that loses its power does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@contextmanager
def oxigraph_server(location: Path | None = None) -> Iterator[OxigraphServer]:
    """A server that is gone afterwards."""
    server = OxigraphServer(location)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def settings(url: str, **others: object) -> GraphSettings:
    """The settings of a store; one that is away is told at once."""
    return GraphSettings(store=url, **{"wait_seconds": 0, **others})  # type: ignore[arg-type]  # typed by the dataclass


def endpoint(url: str, **others: object) -> Endpoint:
    """A client of a store."""
    return Endpoint(settings(url, **others))


def remote_config(url: str, repository: str = "", **others: object) -> str:
    """A config file for a repository in a store; each has another name unless one is given."""
    name = repository or f"acme-{next(_NUMBERS):06d}"
    stated = {"store": url, "wait_seconds": 0, **others}
    lines = "".join(f"  {key}: {value}\n" for key, value in stated.items())
    return f"repository: {name}\ngraph:\n{lines}"


def remote_workspace(root: Path, url: str, repository: str = "", **others: object) -> Path:
    """The two SOPs of the source documents, whose graph lies in a store."""
    root.mkdir(parents=True, exist_ok=True)
    with_the_example_sop(root)
    return write(root, {".hornbook/config.yaml": remote_config(url, repository, **others)})


@dataclass
class Proxy:
    """What stands before a store: it passes requests on, and answers some of them itself.

    `fault` is asked for each request by its number, path and body: None passes it on, an answer is
    given instead. `after` is called when the store did what was asked, and says whether the answer
    gets lost.
    """

    upstream: str
    port: int = 0
    requests: list[tuple[str, str, bytes]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    fault: "Callable[[int, str, bytes], WrongAnswer | None] | None" = None
    after: "Callable[[int, str, bytes], bool] | None" = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def sent(self) -> int:
        """How many bytes of bodies came by."""
        return sum(len(body) for _, _, body in self.requests)


@dataclass(frozen=True)
class WrongAnswer:
    """An answer that no store gives; `length` is what it says of itself."""

    status: int = 200
    body: bytes = b""
    length: int | None = None
    headers: tuple[tuple[str, str], ...] = ()


def _handler(proxy: Proxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its own name
            """Say nothing."""

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            proxy.requests.append((self.command, self.path, body))
            proxy.headers.append({key.lower(): value for key, value in self.headers.items()})
            number = len(proxy.requests)
            wrong = proxy.fault(number, self.path, body) if proxy.fault is not None else None
            if wrong is not None:
                self._give(wrong.status, wrong.body, wrong.headers, wrong.length)
                return
            host = proxy.upstream.removeprefix("http://")
            connection = http.client.HTTPConnection(host, timeout=SAFETY)
            names = ("content-type", "accept")
            passed = {name: self.headers[name] for name in names if name in self.headers}
            connection.request(self.command, self.path, body, passed)
            response = connection.getresponse()
            data = response.read()
            connection.close()
            if proxy.after is not None and proxy.after(number, self.path, body):
                self.close_connection = True
                return
            kind = response.headers.get("content-type", "text/plain")
            self._give(response.status, data, (("content-type", kind),), None)

        def _give(
            self,
            status: int,
            body: bytes,
            headers: tuple[tuple[str, str], ...],
            length: int | None,
        ) -> None:
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("content-length", str(len(body) if length is None else length))
            self.end_headers()
            self.wfile.write(body)
            if length is not None:
                self.close_connection = True

        do_POST = do_PUT = do_GET = do_DELETE = _answer  # noqa: N815  # its own names

    return Handler


@contextmanager
def proxy_before(upstream: str) -> Iterator[Proxy]:
    """A proxy on a port of its own."""
    proxy = Proxy(upstream)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(proxy))
    server.daemon_threads = True
    proxy.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
