"""A process that runs the engine with the scripted loop, for tests that kill and pause it.

Its arguments are `STATE DATABASE execute [PARALLEL [DEAD_AFTER]]`, or `work`, `answer RUN TEXT` or
`resume RUN` in the place of `execute`.
"""

import json
import os
import signal
import sys
import threading
import time
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from hornbook.errors import EngineError
from hornbook.loop.engine import run_leg
from hornbook.loop.engine.engine import EVERYTHING, Engine, EngineScope, Options
from hornbook.loop.engine.engine_runs import EngineRun, Request
from hornbook.plans.databases import shared_database
from tests.kit.engine_loop import ScriptedLoop
from tests.kit.waiting import SAFETY

PLAN = "alpha"
SITS_OUT = "sits-out"
NOBODY_DIES = "nobody-dies"


def main(state: Path, database: str, what: str, *rest: str) -> int:
    """Do what a command does, with short heartbeats that a busy machine still keeps."""
    scope = {"execute": EngineScope(plan=PLAN), "resume": EngineScope(run=rest[0] if rest else "")}
    parallel = int(rest[0]) if what == "execute" and rest else 2
    dead_after = float(rest[1]) if what == "execute" and len(rest) > 1 else 3.0
    if (state / NOBODY_DIES).exists():
        dead_after = SAFETY  # whoever is starved by a busy machine is none the less alive
    machine = _machine(state)
    options = Options(
        state,
        database,
        parallel=parallel,
        heartbeat=0.2,
        dead_after=float(machine.get("dead_after", dead_after)),
        database_wait=float(machine.get("wait", 0.0)),
    )
    if (state / SITS_OUT).exists():
        run_leg.SHORT = SAFETY  # a wait of any length is slept within the leg
    loop = ScriptedLoop(state, PLAN, database)
    with Engine(loop, options, scope.get(what, EVERYTHING), tell=say) as engine:
        say("engine", "up")
        if what == "work":
            ended = threading.Event()
            signal.signal(signal.SIGTERM, lambda *_: ended.set())
            ended.wait()
            closing = threading.Thread(target=engine.close, kwargs={"patience": SAFETY})
            closing.start()
            engine._legs._stopping.wait()
            say("engine", "begins no step any more")
            closing.join()
            os._exit(0)  # threads that wait for something else are left to it
        try:
            act(engine, state, what, rest)
        except EngineError as problem:
            say("refused", str(problem))
            return 1
        runs = wait(engine)
    print(json.dumps([asdict(each) for each in runs]))
    return 0


def _machine(state: Path) -> dict[str, float]:
    """What is different about this machine: its clock, and how long it waits for the database."""
    path = state / "machine.json"
    told: dict[str, float] = json.loads(path.read_text()) if path.exists() else {}
    skew, right = told.get("skew", 0.0), time.time
    if skew:
        time.time = lambda: right() + skew
    shared_database.ANSWER_SECONDS = told.get("answer", shared_database.ANSWER_SECONDS)
    return told


def act(engine: Engine, state: Path, what: str, rest: tuple[str, ...]) -> None:
    """Set the runs going."""
    if what == "execute":
        engine.hold(PLAN)
        for each in json.loads((state / "runs.json").read_text()):
            engine.begin(Request(**each))
    elif what == "answer":
        with closing(ScriptedLoop(state)) as loop:
            loop.answer(*rest)
        engine.resume(rest[0])
    else:
        engine.resume(rest[0])


def wait(engine: Engine) -> list[EngineRun]:
    """The runs, once nothing is left to do."""
    while True:
        runs = engine.runs.of_plan(PLAN)
        if not any(each.needs_nobody for each in runs):
            return runs
        time.sleep(0.02)


def say(who: str, what: str) -> None:
    """A line that the test reads."""
    sys.stdout.write(f"{who}: {what}\n")
    sys.stdout.flush()


def run() -> None:
    """Do what the arguments say."""
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
