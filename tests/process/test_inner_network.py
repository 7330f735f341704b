"""The way from a network of one's own to listed hosts, with real sockets on loopback."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hornbook.process.inner_network import Forwarder, _listener
from tests.kit.waiting import SAFETY


@pytest.fixture
def held() -> Iterator[ExitStack]:
    """Closes every socket of a test."""
    with ExitStack() as stack:
        yield stack


LISTENERS: list[socket.socket] = []
"""They stay open: a forwarder is ended with its process, and not before."""


class Outside:
    """Listens at the unix socket, in the place of the proxy; inside, a forwarder leads to it."""

    def __init__(self, held: ExitStack, place: Path) -> None:
        self._held = held
        self._server = held.enter_context(socket.socket(socket.AF_UNIX))
        self._server.bind(str(place / "s"))
        self._server.listen()
        self._server.settimeout(SAFETY)
        proxy, direct = _listener(0), _listener(0)
        LISTENERS.extend((proxy, direct))
        self.proxy, self.direct = (each.getsockname()[1] for each in (proxy, direct))
        run: Callable[..., None] = Forwarder(str(place / "s")).run
        threading.Thread(target=run, args=(proxy, {direct: self.direct}), daemon=True).start()

    def accepted(self) -> socket.socket:
        found, _ = self._server.accept()
        found.settimeout(SAFETY)
        return self._held.enter_context(found)

    def asked(self, port: int) -> socket.socket:
        return self._held.enter_context(socket.create_connection(("127.0.0.1", port), SAFETY))


def test_a_slow_server_on_a_listed_port_delays_nobody_else(tmp_path: Path, held: ExitStack) -> None:
    outside = Outside(held, tmp_path)
    slow = outside.asked(outside.direct)
    waiting = outside.accepted()
    assert waiting.recv(100) == f"CONNECT 127.0.0.1:{outside.direct} HTTP/1.1\r\n\r\n".encode()
    quick = outside.asked(outside.proxy)
    quick.sendall(b"hello")
    other = outside.accepted()
    assert other.recv(100) == b"hello", "although the first is not answered yet"
    other.sendall(b"there")
    assert quick.recv(100) == b"there"
    slow.sendall(b"question")
    for byte in b"HTTP/1.1 200 Connection established\r\n\r\nanswer":
        waiting.sendall(bytes([byte]))
    assert waiting.recv(100) == b"question"
    told = b""
    while len(told) < len(b"answer"):
        told += slow.recv(100)
    assert told == b"answer"


def test_a_port_that_is_refused_is_closed_and_the_others_go_on(
    tmp_path: Path, held: ExitStack
) -> None:
    outside = Outside(held, tmp_path)
    refused = outside.asked(outside.direct)
    outside.accepted().sendall(b"HTTP/1.1 403 Forbidden\r\n\r\n")
    assert refused.recv(10) == b""
    again = outside.asked(outside.direct)
    outside.accepted().close()
    assert again.recv(10) == b""
