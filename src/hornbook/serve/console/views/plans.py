"""Plans: explorations apart from commitments, and the tasks of each as a board and a graph."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from hornbook.errors import NotFound
from hornbook.loop.runs.overview import RunRow
from hornbook.serve.access.scopes import AccessScope
from hornbook.serve.console.frame import Form, View, Viewing, changes
from hornbook.serve.console.layers import LayerNode, layered
from hornbook.serve.console.views.runs import idle
from hornbook.serve.http.problems import HttpRefusal

_FIELDS = """
    slug title status committed active createdAt committedAt supersedes supersededBy
    tasks { id number title type files creates criteria dependsOn }
"""
_PLANS = f"query plans {{ plans {{ {_FIELDS} }} }}"
_PLAN = f"""
query plan($slug: String!) {{
  plan(slug: $slug) {{ {_FIELDS}
    situation mission execution coordination constraints {{ in out doNotTouch }}
    decisions {{ id decision reason impact }} risks {{ id severity text }}
    problems {{ level line message }}
  }}
}}
"""
_PROMOTE = "mutation promote($slug: String!) { promotePlan(slug: $slug) { status } }"
_AMEND = """
mutation amend($slug: String!, $text: String!, $reason: String!) {
  amendPlan(slug: $slug, text: $text, reason: $reason) { status }
}
"""
_EXECUTE = """
mutation execute($slug: String!, $agent: String) { executePlan(slug: $slug, agent: $agent) { id } }
"""
SECTIONS = ("situation", "mission", "execution", "coordination")
COLUMNS = ("waits", "ready", "running", "asks", "done", "ended otherwise")
_MARKS = {"done": "good", "running": "busy", "asks": "warn", "ended otherwise": "bad"}
_STATES = {
    "running": "running",
    "waiting": "running",
    "asking": "asks",
    "approved": "done",
    "decomposed": "done",
}
_SAID = {
    "amended": "The plan has the sections that you gave; the others are as they were.",
    "promoted": "The plan is committed: its text is frozen from now on.",
    "stopped": "What was going on is stopped; agents and gates at work are ended.",
}

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """A task as the board has it: in which column, and the run that says so."""

    facts: Mapping[str, Any]  # as GraphQL answers them
    column: str
    run: RunRow | None


@router.get("/plans")
def plans(view: Viewing) -> HTMLResponse:
    """All plans: explorations, commitments, and those that were superseded."""
    with view.work.run_book() as book:
        rows = book.rows()
    listed = [(plan, tasks_of(plan, rows)) for plan in view.ask(_PLANS)["plans"]]
    exploring = [each for each in listed if each[0]["status"] == "exploring"]
    committed = [each for each in listed if each[0]["status"] == "committed"]
    return view.page(
        "plans.html",
        live="runs",
        exploring=exploring,
        committed=committed,
        others=[each for each in listed if each not in exploring and each not in committed],
        columns=COLUMNS,
    )


@router.get("/plans/{slug}")
def plan(slug: str, view: Viewing, said: str = "") -> HTMLResponse:
    """One plan with its tasks."""
    found = _plan(view, slug)
    with view.work.run_book() as book:
        rows = book.rows(found["slug"])
    tasks = tasks_of(found, rows)
    going = [row for row in rows if row.workflow == "plan" and row.status in {"running", "waiting"}]
    return view.page(
        "plan.html",
        live=f"plan:{found['slug']}",
        said=_SAID.get(said, ""),
        plan=found,
        text=_text_hash(found),
        tasks=tasks,
        columns=[(name, [each for each in tasks if each.column == name]) for name in COLUMNS],
        drawing=_drawing(view, found, tasks) if len(tasks) > 1 else None,
        rows=rows,
        idle=idle(view, rows),
        titles={each["id"]: each["title"] for each in found["tasks"]},
        sections=SECTIONS,
        going=going or [row for row in rows if row.status in {"running", "waiting"}],
    )


def _plan(view: View, slug: str) -> Any:  # as GraphQL answers it
    found = view.ask(_PLAN, slug=slug)["plan"]
    if found is None:
        raise NotFound(f"there is no plan {slug!r}: `/plans` lists them.")
    return found


def tasks_of(plan: Mapping[str, Any], rows: Sequence[RunRow]) -> list[PlannedTask]:
    """The tasks of a plan, each with how its newest run stands."""
    newest: dict[str, RunRow] = {}
    for row in sorted(rows, key=lambda each: (each.started_at, each.id)):
        if row.plan == plan["slug"] and row.task:
            newest[row.task] = row
    done = {
        task["number"]
        for task in plan["tasks"]
        if task["id"] in newest and _STATES.get(newest[task["id"]].status) == "done"
    }
    return [
        PlannedTask(task, _column(task, newest.get(task["id"]), done), newest.get(task["id"]))
        for task in plan["tasks"]
    ]


def _column(task: Mapping[str, Any], run: RunRow | None, done: set[int]) -> str:
    if run is not None:
        return _STATES.get(run.status, "ended otherwise")
    return "ready" if set(task["dependsOn"]) <= done else "waits"


def _drawing(view: View, plan: Mapping[str, Any], tasks: Sequence[PlannedTask]) -> object:
    """What waits for what; each task leads to its run, or to its card where it has none."""
    prefix = view.asked_by.prefix
    nodes = [
        LayerNode(
            name=str(each.facts["number"]),
            label=f"{each.facts['number']} {each.facts['title']}",
            address=f"{prefix}/runs/{each.run.id}" if each.run else f"#task-{each.facts['number']}",
            waits_for=tuple(map(str, each.facts["dependsOn"])),
            mark=_MARKS.get(each.column, "quiet"),
            detail=each.column,
        )
        for each in tasks
    ]
    return layered(nodes, f"What waits for what among {len(nodes)} tasks of {plan['title']}")


@router.post("/plans/{slug}/promote", **changes(AccessScope.PLAN))
def promote(slug: str, view: Viewing, form: Form) -> Response:
    """Commit to an exploration."""
    changed = _changed(view, slug, form)
    if changed is not None:
        return changed
    view.ask(_PROMOTE, slug=slug)
    return view.led_to(f"/plans/{slug}", said="promoted")


@router.post("/plans/{slug}/amend", **changes(AccessScope.PLAN))
def amend(slug: str, view: Viewing, form: Form) -> Response:
    """Take sections of a plan from a text; the others stay."""
    changed = _changed(view, slug, form, given=form.get("sections", ""))
    if changed is not None:
        return changed
    view.ask(_AMEND, slug=slug, text=form.get("sections", ""), reason=form.get("reason", ""))
    return view.led_to(f"/plans/{slug}", said="amended")


@router.post("/plans/{slug}/execute", **changes(AccessScope.EXECUTE))
def execute(slug: str, view: Viewing, form: Form) -> Response:
    """Begin to carry out a plan; the run to follow."""
    changed = _changed(view, slug, form)
    if changed is not None:
        return changed
    if not _plan(view, slug)["committed"]:
        raise HttpRefusal(
            409, "not-committed", f"plan {slug} is an exploration: promote it before."
        )
    begun = view.ask(_EXECUTE, slug=slug, agent=form.get("agent") or None)
    return view.led_to(f"/runs/{begun['executePlan']['id']}")


@router.post("/plans/{slug}/stop", **changes(AccessScope.EXECUTE))
def stop(slug: str, view: Viewing, form: Form) -> Response:
    """End all that goes on for a plan."""
    with view.work.run_book(view.asked_by.principal) as book:
        live = [row for row in book.rows(slug) if row.status in {"running", "waiting", "asking"}]
        ended = [each for row in live for each in book.stop(row.id, form.get("reason", "")).ended]
    if not ended:
        raise HttpRefusal(409, "over", f"nothing goes on for plan {slug}: it ended meanwhile.")
    return view.led_to(f"/plans/{slug}", said="stopped")


def _changed(
    view: View, slug: str, form: Mapping[str, str], given: str = ""
) -> HTMLResponse | None:
    """Both states of a plan that is not as a person saw it; None if it is.

    What they wrote is `given` back, so that it is not lost.
    """
    found = _plan(view, slug)
    rewritten = "text" in form and form["text"] != _text_hash(found)
    if form.get("status") == found["status"] and not rewritten:
        return None
    return view.page(
        "plan_changed.html",
        status=409,
        plan=found,
        before=form.get("status", ""),
        seen=form.get("text", ""),
        text=_text_hash(found),
        rewritten=rewritten,
        given=given,
        sections=SECTIONS,
    )


def _text_hash(plan: Mapping[str, Any]) -> str:
    """A short name for what a plan says."""
    told = [plan[name] for name in (*SECTIONS, "constraints", "tasks")]
    return sha256(json.dumps(told).encode()).hexdigest()[:12]
