"""Trends: how reviews ended, which rules they turn on, how reviewers do, and what plans cost."""

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from hornbook.loop.runs.overview import RunRow
from hornbook.plans.run_costs import cost_sum
from hornbook.review.reviewers import reviewer_name
from hornbook.serve.console.frame import PAGE_HEADERS, View, Viewing
from hornbook.serve.console.list_pages import part_of
from hornbook.serve.console.svg import box, drawing, line, ticks, words
from hornbook.serve.http.problems import HttpRefusal

_ASKED = """
query trends($days: Int!, $first: Int!, $after: String) {
  ruleRecords(days: $days) { id violated passed notApplicable doubted last }
  reviewsConnection(first: $first, after: $after) {
    totalCount pageInfo { hasNextPage endCursor }
    nodes { id at outcome rejectionType route base head reviewer reviewers canary }
  }
}
"""
PIECE, LISTED = 500, 50
OUTCOMES = ("approved", "rejected", "escalate", "invalid")
_CLASSES = {"approved": "good", "rejected": "bad", "escalate": "warn", "invalid": "quiet"}
TABLES = ("weeks", "routes", "rules", "reviewers", "plans")
Days = Annotated[int, Query(ge=1, le=3650)]

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class TrendTable:
    """A table that is shown, and that `/trends.csv` gives."""

    name: str
    heads: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


@router.get("/trends")
def trends(view: Viewing, days: Days = 90) -> HTMLResponse:
    """All tables of a range of days."""
    tables, reviews = _tables(view, days)
    weeks = tables["weeks"].rows
    totals = {name: len(each.rows) for name, each in tables.items()} | {"weeks": len(reviews)}
    wanted = {name: view.query[name] for name in _CHOICES if view.query.get(name)}
    chosen = [each for each in reviews if _is_chosen(each, wanted)]
    return view.page(
        "trends.html",
        live="graph",
        days=days,
        tables=tables,
        totals=totals,
        classes=_CLASSES,
        wanted=wanted,
        lead=partial(_lead, view.asked_by.prefix, days),
        reviews=part_of(chosen, view.query, LISTED, "reviews"),
        drawing=_drawing(weeks) if weeks else None,
    )


def _facts(review: Mapping[str, Any]) -> dict[str, Collection[str]]:
    """What the tables tell a review apart by."""
    names = [
        reviewer_name(name, in_run=way) for name in review["reviewers"] for way in (True, False)
    ]
    return {
        "week": (_monday(review),),
        "outcome": (review["outcome"].lower(),),
        "route": (_named(review["route"]),),
        "rejection": (_named(review["rejectionType"]),),
        "reviewer": names,
    }


_CHOICES = ("week", "outcome", "route", "rejection", "reviewer")


def _is_chosen(review: Mapping[str, Any], wanted: Mapping[str, str]) -> bool:
    facts = _facts(review) if wanted else {}
    return all(value in facts[name] for name, value in wanted.items())


def _lead(prefix: str, days: int, table: str, row: Sequence[object], head: str) -> str:
    """Where a number of a table leads: to what it counts."""
    name = str(row[0])
    if table == "rules":
        return f"{prefix}/rules/{quote(name)}#reviews"
    if table == "plans":
        return f"{prefix}/plans/{quote(name)}#runs"
    chosen = {"weeks": {"week": name}, "reviewers": {"reviewer": name}}.get(table)
    if chosen is None:
        chosen = {"route": name, "rejection": str(row[1])}
    elif head in OUTCOMES:
        chosen = {**chosen, "outcome": head}
    return f"?{urlencode({'days': days, **chosen})}#reviews"


@router.get("/trends.csv")
def trends_csv(view: Viewing, table: str, days: Days = 90) -> Response:
    """One of the tables for a spreadsheet."""
    if table not in TABLES:
        known = ", ".join(TABLES)
        raise HttpRefusal(404, "not-found", f"there is no table {table!r}: ask for {known}.")
    found = _tables(view, days)[0][table]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(found.heads)
    writer.writerows([_cell(each) for each in row] for row in found.rows)
    headers = {
        **PAGE_HEADERS,
        "content-disposition": f'attachment; filename="hornbook-{table}-{days}d.csv"',
    }
    return Response(text.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)


def _cell(value: object) -> object:
    """A value that no spreadsheet takes for a formula."""
    text = "" if value is None else value
    return f"'{text}" if isinstance(text, str) and text[:1] in "=+-@\t\r" and text else text


def _tables(view: View, days: int) -> tuple[Mapping[str, TrendTable], list[Any]]:
    """Every table, and the reviews that they count."""
    since = datetime.now(UTC) - timedelta(days=days)
    records, reviews = _asked(view, days, since)
    with view.work.run_book() as book:
        runs = [row for row in book.rows() if datetime.fromisoformat(row.started_at) >= since]
    found = (
        _weeks(reviews),
        _routes(reviews),
        _rules(records),
        _reviewers(view, since),
        _plans(runs),
    )
    return {each.name: each for each in found}, reviews


