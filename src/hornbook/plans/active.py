"""The active plan: one file that names it."""

from pathlib import Path

from hornbook.errors import UsageError
from hornbook.plans.files import write_if_changed
from hornbook.rules.ids import slug as slug_of

POINTER = "ACTIVE_PLAN"


def active_plan(state: Path) -> str | None:
    """The slug of the active plan; None where none was chosen.

    Raises:
        UsageError: The file that names it holds anything but one slug.
    """
    try:
        text = (state / POINTER).read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    lines = text.splitlines()
    if len(lines) != 1 or not lines[0].strip():
        found = "is empty" if not text.strip() else f"has {len(lines)} lines"
        raise UsageError(
            f".hornbook/{POINTER} {found}: it holds one slug; `hornbook plans use SLUG` writes it."
        )
    slug = lines[0].strip()
    if slug_of(slug) != slug:
        raise UsageError(
            f".hornbook/{POINTER} holds {slug!r}, which is no slug: "
            "`hornbook plans use SLUG` writes it."
        )
    return slug


def required_plan(state: Path, given: str | None) -> str:
    """The slug that was given, else that of the active plan.

    Raises:
        UsageError: There is neither.
    """
    slug = given or active_plan(state)
    if slug is None:
        raise UsageError(
            f"no plan is named and there is no .hornbook/{POINTER}: name one, or choose it with "
            "`hornbook plans use SLUG`."
        )
    return slug


def choose_plan(state: Path, slug: str) -> None:
    """Make a plan the active one."""
    write_if_changed(state / POINTER, f"{slug}\n")
