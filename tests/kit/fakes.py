"""Stand-ins that do the real thing in small: worktrees by git, agents by a script."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from hornbook.agents.assignment import Agent, Answer, Assignment, Record, Role
from hornbook.agents.scripted_agent import Line, cited_lines
from hornbook.commits.plan_branch import BranchMoved, MergedWork, land, merge_onto
from hornbook.errors import UsageError
from hornbook.loop.protocol import ApprovedWork, WorktreeSnapshot

WHO = {
    "GIT_AUTHOR_NAME": "Fake",
    "GIT_AUTHOR_EMAIL": "fake@localhost",
    "GIT_COMMITTER_NAME": "Fake",
    "GIT_COMMITTER_EMAIL": "fake@localhost",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}
HIDDEN = (".hornbook", ".semspec")


def git(root: Path, *arguments: str, **environment: str) -> str:
    """What git prints."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    done = subprocess.run(
        ["git", "-c", "core.hooksPath=/dev/null", "-C", str(root), *arguments],
        capture_output=True,
        check=False,
        env={**inherited, **WHO, **environment},
    )
    if done.returncode:
        raise UsageError(f"git {arguments[0]}: {done.stderr.decode()}")
    return done.stdout.decode().strip()


class GitWorktrees:
    """Worktrees as plain folders, filled and read by git; everything is deterministic."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def begin(self, plan: str) -> str:
        """The commit that the plan's work began with."""
        name = f"refs/hornbook/begin/{plan}"
        kept = self._root / ".git" / name  # nothing packs the references of a test
        if not kept.exists():
            git(self._root, "update-ref", name, "HEAD")
        return kept.read_text("ascii").strip()

    def begin_at(self, plan: str, commit: str) -> None:
        """Have the plan's work begin with a commit."""
        git(self._root, "update-ref", f"refs/hornbook/begin/{plan}", commit)

    def begin_anew(self, plan: str) -> str:
        """Have the plan's work begin with the commit that is checked out."""
        self.begin_at(plan, git(self._root, "rev-parse", "HEAD"))
        return self.begin(plan)

    def obstacles(self, plan: str) -> list[str]:
        """Nothing stands in the way."""
        return []

    def base_for(self, plan: str, approved: Sequence[str]) -> str:
        """The commit that holds all of these."""
        commits = sorted(set(approved)) or [self.begin(plan)]
        if len(commits) == 1:
            return commits[0]
        heads = sorted(git(self._root, "merge-base", "--independent", *commits).split())
        whole = heads[0]
        for head in heads[1:]:
            tree = git(self._root, "merge-tree", "--write-tree", whole, head)
            whole = git(self._root, "commit-tree", tree, "-p", whole, "-p", head, "-m", "merge")
        return whole

    def ensure(self, plan: str, task: str, commit: str) -> str:
        """The folder with exactly the files of a commit, without the rules."""
        folder = self.folder(plan, task)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with tempfile.TemporaryDirectory() as place:
            index = {"GIT_INDEX_FILE": str(Path(place) / "index")}
            git(self._root, "read-tree", commit, **index)
            git(self._root, "checkout-index", "-a", "-f", f"--prefix={folder}/", **index)
        for name in HIDDEN:
            shutil.rmtree(folder / name, ignore_errors=True)
        return str(folder)

    def change(self, plan: str, task: str, base: str) -> WorktreeSnapshot:
        """What the files are now, against the base."""
        folder = self.folder(plan, task)
        with tempfile.TemporaryDirectory() as place:
            where = {
                "GIT_INDEX_FILE": str(Path(place) / "index"),
                "GIT_DIR": str(self._root / ".git"),
                "GIT_WORK_TREE": str(folder),
            }
            git(folder, "read-tree", base, **where)
            outside = [f":(top,exclude){name}" for name in HIDDEN]
            git(folder, "add", "-A", "--", ":(top)", *outside, **where)
            tree = git(folder, "write-tree", **where)
        commit = git(self._root, "commit-tree", tree, "-p", base, "-m", f"attempt at {task}")
        files = git(self._root, "diff", "--name-only", base, commit).splitlines()
        intruding = [name for name in HIDDEN if (folder / name).exists()]
        return WorktreeSnapshot(
            commit, tree, tuple(files), tuple(f"{n} was written" for n in intruding)
        )

    def release(self, plan: str, task: str) -> None:
        """Take away the folder of a task."""
        shutil.rmtree(self.folder(plan, task), ignore_errors=True)

    def approve(
        self,
        plan: str,
        work: ApprovedWork,
        message: str,
        trailers: Sequence[tuple[str, str]],
    ) -> str | BranchMoved:
        """The commit of approved work, on the plan's branch."""
        lines = "\n".join(f"{key}: {value}" for key, value in trailers)
        text = f"{message}\n\n{lines}\n"
        commit = git(self._root, "commit-tree", work.tree, "-p", work.base, "-m", text)
        if work.apart:
            return commit
        found = land(self._root, plan, commit, base=work.base, judged=work.judged)
        return found if isinstance(found, BranchMoved) else commit

    def merge(self, plan: str, task: str, tip: str, commit: str, base: str) -> MergedWork:
        """The work of a commit on top of what the plan's branch has by now."""
        return merge_onto(self._root, tip, commit, base, f"attempt at {task}")

    def folder(self, plan: str, task: str) -> Path:
        """Where the worktree of a task lies."""
        return self._root / ".hornbook" / "worktrees" / plan / task


