"""Passes and splits: the fewest groups of whole items that each fit into a room.

A rule set that overflows its room is reviewed in passes, and a change that is too large is split by
files. Both ask the same: put every item into a group, none cut, so that each group fits and there
are as few groups as can be. That is bin packing, which has no fast exact answer. A first-fit pass
gives an answer that is never far off: an item goes to the first group that still has room. For few
items all smaller numbers of groups are then tried: the first item is put together with every choice
of the others that fits, the largest choices first, and what is left is grouped in the same way. The
order of the items decides between equal answers, so that the same items give the same groups.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

EXACT = 9
"""With more items than this the search for a smaller number would take too long."""


def fewest_groups(
    items: Sequence[T], fits: Callable[[Sequence[T]], bool]
) -> tuple[tuple[T, ...], ...] | None:
    """Groups of items that each fit; None when one item does not fit alone.

    `fits` must hold for every part of a group that fits. Up to `EXACT` items no smaller number
    of groups is possible.
    """
    if not items:
        return ()
    if not all(fits([item]) for item in items):
        return None
    greedy = _greedy(items, fits)
    if len(items) > EXACT:
        return greedy
    return _exact(items, fits, len(greedy)) or greedy


def _greedy(items: Sequence[T], fits: Callable[[Sequence[T]], bool]) -> tuple[tuple[T, ...], ...]:
    groups: list[list[T]] = []
    for item in items:
        home = next((group for group in groups if fits([*group, item])), None)
        if home is None:
            groups.append([item])
        else:
            home.append(item)
    return tuple(map(tuple, groups))


def _exact(
    items: Sequence[T], fits: Callable[[Sequence[T]], bool], most: int
) -> tuple[tuple[T, ...], ...] | None:
    """A grouping into fewer than `most` groups, if there is one; the fewest there is."""
    known: dict[frozenset[T], bool] = {}

    def fitting(group: Iterable[T]) -> bool:
        key = frozenset(group)
        if key not in known:
            known[key] = fits([item for item in items if item in key])
        return known[key]

    for number in range(1, most):
        found = _into(tuple(items), number, fitting)
        if found is not None:
            return found
    return None


def _into(
    items: tuple[T, ...], number: int, fitting: Callable[[Iterable[T]], bool]
) -> tuple[tuple[T, ...], ...] | None:
    if not items:
        return ()
    if number == 0:
        return None
    first, others = items[0], items[1:]
    for chosen in _subsets(others):
        if fitting((first, *chosen)):
            rest = _into(tuple(o for o in others if o not in chosen), number - 1, fitting)
            if rest is not None:
                return ((first, *chosen), *rest)
    return None


def _subsets(items: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    """Every choice among the items, the largest first."""
    for size in range(len(items), -1, -1):
        yield from combinations(items, size)
