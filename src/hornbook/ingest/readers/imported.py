"""What the readers of other tools' rule files share."""

from pathlib import PurePosixPath

from hornbook.ingest.identity import imported_id
from hornbook.ingest.problems import Problems
from hornbook.ingest.readers.compose import Frame, compose
from hornbook.ingest.readers.folders import Place, below
from hornbook.ingest.readers.protocol import Binding, Reading, SourceFile
from hornbook.model import Activation


def problems_of(file: SourceFile) -> Problems:
    """Return a collection that starts with what taking the file apart has shown."""
    problems = Problems(file.parts.path)
    problems.extend(file.parts.problems)
    return problems


def first_place(path: PurePosixPath, *markers: tuple[str, ...]) -> Place | None:
    """Return the place of a file below the first of several folders that holds it."""
    return next(filter(None, (below(path, *marker) for marker in markers)), None)


def read_imported(
    file: SourceFile, tool: str, place: Place, binding: Binding, problems: Problems
) -> Reading:
    """Return the reading of a rule file that binds as its tool would have it."""
    frame = Frame(tool, imported_id(tool, place.folders, file.path), binding)
    return compose(file, frame, problems)


def read_scoped(
    file: SourceFile, tool: str, place: Place, binding: Binding, problems: Problems
) -> Reading:
    """Return the reading of a rule file whose metadata decide how it binds.

    Where they could not be read, that is unknown.
    """
    if not file.parts.readable:
        binding = Binding(Activation.UNKNOWN, binding.patterns)
    return read_imported(file, tool, place, binding, problems)
