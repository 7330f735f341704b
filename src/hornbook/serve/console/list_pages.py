"""A long list a page at a time: what is shown of it, how much there is, and the way on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import urlencode

Shown = TypeVar("Shown")
Other = TypeVar("Other")


@dataclass(frozen=True, slots=True)
class ShownPart(Generic[Shown]):
    """Some of a list; `total` counts all of it, and the addresses lead to the parts beside it."""

    shown: Sequence[Shown]
    total: int
    number: int
    parts: int
    start: int
    """The place of its first item in the whole list, from 0."""
    previous: str | None
    next: str | None
    name: str
    """The parameter of the address that says which part it is."""

    def showing(self, shown: "Sequence[Other]") -> "ShownPart[Other]":
        """The same part with what was made of its items."""
        facts = (self.total, self.number, self.parts, self.start, self.previous, self.next)
        return ShownPart(shown, *facts, self.name)


def part_of(
    items: Sequence[Shown], query: Mapping[str, str], size: int, name: str = "page"
) -> ShownPart[Shown]:
    """The part of a list that a page's address asks for: the first, where it asks for none."""
    parts = max(1, -(-len(items) // size))
    number = min(max(1, number_in(query, name, 1)), parts)
    start = (number - 1) * size
    return ShownPart(
        shown=items[start : start + size],
        total=len(items),
        number=number,
        parts=parts,
        start=start,
        previous=address_with(query, name, number - 1) if number > 1 else None,
        next=address_with(query, name, number + 1) if number < parts else None,
        name=name,
    )


def number_in(query: Mapping[str, str], name: str, otherwise: int) -> int:
    """A number that an address gives; what is none counts as not given."""
    given = query.get(name, "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else otherwise


def address_with(query: Mapping[str, str], name: str, value: object) -> str:
    """The same page with one parameter of its address another."""
    kept = {key: given for key, given in query.items() if key not in {name, "said"}}
    return f"?{urlencode({**kept, name: str(value)})}#{name}"
