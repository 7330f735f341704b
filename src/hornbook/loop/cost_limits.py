"""What work may cost (`engine.cost`): over a limit nothing new starts before a person agrees.

Costs are what agents told in their events, so that every machine adds up the same, and the embedded
developer tells them after each step, so that a limit is met between two of its steps. A limit holds
for a run, for its plan, for the last day or for the whole repository, since a person last let work
go on over it. The first run that meets a limit asks; the others wait for that word, and go on from
where they are: nothing that was paid for is done again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from hornbook.disk import to_milliseconds
from hornbook.loop.protocol import StepKind, StepOutcome
from hornbook.loop.runs.lookup import outcome_of
from hornbook.loop.runs.state import COST, RunState
from hornbook.loop.steps.ask_person import signal
from hornbook.loop.steps.services import LoopServices
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Event
from hornbook.plans.run_costs import PaidCosts, paid_costs
from hornbook.plans.run_kinds import ESCALATE, SIGNALS
from hornbook.plans.run_records import open_question

LOOK_SECONDS = 10.0
"""Seconds between two looks at a limit that another run asks about."""
_NAMES = {
    "run": "the run {run}",
    "plan": "plan {plan}",
    "day": "this repository in a day",
    "repository": "this repository",
}


@dataclass(frozen=True, slots=True)
class ReachedLimit:
    """A limit that is reached: what was spent in one currency since a person last agreed."""

    scope: str
    limit: int
    cents: float
    currency: str
    whose: str

    @property
    def told(self) -> str:
        """That it is reached, in words."""
        return (
            f"Agents cost {self.cents:.2f} cents ({self.currency}) for {self.whose} since a person "
            f"last agreed, and {self.limit} are the limit (`engine.cost.{self.scope}`)."
        )


def cost_question(services: LoopServices, run: RunState, number: int) -> StepOutcome | None:
    """What keeps a run from going on: a limit that it asks about, or that another one asks about.

    `number` is that of the step which would come next.
    """
    found = reached(services, run)
    if found is None:
        return None
    scope = found.scope
    asking = _asked_elsewhere(services, run, scope)
    if asking is not None:
        message = f"{asking} asks about `engine.cost.{scope}`"
        return StepOutcome(StepKind.WAITING, run.id, LOOK_SECONDS, "waiting", message)
    said = (
        f"{found.told} Nothing new starts: have it go on for as much again (--return), or stop it."
    )
    payload = {"task_id": run.task, "reason": said, "about": COST, "scope": scope}
    what = f"cost-{len(run.of(kinds.ANSWERED))}"
    signal(services, run, number, ESCALATE, payload, halts=True, what=what)
    return outcome_of(services.run(run.id))


def reached(services: LoopServices, run: RunState) -> ReachedLimit | None:
    """The first limit that is reached, with what was spent."""
    limits = services.settings.engine.cost
    whole = limits.day or limits.repository
    every = services.projections.costs.read(services.log) if whole else PaidCosts()
    since = datetime.fromisoformat(services.clock()) - timedelta(days=1)
    checks: tuple[tuple[str, int, Callable[[], PaidCosts]], ...] = (
        ("run", limits.run, lambda: paid_costs(run.events)),
        ("plan", limits.plan, lambda: paid_costs(services.events(run.plan))),
        ("day", limits.day, lambda: every.since(to_milliseconds(since))),
        ("repository", limits.repository, lambda: every),
    )
    for scope, limit, paid in checks:
        spent = paid().spent(scope).amounts if limit else ()
        # Amounts of different currencies cannot be added up: each is held to the limit by itself.
        for each in spent:
            if each.cents >= limit:
                whose = _NAMES[scope].format(run=run.id, plan=run.plan)
                return ReachedLimit(scope, limit, each.cents, each.currency, whose)
    return None


def _asked_elsewhere(services: LoopServices, run: RunState, scope: str) -> str | None:
    """Another run that asks a person about the same limit, if one does."""
    if scope == "run":
        return None
    known = services.events(run.plan)
    if scope != "plan":
        known = services.log.of_kind(*SIGNALS, kinds.ANSWERED, kinds.ENDED)
    by_run: dict[str, list[Event]] = {}
    for event in known:
        by_run.setdefault(str(event.data.get("run")), []).append(event)
    for other, events in by_run.items():
        asked = open_question(events)
        if other == run.id or asked is None or events[-1].kind == kinds.ENDED:
            continue
        payload = kinds.signal(asked)["payload"]
        if (payload.get("about"), payload.get("scope")) == (COST, scope):
            return other
    return None
