"""Where tasks are worked on: a worktree each, and what becomes of approved work."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hornbook.commits import git, worktrees
from hornbook.commits import git_tampering as sealing
from hornbook.commits.plan_branch import (
    BranchMoved,
    MergedWork,
    branch_obstacles,
    branch_of,
    land,
    merge_onto,
    start_of,
)
from hornbook.commits.writer import Conflict, make_commit, name_commit
from hornbook.errors import UsageError
from hornbook.loop.protocol import ApprovedWork, WorktreeSnapshot

Made = Callable[[str], bool]
"""Whether a path is one that a gate says it creates."""


OWN = "worktree/"
"""How the names of what is a worktree's own begin in a seal."""


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

    def begin_at(self, plan: str, commit: str) -> None:
        """Have a plan's work begin with a commit."""
        if self._begun.get(plan) != commit:
            name_commit(self._root, f"refs/hornbook/begin/{plan}", commit)
            self._begun[plan] = commit

    def begin_anew(self, plan: str) -> str:
        """Have a plan that nobody worked on begin with the commit that is checked out by now."""
        here = git.commit(self._root, "HEAD")
        self.begin_at(plan, here)
        return here

    def obstacles(self, plan: str) -> list[str]:
        """What would keep approved work from the plan's branch, found before anybody works."""
        return branch_obstacles(self._root, branch_of(plan))

    def _begin(self, plan: str) -> str:
        name = f"refs/hornbook/begin/{plan}"
        known = git.run(self._root, "rev-parse", "--verify", "-q", name)
        if known.returncode:
            here = git.commit(self._root, "HEAD")
            name_commit(self._root, name, here, "0" * len(here))
            return here
        return known.stdout.decode("ascii").strip()

    def base_for(self, plan: str, approved: Sequence[str]) -> str:
        """The commit that holds all of these, or the one that the plan began with.

        Raises:
            UsageError: They contradict each other; names the paths.
        """
        found = start_of(self._root, plan, self.begin(plan), approved)
        if isinstance(found, Conflict):
            raise UsageError(f"approved work cannot be brought together: {found.message}.")
        return found

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
        self._keep(plan, commit)
        problems = [
            f"{path} was written, which is not the developer's" for path in changed.intruding
        ]
        problems += [f"{path} is a repository inside the worktree" for path in changed.nested]
        before = self._seals.get((plan, task))
        if before is not None:
            # What all worktrees share is sealed in the log, and told by the step itself.
            now = self._sealed(found)
            problems += [each for each in sealing.broken(before, now) if each.startswith(OWN)]
        return WorktreeSnapshot(commit, changed.tree, changed.paths, tuple(problems))

    def release(self, plan: str, task: str) -> None:
        """Take away where a task was worked on, if it is there; every attempt stays a commit."""
        worktrees.discard(self._root, plan, task)
        self._seals.pop((plan, task), None)

    def approve(
        self,
        plan: str,
        work: ApprovedWork,
        message: str,
        trailers: Sequence[tuple[str, str]],
    ) -> str | BranchMoved:
        """The commit of approved work, which the plan's branch now holds, or why it does not.

        Raises:
            UsageError: Git refused, or the branch is checked out.
        """
        made = make_commit(self._root, work.tree, (work.base,), message, trailers=trailers)
        if work.apart:
            self._keep(plan, made)
            return made
        found = land(self._root, plan, made, base=work.base, judged=work.judged)
        return found if isinstance(found, BranchMoved) else made

    def merge(self, plan: str, task: str, tip: str, commit: str, base: str) -> MergedWork:
        """The work of a commit on top of what the plan's branch has by now.

        Raises:
            UsageError: Git cannot merge them.
        """
        message = f"attempt at {task} on top of {tip[:12]}"
        found = merge_onto(self._root, tip, commit, base, message)
        self._keep(plan, found.commit)
        return found

    def _keep(self, plan: str, commit: str) -> None:
        """Name a commit that reviews and events cite: git would throw it away some day."""
        name_commit(self._root, f"refs/hornbook/attempts/{plan}/{commit}", commit)

    def _sealed(self, found: worktrees.Worktree) -> Mapping[str, str]:
        return sealing.seal(self._root, found.administration, found.path / ".git")
