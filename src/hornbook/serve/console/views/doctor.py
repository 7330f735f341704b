"""The health of the rules: what is wrong with them, by what it costs, and what is accepted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import groupby
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from hornbook.commits import git
from hornbook.doctor.baseline import DAYS, PLACE
from hornbook.doctor.finding import CODES, cost_of
from hornbook.serve.access.scopes import AccessScope
from hornbook.serve.console.frame import Form, View, ViewingFiles, changes
from hornbook.serve.console.list_pages import ShownPart, part_of
from hornbook.serve.console.patches import PatchLine, text_patch

ROWS, ACCEPTED, LINES, AT_ONCE = 60, 50, 200, 1000

router = APIRouter(include_in_schema=False)

_HEALTH = """{ health { grade errors warnings infos notJudged { code reason } } }"""
_FINDINGS = """query Doctor($first: Int!, $after: String) {
  doctor(first: $first, after: $after) {
    pageInfo { hasNextPage endCursor }
    nodes { code level path line message remedy fixable acceptedUntil rule { id title } }
  }
}"""
_ACCEPT = """mutation Accept(
  $code: String!, $reason: String!, $path: String!, $rule: ID, $until: String
) {
  acceptFinding(code: $code, reason: $reason, path: $path, rule: $rule, until: $until) { code }
}"""
_SAID = {"accepted": f"It is accepted: commit {PLACE.as_posix()}, which is shown below."}
COSTS = {
    "F": "A rule is not in force",
    "D": "A rule is too large to be handed to anybody",
    "C": "A rule is hardly in force",
    "B": "A rule says something that is not so",
    "A": "Worth knowing",
}


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """Findings of one kind and what they cost; of long lists a part is shown."""

    cost: str
    code: str
    meaning: str
    total: int
    findings: tuple[Mapping[str, Any], ...]


@router.get("/doctor")
def doctor(view: ViewingFiles) -> HTMLResponse:
    """What is wrong with the rules as the files have them."""
    return _page(view)


def _page(view: View, *, status: int = 200, changed: str = "") -> HTMLResponse:
    health = view.ask(_HEALTH)["health"]
    found = _findings(view)
    pending = [each for each in found if each["acceptedUntil"] is None]
    baseline = _baseline(view)
    return view.page(
        "doctor.html",
        status=status,
        live="graph",
        said=_SAID.get(view.query.get("said", ""), ""),
        changed=changed,
        health=health,
        costs=COSTS,
        groups=_groups(pending, view.query),
        open_findings=part_of(pending, view.query, ROWS, "findings"),
        accepted=part_of(
            [each for each in found if each["acceptedUntil"] is not None],
            view.query,
            ACCEPTED,
            "accepted",
        ),
        baseline_name=PLACE.as_posix(),
        baseline_hash=_hash(baseline),
        patch=_patch(view, baseline),
        first_day=_day(0),
        until=_day(DAYS),
    )


@router.post("/doctor/accept", **changes(AccessScope.ANSWER))
def accept(view: ViewingFiles, form: Form) -> Response:
    """Accept the findings of a kind in a file until a day, by whoever has signed in."""
    now = _baseline(view)
    if form.get("baseline") != _hash(now):
        return _page(view, status=409, changed=form.get("baseline") or "none")
    view.ask(
        _ACCEPT,
        code=form.get("code", ""),
        reason=form.get("reason", ""),
        path=form.get("path", ""),
        rule=form.get("rule") or None,
        until=form.get("until") or None,
    )
    return view.led_to("/doctor", said="accepted")


def _findings(view: View) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    after = None
    while True:
        page = view.ask(_FINDINGS, first=AT_ONCE, after=after)["doctor"]
        found += page["nodes"]
        if not page["pageInfo"]["hasNextPage"]:
            return found
        after = page["pageInfo"]["endCursor"]


def _groups(pending: Sequence[Mapping[str, Any]], query: Mapping[str, str]) -> list[FindingGroup]:
    """What is shown of the findings, the costliest first and each kind together."""
    totals = {code: sum(each["code"] == code for each in pending) for code in CODES}
    ordered = sorted(pending, key=lambda each: "FDCBA".index(cost_of(each["code"])))
    part = part_of(ordered, query, ROWS, "findings")
    return [
        FindingGroup(cost_of(code), code, CODES[code].meaning, totals[code], tuple(some))
        for code, some in groupby(part.shown, key=lambda each: str(each["code"]))
    ]


def _baseline(view: View) -> str:
    """The file of accepted findings as it is; "" where there is none."""
    place = view.work.root / PLACE
    return place.read_text(encoding="utf-8", errors="replace") if place.is_file() else ""


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def _patch(view: View, now: str) -> ShownPart[PatchLine] | None:
    """How that file differs from the one that is committed; None if it does not."""
    root = view.work.root
    before = ""
    if git.inside_repository(root) and git.is_commit(root, "HEAD"):
        held = git.files_at(root, git.commit(root, "HEAD")).get(PLACE.as_posix())
        if held is not None:
            before = git.blobs(root, [held])[held].decode("utf-8", "replace")
    if before == now:
        return None
    return part_of(text_patch(before, now), view.query, LINES, "patch")


def _day(ahead: int) -> str:
    return (datetime.now(UTC).date() + timedelta(days=ahead)).isoformat()
