"""The runs: all of them, one over time, what each of its steps saw, and a person's word on it."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from hornbook.context.receipt import verify
from hornbook.disk import now
from hornbook.errors import NotFound
from hornbook.loop.runs.overview import LogLine, RunRow, log_files, people_first
from hornbook.loop.runs.question import RunQuestion
from hornbook.loop.runs.run_book import RunBook
from hornbook.loop.runs.timeline import SeenContext, timeline
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Event
from hornbook.plans.run_costs import CostSum, cost_sum
from hornbook.plans.run_records import question_text
from hornbook.plans.workspace_log import repository_of
from hornbook.serve.access.scopes import AccessScope
from hornbook.serve.console.frame import Form, View, Viewing, changes
from hornbook.serve.console.list_pages import part_of
from hornbook.serve.console.run_drawings import lanes, token_plot
from hornbook.serve.http.problems import HttpRefusal
from hornbook.text.tokens import counter

ROWS = 50
LINES = 300
TAIL = 128 * 1024
EVENTS = 40
OPEN = frozenset({"running", "waiting", "asking"})
_ANSWER = """
mutation answer($id: ID!, $action: String!, $text: String!, $reason: String!) {
  answerRun(id: $id, action: $action, text: $text, reason: $reason) { status }
}
"""

_FLEET = """{ fleet {
  machines { repository alive host seenAt runs } waiting { repository run reason }
} }"""
_TITLES = "query titles($slug: String!) { plan(slug: $slug) { tasks { id title } } }"

router = APIRouter(include_in_schema=False)


@router.get("/runs")
def runs(view: Viewing) -> HTMLResponse:
    """All runs, those that need a person first."""
    with view.work.run_book() as book:
        rows = people_first(book.rows())
    part = part_of(rows, view.query, ROWS)
    return view.page(
        "runs.html",
        live="runs",
        rows=part,
        titles=titles(view, part.shown),
        idle=idle(view, rows),
    )


@router.get("/runs/{run_id}")
def run(run_id: str, view: Viewing, said: str = "") -> HTMLResponse:
    """One run over time, live."""
    with view.work.run_book() as book:
        row = book.row(run_id)
        report, question, events = book.report(run_id), book.question(run_id), book.events(run_id)
        begun = book.begun_by(run_id)
    over = timeline(events)
    return view.page(
        "run.html",
        live=f"run:{row.id} plan:{row.plan}" if row.task is None else f"run:{row.id}",
        said=_SAID.get(said, ""),
        row=row,
        begun=begun,
        tokens=row.tokens + sum(each.tokens for each in begun),
        took=_took(row, begun),
        spent=_spent([row, *begun]),
        titles=titles(view, [row, *begun]),
        report=report,
        idle=idle(view, [row, *begun]),
        spans=_spans(events),
        question=question,
        lanes=lanes(over.stretches, now()) if over.stretches else None,
        stretches=over.stretches,
        at_work=[each for each in over.stretches if not each.ended],
        plot=token_plot(over.tokens) if over.tokens else None,
        points=over.tokens,
        contexts=over.contexts,
        printed=printed(events),
        lines=LINES,
        events=events[-EVENTS:],
        total=len(events),
    )


def _took(row: RunRow, begun: Sequence[RunRow]) -> int:
    """Seconds from when a run began until the last of what it began did something."""
    last = max(each.updated_at for each in (row, *begun))
    between = datetime.fromisoformat(last) - datetime.fromisoformat(row.started_at)
    return max(row.elapsed_seconds, int(between.total_seconds()))


def _spent(rows: Sequence[RunRow]) -> CostSum:
    """What runs cost together; those whose agents told nothing add nothing."""
    told = any(each.spent.told for each in rows)
    return cost_sum((cost for each in rows for cost in each.costs), told=told)


def _spans(events: Sequence[Event]) -> list[str]:
    """What each attempt changed, as addresses name it; "" where it changed nothing."""
    works = (kinds.attempt(event) for event in events if event.kind == kinds.DEVELOP)
    return [f"{each['base']}..{each['commit']}" if each["files"] else "" for each in works]


_SAID = {
    "answered": "Your answer is noted: whoever carries the plan out goes on with it.",
    "stopped": "The run is stopped: an agent or gates at work are ended, and no step follows.",
}


@router.get("/runs/{run_id}/contexts/{digest}")
def context(run_id: str, digest: str, view: Viewing) -> HTMLResponse:
    """What a step saw, and whether it is what was sent."""
    with view.work.run_book() as book:
        row, events = book.row(run_id), book.events(run_id)
    found = next((each for each in timeline(events).contexts if each.sha256 == digest), None)
    if found is None:
        raise NotFound(f"no step of run {run_id} saw a context {digest[:12]}: see its page.")
    text, checks = _checked(view, row, found)
    return view.page("context.html", row=row, context=found, text=text, checks=checks)


@dataclass(frozen=True, slots=True)
class ContextCheck:
    """One thing that was looked at, and what is wrong with it, if anything is."""

    name: str
    problems: tuple[str, ...]


def _checked(view: View, row: RunRow, seen: SeenContext) -> tuple[str, list[ContextCheck]]:
    """The text of a context, and what comes of holding it against its event and its receipt."""
    path = view.work.places.state / "plans" / row.plan / seen.path
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        missing = "the text is not on this machine: another one carried this step out."
        return "", [ContextCheck("The text", (missing,))]
    same = sha256(data).hexdigest() == seen.sha256
    checks = [
        ContextCheck(
            "The text is the one that the event of the step names",
            () if same else ("it was edited since",),
        )
    ]
    if seen.receipt:
        checks.append(ContextCheck("Its receipt", tuple(_receipt_problems(view, seen, data))))
    return data.decode("utf-8", "backslashreplace"), checks


def _receipt_problems(view: View, seen: SeenContext, data: bytes) -> list[str]:
    path = view.work.places.records / "receipts" / f"{seen.receipt[:16]}.json"
    try:
        facts = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return [f"{path.name} is not there, or is no receipt"]
    if facts.get("receipt_sha256") != seen.receipt:
        return [f"{path.name} is another receipt than the event names"]
    return verify(facts, data, counter)


@router.post("/runs/{run_id}/answer", **changes(AccessScope.ANSWER))
def answer(run_id: str, view: Viewing, form: Form) -> Response:
    """A person's word on what a run asks."""
    seen = form.get("seen", "")
    with view.work.run_book() as book:
        changed = _changed(view, book, run_id, seen)
        if changed is not None:
            return changed
        try:
            view.ask(
                _ANSWER,
                id=run_id,
                action=form.get("action", ""),
                text=form.get("text", ""),
                reason=form.get("reason", ""),
            )
        except HttpRefusal:
            changed = _changed(view, book, run_id, seen)
            if changed is None:
                raise
            return changed
    return view.led_to(f"/runs/{run_id}", said="answered")


