"""Ids of documents: what each would like to be called, and who gets a name that two want."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from hornbook.vocabulary.terms import Category

FAMILIES = ("source.doc.", "decision.", "convention.")
"""The beginnings a declared id with dots may have."""

# Latin letters that no Unicode form takes apart.
_LETTERS = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "þ": "th"})
_SEGMENT = re.compile(r"[a-z0-9][a-z0-9_-]*")
_PART_OF_DOCUMENT = re.compile(r"\.(?:chunk\.\d+|rev\.[0-9a-f]+)$")


@dataclass(frozen=True, slots=True)
class IdAssignment:
    """The id of each path, and for each path that could not have its own the one that has it."""

    ids: Mapping[str, str]
    clashes: Mapping[str, str] = field(default_factory=dict)


def slug(text: str) -> str:
    """Return `text` in lower-case letters, digits and single hyphens, never empty."""
    plain = unicodedata.normalize("NFKD", text.lower()).encode("ascii", "ignore").decode("ascii")
    found = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    return found or "x" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def title_slug(title: str) -> str:
    """Return the slug of a title; what files are called keeps the ids that it always had."""
    return slug(title.lower().translate(_LETTERS))


def document_id(category: Category, folder: str | None, folders: Iterable[str], name: str) -> str:
    """Return the id of one of our own documents.

    `folder` is the category folder as it is called, `folders` those between it and the file.
    """
    if category is Category.DECISION:
        return f"decision.{slug(name)}"
    family = "sops" if category is Category.SOP else slug(folder) if folder else category.value
    return f"source.doc.{family}.{_joined(folders, name)}"


def imported_id(tool: str, folders: Iterable[str], path: PurePosixPath) -> str:
    """Return the id of a rule file of another tool; `folders` are those that tell it apart."""
    return f"source.doc.sops.{_joined([tool, *folders], stem(path))}"


def declared_id(declared: str, otherwise: str) -> str | None:
    """Return the id a document declares: whole, or a word that ends `otherwise`'s family.

    None if it is no id.
    """
    text = declared.strip()
    if "." not in text:
        return f"{otherwise.rpartition('.')[0]}.{slug(text)}" if text else None
    sound = all(map(_SEGMENT.fullmatch, text.split(".")))
    if not sound or not text.startswith(FAMILIES) or _PART_OF_DOCUMENT.search(text):
        return None
    return text


def assign_ids(desired: Mapping[str, str]) -> IdAssignment:
    """Return an id for every path: the first path that wants an id has it, later ones a suffix.

    The answer depends on the whole set only, not on its order.
    """
    holders: dict[str, str] = {}
    for path in sorted(desired):
        holders.setdefault(desired[path], path)
    ids = {path: wanted for wanted, path in holders.items()}
    clashes: dict[str, str] = {}
    for path in sorted(desired):
        if path not in ids:
            clashes[path] = holders[desired[path]]
            ids[path] = _suffixed(desired[path], path, holders)
            holders[ids[path]] = path
    return IdAssignment({path: ids[path] for path in sorted(ids)}, clashes)


def _suffixed(wanted: str, path: str, taken: Mapping[str, str]) -> str:
    digest = hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()
    lengths = range(6, len(digest) + 1)
    return next(f"{wanted}-{digest[:n]}" for n in lengths if f"{wanted}-{digest[:n]}" not in taken)


def _joined(folders: Iterable[str], name: str) -> str:
    return "-".join(slug(part) for part in (*folders, name))


def stem(path: PurePosixPath) -> str:
    """Return the file's name without the endings that only say its format."""
    name = re.sub(r"(?:\.instructions)?\.(?:md|markdown|mdc|txt|rst)$", "", path.name)
    return name or path.name