Move = Callable[[Assignment], Answer]


@dataclass
class Script:
    """An agent that does a move for each attempt, the last one for all further ones.

    What it does depends on the assignment alone, so that it does the same after a crash.
    """

    name: str
    moves: Sequence[Move]
    seen: list[Assignment] = field(default_factory=list)

    def work(self, assignment: Assignment, record: Record) -> Answer:
        """Do the move of this attempt."""
        self.seen.append(assignment)
        record({"kind": "agent.started", "agent": self.name, "role": assignment.role.value})
        return self.moves[min(assignment.attempt, len(self.moves)) - 1](assignment)


@dataclass
class Everybody:
    """Agents by role; whoever is asked for by name must be one of them."""

    workers: Mapping[Role, Agent]
    more_reviewers: Sequence[Agent] = ()

    def worker(self, role: Role, name: str | None) -> Agent | None:
        """Who does a role."""
        if name is not None and name not in {each.name for each in self.workers.values()}:
            raise UsageError(f"nobody is called {name!r}.")
        return self.workers.get(role)

    def reviewers(self, name: str | None) -> Sequence[Agent]:
        """Who reviews, in order."""
        first = self.worker(Role.REVIEWER, name)
        return [first, *self.more_reviewers] if first is not None else []


def writes(files: Mapping[str, str], **answer: object) -> Move:
    """A developer who writes these files; a text `-> x` makes a link to x.

    Told that it was not right they write it anew: a rejected tree is not offered again.
    """

    def move(assignment: Assignment) -> Answer:
        for path, text in files.items():
            target = Path(assignment.folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if text.startswith("-> "):
                target.unlink(missing_ok=True)
                target.symlink_to(text.removeprefix("-> "))
            else:
                mended = assignment.feedback and path.endswith(".py")
                told = (
                    f"{assignment.attempt}, {sha256(assignment.feedback.encode()).hexdigest()[:8]}"
                )
                target.write_text(text + (f"# told {told}\n" if mended else ""), encoding="utf-8")
        given = {"text": "done", "claimed_files": tuple(sorted(files)), **answer}
        return Answer(**given)  # type: ignore[arg-type]  # a test says what it means

    return move


def fails(error: str, retry_after: float | None = None) -> Move:
    """An agent that does not do its work."""
    return lambda _: Answer(error=error, retry_after=retry_after)


def reviews(
    verdict: str = "approved",
    rejection_type: str | None = None,
    *,
    violated: bool = False,
    confidence: float = 0.9,
    feedback: str = "Small and tested.",
) -> Move:
    """A reviewer who quotes a line of each changed file for each rule, its last ones, and cites
    all that is new there.
    """

    def move(assignment: Assignment) -> Answer:
        schema = json.loads(assignment.schema)
        ids = schema["$defs"]["entry"]["properties"]["sop_id"].get("enum", [])
        entries = [
            {
                "sop_id": sop,
                "status": "violated" if violated else "passed",
                "evidence": _quoted(assignment.prompt, place),
                "violations": ["no context is told"] if violated else [],
            }
            for place, sop in enumerate(ids)
        ]
        review = {
            "verdict": verdict,
            "rejection_type": rejection_type,
            "sop_review": entries,
            "confidence": confidence,
            "feedback": feedback,
            "patterns": [],
        }
        return Answer(text=json.dumps(review))

    return move


def says(text: str, **answer: object) -> Move:
    """An agent that only says something."""
    return lambda _: Answer(text=text, **answer)  # type: ignore[arg-type]  # as above


def _quoted(prompt: str, place: int) -> str:
    lines: dict[str, list[Line]] = {}
    for line in cited_lines(prompt):
        lines.setdefault(line.path, []).append(line)
    shown = [(own[place % len(own)], *own[-3:]) for _, own in sorted(lines.items())]
    chosen = dict.fromkeys(line for own in shown for line in own)
    quoted = [f"{each.path}:{each.number} says `{each.text[:100]}`" for each in chosen]
    ranges = [(own[0], own[-1]) for _, own in sorted(lines.items())]
    wide = [f"{first.path}:{first.number}-{last.number}" for first, last in ranges]
    return "; ".join([*quoted, *wide])
