"""The one way out of a network of its own: a proxy that lets through to listed hosts alone.

It speaks HTTP's `CONNECT`, and plain requests in absolute form, over a unix socket that is bound
into the confinement of one call. A name is resolved once, and that address is connected to, so that
a name server cannot answer one thing when it is judged and another when it is used. An address of
this machine or of a private network is refused unless it is listed itself: a name that somebody
else controls must not lead there.
"""

import contextlib
import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # documented by its use alone

from hornbook.disk import temporary_folder
from hornbook.errors import UsageError

LARGEST_HEAD = 64 * 1024
MOST_CONNECTIONS = 128
_PIECE = 64 * 1024
_CONNECT_SECONDS = 60
_ABSOLUTE = re.compile(rb"([A-Z]+) (http://\S+) (HTTP/1\.[01])")
_CONNECT = re.compile(rb"CONNECT (\S+) HTTP/1\.[01]")
_PORTS = {"http": 80, "https": 443}
_HIGHEST_PORT = 65535


@dataclass(frozen=True, slots=True, order=True)
class HostPort:
    """Where a connection leads, by name or address."""

    host: str
    port: int

    @classmethod
    def read(cls, text: str) -> Self:
        """A host and its port as people write them: `host:443`, `[::1]:8080`.

        Raises:
            UsageError: It is something else.
        """
        host, colon, port = text.strip().rpartition(":")
        bare = host.removeprefix("[").removesuffix("]").lower().rstrip(".")
        fits = colon and port.isascii() and port.isdecimal() and 0 < int(port) <= _HIGHEST_PORT
        if not fits or not bare or re.search(r"[\s/@*]", bare):
            raise UsageError(f"{text!r} is no host with its port: write it as `host:443`.")
        return cls(bare, int(port))

    @classmethod
    def of_url(cls, url: str) -> Self | None:
        """Where a URL leads; None if it is none."""
        try:
            parts = urlsplit(url)
            port = parts.port or _PORTS.get(parts.scheme)
        except ValueError:
            return None
        return cls(parts.hostname.rstrip("."), port) if parts.hostname and port else None

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine itself."""
        address = _address(self.host)
        return self.host == "localhost" or (address is not None and address.is_loopback)

    def __str__(self) -> str:
        """As it is listed."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


Refused = Callable[[str], None]
"""Is told of each connection that was not let through, and why."""


class EgressProxy:
    """Lets the connections of one call through to `allowed`; `refused` is told of all others.

    `upstream` are the proxies that this machine itself must use, as environment variables.
    """

    def __init__(
        self,
        allowed: Iterable[HostPort],
        refused: Refused,
        upstream: Mapping[str, str] | None = None,
    ) -> None:
        self._allowed = frozenset(allowed)
        self._refused = refused
        self._upstream = _proxies(upstream or {})
        self._room = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._closing = False

    @contextlib.contextmanager
    def listening(self) -> Iterator[Path]:
        """The unix socket that it answers at; with the block every connection ends."""
        with temporary_folder("egress") as folder:
            path = folder / "proxy"
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
                listener.bind(str(path))
                listener.listen(64)
                taker = threading.Thread(target=self._take, args=(listener,), daemon=True)
                taker.start()
                try:
                    yield path
                finally:
                    self._close(listener)
                    taker.join()

    def _close(self, listener: socket.socket) -> None:
        with self._lock:
            self._closing = True
            left = [listener, *self._open]
        for each in left:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _take(self, listener: socket.socket) -> None:
        while True:
            try:
                inner, _ = listener.accept()
            except OSError:
                return
            self._room.acquire()
            threading.Thread(target=self._serve, args=(inner,), daemon=True).start()

    def _serve(self, inner: socket.socket) -> None:
        try:
            with inner, self._known(inner), contextlib.suppress(OSError):
                self._answer(inner)
        finally:
            self._room.release()

    @contextlib.contextmanager
    def _known(self, *ends: socket.socket) -> Iterator[None]:
        """Have these ended with the proxy."""
        with self._lock:
            if self._closing:
                raise ConnectionAbortedError
            self._open.update(ends)
        try:
            yield
        finally:
            with self._lock:
                self._open.difference_update(ends)

    def _answer(self, inner: socket.socket) -> None:
        head, rest = _head(inner)
        asked = _asked(head)
        if asked is None:
            _say(inner, 400, "this is no request to a proxy")
            return
        target, first = asked
        why = self._forbids(target)
        outer = None
        if why is None:
            try:
                outer = self._connected(target)
            except NotReachedError as problem:
                why = str(problem)
        if outer is None:
            self._refused(f"{target}: {why}")
            _say(inner, 403, f"{target}: {why}")
            return
        with outer, self._known(outer):
            if first is None:
                inner.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                outer.sendall(first)
            outer.sendall(rest)
            _join(inner, outer)

    def _forbids(self, target: HostPort) -> str | None:
        if target in self._allowed:
            return None
        return f"it is not listed: add `{target}` to the agent's `network` if it should be reached."

    def _connected(self, target: HostPort) -> socket.socket:
        """A connection to where a name leads, judged and used as one answer.

        Raises:
            NotReachedError: It leads where nothing is listed, or nobody answers.
        """
        above = self._above(target)
        if above is not None:
            return _through(above, target)
        return connect_to(target, self._allowed, "network")

    def _above(self, target: HostPort) -> HostPort | None:
        """The proxy that this machine uses for such a target."""
        if target.is_loopback or proxy_bypass_environment(target.host, self._upstream):
            return None
        return HostPort.of_url(self._upstream.get("https") or self._upstream.get("all") or "")


