"""Where a rule file lies, and what that means for its patterns."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from hornbook.ingest.readers.protocol import Binding
from hornbook.model import Activation, Pattern


@dataclass(frozen=True, slots=True)
class Place:
    """A file below a tool's folder: the folder that holds that one, and those in between."""

    base: tuple[str, ...]
    below: tuple[str, ...]

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that tell this file apart from others of the tool."""
        return (*self.base, *self.below)

    def translate(self, pattern: str) -> str:
        """Return a pattern relative to the base as one relative to the repository."""
        return _below(_escaped(self.base), pattern) if self.base else pattern

    def whole(self) -> Binding:
        """Return the binding of a rule for all below the base: `always` at the root."""
        return self.subtree() if self.base else Binding(Activation.ALWAYS)

    def subtree(self) -> Binding:
        """Return the binding to the base's subtree."""
        glob = f"{_escaped(self.base)}/**" if self.base else "**"
        return Binding(Activation.DIR, (Pattern(glob, glob, None),))


def below(path: PurePosixPath, *marker: str) -> Place | None:
    """Return the place of a file below the first run of folders called `marker`, if it is."""
    folders = path.parts[:-1]
    for start in range(len(folders) - len(marker) + 1):
        end = start + len(marker)
        if folders[start:end] == marker:
            return Place(folders[:start], folders[end:])
    return None


def beside(path: PurePosixPath) -> Place:
    """Return the place of a file that stands for the folder it lies in."""
    return Place(path.parts[:-1], ())


def _escaped(folders: tuple[str, ...]) -> str:
    return "/".join(re.sub(r"([\\\[\]{}*?!,])", r"\\\1", folder) for folder in folders)


def _below(base: str, pattern: str) -> str:
    outside = _outside_braces(pattern)
    if pattern.startswith("/"):
        return base + pattern
    if "/" in outside.rstrip("/"):
        return f"{base}/{pattern.removeprefix('./')}"
    if "/" not in pattern.rstrip("/"):
        return f"{base}/**/{pattern}"
    # Slashes in braces only: some alternatives may have none, so each is translated on its own.
    before, inside, after = _first_braces(pattern)
    return "{" + ",".join(_below(base, before + part + after) for part in inside) + "}"


def _outside_braces(pattern: str) -> str:
    kept, depth = "", 0
    for character in pattern:
        depth += character == "{"
        kept += character if depth == 0 else ""
        depth -= character == "}"
    return kept


def _first_braces(pattern: str) -> tuple[str, list[str], str]:
    start = pattern.index("{")
    depth, part = 0, ""
    parts: list[str] = []
    for position, character in enumerate(pattern[start:], start):
        depth -= character == "}"
        if depth == 0 and character == "}":
            return pattern[:start], [*parts, part], pattern[position + 1 :]
        if depth == 1 and character == ",":
            parts.append(part)
            part = ""
        elif depth:
            part += character
        depth += character == "{"
    return pattern[:start], [*parts, part], ""
