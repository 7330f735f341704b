"""Rules that nobody owns, where a CODEOWNERS file says who owns what."""

import re
from collections.abc import Iterator
from pathlib import Path

from hornbook.doctor.finding import Finding
from hornbook.doctor.rule_set import RuleSet
from hornbook.errors import BadGlob
from hornbook.text.globs import parse

_WILD = re.compile(r"[*?\[{\\]")
PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")


class CodeOwners:
    """Who owns which files, as a CODEOWNERS file says it; the last line that fits decides."""

    def __init__(self, place: str, text: str) -> None:
        self.place = place
        self._lines = list(_owned(text))

    @classmethod
    def read(cls, root: Path) -> "CodeOwners | None":
        """The file of a repository; None where there is none."""
        place = next((each for each in PLACES if (root / each).is_file()), None)
        if place is None:
            return None
        return cls(place, (root / place).read_text(encoding="utf-8", errors="replace"))

    def of(self, path: str) -> tuple[str, ...]:
        """The owners of a file, as they are written there; none if nobody is named."""
        fitting = (owners for pattern, owners in reversed(self._lines) if _fits(pattern, path))
        return next(fitting, ())


def unowned(rules: RuleSet, root: Path) -> Iterator[Finding]:
    """The rules for which CODEOWNERS names nobody."""
    owners = CodeOwners.read(root)
    if owners is None:
        return
    for rule in rules.texts:
        if not owners.of(rule.path):
            message = (
                f"{owners.place} names no owner for the rule, so anybody may change it unseen."
            )
            remedy = f"Add a line for `/{rule.path}` to {owners.place}."
            yield Finding("unowned", rule.path, None, rule.id, message, remedy)


def _owned(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each pattern, and who owns what it fits."""
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if words and not line.startswith(("[", "^[")):
            yield from ((pattern, tuple(words[1:])) for pattern in _patterns(words[0]))


def _fits(pattern: str, path: str) -> bool:
    """Whether a pattern fits; most are told apart by their first folder and never compiled."""
    first = pattern.strip("/").partition("/")[0]
    anchored = "/" in pattern.rstrip("/")
    if anchored and not _WILD.search(first) and path.partition("/")[0] != first:
        return False
    try:
        return parse(pattern).matches(path)
    except BadGlob:
        return False


def _patterns(written: str) -> Iterator[str]:
    """A line's pattern in our dialect: a name is the file, and the folder with all below it."""
    if written.endswith("/"):
        inner = written.strip("/")
        yield f"/{inner}/**" if written.startswith("/") or "/" in inner else f"**/{inner}/**"
        return
    yield written
    if not written.endswith("*"):
        anchored = written.startswith("/") or "/" in written
        yield f"{written}/**" if anchored else f"**/{written}/**"
