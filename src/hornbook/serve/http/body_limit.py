"""The bodies of requests: each no larger than allowed, all of them together as well."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from starlette.types import Message, Receive

from hornbook.serve.http.problems import HttpRefusal

# So many bodies of the largest size may be held at a time, or many more small ones.
MOST_LARGE = 128


class Bodies:
    """Counts the bytes that are held for all requests."""

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self._most = largest * MOST_LARGE
        self.held = 0

    @contextmanager
    def one(self) -> Iterator["Body"]:
        """A body, held until the request is done."""
        body = Body(self)
        try:
            yield body
        finally:
            self.held -= body.size

    def hold(self, size: int) -> None:
        """Hold so many bytes more.

        Raises:
            Refusal: It would be too many.
        """
        if self.held + size > self._most:
            raise HttpRefusal(
                503,
                "busy",
                f"{self.held} bytes of other requests are held: try again later.",
                headers={"retry-after": "1"},
            )
        self.held += size


class Body:
    """The body of one request."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        self.size = 0

    async def read(self, receive: Receive, headers: Mapping[bytes, bytes]) -> Receive:
        """A `receive` that gives the whole body at once.

        Raises:
            Refusal: It is too large or compressed, or the client left.
        """
        most = self._bodies.largest
        if headers.get(b"content-encoding", b"identity") != b"identity":
            raise HttpRefusal(415, "encoding", "the body is compressed: send it as it is.")
        announced = headers.get(b"content-length", b"0")
        if not announced.isdigit() or int(announced[:20]) > most:
            raise _too_large(most)
        pieces: list[bytes] = []
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise HttpRefusal(
                    400, "disconnected", "the client left before its request was complete."
                )
            piece = message.get("body", b"")
            if self.size + len(piece) > most:
                raise _too_large(most)
            self._bodies.hold(len(piece))
            self.size += len(piece)
            pieces.append(piece)
            if not message.get("more_body", False):
                break
        waiting: list[Message] = [{"type": "http.request", "body": b"".join(pieces)}]

        async def replay() -> Message:
            return waiting.pop() if waiting else await receive()

        return replay


def _too_large(most: int) -> HttpRefusal:
    return HttpRefusal(413, "body", f"the body is larger than {most} bytes: send less.")
