"""Which scope a request needs, told by the routes themselves.

Whoever adds a route that is not only asked says which scope it needs (`needs`). One that says
nothing needs `admin`, so that what was forgotten is shut and not open. Where one path has many
operations, as GraphQL and MCP do, reading is needed to come in, and each operation is looked at.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from hornbook.serve.access.scopes import AccessScope

KEY = "x-hornbook-scope"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

ScopeOf = Callable[[Scope], AccessScope]
"""Says which scope a request needs, by its method and path."""


def needs(scope: AccessScope) -> dict[str, Any]:
    """What a route adds to its description to say which scope it needs."""
    return {KEY: str(scope), "security": [{}] if scope is AccessScope.READ else [{"token": []}]}


def scope_of_route(route: BaseRoute) -> AccessScope:
    """The scope that a route says it needs; `admin` if it says nothing."""
    return AccessScope((getattr(route, "openapi_extra", None) or {}).get(KEY, AccessScope.ADMIN))


def required_scope(
    routes: Sequence[BaseRoute], *, by_operation: Collection[str], shut: Collection[str] = ()
) -> ScopeOf:
    """What says which scope a request needs; `shut` are paths that say nothing by themselves."""

    def scope_of(scope: Scope) -> AccessScope:
        if scope["method"] in SAFE or scope["path"] in by_operation:
            return AccessScope.READ
        if scope["path"] in shut:
            return AccessScope.ADMIN
        for route in routes:
            if route.matches(scope)[0] is Match.FULL:
                return scope_of_route(route)
        return AccessScope.READ  # nothing is there, which the framework tells

    return scope_of
