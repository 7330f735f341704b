"""Reads a GraphQL request from HTTP: what is asked for, and in which form it is answered."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from starlette.types import Receive, Scope

from hornbook.serve.engine import Asked
from hornbook.serve.negotiation import best
from hornbook.serve.sending import body_of

RESPONSE = "application/graphql-response+json"
JSON = "application/json"
EVENTS = "text/event-stream"
_OFFERED = (RESPONSE, JSON, EVENTS)


@dataclass(eq=False)
class BadRequest(Exception):  # named after what HTTP calls it
    """A request that is no GraphQL request."""

    status: int
    message: str
    allow: str = ""


@dataclass(frozen=True, slots=True)
class GraphQLRequest:
    """What is asked for, and the media type of the answer."""

    asked: Asked
    media_type: str
    method: str


def wanted_form(headers: Mapping[bytes, bytes]) -> str:
    """The media type that the client wants.

    Raises:
        BadRequest: We have none that it accepts.
    """
    accept = headers.get(b"accept")
    found = best(accept.decode("latin-1") if accept is not None else None, _OFFERED, JSON)
    if found is None:
        raise BadRequest(406, f"we answer as {', '.join(_OFFERED)}: accept one of them.")
    return found


async def read_request(
    scope: Scope, receive: Receive, headers: Mapping[bytes, bytes]
) -> GraphQLRequest:
    """The request.

    Raises:
        BadRequest: It is none.
    """
    method = scope["method"]
    if method == "POST":
        form = wanted_form(headers)
        return GraphQLRequest(_asked(_posted(headers, await body_of(receive))), form, method)
    if method == "GET":
        form = wanted_form(headers)
        return GraphQLRequest(_asked(_parameters(scope["query_string"])), form, method)
    raise BadRequest(405, f"{method} is not answered here: use POST, or GET to query.", "GET, POST")


def _posted(headers: Mapping[bytes, bytes], body: bytes) -> object:
    kind, *parameters = (
        each.strip().lower()
        for each in headers.get(b"content-type", b"").decode("latin-1").split(";")
    )
    if kind != JSON:
        raise BadRequest(415, f"the body is {kind or 'of no type'}: send {JSON}.")
    for each in parameters:
        name, _, value = each.partition("=")
        if name == "charset" and value.strip('"') not in {"utf-8", "utf8"}:
            raise BadRequest(415, f"the body is in {value}: send UTF-8.")
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise BadRequest(400, f"the body is not JSON ({problem}).") from problem


def _parameters(query_string: bytes) -> dict[str, object]:
    try:
        text = query_string.decode("ascii")
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError as problem:
        raise BadRequest(400, f"the parameters cannot be read ({problem}).") from problem
    given: dict[str, object] = dict(pairs)
    for name in ("variables", "extensions"):
        value = given.get(name)
        if isinstance(value, str):
            try:
                given[name] = msgspec.json.decode(value) if value else None
            except (msgspec.DecodeError, UnicodeError, RecursionError) as problem:
                raise BadRequest(400, f"`{name}` is not JSON ({problem}).") from problem
    return given


def _asked(given: object) -> Asked:
    if not isinstance(given, dict):
        raise BadRequest(400, "the body is no JSON object: send {query, variables}.")
    for name, kind, said in (
        ("query", str, "a string"),
        ("operationName", str, "a string"),
        ("variables", dict, "an object"),
        ("extensions", dict, "an object"),
    ):
        value = given.get(name)
        if (name == "query" and value is None) or not isinstance(value, kind | None):
            raise BadRequest(400, f"`{name}` is not {said}.")
    typed: dict[str, Any] = given  # the loop above checked every key that is used
    return Asked(typed["query"], typed.get("variables") or {}, typed.get("operationName"))
