"""Claude Code: `CLAUDE.md` in any folder and `.claude/rules`. Qwen Code: `.qwen/rules`."""

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
from hornbook.rules.readers.protocol import Reading, SourceFile

_MEMORY = frozenset({"CLAUDE.md", "CLAUDE.local.md"})


class ClaudeReader:
    """Reads memory files, which bind their folder, and rules with optional `paths`."""

    tool = "claude"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a memory file or a rule."""
        if path.name in _MEMORY:
            return True
        return path.suffix == ".md" and below(path, ".claude", "rules") is not None

    def read(self, file: SourceFile) -> Reading:
        """Return what the file says."""
        problems = problems_of(file)
        place = below(file.path, ".claude", "rules")
        if place is None:
            place = _memory_place(file.path)
            tell_foreign(file.parts, (), "loads always", problems)
            return read_imported(file, self.tool, place, place.whole(), problems)
        return _read_rule(file, self.tool, place, problems)


class QwenRulesReader:
    """Reads the rules of Qwen Code, which bind by `paths` as Claude's do."""

    tool = "qwen"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a rule in its folder."""
        return path.suffix == ".md" and below(path, ".qwen", "rules") is not None

    def read(self, file: SourceFile) -> Reading:
        """Return what the rule says."""
        place = below(file.path, ".qwen", "rules") or RulePlace((), ())
        return _read_rule(file, self.tool, place, problems_of(file))


def _read_rule(file: SourceFile, tool: str, place: RulePlace, problems: Problems) -> Reading:
    tell_misspelt(file.parts, ("paths",), problems)
    tell_foreign(file.parts, ("paths",), "loads always", problems)
    found = read_patterns(file.parts, ("paths",), problems, place.translate)
    whole = place.whole()
    binding = found.binding(whole.activation) if found.patterns or not found.sound else whole
    return read_scoped(file, tool, place, binding, problems)


def _memory_place(path: PurePosixPath) -> RulePlace:
    if path.parent.name == ".claude":
        return RulePlace(path.parts[:-2], ())
    return beside(path)
