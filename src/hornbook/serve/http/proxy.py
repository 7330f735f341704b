"""What a proxy says of the requests that it passes on, and below which path the server is seen.

Headers that anybody can send count only from an address under `serve.proxies`. The path that the
server knows never has the prefix: it is taken off on the way in and put before every address that
an answer names.
"""

import re
from collections.abc import Collection, Mapping

from starlette.types import Scope

_PREFIX = re.compile(r"(/[A-Za-z0-9._~-]+)+")


def clean_prefix(text: str) -> str:
    """A path to stand below, without a slash at its end; empty for none, or for what is no path."""
    found = text.strip().rstrip("/")
    return found if _PREFIX.fullmatch(found) and ".." not in found.split("/") else ""


def seen_from_outside(
    scope: Scope, headers: Mapping[bytes, bytes], *, proxies: Collection[str], base: str
) -> tuple[Scope, str]:
    """The request as its sender made it, and the path that the server lies below for them."""
    path: str = scope["path"]
    prefix = ""
    if base and (path == base or path.startswith(f"{base}/")):
        prefix, path = base, path[len(base) :] or "/"
    changed: dict[str, object] = {"path": path, "raw_path": path.encode()} if prefix else {}
    client = scope.get("client")
    if client and client[0] in proxies:
        told = _last(headers, b"x-forwarded-prefix")
        prefix = clean_prefix(told) or prefix
        kind = _last(headers, b"x-forwarded-proto").lower()
        if kind in {"http", "https"}:
            changed["scheme"] = kind if scope["type"] == "http" else kind.replace("http", "ws")
        address = _last(headers, b"x-forwarded-for")
        if address:
            changed["client"] = (address, 0)
    return ({**scope, **changed} if changed else scope), prefix


def _last(headers: Mapping[bytes, bytes], name: bytes) -> str:
    """What the nearest proxy put behind what others said before it."""
    return headers.get(name, b"").decode("latin-1").split(",")[-1].strip()
