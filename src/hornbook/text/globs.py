"""Globs: which paths a pattern of the one dialect (DESIGN 4.2) fits.

A path is POSIX and relative to the root of the repository. `./a`, `a//b` and `a/./b` are read as
`a`, `a/b` and `a/b`; an absolute path, an empty one and one with a `..` segment fit no pattern.
`a/**` fits `a` itself too, as `**` may stand for no segment; `a/` fits only what is below `a`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from hornbook.errors import BadGlob, UsageError
from hornbook.text.glob_matcher import Matcher, canonical
from hornbook.text.glob_syntax import read, split_list

__all__ = ["Glob", "GlobSet", "parse", "parse_set", "split_list"]


@dataclass(frozen=True, slots=True)
class Glob:
    """One pattern: its text as written, whether that excludes, and what it fits."""

    pattern: str
    negated: bool
    matcher: Matcher = field(repr=False, compare=False)

    def matches(self, path: str) -> bool:
        """Return whether the pattern, a leading `!` aside, fits the path."""
        canonical_path = canonical(path)
        return canonical_path is not None and self.matcher.matches(canonical_path)


@dataclass(frozen=True, slots=True)
class GlobSet:
    """The patterns of one rule; any exclusion wins, wherever it stands."""

    globs: tuple[Glob, ...]

    def match(self, path: str) -> Glob | None:
        """Return the first pattern that fits the path, none if an exclusion fits it too."""
        canonical_path = canonical(path)
        if canonical_path is None:
            return None
        included = (
            glob for glob in self.globs if not glob.negated and glob.matcher.matches(canonical_path)
        )
        first = next(included, None)
        if first is None:
            return None
        excluded = any(glob.negated and glob.matcher.matches(canonical_path) for glob in self.globs)
        return None if excluded else first


def parse(pattern: str) -> Glob:
    """Return the pattern, ready to match.

    Raises:
        BadGlob: The pattern is not in the dialect; the error says where and what to write.
    """
    negated, alternatives = read(pattern)
    return Glob(pattern, negated, Matcher(alternatives))


def parse_set(patterns: Iterable[str]) -> GlobSet:
    """Return the patterns of one rule; no pattern at all is a set that fits nothing.

    Raises:
        BadGlob: A pattern is not in the dialect, or all of them exclude.
    """
    globs = tuple(map(parse, patterns))
    if globs and all(glob.negated for glob in globs):
        remedy = "add a pattern to exclude from, such as `**`"
        raise BadGlob(globs[0].pattern, 0, "there are only exclusions", remedy)
    return GlobSet(globs)


def clean_path(path: str) -> str:
    """A path as the globs want it: relative, with forward slashes, without `.` parts.

    Raises:
        UsageError: It leads out of the root.
    """
    parts: list[str] = []
    for part in path.replace("\\", "/").split("/"):
        if part == "..":
            if not parts:
                raise UsageError(f"{path!r} leads out of the root: name a path inside it.")
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)
