"""Continue: `.continue/rules`, `.continuerules` and a `rules.md` beside the code it is about."""

from pathlib import PurePosixPath

from hornbook.rules.document import Problems
from hornbook.rules.metadata import fields
from hornbook.rules.metadata.fields import tell_foreign, tell_misspelt
from hornbook.rules.readers.imported import (
    RulePlace,
    below,
    beside,
    problems_of,
    read_imported,
    read_scoped,
)
from hornbook.rules.readers.patterns import ReadPatterns, read_patterns
from hornbook.rules.readers.protocol import ReadBinding, Reading, SourceFile
from hornbook.vocabulary.terms import Activation


class ContinueReader:
    """Reads rules with `globs`, `regex` and a three-way `alwaysApply`."""

    tool = "continue"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a rule of Continue's folder, or the older file."""
        if path.name == ".continuerules":
            return True
        return path.suffix == ".md" and below(path, ".continue", "rules") is not None

    def read(self, file: SourceFile) -> Reading:
        """Return what the rule says."""
        problems = problems_of(file)
        place = below(file.path, ".continue", "rules")
        if place is None:
            place = beside(file.path)
            return read_imported(file, self.tool, place, place.whole(), problems)
        found = read_patterns(file.parts, ("globs",), problems, place.translate)
        binding = _binding(file, found, place.whole(), problems)
        return read_scoped(file, self.tool, place, binding, problems)


class ColocatedReader:
    """Reads a `rules.md`, which binds its folder; whether it is Continue's the setup decides."""

    tool = "continue"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the file is called `rules.md`."""
        return path.name == "rules.md"

    def read(self, file: SourceFile) -> Reading:
        """Return what the rule says; its patterns are about files below its folder."""
        problems = problems_of(file)
        place = beside(file.path)
        if place.base[-1:] == (".continue",):
            place = RulePlace(place.base[:-1], ())
        found = read_patterns(
            file.parts, ("globs",), problems, lambda glob: place.translate(_at_any_depth(glob))
        )
        binding = _binding(file, found, place.whole(), problems)
        if file.parts.metadata.get("alwaysApply") is True:
            binding = ReadBinding(Activation.ALWAYS)
        elif binding.activation is Activation.MODEL and "regex" not in file.parts.metadata:
            binding = place.whole()
        return read_scoped(file, self.tool, place, binding, problems)


def _at_any_depth(glob: str) -> str:
    return glob if glob.startswith("**") else f"**/{glob}"


def _binding(
    file: SourceFile, found: ReadPatterns, whole: ReadBinding, problems: Problems
) -> ReadBinding:
    parts = file.parts
    tell_misspelt(parts, ("globs", "alwaysApply", "regex"), problems)
    tell_foreign(parts, ("globs", "alwaysApply", "regex"), "does not bind by it", problems)
    if parts.metadata.get("invokable") is True:
        message = "`invokable: true` makes this a prompt, not a rule, so it binds nothing."
        problems.info(parts.lines.get("invokable"), "not_a_rule", message)
        return ReadBinding(Activation.NEVER)
    always = fields.flag(parts, "alwaysApply", problems)
    by_content = parts.metadata.get("regex") is not None
    if by_content and not always:
        message = "`regex` on content is not read here: say in `globs` which files are meant."
        problems.warning(parts.lines.get("regex"), "regex_not_read", message)
    if always or (always is None and not found.given and not by_content):
        return whole
    return found.binding(Activation.MODEL)
