"""What approved work becomes: a commit with its proof, on the branch of its plan."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hornbook.errors import UsageError
from hornbook.git.writing import Conflict, branch_tip, merged, move_branch

BRANCHES = "hornbook/"


@dataclass(frozen=True, slots=True)
class Proof:
    """What a commit of approved work says about itself: ids, and hashes of receipt and events."""

    plan: str
    task: str
    run: str
    receipt: str
    events: str

    @property
    def trailers(self) -> tuple[tuple[str, str], ...]:
        """The lines at the end of the message."""
        return (
            ("Hornbook-Plan", self.plan),
            ("Hornbook-Task", self.task),
            ("Hornbook-Run", self.run),
            ("Hornbook-Receipt", self.receipt),
            ("Hornbook-Events", self.events),
        )


def branch_of(slug: str) -> str:
    """The branch that a plan's approved work is on."""
    return BRANCHES + slug


def start_of(root: Path, begin: str, approved: Sequence[str]) -> str | Conflict:
    """What a task builds on: its dependencies' approved commits merged, else where the plan began.

    Raises:
        UsageError: One of them is no commit.
    """
    return merged(root, approved or [begin])


def advance(root: Path, slug: str, approved: str) -> str | Conflict:
    """The new tip of the plan's branch, which now holds the approved commit.

    Raises:
        UsageError: The branch is checked out somewhere, or git refused.
    """
    branch = branch_of(slug)
    tip = branch_tip(root, branch)
    found = merged(root, [approved] if tip is None else [tip, approved])
    if isinstance(found, Conflict):
        return found
    if found != tip:
        move_branch(root, branch, found)
    return found


def begin(root: Path, slug: str, revision: str) -> str:
    """Where a plan's branch stands; it is made at a revision if there is none yet.

    Raises:
        UsageError: The revision is no commit.
    """
    tip = branch_tip(root, branch_of(slug))
    if tip is not None:
        return tip
    found = merged(root, [revision])
    if isinstance(found, Conflict):
        raise UsageError(f"{revision}: {found.message}")
    move_branch(root, branch_of(slug), found)
    return found
