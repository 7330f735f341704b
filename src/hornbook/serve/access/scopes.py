"""What a caller may do, by name."""

from enum import StrEnum


class AccessScope(StrEnum):
    """One thing that a caller may do; each stands for itself, `admin` for all."""

    READ = "read"
    INGEST = "ingest"
    PLAN = "plan"
    EXECUTE = "execute"
    ANSWER = "answer"
    ADMIN = "admin"


ALL = frozenset(AccessScope)
READ_ONLY = frozenset({AccessScope.READ})
WRITE = "write"
"""What the lines of a token file said before there were scopes."""
WRITING = ALL - {AccessScope.ANSWER, AccessScope.ADMIN}


def scopes_in(text: str) -> frozenset[AccessScope]:
    """The scopes that a text such as `read,plan` names; `write` is all but answering.

    Raises:
        ValueError: It names something else, or nothing.
    """
    found: set[AccessScope] = set()
    for name in filter(None, text.split(",")):
        if name == WRITE:
            found |= WRITING
        else:
            found.add(AccessScope(name))
    if not found:
        raise ValueError("no scope is named")
    return ALL if AccessScope.ADMIN in found else frozenset(found)


def shown(scopes: frozenset[AccessScope]) -> list[str]:
    """Scopes by name, in the order in which they are declared."""
    return [str(each) for each in AccessScope if each in scopes]
