"""Kiro: `.kiro/steering`."""

from pathlib import PurePosixPath

from hornbook.rules.document import Problems
from hornbook.rules.metadata import fields
from hornbook.rules.metadata.fields import tell_foreign, tell_misspelt
from hornbook.rules.metadata.keys import nearest
from hornbook.rules.readers.imported import RulePlace, below, problems_of, read_scoped
from hornbook.rules.readers.patterns import read_patterns
from hornbook.rules.readers.protocol import ReadBinding, Reading, SourceFile
from hornbook.vocabulary.terms import Activation

_INCLUSIONS = ("always", "fileMatch", "manual", "auto")


class KiroReader:
    """Reads steering files by their `inclusion`."""

    tool = "kiro"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a steering file."""
        return path.suffix == ".md" and below(path, ".kiro", "steering") is not None

    def read(self, file: SourceFile) -> Reading:
        """Return what the steering file says."""
        problems = problems_of(file)
        place = below(file.path, ".kiro", "steering") or RulePlace((), ())
        return read_scoped(file, self.tool, place, _binding(file, place, problems), problems)


def _binding(file: SourceFile, place: RulePlace, problems: Problems) -> ReadBinding:
    parts = file.parts
    tell_misspelt(parts, ("inclusion", "fileMatchPattern"), problems)
    tell_foreign(parts, ("fileMatchPattern", "inclusion"), "is always included", problems)
    inclusion = fields.text(parts, "inclusion", problems) or "always"
    line = parts.lines.get("inclusion")
    found = read_patterns(parts, ("fileMatchPattern",), problems, place.translate)
    if inclusion == "fileMatch":
        if not found.patterns and found.sound:
            message = "`inclusion: fileMatch` has no pattern: add `fileMatchPattern`."
            problems.error(line, "no_pattern", message)
        return found.binding(Activation.UNKNOWN)
    if found.patterns:
        message = f"`fileMatchPattern` has no effect with `inclusion: {inclusion}`"
        remedy = "write `inclusion: fileMatch`"
        line = parts.lines.get("fileMatchPattern")
        problems.warning(line, "pattern_not_used", f"{message}: {remedy}.")
    if inclusion == "always":
        return place.whole()
    if inclusion in {"manual", "auto"}:
        return ReadBinding(Activation.MANUAL if inclusion == "manual" else Activation.MODEL)
    near = nearest(inclusion, _INCLUSIONS)
    remedy = f"did you mean {near}?" if near else f"write one of {', '.join(_INCLUSIONS)}."
    problems.error(line, "bad_value", f"`inclusion: {inclusion}` is no inclusion: {remedy}")
    return ReadBinding(Activation.UNKNOWN)
