"""Cursor: `.cursor/rules/**/*.mdc`, Bugbot's `.cursor/BUGBOT.md` and the older `.cursorrules`.

The rules of Trae, Zencoder and CodeBuddy have the same keys.
"""

from dataclasses import dataclass
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
from hornbook.rules.readers.patterns import read_patterns
from hornbook.rules.readers.protocol import ReadBinding, Reading, SourceFile
from hornbook.vocabulary.terms import Activation

_KEYS = ("globs", "alwaysApply", "description")


class CursorReader:
    """Reads rules that bind always, by `globs`, by the model's choice or by hand."""

    tool = "cursor"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a rule file, or one that looks like it."""
        if path.name == ".cursorrules" or _is_bugbot(path):
            return True
        return path.suffix in {".mdc", ".md"} and below(path, ".cursor", "rules") is not None

    def read(self, file: SourceFile) -> Reading:
        """Return what the rule says."""
        problems = problems_of(file, unquoted="globs")
        place = below(file.path, ".cursor", "rules")
        if _is_bugbot(file.path):
            place = RulePlace(file.path.parts[:-2], ())
            return read_imported(file, self.tool, place, place.whole(), problems)
        if place is None:
            place = beside(file.path)
            return read_imported(file, self.tool, place, place.whole(), problems)
        if file.path.suffix != ".mdc":
            message = "Cursor ignores this file, so it binds nothing: rename it to `.mdc`."
            problems.info(1, "ignored_by_tool", message)
            never = ReadBinding(Activation.NEVER)
            return read_imported(file, self.tool, place, never, problems)
        binding = _binding(file, place, problems)
        listed = isinstance(file.parts.metadata.get("globs"), list)
        if listed and binding.activation is Activation.GLOB:
            message = "Cursor may not match a list: write `globs: a, b` without brackets."
            problems.info(file.parts.lines.get("globs"), "cursor_list", message)
        return read_scoped(file, self.tool, place, binding, problems)


@dataclass(frozen=True, slots=True)
class CursorLikeReader:
    """Reads rules with Cursor's keys; without any of them they bind always."""

    tool: str
    folder: tuple[str, str]
    endings: frozenset[str] = frozenset({".md"})

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a rule in the tool's folder."""
        return path.suffix in self.endings and below(path, *self.folder) is not None

    def read(self, file: SourceFile) -> Reading:
        """Return what the rule says; CodeBuddy's `enabled` switches one off."""
        problems = problems_of(file, unquoted="globs")
        place = below(file.path, *self.folder) or RulePlace((), ())
        binding = _binding(file, place, problems)
        if file.parts.metadata.get("enabled") is False:
            message = "`enabled: false` switches the rule off, so it binds nothing."
            problems.info(file.parts.lines.get("enabled"), "ignored_by_tool", message)
            binding = ReadBinding(Activation.NEVER)
        elif not any(key in file.parts.metadata for key in _KEYS):
            binding = place.whole()
        return read_scoped(file, self.tool, place, binding, problems)


TRAE = CursorLikeReader("trae", (".trae", "rules"))
ZENCODER = CursorLikeReader("zencoder", (".zencoder", "rules"))
CODEBUDDY = CursorLikeReader("codebuddy", (".codebuddy", "rules"), frozenset({".md", ".mdc"}))


def _is_bugbot(path: PurePosixPath) -> bool:
    return path.name == "BUGBOT.md" and path.parent.name == ".cursor"


def _binding(file: SourceFile, place: RulePlace, problems: Problems) -> ReadBinding:
    parts = file.parts
    tell_misspelt(parts, _KEYS, problems)
    tell_foreign(parts, ("globs", "alwaysApply"), "binds no file", problems)
    always = fields.flag(parts, "alwaysApply", problems)
    found = read_patterns(parts, ("globs",), problems, place.translate)
    if always:
        return place.whole()
    described = fields.text(parts, "description", problems) is not None
    return found.binding(Activation.MODEL if described else Activation.MANUAL)
