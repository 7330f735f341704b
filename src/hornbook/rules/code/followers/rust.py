"""Rust: modules of the same crate, from `crate`, `self` and `super`; other crates are not followed.

A path ends in a module or a name in one of them, so the longest part of it that is a file is
meant; the file of the module where it starts does not count, as every path goes through it.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice

from hornbook.rules.code.followers.paths import ancestors, joined

_ROOTS = ("lib.rs", "main.rs")
_TARGETS = {"bin", "tests", "examples", "benches"}
"""Folders each of whose files may be a crate of its own, with its modules beside it."""


def follower(known: frozenset[str]) -> Callable[[str, str], Iterable[str]]:
    """What follows module paths among the known paths."""
    return partial(_follow, known)


def _follow(known: frozenset[str], path: str, reference: str) -> Iterator[str]:
    first, *parts = reference.split("::")
    if first == "crate":
        starts = _crate(known, path)
    elif first in {"self", "super"}:
        starts = _starts(path, [first, *parts].count("super"))
        parts = [part for part in parts if part != "super"]
    else:
        return
    found = (_longest(known, start, parts) for start in starts)
    yield from islice(filter(None, found), 1)


def _crate(known: frozenset[str], path: str) -> Iterable[str]:
    """The folder of the nearest crate root at or above a file."""
    folders = (
        folder
        for folder in ancestors(path)
        if any(joined(folder, root) in known for root in _ROOTS)
    )
    return islice(folders, 1)


def _starts(path: str, ups: int) -> Iterator[str]:
    """The folders that the modules inside a file's module, or `ups` above it, may be in."""
    folder, _, name = path.rpartition("/")
    inside = folder if name in {*_ROOTS, "mod.rs"} else joined(folder, name.removesuffix(".rs"))
    if ups <= inside.count("/") + bool(inside):
        yield [inside, *ancestors(inside)][ups]
    if not ups and folder.rpartition("/")[2] in _TARGETS:
        yield folder


def _longest(known: frozenset[str], folder: str, parts: list[str]) -> str | None:
    for length in range(len(parts), 0, -1):
        stem = joined(folder, *parts[:length])
        for candidate in (f"{stem}.rs", f"{stem}/mod.rs"):
            if candidate in known:
                return candidate
    return None
