"""The seam between the loop and whoever drives it: one step at a time, each safe to repeat."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hornbook.agents.assignment import Agent, Role

if TYPE_CHECKING:
    from hornbook.commits.plan_branch import BranchMoved, MergedWork


class StepKind(StrEnum):
    """What became of a run by one step."""

    CONTINUED = "continued"
    WAITING = "waiting"
    ASKING = "asking"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """Where a run stands after a step.

    `seconds` is how long to wait before the next one, when it is `waiting`; `spawned` are the
    runs that this step started: somebody has to step them too, and starting one twice is harmless.
    `needs` are limited places that the next step has to hold: nothing was done for want of them.
    """

    kind: StepKind
    run_id: str
    seconds: float = 0.0
    status: str = ""
    message: str = ""
    spawned: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    question: int = 0
    """The number of the event that asks a person, in the log of its plan; 0 if none does."""


class Loop(Protocol):
    """Runs, moved on from what the events say; nothing else is remembered between two steps."""

    def start(self, plan: str, task: str | None, *, agent: str | None, run_id: str) -> StepOutcome:
        """Begin a run of a task, or of a whole plan; one that was begun already is left alone.

        A plan that fails its check does not start: the answer is `ended` with status `refused`.
        """
        ...

    def step(self, run_id: str, held: Collection[str] | None = None) -> StepOutcome:
        """Do the one thing that comes next; after a crash the interrupted one is done again.

        `held` are the limited places that this step may use, None where nobody counts them.
        """
        ...

    def gave_up(self, run_id: str, reason: str, status: str) -> StepOutcome:
        """Note that whoever drives it could not go on with a run: a person is asked.

        `status` is what it would be without one: failed, or timed out.
        """
        ...


class Staff(Protocol):
    """Everybody who can be asked."""

    def worker(self, role: Role, name: str | None) -> Agent | None:
        """Who does a role, or the one of that name; None if nobody does.

        Raises:
            UsageError: Nobody has that name.
        """
        ...

    def reviewers(self, name: str | None) -> Sequence[Agent]:
        """Who reviews, in the order in which they are asked, each name once; none if nobody does.

        Raises:
            UsageError: Nobody has that name.
        """
        ...


@dataclass(frozen=True, slots=True)
class WorktreeSnapshot:
    """The files of a worktree as a commit on top of the task's base, and what differs from it.

    `problems` are things that no diff shows: a nested repository, a tampered `.git`.
    """

    commit: str
    tree: str
    files: tuple[str, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ApprovedWork:
    """A tree that was approved, and the commit that it was made on.

    `judged` are the tip of the plan's branch and the tree of the two together, where that was
    judged too. What is `apart` comes onto the branch with the work that is built on it.
    """

    tree: str
    base: str
    judged: tuple[str, str] | None = None
    apart: bool = False


class Worktrees(Protocol):
    """Where tasks are worked on; asked for the same thing again, each gives the same again."""

    def begin(self, plan: str) -> str:
        """The commit that a plan's work began with; fixed the first time it is asked for."""
        ...

    def begin_at(self, plan: str, commit: str) -> None:
        """Have a plan's work begin with a commit."""
        ...

    def begin_anew(self, plan: str) -> str:
        """Have a plan that nobody worked on begin with the commit that is checked out by now."""
        ...

    def obstacles(self, plan: str) -> Sequence[str]:
        """What would keep approved work from the plan's branch, found before anybody works."""
        ...

    def base_for(self, plan: str, approved: Sequence[str]) -> str:
        """The commit that holds all of these, or the one that the plan began with.

        Raises:
            UsageError: They contradict each other; names the paths.
        """
        ...

    def ensure(self, plan: str, task: str, commit: str) -> str:
        """The folder of a task's worktree, its files exactly those of a commit.

        `.hornbook` and `.semspec` are not in it.
        """
        ...

    def change(self, plan: str, task: str, base: str) -> WorktreeSnapshot:
        """What the files of the worktree are now, against the base."""
        ...

    def release(self, plan: str, task: str) -> None:
        """Take away where a task was worked on, if it is there; every attempt stays a commit."""
        ...

    def approve(
        self,
        plan: str,
        work: ApprovedWork,
        message: str,
        trailers: Sequence[tuple[str, str]],
    ) -> "str | BranchMoved":
        """The commit of approved work, which the plan's branch now holds.

        Where the branch has work that this was neither made on nor judged with, nothing is moved.
        """
        ...

    def merge(self, plan: str, task: str, tip: str, commit: str, base: str) -> "MergedWork":
        """The work of a commit on top of what the plan's branch has by now."""
        ...


class Exchange(Protocol):
    """How what a step makes comes to other machines, and theirs here."""

    def fetch(self, plan: str) -> None:
        """Take over what others made of a plan and is missing here."""

    def put(self, plan: str, path: Path) -> None:
        """Share a file that a step keeps, before the step counts."""

    def put_commit(self, plan: str, commit: str) -> None:
        """Share a commit, before the step that made it counts."""

    def put_blob(self, plan: str, name: str, data: bytes) -> None:
        """Share the text of a file that no commit has."""


class NoExchange:
    """One machine with a database of its own: nothing has to go anywhere."""

    def fetch(self, plan: str) -> None:
        """Everything is here."""

    def put(self, plan: str, path: Path) -> None:
        """It is here."""

    def put_commit(self, plan: str, commit: str) -> None:
        """Git has it here."""

    def put_blob(self, plan: str, name: str, data: bytes) -> None:
        """Git has it here."""
