"""The gates on the commit that a plan begins with, run once before anybody works on it.

What is red there was not broken by whoever works next, and nobody should be paid to find that out.
So the run of a plan, or of a task that is executed alone, has the plan's gates run on its base
first. Where they pass, that holds for every task and for every other plan with this base and these
gates; it is kept beside the logs of gates. Where they do not, or can judge nothing, a person is
asked: to take that as known, to amend the plan, to have it begin anew with what is checked out by
then, or to stop. What is red is looked at anew by whoever executes the plan again, because a tool
may be installed by then.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import msgspec

from hornbook.disk import write_whole
from hornbook.errors import DatabaseFailed, EventLogError, HornbookError, RunEnded
from hornbook.gates.base_tests import red_on_base
from hornbook.gates.gate import GateReport, GateResult, GateStatus, without_unasked
from hornbook.gates.gate_confinement import bounds_in_run
from hornbook.gates.gate_list import GateList
from hornbook.gates.gate_run import run_at
from hornbook.located import Json
from hornbook.loop.protocol import StepOutcome
from hornbook.loop.runs.lookup import outcome_of
from hornbook.loop.runs.state import BASE, RunState
from hornbook.loop.steps.ask_person import signal
from hornbook.loop.steps.gates import gates_of, is_taken_as_known, newest_base, unsound
from hornbook.loop.steps.services import LoopServices
from hornbook.loop.steps.start import EXECUTE, task_payload
from hornbook.loop.workflow.interpreter import payload_of, start
from hornbook.loop.workflow.subjects import GATES
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import digest
from hornbook.plans.run_kinds import DEVELOP, ESCALATE
from hornbook.version import __version__

MOST_LINES = 40
"""How much of what a red gate printed stands in the question; the event has all of it."""
MOST_TOLD = 3
"""Of so many red gates the question says in one line why they are red."""


@dataclass(frozen=True, slots=True)
class _Base:
    """The base of a plan, and the gates that judge it; `problem` is why none can."""

    commit: str
    gates: GateList
    problem: str | None

    @property
    def definition(self) -> str:
        """A digest of all that decides what the gates say to a commit, but for this machine."""
        plain = [replace(gate, origins=()) for gate in self.gates.ready]
        listed = self.gates
        bounds = (listed.confine, listed.writable, listed.readable, listed.limits)
        return digest(msgspec.to_builtins([plain, bounds, self.problem]))


def base_question(services: LoopServices, run: RunState) -> StepOutcome | None:
    """What a person is asked before anybody works; None if the base is green, or red and known."""
    known = services.projections.founded
    if (run.id, run.round) in known:
        return None
    try:
        settled = _settled(services, run)
    except (EventLogError, DatabaseFailed, RunEnded):
        raise
    except HornbookError as problem:
        settled = _unjudged(services.worktrees.begin(run.plan), str(problem))
    if settled is None:
        known.add((run.id, run.round))
        return None
    payload = {"task_id": run.task, "plan_slug": run.plan, **settled}
    signal(services, run, 0, ESCALATE, payload, halts=True)
    return outcome_of(services.run(run.id))


def _settled(services: LoopServices, run: RunState) -> dict[str, object] | None:
    """None if work may begin; otherwise the reason for a question, and what it is about."""
    gated, said = newest_base(services.events(run.plan))
    again = said is not None and not is_taken_as_known(said)
    if again and not _is_worked_on(services, run.plan):
        services.worktrees.begin_anew(run.plan)
    base = _base_of(services, run)
    if gated is not None and not again:
        noted = kinds.base_gates(gated)
        same = (noted["base"], noted["definition"]) == (base.commit, base.definition)
        if same and (noted["passed"] or is_taken_as_known(said)):
            return None
        if same and noted["run"] == run.id:
            return _question(noted)
    noted = _gated(services, run, base)
    return None if noted["passed"] else _question(noted)


def _is_worked_on(services: LoopServices, plan: str) -> bool:
    return any(event.kind == DEVELOP for event in services.events(plan))


def _base_of(services: LoopServices, run: RunState) -> _Base:
    """The base of a run's plan with the gates of its tasks, what their workflow adds included."""
    commit = services.worktrees.begin(run.plan)
    machine, state = run.machine, services.plan(run.plan)
    if machine is None and state.tasks:
        workflow = services.workflows_of(run.plan)[EXECUTE]
        given = cast("dict[str, Json]", task_payload(services, state, state.tasks[0]))  # texts
        machine = start(workflow, given)
    payload = payload_of(machine, GATES) if machine is not None else {}
    listed = gates_of(services, run, commit, commit, payload)
    return _Base(commit, listed, unsound(listed))


