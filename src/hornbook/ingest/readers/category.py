"""The category of one of our own documents, and the folder that gives it."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from hornbook.ingest.frontmatter import Parts
from hornbook.ingest.keys import nearest
from hornbook.ingest.problems import Problems
from hornbook.ingest.readers import fields
from hornbook.ingest.readers.folders import below
from hornbook.model import Category

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
class Shelf:
    """Where a document belongs: its category, the folder that says so, the folders below it."""

    category: Category
    stated: bool
    folder: str | None
    below: tuple[str, ...]


def is_about_decisions(path: PurePosixPath) -> bool:
    """Whether a file in a folder of decisions is its index or a template, by name."""
    return _INDEX_OR_TEMPLATE.fullmatch(path.stem.lower()) is not None


def shelf(path: PurePosixPath, parts: Parts, problems: Problems) -> Shelf:
    """Return a document's category: as stated, else by folder, else `reference`."""
    position = _category_folder(path)
    folders = path.parts[:-1]
    by_folder = None if position is None else FOLDERS[folders[position].lower()]
    if by_folder is Category.DECISION and is_about_decisions(path):
        position = by_folder = None
    stated = _stated(parts, by_folder, problems)
    category = stated or by_folder or Category.REFERENCE
    if position is None:
        return Shelf(category, stated is not None, None, _without_root(path))
    folder = folders[position] if category is by_folder else None
    return Shelf(category, stated is not None, folder, folders[position + 1 :])


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
