"""Where tasks are worked on: a worktree each, and what becomes of approved work."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hornbook.commits import git, worktrees
from hornbook.commits import git_tampering as sealing
from hornbook.commits.writer import (
    Conflict,
    advance,
    branch_obstacles,
    branch_of,
    make_commit,
    start_of,
    write,
)
from hornbook.errors import UsageError
from hornbook.loop.protocol import WorktreeSnapshot

Made = Callable[[str], bool]
"""Whether a path is one that a gate says it creates."""


class TaskWorktrees:
    """The worktrees of a repository's tasks; asked for the same again, each gives the same."""

    def __init__(self, root: Path, made_by_gates: Made) -> None:
        self._root = root
        self._made = made_by_gates
        self._seals: dict[tuple[str, str], Mapping[str, str]] = {}
        self._begun: dict[str, str] = {}

    def begin(self, plan: str) -> str:
        """The commit that a plan's work began with; fixed the first time it is asked for."""
        if plan not in self._begun:
            self._begun[plan] = self._begin(plan)
        return self._begun[plan]

    def obstacles(self, plan: str) -> list[str]:
        """What would keep approved work from the plan's branch, found before anybody works."""
        return branch_obstacles(self._root, branch_of(plan))

    def _begin(self, plan: str) -> str:
        name = f"refs/hornbook/begin/{plan}"
        known = git.run(self._root, "rev-parse", "--verify", "-q", name)
        if known.returncode:
            here = git.commit(self._root, "HEAD")
            write(self._root, "update-ref", name, here, "0" * len(here))
            return here
        return known.stdout.decode("ascii").strip()

    def base_for(self, plan: str, approved: Sequence[str]) -> str:
        """The commit that holds all of these, or the one that the plan began with.

        Raises:
            UsageError: They contradict each other; names the paths.
        """
        return _agreed(start_of(self._root, self.begin(plan), approved))

    def ensure(self, plan: str, task: str, commit: str) -> str:
        """The folder of a task's worktree, its files exactly those of a commit."""
        found = worktrees.prepare(self._root, plan, task, commit)
        self._seals[plan, task] = self._sealed(found)
        return str(found.folder)

    def change(self, plan: str, task: str, base: str) -> WorktreeSnapshot:
        """What the files of the worktree are now, against the base.

        Raises:
            UsageError: There is no worktree any more.
        """
        found = worktrees.find(self._root, plan, task)
        if found is None:
            raise UsageError(f"the worktree of {task} is gone or damaged: run it again.")
        changed = worktrees.change_set(found, base, self._made)
        commit = make_commit(self._root, changed.tree, (base,), f"attempt at {task}")
        # Reviews and events cite it: without a name git would throw it away some day.
        write(self._root, "update-ref", f"refs/hornbook/attempts/{plan}/{commit}", commit)
        problems = [
            f"{path} was written, which is not the developer's" for path in changed.intruding
        ]
        problems += [f"{path} is a repository inside the worktree" for path in changed.nested]
        before = self._seals.get((plan, task))
        if before is not None:
            problems += sealing.broken(before, self._sealed(found))
        return WorktreeSnapshot(commit, changed.tree, changed.paths, tuple(problems))

    def release(self, plan: str, task: str) -> None:
        """Take away where a task was worked on, if it is there; every attempt stays a commit."""
        worktrees.discard(self._root, plan, task)
        self._seals.pop((plan, task), None)

    def approve(
        self,
        plan: str,
        snapshot: WorktreeSnapshot,
        base: str,
        message: str,
        trailers: Sequence[tuple[str, str]],
    ) -> str:
        """The commit of approved work, which the plan's branch now holds.

        Raises:
            UsageError: It cannot be brought onto the branch; names the paths.
        """
        made = make_commit(self._root, snapshot.tree, (base,), message, trailers=trailers)
        _agreed(advance(self._root, plan, made))
        return made

    def _sealed(self, found: worktrees.Worktree) -> Mapping[str, str]:
        return sealing.seal(self._root, found.administration, found.path / ".git")


def _agreed(found: str | Conflict) -> str:
    if isinstance(found, Conflict):
        raise UsageError(f"approved work cannot be brought together: {found.message}.")
    return found
