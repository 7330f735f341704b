"""Past changes under the rules as they are, and beside that under a draft or another revision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from hornbook.doctor.replay import Replay, ReplayedChange, ReplayedPacket
from hornbook.serve.console.frame import Viewing
from hornbook.serve.console.list_pages import address_with, number_in, part_of
from hornbook.serve.http.problems import HttpRefusal

LAST, MOST, ROWS, NEVER = 10, 200, 200, 100

router = APIRouter(include_in_schema=False)

_PACKET = "outcome ruleIds tokens passes reasons { code message }"
_REPLAY = f"""query Replay($last: Int!, $range: String, $against: String, $draft: Boolean!) {{
  replay(last: $last, range: $range, against: $against, draft: $draft) {{
    summary {{ changes complete passes refused tooBig notJudged changed }}
    neverBound notes
    changes {{
      commit base date subject files changed packet {{ {_PACKET} }} against {{ {_PACKET} }}
    }}
  }}
}}"""


@dataclass(frozen=True, slots=True)
class ReplayRow:
    """A change, and what the other rules would add to its packet and take from it."""

    change: Mapping[str, Any]
    more: tuple[str, ...]
    fewer: tuple[str, ...]


@router.get("/replay")
def replay(view: Viewing) -> HTMLResponse:
    """The last changes, or those of a range; with a draft or a revision, under both."""
    query = view.query
    last = number_in(query, "last", LAST)
    span, against = query.get("range", "").strip(), query.get("against", "").strip()
    draft = bool(query.get("draft"))
    asked: dict[str, object] = {
        "last": last,
        "range": span or None,
        "against": against or None,
        "draft": draft,
    }
    found, problem = None, ""
    if not 1 <= last <= MOST:
        problem = f"last is {last}: this page takes 1 to {MOST}, and `hornbook replay` any number."
    else:
        try:
            found = view.ask(_REPLAY, **asked)["replay"]
        except HttpRefusal as refusal:
            if refusal.status != 422:
                raise
            problem = refusal.detail
    return view.page(
        "replay.html",
        status=422 if problem and query else 200,
        found=found,
        problem=problem,
        rows=part_of(_rows(found, only=query.get("only", "")), query, ROWS, "rows"),
        never=part_of(found["neverBound"] if found else (), query, NEVER, "never"),
        asked={**asked, "only": query.get("only", "")},
        beside="the files as they are" if draft else against,
        only_changed=address_with(query, "only", "changed").replace("#only", "#rows"),
        most=MOST,
    )


def replayed_rows(found: Replay) -> list[ReplayRow]:
    """The changes of a replay, the newest first, as the schema would answer them."""
    return [_row(_change(each)) for each in reversed(found.changes)]


def _change(each: ReplayedChange) -> dict[str, Any]:
    step = each.step
    return {
        "commit": step.commit,
        "base": step.base,
        "date": step.date,
        "subject": step.subject,
        "files": each.files,
        "changed": each.changed,
        "packet": _packet(each.packet),
        "against": None if each.against is None else _packet(each.against),
    }


def _packet(packet: ReplayedPacket) -> dict[str, Any]:
    return {
        "outcome": packet.outcome,
        "ruleIds": packet.rules,
        "tokens": packet.tokens,
        "passes": packet.passes,
        "reasons": packet.reasons,
    }


def _rows(found: Mapping[str, Any] | None, only: str) -> Sequence[ReplayRow]:
    changes = found["changes"] if found else ()
    return [_row(each) for each in changes if each["changed"] or only != "changed"]


def _row(change: Mapping[str, Any]) -> ReplayRow:
    if change["against"] is None:
        return ReplayRow(change, (), ())
    now, then = set(change["packet"]["ruleIds"]), set(change["against"]["ruleIds"])
    return ReplayRow(change, tuple(sorted(then - now)), tuple(sorted(now - then)))
