"""The HTTP service: every part of it put together."""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from hornbook.errors import UsageError
from hornbook.graph.snapshot import Snapshot
from hornbook.loop.engine.background_runs import Executions
from hornbook.serve.graph_updates import GraphUpdates
from hornbook.serve.graphql.documents import DocumentLimits
from hornbook.serve.graphql.executor import GraphQLExecutor
from hornbook.serve.graphql.schema import graphql_schema
from hornbook.serve.graphql.transport import GraphQLRoom
from hornbook.serve.http.framework import make_framework
from hornbook.serve.http.gateway import Gateway, ServerParts
from hornbook.serve.http.host_check import HostCheck
from hornbook.serve.http.logs import Metrics, log
from hornbook.serve.http.tokens import VARIABLE, CallerCheck, load_tokens
from hornbook.serve.leases import Leases
from hornbook.serve.mcp.http import McpHttp
from hornbook.serve.mcp.server import build_server
from hornbook.serve.sparql.endpoint import Askers, SparqlRoom

LOOPBACK = "127.0.0.1"
WORKERS = 8

MCP = "/mcp"
# The gate has looked at Host and Origin by the rules of the whole server.
_BEHIND_THE_GATE = TransportSecuritySettings(enable_dns_rebinding_protection=False)

# A part that a caller adds: its application, made from the leases.
Room = Callable[[Leases], ASGIApp]


def create_app(
    root: str | Path,
    *,
    host: str = LOOPBACK,
    environment: Mapping[str, str] | None = None,
    rooms: Mapping[str, Room] | None = None,
) -> FastAPI:
    """The application that serves the workspace at `root` to those who reach `host`.

    `rooms` are further applications by their path, each made once from the leases; they stand
    behind the same gate, and `visit_of(scope)` tells them who asks.

    Raises:
        ConfigError: The tokens are wrong.
        UsageError: The server would be reached from elsewhere, and there are no tokens.
    """
    metrics = Metrics()
    leases = Leases(root, lambda snapshot: _count(metrics, snapshot))
    settings = leases.settings.serve
    tokens = load_tokens(leases.root / settings.tokens, environment or {})
    doors = HostCheck.of(host, settings.hosts, settings.origins)
    if not doors.loopback and not tokens:
        leases.close()
        raise UsageError(
            f"{host} is reached from other machines, and there are no tokens: write some to "
            f"{settings.tokens} or set {VARIABLE}; docs/serving.md shows how."
        )
    open_ = settings.introspection == "always" or (
        settings.introspection == "loopback" and doors.loopback
    )
    porter = CallerCheck(tokens, settings.failures_per_minute)
    inherited = {name: value for name, value in os.environ.items() if name != VARIABLE}
    executions = Executions(inherited, _told)
    desk = GraphUpdates(leases, metrics, executions, settings.streams)
    askers = Askers(leases.store_folder, settings)
    pool = ThreadPoolExecutor(WORKERS, "graphql")
    engine = GraphQLExecutor(
        graphql_schema, DocumentLimits.of(settings, introspection=open_), desk.said
    )

    agents = McpHttp(
        build_server(leases.workspace, said=desk.said),
        allowed=_BEHIND_THE_GATE,
        most_bytes=settings.body_bytes,
    )

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with agents.running():
            yield
            desk.closing.set()
        desk.follower.close()
        executions.close()
        askers.close()
        pool.shutdown(wait=False, cancel_futures=True)
        leases.close()

    app = make_framework(desk, metrics, lifespan, pages=open_)
    served: dict[str, ASGIApp] = {
        "/graphql": GraphQLRoom(engine, desk, pool, page=open_, porter=porter),
        "/sparql": SparqlRoom(askers, settings),
        # A mount would answer a POST with a redirect.
        MCP: agents,
        f"{MCP}/": agents,
        **{path: make(leases) for path, make in (rooms or {}).items()},
    }
    app.add_middleware(
        Gateway, house=ServerParts(doors, porter, settings, metrics, desk.said, served)
    )
    return app


def _told(run: str, code: int) -> None:
    log.info("an execution ended", extra={"facts": {"run": run, "code": code}})


def _count(metrics: Metrics, snapshot: Snapshot) -> None:
    metrics.versions.inc()
    metrics.documents.set(len(snapshot.catalog.entries))
    metrics.triples.set(sum(entry.triples for entry in snapshot.catalog.entries))
