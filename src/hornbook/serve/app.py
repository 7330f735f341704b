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
from hornbook.plans.audit.audit_log import known_name
from hornbook.plans.principal import at_command_line
from hornbook.serve.access.callers import Access, CallerCheck
from hornbook.serve.access.required_scope import required_scope
from hornbook.serve.access.secret import local_secret
from hornbook.serve.access.sessions import Sessions
from hornbook.serve.access.tokens import VARIABLE
from hornbook.serve.console.frame import Console
from hornbook.serve.console.login import SigningIn
from hornbook.serve.console.views import ROUTERS
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
from hornbook.serve.leases import Leases
from hornbook.serve.mcp.server import McpHttp, build_server
from hornbook.serve.rest.routes import router
from hornbook.serve.sparql.endpoint import SparqlEndpoint, SparqlProcesses
from hornbook.settings.places import Places

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
        callers = _callers(leases, hosts, environment or {})
    except HornbookError:
        leases.close()
        raise
    shown = ("always", "loopback") if hosts.loopback else ("always",)
    introspection = settings.introspection in shown
    updates = GraphUpdates(leases, metrics, _executions(), settings.streams)
    sparql = SparqlProcesses(leases.sparql_folder, settings)
    pool = ThreadPoolExecutor(WORKERS, "graphql")
    limits = DocumentLimits.of(settings, introspection=introspection)
    console = Console(
        updates,
        GraphQLExecutor(graphql_schema, redact=updates.redact),
        Sessions(callers),
        loopback=hosts.loopback,
    )
    agents = McpHttp(build_server(leases.current, redact=updates.redact), settings.body_bytes)
    served: dict[str, ASGIApp] = {
        "/graphql": GraphQLEndpoint(
            GraphQLExecutor(graphql_schema, limits, updates.redact),
            updates,
            pool,
            page=console.query_page if introspection else None,
            callers=callers,
        ),
        "/sparql": SparqlEndpoint(sparql, settings, console.sparql_page),
        # A mount would answer a POST with a redirect.
        MCP: agents,
        f"{MCP}/": agents,
        **{path: make(leases) for path, make in (endpoints or {}).items()},
    }
    lifespan = _lifespan(agents, console, sparql, pool, callers)
    app = make_framework(console, metrics, lifespan, pages=introspection)
    signing_in = SigningIn(console, callers).router()
    app.include_router(signing_in)
    added = set(endpoints or ())
    # Those that FastAPI includes say nothing by themselves, so they come first.
    pages = [route for each in ROUTERS for route in each.routes]
    routes = [*router.routes, *signing_in.routes, *pages, *app.routes]
    scope_of = required_scope(routes, by_operation=set(served) - added, shut=added)
    parts = ServerParts(
        hosts,
        callers,
        settings,
        metrics,
        updates.redact,
        scope_of,
        console.sessions,
        console.page_of,
        served,
    )
    app.add_middleware(Gateway, parts=parts)
    return app


def _callers(leases: Leases, hosts: HostCheck, environment: Mapping[str, str]) -> CallerCheck:
    """Who may come in: on this machine those who know its secret, elsewhere those with a token.

    Raises:
        ConfigError: The tokens or the secret are wrong.
        UsageError: The server would be reached from elsewhere, and there are no tokens.
    """
    settings = leases.settings.serve
    places = Places(leases.root)
    if hosts.loopback:
        try:
            local_secret(places)
        except OSError as problem:  # where nothing can be written, nobody needs to
            log.warning("no secret can be made", extra={"facts": {"error": str(problem)}})
    callers = CallerCheck(
        Access(
            leases.root / settings.tokens,
            environment,
            known_name(leases.root, leases.settings),
            secret_in=places if hosts.loopback else None,
            owner=at_command_line(places.state),
            open_to_readers=hosts.loopback and settings.read == "open",
            failures_per_minute=settings.failures_per_minute,
        )
    )
    if not hosts.loopback and not callers.guarded:
        raise UsageError(
            f"{hosts.listens_on} is reached from other machines, and there are no tokens: make one "
            f"with `hornbook token new NAME`, or set {VARIABLE}; docs/serving.md shows how."
        )
    return callers


def _lifespan(
    agents: McpHttp,
    console: Console,
    sparql: SparqlProcesses,
    pool: ThreadPoolExecutor,
    callers: CallerCheck,
) -> Lifespan[FastAPI]:
    """What surrounds all requests: at its end everything that is held is let go of."""
    updates = console.updates

    def close() -> None:
        # Writers first, then children, and last what readers share: nothing is left of past states.
        callers.note_uses()
        updates.close(GRACE)
        console.live.close()
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


def _executions() -> Executions:
    """What carries out plans in processes beside the server, which do not see its tokens."""
    inherited = {name: value for name, value in os.environ.items() if name != VARIABLE}
    return Executions(inherited, _log_end)


def _log_end(run: str, code: int) -> None:
    log.info("an execution ended", extra={"facts": {"run": run, "code": code}})


def _count(metrics: Metrics, snapshot: Snapshot) -> None:
    metrics.versions.inc()
    metrics.documents.set(len(snapshot.catalog.entries))
    metrics.triples.set(sum(entry.triples for entry in snapshot.catalog.entries))