class NotReachedError(Exception):
    """Why no connection came about."""


def connect_to(
    target: HostPort, listed: Collection[HostPort], setting: str, seconds: float = _CONNECT_SECONDS
) -> socket.socket:
    """A connection to where a name leads, judged and used as one answer.

    An address of this machine or of a private network must be `listed`, which is `setting`.

    Raises:
        NotReachedError: It leads where nothing is listed, or nobody answers.
    """
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise NotReachedError(f"its name is not known ({error}).") from error
    problem: OSError | None = None
    for family, kind, protocol, _, place in found:
        address = str(place[0])
        if not _may(target, address, listed):
            raise NotReachedError(
                f"its name leads to {address}, which is this machine or a private network: "
                f"add `{HostPort(address, target.port)}` to `{setting}` if that is meant."
            )
        outer = socket.socket(family, kind, protocol)
        outer.settimeout(seconds)
        try:
            outer.connect(place)
        except OSError as error:
            outer.close()
            problem = error
            continue
        outer.settimeout(None)
        return outer
    raise NotReachedError(f"nobody answers there ({problem}).")


def _may(target: HostPort, address: str, listed: Collection[HostPort]) -> bool:
    found = _address(address)
    if found is not None and found.is_global and not found.is_multicast:
        return True
    return HostPort(address, target.port) in listed or (
        target.host == "localhost" and target in listed
    )


def _proxies(environment: Mapping[str, str]) -> dict[str, str]:
    """The proxies that variables name, by scheme, and `no`."""
    found = {
        name.lower().removesuffix("_proxy"): value
        for name, value in sorted(environment.items())
        if name.lower().endswith("_proxy") and value
    }
    return {key: value for key, value in found.items() if key in {"https", "all", "no"}}


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        return found.ipv4_mapped
    return found


def _head(inner: socket.socket) -> tuple[bytes, bytes]:
    """A request up to its empty line, and what came behind that."""
    read = b""
    while b"\r\n\r\n" not in read:
        piece = inner.recv(_PIECE)
        read += piece
        if not piece or len(read) > LARGEST_HEAD:
            return b"", b""
    head, _, rest = read.partition(b"\r\n\r\n")
    return head, rest


def _asked(head: bytes) -> tuple[HostPort, bytes | None] | None:
    """Where a request leads, and what to send there first; None is sent for a tunnel."""
    line, _, fields = head.partition(b"\r\n")
    try:
        if tunnel := _CONNECT.fullmatch(line):
            return HostPort.read(tunnel[1].decode("ascii")), None
        plain = _ABSOLUTE.fullmatch(line)
        target = plain and HostPort.of_url(plain[2].decode("ascii"))
    except (UsageError, UnicodeDecodeError):
        return None
    if not plain or not target:
        return None
    path = re.sub(rb"^http://[^/?#]*", b"", plain[2]) or b"/"
    own = (b"proxy-", b"connection:", b"keep-alive:")
    kept = [each for each in fields.split(b"\r\n") if each and not each.lower().startswith(own)]
    # One request a connection: the next one may be meant for another host.
    lines = [b" ".join((plain[1], path, plain[3])), *kept, b"Connection: close", b"", b""]
    return target, b"\r\n".join(lines)


def _through(proxy: HostPort, target: HostPort) -> socket.socket:
    try:
        outer = socket.create_connection((proxy.host, proxy.port), _CONNECT_SECONDS)
        outer.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n") and (piece := outer.recv(1)):
            head += piece
    except OSError as problem:
        raise NotReachedError(f"this machine's proxy {proxy} failed ({problem}).") from problem
    if head.split(b" ", 2)[1:2] != [b"200"]:
        outer.close()
        said = head.partition(b"\r\n")[0].decode("latin-1")
        raise NotReachedError(f"this machine's proxy {proxy} refused it ({said}).")
    outer.settimeout(None)
    return outer


def _say(inner: socket.socket, code: int, text: str) -> None:
    body = f"hornbook: {text}\n".encode()
    names = {400: "Bad Request", 403: "Forbidden"}
    lines = [
        f"HTTP/1.1 {code} {names[code]}",
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Connection: close",
        "",
        "",
    ]
    inner.sendall("\r\n".join(lines).encode("ascii") + body)


def _join(one: socket.socket, other: socket.socket) -> None:
    """Copy both ways until both have ended, each on its own: neither waits for the other."""
    back = threading.Thread(target=_copy, args=(other, one), daemon=True)
    back.start()
    _copy(one, other)
    back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(_PIECE):
            target.sendall(piece)
    # Whoever cannot go on ends the other direction too, where that is still open.
    for end, how in ((target, socket.SHUT_WR), (source, socket.SHUT_RD)):
        with contextlib.suppress(OSError):
            end.shutdown(how)
