"""Workspaces in which a plan is carried out by processes that are killed, and what they leave."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any  # what commands print is JSON

import yaml

from hornbook.commits.repository_name import repository_name
from hornbook.disk import sweep
from hornbook.loop.engine.engine_runs import EngineRuns, wanted_run
from hornbook.loop.engine.workers import connect, database_url, disconnect
from hornbook.loop.runs.files import Projections, write_task_files
from hornbook.loop.runs.run_book import breaches
from hornbook.loop.steps.start import EXECUTE
from hornbook.loop.workflow.load import shipped_workflows
from hornbook.plans.events import Event, read_lines, verify
from hornbook.plans.log import EventLog
from hornbook.plans.run_kinds import DEVELOP, ENDED, PROMOTE, REVIEW, STARTED, TRIGGER
from tests.kit.fakes import git
from tests.kit.loops import BROKEN, CONFIG, PLAN, repository
from tests.kit.paths import ROOT
from tests.kit.waiting import SAFETY

SLUG = "hello"
ANY = "any"
"""The name of a kill at whatever effect comes."""
AGENT = "scripted"
RULE = "source.doc.sops.greetings"
MOST_COMMANDS = 20

ONE = PLAN.partition("2. Say goodbye")[0] + "\n## Constraints" + PLAN.partition("## Constraints")[2]
PAIR = ONE.replace("src/greet.py (new)", "src/greet.py (new), src/meet.py (new)")
REFINED = """\
## Execution

1. Greet by name
   - Files: src/greet.py (new)
   - Criteria: a name is greeted
