"""Checks the Host and Origin of a request, against DNS rebinding and foreign pages."""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

from hornbook.serve.http.problems import HttpRefusal

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
PAGES = frozenset({"/", "/docs", "/graphql"})
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:@/\s]+)(?::[0-9]{0,5})?")


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

    def refuse(self, method: str, path: str, headers: dict[bytes, bytes]) -> HttpRefusal | None:
        """Why a request must not come in, or None."""
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
        return self._foreign(method, path, headers) if origin is None else None

    def _known(self, name: str) -> bool:
        if name in self.names:
            return True
        # An address is never the product of a rebound name.
        return not self.loopback and _is_address(name)

    def _may_call(self, origin: str, host: str) -> bool:
        scheme, _, place = origin.partition("://")
        return origin in self.origins or (scheme in {"http", "https"} and place == host)

    def _foreign(self, method: str, path: str, headers: dict[bytes, bytes]) -> HttpRefusal | None:
        """Refuse what a foreign page makes a browser send; only a link may be followed."""
        site = headers.get(b"sec-fetch-site", b"none")
        followed = headers.get(b"sec-fetch-mode") == b"navigate" and method == "GET"
        if site in {b"none", b"same-origin"} or (followed and path in PAGES):
            return None
        return HttpRefusal(
            403, "origin", "another site's page sent this request: open it yourself."
        )


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
