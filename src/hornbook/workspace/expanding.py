"""Files that a user named, some of them by globs."""

from collections.abc import Iterable
from pathlib import Path

from hornbook.errors import UsageError
from hornbook.ingest.discover import Kind, walk
from hornbook.text.globs import parse_set

_WILD = frozenset("*?[{")


def expanded(root: Path, files: Iterable[str]) -> list[str]:
    """The files, with globs replaced by the files of the repository that they match; sorted.

    Raises:
        UsageError: A glob matches no file.
    """
    found: set[str] = set()
    globs = [file for file in files if _WILD & set(file) and not (root / file).exists()]
    found.update(file for file in files if file not in globs)
    if globs:
        wanted = {pattern: parse_set([pattern]) for pattern in globs}
        present = [
            each.path
            for each in walk(root, "", lambda _path, _name: True)
            if each.kind is Kind.FILE
        ]
        for pattern, globset in wanted.items():
            matched = [path for path in present if globset.match(path) is not None]
            if not matched:
                raise UsageError(f"{pattern} matches no file: see `hornbook match`.")
            found.update(matched)
    return sorted(found)
