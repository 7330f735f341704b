"""GitHub Copilot: `.github/copilot-instructions.md` and `.github/instructions`."""

from pathlib import PurePosixPath

from hornbook.rules.document import Pattern, Problems
from hornbook.rules.metadata import fields
from hornbook.rules.metadata.fields import tell_foreign, tell_misspelt
from hornbook.rules.readers.imported import (
    RulePlace,
    below,
    problems_of,
    read_imported,
    read_scoped,
)
from hornbook.rules.readers.patterns import read_patterns
from hornbook.rules.readers.protocol import ReadBinding, Reading, SourceFile
from hornbook.vocabulary.terms import Activation

_KEYS = ("applyTo", "excludeAgent", "description")


class CopilotReader:
    """Reads the repository's instructions and those for some paths."""

    tool = "copilot"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is one of Copilot's two kinds of files."""
        if path.name == "copilot-instructions.md":
            return path.parent.name == ".github"
        if not path.name.endswith(".instructions.md"):
            return False
        return below(path, ".github", "instructions") is not None

    def read(self, file: SourceFile) -> Reading:
        """Return what the instructions say."""
        problems = problems_of(file)
        place = below(file.path, ".github", "instructions")
        if place is None:
            place = RulePlace(file.path.parts[:-2], ())
            return read_imported(file, self.tool, place, place.whole(), problems)
        return read_scoped(file, self.tool, place, _binding(file, place, problems), problems)


def _binding(file: SourceFile, place: RulePlace, problems: Problems) -> ReadBinding:
    parts = file.parts
    tell_misspelt(parts, _KEYS, problems)
    tell_foreign(parts, ("applyTo",), "binds no file", problems)
    found = read_patterns(parts, ("applyTo",), problems, lambda glob: _anchored(glob, place))
    if isinstance(parts.metadata.get("applyTo"), list):
        message = "Copilot drops a list: write `applyTo: 'a, b'` as one text."
        problems.warning(parts.lines.get("applyTo"), "copilot_list", message)
    _tell_editors_reading(found.patterns, problems)
    if "code-review" in fields.words(parts, ("excludeAgent",), problems):
        message = "`excludeAgent: code-review` keeps this rule from reviews, so it binds nothing."
        problems.warning(parts.lines.get("excludeAgent"), "excluded_from_review", message)
        return ReadBinding(Activation.NEVER, found.patterns)
    if found.everything:
        return _everything(found.patterns, place)
    return found.binding(Activation.MANUAL)


def _everything(patterns: tuple[Pattern, ...], place: RulePlace) -> ReadBinding:
    excluded = tuple(pattern for pattern in patterns if pattern.glob.startswith("!"))
    if place.base or excluded:
        return ReadBinding(Activation.GLOB, patterns)
    first = next(pattern for pattern in patterns if not pattern.glob.startswith("!"))
    return ReadBinding(Activation.ALWAYS, (Pattern("**", first.raw, first.line),))


def _anchored(glob: str, place: RulePlace) -> str:
    """Return a pattern as GitHub reads it in reviews: from the root, unless it starts with `**`."""
    return place.translate(glob if glob.startswith(("/", "**")) else f"/{glob.removeprefix('./')}")


def _tell_editors_reading(patterns: tuple[Pattern, ...], problems: Problems) -> None:
    for pattern in patterns:
        written = pattern.raw.removeprefix("!")
        if not written.startswith(("/", "**")):
            message = f"`{pattern.raw}` is read from the root, as GitHub does it in reviews"
            other = f"VS Code reads it as `**/{written}`"
            remedy = "start it with `/` or `**/` for one meaning"
            problems.info(pattern.line, "read_otherwise", f"{message}; {other}: {remedy}.")
