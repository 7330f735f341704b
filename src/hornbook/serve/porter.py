"""Tells callers by their tokens, and lets no address try many, or wait nameless in numbers."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address

from starlette.types import Scope

from hornbook.serve.problems import Refusal
from hornbook.serve.tokens import Caller, Tokens
from hornbook.serve.turns import Rates

MOST_NAMELESS = 100
MOST_NAMELESS_OF_ONE = 20


class Porter:
    """Knows the tokens, and what each address did with wrong ones."""

    def __init__(self, tokens: Tokens, failures_per_minute: int) -> None:
        self.tokens = tokens
        self._failures = Rates(failures_per_minute, "address {name} has sent too many wrong tokens")
        self._nameless: Counter[str] = Counter()

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
    def nameless(self, address: str) -> Iterator[None]:
        """Be a connection that has not yet said whose it is.

        Raises:
            Refusal: There are too many.
        """
        of_one = self._nameless[address]
        if of_one >= MOST_NAMELESS_OF_ONE or self._nameless.total() >= MOST_NAMELESS:
            raise Refusal(503, "nameless", f"{of_one} sockets of {address} have not said whose.")
        self._nameless[address] += 1
        try:
            yield
        finally:
            self._nameless[address] -= 1
            if not self._nameless[address]:
                del self._nameless[address]


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
