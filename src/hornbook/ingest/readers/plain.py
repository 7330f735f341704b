"""Any other document that somebody points at: its folder or metadata say what it is."""

from pathlib import PurePosixPath

from hornbook.ingest.problems import Problems
from hornbook.ingest.readers.category import shelf
from hornbook.ingest.readers.own import OwnReader, read_own
from hornbook.ingest.readers.protocol import Reading, SourceFile


class PlainReader:
    """Reads whatever no other reader claims."""

    tool = "plain"

    def claims(self, path: PurePosixPath) -> bool:
        """Every path: this reader is the last one asked."""
        return bool(path.name)

    def read(self, file: SourceFile) -> Reading:
        """Return what the document says, in our own format."""
        problems = Problems(file.parts.path)
        place = shelf(file.path, file.parts, problems)
        ours = place.stated or place.folder is not None
        return read_own(file, place, OwnReader.tool if ours else self.tool, problems)
