"""Writes an answer without a framework between."""

import json
from collections.abc import Iterable

import msgspec
from starlette.types import Receive, Send

Headers = Iterable[tuple[bytes, bytes]]

_ENCODER = msgspec.json.Encoder()


def as_json(value: object) -> bytes:
    """A value as JSON; what cannot be UTF-8 is escaped."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


async def send_bytes(
    send: Send, status: int, media_type: str, body: bytes, headers: Headers = ()
) -> None:
    """Send a whole answer."""
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [
                (b"content-type", media_type.encode("latin-1")),
                (b"content-length", str(len(body)).encode()),
                *headers,
            ],
        }
    )
    await send({"type": "http.response.body", "body": body})


async def body_of(receive: Receive) -> bytes:
    """The body of a request, which the gate has read already."""
    message = await receive()
    found: bytes = message.get("body", b"")
    return found
