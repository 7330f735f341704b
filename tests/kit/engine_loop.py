"""A deterministic loop for tests of the engine: what it does is data, what it did is events.

`script.json` in the state folder has for each run a list of what follows its effects:
`continue`, `wait SECONDS`, `ask`, `spawn RUN`, `end STATUS`, `raise`; `need PLACE…` is a step that
continues and needs limited places for its effect. `kill.json` may name a run, an effect and a place
(`before`, `inside`, `after`): there the process kills itself, once.
Every attempt at an effect is a line in `attempts.jsonl`, every effect an event of the plan.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Collection
from pathlib import Path

from hornbook.loop.protocol import StepKind, StepOutcome
from hornbook.plans.events import EventKind
from hornbook.plans.log import EventLog
from hornbook.plans.state import PLAN_KINDS

EFFECT = EventKind("test.effect", "a step had its effect", frozenset({"run", "number", "text"}))


class ScriptedLoop:
    """Follows the script, and says on stdout which effect it is about to have."""

    def __init__(
        self, state: Path, plan: str = "alpha", database: str = "", repository: str = ""
    ) -> None:
        self._state = state
        self._plan = plan
        kinds = {**PLAN_KINDS, EFFECT.name: EFFECT}
        self._log = EventLog(state, _clock, database=database, repository=repository, kinds=kinds)
        self._script: dict[str, list[str]] = json.loads((state / "script.json").read_text())

    def close(self) -> None:
        """Let go of the log."""
        self._log.close()

    def start(self, plan: str, task: str | None, *, agent: str | None, run_id: str) -> StepOutcome:
        assert plan == self._plan
        done = self._done(run_id)
        return self._have(run_id, 0, f"{task} by {agent}") if not done else self._now(run_id, done)

    def step(self, run_id: str, held: Collection[str] | None = None) -> StepOutcome:
        done = self._done(run_id)
        if self._over(run_id, done):
            return self._now(run_id, done)
        word, _, argument = self._script[run_id][done].partition(" ")
        needs = tuple(argument.split()) if word == "need" else ()
        if held is not None and not set(needs) <= set(held):
            return StepOutcome(StepKind.CONTINUED, run_id, status="needs", needs=needs)
        return self._have(run_id, done, "")

    def answer(self, run_id: str, text: str) -> StepOutcome:
        done = self._done(run_id)
        if self._script[run_id][done - 1] != "ask":
            return self._now(run_id, done)
        return self._have(run_id, done, text)

    def gave_up(self, run_id: str, reason: str, status: str) -> StepOutcome:
        return StepOutcome(StepKind.ENDED, run_id, status=status, message=reason)

    def _done(self, run_id: str) -> int:
        events = self._log.events(self._plan)
        return sum(e.kind == EFFECT.name and e.data["run"] == run_id for e in events)

    def _over(self, run_id: str, done: int) -> bool:
        return bool(done) and self._script[run_id][done - 1].split()[0] in {"ask", "end"}

    def _have(self, run_id: str, number: int, text: str) -> StepOutcome:
        line = json.dumps({"run": run_id, "number": number, "pid": os.getpid()}) + "\n"
        with (self._state / "attempts.jsonl").open("a") as file:
            file.write(line)
        sys.stdout.write(f"effect {run_id} {number}\n")
        sys.stdout.flush()
        self._perhaps_killed(run_id, number, "before")
        word, _, argument = self._script[run_id][number].partition(" ")
        if word == "block":
            Path(argument).read_bytes()  # a named pipe: until the test writes to it
        if word == "raise":
            raise RuntimeError(argument)
        data = {"run": run_id, "number": number, "text": text}
        self._perhaps_killed(run_id, number, "inside")
        self._log.append(self._plan, EFFECT.name, data, key=f"{run_id}:{number}")
        self._perhaps_killed(run_id, number, "after")
        return self._now(run_id, number + 1)

    def _now(self, run_id: str, done: int) -> StepOutcome:
        """What follows the last effect."""
        word, _, argument = self._script[run_id][done - 1].partition(" ")
        if word == "wait":
            return StepOutcome(StepKind.WAITING, run_id, seconds=float(argument), status="limited")
        if word == "ask":
            return StepOutcome(StepKind.ASKING, run_id, status="asks", message="Which one?")
        if word == "end":
            return StepOutcome(StepKind.ENDED, run_id, status=argument)
        spawned = (argument,) if word == "spawn" else ()
        return StepOutcome(StepKind.CONTINUED, run_id, status=f"did {done}", spawned=spawned)

    def _perhaps_killed(self, run_id: str, number: int, where: str) -> None:
        order = self._state / "kill.json"
        if order.exists() and json.loads(order.read_text()) == [run_id, number, where]:
            order.unlink()
            os.kill(os.getpid(), signal.SIGKILL)


def _clock() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