"""


FIVE = (
    ONE.partition("1. Greet")[0]
    + "".join(
        f"{number}. Greet {name}\n   - Files: src/{name}.py (new)\n"
        f"   - Criteria: {name} is greeted\n{after}"
        for number, (name, after) in enumerate(
            (
                ("ann", ""),
                ("bob", ""),
                ("cid", "   - Depends on: 1\n"),
                ("dan", "   - Depends on: 1, 2\n"),
                ("eve", ""),
            ),
            1,
        )
    )
    + "\n## Constraints"
    + PLAN.partition("## Constraints")[2]
)
"""Five tasks, of which three can be worked on at once."""


@dataclass(frozen=True)
class Route:
    """A way through the loop: the plan, what agents do, and the statuses of runs at the end."""

    name: str
    plan: str = ONE
    script: Mapping[str, Any] = field(default_factory=dict)


def _rejects(kind: str, **more: object) -> dict[str, object]:
    return {"verdict": kind, "violated": [RULE], "feedback": "Name the person.", **more}


ROUTES = {
    route.name: route
    for route in (
        Route("approved"),
        Route("fixable", script={"reviewer": [_rejects("fixable", attempt=1)]}),
        Route(
            "repaired",
            script={
                "developer": [
                    {"attempt": 1, "do": [{"write": {"path": "src/greet.py", "text": BROKEN}}]}
                ]
            },
        ),
        Route("too_big", PAIR, {"reviewer": [_rejects("too_big", task=f"task.{SLUG}.1")]}),
        Route(
            "misscoped",
            script={
                "reviewer": [_rejects("misscoped", task=f"task.{SLUG}.1")],
                "planner": [{"answer": REFINED}],
            },
        ),
        Route(
            "out_of_scope",
            script={
                "developer": [
                    {"do": [{"write": {"path": "outside.py", "text": "print('not ours')\n"}}]}
                ]
            },
        ),
    )
}


class Zygote:
    """Starts processes of `tests.kit.kill_process`, which have everything imported already."""

    def __init__(self) -> None:
        paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.kit.kill_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        )

    def obey(self, order: Mapping[str, object]) -> int:
        """How a process with this order ended."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    def close(self) -> None:
        """End it."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.wait(SAFETY)


@dataclass
class Left:
    """What a kill left: every line of every log, and how often each agent had been asked."""

    lines: dict[str, list[str]]
    asked: dict[str, int]


@dataclass(frozen=True)
class Kill:
    """An effect, how often it must have come, and whether before or inside of it."""

    name: str
    times: int = 1
    how: str = "before"


NOWHERE = Kill("", 0)
INSIDES = ("write", "export", "git", "run")


NOTED = "commit UPDATE hornbook_runs SET"


def kills(effects: Sequence[str], how: str) -> list[Kill]:
    """A kill before each effect, or inside of each that has an inside.

    What comes after the last run was noted as over is no part of the plan: who executes it then
    once more begins anew.
    """
    seen: Counter[str] = Counter()
    found = []
    last = max((n for n, name in enumerate(effects) if name == NOTED), default=len(effects))
    for name in effects[: last + 1]:
        seen[name] += 1
        if how == "before" or name.split()[0] in INSIDES:
            found.append(Kill(name, seen[name], how))
    return found


class Place:
    """One workspace: commands run in it, one of which may be killed at one of its effects."""

    def __init__(self, root: Path, zygote: Zygote, database: str = "") -> None:
        self.root = root / "work"
        self.database = database
        self._zygote = zygote
        self._beside = root
        self._temporary = root / "tmp"
        self._temporary.mkdir()
        self.left: list[Left] = []

    def hornbook(self, *arguments: str, kill: Kill = NOWHERE) -> int:
        """The exit code of a command; negative for the signal that ended it."""
        order = {
            "root": str(self.root),
            "arguments": arguments,
            "environment": {"TMPDIR": str(self._temporary)},
            "ledger": str(self._beside / "ledger"),
            "name": kill.name,
            "times": kill.times,
            "how": kill.how,
            "out": str(self._beside / "out"),
            "err": str(self._beside / "err"),
        }
        return self._zygote.obey(order)

    @property
    def effects(self) -> list[str]:
        """The effects of all commands so far."""
        ledger = self._beside / "ledger"
        return ledger.read_text().splitlines() if ledger.exists() else []

    @property
    def said(self) -> str:
        """What the last command wrote to stderr."""
        return (self._beside / "err").read_text()

    def carry_through(self, kill: Kill = NOWHERE) -> None:
        """Carry the plan through, whatever is killed: execute, agree to a successor, go on."""
        answered: set[str] = set()
        command = self._execute()
        for _ in range(MOST_COMMANDS):
            code = self.hornbook(*command, kill=kill)
            if code == -signal.SIGKILL:
                self.left.append(self.remains())
                command = self._again(kill)
                continue
            assert code in {0, 1}, (code, command, self.said)
            assert "Traceback" not in self.said, self.said
            asks = [run for run in self.promotions() if run not in answered]
            if command[0] == "answer":
                answered.add(command[1])
                command = self._execute()
            elif asks:
                command = ("answer", asks[0], "--text", "yes")
            elif command[0] == "resume" and not self._over():
                command = self._execute()
            else:
                return
        raise AssertionError(f"it does not end: {command}, {self.said}")

    def carry_through_kills(self, chance: Random, times: int, apart: int) -> None:
        """Execute the plan, killed so often, each time after at most `apart` more effects."""
        for _ in range(times):
            place = len(self.effects) + chance.randint(1, apart)
            kill = Kill(ANY, place, chance.choice(("before", "inside")))
            code = self.hornbook(*self._execute(), kill=kill)
            assert code == -signal.SIGKILL, (code, kill, self.said)
            self.left.append(self.remains())
        assert self.hornbook(*self._execute()) == 0, self.said

    def outcome(self) -> tuple[dict[str, str], str]:
        """What tasks came to, and the tree of the plan's branch."""
        ended = {e.data["run"]: e.data["status"] for e in self.events(SLUG) if e.kind == ENDED}
        return ended, git(self.root, "rev-parse", f"hornbook/{SLUG}^{{tree}}")

    @staticmethod
    def _execute() -> tuple[str, ...]:
        return ("execute", SLUG, "--agent", AGENT, "--json")

    def _again(self, kill: Kill) -> tuple[str, ...]:
        """How one goes on after a kill: by `execute`, or by `resume` where a run is known.

        One that came after the run was noted as over, as two threads may have it, leaves nothing to
        be done: whoever executes the plan then begins anew, and `resume` says that it is over.
        """
        third = kill.times % 3 == 0 and self._begun() and not self._over()
        if third or self._noted_as_over():
            return ("resume", f"{SLUG}-1", "--json")
        return self._execute()

    def _begun(self) -> bool:
        return any(e.kind == "run.started" for e in self.events(SLUG))

    def _over(self) -> bool:
        ends = {e.data["run"] for e in self.events(SLUG) if e.kind == "run.ended"}
        return f"{SLUG}-1" in ends

    def _noted_as_over(self) -> bool:
        """Whether the engine has noted the end of the run, which its events tell before."""
        if not self._over():
            return False
        name = repository_name(self.root) if self.database else ""
        database = connect(database_url(self.root / ".hornbook", self.database), name)
        try:
            return wanted_run(EngineRuns(database, name).of_plan(SLUG), SLUG, None).run is None
        finally:
            disconnect(database)

    def promotions(self) -> list[str]:
        """The runs that ask whether a successor is right."""
        events = [event for plan in self.plans() for event in self.events(plan)]
        answered = {e.data["run"] for e in events if e.kind in {"run.answered", "run.ended"}}
        return [
            e.data["run"] for e in events if e.kind == PROMOTE and e.data["run"] not in answered
        ]

    def plans(self) -> list[str]:
        """The slugs of the plans that there are."""
        return sorted(path.name for path in (self.root / ".hornbook" / "plans").iterdir())

    def events(self, plan: str) -> list[Event]:
        """The verified events of a plan."""
        with self._log() as log:
            return log.events(plan)

    @contextlib.contextmanager
    def _log(self) -> Iterator[EventLog]:
        name = repository_name(self.root) if self.database else ""
        log = EventLog(self.root / ".hornbook", lambda: "", database=self.database, repository=name)
        try:
            yield log
        finally:
            log.close()

    def remains(self) -> Left:
        """What is there right after a kill."""
        lines = {plan: [event.line for event in self.events(plan)] for plan in self.plans()}
        return Left(lines, self.asked())

    def asked(self) -> dict[str, int]:
        """How often agents were asked, by the digest of role and key."""
        return {
            path.stem: path.stat().st_size
            for path in (self.root / ".hornbook" / "logs").rglob("*.asked")
        }

    # What must hold at the end

    def check(self) -> None:
        """Whatever happened: the logs are honest, the files follow from them, nothing lies about."""
        for plan in self.plans():
            self._check_log(plan)
            self._check_files(plan)
        self._check_repetitions()
        rubbish = self.rubbish()
        assert rubbish == [], rubbish
        assert self.processes() == []

    def _check_log(self, plan: str) -> None:
        events = self.events(plan)
        path = self.root / ".hornbook" / "plans" / plan / "events.jsonl"
        exported, fault = read_lines(path.read_text("utf-8"))
        assert fault is None
        assert verify(events) is None
        assert exported == events
        assert breaches(events) == []
        lines = [event.line for event in events]
        for left in self.left:
            before = left.lines.get(plan, [])
            assert lines[: len(before)] == before

    def _check_files(self, plan: str) -> None:
        """The files of each task are those that its events would be written to now."""
        workflows = {flow.id: flow for flow in shipped_workflows()}
        projections = Projections()
        projections.use(workflows)
        states = projections.runs(self.events(plan))
        tasks = {state.task for state in states if state.task is not None}
        for task in tasks:
            folder = self.root / ".hornbook" / "plans" / plan / "tasks" / task.rpartition(".")[2]
            with tempfile.TemporaryDirectory(dir=self._beside) as place:
                every = [state for state in states if state.task == task]
                write_task_files(Path(place), every)
                for expected in Path(place).iterdir():
                    assert (folder / expected.name).read_text() == expected.read_text()

    def _check_repetitions(self) -> None:
        """Nobody was asked again for what was noted before a kill."""
        now = self.asked()
        for left in self.left:
            for lines in left.lines.values():
                for event in read_lines("".join(lines))[0]:
                    digest = _asked_for(event)
                    if digest is not None:
                        assert now[digest] == left.asked[digest], event.key
        extra = sum(now.values()) - len(now)
        assert extra <= len(self.left), now

    def rubbish(self) -> list[str]:
        """Locks, drafts and temporary files that nobody will take away."""
        state = self.root / ".hornbook"
        sweep(self._temporary, older_than=0)
        found = list(self._temporary.iterdir())
        found += list((self.root / ".git").rglob("*.lock"))
        found += list((self.root / ".git" / "worktrees").glob("*/locked"))
        found += list(state.rglob("*.draft"))
        found += list((state / "engine.db-workers").iterdir())
        return sorted(str(path.relative_to(self._beside)) for path in found)

    def processes(self) -> list[str]:
        """Processes that commands here started and that run on: by their words or their folder."""
        here = str(self._beside)
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                with contextlib.suppress(OSError):
                    words = (folder / "cmdline").read_bytes().decode().replace("\0", " ")
                    if here in words or str((folder / "cwd").readlink()).startswith(here):
                        found.append(words)
        return found

    def result(self) -> list[str]:
        """What it all came to, line by line, without what differs from time to time."""
        stories = [f"{plan}: {each}" for plan in self.plans() for each in story(self.events(plan))]
        trees = [f"{name}: {line}" for name, lines in self._trees().items() for line in lines]
        files = [f"{name}: {line}" for name, text in self._files() for line in text.split("\n")]
        return [*stories, *trees, *files]

    def _trees(self) -> dict[str, list[str]]:
        """The trees and subjects on each branch of a plan."""
        names = git(self.root, "for-each-ref", "--format=%(refname)", "refs/heads/hornbook")
        return {
            name: git(self.root, "log", "--format=%T %s", name).splitlines()
            for name in names.splitlines()
        }

    def _files(self) -> list[tuple[str, str]]:
        """Every file that people find, with hashes, times and counts of repetitions masked.

        Which of a plan's runs began a task is masked, too: see `story`.
        """
        state = self.root / ".hornbook"
        events = [event for plan in self.plans() for event in self.events(plan)]
        above = {e.data["run"] for e in events if e.kind == STARTED and not e.data.get("task")}
        found = []
        for part in ("plans", "records"):
            for path in sorted((state / part).rglob("*")):
                name = _masked(str(path.relative_to(state)))
                if path.is_file() and path.name != "events.jsonl":
                    text = _PARENT.sub(partial(_plan_run, above), path.read_text("utf-8"))
                    found.append((name, _masked(text)))
        return sorted(found)


