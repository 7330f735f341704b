"""The rules: all of them, and one with its text, its scope, its past and how reviews answered."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from hornbook.errors import NotFound
from hornbook.rules.document import Chunk
from hornbook.serve.access.scopes import AccessScope
from hornbook.serve.console.frame import Form, View, ViewingFiles, changes
from hornbook.serve.console.list_pages import ShownPart, part_of
from hornbook.serve.console.patches import PatchLine, text_patch
from hornbook.serve.console.rule_drafts import (
    LAST,
    MOST,
    SHOWN_TEXT,
    file_text,
    pattern_draft,
    text_draft,
)
from hornbook.serve.http.problems import HttpRefusal

ROWS = 100
FILES = 30
REVISIONS = 10
LINES = 300
CHARACTERS = 60_000
"""Of a rule's text on one page; a larger one is shown in parts, at headings."""

router = APIRouter(include_in_schema=False)

_RULES = """query Rules(
  $filter: RuleFilter, $first: Int, $after: String, $last: Int, $before: String
) {
  rules(filter: $filter, first: $first, after: $after, last: $last, before: $before) {
    totalCount
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    nodes {
      id title path severity activation enforced notEnforcedReason tokens
      patterns { raw } files(first: 1) { totalCount }
    }
  }
}"""
_RULE = """query Rule($id: ID!) {
  rule(id: $id) {
    id title path line category severity inferred activation enforced notEnforcedReason tokens
    owner formerly
    problems { line code level message }
    patterns { raw pattern line }
    history { at event path revision sha256 formerly }
    supersedes { id title }
    supersededBy { id title }
    reviews(first: 100) { totalCount nodes {
      id at outcome base head reviewer canary
      findings { sopId status severity path line message }
    } }
  }
}"""
SEVERITIES = ("error", "warning", "info")


@router.get("/rules")
def rules(view: ViewingFiles) -> HTMLResponse:
    """All rules in id order, or those that a text or a severity chooses."""
    query = view.query
    text, severity = query.get("text", "").strip(), query.get("severity", "")
    wanted: dict[str, object] = {"text": text} if text else {}
    if severity in SEVERITIES:
        wanted["severity"] = severity.upper()
    if query.get("enforced") in {"yes", "no"}:
        wanted["enforced"] = query["enforced"] == "yes"
    way: dict[str, object] = (
        {"last": ROWS, "before": query["before"]} if "before" in query else {"first": ROWS}
    )
    if "after" in query:
        way["after"] = query["after"]
    found = view.ask(_RULES, filter=wanted, **way)["rules"]
    return view.page(
        "rules.html", live="graph", found=found, wanted=query, severities=SEVERITIES, text=text
    )


@router.get("/rules/{rule_id:path}")
def rule(rule_id: str, view: ViewingFiles) -> HTMLResponse:
    """One rule; with patterns in the address, what they would bind."""
    return _page(view, rule_id, None)


@router.post("/rules/{rule_id:path}", **changes(AccessScope.READ))
def try_text(rule_id: str, view: ViewingFiles, form: Form) -> HTMLResponse:
    """One rule, and what it would do with another text; nothing is written."""
    return _page(view, rule_id, form)


