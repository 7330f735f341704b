"""Who did it: the principal of an event, how it was known, and whether that is a person.

At the command line a person is whoever runs as the owner of `.hornbook/`, outside of confinement,
without a role, under the e-mail address that git has for them. An agent that runs unconfined under
the same account cannot be told from its owner.
"""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from hornbook.errors import NotAPerson

MARKS = ("HORNBOOK_CONFINED", "HORNBOOK_GATE_RUN")
"""What the environment of a confined agent or of a gate has; `process` sets them."""


class PrincipalKind(StrEnum):
    """What somebody is; only a human decides over the work of others."""

    HUMAN = "human"
    CI = "ci"
    AGENT = "agent"
    TOKEN = "token"  # noqa: S105  # a kind, no secret
    LOCAL = "local"
    ENGINE = "engine"


class Via(StrEnum):
    """How it is known who somebody is."""

    LOCAL = "local"
    SECRET = "secret"  # noqa: S105  # a way, no secret
    SESSION = "session"
    TOKEN = "token"  # noqa: S105  # a way, no secret
    OIDC = "oidc"
    FORGE = "forge"
    ENGINE = "engine"
    CLI = "cli"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody who did something; `request` names the request that it came with, if one did."""

    id: str
    kind: PrincipalKind
    via: Via
    request: str | None = None

    @property
    def is_human(self) -> bool:
        """Whether it is a person."""
        return self.kind is PrincipalKind.HUMAN

    def facts(self) -> dict[str, object]:
        """The principal as an event carries it."""
        return {
            "id": self.id,
            "kind": str(self.kind),
            "via": str(self.via),
            "request": self.request,
        }


LOOP = Principal("engine:loop", PrincipalKind.ENGINE, Via.ENGINE)
"""The loop itself, where it notes what it did."""


def unknown(actor: str) -> Principal:
    """Who did what an event of the first schema tells, of which nobody noted how it was known."""
    return Principal(actor, PrincipalKind.LOCAL, Via.UNKNOWN)


def named(name: str, via: Via, request: str | None = None) -> Principal | None:
    """The principal of an id such as `human:ann`; None if it has no kind that somebody can have."""
    kind, _, rest = name.partition(":")
    if kind not in {PrincipalKind.HUMAN, PrincipalKind.CI, PrincipalKind.AGENT} or not rest:
        return None
    return Principal(name, PrincipalKind(kind), via, request)


def agent(name: str) -> Principal:
    """An agent that the loop called."""
    return Principal(f"agent:{name}", PrincipalKind.AGENT, Via.ENGINE)


def read_principal(facts: object) -> Principal:
    """The principal that an event carries.

    Raises:
        ValueError: It is none; the message says why.
    """
    if not isinstance(facts, dict) or set(facts) != {"id", "kind", "via", "request"}:
        raise ValueError("`principal` must have exactly the keys id, kind, via, request")
    name, request = facts["id"], facts["request"]
    texts = isinstance(name, str) and isinstance(request, str | None)
    if not texts:
        raise ValueError(f"`principal` is {facts!r}, whose id or request is no text")
    try:
        return Principal(name, PrincipalKind(facts["kind"]), Via(facts["via"]), request)
    except ValueError as problem:
        raise ValueError(f"`principal` is {facts!r}: {problem}") from problem


def at_command_line(state: Path, environment: Mapping[str, str] = os.environ) -> Principal:
    """Who acts in this process; `state` is the `.hornbook` folder that is acted upon."""
    address = "" if _no_person(state, environment) else _address(state)
    if address:
        return Principal(f"human:{address}", PrincipalKind.HUMAN, Via.CLI)
    return Principal(f"local:{os.getuid()}", PrincipalKind.LOCAL, Via.LOCAL)


def why_no_human(state: Path, environment: Mapping[str, str] = os.environ) -> str | None:
    """Why whoever acts in this process does not count as a person; None if they do."""
    why = _no_person(state, environment)
    if why is None and not _address(state):
        return "git does not know your address: run `git config user.email YOU@EXAMPLE.ORG`"
    return why


def _no_person(state: Path, environment: Mapping[str, str]) -> str | None:
    role = environment.get("HORNBOOK_ROLE")
    if role:
        return f"HORNBOOK_ROLE is {role!r}, and a role is no person: unset it"
    if any(environment.get(mark) for mark in MARKS):
        return "this is inside the confinement of an agent or a gate: do it in a shell of your own"
    place = state if state.exists() else state.parent
    if place.stat().st_uid != os.getuid():
        return f"{place.name}/ belongs to another account: do it as its owner"
    if not os.access(place, os.W_OK):
        return f"{place.name}/ cannot be written from here: do it where it can"
    return None


def require_human(
    principal: Principal, what: str, state: Path, via: Collection[str] = tuple(Via)
) -> None:
    """Go on only if a person acts, who is known in one of the ways `via`.

    Raises:
        NotAPerson: It is none; the message says why, as far as this process can know.
    """
    if principal.is_human and principal.via in via:
        return
    if principal.is_human:
        raise NotAPerson(
            f"{principal.id} may not {what} here: they are known by {principal.via}, and "
            f"`answer.via` takes {', '.join(via)}."
        )
    why = why_no_human(state)
    if principal.request is not None:  # it came over HTTP: who runs the server does not matter
        why = "use a token that was made for one (`hornbook token new NAME --for human:NAME`)"
    told = f": {why}" if why else ""
    raise NotAPerson(f"only a person may {what}, and {principal.id} is none{told}.")


def _address(state: Path) -> str:
    """The address that git has for whoever works here; empty if it has none."""
    from hornbook.commits import git  # noqa: PLC0415  # start-up: listing plans starts no program

    root = state.parent

    def asked() -> str:
        said = git.run(root, "config", "--get", "user.email").stdout
        return said.decode("utf-8", "replace").strip()

    return git.once(root, "user.email", asked)
