"""The MCP endpoint served by itself over real HTTP on loopback, in this process or as one."""

import argparse
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from hornbook.serve.access.callers import READER
from hornbook.serve.http.request import KEY, RequestContext
from hornbook.serve.leases import Leases
from hornbook.serve.mcp.server import McpHttp, build_server

MOST_BYTES = 1024 * 1024


def let_in() -> dict[str, object]:
    """What the gateway says of a request by anybody on this machine."""
    return {KEY: RequestContext("test", READER)}


class _Application:
    """An ASGI application that Starlette does not take for a function of a request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def application(root: Path) -> FastAPI:
    """An application that has nothing but `/mcp`."""
    leases = Leases(str(root))
    endpoint = McpHttp(build_server(leases.workspace), MOST_BYTES)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with endpoint.running():
            yield
        leases.close()

    async def admitted(scope: Scope, receive: Receive, send: Send) -> None:
        await endpoint({**scope, **let_in()}, receive, send)

    app = FastAPI(lifespan=lifespan)
    for path in ("/mcp", "/mcp/"):
        app.add_route(path, _Application(admitted), include_in_schema=False)  # type: ignore[arg-type]  # any ASGI application is an endpoint
    return app


def listening_socket() -> socket.socket:
    """A socket on a free port. It names TCP: else asyncio leaves Nagle's delays on its connections."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.bind(("127.0.0.1", 0))
    found.listen(100)
    return found


@contextmanager
def serving(root: Path) -> Iterator[str]:
    """Serve in a thread on a free port; gives the address."""
    with listening_socket() as listening:
        server = uvicorn.Server(uvicorn.Config(application(root), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            thread.join()


def main() -> None:
    """Serve a root until stopped."""
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=Path)
    parser.add_argument("--port", type=int, default=8765)
    chosen = parser.parse_args()
    uvicorn.run(application(chosen.root), port=chosen.port, log_level="warning")


if __name__ == "__main__":
    main()
