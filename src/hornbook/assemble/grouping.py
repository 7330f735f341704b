"""Groups files, or rules, so that each group fits: the fewest groups where that can be proved."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import combinations
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

# With more items than this the fewest groups are sought greedily: the exact search is exponential.
EXACT = 9


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
    for size in range(len(others), -1, -1):
        for chosen in combinations(others, size):
            if fitting((first, *chosen)):
                rest = _into(tuple(o for o in others if o not in chosen), number - 1, fitting)
                if rest is not None:
                    return ((first, *chosen), *rest)
    return None