def _gated(services: LoopServices, run: RunState, base: _Base) -> kinds.BaseGatesData:
    """What the gates say to the base, noted."""
    facts: dict[str, object] = {
        "run": run.id,
        "base": base.commit,
        "definition": base.definition,
    }
    place = f"{base.commit[:12]}-{base.definition[:12]}"
    kept = services.places.gate_logs / "base" / f"{place}-{__version__}.json"
    report = _kept(kept)
    if report is not None:
        facts["reused"] = True
    elif base.problem is None:
        begun = {key: facts[key] for key in ("run", "base")}
        key = run.key(0, f"base-started-{place}")
        services.log.append(run.plan, kinds.BASE_STARTED, begun, key=key)
        report, problem = _run(services, base, lambda: services.is_over(run))
        facts["problem"] = problem
    else:
        facts["problem"] = base.problem
    facts |= _told(report)
    if report is not None and report.passed and "reused" not in facts:
        write_whole(kept, msgspec.json.encode(report), durable=False)
    data = {key: value for key, value in facts.items() if value is not None}
    key = run.key(0, f"base-gated-{place}")
    event, _ = services.log.append(run.plan, kinds.BASE_GATED, data, key=key)
    return kinds.base_gates(event)


def _run(
    services: LoopServices, base: _Base, is_over: Callable[[], bool]
) -> tuple[GateReport | None, str | None]:
    """The report on the base, or why the gates can say nothing of it."""
    try:
        bounds = bounds_in_run(base.gates)
        report = run_at(
            services.root, base.gates.ready, base.commit, bounds=bounds, is_over=is_over
        )
    except RunEnded:
        raise
    except (HornbookError, OSError) as problem:
        return None, str(problem)
    broken = [each for each in report.gates if each.required and each.status is GateStatus.REFUSED]
    told = "; ".join(f"gate {each.name}: {each.message}" for each in broken)
    return report, told or None


def _kept(path: Path) -> GateReport | None:
    """The report that was kept of this base and these gates; none if it is damaged."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=GateReport)
    except (OSError, msgspec.DecodeError):
        return None


def _told(report: GateReport | None) -> dict[str, object]:
    """What is noted of a report."""
    if report is None:
        return {"passed": False, "gates": []}
    whole = without_unasked(report)
    return {name: whole[name] for name in ("passed", "gates", "tree", "notes", "confined_by")}


def _question(noted: kinds.BaseGatesData) -> dict[str, object]:
    """What a person is asked of a base that is not green."""
    problem = noted.get("problem")
    if problem is not None:
        return _unjudged(noted["base"], problem)
    red = red_on_base(msgspec.convert(noted["gates"], tuple[GateResult, ...]))
    names = ", ".join(each.name for each in red)
    said = (
        f"Before anybody works: on the base {noted['base'][:12]} these gates are red: {names}. "
        "Take that as known (--accept), amend the plan, or mend the base, commit, and have the "
        "plan begin anew (--return)."
    )
    said += "".join(f" {each.name}: {each.message}" for each in red[:MOST_TOLD])
    shown = {each.name: _shown(each.message, each.output) for each in red}
    return {"reason": said, "red": shown, "about": BASE, "base": noted["base"], "judges": True}


def _unjudged(base: str, problem: str) -> dict[str, object]:
    """What a person is asked of gates that can say nothing."""
    said = (
        f"Before anybody works: the gates can judge nothing on the base {base[:12]}: {problem} "
        "Mend that, commit it where it is a file, and have the plan begin anew (--return)."
    )
    return {"reason": said, "about": BASE, "base": base, "judges": False}


def _shown(message: str, output: str) -> str:
    lines = output.splitlines()
    left = len(lines) - MOST_LINES
    more = [f"({left} lines above these are not shown)"] if left > 0 else []
    return "\n".join([message, *more, *lines[-MOST_LINES:]]).strip()
