"""A change: which rules bind its files, what a reviewer would be handed, and what was judged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from hornbook.commits import git
from hornbook.commits.change import Change, change
from hornbook.commits.commit import commit_at
from hornbook.commits.history import steps
from hornbook.context.prompt import Context, Outcome
from hornbook.disk import to_seconds
from hornbook.errors import UsageError
from hornbook.review.judgement import Citation
from hornbook.serve.access.scopes import AccessScope
from hornbook.serve.console.change_reviews import (
    ChangeReview,
    RuleEntry,
    last_outcomes,
    reviews_of,
    unrecorded,
)
from hornbook.serve.console.dropped_review import judge_dropped
from hornbook.serve.console.frame import FormWithFiles, View, Viewing, changes
from hornbook.serve.console.list_pages import ShownPart, part_of
from hornbook.serve.console.packet_files import ARCHIVE, packet_files
from hornbook.serve.console.patches import PatchLine, read_patch
from hornbook.serve.console.svg import box, drawing, line
from hornbook.serve.console.views.files import BAR_WIDTH, RESERVE_FROM, rules_bar
from hornbook.serve.http.problems import HttpRefusal

FILES, RULES, LINES, ENTRIES, LISTED = 50, 12, 300, 40, 100
HEAVIEST = 5
"""Rules that are named where all of them do not fit."""
RECENT = 20

router = APIRouter(include_in_schema=False)

_WHY = """query Change($diff: String!) {
  why(diff: $diff) {
    path tokens fits
    rules { id path title severity tokens pattern patternLine }
  }
}"""
_STATUS = {"A": "added", "D": "deleted", "R": "renamed"}
PARTS = {
    "sops": ("rules", "good"),
    "decisions": ("decisions", "busy"),
    "signatures": ("signatures", "warn"),
    "conventions": ("conventions", "quiet"),
    "diff": ("diff", "dot"),
}
"""The sections of a packet that are told apart in the bar, with their names and colours."""


@router.get("/changes")
def recent(view: Viewing) -> Response:
    """The last changes of the branch, and a way to any other."""
    base, head = (view.query.get(name, "").strip() for name in ("base", "head"))
    if base:
        return _led_to(view, f"{base}..{head or 'HEAD'}")
    problem = ""
    try:
        found = steps(view.work.root, last=RECENT)[::-1]
    except UsageError as said:
        found, problem = (), str(said)
    outcomes = last_outcomes(view.work)
    return view.page("changes.html", steps=found, outcomes=outcomes, problem=problem)


@router.get("/changes/{span:path}")
def one_change(span: str, view: Viewing) -> Response:
    """One change, by the full names of its commits."""
    root = view.work.root
    with git.operation(root):
        found = change(root, span)
        name = f"{found.base}..{found.head}"
        if span != name:
            return _led_to(view, name)
        return _page(view, name, found)


@router.post("/changes/{span:path}", **changes(AccessScope.READ))
def act(span: str, view: Viewing, sent: FormWithFiles) -> Response:
    """Keep the receipt of a packet, or check a review; what is kept, a person may keep."""
    root = view.work.root
    with git.operation(root):
        found = change(root, span)
        name = f"{found.base}..{found.head}"
        packet = packet_files(view.work.review_packet(diff=name))
        if sent.fields.get("do") == "keep" or sent.fields.get("record"):
            view.asked_by.needs(AccessScope.ANSWER)
            view.asked_by.lift_deadline()
        if sent.fields.get("do") == "keep":
            for each in packet.receipts:
                view.work.record_receipt(each)
            return _led_to(view, name, said="kept")
        try:
            judged = judge_dropped(view.work, name, sent, packet)
        except UsageError as said:
            return _page(view, name, found, problem=str(said))
        if sent.fields.get("record"):
            for given in judged.receipts:
                view.work.record_receipt(dict(given))
            view.work.record_review(judged, at=datetime.now(UTC))
            return _led_to(view, name, said="recorded")
        return _page(view, name, found, checked=unrecorded(judged, found.paths))


@router.get("/packets/{span}/{name:path}")
def packet_file(span: str, name: str, view: Viewing) -> Response:
    """A file of the packet of a change, or all of them in one."""
    found = packet_files(view.work.review_packet(diff=span))
    data = found.archive() if name == ARCHIVE and found.files else found.files.get(name)
    if data is None:
        raise HttpRefusal(
            404, "not-found", f"the packet of {span} has no {name}: the page of the change tells."
        )
    last = name.replace("/", "-")
    headers = {"content-disposition": f'attachment; filename="{last}"', "cache-control": "no-store"}
    return Response(data, headers=headers, media_type="application/octet-stream")


_SAID = {
    "kept": "The receipt is kept: a review of this packet is checked without being given it again.",
    "recorded": "The review is judged and recorded, as it is shown below.",
}


def _led_to(view: View, span: str, **query: str) -> Response:
    return view.led_to(f"/changes/{span}", **query)


def _page(
    view: View,
    span: str,
    found: Change,
    *,
    problem: str = "",
    checked: ChangeReview | None = None,
) -> HTMLResponse:
    answers = view.ask(_WHY, diff=span)["why"]
    view.go_on()
    packet = view.work.review_packet(diff=span)
    files = packet_files(packet)
    view.go_on()
    diff = _Diff(found, view.query)
    rules = _rules(answers)
    recorded = reviews_of(view.work, found.base, found.head, found.paths)
    head = commit_at(view.work.root, found.head)
    return view.page(
        "change.html",
        status=422 if problem else 200,
        said=_SAID.get(view.query.get("said", ""), ""),
        problem=problem,
        span=span,
        change=found,
        head=head,
        committed=to_seconds(datetime.fromtimestamp(head.seconds, UTC)),
        states={each.path: _STATUS.get(each.status, "modified") for each in found.files},
        files=part_of(answers, view.query, FILES, "files"),
        rules=part_of(rules, view.query, RULES, "rules"),
        context=packet.context,
        made_for=packet.made_for,
        packet_names=tuple(files.files),
        archive=ARCHIVE,
        kept=files.kept(view.work.places),
        left_out=part_of(packet.context.left_out, view.query, LISTED, "left-out"),
        parts_of=_parts(packet.context),
        bar=_bar(packet.context, rules),
        heaviest=_heaviest(rules)[:HEAVIEST],
        reserve_from=RESERVE_FROM,
        diff=diff.shown,
        checked=None if checked is None else _shown(view, "checked", checked),
        reviews=[_shown(view, str(number), each) for number, each in enumerate(recorded)],
        marks=_marks([*recorded, *([checked] if checked else ())]),
        place_of=diff.address,
        cited=_cited,
    )


@dataclass(frozen=True, slots=True)
class ShownReview:
    """A review of a change with the parts of its long lists that a page shows."""

    review: ChangeReview
    findings: ShownPart[Mapping[str, Any]]
    entries: ShownPart[RuleEntry]


def _shown(view: View, name: str, review: ChangeReview) -> ShownReview:
    told = review.record.get("findings") or ()
    findings = sorted(told, key=lambda each: each.get("status") != "violated")
    return ShownReview(
        review,
        part_of(findings, view.query, LISTED, f"findings{name}"),
        part_of(review.entries, view.query, ENTRIES, f"entries{name}"),
    )


@dataclass(frozen=True, slots=True)
class ChangeColumn:
    """A rule that binds some files of a change: a column of the matrix."""

    number: int
    id: str
    title: str
    path: str
    severity: str
    tokens: int
    why: Mapping[str, str]
    """The files that it binds, each with the pattern and where that stands."""


def _rules(answers: Sequence[Mapping[str, Any]]) -> list[ChangeColumn]:
    """Every rule of the change, in id order; what it includes for one file counts for it."""
    first: dict[str, Mapping[str, Any]] = {}
    tokens: dict[str, int] = {}
    why: dict[str, dict[str, str]] = {}
    for answer in answers:
        for rule in answer["rules"]:
            name = rule["id"]
            first.setdefault(name, rule)
            tokens[name] = max(tokens.get(name, 0), rule["tokens"])
            at = f":{rule['patternLine']}" if rule["patternLine"] else ""
            why.setdefault(name, {})[answer["path"]] = f"{rule['pattern']} ({rule['path']}{at})"
    return [
        ChangeColumn(
            number,
            name,
            first[name]["title"],
            first[name]["path"],
            first[name]["severity"],
            tokens[name],
            why[name],
        )
        for number, name in enumerate(sorted(first), 1)
    ]


def _parts(context: Context) -> list[tuple[str, int, int]]:
    """What a packet is made of: name, tokens, and the room that it has."""
    return [
        (PARTS.get(each.name, (each.name, ""))[0], each.tokens, each.budget)
        for each in context.sections
    ]


def _bar(context: Context, rules: Sequence[ChangeColumn]) -> Markup:
    """What a packet takes; of one that is refused, its rules against the room for them."""
    if context.outcome is Outcome.COMPLETE:
        return budget_bar(context)
    named = [(each.title, each.tokens) for each in _heaviest(rules)]
    return rules_bar(named, context.reserve)


def _heaviest(rules: Sequence[ChangeColumn]) -> list[ChangeColumn]:
    return sorted(rules, key=lambda each: -each.tokens)


def budget_bar(context: Context) -> Markup:
    """What a packet takes of the reviewer's window, part by part."""
    width, height = BAR_WIDTH, 24
    taken = {each.name: each.tokens for each in context.sections}
    window = max(context.window, sum(taken.values()), 1)
    scale = width / window
    shown = [box(0, 3, width, 18, class_="fill", rx=3)]
    place = 0.0
    for name, tokens in sorted(taken.items(), key=lambda each: each[0] not in PARTS):
        called, colour = PARTS.get(name, (name, "quiet"))
        size = tokens * scale
        if size >= 0.5:
            title = f"{called}: {tokens:,} tokens"
            shown.append(box(place, 3, size, 18, class_=colour, title=title))
            place += size
    at = min(context.reserve * scale, width - 1)
    shown.append(line(at, 0, at, height, class_="room"))
    told = ", ".join(f"{PARTS.get(name, (name,))[0]} {n:,}" for name, n in taken.items() if n)
    said = f"Of {context.window:,} tokens: {told or 'nothing'}"
    return drawing(width, height, said, *shown, bar=True)


