"""Cline: the file or folder `.clinerules`."""

from pathlib import PurePosixPath

from hornbook.rules.document import Problems
from hornbook.rules.metadata.fields import tell_foreign, tell_misspelt
from hornbook.rules.readers.imported import (
    RulePlace,
    below,
    beside,
    problems_of,
    read_imported,
    read_scoped,
)
from hornbook.rules.readers.patterns import read_patterns
from hornbook.rules.readers.protocol import ReadBinding, Reading, SourceFile
from hornbook.vocabulary.terms import Activation

_NOT_RULES = frozenset({"workflows", "hooks", "skills"})


class ClineReader:
    """Reads rules that bind always, or by a list of `paths`."""

    tool = "cline"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is the rule file or a text in the rule folder."""
        if path.name == ".clinerules":
            return True
        place = below(path, ".clinerules")
        if place is None or path.suffix not in {".md", ".txt"}:
            return False
        return _NOT_RULES.isdisjoint(place.below[:1])

    def read(self, file: SourceFile) -> Reading:
        """Return what the rule says."""
        problems = problems_of(file)
        place = below(file.path, ".clinerules")
        if place is None:
            place = beside(file.path)
            return read_imported(file, self.tool, place, place.whole(), problems)
        return read_scoped(file, self.tool, place, _binding(file, place, problems), problems)


def _binding(file: SourceFile, place: RulePlace, problems: Problems) -> ReadBinding:
    parts = file.parts
    tell_misspelt(parts, ("paths",), problems)
    tell_foreign(parts, ("paths",), "binds always", problems)
    paths = parts.metadata.get("paths")
    if isinstance(paths, list):
        found = read_patterns(parts, ("paths",), problems, place.translate)
        return found.binding(Activation.NEVER)
    if paths is not None:
        message = "Cline reads `paths` only as a list, so the rule binds always: write `- a` lines."
        problems.warning(parts.lines.get("paths"), "bad_value", message)
    return place.whole()
