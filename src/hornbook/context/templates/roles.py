"""What a role is told: the shipped instructions, or those of the team's own template."""

from functools import cache
from pathlib import Path

from hornbook.commits import git
from hornbook.context.templates.template import TaskTemplate, require_template
from hornbook.resources import PACKAGE

TEMPLATES = ".hornbook/templates"
FORM_BEGINS = "Rules, decisions, signatures, "
"""Where the shipped text of the reviewer turns from judging to the form of the answer."""


@cache
def shipped_instructions(role: str) -> str:
    """The instructions of a role, as shipped."""
    path = PACKAGE / "context/prompts" / f"{role}.md"
    return path.read_text(encoding="utf-8")


def instructions(role: str, root: Path, *, at: str | None = None) -> str:
    """What a role is told here; with `at`, as the template of that commit says.

    `.hornbook/templates/<role>.xml` takes the place of the shipped instructions: the texts of
    its prompt parts, in order. The form of a review stays, or no review could be checked.

    Raises:
        ConfigError: The template is wrong; carries every problem.
    """
    shipped = shipped_instructions(role)
    origin = f"{TEMPLATES}/{role}.xml"
    data = _template(root, origin, at)
    if data is None:
        return shipped
    parts = [part.text for part in require_template(data, origin).prompt]
    if not parts:
        return shipped
    place = shipped.find(FORM_BEGINS)
    form = [] if place < 0 else [shipped[place:].rstrip("\n")]
    return "\n\n".join([*parts, *form]) + "\n"


def reviewer_instructions(root: Path, *, at: str | None, refute: bool) -> str:
    """What a reviewer is told; who is to `refute` is told that first, and all else as well.

    Raises:
        ConfigError: The template is wrong; carries every problem.
    """
    told = instructions("reviewer", root, at=at)
    return shipped_instructions("refuter") + told if refute else told


def _template(root: Path, path: str, at: str | None) -> bytes | None:
    if at is None:
        file = root / path
        return file.read_bytes() if file.is_file() else None
    blob = git.files_at(root, at).get(path)
    return None if blob is None else git.blobs(root, [blob])[blob]


SHIPPED = ("loop", "developer", "gates", "reviewer", "decomposition")


@cache
def shipped_template(name: str) -> TaskTemplate:
    """One of the `SHIPPED` templates.

    Raises:
        FileNotFoundError: None has that name.
    """
    file = PACKAGE / "context/templates" / f"{name}.xml"
    return require_template(file.read_bytes(), f"{name}.xml")