def _page(view: View, rule_id: str, form: Mapping[str, str] | None) -> HTMLResponse:
    found = view.ask(_RULE, id=rule_id)["rule"]
    if found is None:
        raise HttpRefusal(404, "not-found", f"there is no rule {rule_id!r}: /rules lists them.")
    bound = view.console.updates.leases.files.bound(view.work.snapshot()).by_rule
    files = bound.get(found["id"], ())
    chunks = view.work.snapshot().document(found["id"]).chunks
    entry = view.work.snapshot().rules_by_id[found["id"]]
    written = file_text(view, entry)
    said = _said(view, found["id"])
    return view.page(
        "rule.html",
        live="graph",
        rule=found,
        text=part_of(text_parts(chunks), view.query, 1, "text"),
        files=part_of(files, view.query, FILES, "files"),
        everywhere=found["activation"] == "ALWAYS",
        revisions=_revisions(view, found["history"]),
        answers=_answers(view, found, said),
        record=Counter(status for each in said.values() for status in set(each)),
        last_violation=next(
            (
                each
                for each in found["reviews"]["nodes"]
                if "violated" in said.get(each["id"], ()) and not each["canary"]
            ),
            None,
        ),
        last_answer=next((each["at"] for each in found["reviews"]["nodes"]), None),
        draft=pattern_draft(view, entry, files),
        other=None if form is None else text_draft(view, entry, files, form),
        written=written if len(written) <= SHOWN_TEXT or "edit" in view.query else None,
        last=LAST,
        most=MOST,
        by_section=found["tokens"] > view.work.settings.review.section_tokens,
    )


def text_parts(chunks: Sequence[Chunk]) -> list[str]:
    """A rule's text in parts that a page can show; they are cut where its chunks end."""
    parts = [""]
    for chunk in chunks:
        if parts[-1] and len(parts[-1]) + len(chunk.content) > CHARACTERS:
            parts.append("")
        parts[-1] += chunk.content
    return parts


@dataclass(frozen=True, slots=True)
class ShownRevision:
    """One thing that happened to a rule, and how its text changed by it."""

    at: str
    event: str
    path: str
    revision: str
    formerly: str | None
    patch: ShownPart[PatchLine] | None
    missing: str = ""
    """Why there is no patch where there should be one."""


def _revisions(view: View, history: Sequence[Mapping[str, Any]]) -> ShownPart[ShownRevision]:
    """The newest first, each with the patch from the text before it."""
    places = list(range(len(history)))[::-1]
    part = part_of(places, view.query, REVISIONS, "revisions")
    return part.showing([_revision(view, history, place) for place in part.shown])


def _revision(view: View, history: Sequence[Mapping[str, Any]], place: int) -> ShownRevision:
    line = history[place]
    facts = (line["at"], line["event"], line["path"], line["revision"], line["formerly"])
    before = history[place - 1] if place else None
    if before is None or not line["sha256"] or line["event"] == "removed":
        return ShownRevision(*facts, None)
    if not before["sha256"] or before["sha256"] == line["sha256"]:
        return ShownRevision(*facts, None)
    try:
        old, new = (
            view.work.text_of(each["sha256"]).decode("utf-8", "backslashreplace")
            for each in (before, line)
        )
    except NotFound:
        return ShownRevision(*facts, None, "The text before, or this one, is not kept here.")
    patch = part_of(text_patch(old, new), view.query, LINES, f"patch{place}")
    return ShownRevision(*facts, patch)


@dataclass(frozen=True, slots=True)
class RuleAnswer:
    """How a recorded review answered a rule."""

    review: Mapping[str, Any]
    status: str
    findings: tuple[Mapping[str, Any], ...]


def _said(view: View, rule_id: str) -> dict[str, list[str]]:
    """What every recorded review said of a rule, by the review; others are not looked at."""
    store = view.work.snapshot().store
    said: dict[str, list[str]] = {}
    for _, review, answer in sorted(store.rows("reviews_by_rule", rules=store.names.term(rule_id))):
        said.setdefault(review, []).append(answer.rpartition(".")[2])
    return said


def _answers(
    view: View, rule: Mapping[str, Any], said: Mapping[str, Sequence[str]]
) -> ShownPart[RuleAnswer]:
    sections = f"{rule['id']}.section."
    found = [
        RuleAnswer(
            each,
            ", ".join(said.get(each["id"], ())),
            tuple(
                one
                for one in each["findings"]
                if one["sopId"] == rule["id"] or one["sopId"].startswith(sections)
            ),
        )
        for each in rule["reviews"]["nodes"]
    ]
    return part_of(found, view.query, 20, "reviews")
