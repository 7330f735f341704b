"""The HTTP service: GraphQL and a status page, on loopback."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Depends, FastAPI
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import HTMLResponse
from strawberry.fastapi import GraphQLRouter

from hornbook import __version__
from hornbook.serve.leases import Leases
from hornbook.serve.page import status_page
from hornbook.serve.schema import Context, schema

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def create_app(root: str) -> FastAPI:
    """The application that serves the workspace at `root`."""
    leases = Leases(root)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        leases.close()

    def context() -> Iterator[Context]:
        with leases.lease() as snapshot:
            yield Context(snapshot=snapshot)

    async def graphql_context(
        found: Context = Depends(context),  # noqa: B008  # FastAPI's way to ask for it
    ) -> dict[str, Any]:  # what strawberry's router takes
        return {**found}

    app = FastAPI(title="Hornbook", version=__version__, lifespan=lifespan, docs_url=None)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost", "[::1]"])
    router = GraphQLRouter(
        schema, context_getter=graphql_context, graphql_ide=None, allow_queries_via_get=False
    )
    app.include_router(router, prefix="/graphql")

    @app.get("/healthz")
    def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    def page() -> str:
        with leases.lease() as snapshot:
            return status_page(snapshot)

    return app
