"""The files: folders with how rules weigh on them, and what binds a file, there or not yet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from hornbook.commits.history import commits_of
from hornbook.rules.document import Unread
from hornbook.serve.console.frame import View, ViewingFiles
from hornbook.serve.console.list_pages import part_of
from hornbook.serve.console.svg import box, drawing, line
from hornbook.serve.paths import inside

ROWS = 100
RECENT, FINDINGS = 12, 20
BAR_WIDTH = 1000
MOST_DRAWN = 200
"""Rules that have a part of a drawing to themselves."""

router = APIRouter(include_in_schema=False)

_WHY = """query File($path: String!) {
  why(files: [$path]) {
    path tokens reserve reserveFrom overPlanned fits
    rules {
      id path title severity inferred activation pattern patternLine glob tokens also includes notes
    }
    notEnforced { id path activation reason }
    leftOut { id path reason }
  }
  file(path: $path) {
    owner
    reviews(first: 20) {
      totalCount
      nodes { at outcome base head canary findings { sopId path line severity status message } }
    }
  }
}"""

RESERVE_FROM = {
    "option": "as this question asks",
    "base": "as BASE's .hornbook/config.yaml says",
    "worktree": "as .hornbook/config.yaml says",
    "default": "as it is by default",
}
"""Where the room for rules came from, in words."""
UNREAD = {
    "broken_link": "a link that leads nowhere or out of the repository",
    "broken_include": "an included file that is not there",
    "lfs_pointer": "a rule file whose text is in Git LFS",
    "not_written": "a rule file that this sparse checkout leaves out",
    "unreadable_file": "a file that the system refuses to read",
    "unreadable_folder": "a folder that the system refuses to look into",
    "not_prose": "an included file that is no text",
    "personal": "a file of one person's, outside of the repository",
}


@router.get("/files")
def files(view: ViewingFiles) -> Response:
    """The folders and files at the top; with `path` in the address the page of that."""
    asked = view.query.get("path", "").strip()
    if asked:
        return view.led_to(f"/files/{inside(view.work.root, [asked])[0]}")
    return _folder(view, "")


@router.get("/files/{path:path}")
def file(path: str, view: ViewingFiles) -> Response:
    """A folder, or a file: one that is there, or one that could be."""
    plain = path.strip("/")
    if not plain:
        return view.led_to("/files")
    if view.weights().is_folder(plain):
        return _folder(view, plain)
    (clean,) = inside(view.work.root, [plain])
    if clean != path:
        return view.led_to(f"/files/{clean}")
    return _file(view, clean)


def _folder(view: View, folder: str) -> HTMLResponse:
    weights = view.weights()
    folders, held = weights.children(folder)
    rows = [(each, True) for each in folders], [(each, False) for each in held]
    return view.page(
        "folder.html",
        live="graph",
        folder=folder,
        trail=trail(folder),
        whole=weights.together(folder, weights.below(folder)),
        rows=part_of([*rows[0], *rows[1]], view.query, ROWS),
        unweighed=len(weights.unweighed_below(folder)),
        reserve=weights.reserve,
    )


@dataclass(frozen=True, slots=True)
class TrailStep:
    """A folder on the way to a path."""

    name: str
    path: str


def trail(path: str) -> list[TrailStep]:
    """The folders above a path, and it, the outermost first."""
    parts = path.split("/") if path else []
    return [TrailStep(name, "/".join(parts[: at + 1])) for at, name in enumerate(parts)]


def _file(view: View, path: str) -> HTMLResponse:
    found = view.ask(_WHY, path=path)
    (answer,), reviewed = found["why"], found["file"]["reviews"]
    there = view.work.root / path
    return view.page(
        "file.html",
        live="graph",
        path_asked=path,
        trail=trail(path),
        state="link" if there.is_symlink() else "there" if there.is_file() else "",
        answer=answer,
        rules=part_of(answer["rules"], view.query, ROWS, "rules"),
        others=part_of(answer["notEnforced"], view.query, ROWS, "others"),
        missing=part_of(unread(answer, meant=False), view.query, ROWS, "missing"),
        aside=part_of(unread(answer, meant=True), view.query, ROWS, "aside"),
        why=reason_of,
        reserve_from=RESERVE_FROM,
        because=UNREAD,
        bar=rules_bar(
            [(each["title"], each["tokens"]) for each in answer["rules"]], answer["reserve"]
        ),
        commits=commits_of(view.work.root, path, RECENT),
        titles={each["id"]: each["title"] for each in answer["rules"]},
        owner=found["file"]["owner"],
        reviews=reviewed,
        findings=part_of(_findings(reviewed["nodes"], path), view.query, FINDINGS, "findings"),
    )


def unread(answer: Mapping[str, Any], *, meant: bool) -> list[Mapping[str, Any]]:
    """What rules lead to and was not read: by mistake, or as their tools mean it."""
    return [each for each in answer["leftOut"] if Unread(each["reason"]).is_meant is meant]


def _findings(
    reviews: Sequence[Mapping[str, Any]], path: str
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """What reviews of real changes found in a file, each with its review, violations first."""
    found = [
        (review, finding)
        for review in reviews
        if not review["canary"]
        for finding in review["findings"]
        if finding["path"] == path
    ]
    return sorted(found, key=lambda each: each[1]["status"] != "violated")


def reason_of(rule: Mapping[str, Any]) -> str:
    """Why a rule binds a file, in a sentence."""
    if rule["activation"] == "always":
        return "It binds every file."
    if rule["activation"] == "dir":
        return "The file lies in the rule's folder."
    return "The file matches the rule's pattern."


def rules_bar(rules: Sequence[tuple[str, int]], reserve: int) -> Markup:
    """The tokens of each rule, by its title, side by side against the room for all of them."""
    tokens = sum(each for _, each in rules)
    width, height = BAR_WIDTH, 22
    scale = width / max(tokens, reserve, 1)
    shown: list[Markup] = [box(0, 2, width, 18, class_="fill", rx=3)]
    colour = "bad" if tokens > reserve else "good"
    place = 0.0
    rest = 0
    for number, (name, size) in enumerate(rules):
        drawn = size * scale
        if drawn < 1.5 or number >= MOST_DRAWN:
            rest += size
            continue
        title = f"{name}: {size:,} tokens"
        shown.append(box(place, 2, max(drawn - 1, 1), 18, class_=colour, title=title))
        place += drawn
    if rest:
        title = f"the rest: {rest:,} tokens"
        shown.append(box(place, 2, max(rest * scale - 1, 1), 18, class_="quiet", title=title))
    at = min(reserve * scale, width - 1)
    shown.append(line(at, 0, at, height, class_="room"))
    return drawing(
        width, height, f"{tokens:,} tokens of rules, room for {reserve:,}", *shown, bar=True
    )
