"""Writes an answer without a framework between."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence

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


_QUALITY = re.compile(r"(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\Z")


def best(accept: str | None, offered: Sequence[str], default: str) -> str | None:
    """The media type that is wanted most; the default where anything will do, None for none."""
    if accept is None or not accept.strip():
        return default
    wanted = [_range(part) for part in accept.split(",") if part.strip()]
    ranked = [
        (*_rank(media_type, wanted), media_type == default, -place, media_type)
        for place, media_type in enumerate(offered)
    ]
    quality, *_, media_type = max(ranked)
    return media_type if quality else None


def _rank(media_type: str, wanted: Sequence[tuple[str, float]]) -> tuple[float, int]:
    """How much a type is wanted, and how exactly it is named: the most exact range decides."""
    fitting = [(_fits(name, media_type), quality) for name, quality in wanted]
    exactness, quality = max(fitting, default=(0, 0.0))
    return (quality if exactness else 0.0), exactness


def _range(part: str) -> tuple[str, float]:
    name, *parameters = (each.strip() for each in part.split(";"))
    for each in parameters:
        key, _, value = each.partition("=")
        if key.strip().lower() == "q":
            value = value.strip()
            return name.lower(), float(value) if _QUALITY.match(value) else 0.0
    return name.lower(), 1.0


def _fits(wanted: str, media_type: str) -> int:
    """How exactly a range names a media type: 3 by name, 2 by kind, 1 as anything, 0 not at all."""
    if wanted == media_type:
        return 3
    if wanted == media_type.partition("/")[0] + "/*":
        return 2
    return 1 if wanted == "*/*" else 0


MEDIA_TYPE = "text/event-stream"
KEEP_ALIVE = 12.0
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]
_SILENCE = b":\n\n"


def frame(data: bytes, *, event: str = "", number: int | None = None) -> bytes:
    """One event; `number` is the place that a client comes back with."""
    place = b"" if number is None else b"id: %d\n" % number
    kind = f"event: {event}\n".encode() if event else b""
    return place + kind + b"data: " + data + b"\n\n"


async def send_events(
    frames: AsyncIterator[bytes],
    receive: Receive,
    send: Send,
    *,
    until: Callable[[], Coroutine[None, None, None]],
    last: bytes = b"",
) -> None:
    """Send frames, and a comment now and then while there is none; `last` when they end.

    They also end when `until` does: whoever reads them may no longer.
    """
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})

    async def write(text: bytes, *, more: bool = True) -> None:
        await send({"type": "http.response.body", "body": text, "more_body": more})

    await write(_SILENCE)
    left = asyncio.ensure_future(_left(receive))
    over = asyncio.ensure_future(until())
    following = asyncio.ensure_future(anext(frames, None))
    try:
        while not left.done():
            await asyncio.wait(
                {left, over, following}, timeout=KEEP_ALIVE, return_when=asyncio.FIRST_COMPLETED
            )
            if over.done():
                await write(b"", more=False)
                return
            if not following.done():
                await write(_SILENCE)
                continue
            found = following.result()
            if found is None:
                await write(last, more=False)
                return
            await write(found)
            following = asyncio.ensure_future(anext(frames, None))
    finally:
        for task in (left, over, following):
            task.cancel()
        await asyncio.gather(left, over, following, return_exceptions=True)
        close = getattr(frames, "aclose", None)
        if close is not None:
            await close()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