def _asked(view: View, days: int, since: datetime) -> tuple[list[Any], list[Any]]:
    """How rules were answered, and the reviews of real changes since a time, page by page."""
    reviews: list[Any] = []
    after: str | None = None
    while True:
        data = view.ask(_ASKED, days=days, first=PIECE, after=after)
        page = data["reviewsConnection"]
        reviews += page["nodes"]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    recent = [
        each
        for each in reviews
        if not each["canary"] and datetime.fromisoformat(each["at"]) >= since
    ]
    return data["ruleRecords"], recent


def _weeks(reviews: Sequence[Mapping[str, Any]]) -> TrendTable:
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for each in reviews:
        counted[_monday(each)][each["outcome"].lower()] += 1
    rows = tuple(
        (week, *(counts[name] for name in OUTCOMES), counts.total())
        for week, counts in sorted(counted.items())
    )
    return TrendTable("weeks", ("week of", *OUTCOMES, "reviews"), rows)


def _monday(review: Mapping[str, Any]) -> str:
    at = datetime.fromisoformat(review["at"])
    return (at - timedelta(days=at.weekday())).date().isoformat()


def _named(value: object) -> str:
    return str(value or "none").lower()


def _routes(reviews: Sequence[Mapping[str, Any]]) -> TrendTable:
    """Where work went that was not approved."""
    counted = Counter(
        (_named(each["route"]), _named(each["rejectionType"]))
        for each in reviews
        if each["outcome"].lower() != "approved"
    )
    rows = tuple((route, kind, count) for (route, kind), count in counted.most_common())
    return TrendTable("routes", ("route", "rejection", "reviews"), rows)


def _rules(records: Sequence[Mapping[str, Any]]) -> TrendTable:
    """How reviews answered each rule, the most violated first; those never cited are last."""
    names = ("id", "violated", "passed", "notApplicable", "doubted", "last")
    rows = [tuple(each[name] for name in names) for each in records]
    rows.sort(key=lambda row: (row[-1] is None, -row[1], -row[2], row[0]))
    heads = ("rule", "violated", "passed", "not applicable", "doubted", "last")
    return TrendTable("rules", heads, tuple(rows))


def _reviewers(view: View, since: datetime) -> TrendTable:
    rows = tuple(
        (
            each.reviewer,
            each.model,
            each.reviews,
            f"{each.canaries.found} of {each.canaries.given}",
            _share(each.agreement),
            _share(each.not_applicable_rate),
            each.overruled,
            each.reverted,
        )
        for each in view.work.reviewer_records(since).reviewers
    )
    heads = (
        *("reviewer", "model", "reviews", "canaries found", "agreement"),
        *("not applicable", "overruled", "reverted"),
    )
    return TrendTable("reviewers", heads, rows)


def _share(value: float | None) -> str | None:
    return None if value is None else f"{value:.0%}"


def _plans(runs: Sequence[RunRow]) -> TrendTable:
    """What the runs of each plan took; the run of a whole plan has no agent of its own."""
    by_plan: dict[str, list[RunRow]] = defaultdict(list)
    for row in runs:
        by_plan[row.plan].append(row)
    rows = tuple(
        (
            plan,
            len(of_plan),
            sum(row.status == "approved" for row in of_plan if row.task),
            sum(row.tokens for row in of_plan),
            _cost(of_plan),
        )
        for plan, of_plan in sorted(by_plan.items())
    )
    return TrendTable("plans", ("plan", "runs", "approved", "tokens", "cost"), rows)


def _cost(runs: Sequence[RunRow]) -> str | None:
    spent = [row.spent for row in runs]
    amounts = (each for one in spent for each in one.amounts)
    return str(cost_sum(amounts, told=any(each.told for each in spent))) or None


def _drawing(weeks: Sequence[tuple[object, ...]]) -> Markup:
    """The reviews of each week, stacked by how they ended."""
    width, bottom, left = 1100.0, 170.0, 40.0
    totals = [int(str(row[-1])) for row in weeks]
    top = [each for each in ticks(max(totals), 4) if each.is_integer()]
    tall, across = bottom - 10, (width - left) / len(weeks)
    parts: list[Markup] = []
    for each in top:
        y = bottom - each / top[-1] * tall
        parts.append(line(left, y, width, y, class_="grid"))
        parts.append(words(left - 6, y + 4, f"{each:g}", class_="soft", text_anchor="end"))
    for place, row in enumerate(weeks):
        x = left + (place + 0.15) * across
        parts += _bars(row, x, bottom, min(across * 0.7, 60.0), tall / top[-1])
        if len(weeks) <= 16 or not place % (len(weeks) // 8):
            parts.append(words(x, bottom + 16, str(row[0])[5:], class_="soft"))
    told = "1 week" if len(weeks) == 1 else f"{len(weeks)} weeks"
    return drawing(width, bottom + 24, f"Reviews of {told} by outcome", *parts)


def _bars(
    row: tuple[object, ...], x: float, bottom: float, wide: float, scale: float
) -> Iterator[Markup]:
    """The outcomes of one week, one on top of the other."""
    y = bottom
    for name, count in zip(OUTCOMES, row[1:], strict=False):
        high = int(str(count)) * scale
        y -= high
        if high:
            told = f"week of {row[0]}: {count} {name}"
            yield box(x, y, wide, high, class_=_CLASSES[name], title=told)
