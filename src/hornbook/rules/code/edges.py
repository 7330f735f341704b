"""Import edges among the files of a repository: only those that surely lead to a known file."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from posixpath import normpath

Follower = Callable[[str, str], Iterable[str]]
"""From a file's path and one of its references to the paths that the reference means."""


# Paths of a repository as text; the root is the empty path.


def folder_of(path: str) -> str:
    """The folder that a file or folder lies in."""
    return path.rpartition("/")[0]


def joined(*parts: str) -> str:
    """The parts as one path, those that are empty left out."""
    return "/".join(part for part in parts if part)


def relative(folder: str, reference: str) -> str | None:
    """The path that `reference` means in `folder`; none if it leads out of the repository."""
    path = normpath(joined(folder, reference))
    if path == "." or not path:
        return ""
    return None if path == ".." or path.startswith(("../", "/")) else path


def ancestors(path: str) -> list[str]:
    """The folders that a path lies in, the innermost first and the root last."""
    found = []
    while path:
        path = folder_of(path)
        found.append(path)
    return found


# Python: modules under the folders that packages start in.
#
# A dotted reference ends in a module, a package or a name in one of them, so the longest part of it
# that is a file is meant. Packages start where a folder with `__init__.py` lies in one without, in
# the root and in `src`; a file's own start is asked first, others only if they all agree.

_PYTHON_ENDINGS = (".py", "/__init__.py", ".pyi", "/__init__.pyi")


class Packages:
    """Which folders are packages, and where the top-level names of the repository are found."""

    def __init__(self, known: frozenset[str]) -> None:
        self.known = known
        modules = [path for path in known if path.endswith((".py", ".pyi"))]
        self._packages = {
            folder_of(path) for path in modules if path.endswith(("/__init__.py", "/__init__.pyi"))
        }
        starts = {"", "src", *map(self.start_of, self._packages)}
        self._starts_by_name: dict[str, set[str]] = {}
        for path in modules:
            for start in starts.intersection(ancestors(path)):
                name = path.removeprefix(f"{start}/" if start else "").partition("/")[0]
                names = self._starts_by_name.setdefault(name.partition(".")[0], set())
                names.add(start)

    def start_of(self, folder: str) -> str:
        """The folder from which what is in `folder` is imported."""
        while folder in self._packages:
            folder = folder_of(folder)
        return folder

    def starts_with(self, name: str) -> Iterable[str]:
        """The folders that have a package or module of this top-level name."""
        return self._starts_by_name.get(name, ())


def python_follower(known: frozenset[str]) -> Follower:
    """What follows Python references among the known paths."""
    return partial(_python_follow, Packages(known))


def _python_follow(packages: Packages, path: str, reference: str) -> Iterator[str]:
    names = reference.lstrip(".")
    level = len(reference) - len(names)
    parts = [part for part in names.split(".") if part != "*"]
    if level:
        yield from _python_relative(packages.known, folder_of(path), level, parts)
    elif parts:
        yield from _python_absolute(packages, path, parts)


def _python_relative(
    known: frozenset[str], folder: str, level: int, parts: list[str]
) -> Iterator[str]:
    for _ in range(level - 1):
        if not folder:
            return
        folder = folder_of(folder)
    found = _python_longest(known, folder, parts)
    if found is None and joined(folder, "__init__.py") in known:
        found = joined(folder, "__init__.py")
    if found is not None:
        yield found


def _python_absolute(packages: Packages, path: str, parts: list[str]) -> Iterator[str]:
    own = _python_longest(packages.known, packages.start_of(folder_of(path)), parts)
    starts = packages.starts_with(parts[0])
    candidates = (
        {own} if own else {_python_longest(packages.known, start, parts) for start in starts}
    )
    candidates.discard(None)
    if len(candidates) == 1:
        yield from (found for found in candidates if found)


def _python_longest(known: frozenset[str], folder: str, parts: list[str]) -> str | None:
    for length in range(len(parts), 0, -1):
        stem = joined(folder, *parts[:length])
        for ending in _PYTHON_ENDINGS:
            if stem + ending in known:
                return stem + ending
    return None


# Go: a package is a folder below its module, and importing it compiles every file of it.

_GO_MODULE = re.compile(r"^[ \t]*module[ \t]+\"?([^\s\"/][^\s\"]*)", re.MULTILINE)


def go_follower(known: frozenset[str], go_modules: Mapping[str, str]) -> Follower:
    """What follows import paths of the given modules among the known paths."""
    packages: dict[str, list[str]] = {}
    for path in known:
        if path.endswith(".go") and not path.endswith("_test.go"):
            packages.setdefault(folder_of(path), []).append(path)
    named = [
        (found[1], folder_of(path))
        for path, text in go_modules.items()
        if (found := _GO_MODULE.search(text))
    ]
    return partial(_go_follow, packages, sorted(named, key=lambda each: (-len(each[0]), each)))


def _go_follow(
    packages: Mapping[str, list[str]], modules: list[tuple[str, str]], _path: str, reference: str
) -> Iterable[str]:
    for name, folder in modules:
        if reference == name or reference.startswith(f"{name}/"):
            return packages.get(joined(folder, reference[len(name) + 1 :]), ())
    return ()


# JavaScript and TypeScript: relative specifiers; aliases and packages are not followed.

_ECMASCRIPT_TYPED = (".ts", ".tsx", ".mts", ".cts", ".d.ts")
_ECMASCRIPT_UNTYPED = (".js", ".jsx", ".mjs", ".cjs")
_ECMASCRIPT_WRITTEN_FOR = {
    ".js": (".ts", ".tsx"),
    ".jsx": (".tsx",),
    ".mjs": (".mts",),
    ".cjs": (".cts",),
}
"""TypeScript names the output: `./a.js` in its sources is `a.ts`."""


