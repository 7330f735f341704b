"""The map: a treemap of a folder, by what binds it, how heavily, and what was violated there."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from hornbook.serve.console.file_weights import FileWeight, Weights
from hornbook.serve.console.frame import View, ViewingFiles
from hornbook.serve.console.list_pages import part_of
from hornbook.serve.console.svg import box, drawing, group, link, words
from hornbook.serve.console.treemap import Tile, lay_tiles
from hornbook.serve.console.views.files import trail

MOST_TILES, ROWS, REVIEWS = 300, 60, 1000
WIDTH, HEIGHT = 1200.0, 620.0
SIZES = {"files": "files", "tokens": "tokens of rules", "violations": "violations"}
STATES = {
    "good": "every file is bound",
    "busy": "some files are bound",
    "warn": "no file is bound",
    "bad": "some file has more rules than there is room for",
    "quiet": "nothing to bind, or too many to show",
}

router = APIRouter(include_in_schema=False)

_VIOLATIONS = """query Violations($first: Int!) {
  reviewsConnection(first: $first) { totalCount nodes { canary findings { path statusKind } } }
}"""


@dataclass(frozen=True, slots=True)
class MapItem:
    """A folder or file on the map."""

    path: str
    is_folder: bool
    files: int
    covered: int
    counted: int
    tokens: int
    over: int
    violations: int

    @property
    def state(self) -> str:
        """The class of its colour."""
        if self.over:
            return "bad"
        if not self.counted:
            return "quiet"
        return "good" if self.covered == self.counted else "busy" if self.covered else "warn"


@router.get("/map")
def show(view: ViewingFiles) -> HTMLResponse:
    """A folder, the top if none is named; with a rule only what that binds counts as bound."""
    query = view.query
    under = query.get("under", "").strip("/")
    by = query.get("by", "files") if query.get("by") in SIZES else "files"
    rule = query.get("rule", "").strip()
    weights = view.weights()
    if rule:
        weights = _only(weights, rule)
    violations, left = _violations(view)
    items = sorted(
        _items(weights, under, violations), key=lambda each: (-_size(each, by), each.path)
    )
    return view.page(
        "map.html",
        live="graph",
        under=under,
        trail=trail(under),
        by=by,
        rule=rule,
        sizes=SIZES,
        states=STATES,
        picture=_picture(view, items, by, rule),
        undrawn=max(0, len(items) - MOST_TILES),
        unsized=sum(_size(each, by) == 0 for each in items),
        items=part_of(items, query, ROWS, "items"),
        unweighed=len(weights.unweighed_below(under)),
        left=left,
        reserve=weights.reserve,
    )


def _only(weights: Weights, rule: str) -> Weights:
    """The same files, bound by one rule or by none."""
    files = tuple(
        replace(each, rules=(rule,) if rule in each.rules else ()) for each in weights.files
    )
    return replace(weights, files=files)


def _violations(view: View) -> tuple[Counter[str], int]:
    """The violations that recorded reviews found in each file, and how many reviews are left."""
    found = view.ask(_VIOLATIONS, first=REVIEWS)["reviewsConnection"]
    counted: Counter[str] = Counter()
    for review in found["nodes"]:
        if not review["canary"]:
            counted.update(
                each["path"]
                for each in review["findings"]
                if each["path"] and each["statusKind"] == "VIOLATED"
            )
    return counted, found["totalCount"] - len(found["nodes"])


def _items(weights: Weights, under: str, violations: Mapping[str, int]) -> list[MapItem]:
    folders, files = weights.children(under)
    items = []
    for each in folders:
        held = weights.below(each.path)
        tokens = sum(file.tokens for file in held)
        hit = sum(violations.get(file.path, 0) for file in held)
        counted = each.files - each.own
        facts = (each.files, each.covered, counted, tokens, each.over, hit)
        items.append(MapItem(each.path, True, *facts))
    return [*items, *(_file(each, weights.reserve, violations) for each in files)]


def _file(each: FileWeight, reserve: int, violations: Mapping[str, int]) -> MapItem:
    counted = 0 if each.is_rule else 1
    bound = counted if each.rules else 0
    over = int(each.tokens > reserve)
    hit = violations.get(each.path, 0)
    return MapItem(each.path, False, 1, bound, counted, each.tokens, over, hit)


def _size(item: MapItem, by: str) -> int:
    return {"files": item.files, "tokens": item.tokens, "violations": item.violations}[by]


def _picture(view: View, items: Sequence[MapItem], by: str, rule: str) -> Markup | None:
    """The tiles of the largest; None where nothing has a size."""
    drawn = items[:MOST_TILES]
    sizes = [float(_size(each, by)) for each in drawn]
    rest = sum(_size(each, by) for each in items[MOST_TILES:])
    tiles = lay_tiles(sizes, WIDTH, HEIGHT)
    if not tiles:
        return None
    prefix = view.asked_by.prefix
    shown = [_tile(prefix, tile, drawn[tile.item], _query(by, rule)) for tile in tiles]
    told = f"{len(tiles)} folders and files by {SIZES[by]}"
    more = f", without {rest:,} of {len(items) - len(drawn)} smaller ones" if rest else ""
    return drawing(WIDTH, HEIGHT, told + more, group(*shown, class_="map"), leads=True)


def _query(by: str, rule: str) -> dict[str, Any]:
    return {"by": by, **({"rule": rule} if rule else {})}


def _tile(prefix: str, tile: Tile, item: MapItem, query: Mapping[str, Any]) -> Markup:
    name = item.path.rpartition("/")[2] + ("/" if item.is_folder else "")
    address = (
        f"{prefix}/map?{urlencode({**query, 'under': item.path})}"
        if item.is_folder
        else f"{prefix}/files/{quote(item.path, safe='/:@.~')}"
    )
    title = (
        f"{item.path}: {item.covered:,} of {item.counted:,} files bound, {item.tokens:,} tokens, "
        f"{item.violations:,} violations"
    )
    inside = [box(tile.x, tile.y, tile.width, tile.height, class_=item.state, title=title)]
    room = int((tile.width - 8) / 7)
    if room >= 4 and tile.height >= 18:
        label = name if len(name) <= room else f"{name[: room - 1]}…"
        inside.append(words(tile.x + 4, tile.y + 14, label))
    return link(address, group(*inside), aria_label=title)
