"""Whom a request is of: by the secret of this machine, by a token, or by nothing.

Tokens are looked at again whenever their file changes, at most four times a second, so that one
that is taken back is good for nothing a moment later; whoever holds a stream open asks `holds` now
and then. A server that once had tokens never opens itself by losing them.
"""

import hmac
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from ipaddress import IPv6Address, ip_address
from pathlib import Path

from starlette.types import Scope

from hornbook.disk import to_seconds
from hornbook.errors import ConfigError
from hornbook.plans.principal import Principal, PrincipalKind, Via, named
from hornbook.serve.access.scopes import ALL, READ_ONLY, AccessScope
from hornbook.serve.access.secret import read_secret
from hornbook.serve.access.tokens import Token, digest_of, load_tokens, note_uses, read_tokens
from hornbook.serve.http.logs import log
from hornbook.serve.http.problems import HttpRefusal
from hornbook.serve.http.rate_limit import RateLimit
from hornbook.settings.places import Places

LOOK_EVERY = 0.25
NOTE_EVERY = 30.0
"""Seconds between two notes of when tokens were used."""
UNKNOWN = Principal("local:unknown", PrincipalKind.LOCAL, Via.UNKNOWN)
CHALLENGE = {"www-authenticate": 'Bearer realm="hornbook"'}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, what they may do, and who that is for the events that come of it."""

    name: str
    scopes: frozenset[AccessScope]
    known_as: Principal = UNKNOWN
    token: Token | None = None
    secret: bytes = b""
    """The digest of the secret that was shown, if one was."""

    def principal(self, request: str) -> Principal:
        """Who acts by a request."""
        return replace(self.known_as, request=request)

    @property
    def is_named(self) -> bool:
        """Whether the caller has shown who they are."""
        return self.known_as != UNKNOWN

    def may(self, scope: AccessScope) -> bool:
        """Whether the caller may do something."""
        return scope in self.scopes

    @staticmethod
    def nameless(what: str) -> HttpRefusal:
        """What somebody is told who has not shown who they are."""
        return HttpRefusal(
            401,
            "token",
            f"a name is needed for {what}: send `Authorization: Bearer TOKEN`, "
            "with a token, or on this machine with what is in .hornbook/secret.",
            headers=CHALLENGE,
        )

    def refusal(self, scope: AccessScope) -> HttpRefusal | None:
        """Why the caller may not do something; None if they may."""
        if self.may(scope):
            return None
        if not self.is_named:
            return self.nameless(f"the scope {scope}")
        return HttpRefusal(
            403,
            "scope",
            f"{self.name} has not the scope {scope}: use a token that has it "
            f"(`hornbook token new NAME --scopes {scope}`).",
        )


NOBODY = Caller("nobody", frozenset())
READER = Caller("local", READ_ONLY)
"""Whoever reaches a server that lets everybody on this machine read."""


@dataclass(frozen=True, slots=True)
class Access:
    """What a server goes by: its tokens, its secret, and who the secret stands for."""

    tokens: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    repository: str = ""
    secret_in: Places | None = None
    """Where the secret lies that the server goes by, if it goes by one."""
    owner: Principal = UNKNOWN
    open_to_readers: bool = False
    failures_per_minute: int = 120


@dataclass(frozen=True, slots=True)
class Owner:
    """Whoever may read the secret of this machine."""

    secret: str
    caller: Caller


MOST_UNAUTHENTICATED = 100
MOST_UNAUTHENTICATED_OF_ONE = 20


class CallerCheck:
    """Knows the secret and the tokens, and what each address did with wrong ones."""

    def __init__(
        self, access: Access, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._access = access
        self._clock = clock
        self._lock = threading.Lock()
        self._tokens = {
            each.digest: each for each in load_tokens(access.tokens, access.environment)
        }
        self._secret = None if access.secret_in is None else read_secret(access.secret_in)
        self._seen = self._standing()
        self._looked = time.monotonic()
        self._uses: dict[str, str] = {}
        self._noted = -NOTE_EVERY
        self.guarded = bool(self._tokens)
        """Whether there are tokens, or were: then nobody comes in without."""
        self._failures = RateLimit(
            access.failures_per_minute, "address {name} has sent too many wrong tokens"
        )
        self._unauthenticated: Counter[str] = Counter()

    @property
    def unnamed(self) -> Caller:
        """Whoever shows nothing."""
        return READER if self._access.open_to_readers and not self.guarded else NOBODY

    def caller(self, authorization: str, address: str) -> Caller | None:
        """Whom an `Authorization` header names; None if nobody.

        Raises:
            Refusal: The address has sent too many wrong ones: this one is not even looked at.
        """
        self._current()  # a first token shuts out those without one, too
        if not authorization:
            return None
        refusal = self._failures.empty(address)
        if refusal is not None:
            raise refusal
        found = self._named(authorization)
        if found is None:
            self._failures.spend(address)
        return found

    def _named(self, authorization: str) -> Caller | None:
        """Whom a header names; as slow for a wrong token as for a right one."""
        kind, _, given = authorization.strip().partition(" ")
        digest = digest_of(given.strip())
        tokens = self._current()
        owner = self.owner()
        is_owner = owner is not None and hmac.compare_digest(owner.caller.secret, digest)
        found = owner.caller if owner is not None and is_owner else None
        for known, token in tokens.items():
            if hmac.compare_digest(known, digest) and token.is_good(self._clock()):
                found = self._of_token(token)
        if kind.lower() != "bearer":
            return None
        if found is not None and found.token is not None:
            self._note(found.token)
        return found

    def owner(self) -> "Owner | None":
        """Whoever knows the secret of this machine; None where there is none."""
        self._current()
        if self._secret is None:
            return None
        known = replace(self._access.owner, via=Via.SECRET)
        caller = Caller("owner", ALL, known, secret=digest_of(self._secret))
        return Owner(self._secret, caller)

    def _of_token(self, token: Token) -> Caller:
        known = named(token.acts_for, Via.TOKEN) or Principal(
            token.principal, PrincipalKind.TOKEN, Via.TOKEN
        )
        scopes = token.scopes if token.is_for(self._access.repository) else frozenset()
        return Caller(token.name, scopes, known, token)

    def holds(self, caller: Caller | None) -> bool:
        """Whether what a caller showed is still good."""
        if caller is not None and caller.secret:
            owner = self.owner()
            return owner is not None and owner.caller.secret == caller.secret
        if caller is None or caller.token is None:
            return True
        token = self._current().get(caller.token.digest)
        return token == caller.token and token.is_good(self._clock())

    def _current(self) -> Mapping[bytes, Token]:
        """The tokens as their file has them now, or had them a quarter of a second ago."""
        with self._lock:
            if time.monotonic() - self._looked >= LOOK_EVERY:
                standing = self._standing()
                if standing != self._seen:
                    self._reload()
                    self._seen = standing
                self._looked = time.monotonic()
            return self._tokens

    def _reload(self) -> None:
        found, problems = read_tokens(self._access.tokens, self._access.environment)
        for problem in problems:  # what cannot be understood lets nobody in
            log.error("a token is not known", extra={"facts": {"problem": problem}})
        self._tokens = {each.digest: each for each in found}
        self._secret = self._read_secret()
        self.guarded = self.guarded or bool(found)
        log.info("tokens were read again", extra={"facts": {"tokens": len(found)}})

    def _read_secret(self) -> str | None:
        if self._access.secret_in is None:
            return None
        try:
            return read_secret(self._access.secret_in)
        except ConfigError as problem:
            log.error("the secret is not known", extra={"facts": {"problem": str(problem)}})
            return None

    def _standing(self) -> tuple[tuple[int, ...], ...]:
        places = self._access.secret_in
        return (_stamp(self._access.tokens), _stamp(places.secret) if places else ())

    def _note(self, token: Token) -> None:
        """Note that a token was used, now and then on disk."""
        with self._lock:
            self._uses[token.name] = to_seconds(self._clock())
            if time.monotonic() - self._noted < NOTE_EVERY:
                return
            self._noted = time.monotonic()
        self.note_uses()

    def note_uses(self) -> None:
        """Write down when tokens were used."""
        with self._lock:
            uses, self._uses = self._uses, {}
        if not uses:
            return
        try:
            note_uses(self._access.tokens, uses)
        except OSError as problem:
            log.warning("uses of tokens are not noted", extra={"facts": {"error": str(problem)}})

    @contextmanager
    def unauthenticated(self, address: str) -> Iterator[None]:
        """Be a connection that has not yet said whose it is.

        Raises:
            Refusal: There are too many.
        """
        of_one = self._unauthenticated[address]
        if (
            of_one >= MOST_UNAUTHENTICATED_OF_ONE
            or self._unauthenticated.total() >= MOST_UNAUTHENTICATED
        ):
            raise HttpRefusal(
                503, "nameless", f"{of_one} sockets of {address} have not said whose."
            )
        self._unauthenticated[address] += 1
        try:
            yield
        finally:
            self._unauthenticated[address] -= 1
            if not self._unauthenticated[address]:
                del self._unauthenticated[address]


def _stamp(path: Path) -> tuple[int, ...]:
    """What tells a file from what it is after any change."""
    try:
        file = path.stat()
    except OSError:
        return ()
    return (file.st_ino, file.st_size, file.st_mtime_ns, file.st_mode, file.st_uid)


def address_of(scope: Scope) -> str:
    """Where a request comes from; of an IPv6 address the network, which one machine may fill."""
    client = scope.get("client")
    host = str(client[0]) if client else ""
    try:
        found = ip_address(host)
    except ValueError:
        return host
    if not isinstance(found, IPv6Address):
        return host
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return f"{IPv6Address(int(found) >> 64 << 64)}/64"
