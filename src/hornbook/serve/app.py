"""The HTTP service: every part of it put together."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from starlette.types import ASGIApp, Lifespan

from hornbook.errors import HornbookError, UsageError
from hornbook.graph.snapshot import Snapshot
from hornbook.loop.engine.background_runs import Executions
from hornbook.serve.graph_updates import GraphUpdates
from hornbook.serve.graphql.documents import DocumentLimits
from hornbook.serve.graphql.executor import GraphQLExecutor
from hornbook.serve.graphql.schema import graphql_schema
from hornbook.serve.graphql.transport import GraphQLEndpoint
from hornbook.serve.http.framework import make_framework
from hornbook.serve.http.gateway import Gateway, ServerParts
from hornbook.serve.http.host_check import HostCheck
from hornbook.serve.http.logs import log
from hornbook.serve.http.metrics import Metrics
from hornbook.serve.http.tokens import VARIABLE, CallerCheck, Tokens, load_tokens
from hornbook.serve.leases import Leases
from hornbook.serve.mcp.server import McpHttp, build_server
from hornbook.serve.sparql.endpoint import SparqlEndpoint, SparqlProcesses

LOOPBACK = "127.0.0.1"
WORKERS = 8
GRACE = 10
"""Seconds that requests, an ingest and readers each have to be done when the server stops."""

MCP = "/mcp"
# An application that a caller adds, made from the leases.
EndpointFactory = Callable[[Leases], ASGIApp]


def create_app(
    root: str | Path,
    *,
    host: str = LOOPBACK,
    environment: Mapping[str, str] | None = None,
    endpoints: Mapping[str, EndpointFactory] | None = None,
) -> FastAPI:
    """The application that serves the workspace at `root` to those who reach `host`.

    `endpoints` are further applications by their path, each made once from the leases; they stand
    behind the same gateway, and `request_context_of(scope)` tells them who asks.

    Raises:
        ConfigError: The tokens are wrong.
        UsageError: The server would be reached from elsewhere, and there are no tokens.
    """
    metrics = Metrics()
    leases = Leases(root, lambda snapshot: _count(metrics, snapshot))
    settings = leases.settings.serve
    hosts = HostCheck.of(host, settings.hosts, settings.origins)
    try:
        tokens = _tokens(leases, hosts, environment or {})
    except HornbookError:
        leases.close()
        raise
    shown = ("always", "loopback") if hosts.loopback else ("always",)
    introspection = settings.introspection in shown
    callers = CallerCheck(tokens, settings.failures_per_minute)
    inherited = {name: value for name, value in os.environ.items() if name != VARIABLE}
    executions = Executions(inherited, _log_end)
    updates = GraphUpdates(leases, metrics, executions, settings.streams)
    sparql = SparqlProcesses(leases.store_folder, settings)
    pool = ThreadPoolExecutor(WORKERS, "graphql")
    limits = DocumentLimits.of(settings, introspection=introspection)
    executor = GraphQLExecutor(graphql_schema, limits, updates.redact)
    agents = McpHttp(build_server(leases.current, redact=updates.redact), settings.body_bytes)
    served: dict[str, ASGIApp] = {
        "/graphql": GraphQLEndpoint(executor, updates, pool, page=introspection, callers=callers),
        "/sparql": SparqlEndpoint(sparql, settings),
        # A mount would answer a POST with a redirect.
        MCP: agents,
        f"{MCP}/": agents,
        **{path: make(leases) for path, make in (endpoints or {}).items()},
    }
    lifespan = _lifespan(agents, updates, sparql, pool)
    app = make_framework(updates, metrics, lifespan, pages=introspection)
    parts = ServerParts(hosts, callers, settings, metrics, updates.redact, served)
    app.add_middleware(Gateway, parts=parts)
    return app


def _tokens(leases: Leases, hosts: HostCheck, environment: Mapping[str, str]) -> Tokens:
    settings = leases.settings.serve
    tokens = load_tokens(leases.root / settings.tokens, environment)
    if not hosts.loopback and not tokens:
        raise UsageError(
            f"{hosts.listens_on} is reached from other machines, and there are no tokens: write "
            f"some to {settings.tokens} or set {VARIABLE}; docs/serving.md shows how."
        )
    return tokens


def _lifespan(
    agents: McpHttp, updates: GraphUpdates, sparql: SparqlProcesses, pool: ThreadPoolExecutor
) -> Lifespan[FastAPI]:
    """What surrounds all requests: at its end everything that is held is let go of."""

    def close() -> None:
        # Writers first, then children, and last what readers share: nothing is left of past states.
        updates.close(GRACE)
        sparql.close()
        pool.shutdown(wait=False, cancel_futures=True)
        updates.leases.close(GRACE)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with agents.running():
            yield
            updates.closing.set()
        await asyncio.to_thread(close)

    return lifespan


def _log_end(run: str, code: int) -> None:
    log.info("an execution ended", extra={"facts": {"run": run, "code": code}})


def _count(metrics: Metrics, snapshot: Snapshot) -> None:
    metrics.versions.inc()
    metrics.documents.set(len(snapshot.catalog.entries))
    metrics.triples.set(sum(entry.triples for entry in snapshot.catalog.entries))
