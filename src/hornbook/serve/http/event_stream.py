"""Server-sent events: frames that are sent one by one, until they end or the client leaves.

Two tasks wait at a time: one for the next frame, one for the client to leave. So a client that is
gone is noticed while nothing happens, and a frame is asked for only when the one before is sent: a
client that reads slowly holds up nobody but itself, and nothing piles up for it.
"""

import asyncio
from collections.abc import AsyncIterator

from starlette.types import Receive, Send

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
    frames: AsyncIterator[bytes], receive: Receive, send: Send, *, last: bytes = b""
) -> None:
    """Send frames, and a comment now and then while there is none; `last` when they end."""
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})

    async def write(text: bytes, *, more: bool = True) -> None:
        await send({"type": "http.response.body", "body": text, "more_body": more})

    await write(_SILENCE)
    left = asyncio.ensure_future(_left(receive))
    following = asyncio.ensure_future(anext(frames, None))
    try:
        while not left.done():
            await asyncio.wait(
                {left, following}, timeout=KEEP_ALIVE, return_when=asyncio.FIRST_COMPLETED
            )
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
        left.cancel()
        following.cancel()
        await asyncio.gather(left, following, return_exceptions=True)
        close = getattr(frames, "aclose", None)
        if close is not None:
            await close()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