def ecmascript_follower(known: frozenset[str]) -> Follower:
    """What follows relative specifiers among the known paths."""
    return partial(_ecmascript_follow, known)


def _ecmascript_follow(known: frozenset[str], path: str, reference: str) -> Iterator[str]:
    if reference.partition("/")[0] not in {".", ".."}:
        return
    target = relative(folder_of(path), reference)
    if target is None:
        return
    typed = path.endswith(_ECMASCRIPT_TYPED)
    endings = (
        (*_ECMASCRIPT_TYPED, *_ECMASCRIPT_UNTYPED, ".json")
        if typed
        else (*_ECMASCRIPT_UNTYPED, *_ECMASCRIPT_TYPED, ".json")
    )
    found = next((each for each in _ecmascript_candidates(target, endings) if each in known), None)
    if found is not None:
        yield found


def _ecmascript_candidates(target: str, endings: tuple[str, ...]) -> Iterator[str]:
    if target:
        yield target
        yield from (target + ending for ending in endings)
        for written, sources in _ECMASCRIPT_WRITTEN_FOR.items():
            if target.endswith(written):
                yield from (target.removesuffix(written) + source for source in sources)
    yield from (joined(target, "index" + ending) for ending in endings)


# Java: a class is the one known file whose path ends in its qualified name.
#
# `a.b.*` leads to no file surely. Of `a.b.C.D` and `static a.b.C.method` it is the class `a.b.C`.


def java_follower(known: frozenset[str]) -> Follower:
    """What follows qualified names among the known paths."""
    by_name: dict[str, list[str]] = {}
    for path in known:
        if path.endswith(".java"):
            by_name.setdefault(path.rpartition("/")[2], []).append(path)
    return partial(_java_follow, by_name)


def _java_follow(by_name: dict[str, list[str]], _path: str, reference: str) -> Iterator[str]:
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


# Rust: modules of the same crate, from `crate`, `self` and `super`; other crates are not followed.
#
# A path ends in a module or a name in one of them, so the longest part of it that is a file is
# meant; the file of the module where it starts does not count, as every path goes through it.

_RUST_ROOTS = ("lib.rs", "main.rs")
_RUST_TARGETS = {"bin", "tests", "examples", "benches"}
"""Folders each of whose files may be a crate of its own, with its modules beside it."""


def rust_follower(known: frozenset[str]) -> Follower:
    """What follows module paths among the known paths."""
    return partial(_rust_follow, known)


def _rust_follow(known: frozenset[str], path: str, reference: str) -> Iterator[str]:
    first, *parts = reference.split("::")
    if first == "crate":
        starts = _rust_crate(known, path)
    elif first in {"self", "super"}:
        starts = _rust_starts(path, [first, *parts].count("super"))
        parts = [part for part in parts if part != "super"]
    else:
        return
    found = (_rust_longest(known, start, parts) for start in starts)
    yield from islice(filter(None, found), 1)


def _rust_crate(known: frozenset[str], path: str) -> Iterable[str]:
    """The folder of the nearest crate root at or above a file."""
    folders = (
        folder
        for folder in ancestors(path)
        if any(joined(folder, root) in known for root in _RUST_ROOTS)
    )
    return islice(folders, 1)


def _rust_starts(path: str, ups: int) -> Iterator[str]:
    """The folders that the modules inside a file's module, or `ups` above it, may be in."""
    folder, _, name = path.rpartition("/")
    inside = (
        folder if name in {*_RUST_ROOTS, "mod.rs"} else joined(folder, name.removesuffix(".rs"))
    )
    if ups <= inside.count("/") + bool(inside):
        yield [inside, *ancestors(inside)][ups]
    if not ups and folder.rpartition("/")[2] in _RUST_TARGETS:
        yield folder


def _rust_longest(known: frozenset[str], folder: str, parts: list[str]) -> str | None:
    for length in range(len(parts), 0, -1):
        stem = joined(folder, *parts[:length])
        for candidate in (f"{stem}.rs", f"{stem}/mod.rs"):
            if candidate in known:
                return candidate
    return None


class Imports:
    """What references lead to among known paths.

    What a language has to know of all paths is worked out when its first reference is followed,
    and once: there are many references, and many paths.
    """

    def __init__(
        self, known_paths: Iterable[str], go_modules: Mapping[str, str] | None = None
    ) -> None:
        self._known_paths = known_paths
        self._go_modules = go_modules or {}
        self._followers: dict[str, Follower] = {}

    def targets(self, language: str, path: str, reference: str) -> tuple[str, ...]:
        """The known files other than itself that a file means by a reference, sorted."""
        if language not in _FOLLOWERS:
            return ()
        follow = self._followers.get(language)
        if follow is None:
            known = frozenset(self._known_paths)
            follow = self._followers[language] = _FOLLOWERS[language](known, self._go_modules)
        return tuple(sorted(set(follow(path, reference)) - {path}))


_FOLLOWERS: dict[str, Callable[[frozenset[str], Mapping[str, str]], Follower]] = {
    "python": lambda known, _: python_follower(known),
    "go": go_follower,
    "javascript": lambda known, _: ecmascript_follower(known),
    "typescript": lambda known, _: ecmascript_follower(known),
    "tsx": lambda known, _: ecmascript_follower(known),
    "java": lambda known, _: java_follower(known),
    "rust": lambda known, _: rust_follower(known),
}
