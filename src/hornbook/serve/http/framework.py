"""The FastAPI application: routes, errors as problem details, and a description that is true."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import Lifespan

from hornbook.errors import HornbookError
from hornbook.plans.audit.audit_log import AuditLog
from hornbook.serve.console.assets import router as asset_router
from hornbook.serve.console.frame import Console
from hornbook.serve.console.live import router as live_router
from hornbook.serve.console.views import ROUTERS
from hornbook.serve.graph_updates import GraphUpdates
from hornbook.serve.http.metrics import Metrics
from hornbook.serve.http.problems import MEDIA_TYPE, HttpRefusal, refusal_of
from hornbook.serve.http.request import request_context_of
from hornbook.serve.rest.asking import REFUSALS
from hornbook.serve.rest.bodies import Health
from hornbook.serve.rest.list_routes import router as list_router
from hornbook.serve.rest.routes import router
from hornbook.serve.sparql.vocabulary import router as vocabulary_router
from hornbook.version import __version__

DESCRIPTION = (
    "Which rules bind a change, whole, and why. Errors are problem details (RFC 9457). "
    "GraphQL is at `/graphql`, SPARQL at `/sparql`."
)
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_PROBLEM: dict[str, object] = {
    "title": "Problem",
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What was found, and the remedy."},
        "instance": {"type": "string", "format": "uri"},
        "code": {"type": "string", "description": "A name that never changes."},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"pointer": {"type": "string"}, "detail": {"type": "string"}},
            },
        },
        "problems": {"type": "array", "items": {"type": "string"}},
    },
}


def make_framework(
    console: Console, metrics: Metrics, lifespan: Lifespan[FastAPI], *, pages: bool
) -> FastAPI:
    """The application behind the gateway; `pages` says whether it describes itself."""
    app = FastAPI(
        title="Hornbook",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        generate_unique_id_function=lambda route: route.name,
    )
    updates = console.updates
    app.state.updates, app.state.console = updates, console
    app.include_router(router)
    app.include_router(list_router)
    app.include_router(vocabulary_router)
    _add_health(app, updates)
    for each in (asset_router, live_router, *ROUTERS):
        app.include_router(each)
    _add_pages(app, metrics, pages=pages)
    app.add_exception_handler(HornbookError, _answering(_ours))
    app.add_exception_handler(HttpRefusal, _answering(_refusal))
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _answering(_invalid))
    app.add_exception_handler(OSError, _answering(_unreadable))
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]  # FastAPI's documented way
    return app


def _add_health(app: FastAPI, updates: GraphUpdates) -> None:
    @app.get("/healthz", tags=["server"], responses=REFUSALS)
    async def healthz() -> dict[str, str]:
        """Whether the server runs."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["server"], responses=REFUSALS)
    def readyz() -> Health:
        """Whether the graph and the log of events can be read; 503 if not, or if it stops."""
        if updates.closing.is_set():
            raise HttpRefusal(503, "busy", "the server stops: ask another, or later.")
        with updates.leases.workspace() as work:
            AuditLog(work.places, work.settings).look()
            snapshot = work.snapshot()
            return Health("ready", snapshot.version, len(snapshot.catalog.entries))


def _add_pages(app: FastAPI, metrics: Metrics, *, pages: bool) -> None:
    @app.get(
        "/metrics",
        tags=["server"],
        responses={**REFUSALS, 200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
        response_class=Response,
    )
    def counters() -> Response:
        """What the server counts, for Prometheus."""
        return Response(metrics.text(), media_type=metrics.media_type)

    if not pages:
        return

    @app.get("/docs", response_class=HTMLResponse, include_in_schema=False)
    async def docs(request: Request) -> HTMLResponse:
        console: Console = request.app.state.console
        return console.page(request, "rest.html")

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi(request: Request) -> JSONResponse:
        prefix = request_context_of(request.scope).prefix
        return JSONResponse({**app.openapi(), "servers": [{"url": prefix or "/"}]})


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The description, with refusals as the problem details that they are."""
    if app.openapi_schema is None:
        found = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        schemas = found.setdefault("components", {}).setdefault("schemas", {})
        schemas["Problem"] = _PROBLEM
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{}, {"token": []}]
        problem = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
        for path in found["paths"].values():
            for operation in path.values():
                for status, response in operation["responses"].items():
                    if int(status) >= 400:
                        response["content"] = problem
        app.openapi_schema = found
    return app.openapi_schema


def _answering(make: Callable[[Any], HttpRefusal]) -> Callable[[Request, Exception], Any]:
    """An exception handler that answers with a refusal."""

    async def handle(request: Request, error: Exception) -> Response:
        request_context = request_context_of(request.scope)
        refusal = make(error).put(request.app.state.updates.redact)
        console: Console = request.app.state.console
        page = console.page_of(request.scope, refusal)
        return page or refusal.response(request_context.request_id)

    return handle


def _ours(error: HornbookError) -> HttpRefusal:
    return refusal_of(error)


def _refusal(error: HttpRefusal) -> HttpRefusal:
    return error


async def _http(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    allowed = _allowed(request)
    said = {
        404: ("not-found", "nothing is served at this path: `/` lists what is."),
        405: ("method", f"this path is asked with {' or '.join(allowed)}."),
    }
    code, detail = said.get(error.status_code, ("request", str(error.detail)))
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(allowed)
    refusal = HttpRefusal(error.status_code, code, detail, headers=headers)
    return refusal.response(request_context_of(request.scope).request_id)


def _allowed(request: Request) -> list[str]:
    """The methods that a path is asked with; the framework only names those of one route."""
    return [
        method
        for method in _METHODS
        for route in request.app.routes
        if route.matches({**request.scope, "method": method})[0] is Match.FULL
    ]


def _invalid(error: RequestValidationError) -> HttpRefusal:
    found = error.errors()
    if any(each["type"] == "json_invalid" for each in found):
        return HttpRefusal(400, "json", "the body is not JSON.")
    errors = [
        {
            "pointer": "#/" + "/".join(map(str, each["loc"][1:])),
            "detail": str(each["msg"]).removeprefix("Value error, "),
        }
        for each in found
    ]
    told = "; ".join(f"{each['pointer']}: {each['detail']}" for each in errors[:3])
    return HttpRefusal(
        422, "invalid", f"the request is not as described: {told}", {"errors": errors}
    )


def _unreadable(error: OSError) -> HttpRefusal:
    return HttpRefusal(422, "file", f"a file cannot be read: {error.strerror}.")
