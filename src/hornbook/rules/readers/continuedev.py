"""Continue: `.continue/rules`."""

from pathlib import PurePosixPath

from hornbook.rules.document import Problems
from hornbook.rules.metadata import fields
from hornbook.rules.metadata.fields import tell_foreign, tell_misspelt
from hornbook.rules.readers.imported import RulePlace, below, problems_of, read_scoped
from hornbook.rules.readers.patterns import read_patterns
from hornbook.rules.readers.protocol import ReadBinding, Reading, SourceFile
from hornbook.vocabulary.terms import Activation


class ContinueReader:
    """Reads rules with `globs`, `regex` and a three-way `alwaysApply`."""

    tool = "continue"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a rule of Continue's folder."""
        return path.suffix == ".md" and below(path, ".continue", "rules") is not None

    def read(self, file: SourceFile) -> Reading:
        """Return what the rule says."""
        problems = problems_of(file)
        place = below(file.path, ".continue", "rules") or RulePlace((), ())
        return read_scoped(file, self.tool, place, _binding(file, place, problems), problems)


def _binding(file: SourceFile, place: RulePlace, problems: Problems) -> ReadBinding:
    parts = file.parts
    tell_misspelt(parts, ("globs", "alwaysApply", "regex"), problems)
    tell_foreign(parts, ("globs", "alwaysApply", "regex"), "does not bind by it", problems)
    if parts.metadata.get("invokable") is True:
        message = "`invokable: true` makes this a prompt, not a rule, so it binds nothing."
        problems.info(parts.lines.get("invokable"), "not_a_rule", message)
        return ReadBinding(Activation.NEVER)
    always = fields.flag(parts, "alwaysApply", problems)
    found = read_patterns(parts, ("globs",), problems, place.translate)
    by_content = parts.metadata.get("regex") is not None
    if by_content and not always:
        message = "`regex` on content is not read here: say in `globs` which files are meant."
        problems.warning(parts.lines.get("regex"), "regex_not_read", message)
    if always or (always is None and not found.given and not by_content):
        return place.whole()
    return found.binding(Activation.MODEL)
