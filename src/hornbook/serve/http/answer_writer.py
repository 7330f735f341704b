"""The way out of the gateway: what every answer carries, compressed or without a body if asked so.

The head of an answer is held until its first piece is known. One that comes whole can be compressed
and is another representation then, with a tag of its own; a stream goes out as it comes. Who has a
tagged answer already gets its tag alone.
"""

import asyncio
import gzip
from collections.abc import Iterable, Sequence

from starlette.types import Message, Send

SMALLEST = 1024
"""Bytes below which compressing saves nothing."""
_LARGE = 65_536
_LEVEL = 1
_TEXTS = (b"text/", b"application/json", b"application/problem+json", b"image/svg+xml")
_STRUCTURED = (b"+json", b"+xml")
_EXPOSED = b"etag, location, retry-after, www-authenticate, x-request-id"
GZIPPED = b"-gzip"
"""Behind the tag of a representation that is compressed."""

Headers = Sequence[tuple[bytes, bytes]]


class HeadAnswered(Exception):  # it ends an answer, which is no error
    """Everything that HEAD asks for was sent: the rest of a stream need not be made."""


class AnswerWriter:
    """Sends an answer; remembers its status, and puts the request's name on it."""

    def __init__(
        self, send: Send, request_id: str, *, headers: dict[bytes, bytes], method: str
    ) -> None:
        self._send = send
        self.request_id = request_id
        self.status: int | None = None
        self.origin: str | None = None
        """The page of another site that may read the answer."""
        self._head = method == "HEAD"
        had = headers.get(b"if-none-match", b"") if method in {"GET", "HEAD"} else b""
        tags = [each.strip().removeprefix(b"W/") for each in had.split(b",")]
        self._had: dict[bytes | None, bytes] = {_bare_tag(tag): b"W/" + tag for tag in tags if tag}
        self._gzip = takes_gzip(headers.get(b"accept-encoding", b"").decode("latin-1"))
        self._start: Message | None = None

    async def __call__(self, message: Message) -> None:
        """Send the next piece."""
        if message["type"] == "http.response.start":
            self._start = message
            return
        if self._start is None:
            if not self._head:
                await self._send(message)
            return
        start, self._start = self._start, None
        body, more = message.get("body", b""), message.get("more_body", False)
        headers = [*start.get("headers", ()), *self._common()]
        if not more and start["status"] == 200:
            start["status"], headers, body = await self._whole(headers, body)
        self.status = start["status"]
        await self._send({**start, "headers": headers})
        if self._head:
            await self._send({"type": "http.response.body", "body": b""})
            if more:
                raise HeadAnswered
            return
        await self._send({**message, "body": body})

    async def _whole(
        self, headers: list[tuple[bytes, bytes]], body: bytes
    ) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        """An answer that comes whole: nothing if the client has it, compressed where it pays."""
        tag = next((_bare_tag(value) for name, value in headers if name.lower() == b"etag"), None)
        if tag in self._had:
            of_body = (b"etag", b"content-length", b"content-type")
            kept = [each for each in headers if each[0].lower() not in of_body]
            return 304, [*kept, (b"etag", self._had[tag])], b""
        if _shrinks(headers, body):
            headers.append((b"vary", b"Accept-Encoding"))
            if self._gzip:
                body, headers = await _compressed(headers, body)
        return 200, headers, body

    def _common(self) -> Iterable[tuple[bytes, bytes]]:
        yield b"x-request-id", self.request_id.encode()
        yield b"x-content-type-options", b"nosniff"
        if self.origin is not None:
            yield b"access-control-allow-origin", self.origin.encode("latin-1")
            yield b"access-control-expose-headers", _EXPOSED
            yield b"vary", b"Origin"


def takes_gzip(accepted: str) -> bool:
    """Whether a client takes compressed answers, by its `Accept-Encoding`."""
    for part in accepted.lower().split(","):
        name, _, parameters = part.partition(";")
        if name.strip() == "gzip":
            return parameters.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False


def _bare_tag(tag: bytes) -> bytes:
    """A tag as it is compared: weakly, and whatever its answer was compressed with."""
    return tag.strip().removeprefix(b"W/").strip(b'"').removesuffix(GZIPPED)


def _shrinks(headers: Headers, body: bytes) -> bool:
    """Whether compressing makes an answer smaller, as far as its type tells."""
    known = {name.lower(): value for name, value in headers}
    kind = known.get(b"content-type", b"").partition(b";")[0].strip()
    text = kind.startswith(_TEXTS) or kind.endswith(_STRUCTURED)
    return len(body) >= SMALLEST and text and b"content-encoding" not in known


async def _compressed(headers: Headers, body: bytes) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """The same answer compressed; a large one in a thread, so that nobody else waits for it."""
    small = (
        await asyncio.to_thread(gzip.compress, body, _LEVEL)
        if len(body) > _LARGE
        else gzip.compress(body, _LEVEL, mtime=0)
    )
    kept: list[tuple[bytes, bytes]] = []
    for name, value in headers:
        if name.lower() == b"etag":
            kept.append((name, value.removesuffix(b'"') + GZIPPED + b'"'))
        elif name.lower() != b"content-length":
            kept.append((name, value))
    length = str(len(small)).encode()
    return small, [*kept, (b"content-encoding", b"gzip"), (b"content-length", length)]
