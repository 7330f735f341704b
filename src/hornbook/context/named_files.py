"""Files that a user named, some of them by globs."""

from collections.abc import Collection, Iterable
from pathlib import Path

from hornbook.errors import UsageError
from hornbook.rules.discover import FileKind, walk
from hornbook.settings.places import Places
from hornbook.text.globs import parse_set

_WILD = frozenset("*?[{")


def is_glob(text: str) -> bool:
    """Whether a path has wildcards in it."""
    return bool(_WILD & set(text))


def matching(pattern: str, paths: Iterable[str]) -> list[str]:
    """Those of some paths that a glob matches."""
    globset = parse_set([pattern])
    return [path for path in paths if globset.match(path) is not None]


def expanded(root: Path, files: Collection[str]) -> list[str]:
    """The files, with globs replaced by the files of the repository that they match; sorted.

    Raises:
        UsageError: A glob matches no file.
    """
    globs = {file for file in files if is_glob(file) and not (root / file).exists()}
    found = set(files) - globs
    present = _files_below(root) if globs else []
    for pattern in sorted(globs):
        matched = matching(pattern, present)
        if not matched:
            raise UsageError(f"{pattern} matches no file: see `hornbook match`.")
        found.update(matched)
    return sorted(found)


def _files_below(root: Path) -> list[str]:
    everything = walk(root, "", lambda _path, _name: True)
    shut = Places(root).secrets
    return [
        each.path
        for each in everything
        if each.kind is FileKind.FILE and not _is_below(root / each.path, shut)
    ]


def _is_below(path: Path, places: Collection[Path]) -> bool:
    return path in places or not set(places).isdisjoint(path.parents)
