"""Checks the Host and Origin of a request, against DNS rebinding and foreign pages."""

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hornbook.serve.http.problems import HttpRefusal

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
_WITH_ENTRY = frozenset(
    {
        *("/", "/changes", "/doctor", "/files", "/map", "/plans", "/replay", "/rules", "/runs"),
        "/trends",
    }
)
PAGES = frozenset({*_WITH_ENTRY, "/docs", "/graphql", "/login", "/sparql"})
BELOW = ("/changes/", "/files/", "/graph/", "/plans/", "/rules/", "/runs/", "/vocabulary")
"""Where the addresses of pages begin that people send each other."""
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:@/\s]+)(?::[0-9]{0,5})?")


ASKED_BY_ADDRESS = frozenset({"/graphql", "/sparql"})
"""Pages that answer a query in their address, which another site must not make anybody ask."""


def is_page(path: str) -> bool:
    """Whether a path is that of a page, which a link elsewhere may lead to."""
    return path in PAGES or path.startswith(BELOW)


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class HostCheck:
    """The names that a server answers to, and the web origins that may call it."""

    listens_on: str
    loopback: bool
    names: frozenset[str]
    origins: frozenset[str]

    @classmethod
    def of(cls, host: str, names: Iterable[str], origins: Iterable[str]) -> "HostCheck":
        """The check of a server that listens on `host`."""
        own = f"[{host}]" if ":" in host and not host.startswith("[") else host
        listed = {each.lower() for each in names}
        return cls(
            listens_on=host,
            loopback=is_loopback(host),
            names=LOOPBACK_NAMES | listed | {own.lower()},
            origins=frozenset(each.lower() for each in origins),
        )

    def refuse(
        self, method: str, path: str, headers: dict[bytes, bytes], *, asks: bool = False
    ) -> HttpRefusal | None:
        """Why a request must not come in, or None; `asks` says that its address has a query."""
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if not self._known(_without_port(host)):
            return HttpRefusal(
                421,
                "host",
                f"the request is addressed to {host!r}, which this server is not: "
                "list the name under `serve.hosts`.",
            )
        origin = headers.get(b"origin")
        if origin is not None and not self._may_call(origin.decode("latin-1").lower(), host):
            return HttpRefusal(
                403,
                "origin",
                f"pages of {origin.decode('latin-1')!r} may not call this server: "
                "list the origin under `serve.origins`.",
            )
        followed = is_page(path) and not (asks and path in ASKED_BY_ADDRESS)
        return _foreign(method, headers, page=followed) if origin is None else None

    def is_listed(self, origin: str) -> bool:
        """Whether pages of another site may call, because settings list their origin."""
        return origin.lower() in self.origins

    @staticmethod
    def is_own(headers: Mapping[bytes, bytes]) -> bool:
        """Whether a page of this very server sends a request, and says so."""
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        host = headers.get(b"host", b"").decode("latin-1").lower()
        return bool(host) and origin in {f"http://{host}", f"https://{host}"}

    def _known(self, name: str) -> bool:
        if name in self.names:
            return True
        # An address is never the product of a rebound name.
        return not self.loopback and _is_address(name)

    def _may_call(self, origin: str, host: str) -> bool:
        scheme, _, place = origin.partition("://")
        return origin in self.origins or (scheme in {"http", "https"} and place == host)


def _foreign(method: str, headers: Mapping[bytes, bytes], *, page: bool) -> HttpRefusal | None:
    """Refuse what a foreign page makes a browser send; only a link to a page may be followed."""
    site = headers.get(b"sec-fetch-site", b"none")
    followed = headers.get(b"sec-fetch-mode") == b"navigate" and method == "GET"
    if site in {b"none", b"same-origin"} or (followed and page):
        return None
    return HttpRefusal(403, "origin", "another site's page sent this request: open it yourself.")


_PROXY_HEADERS = frozenset({b"forwarded", b"via", b"x-real-ip"})


def through_proxy(http_version: str, headers: Mapping[bytes, bytes]) -> str | None:
    """What tells that a request came through a proxy; None if nothing does.

    A proxy that adds no header still shows itself by asking in HTTP/1.0, as they do by default.
    """
    for name in headers:
        if name in _PROXY_HEADERS or name.startswith(b"x-forwarded-"):
            return name.decode("latin-1")
    return f"HTTP/{http_version}" if http_version == "1.0" else None


def _without_port(host: str) -> str:
    """The name in a Host header; what is no such header names nothing."""
    found = _HOST.fullmatch(host)
    return found[1] if found is not None else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
