"""A small repository with a plan, rules and a gate, and the loop over it."""

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from hornbook import Workspace
from hornbook.agents.assignment import Role
from hornbook.commits import git as commits
from hornbook.loop.loop import open_loop
from hornbook.loop.protocol import Loop, StepKind, StepOutcome
from hornbook.loop.runs.overview import GivenAnswer
from hornbook.loop.runs.run_book import breaches
from hornbook.plans.events import Event
from hornbook.plans.log import EventLog
from hornbook.plans.run_kinds import kinds_for
from hornbook.settings.places import Places
from tests.kit.fakes import Everybody, GitWorktrees, Move, Script, git, reviews, writes
from tests.kit.workspaces import write

PLAN = """\
# Plan: any

## Situation

Nobody is greeted in `src/app.py`.

## Mission

Greet people.

Success criteria:

- everybody is greeted (gate: check)

## Execution

1. Greet
   - Files: src/greet.py (new)
   - Criteria: a name is greeted
2. Say goodbye
   - Files: src/bye.py (new)
   - Criteria: a name is seen off
   - Depends on: 1

## Constraints

- IN: src/**
- DO NOT TOUCH: src/legacy.py

## Coordination

None.
"""
RULE = """\
---
category: sop
applies_to: "src/**"
severity: error
---

# Greetings

Every greeting MUST name the person whom it is for, and nobody else at all.
"""
CHECK = """\
bad=$(grep -rl --include='*.py' BROKEN src | sort)
echo "broken: $bad"
echo "what is broken has to be mended before anybody looks at the rest of the change"
test -z "$bad"
"""
CONFIG = """\
gates:
  tests: "off"
  additional:
    - {name: check, command: sh check.sh}
"""
GREET = 'def greet(name): return f"hello {name}"\n'
BYE = 'def bye(name): return f"goodbye {name}"\n'
BROKEN = 'def greet(name): return "BROKEN hello"\n'


class Clock:
    """Seconds that only pass when somebody looks."""

    def __init__(self) -> None:
        self.seconds = 0

    def __call__(self) -> str:
        self.seconds += 1
        minutes, seconds = divmod(self.seconds, 60)
        hours, minutes = divmod(minutes, 60)
        return f"2026-11-16T{8 + hours:02}:{minutes:02}:{seconds:02}.000Z"


def repository(root: Path, plan: str = PLAN, config: str = CONFIG, **more: str) -> Path:
    """A repository with a committed plan called `hello`, ingested."""
    shutil.copytree(_prepared(plan, config, tuple(more.items())), root, dirs_exist_ok=True)
    return root


@cache
def _prepared(plan: str, config: str, more: tuple[tuple[str, str], ...]) -> Path:
    """The same, made once for all tests of this process, which take copies."""
    root = Path(tempfile.mkdtemp(prefix="hornbook-loops-"))
    atexit.register(shutil.rmtree, root)
    write(
        root,
        {
            ".hornbook/config.yaml": config,
            ".hornbook/sources/docs/sops/greetings.md": RULE,
            "check.sh": CHECK,
            "src/app.py": "print('the app does nothing')\n",
            "src/legacy.py": "print('old and trusted code')\n",
            **{path.replace("__", "/"): text for path, text in more},
        },
    )
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    git(root, "config", "user.email", "ann@example.org")
    with Workspace.open(root) as work:
        work.places.prepare()
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", "begin")
        view = work.plan_book().commit("Hello", plan)
        work.ingest()
    # What copies would share, runs and all, is left as it is.
    if view.plan.committed and "database:" not in config:
        _judge_base(root)
    return root


def _judge_base(root: Path) -> None:
    """Keep what the gates say of the base, which is the same in every copy."""
    with tempfile.TemporaryDirectory(prefix="hornbook-loops-") as place:
        copy = Path(shutil.copytree(root, Path(place) / "copy"))
        loop = Stage(copy).loop()
        if loop.start("hello", "1", agent=None, run_id="run-1").kind is not StepKind.ENDED:
            loop.step("run-1")
        kept = Places(copy).gate_logs / "base"
        if kept.is_dir():
            shutil.copytree(kept, Places(root).gate_logs / "base", dirs_exist_ok=True)


