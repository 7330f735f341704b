"""Lists in Relay's form: read a page at a time, from the front or from the end.

A cursor is the key of the item before it or behind it, not a number: what is added or removed in
the meantime moves nothing.
"""

import base64
import binascii
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import strawberry

from hornbook.serve.graphql.context import refuse

PAGE = 100
LARGEST_PAGE = 1000
_MARK = "id:"


@strawberry.type(description="Where a page begins and ends, and whether more lies beyond.")
class PageInfo:
    """Relay's page information."""

    has_next_page: bool
    has_previous_page: bool
    start_cursor: str | None
    end_cursor: str | None


def cursor(key: str) -> str:
    """The opaque cursor of an item with a key."""
    return base64.urlsafe_b64encode(f"{_MARK}{key}".encode()).decode("ascii")


def key_of(text: str, argument: str) -> str:
    """The key that a cursor stands for.

    Raises:
        GraphQLError: It is none.
    """
    try:
        decoded = base64.b64decode(text.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        decoded = ""
    if decoded.startswith(_MARK):
        return decoded.removeprefix(_MARK)
    raise refuse(argument, f"{text[:40]!r} is no cursor", "pass a cursor of this list as it came")


@dataclass(frozen=True, slots=True)
class ListEdge:
    """An item of a list and its cursor."""

    cursor: str
    node: Any  # whatever the list is of


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of a list, as a connection is answered."""

    nodes: tuple[Any, ...]  # whatever the list is of
    keys: tuple[str, ...]
    total_count: int
    before: bool
    behind: bool

    @property
    def edges(self) -> list[ListEdge]:
        """The items with their cursors."""
        return [ListEdge(cursor(k), n) for k, n in zip(self.keys, self.nodes, strict=True)]

    @property
    def page_info(self) -> PageInfo:
        """Where it begins and ends."""
        return PageInfo(
            has_next_page=self.behind,
            has_previous_page=self.before,
            start_cursor=cursor(self.keys[0]) if self.keys else None,
            end_cursor=cursor(self.keys[-1]) if self.keys else None,
        )


@dataclass(frozen=True, slots=True)
class PageAsked:
    """Which page is asked for: behind `after` and before `before`, of that the first or last."""

    first: int | None = None
    after: str | None = None
    last: int | None = None
    before: str | None = None

    def of(
        self,
        items: Sequence[Any],  # whatever the list is of
        key: Callable[[Any], str],
        *,
        newest_first: bool = False,
        made: Callable[[Sequence[Any]], Sequence[Any]] = lambda some: some,
    ) -> ListPage:
        """The page of a list whose items are in the order of their keys, each once.

        With `newest_first` the keys fall. `made` makes what is shown of the items of a page.

        Raises:
            GraphQLError: An argument is wrong.
        """
        for name, number in (("first", self.first), ("last", self.last)):
            if number is not None and not 1 <= number <= LARGEST_PAGE:
                raise refuse(name, f"{name} is {number}", f"ask for 1 to {LARGEST_PAGE}")
        start, end = self._range(items, key, newest_first=newest_first)
        if self.first is not None or self.last is None:
            end = min(end, start + (self.first or PAGE))
        if self.last is not None:
            start = max(start, end - self.last)
        shown = items[start:end]
        return ListPage(
            nodes=tuple(made(shown)),
            keys=tuple(map(key, shown)),
            total_count=len(items),
            before=start > 0,
            behind=end < len(items),
        )

    def _range(
        self, items: Sequence[Any], key: Callable[[Any], str], *, newest_first: bool
    ) -> tuple[int, int]:
        """Where the items between both cursors begin and end."""
        start, end = 0, len(items)
        if newest_first:
            rising = items[::-1]
            if self.after is not None:
                start = len(items) - bisect_left(rising, key_of(self.after, "after"), key=key)
            if self.before is not None:
                end = len(items) - bisect_right(rising, key_of(self.before, "before"), key=key)
        else:
            if self.after is not None:
                start = bisect_right(items, key_of(self.after, "after"), key=key)
            if self.before is not None:
                end = bisect_left(items, key_of(self.before, "before"), key=key)
        return start, max(start, end)


def connection(name: str, node: object) -> Any:  # a type that is made while running
    """The connection type of a node type, and behind it that of its edges."""
    edge = type(f"{name}Edge", (), {"__annotations__": {"cursor": str, "node": node}})
    edges = strawberry.type(edge, name=f"{name}Edge", description=f"A {name} with its cursor.")
    annotations = {
        "edges": list[edges],  # type: ignore[valid-type]  # made while running
        "nodes": list[node],  # type: ignore[valid-type]  # the same
        "page_info": PageInfo,
        "total_count": int,
    }
    made = type(f"{name}Connection", (), {"__annotations__": annotations})
    told = f"A page of a list of {name}, in Relay's form."
    return strawberry.type(made, name=f"{name}Connection", description=told)
