"""What recorded runs say in the graph: how plans were carried out, who is asked, what it cost."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from hornbook.graph.store import GraphStore


@dataclass(frozen=True, slots=True)
class PastRun:
    """A recorded run; `question` is what a person has to answer, while nobody has."""

    id: str
    plan: str
    task: str | None
    workflow: str
    status: str
    attempts: int
    tokens: int
    cost: Decimal | None
    started_at: str
    ended_at: str | None = None
    commit: str | None = None
    question: str | None = None
    answered_by: tuple[str, ...] = ()


def past_runs(store: GraphStore, plan: str | None = None) -> list[PastRun]:
    """The recorded runs in the order in which they were begun; with a plan's id, those of it."""
    found: dict[str, PastRun] = {}
    for row in store.rows("runs"):
        source, answered_by = row[1], row[-1]
        run = found.get(row[0]) or _past_run(row)
        names = {*run.answered_by, *filter(None, (answered_by,))}
        run = replace(run, answered_by=tuple(sorted(names)))
        of_plan = source.startswith("plan.")
        found[run.id] = replace(run, plan=source) if of_plan else replace(run, task=source)
    wanted = (run for run in found.values() if plan is None or run.plan == plan)
    return sorted(wanted, key=lambda each: (each.started_at, each.id))


def _past_run(row: Sequence[str]) -> PastRun:
    """The run of a row, without what differs from row to row: its sources and who answered."""
    run, _, status, workflow, attempts, tokens, cost, at, ended, commit, asks, _ = row
    return PastRun(
        id=run,
        plan="",
        task=None,
        workflow=workflow,
        status=status,
        attempts=int(attempts),
        tokens=int(tokens),
        cost=Decimal(cost) if cost else None,
        started_at=at,
        ended_at=ended or None,
        commit=commit or None,
        question=asks or None,
    )
