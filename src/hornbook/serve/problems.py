"""Refusals over HTTP as problem details (RFC 9457)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus

import msgspec
from starlette.responses import Response

from hornbook.errors import (
    BadQuery,
    Busy,
    ConfigError,
    EngineError,
    EventLogError,
    HornbookError,
    NoForm,
    NotFound,
    PlanHeld,
    StoreError,
    TooLarge,
    TooSlow,
    UsageError,
)
from hornbook.serve.discretion import Saying, said_in

MEDIA_TYPE = "application/problem+json"
_TYPE = "urn:hornbook:problem:"


@dataclass(eq=False)  # not frozen: Python writes tracebacks into what is raised
class Refusal(Exception):
    """Why a request is not answered: status, a code that never changes, and the remedy."""

    status: int
    code: str
    detail: str
    extra: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self, request_id: str | None = None) -> dict[str, object]:
        """The problem details object."""
        found: dict[str, object] = {
            "type": _TYPE + self.code,
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            **self.extra,
        }
        if request_id is not None:
            found["instance"] = f"urn:hornbook:request:{request_id}"
        return found

    def put(self, said: Saying) -> "Refusal":
        """The same refusal, in the words for those who ask."""
        extra = {key: said_in(value, said) for key, value in self.extra.items()}
        return replace(self, detail=said(self.detail), extra=extra)

    def response(self, request_id: str | None = None) -> Response:
        """The answer that says so."""
        return Response(
            msgspec.json.encode(self.body(request_id)),
            status_code=self.status,
            media_type=MEDIA_TYPE,
            headers=dict(self.headers),
        )


# The first kind that fits decides.
_KINDS: tuple[tuple[type[HornbookError], int, str], ...] = (
    (Busy, 409, "busy"),
    (NotFound, 404, "not-found"),
    (ConfigError, 422, "configuration"),
    (NoForm, 406, "form"),
    (TooLarge, 413, "answer-too-large"),
    (BadQuery, 400, "query"),
    (UsageError, 422, "refused"),
    (TooSlow, 504, "deadline"),
    (StoreError, 503, "store"),
    (EventLogError, 503, "events"),
    (PlanHeld, 409, "held"),
    (EngineError, 503, "engine"),
)


def refusal_of(error: HornbookError) -> Refusal:
    """One of our own errors as a refusal."""
    extra = {"problems": error.problems} if isinstance(error, ConfigError) else {}
    for kind, status, code in _KINDS:
        if isinstance(error, kind):
            return Refusal(status, code, str(error), extra)
    return Refusal(500, "internal", str(error))
