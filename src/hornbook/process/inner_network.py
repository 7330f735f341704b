"""Gives a command in a network of its own a way to listed hosts: run as a script, not imported.

In an empty network namespace there is nothing but loopback. This script listens there, starts a
process that hands every connection to a unix socket from outside (`egress` answers at its other
end), and then becomes the command, with the variables that programs ask for a proxy. Ports of the
real loopback that are listed are listened to under their own numbers, since most programs use no
proxy for loopback.

Its first argument is JSON: `socket` is the path of the unix socket, `direct` the ports.
"""

import ctypes
import json
import os
import selectors
import signal
import socket
import sys

TYPE_CHECKING = False  # typing would double the start of every command
if TYPE_CHECKING:
    from collections.abc import Callable

DIE_WITH_PARENT = 1
PIECE = 64 * 1024
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
REFUSED = 126


def main(arguments: "list[str]") -> None:
    """Listen, have a child forward, and become the command."""
    order = json.loads(arguments[0])
    try:
        proxy = _listener(0)
        direct = {_listener(port): port for port in order["direct"]}
    except OSError as problem:
        sys.stderr.write(f"cannot listen on the inner loopback: {problem}\n")
        sys.exit(REFUSED)
    address = f"http://127.0.0.1:{proxy.getsockname()[1]}"
    command = os.getpid()
    if os.fork() == 0:
        _alone(command)
        Forwarder(order["socket"]).run(proxy, direct)
    for name in PROXIES:
        os.environ[name] = os.environ[name.lower()] = address
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost,::1"
    try:
        os.execvp(arguments[1], arguments[1:])  # noqa: S606  # the confined program itself
    except OSError as problem:
        sys.stderr.write(f"{arguments[1]}: {problem.strerror}\n")
        sys.exit(127)


def _listener(port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.bind(("127.0.0.1", port))
    found.listen(64)
    found.setblocking(False)
    return found


def _alone(command: int) -> None:
    """End with the command, and hold nothing of it open."""
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != command:
        os._exit(0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)


class Stream:
    """One direction of a connection: what was read and not yet written."""

    def __init__(self, source: socket.socket, target: socket.socket) -> None:
        self.source, self.target = source, target
        self.waiting = bytearray()
        self.read_all = False

    @property
    def is_done(self) -> bool:
        """Whether nothing will be written any more."""
        return self.read_all and not self.waiting


class Forwarder:
    """Copies bytes between inner connections and the unix socket, all in one thread."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._selector = selectors.DefaultSelector()
        self._streams: dict[socket.socket, tuple[Stream, Stream]] = {}

    def run(self, proxy: socket.socket, direct: "dict[socket.socket, int]") -> None:
        """Forward for ever: it is ended with the command."""
        for listener, port in {proxy: 0, **direct}.items():
            take = self._taker(listener, port)
            self._selector.register(listener, selectors.EVENT_READ, take)
        while True:
            for key, events in self._selector.select():
                if callable(key.data):
                    key.data()
                elif key.fileobj in self._streams:
                    self._move(key.fileobj, events)

    def _taker(self, listener: socket.socket, port: int) -> "Callable[[], None]":
        def take() -> None:
            try:
                inner, _ = listener.accept()
            except OSError:
                return
            try:
                self._open(inner, port)
            except OSError:
                inner.close()

        return take

    def _open(self, inner: socket.socket, port: int) -> None:
        outer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            outer.connect(self._path)
            if port:
                outer.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode("ascii"))
        except OSError:
            outer.close()
            raise
        for each in (inner, outer):
            each.setblocking(False)
        if port:
            self._selector.register(outer, selectors.EVENT_READ, self._opener(inner, outer))
        else:
            self._join(inner, outer)

    def _opener(self, inner: socket.socket, outer: socket.socket) -> "Callable[[], None]":
        """Reads the answer to CONNECT as it comes, so that a slow server keeps nobody waiting."""
        head = bytearray()

        def read_on() -> None:
            try:
                while not head.endswith(b"\r\n\r\n"):  # nothing behind the head is read
                    piece = outer.recv(1)
                    if not piece:
                        break
                    head.extend(piece)
            except BlockingIOError:
                return
            except OSError:
                head.clear()
            self._selector.unregister(outer)
            if head.split(b" ", 2)[1:2] == [b"200"]:
                self._join(inner, outer)
                return
            inner.close()
            outer.close()

        return read_on

    def _join(self, inner: socket.socket, outer: socket.socket) -> None:
        there, back = Stream(inner, outer), Stream(outer, inner)
        self._streams[inner] = (there, back)
        self._streams[outer] = (back, there)
        for each in (inner, outer):
            self._selector.register(each, selectors.EVENT_READ)

    def _move(self, end: socket.socket, events: int) -> None:
        """Read what one end has, and write what waits for it."""
        reading, writing = self._streams[end]
        try:
            if events & selectors.EVENT_READ:
                piece = end.recv(PIECE)
                reading.waiting += piece
                reading.read_all = not piece
            for stream in (reading, writing):
                self._write(stream)
        except BlockingIOError:
            pass
        except OSError:
            self._close(reading)
            return
        if reading.is_done and writing.is_done:
            self._close(reading)
            return
        self._watch(reading, writing)

    def _write(self, stream: Stream) -> None:
        if stream.waiting:
            del stream.waiting[: stream.target.send(stream.waiting)]
        if stream.is_done:
            stream.target.shutdown(socket.SHUT_WR)

    def _watch(self, one: Stream, other: Stream) -> None:
        """Ask for what each end can do next; who is written to slowly is read from slowly."""
        for stream, back in ((one, other), (other, one)):
            wanted = selectors.EVENT_WRITE if back.waiting else 0
            if not stream.read_all and len(stream.waiting) < PIECE:
                wanted |= selectors.EVENT_READ
            self._listen(stream.source, wanted)

    def _listen(self, end: socket.socket, wanted: int) -> None:
        known = end in self._selector.get_map()
        if wanted and known:
            self._selector.modify(end, wanted)
        elif wanted:
            self._selector.register(end, wanted)
        elif known:
            self._selector.unregister(end)

    def _close(self, stream: Stream) -> None:
        for end in (stream.source, stream.target):
            self._listen(end, 0)
            self._streams.pop(end, None)
            end.close()


if __name__ == "__main__":
    main(sys.argv[1:])
