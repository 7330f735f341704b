"""What every resolver gets, how it refuses, and when it gives up.

Nothing in Python stops a thread. So whoever waits for an answer says when it has given up, and the
thread that makes the answer asks before each piece of work whether somebody still waits.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphql import GraphQLError
from strawberry.types import Info

from hornbook.errors import TooSlow, UsageError
from hornbook.graph.snapshot import Snapshot
from hornbook.plans.principal import Principal
from hornbook.serve.graph_updates import GraphUpdates
from hornbook.serve.graphql.documents import coded
from hornbook.serve.graphql.request_data import RequestData
from hornbook.serve.paths import inside
from hornbook.serve.work_tree_files import WorkTreeFiles
from hornbook.workspace import Workspace

# A field of an answer takes some 300 bytes until it is sent.
MOST_FIELDS = 1_000_000


class Deadline:
    """Lasts until it is ended, by another thread than the one that works, or until a moment.

    `until` is a moment of the monotonic clock, which is that of event loops too.
    """

    __slots__ = ("_ended", "_has_left", "_left", "_until")

    def __init__(
        self,
        most_fields: int = MOST_FIELDS,
        until: float | None = None,
        has_left: Callable[[], bool] | None = None,
    ) -> None:
        self._ended = False
        self._has_left = has_left
        self._left = most_fields
        self._until = until

    def end(self) -> None:
        """Say that nobody waits any longer: the deadline is over, or the client left."""
        self._ended = True

    def check(self) -> None:
        """Go on only if somebody waits.

        Raises:
            TooSlow: Nobody does.
        """
        if self._ended or (self._until is not None and time.monotonic() > self._until):
            raise TooSlow("nobody waits for this answer any longer: ask for less.")

    def check_client(self, *_progress: object) -> None:
        """The same between parts of long work: only here the client's connection is looked at.

        Raises:
            TooSlow: Nobody waits.
        """
        if self._has_left is not None and self._has_left():
            self.end()
        self.check()

    def next_field(self) -> None:
        """Go on with one more field of the answer.

        Raises:
            TooSlow: Nobody waits for it.
            UsageError: It has too many already.
        """
        self.check()
        self._left -= 1
        if self._left < 0:
            raise UsageError(f"the answer has more than {MOST_FIELDS} fields: ask for less.")


@dataclass(frozen=True, slots=True)
class ResolverContext:
    """One version of the graph for the whole request, and what the caller may do.

    The command line has no `updates`: it asks and ingests by itself.
    """

    workspace: Workspace
    snapshot: Snapshot
    updates: GraphUpdates | None = None
    deadline: Deadline = field(default_factory=Deadline)
    principal: Principal | None = None
    """Who asks over HTTP; at the command line it is whoever runs the process."""
    data: RequestData = field(init=False)
    """What the resolvers of this request share."""

    def __post_init__(self) -> None:
        root, updates = self.workspace.root, self.updates
        files = WorkTreeFiles(root) if updates is None else updates.leases.files
        book = None if updates is None else updates.follower.book
        data = RequestData(self.workspace, self.snapshot, files, book)
        object.__setattr__(self, "data", data)  # frozen, and made of the other fields


@dataclass(frozen=True, slots=True)
class SubscriptionContext:
    """What subscriptions get: no version is held while they wait."""

    updates: GraphUpdates


SCOPE = "scope"
"""Under this name the definition of a field says which scope it needs."""

Asking = Info[ResolverContext, None]


def described(
    field: Callable[..., Any], kind: object = None, *, scope: str | None = None
) -> Callable[[Callable[..., Any]], Any]:
    """Have a resolver be a field of the schema: clients are told its docstring.

    `field` is strawberry's query field, mutation or subscription; `kind` is the derived type of
    what it returns, where strawberry does not know the dataclass itself. A mutation says which
    `scope` it needs; one that says nothing needs `admin`.
    """

    def made(resolver: Callable[..., Any]) -> Any:  # strawberry's fields have no common type
        told = " ".join((resolver.__doc__ or "").split())
        known = {} if scope is None else {SCOPE: scope}
        return field(resolver=resolver, graphql_type=kind, description=told, metadata=known)

    return made


def refuse(field: str, found: str, remedy: str) -> GraphQLError:
    """A refusal of an argument: which, what was found, and what to write instead."""
    return coded(f"{found}: {remedy}", "BAD_USER_INPUT", field=field, remedy=remedy)


def files_inside(context: ResolverContext, files: Sequence[str], field: str = "files") -> list[str]:
    """The files of an argument, cleaned; those that lead out of the root are refused."""
    try:
        return inside(context.workspace.root, files)
    except UsageError as problem:
        found, _, remedy = str(problem).rpartition(": ")
        raise refuse(field, found, remedy) from problem
