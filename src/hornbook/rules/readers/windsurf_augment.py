"""Tools whose rules name their trigger in one key: Windsurf (now Devin) and Augment."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from hornbook.rules.document import Problems
from hornbook.rules.metadata import fields
from hornbook.rules.metadata.fields import tell_foreign, tell_misspelt
from hornbook.rules.metadata.keys import nearest
from hornbook.rules.readers.imported import (
    RulePlace,
    beside,
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

    A file called `legacy` binds its whole folder.
    """

    tool: str
    folders: tuple[tuple[str, ...], ...]
    legacy: str
    key: str
    triggers: Mapping[str, Activation]
    otherwise: Activation

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a rule in one of the tool's folders, or the legacy file."""
        if path.name == self.legacy:
            return True
        return path.suffix == ".md" and first_place(path, *self.folders) is not None

    def read(self, file: SourceFile) -> Reading:
        """Return what the rule says."""
        problems = problems_of(file)
        place = first_place(file.path, *self.folders)
        if place is None:
            place = beside(file.path)
            return read_imported(file, self.tool, place, place.whole(), problems)
        return read_scoped(file, self.tool, place, self._binding(file, place, problems), problems)

    def _binding(self, file: SourceFile, place: RulePlace, problems: Problems) -> ReadBinding:
        parts = file.parts
        tell_misspelt(parts, (self.key, "globs"), problems)
        tell_foreign(parts, (self.key, "globs"), "does not bind by it", problems)
        found = read_patterns(parts, ("globs",), problems, place.translate)
        activation = self._activation(file, problems)
        if activation is Activation.ALWAYS:
            return place.whole()
        if activation is not Activation.GLOB:
            return ReadBinding(activation)
        if not found.patterns and found.sound:
            message = f"`{self.key}: glob` has no pattern: add `globs`."
            problems.error(parts.lines.get(self.key), "no_pattern", message)
        return found.binding(Activation.UNKNOWN)

    def _activation(self, file: SourceFile, problems: Problems) -> Activation:
        parts = file.parts
        written = fields.text(parts, self.key, problems)
        if written is None:
            by_globs = "globs" in parts.metadata and Activation.GLOB in self.triggers.values()
            used = Activation.GLOB if by_globs else self.otherwise
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


WINDSURF = TriggerReader(
    tool="windsurf",
    folders=((".windsurf", "rules"), (".devin", "rules")),
    legacy=".windsurfrules",
    key="trigger",
    triggers={
        "always_on": Activation.ALWAYS,
        "glob": Activation.GLOB,
        "model_decision": Activation.MODEL,
        "manual": Activation.MANUAL,
    },
    otherwise=Activation.ALWAYS,
)
AUGMENT = TriggerReader(
    tool="augment",
    folders=((".augment", "rules"),),
    legacy=".augment-guidelines",
    key="type",
    triggers={
        "always_apply": Activation.ALWAYS,
        "manual": Activation.MANUAL,
        "agent_requested": Activation.MODEL,
    },
    otherwise=Activation.MANUAL,
)
