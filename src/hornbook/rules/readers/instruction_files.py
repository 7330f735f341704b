"""Instruction files that bind the folder they lie in: AGENTS.md and GEMINI.md."""

from dataclasses import dataclass
from pathlib import PurePosixPath

from hornbook.rules.metadata.fields import tell_foreign
from hornbook.rules.readers.imported import RulePlace, below, beside, problems_of, read_imported
from hornbook.rules.readers.protocol import ReadBinding, Reading, SourceFile
from hornbook.vocabulary.terms import Activation


@dataclass(frozen=True, slots=True)
class FolderReader:
    """Reads files of certain names, each for all below its folder."""

    tool: str
    names: frozenset[str]

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the file has one of the names."""
        return path.name in self.names

    def read(self, file: SourceFile) -> Reading:
        """Return what the file says."""
        problems = problems_of(file)
        tell_foreign(file.parts, (), "binds its whole folder", problems)
        place = beside(file.path)
        return read_imported(file, self.tool, place, place.subtree(), problems)


AGENTS = FolderReader("agents", frozenset({"AGENTS.md", "AGENTS.override.md", "AGENTS.local.md"}))
GEMINI = FolderReader("gemini", frozenset({"GEMINI.md"}))


_ROO_FOR_CODE = ("rules", "rules-code")


@dataclass(frozen=True, slots=True)
class JunieReader:
    """Reads `.junie/guidelines.md` and `.junie/AGENTS.md`."""

    tool: str = "junie"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is one of the two files."""
        return path.parent.name == ".junie" and path.name in {"guidelines.md", "AGENTS.md"}

    def read(self, file: SourceFile) -> Reading:
        """Return what the guidelines say."""
        place = RulePlace(file.path.parts[:-2], ())
        return read_imported(file, self.tool, place, place.whole(), problems_of(file))


@dataclass(frozen=True, slots=True)
class RooReader:
    """Reads `.roo/rules`, `.roo/rules-<mode>` and `.roorules`."""

    tool: str = "roo"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a text in one of Roo's rule folders, or its rule file."""
        if path.name == ".roorules":
            return True
        place = below(path, ".roo")
        in_rules = place is not None and place.below[:1] and place.below[0].startswith("rules")
        return bool(in_rules) and path.suffix in {".md", ".txt"}

    def read(self, file: SourceFile) -> Reading:
        """Return what the rule says; rules for modes other than code bind by hand only."""
        problems = problems_of(file)
        place = below(file.path, ".roo")
        if place is None:
            place = beside(file.path)
        elif place.below[0] in _ROO_FOR_CODE:
            place = RulePlace(place.base, place.below[place.below[0] == "rules" :])
        else:
            message = f"This rule is for the mode of `{place.below[0]}` only, so it binds no file."
            problems.info(1, "mode_only", message)
            binding = ReadBinding(Activation.MANUAL)
            return read_imported(file, self.tool, place, binding, problems)
        return read_imported(file, self.tool, place, place.whole(), problems)
