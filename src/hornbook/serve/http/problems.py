"""Refusals over HTTP as problem details (RFC 9457)."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hornbook.errors import (
    BadQuery,
    Busy,
    ConfigError,
    DiskFailed,
    EngineError,
    EventLogError,
    HornbookError,
    NoForm,
    NotAPerson,
    NotFound,
    PlanHeld,
    PlanIncomplete,
    RemoteStoreFailed,
    StoreError,
    TooLarge,
    TooSlow,
    UsageError,
)

if TYPE_CHECKING:
    from starlette.responses import Response

Redact = Callable[[str], str]


def unchanged(text: str) -> str:
    """A message as it is, for those who sit at this machine."""
    return text


def without_root(root: Path) -> Redact:
    """What makes paths in a message relative to the root, however the root was spelled."""
    spellings = {str(root), str(root.absolute()), str(root.resolve())}
    # The root of the file system is in every path, and tells nothing.
    places = sorted((re.escape(each) for each in spellings if each != "/"), key=len, reverse=True)
    if not places:
        return unchanged
    found = re.compile(rf"(?:{'|'.join(places)})(?:(/)|(?![\w.-]))")
    return lambda text: found.sub(lambda match: "" if match[1] else "the root", text)


def redact_in(value: object, redact: Redact) -> object:
    """A value of an answer with every text in it said so."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: redact_in(each, redact) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [redact_in(each, redact) for each in value]
    return value


MEDIA_TYPE = "application/problem+json"
_TYPE = "urn:hornbook:problem:"


@dataclass(eq=False)  # not frozen: Python writes tracebacks into what is raised
class HttpRefusal(Exception):
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

    def put(self, redact: Redact) -> "HttpRefusal":
        """The same refusal, in the words for those who ask."""
        extra = {key: redact_in(value, redact) for key, value in self.extra.items()}
        return replace(self, detail=redact(self.detail), extra=extra)

    def response(self, request_id: str | None = None) -> "Response":
        """The answer that says so."""
        from starlette.responses import Response  # noqa: PLC0415  # a query in process does without

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
    (NotAPerson, 403, "not-a-person"),
    (PlanIncomplete, 409, "plan-incomplete"),
    (ConfigError, 422, "configuration"),
    (NoForm, 406, "form"),
    (TooLarge, 413, "answer-too-large"),
    (BadQuery, 400, "query"),
    (UsageError, 422, "refused"),
    (TooSlow, 504, "deadline"),
    (StoreError, 503, "store"),
    (DiskFailed, 503, "disk"),
    (RemoteStoreFailed, 503, "remote-store"),
    (EventLogError, 503, "events"),
    (PlanHeld, 409, "held"),
    (EngineError, 503, "engine"),
)


def refusal_of(error: HornbookError) -> HttpRefusal:
    """One of our own errors as a refusal."""
    extra = {"problems": error.problems} if isinstance(error, ConfigError | PlanIncomplete) else {}
    for kind, status, code in _KINDS:
        if isinstance(error, kind):
            return HttpRefusal(status, code, str(error), extra)
    return HttpRefusal(500, "internal", str(error))
