"""What the readers of other tools' rule files share."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from hornbook.rules.document import Pattern, Problems
from hornbook.rules.ids import imported_id
from hornbook.rules.readers.compose import Frame, compose
from hornbook.rules.readers.protocol import ReadBinding, Reading, SourceFile
from hornbook.vocabulary.terms import Activation


@dataclass(frozen=True, slots=True)
class RulePlace:
    """A file below a tool's folder: the folder that holds that one, and those in between."""

    base: tuple[str, ...]
    below: tuple[str, ...]

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that tell this file apart from others of the tool."""
        return (*self.base, *self.below)

    def translate(self, pattern: str) -> str:
        """Return a pattern relative to the base as one relative to the repository.

        One that begins with the path of the base was written from the root: it holds for both.
        """
        if not self.base:
            return pattern
        base = _escaped(self.base)
        nested = _below(base, pattern)
        from_root = pattern.lstrip("/").startswith(f"{base}/")
        return f"{{{nested},{pattern.lstrip('/')}}}" if from_root else nested

    def whole(self) -> ReadBinding:
        """Return the binding of a rule for all below the base: `always` at the root."""
        return self.subtree() if self.base else ReadBinding(Activation.ALWAYS)

    def subtree(self) -> ReadBinding:
        """Return the binding to the base's subtree."""
        glob = f"{_escaped(self.base)}/**" if self.base else "**"
        return ReadBinding(Activation.DIR, (Pattern(glob, glob, None),))


def below(path: PurePosixPath, *marker: str) -> RulePlace | None:
    """Return the place of a file below the first run of folders called `marker`, if it is."""
    folders = path.parts[:-1]
    for start in range(len(folders) - len(marker) + 1):
        end = start + len(marker)
        if folders[start:end] == marker:
            return RulePlace(folders[:start], folders[end:])
    return None


def beside(path: PurePosixPath) -> RulePlace:
    """Return the place of a file that stands for the folder it lies in."""
    return RulePlace(path.parts[:-1], ())


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


def problems_of(file: SourceFile, *, unquoted: str | None = None) -> Problems:
    """Return a collection that starts with what taking the file apart has shown.

    That a pattern under the key `unquoted` is no YAML is no problem: the tool's files look so.
    """
    line = file.parts.lines.get(unquoted) if unquoted is not None else None
    problems = Problems(file.parts.path)
    problems.extend(
        tuple(
            each
            for each in file.parts.problems
            if each.code != "frontmatter_lenient" or line is None or each.line != line
        )
    )
    return problems


def first_place(path: PurePosixPath, *markers: tuple[str, ...]) -> RulePlace | None:
    """Return the place of a file below the first of several folders that holds it."""
    return next(filter(None, (below(path, *marker) for marker in markers)), None)


def read_imported(
    file: SourceFile, tool: str, place: RulePlace, binding: ReadBinding, problems: Problems
) -> Reading:
    """Return the reading of a rule file that binds as its tool would have it."""
    frame = Frame(tool, imported_id(tool, place.folders, file.path), binding)
    return compose(file, frame, problems)


def read_scoped(
    file: SourceFile, tool: str, place: RulePlace, binding: ReadBinding, problems: Problems
) -> Reading:
    """Return the reading of a rule file whose metadata decide how it binds.

    Where they could not be read, that is unknown.
    """
    if not file.parts.readable:
        binding = ReadBinding(Activation.UNKNOWN, binding.patterns)
    return read_imported(file, tool, place, binding, problems)
