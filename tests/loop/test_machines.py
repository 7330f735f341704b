"""Clones on one database: any of them takes any step, and there is one result."""

import subprocess
from collections.abc import Iterator
from contextlib import closing
from itertools import cycle
from pathlib import Path

import pytest

from hornbook.agents.assignment import Answer, Assignment
from hornbook.commits import git as commits
from hornbook.commits.writer import branch_tip
from hornbook.errors import UsageError
from hornbook.loop.exchange import SharedExchange
from hornbook.loop.protocol import StepKind
from hornbook.loop.shared_worktrees import BranchFollower, SharedWorktrees
from hornbook.plans.run_kinds import kinds_for
from hornbook.plans.workspace_log import open_log
from hornbook.settings.load import load
from hornbook.settings.places import Places
from tests.kit.engines import database_for
from tests.kit.fakes import GitWorktrees, writes
from tests.kit.git import git
from tests.kit.loops import BYE, CONFIG, GREET, PLAN, Clock, Stage, repository

APART = PLAN.replace("   - Depends on: 1\n", "")
MOST = 200


@pytest.fixture
def database() -> Iterator[str]:
    with database_for("postgres") as url:
        yield url


def clones(
    tmp_path: Path,
    database: str,
    count: int = 2,
    *,
    plan: str = PLAN,
    exchange: str = "database",
) -> list[Path]:
    """Clones of one repository that share a database; only the first has the plan on its disk."""
    engine = f"engine:\n  database: {database}\n  exchange: {exchange}\n"
    config = f"repository: hello\n{engine}{CONFIG}"
    origin = tmp_path / "origin.git"
    first = repository(tmp_path / "0", plan, config)
    subprocess.run(["git", "clone", "-q", "--bare", str(first), str(origin)], check=True)
    git(first, "remote", "add", "origin", str(origin))
    git(first, "fetch", "-q", "origin")
    found = [first]
    for number in range(1, count):
        subprocess.run(["git", "clone", "-q", str(origin), str(tmp_path / str(number))], check=True)
        git(tmp_path / str(number), "config", "user.email", f"ann{number}@example.org")
        found.append(tmp_path / str(number))
    return found


def _by_task(assignment: Assignment) -> Answer:
    path, text = (
        ("src/greet.py", GREET) if assignment.task_id.endswith(".1") else ("src/bye.py", BYE)
    )
    return writes({path: text})(assignment)


def stages(roots: list[Path]) -> list[Stage]:
    """The loops of several machines, whose agents are scripts that all of them share."""
    clock = Clock()
    made = [Stage(root, clock=clock) for root in roots]
    made[0].developer.moves = [_by_task]
    for each in made[1:]:
        each.developer, each.reviewer = made[0].developer, made[0].reviewer
    return made


def drive(machines: list[Stage], run: str) -> str:
    """Step a run and all that it starts, every step on another machine; how it ends."""
    pending, ended, turns = [run], dict[str, str](), cycle(machines)
    for _ in range(MOST):
        if not pending:
            return ended[run]
        current = pending.pop(0)
        machine = next(turns)
        with commits.operation(machine.root):
            outcome = machine.loop().step(current)
        pending += [each for each in outcome.spawned if each not in {*pending, *ended, current}]
        if outcome.kind in {StepKind.ENDED, StepKind.ASKING}:
            ended[current] = f"{outcome.status}: {outcome.message}"
        else:
            pending.append(current)
            machine.clock.seconds += int(outcome.seconds)
    raise AssertionError(f"it does not end: {pending} {ended}")


def tips(roots: list[Path]) -> set[str | None]:
    for root in roots:
        follow(root)
    return {branch_tip(root, "hornbook/hello") for root in roots}


def follow(root: Path) -> None:
    places = Places(root)
    with closing(SharedExchange(places, load(root))) as exchange:
        SharedWorktrees(GitWorktrees(root), exchange, root).follow("hello")


@pytest.mark.parametrize("plan", [PLAN, APART], ids=["dependent", "apart"])
def test_every_step_on_another_machine_gives_one_branch(
    tmp_path: Path, database: str, plan: str
) -> None:
    roots = clones(tmp_path, database, plan=plan)
    machines = stages(roots)
    begun = machines[0].loop().start("hello", None, agent=None, run_id="hello-1")
    assert begun.kind is StepKind.CONTINUED
    assert drive(machines, "hello-1") == "approved: 2 of 2 tasks are approved."
    (tip,) = tips(roots)
    for root in roots:
        files = git(root, "ls-tree", "-r", "--name-only", str(tip)).splitlines()
        assert {"src/greet.py", "src/bye.py"} <= set(files)
        assert git(root, "fsck", "--connectivity-only", "--no-dangling") == ""
    assert len(machines[0].reviewer.seen) == 2  # nobody was paid twice


