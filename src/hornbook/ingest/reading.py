"""A file read by the first reader that claims it."""

import re
from pathlib import PurePosixPath

from hornbook.ingest.frontmatter import split
from hornbook.ingest.readers import NATIVE, READERS
from hornbook.ingest.readers.decision_links import resolve_links
from hornbook.ingest.readers.protocol import Reading, SourceFile

__all__ = ["Reading", "is_rule_file", "read", "resolve_links"]


# Every native format has a dot folder or file, a folder of decisions, or one of three names.
_HINT = re.compile(r"(?:^|/)(?:\.|(?:adr|decisions)/|(?:AGENTS|CLAUDE|GEMINI)\b[^/]*$)")


def is_rule_file(path: str | PurePosixPath) -> bool:
    """Whether a file at this path is in a format that is found anywhere in a repository."""
    if _HINT.search(str(path)) is None:
        return False
    place = PurePosixPath(path)
    return any(reader.claims(place) for reader in NATIVE)


def read(path: str | PurePosixPath, data: bytes) -> Reading:
    """Return what the file at `path` (relative to the repository) says; never raises."""
    place = PurePosixPath(path)
    file = SourceFile(place, split(data, str(path)))
    reader = next(reader for reader in READERS if reader.claims(place))
    return reader.read(file)
