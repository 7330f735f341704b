"""Rules with a list of their files under one key: Cline, OpenHands, rulesync and Archgate."""

from pathlib import PurePosixPath

from hornbook.rules.document import Problems
from hornbook.rules.metadata.fields import tell_foreign, tell_misspelt
from hornbook.rules.readers.imported import (
    RulePlace,
    below,
    beside,
    first_place,
    problems_of,
    read_imported,
    read_scoped,
)
from hornbook.rules.readers.patterns import read_patterns
from hornbook.rules.readers.protocol import ReadBinding, Reading, SourceFile
from hornbook.vocabulary.terms import Activation

_NO_CLINE_RULES = frozenset({"workflows", "hooks", "skills"})


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
        return _NO_CLINE_RULES.isdisjoint(place.below[:1])

    def read(self, file: SourceFile) -> Reading:
        """Return what the rule says."""
        problems = problems_of(file)
        place = below(file.path, ".clinerules")
        if place is None:
            place = beside(file.path)
            return read_imported(file, self.tool, place, place.whole(), problems)
        return read_scoped(file, self.tool, place, _of_cline(file, place, problems), problems)


def _of_cline(file: SourceFile, place: RulePlace, problems: Problems) -> ReadBinding:
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


_SKILLS = ((".agents", "skills"), (".openhands", "skills"))
_MICROAGENTS = (".openhands", "microagents")


class OpenHandsReader:
    """Reads skills that bind always, or by `paths`; a skill that words or the model call does not.

    A `SKILL.md` is a skill of many tools: only OpenHands makes a rule of it, where it has `paths`.
    """

    tool = "openhands"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a skill of OpenHands; what lies beside a SKILL.md is none."""
        if path.suffix != ".md" or path.name.casefold().startswith("readme."):
            return False
        place = first_place(path, *_SKILLS)
        if place is not None:
            return not place.below or (len(place.below) == 1 and path.name == "SKILL.md")
        return below(path, *_MICROAGENTS) is not None

    def read(self, file: SourceFile) -> Reading:
        """Return what the skill says."""
        problems = problems_of(file)
        place = first_place(file.path, *_SKILLS, _MICROAGENTS) or RulePlace((), ())
        return read_scoped(file, self.tool, place, _of_skill(file, place, problems), problems)


def _of_skill(file: SourceFile, place: RulePlace, problems: Problems) -> ReadBinding:
    parts = file.parts
    found = read_patterns(parts, ("paths",), problems, place.translate)
    if found.given and (found.patterns or not found.sound):
        return found.binding(Activation.UNKNOWN)
    if file.path.name == "SKILL.md":
        message = "This is a skill without `paths`: a model calls it, it binds no file."
        problems.info(1, "no_rules", message)
        return ReadBinding(Activation.NEVER)
    if parts.metadata.get("triggers") or "inputs" in parts.metadata:
        return ReadBinding(Activation.MANUAL)
    return place.whole()


class RulesyncReader:
    """Reads `.rulesync/rules`, of which rulesync makes the files that other tools read."""

    tool = "rulesync"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a rule in rulesync's folder."""
        return path.suffix == ".md" and below(path, ".rulesync", "rules") is not None

    def read(self, file: SourceFile) -> Reading:
        """Return what the rule says."""
        problems = problems_of(file)
        place = below(file.path, ".rulesync", "rules") or RulePlace((), ())
        return read_scoped(file, self.tool, place, _of_source(file, place, problems), problems)


def _of_source(file: SourceFile, place: RulePlace, problems: Problems) -> ReadBinding:
    parts = file.parts
    tell_misspelt(parts, ("globs", "root", "targets"), problems)
    tell_foreign(parts, ("globs", "root", "targets"), "binds always", problems)
    found = read_patterns(parts, ("globs",), problems, place.translate)
    if parts.metadata.get("root") is True or found.everything or "*" in _written(found.patterns):
        return place.whole()
    if found.patterns or not found.sound:
        return found.binding(Activation.UNKNOWN)
    agents = parts.metadata.get("agentsmd")
    folder = agents.get("subprojectPath") if isinstance(agents, dict) else None
    if isinstance(folder, str) and folder.strip("./"):
        return RulePlace((*place.base, *PurePosixPath(folder).parts), ()).subtree()
    return place.whole()


def _written(patterns: tuple[object, ...]) -> set[str]:
    return {str(getattr(pattern, "raw", "")) for pattern in patterns}


class ArchgateReader:
    """Reads the decisions of Archgate, which bind by `files`."""

    tool = "archgate"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is one of its decisions."""
        return path.suffix == ".md" and below(path, ".archgate", "adrs") is not None

    def read(self, file: SourceFile) -> Reading:
        """Return what the decision says."""
        problems = problems_of(file)
        place = below(file.path, ".archgate", "adrs") or RulePlace((), ())
        tell_misspelt(file.parts, ("files",), problems)
        tell_foreign(file.parts, ("files",), "binds always", problems)

        def translate(pattern: str) -> str:
            # Its patterns are anchored: `*.ts` lies in the folder that holds `.archgate`.
            return place.translate(pattern if "/" in pattern else f"/{pattern}")

        found = read_patterns(file.parts, ("files",), problems, translate)
        sound = found.patterns or not found.sound
        binding = found.binding(Activation.UNKNOWN) if sound else place.whole()
        return read_scoped(file, self.tool, place, binding, problems)
