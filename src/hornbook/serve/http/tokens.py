"""Bearer tokens with names and scopes, from a file or the environment; never from arguments."""

import hmac
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from ipaddress import IPv6Address, ip_address
from pathlib import Path

from starlette.types import Scope

from hornbook.errors import ConfigError
from hornbook.plans.principal import Principal, PrincipalKind, Via, named
from hornbook.serve.http.problems import HttpRefusal
from hornbook.serve.http.rate_limit import RateLimit

VARIABLE = "HORNBOOK_TOKENS"
SHORTEST = 16
DIGEST = "sha256:"
_HEX = re.compile(r"sha256:[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class Right(StrEnum):
    """What a caller may do; who may write may read."""

    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks."""

    name: str
    right: Right
    acts_for: str = ""
    """The principal that its token was made for, such as `human:ann`."""

    def principal(self, request: str) -> Principal:
        """Who acts, for the events that come of a request."""
        if self is LOCAL:
            return Principal(f"local:{os.getuid()}", PrincipalKind.LOCAL, Via.LOCAL, request)
        found = named(self.acts_for, Via.TOKEN, request)
        return found or Principal(f"token:{self.name}", PrincipalKind.TOKEN, Via.TOKEN, request)

    @property
    def may_write(self) -> bool:
        """Whether the caller may change something."""
        return self.right is Right.WRITE


LOCAL = Caller("local", Right.WRITE)
NOBODY = Caller("nobody", Right.READ)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The known tokens by their digests; the tokens themselves are not kept."""

    callers: Mapping[bytes, Caller] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.callers)

    def caller(self, authorization: str) -> Caller | None:
        """Whom an `Authorization` header names; as slow for a wrong token as for a right one."""
        kind, _, token = authorization.strip().partition(" ")
        digest = _digest(token.strip())
        found = None
        for known, caller in self.callers.items():
            if hmac.compare_digest(known, digest):
                found = caller
        return found if kind.lower() == "bearer" else None


def load_tokens(path: Path, environment: Mapping[str, str]) -> Tokens:
    """The tokens of a file, one `name scope token` a line, and of the environment.

    In the place of the token its digest may stand, as `sha256:HEX`, and behind it whom it was made
    for, as `for=human:NAME`: who uses it then acts as that person. In the environment
    they stand in one line, parted by commas, as `name:scope:token`.

    Raises:
        ConfigError: With every problem; no message holds a token.
    """
    problems: list[str] = []
    entries: list[tuple[str, list[str]]] = []
    if path.is_file():
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            problems.append(f"{path.name} can be read by others: run `chmod 600` on it.")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.strip() and not line.lstrip().startswith("#"):
                entries.append((f"{path.name}, line {number}", line.split()))
    given = environment.get(VARIABLE, "")
    for number, part in enumerate(filter(None, map(str.strip, given.split(","))), 1):
        entries.append((f"{VARIABLE}, entry {number}", part.split(":", 2)))
    callers = dict(_read(entries, problems))
    if problems:
        raise ConfigError(problems)
    return Tokens(callers)


def _read(
    entries: Iterable[tuple[str, list[str]]], problems: list[str]
) -> Iterable[tuple[bytes, Caller]]:
    names: set[str] = set()
    for where, parts in entries:
        if len(parts) not in {3, 4}:
            problems.append(
                f"{where}: found {len(parts)} parts: write name, scope, token, and for=… if it was "
                "made for somebody."
            )
            continue
        name, right, token = parts[:3]
        made_for = parts[3] if len(parts) == 4 else ""
        if not _NAME.fullmatch(name) or name in names:
            problems.append(f"{where}: the name is taken or no plain word: choose another.")
        elif right not in {each.value for each in Right}:
            problems.append(f"{where}: the scope is {right!r}: write read or write.")
        elif made_for and named(made_for.removeprefix("for="), Via.TOKEN) is None:
            problems.append(f"{where}: the last part is {made_for!r}: write for=human:NAME.")
        elif token.startswith(DIGEST) and _HEX.fullmatch(token) is None:
            problems.append(f"{where}: the digest has not the 64 digits of a sha256.")
        elif len(token) < SHORTEST:
            problems.append(
                f"{where}: the token has {len(token)} characters: use {SHORTEST} or more."
            )
        else:
            names.add(name)
            hashed = bytes.fromhex(token[7:]) if token.startswith(DIGEST) else _digest(token)
            yield hashed, Caller(name, Right(right), made_for.removeprefix("for="))


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()


MOST_UNAUTHENTICATED = 100
MOST_UNAUTHENTICATED_OF_ONE = 20


class CallerCheck:
    """Knows the tokens, and what each address did with wrong ones."""

    def __init__(self, tokens: Tokens, failures_per_minute: int) -> None:
        self.tokens = tokens
        self._failures = RateLimit(
            failures_per_minute, "address {name} has sent too many wrong tokens"
        )
        self._unauthenticated: Counter[str] = Counter()

    def caller(self, authorization: str, address: str) -> Caller | None:
        """Whom an `Authorization` header names; None if nobody.

        Raises:
            Refusal: The address has sent too many wrong ones: this one is not even looked at.
        """
        if not authorization:
            return None
        refusal = self._failures.empty(address)
        if refusal is not None:
            raise refusal
        found = self.tokens.caller(authorization)
        if found is None:
            self._failures.spend(address)
        return found

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
