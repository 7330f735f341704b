"""Java: a class is the one known file whose path ends in its qualified name.

`a.b.*` leads to no file surely. Of `a.b.C.D` and `static a.b.C.method` the class `a.b.C` is found.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial


def follower(known: frozenset[str]) -> Callable[[str, str], Iterable[str]]:
    """What follows qualified names among the known paths."""
    by_name: dict[str, list[str]] = {}
    for path in known:
        if path.endswith(".java"):
            by_name.setdefault(path.rpartition("/")[2], []).append(path)
    return partial(_follow, by_name)


def _follow(by_name: dict[str, list[str]], _path: str, reference: str) -> Iterator[str]:
    parts = reference.split(".")
    if parts[-1] == "*":
        parts.pop()
    for length in range(len(parts), 1, -1):
        suffix = "/".join(parts[:length]) + ".java"
        paths = by_name.get(f"{parts[length - 1]}.java", ())
        fitting = [path for path in paths if path == suffix or path.endswith(f"/{suffix}")]
        if fitting:
            if len(fitting) == 1:
                yield fitting[0]
            return
