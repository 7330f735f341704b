"""Worktrees of tasks whose plan several machines work on: one beginning, one branch for all."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from hornbook.commits.git import commit, is_ancestor
from hornbook.commits.plan_branch import BranchMoved, MergedWork, branch_of
from hornbook.commits.writer import (
    branch_tip,
    committing_as,
    common_folder,
    identity,
    move_branch,
    name_commit,
)
from hornbook.disk import locked, now
from hornbook.errors import EventLogError, UsageError
from hornbook.loop.exchange import BRANCH, SharedExchange
from hornbook.loop.protocol import ApprovedWork, Worktrees, WorktreeSnapshot
from hornbook.loop.task_worktrees import TaskWorktrees
from hornbook.plans.workspace_log import open_log
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings

OVERLAP = 120.0
"""Seconds by which two looks at what moved overlap: a transaction may end after a later one."""
TRIES = 20
"""How often others may be faster with a plan's branch before a person is asked."""


class SharedWorktrees:
    """Worktrees as one machine has them, with what they make shared before it is given back.

    Where a plan began, who commits, and what a task builds on is decided by the machine that first
    asks; the others follow. Its branch is where the database says that it is: this machine's own
    is brought there before it is moved, and has moved only once the database agrees.
    """

    def __init__(self, inner: Worktrees, exchange: SharedExchange, root: Path) -> None:
        self._inner = inner
        self._exchange = exchange
        self._root = root
        self._begun: dict[str, str] = {}

    def begin(self, plan: str) -> str:
        """The commit that a plan's work began with, on whichever machine that was."""
        if plan not in self._begun:
            begun = self._exchange.settle(f"begin/{plan}", lambda: self._first(plan))
            self._exchange.need(plan, begun)
            self._inner.begin_at(plan, begun)
            self._begun[plan] = begun
        return self._begun[plan]

    def begin_at(self, plan: str, commit: str) -> None:
        """Have a plan's work begin with a commit, on all machines.

        Raises:
            UsageError: Another machine had it begin elsewhere meanwhile.
        """
        self._exchange.share(plan, commit)
        if not self._exchange.move(f"begin/{plan}", commit, self._exchange.ref(f"begin/{plan}")):
            raise UsageError(f"another machine had plan {plan} begin elsewhere: try again.")
        self._begun.pop(plan, None)

    def begin_anew(self, plan: str) -> str:
        """Have a plan that nobody worked on begin with what is checked out here by now."""
        self.begin_at(plan, commit(self._root, "HEAD"))
        return self.begin(plan)

    def _first(self, plan: str) -> str:
        """Where the plan begins if no machine began it: where this one did, or stands now."""
        try:
            here = commit(self._root, f"refs/hornbook/begin/{plan}")
        except UsageError:
            here = commit(self._root, "HEAD")
        self._exchange.share(plan, here)
        return here

    def obstacles(self, plan: str) -> Sequence[str]:
        """What would keep approved work from the plan's branch, on this machine."""
        return self._inner.obstacles(plan)

    def base_for(self, plan: str, approved: Sequence[str]) -> str:
        """The commit that holds all of these; that of several is made once for all machines.

        Raises:
            UsageError: They contradict each other, or one of them is nowhere to be had.
        """
        begun = self.begin(plan)
        for each in approved:
            self._exchange.need(plan, each)
        if len(approved) < 2:
            return self._inner.base_for(plan, approved)
        key = sha256("\n".join([begun, *sorted(approved)]).encode()).hexdigest()[:32]
        made = self._exchange.settle(f"base/{plan}/{key}", lambda: self._base(plan, approved))
        self._exchange.need(plan, made)
        return made

    def _base(self, plan: str, approved: Sequence[str]) -> str:
        with self._as_plan(plan):
            made = self._inner.base_for(plan, approved)
        self._exchange.share(plan, made)
        return made

    def ensure(self, plan: str, task: str, commit: str) -> str:
        """The folder of a task's worktree, whichever machine made the commit."""
        self._exchange.need(plan, commit)
        return self._inner.ensure(plan, task, commit)

    def change(self, plan: str, task: str, base: str) -> WorktreeSnapshot:
        """What the files of the worktree are now; every machine can have the commit."""
        with self._as_plan(plan):
            found = self._inner.change(plan, task, base)
        self._exchange.share(plan, found.commit)
        return found

    def release(self, plan: str, task: str) -> None:
        """Take away where a task was worked on, here."""
        self._inner.release(plan, task)

    def approve(
        self,
        plan: str,
        work: ApprovedWork,
        message: str,
        trailers: Sequence[tuple[str, str]],
    ) -> str | BranchMoved:
        """The commit of approved work, which the plan's one branch now holds, or why it does not.

        Raises:
            UsageError: It cannot be brought onto the branch.
        """
        return self._landed(plan, lambda: self._inner.approve(plan, work, message, trailers))

    def merge(self, plan: str, task: str, tip: str, commit: str, base: str) -> MergedWork:
        """The work of a commit on top of the plan's branch; every machine can have it."""
        for each in (tip, commit, base):
            self._exchange.need(plan, each)
        with self._as_plan(plan):
            found = self._inner.merge(plan, task, tip, commit, base)
        self._exchange.share(plan, found.commit)
        return found

    def _landed(self, plan: str, land: Callable[[], str | BranchMoved]) -> str | BranchMoved:
        """Have the branch moved here, and then for all; again, if another machine was faster."""
        for _ in range(TRIES):
            with self._alone():
                before = self._followed(plan)
                with self._as_plan(plan):
                    made = land()
                if isinstance(made, BranchMoved):
                    return made
                after = branch_tip(self._root, branch_of(plan))
                self._exchange.share(plan, made)
                if after in {before, None}:
                    return made
                self._exchange.share(plan, str(after))
                if self._exchange.move(f"{BRANCH}{plan}", str(after), before):
                    return made
                self._put_back(plan)
        raise UsageError(f"{TRIES} times other machines moved the branch of {plan}: try again.")

    def follow(self, plan: str) -> str | None:
        """Bring this machine's branch of a plan to where all machines have it."""
        with self._alone():
            return self._followed(plan)

    def _followed(self, plan: str) -> str | None:
        name, here = f"{BRANCH}{plan}", branch_tip(self._root, branch_of(plan))
        tip = self._exchange.ref(name)
        if tip is None and here is not None:
            self._exchange.share(plan, here)
            tip = self._exchange.settle(name, lambda: here)
        if tip is not None and tip != here:
            self._exchange.need(plan, tip)
            if here is not None and not is_ancestor(self._root, here, tip):
                name_commit(self._root, f"refs/hornbook/left/{plan}/{here}", here)
            move_branch(self._root, branch_of(plan), tip, here)
        return tip

    def _put_back(self, plan: str) -> None:
        """Let go of a tip that the others do not have; what was made of it is made again."""
        tip = self._exchange.ref(f"{BRANCH}{plan}")
        if tip is not None:
            self._exchange.need(plan, tip)
            here = branch_tip(self._root, branch_of(plan))
            move_branch(self._root, branch_of(plan), tip, here)

    @contextmanager
    def _as_plan(self, plan: str) -> Iterator[None]:
        """Commit as whoever began the plan, on every machine."""
        self.begin(plan)
        said = self._exchange.settle(
            f"identity/{plan}", lambda: json.dumps(dict(identity(self._root)), sort_keys=True)
        )
        with committing_as(json.loads(said)):
            yield

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One process of this machine at a time brings branches to where others have them."""
        folder = common_folder(self._root) / "hornbook"
        folder.mkdir(exist_ok=True)
        with locked(folder / "shared-branches"):
            yield


class FollowingExchange:
    """An exchange that also brings the plan's branch here, whenever it is asked for a plan."""

    def __init__(self, exchange: SharedExchange, worktrees: SharedWorktrees) -> None:
        self._exchange = exchange
        self._worktrees = worktrees

    def fetch(self, plan: str) -> None:
        """Take over what others made of a plan, and its branch."""
        self._exchange.fetch(plan)
        # Where a person has it checked out, whatever would move it says so.
        if not self._worktrees.obstacles(plan):
            self._worktrees.follow(plan)

    def put(self, plan: str, path: Path) -> None:
        """Share a file that a step keeps, before the step counts."""
        self._exchange.put(plan, path)

    def put_commit(self, plan: str, commit: str) -> None:
        """Share a commit, before the step that made it counts."""
        self._exchange.share(plan, commit)

    def put_blob(self, plan: str, name: str, data: bytes) -> None:
        """Share the text of a file that no commit has."""
        self._exchange.put_blob(plan, name, data)


