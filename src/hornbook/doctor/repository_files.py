"""The files of a repository as names: what is there, what ends so, what would be ignored."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath

from hornbook.commits import git
from hornbook.rules.discover import FileKind, walk

_SUBMODULE = "160000"


class RepositoryFiles:
    """Every file that git follows or would follow; without git, every file that is walked by.

    Paths are relative to the root. What lies below a submodule is not known.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        listed = _listed(root)
        if listed is None:
            found = walk(root, "", lambda _path, _name: True)
            listed = frozenset(each.path for each in found if each.kind is not FileKind.SHUT), []
        self.files = listed[0]
        self.submodules = tuple(f"{path}/" for path in listed[1])

    @cached_property
    def folders(self) -> frozenset[str]:
        """Every folder that holds a file, however deep."""
        found: set[str] = set()
        for path in self.files:
            folder = path.rpartition("/")[0]
            while folder and folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(found)

    @cached_property
    def by_name(self) -> dict[str, list[str]]:
        """Files and folders by the last part of their paths."""
        return _grouped((path.rpartition("/")[2], path) for path in self._all)

    @cached_property
    def _by_stem(self) -> dict[str, list[str]]:
        """Files by name without any ending: `a.test.ts` is found as `a.test` and as `a`."""
        return _grouped((stem, path) for path in self.files for stem in _stems(path))

    @cached_property
    def _by_folded_name(self) -> dict[str, list[str]]:
        return _grouped((path.rpartition("/")[2].casefold(), path) for path in self._all)

    @cached_property
    def _all(self) -> tuple[str, ...]:
        return tuple(sorted(self.files | self.folders))

    def has(self, path: str) -> bool:
        """Whether there is a file or folder at this path, or it lies in a submodule."""
        inside = self.submodules and f"{path}/".startswith(self.submodules)
        there = path in self.files or path in self.folders or bool(inside)
        return there or self._is_behind_a_link(path)

    def _is_behind_a_link(self, path: str) -> bool:
        """Whether a link to a folder of the repository leads to the path.

        Git lists such a link as a file, and nothing below it.
        """
        if not any(above in self.files for above in map(str, PurePosixPath(path).parents)):
            return False
        place = self.root / path
        return place.exists() and place.resolve().is_relative_to(self.root.resolve())

    def ending_with(self, path: str) -> list[str]:
        """The files and folders whose path ends with these parts."""
        name = path.rpartition("/")[2]
        found = self.by_name.get(name, [])
        return [each for each in found if each == path or each.endswith(f"/{path}")]

    def without_ending(self, path: str) -> list[str]:
        """The files that are this path but for an ending, as imports are written."""
        name = path.rpartition("/")[2]
        above = path.rpartition("/")[0]
        found = self._by_stem.get(name, [])
        return [each for each in found if f"/{each.rpartition('/')[0]}".endswith(f"/{above}")]

    def in_other_case(self, path: str) -> str | None:
        """The one file or folder that differs in case only."""
        name = path.rpartition("/")[2].casefold()
        wanted = path.casefold()
        found = [each for each in self._by_folded_name.get(name, []) if each.casefold() == wanted]
        return found[0] if len(found) == 1 else None

    def nearest(self, path: str) -> str | None:
        """The file or folder that was most likely meant: of the same name, else a similar one."""
        folder, _, name = path.rpartition("/")
        same = self.by_name.get(name, [])
        if same:
            best = max(same, key=lambda each: (_shared(each, path), -len(each), each))
            # A name that stands in many folders says little: then the folders must say it.
            alike = len(same) == 1 or _shared(best, path) >= path.count("/")
            return best if alike else None
        siblings = [each.rpartition("/")[2] for each in self._siblings(folder)]
        close = get_close_matches(name, siblings, 1, 0.75)
        return f"{folder}/{close[0]}" if close and folder else next(iter(close), None)

    def _siblings(self, folder: str) -> Iterator[str]:
        below = f"{folder}/" if folder else ""
        start = len(below)
        return (each for each in self._all if each.startswith(below) and "/" not in each[start:])

    def ignored(self, paths: Collection[str]) -> frozenset[str]:
        """Those of the paths that git would ignore if they were there."""
        return git.ignored(self.root, sorted(paths))


def _listed(root: Path) -> tuple[frozenset[str], list[str]] | None:
    """The files and the submodules that git lists; none where there is no repository."""
    asked = ("ls-files", "-z", "-t", "--cached", "--deleted", "--others", "--exclude-standard")
    try:
        answer = git.run(root, *asked)
    except FileNotFoundError:
        return None
    if answer.returncode:
        return None
    submodules = _submodules(root)
    return _files_in(answer.stdout, tuple(submodules)), submodules


@lru_cache(maxsize=2)
def _files_in(output: bytes, submodules: tuple[str, ...]) -> frozenset[str]:
    """The files that git listed; a server asks every second, and mostly they are the same."""
    tagged = [(each[:1], each[2:]) for each in _texts(output)]
    gone = {path for tag, path in tagged if tag == "R"}.union(submodules)
    return frozenset(path for _, path in tagged if path not in gone)


def _submodules(root: Path) -> list[str]:
    if not (root / ".gitmodules").is_file():
        return []
    lines = _texts(git.run(root, "ls-files", "-z", "--stage").stdout)
    return [line.partition("\t")[2] for line in lines if line.startswith(_SUBMODULE)]


def _texts(data: bytes) -> list[str]:
    return [each.decode("utf-8", "replace") for each in data.split(b"\0") if each]


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for key, path in pairs:
        found[key].append(path)
    return dict(found)


def _stems(path: str) -> Iterator[str]:
    stem = path.rpartition("/")[2]
    while "." in stem.lstrip("."):
        stem = stem.rpartition(".")[0]
        yield stem


def _shared(one: str, other: str) -> int:
    return len(set(PurePosixPath(one).parts) & set(PurePosixPath(other).parts))