@dataclass(frozen=True, slots=True)
class PatchRow:
    """A line of the patch of one of the change's files; of its head there is none."""

    file: int
    path: str
    line: PatchLine | None


@dataclass(frozen=True, slots=True)
class PatchPiece:
    """Lines of one file's patch; `begins` says that the file's first line is among them."""

    number: int
    path: str
    lines: tuple[PatchLine, ...]
    begins: bool


class _Diff:
    """The patches of a change in one list of lines, shown a part at a time."""

    def __init__(self, found: Change, query: Mapping[str, str]) -> None:
        self._rows: list[PatchRow] = []
        self._at: dict[tuple[str, bool, int], tuple[int, str]] = {}
        for number, each in enumerate(found.files, 1):
            self._rows.append(PatchRow(number, each.path, None))
            for row in read_patch(found.patches[each.path]):
                place = len(self._rows)
                if row.new is not None:
                    self._at[each.path, False, row.new] = place, f"f{number}-{row.new}"
                if row.old is not None:
                    anchor = f"f{number}-{row.new}" if row.new else f"f{number}--{row.old}"
                    self._at[each.path, True, row.old] = place, anchor
                self._rows.append(PatchRow(number, each.path, row))
        self.shown = self._part(query)

    def _part(self, query: Mapping[str, str]) -> ShownPart[PatchPiece]:
        """The files, or parts of them, that an address asks for."""
        part = part_of(self._rows, query, LINES, "diff")
        pieces = []
        for _, some in groupby(part.shown, key=lambda row: row.file):
            rows = list(some)
            lines = tuple(row.line for row in rows if row.line is not None)
            begins = rows[0].line is None
            pieces.append(PatchPiece(rows[0].file, rows[0].path, lines, begins))
        return part.showing(pieces)

    def address(self, place: Citation | Mapping[str, Any]) -> str | None:
        """Where a cited line stands on the page; None if the patch does not show it."""
        if isinstance(place, Citation):
            key = (place.path, place.old, place.start)
        else:
            number = place.get("line")
            if not isinstance(number, int) or not place.get("path"):
                return None
            key = (str(place["path"]), number < 0, abs(number))
        if key not in self._at:
            return None
        at, anchor = self._at[key]
        part = at // LINES + 1
        # What is on the page is reached without leaving it: a review may be shown that is not kept.
        return f"#{anchor}" if part == self.shown.number else f"?diff={part}#{anchor}"


def _cited(place: Citation) -> str:
    """A citation as it is written."""
    end = f"-{place.end}" if place.end != place.start else ""
    return f"{place.path}:{'-' if place.old else ''}{place.start}{end}"


def _marks(reviews: Sequence[ChangeReview]) -> dict[str, frozenset[int]]:
    """The lines of each file, as they are after the change, that some review cites."""
    found: dict[str, set[int]] = {}
    for place in (each for review in reviews for entry in review.entries for each in entry.places):
        if not place.old and place.end - place.start <= LINES:
            found.setdefault(place.path, set()).update(range(place.start, place.end + 1))
    return {path: frozenset(lines) for path, lines in found.items()}