def _asked_for(event: Event) -> str | None:
    role = {DEVELOP: "developer", REVIEW: "reviewer", "agent.task.planning": "planner"}
    if event.kind not in role:
        return None
    return sha256(f"{role[event.kind]} {event.key}".encode()).hexdigest()[:24]


_VARIES = (
    (re.compile(r"\b[0-9a-f]{12,64}\b"), "<hash>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?"), "<time>"),
    (re.compile(r"(\"?seconds\"?: )[0-9.]+"), r"\1<seconds>"),
    (re.compile(r"(\"?tokens\"?: |complete: |offset\": )\d+"), r"\1<tokens>"),
    (re.compile(r"(\"log\": \")[^\"]*"), r"\1<path>"),
    (re.compile(r"(in |after )[0-9.]+ s\b"), r"\1<seconds>"),
)


_PARENT = re.compile(r'"parent": "run\.(?P<run>[^"]+)"')


def _plan_run(above: Collection[str], found: re.Match[str]) -> str:
    """A parent as it is told; a run of a plan only as one."""
    return '"parent": "<a run of the plan>"' if found["run"] in above else found[0]


def _masked(text: str) -> str:
    for pattern, mask in _VARIES:
        text = pattern.sub(mask, text)
    return text


def story(events: list[Event]) -> list[tuple[str, str, object]]:
    """What happened in each run, but for how often a step was begun.

    That a task's time has come is noted by whoever saw it first: a run of the plan, or the run that
    made it so. What counts is that it was.
    """
    quiet = {"step.started", "agent.told"}
    tasks = {e.data["run"] for e in events if e.kind == STARTED and e.data.get("task")}
    told: list[tuple[str, str, object]] = []
    begun = set()
    for event in events:
        child = tasks.intersection(event.data.get("runs") or ())
        if event.kind == f"{TRIGGER}{EXECUTE}" and child:
            begun |= {("", event.kind, each) for each in child}
        elif event.kind not in quiet:
            what = event.data.get("step") or event.data.get("outcome") or event.data.get("tree")
            told.append((str(event.data.get("run", "")), event.kind, what))
    return [*sorted(begun), *sorted(told, key=lambda each: each[0])]


def prepared(folder: Path, route: Route) -> Path:
    """A workspace in which the plan of a route is committed and nothing is begun."""
    root = repository(folder, route.plan)
    (root / ".hornbook" / "scripted.yaml").write_text(yaml.safe_dump(dict(route.script)))
    return root


def copied(template: Path, folder: Path, zygote: Zygote, database: str = "") -> Place:
    """A workspace like another one; with a database, its events lie there."""
    folder.mkdir(parents=True)
    root = folder / "work"
    shutil.copytree(template, root, symlinks=True)
    if database:
        settings = f"{CONFIG}engine:\n  database: '{database}'\n"
        (root / ".hornbook" / "config.yaml").write_text(settings)
        for path in (root / ".hornbook").glob("events.db*"):
            path.unlink()  # the database takes them over from the export
    return Place(folder, zygote, database)