class Stage:
    """The loop over a repository with scripted agents, and what it left."""

    def __init__(
        self,
        root: Path,
        developer: Sequence[Move] = (writes({"src/greet.py": GREET}),),
        reviewer: Sequence[Move] = (reviews(),),
        planner: Sequence[Move] = (),
        *,
        more_reviewers: Sequence[Sequence[Move]] = (),
        clock: Clock | None = None,
    ) -> None:
        self.root = root
        self.clock = clock or Clock()
        self.developer = Script("dev", developer)
        self.reviewer = Script("rev", reviewer)
        self.planner = Script("plan", planner)
        self.more = [Script(f"rev{n}", moves) for n, moves in enumerate(more_reviewers, 2)]

    def loop(self) -> Loop:
        """The loop, opened anew: it remembers nothing."""
        with Workspace.open(self.root) as work:
            workers = {Role.DEVELOPER: self.developer, Role.REVIEWER: self.reviewer}
            if self.planner.moves:
                workers[Role.PLANNER] = self.planner
            return open_loop(
                work.places,
                work.settings,
                Everybody(workers, self.more),
                self.clock,
                worktrees=GitWorktrees(self.root),
            )

    def go(self, run: str = "run-1", task: str | None = "1", most: int = 200) -> StepOutcome:
        """Start a run and step it, and all that it starts, until nothing more can be done."""
        outcome = self.loop().start("hello", task, agent=None, run_id=run)
        return outcome if outcome.kind is StepKind.ENDED else self.drive(run, most=most)

    def drive(self, run: str, most: int = 200) -> StepOutcome:
        """Step a run and all that it starts until each has ended or asks; how the first stands.

        Git is asked each thing once, as it is by the engine.
        """
        with commits.operation(self.root):
            return self._driven(run, most)

    def _driven(self, run: str, most: int) -> StepOutcome:
        standing: dict[str, StepOutcome] = {}
        pending = [run]
        loop = self.loop()
        idle = 0
        for _ in range(most):
            if not pending or idle > 3 * len(pending):
                return standing[run]
            current = pending.pop(0)
            outcome = loop.step(current)
            standing[current] = outcome
            idle = idle + 1 if outcome.kind is StepKind.WAITING else 0
            new = [
                each for each in outcome.spawned if each not in standing | dict.fromkeys(pending)
            ]
            pending += new
            if outcome.kind is StepKind.CONTINUED:
                pending.insert(0, current)
            elif outcome.kind is StepKind.WAITING:
                self.clock.seconds += int(outcome.seconds)
                if outcome.status != "asking":
                    pending.append(current)
        raise AssertionError(f"the run did not end: {standing}")

    def answer(self, run: str, action: str, text: str = "", reason: str = "") -> GivenAnswer:
        """A person's word on a run that asks."""
        with Workspace.open(self.root) as work:
            return work.answer(run, action, text, reason)

    def log(self, plan: str = "hello") -> list[Event]:
        """All events of a plan; whatever a test did, no review came without gates before it."""
        log = EventLog(self.root / ".hornbook", self.clock, kinds=kinds_for(()))
        try:
            log.sync(plan)
            events = log.events(plan)
        finally:
            log.close()
        assert breaches(events) == []
        return events

    def kinds(self, run: str = "run-1", plan: str = "hello") -> list[str]:
        """The kinds of a run's events, in order, without those of steps, tellings and the base."""
        quiet = {"step.started", "step.finished", "agent.told", "base.started", "base.gated"}
        return [
            event.kind
            for event in self.log(plan)
            if event.data.get("run") == run and event.kind not in quiet
        ]

    def newest(self, kind: str, plan: str = "hello") -> Event:
        """The last event of a kind."""
        return [event for event in self.log(plan) if event.kind == kind][-1]
