"""Sessions of browsers: opened by a one-time address or a token, and known by a cookie.

A one-time address holds who made it, when, and a number that was never used, signed with the
secret of this machine: `hornbook login` needs no word with the server to make one. It is good for a
minute and once, and none from before the server's start is, since it might have been used then. A
session ends when it is left, when nothing came of it for twelve hours, when what it was opened with
is taken back, and with the server, for it is kept in memory alone.
"""

import base64
import binascii
import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie

from hornbook.plans.principal import Principal, PrincipalKind, Via
from hornbook.serve.access.callers import Caller, CallerCheck

COOKIE = "hornbook"
SECURE_COOKIE = "__Host-hornbook"
"""Under TLS: a browser then takes it from this host alone, for every path."""
CODE_SECONDS = 60.0
IDLE_SECONDS = 12 * 3600.0
MOST = 1000
_SIGNED_FOR = b"hornbook login "


def make_code(secret: str, principal: Principal, moment: float) -> str:
    """What a one-time address carries, for whoever makes it now."""
    facts = {
        "id": principal.id,
        "kind": str(principal.kind),
        "at": moment,
        "number": secrets.token_hex(16),
    }
    told = base64.urlsafe_b64encode(json.dumps(facts).encode()).decode().rstrip("=")
    return f"{told}.{_signature(secret, told)}"


def _signature(secret: str, told: str) -> str:
    return hmac.new(secret.encode(), _SIGNED_FOR + told.encode(), sha256).hexdigest()


@dataclass(slots=True)
class _Session:
    caller: Caller
    csrf: str
    used: float


class Sessions:
    """The open sessions of one server."""

    def __init__(
        self,
        callers: CallerCheck,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._callers = callers
        self._clock = clock
        self._wall = wall
        self._started = wall()
        self._lock = threading.Lock()
        self._open: dict[str, _Session] = {}
        self._used_codes: dict[str, float] = {}

    def by_code(self, code: str) -> str | None:
        """A session for whoever made a one-time address; None if it is not good any more."""
        owner = self._callers.owner()
        if owner is None:
            return None
        told, _, signature = code.partition(".")
        if not hmac.compare_digest(_signature(owner.secret, told).encode(), signature.encode()):
            return None
        try:
            facts = json.loads(base64.urlsafe_b64decode(told + "=" * (-len(told) % 4)))
            principal = Principal(facts["id"], PrincipalKind(facts["kind"]), Via.SESSION)
            at, number = float(facts["at"]), str(facts["number"])
        except (ValueError, KeyError, TypeError, binascii.Error):
            return None
        if not self._spend(number, at):
            return None
        return self.open(replace(owner.caller, known_as=principal))

    def _spend(self, number: str, at: float) -> bool:
        """Whether a code of that number is good now; it is not again."""
        moment = self._wall()
        with self._lock:
            for old in [each for each, until in self._used_codes.items() if until < moment]:
                del self._used_codes[old]
            fresh = at >= self._started and -5.0 <= moment - at <= CODE_SECONDS
            if not fresh or number in self._used_codes:
                return False
            self._used_codes[number] = moment + 2 * CODE_SECONDS
            return True

    def open(self, caller: Caller) -> str:
        """A session in which a browser acts as a caller does."""
        name = secrets.token_urlsafe(32)
        known = replace(caller, known_as=replace(caller.known_as, via=Via.SESSION))
        with self._lock:
            if len(self._open) >= MOST:  # the one that was used longest ago makes room
                del self._open[min(self._open, key=lambda each: self._open[each].used)]
            self._open[name] = _Session(known, secrets.token_urlsafe(32), self._clock())
        return name

    def caller(self, name: str) -> Caller | None:
        """Who acts in a session; None if it has ended."""
        with self._lock:
            session = self._open.get(name)
            if session is None:
                return None
            idle = self._clock() - session.used > IDLE_SECONDS
            if idle or not self._callers.holds(session.caller):
                del self._open[name]
                return None
            session.used = self._clock()
            return session.caller

    def is_open(self, name: str) -> bool:
        """Whether a session has not ended; asking does not keep it open."""
        with self._lock:
            session = self._open.get(name)
            if session is None or self._clock() - session.used > IDLE_SECONDS:
                return False
            return self._callers.holds(session.caller)

    def csrf(self, name: str) -> str:
        """What a page of ours sends with all that it writes; empty if there is no session."""
        session = self._open.get(name)
        return session.csrf if session is not None else ""

    def is_ours(self, name: str, given: str) -> bool:
        """Whether what was sent with a request is what a page of ours sends."""
        known = self.csrf(name)
        return bool(known) and hmac.compare_digest(known.encode(), given.encode())

    def close(self, name: str) -> None:
        """End a session."""
        with self._lock:
            self._open.pop(name, None)


def session_in(cookies: str) -> str:
    """The session that the cookies of a request name; empty if they name none."""
    try:
        found = SimpleCookie(cookies)
    except CookieError:
        return ""
    for name in (SECURE_COOKIE, COOKIE):
        if name in found:
            return found[name].value
    return ""


def cookie(name: str, *, secure: bool) -> str:
    """The header that gives a browser its session; without a name it takes it away."""
    kind = f"{SECURE_COOKIE if secure else COOKIE}={name}; Path=/; HttpOnly; SameSite=Lax"
    gone = "" if name else "; Max-Age=0"
    return kind + ("; Secure" if secure else "") + gone
