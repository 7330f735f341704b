"""Instruction files that bind the folder they lie in: AGENTS.md and GEMINI.md."""

from dataclasses import dataclass
from pathlib import PurePosixPath

from hornbook.ingest.readers.folders import beside
from hornbook.ingest.readers.imported import problems_of, read_imported
from hornbook.ingest.readers.misspelt import tell_foreign
from hornbook.ingest.readers.protocol import Reading, SourceFile


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