def test_commits_go_through_the_remote_where_that_is_asked_for(
    tmp_path: Path, database: str
) -> None:
    roots = clones(tmp_path, database, exchange="git")
    machines = stages(roots)
    machines[0].loop().start("hello", None, agent=None, run_id="hello-1")
    assert drive(machines, "hello-1") == "approved: 2 of 2 tasks are approved."
    (tip,) = tips(roots)
    pushed = git(tmp_path / "origin.git", "for-each-ref", "--format=%(objectname)", "refs/hornbook")
    assert tip in pushed.splitlines()


def test_events_and_files_are_the_same_on_every_machine(tmp_path: Path, database: str) -> None:
    roots = clones(tmp_path, database)
    machines = stages(roots)
    machines[0].loop().start("hello", None, agent=None, run_id="hello-1")
    drive(machines, "hello-1")
    exports, receipts = [], []
    for root in roots:
        log = open_log(Places(root), load(root), machines[0].clock, kinds=kinds_for(()))
        with closing(log), closing(SharedExchange(Places(root), load(root))) as exchange:
            log.sync("hello")
            exchange.fetch("hello")
        state = root / ".hornbook"
        exports.append((state / "plans" / "hello" / "events.jsonl").read_bytes())
        receipts.append({p.name: p.read_bytes() for p in (state / "records/receipts").iterdir()})
    assert exports[0] == exports[1] != b""
    assert receipts[0] == receipts[1] != {}


def test_a_commit_that_was_never_pushed_comes_through_the_database(
    tmp_path: Path, database: str
) -> None:
    roots = clones(tmp_path, database)
    (roots[0] / "src" / "more.py").write_text("print('not pushed')\n")
    git(roots[0], "add", "-A")
    git(roots[0], "commit", "-qm", "not pushed")
    machines = stages(roots)
    machines[0].loop().start("hello", None, agent=None, run_id="hello-1")
    assert drive([machines[1]], "hello-1").startswith("approved")
    (tip,) = tips(roots)
    assert "src/more.py" in git(roots[1], "ls-tree", "-r", "--name-only", str(tip))


def test_what_nobody_shared_is_told_with_what_to_do(tmp_path: Path, database: str) -> None:
    (root,) = clones(tmp_path, database, 1)
    with (
        closing(SharedExchange(Places(root), load(root))) as exchange,
        pytest.raises(UsageError, match="push what the plan was begun on"),
    ):
        exchange.need("hello", "1" * 40)


def test_a_branch_that_is_checked_out_keeps_no_other_from_following(
    tmp_path: Path, database: str
) -> None:
    here, there = clones(tmp_path, database)
    tip = git(here, "commit-tree", "-p", "HEAD", "-m", "work", "HEAD^{tree}")
    with closing(SharedExchange(Places(here), load(here))) as exchange:
        for plan in ("a", "b", "c"):
            git(here, "branch", f"hornbook/{plan}", tip)
            SharedWorktrees(GitWorktrees(here), exchange, here).follow(plan)
    git(there, "switch", "-qc", "hornbook/a")
    follower = BranchFollower(Places(there), load(there))
    for _ in range(2):
        with pytest.raises(UsageError, match="hornbook/a is checked out"):
            follower()
        assert [branch_tip(there, f"hornbook/{plan}") for plan in ("b", "c")] == [tip, tip]
    git(there, "switch", "-q", "--detach")
    follower()
    assert branch_tip(there, "hornbook/a") == tip


def test_a_shared_file_that_was_written_anew_is_taken_anew(tmp_path: Path, database: str) -> None:
    roots = clones(tmp_path, database)
    name = Path("plans/hello/tasks/1/artifacts/outputs/answer.md")
    here, there = (Places(root) for root in roots)
    with (
        closing(SharedExchange(here, load(here.root))) as ours,
        closing(SharedExchange(there, load(there.root))) as theirs,
    ):
        for text in ("first", "again", "third"):
            (here.state / name).parent.mkdir(parents=True, exist_ok=True)
            (here.state / name).write_text(text)
            ours.put("hello", here.state / name)
            theirs.fetch("hello")
            assert (there.state / name).read_text() == text
