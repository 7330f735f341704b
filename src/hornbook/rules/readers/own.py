"""Our own documents: SOPs, specs, references and the like, with `applies_to` and friends."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from hornbook.rules.discover import TEXT_ENDINGS
from hornbook.rules.document import Problems
from hornbook.rules.ids import document_id, stem
from hornbook.rules.metadata import fields
from hornbook.rules.metadata.fields import tell_misspelt
from hornbook.rules.metadata.frontmatter import Parts
from hornbook.rules.metadata.keys import OWN_KEYS, nearest
from hornbook.rules.readers.compose import Frame, compose
from hornbook.rules.readers.decision import read_decision
from hornbook.rules.readers.imported import below
from hornbook.rules.readers.own_binding import own_binding
from hornbook.rules.readers.protocol import ReadBinding, Reading, SourceFile
from hornbook.vocabulary.terms import Category

ROOTS = ((".hornbook", "sources", "docs"), (".semspec", "sources", "docs"))
"""The folders whose subfolders are categories."""

FOLDERS = {
    name: category
    for category in Category
    if category not in {Category.TASK, Category.RISK}  # only our own records are these
    for name in (category, f"{category}s")
}
"""The names, singular and plural, under which a folder means a category."""

_INDEX_OR_TEMPLATE = re.compile(
    r"readme|index|(?:0+[-_])?(?:m?adr[-_])?template|(?:m?adr[-_])?template[-_].*|\D.*[-_]template"
)


@dataclass(frozen=True, slots=True)
class CategoryFolder:
    """Where a document belongs: its category, the folder that says so, the folders below it."""

    category: Category
    stated: bool
    folder: str | None
    below: tuple[str, ...]


def is_about_decisions(path: PurePosixPath) -> bool:
    """Whether a file in a folder of decisions is its index or a template, by name."""
    return _INDEX_OR_TEMPLATE.fullmatch(path.stem.lower()) is not None


def shelf(path: PurePosixPath, parts: Parts, problems: Problems) -> CategoryFolder:
    """Return a document's category: as stated, else by folder, else `reference`."""
    position = _category_folder(path)
    folders = path.parts[:-1]
    by_folder = None if position is None else FOLDERS[folders[position].lower()]
    if by_folder is Category.DECISION and is_about_decisions(path):
        position = by_folder = None
    stated = _stated(parts, by_folder, problems)
    category = stated or by_folder or Category.REFERENCE
    if position is None:
        return CategoryFolder(category, stated is not None, None, _without_root(path))
    folder = folders[position] if category is by_folder else None
    return CategoryFolder(category, stated is not None, folder, folders[position + 1 :])


def _category_folder(path: PurePosixPath) -> int | None:
    """Return which folder of a path names a category: one for SOPs first, else the outermost."""
    folders = [folder.lower() for folder in path.parts[:-1]]
    for root in ROOTS:
        place = below(path, *root)
        if place is not None:
            known = place.below and place.below[0].lower() in FOLDERS
            return len(place.base) + len(root) if known else None
    found = [index for index, folder in enumerate(folders) if folder in FOLDERS]
    sops = [index for index in found if FOLDERS[folders[index]] is Category.SOP]
    return next(iter([*sops, *found]), None)


def _without_root(path: PurePosixPath) -> tuple[str, ...]:
    for root in ROOTS:
        place = below(path, *root)
        if place is not None:
            return place.below
    return path.parts[:-1]


def _stated(parts: Parts, by_folder: Category | None, problems: Problems) -> Category | None:
    written = fields.text(parts, "category", problems)
    if written is None:
        return None
    if written.lower() in FOLDERS:
        return FOLDERS[written.lower()]
    near = nearest(written, FOLDERS)
    used = FOLDERS[near] if near else by_folder or Category.REFERENCE
    hint = f"did you mean {FOLDERS[near]}" if near else f"write one of {', '.join(Category)}"
    message = f"`category: {written}` is no category; the document counts as {used}: {hint}."
    problems.warning(parts.lines.get("category"), "bad_value", message)
    return FOLDERS[near] if near else None


SUFFIXES = frozenset(TEXT_ENDINGS)
_TELLING_KEYS = ("applies_to", "category", "severity")
"""The keys whose misspelling would keep any document from being the rule it was meant to be."""


class OwnReader:
    """Reads the documents in `.hornbook/sources/docs` and `.semspec/sources/docs`."""

    tool = "hornbook"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a text below one of the two folders."""
        return path.suffix.lower() in SUFFIXES and any(below(path, *root) for root in ROOTS)

    def read(self, file: SourceFile) -> Reading:
        """Return what the document says."""
        problems = Problems(file.parts.path)
        return read_own(file, shelf(file.path, file.parts, problems), self.tool, problems)


def read_own(file: SourceFile, place: CategoryFolder, tool: str, problems: Problems) -> Reading:
    """Return the reading of a document that belongs on `place`."""
    parts = file.parts
    problems.extend(parts.problems)
    if place.category is Category.DECISION:
        return read_decision(file, place.stated, problems)
    tell_misspelt(parts, OWN_KEYS if tool == OwnReader.tool else _TELLING_KEYS, problems)
    frame = Frame(
        tool=tool,
        desired_id=document_id(place.category, place.folder, place.below, stem(file.path)),
        binding=_binding(file, place, problems),
        category=place.category,
        category_stated=place.stated,
        own=True,
    )
    return compose(file, frame, problems)


def _binding(file: SourceFile, place: CategoryFolder, problems: Problems) -> ReadBinding:
    """How the document binds; patterns on one that is no rule are worth a word."""
    binding = own_binding(file.parts, place.category, problems)
    if place.category is Category.REFERENCE and binding.patterns and not place.stated:
        message = "It has patterns but is no rule, so it binds nothing: add `category: sop`."
        problems.warning(binding.patterns[0].line, "binds_nothing", message)
    return binding


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