def _changed(view: View, book: RunBook, run_id: str, seen: str) -> HTMLResponse | None:
    """Both states of a run that no longer asks what a person answers; None if it does."""
    question = book.question(run_id)
    if question is not None and str(question.seq) == seen:
        return None
    events = book.events(run_id)
    asked = next((each for each in events if str(each.seq) == seen), None)
    known = asked is not None and asked.kind in kinds.SIGNALS
    after = [each for each in events if asked is not None and each.seq > asked.seq]
    return view.page(
        "changed.html",
        status=409,
        row=book.row(run_id),
        before=question_text(asked) if known and asked is not None else "",
        question=question,
        answered=next((each for each in after if each.kind == kinds.ANSWERED), None),
    )


@router.post("/runs/{run_id}/stop", **changes(AccessScope.EXECUTE))
def stop(run_id: str, view: Viewing, form: Form) -> Response:
    """End a run and those that it began."""
    with view.work.run_book(view.asked_by.principal) as book:
        row = book.row(run_id)
        if row.status not in OPEN or form.get("status", row.status) != row.status:
            return view.page(
                "changed.html",
                status=409,
                row=row,
                before=f"It was {form.get('status', 'going on')}.",
                question=book.question(run_id),
                answered=None,
            )
        book.stop(run_id, form.get("reason", ""))
    return view.led_to(f"/runs/{run_id}", said="stopped")


def printed(events: Sequence[Event], most: int = LINES) -> list[LogLine]:
    """The last lines that the agents of a run printed."""
    found: list[LogLine] = []
    for file in reversed(list(log_files(events))):
        lines = [LogLine(file.at, file.step, file.stream, text) for text in _last_lines(file.path)]
        found = lines + found
        if len(found) >= most:
            break
    return found[-most:]


def _last_lines(path: Path) -> list[str]:
    """The end of a file; its first line may be cut off before."""
    if not path.is_file():
        return []
    with path.open("rb") as opened:
        opened.seek(max(0, path.stat().st_size - TAIL))
        return opened.read().decode("utf-8", "replace").splitlines()


# What the engine has of a run whose question was answered, and of which it was not told yet.
_UNTAKEN = "the answer was not taken up yet"


def idle(view: View, rows: Sequence[RunRow]) -> dict[str, str]:
    """Why nobody works on runs that go on as far as their log tells, by their ids.

    Such a run was answered, say, when whoever carried its plan out had gone already.
    """
    going = {row.id for row in rows if row.status in OPEN - {"asking"}}
    if not going:
        return {}
    ours = repository_of(view.work.places, view.work.settings)
    fleet = view.ask(_FLEET)["fleet"]
    found = {
        each["run"]: _UNTAKEN
        if each["reason"].startswith("a person has to answer")
        else each["reason"]
        for each in fleet["waiting"]
        if each["repository"] == ours
    }
    for each in fleet["machines"]:
        if not each["alive"] and each["repository"] == ours:
            silent = f"{each['host']}, which worked on it, is silent since {each['seenAt']}"
            found.update(dict.fromkeys(each["runs"], silent))
    # The run of a whole plan waits for its tasks: somebody works on it who works on one of them.
    carried = {row.plan for row in rows if row.task and row.id in going and row.id not in found}
    whole = {row.id for row in rows if row.task is None and row.plan in carried}
    return {run: why for run, why in found.items() if run in going - whole}


def titles(view: View, rows: Iterable[RunRow]) -> dict[str, str]:
    """What the tasks of some runs are about, by their ids."""
    plans = sorted({row.plan for row in rows if row.task})
    found = (view.ask(_TITLES, slug=slug)["plan"] for slug in plans)
    return {task["id"]: task["title"] for plan in found if plan for task in plan["tasks"]}


def questions(book: RunBook, rows: Sequence[RunRow]) -> list[tuple[RunRow, RunQuestion]]:
    """What runs ask, those that have waited longest first."""
    asked = [(row, book.question(row.id)) for row in rows if row.needs_person]
    found = [(row, question) for row, question in asked if question is not None]
    return sorted(found, key=lambda each: (each[1].at, each[0].id))
