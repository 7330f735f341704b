"""The first page: what needs a person, oldest first, and then what runs."""

from dataclasses import dataclass

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from hornbook.rules.document import Problem
from hornbook.serve.console.frame import View, Viewing
from hornbook.serve.console.list_pages import part_of
from hornbook.serve.console.views.runs import idle, questions, titles

LISTED = 50
_RANK = {"error": 0, "warning": 1, "info": 2}

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Figures:
    """How much there is of what."""

    documents: int
    rules: int
    triples: int
    problems: int


@router.get("/")
def inbox(view: Viewing) -> HTMLResponse:
    """What needs a person, and what runs."""
    with view.work.run_book() as book:
        rows = book.rows()
        asking = questions(book, rows)
    problems = worst_first(view)
    broken = [each for each in problems if each.level == "error"]
    reserve = view.work.reserve().tokens
    too_large = [each for each in view.work.snapshot().rules.enforced if each.tokens > reserve]
    running = [row for row in rows if row.status in {"running", "waiting"}]
    return view.page(
        "inbox.html",
        live="runs graph",
        asking=asking,
        running=running,
        idle=idle(view, running),
        titles=titles(view, [*(row for row, _ in asking), *running]),
        broken=part_of(broken, view.query, LISTED, "broken"),
        too_large=part_of(too_large, view.query, LISTED, "too-large"),
        reserve=reserve,
        lesser=part_of(problems[len(broken) :], view.query, LISTED, "lesser"),
        figures=figures(view, problems),
    )


def worst_first(view: View) -> list[Problem]:
    """What is wrong with documents, errors first."""
    entries = view.work.snapshot().catalog.entries
    problems = (problem for entry in entries for problem in entry.problems)
    return sorted(problems, key=lambda each: (_RANK.get(each.level, 3), each.path, each.line or 0))


def figures(view: View, problems: list[Problem]) -> Figures:
    """What the graph has."""
    snapshot = view.work.snapshot()
    entries = snapshot.catalog.entries
    triples = sum(entry.triples for entry in entries)
    return Figures(len(entries), len(snapshot.rules.enforced), triples, len(problems))
