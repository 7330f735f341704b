"""Decision records in the folders where teams keep them."""

from dataclasses import replace
from pathlib import PurePosixPath

from hornbook.rules.document import Problems
from hornbook.rules.readers.imported import below
from hornbook.rules.readers.own import OwnReader, is_about_decisions, read_own, shelf
from hornbook.rules.readers.protocol import Reading, SourceFile
from hornbook.vocabulary.terms import Category

FOLDERS = (
    ("docs", "adr"),
    ("docs", "decisions"),
    ("doc", "adr"),
    ("doc", "decisions"),
    ("docs", "architecture", "decisions"),
)


class DecisionReader:
    """Reads the records, and not the index or template beside them."""

    tool = "decision"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a Markdown file below a folder of decisions."""
        if path.suffix.lower() != ".md" or is_about_decisions(path):
            return False
        return any(below(path, *folder) for folder in FOLDERS)

    def read(self, file: SourceFile) -> Reading:
        """Return the decision, or the document of another category that it says it is."""
        problems = Problems(file.parts.path)
        place = shelf(file.path, file.parts, problems)
        if not place.stated:
            place = replace(place, category=Category.DECISION)
        return read_own(file, place, OwnReader.tool, problems)
