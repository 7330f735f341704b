"""Go: a package is a folder below its module, and importing it compiles every file of it."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from hornbook.rules.code.followers.paths import folder_of, joined

_MODULE = re.compile(r"^[ \t]*module[ \t]+\"?([^\s\"/][^\s\"]*)", re.MULTILINE)


def follower(
    known: frozenset[str], go_modules: Mapping[str, str]
) -> Callable[[str, str], Iterable[str]]:
    """What follows import paths of the given modules among the known paths."""
    packages: dict[str, list[str]] = {}
    for path in known:
        if path.endswith(".go") and not path.endswith("_test.go"):
            packages.setdefault(folder_of(path), []).append(path)
    named = [
        (found[1], folder_of(path))
        for path, text in go_modules.items()
        if (found := _MODULE.search(text))
    ]
    return partial(_follow, packages, sorted(named, key=lambda each: (-len(each[0]), each)))


def _follow(
    packages: Mapping[str, list[str]], modules: list[tuple[str, str]], _path: str, reference: str
) -> Iterable[str]:
    for name, folder in modules:
        if reference == name or reference.startswith(f"{name}/"):
            return packages.get(joined(folder, reference[len(name) + 1 :]), ())
    return ()
