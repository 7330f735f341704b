"""What the readers of other tools' rule files share."""

import re
from pathlib import PurePosixPath

from hornbook.ingest.identity import imported_id
from hornbook.ingest.outline import outline
from hornbook.ingest.problems import Problems
from hornbook.ingest.readers.compose import Frame, compose
from hornbook.ingest.readers.folders import Place, below
from hornbook.ingest.readers.protocol import Binding, Reading, SourceFile
from hornbook.model import Activation

# What the tools' own includes look like; `@` must stand before a path, not in an address.
_INCLUDES = {
    "claude": re.compile(r"(?:^|\s)@((?:[\w.~-]+/)*[\w-][\w.-]*\.\w+)"),
    "kiro": re.compile(r"#\[\[file:([^\]]+)\]\]"),
}


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
    shape = outline(file.parts.body)
    if tool in _INCLUDES:
        for index, line in enumerate(shape.lines):
            for included in _INCLUDES[tool].findall(line):
                message = f"`{included}` is not included here: what it says binds nothing by it."
                problems.info(file.parts.body_line + index, "include_not_read", message)
    return compose(file, frame, problems, shape)


def read_scoped(
    file: SourceFile, tool: str, place: Place, binding: Binding, problems: Problems
) -> Reading:
    """Return the reading of a rule file whose metadata decide how it binds.

    Where they could not be read, that is unknown.
    """
    if not file.parts.readable:
        binding = Binding(Activation.UNKNOWN, binding.patterns)
    return read_imported(file, tool, place, binding, problems)