@contextmanager
def open_shared(
    places: Places, settings: Settings, worktrees: Worktrees
) -> Iterator[tuple[FollowingExchange, SharedWorktrees]]:
    """The exchange of a workspace that shares its database, and its worktrees over it."""
    exchange = SharedExchange(places, settings)
    try:
        shared = SharedWorktrees(worktrees, exchange, places.root)
        yield FollowingExchange(exchange, shared), shared
    finally:
        exchange.close()


class BranchFollower:
    """Brings the branches of plans here that moved since it was last asked to."""

    def __init__(self, places: Places, settings: Settings) -> None:
        self._places = places
        self._settings = settings
        self._since: float | None = None
        self._behind: frozenset[str] = frozenset()

    def __call__(self) -> None:
        """Follow them, and have the exports of their logs here.

        Raises:
            UsageError: Some are checked out here, or cannot be had whole; the others are followed.
        """
        exchange = SharedExchange(self._places, self._settings)
        log = open_log(self._places, self._settings, now)
        try:
            moment, plans = exchange.moved_since(self._since)
            shared = SharedWorktrees(
                TaskWorktrees(self._places.root, lambda _path: False), exchange, self._places.root
            )
            problems: dict[str, str] = {}
            for plan in sorted({*plans, *self._behind}):
                try:
                    log.sync(plan)
                    shared.follow(plan)
                except (UsageError, EventLogError) as problem:
                    problems[plan] = str(problem)
            self._since, self._behind = moment - OVERLAP, frozenset(problems)
        finally:
            log.close()
            exchange.close()
        if problems:
            raise UsageError(" ".join(f"Plan {plan}: {said}" for plan, said in problems.items()))
