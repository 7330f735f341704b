"""Rules that name their trigger in one key: Windsurf (now Devin), Augment and others."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from hornbook.rules.document import Problems
from hornbook.rules.metadata import fields
from hornbook.rules.metadata.fields import tell_foreign, tell_misspelt
from hornbook.rules.metadata.keys import nearest
from hornbook.rules.readers.imported import (
    RulePlace,
    first_place,
    problems_of,
    read_imported,
    read_scoped,
)
from hornbook.rules.readers.patterns import read_patterns
from hornbook.rules.readers.protocol import ReadBinding, Reading, SourceFile
from hornbook.vocabulary.terms import Activation


@dataclass(frozen=True, slots=True)
class TriggerReader:
    """Reads rules by one key, `key`, whose values mean an activation each.

    A file at one of the paths `legacy` binds the whole folder that holds the path. Where
    `plain` is set, a file without the key is as usual as one with it.
    """

    tool: str
    folders: tuple[tuple[str, ...], ...]
    legacy: tuple[str, ...]
    key: str
    triggers: Mapping[str, Activation]
    otherwise: Activation
    patterns: tuple[str, ...] = ("globs",)
    plain: bool = False

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a rule in one of the tool's folders, or the legacy file."""
        if self._legacy_place(path) is not None:
            return True
        return path.suffix == ".md" and first_place(path, *self.folders) is not None

    def _legacy_place(self, path: PurePosixPath) -> RulePlace | None:
        named = (PurePosixPath(each).parts for each in self.legacy)
        fits = next((each for each in named if path.parts[-len(each) :] == each), None)
        return RulePlace(path.parts[: -len(fits)], ()) if fits else None

    def read(self, file: SourceFile) -> Reading:
        """Return what the rule says."""
        problems = problems_of(file, unquoted=self.patterns[0])
        place = first_place(file.path, *self.folders)
        if place is None:
            place = self._legacy_place(file.path) or RulePlace((), ())
            return read_imported(file, self.tool, place, place.whole(), problems)
        return read_scoped(file, self.tool, place, self._binding(file, place, problems), problems)

    def _binding(self, file: SourceFile, place: RulePlace, problems: Problems) -> ReadBinding:
        parts = file.parts
        keys = (self.key, *self.patterns)
        tell_misspelt(parts, keys, problems)
        tell_foreign(parts, keys, "does not bind by it", problems)
        found = read_patterns(parts, self.patterns, problems, place.translate)
        activation = self._activation(file, problems)
        if activation is Activation.ALWAYS:
            return place.whole()
        if activation is not Activation.GLOB:
            return ReadBinding(activation)
        if not found.patterns and found.sound:
            written = fields.text(parts, self.key, problems)
            message = f"`{self.key}: {written}` has no pattern: add `{self.patterns[0]}`."
            problems.error(parts.lines.get(self.key), "no_pattern", message)
        return found.binding(Activation.UNKNOWN)

    def _activation(self, file: SourceFile, problems: Problems) -> Activation:
        parts = file.parts
        written = fields.text(parts, self.key, problems)
        if written is None:
            by_globs = any(parts.metadata.get(key) is not None for key in self.patterns)
            by_globs = by_globs and Activation.GLOB in self.triggers.values()
            used = Activation.GLOB if by_globs else self.otherwise
            if self.plain:
                return used
            message = f"There is no `{self.key}`, so it counts as {used}: add it."
            problems.warning(1, "no_trigger", message)
            return used
        if written in self.triggers:
            return self.triggers[written]
        near = nearest(written, self.triggers)
        remedy = f"did you mean {near}" if near else f"write one of {', '.join(self.triggers)}"
        message = f"`{self.key}: {written}` is not known: {remedy}."
        problems.error(parts.lines.get(self.key), "bad_value", message)
        return Activation.UNKNOWN


_TRIGGERS = {
    "always_on": Activation.ALWAYS,
    "glob": Activation.GLOB,
    "model_decision": Activation.MODEL,
    "manual": Activation.MANUAL,
}
WINDSURF = TriggerReader(
    tool="windsurf",
    folders=((".windsurf", "rules"), (".devin", "rules")),
    legacy=(".windsurfrules",),
    key="trigger",
    triggers=_TRIGGERS,
    otherwise=Activation.ALWAYS,
)
AGENTS_RULES = TriggerReader(
    tool="agents-rules",
    folders=((".agents", "rules"), (".agent", "rules")),
    legacy=(),
    key="trigger",
    triggers=_TRIGGERS,
    otherwise=Activation.ALWAYS,
    patterns=("globs", "paths"),
    plain=True,
)
AUGMENT = TriggerReader(
    tool="augment",
    folders=((".augment", "rules"),),
    legacy=(".augment-guidelines", ".augment/guidelines.md"),
    key="type",
    triggers={
        "always_apply": Activation.ALWAYS,
        "manual": Activation.MANUAL,
        "agent_requested": Activation.MODEL,
    },
    otherwise=Activation.MANUAL,
)
QODER = TriggerReader(
    tool="qoder",
    folders=((".qoder", "rules"), (".lingma", "rules")),
    legacy=(),
    key="trigger",
    triggers=_TRIGGERS,
    otherwise=Activation.ALWAYS,
    patterns=("globs", "glob"),
    plain=True,
)
JETBRAINS = TriggerReader(
    tool="jetbrains",
    folders=((".aiassistant", "rules"),),
    legacy=(),
    key="apply",
    triggers={
        "always": Activation.ALWAYS,
        "by file patterns": Activation.GLOB,
        "by model decision": Activation.MODEL,
        "manually": Activation.MANUAL,
        "off": Activation.NEVER,
    },
    otherwise=Activation.ALWAYS,
    patterns=("patterns",),
    plain=True,
)
