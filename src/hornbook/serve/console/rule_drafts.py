"""A rule tried with other patterns or another text: what it would bind, and do to past changes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hornbook.doctor.draft_graph import draft_graph, with_patterns
from hornbook.doctor.replay import replay
from hornbook.errors import BadGlob, Busy, ConfigError, UsageError
from hornbook.graph.commit_graph import graph_at
from hornbook.graph.snapshot import Snapshot
from hornbook.rules.catalog import Entry
from hornbook.rules.document import Problem
from hornbook.serve.console.frame import View
from hornbook.serve.console.list_pages import ShownPart, number_in, part_of
from hornbook.serve.console.patches import PatchLine, text_patch
from hornbook.serve.console.views.replay import ReplayRow, replayed_rows
from hornbook.serve.work_tree_files import bound_files
from hornbook.text.globs import parse_set

LONGEST_GLOB, LONGEST_TEXT = 2000, 500_000
SHOWN_TEXT = 20_000
"""Of a rule's file in the field for a draft; a longer one is asked for."""
FILES, LINES = 30, 300
LAST, MOST = 10, 100
TIP = "HEAD"


@dataclass(frozen=True, slots=True)
class RuleDraft:
    """What a draft says, what it would bind beside what the rule binds now, and its replay."""

    globs: str = ""
    text: str = ""
    problem: str = ""
    notes: tuple[Problem, ...] = ()
    files: int = 0
    more: ShownPart[str] | None = None
    fewer: ShownPart[str] | None = None
    patch: ShownPart[PatchLine] | None = None
    last: int = LAST
    rows: Sequence[ReplayRow] = ()

    @property
    def changed(self) -> int:
        """How many past changes would have been judged otherwise."""
        return sum(bool(row.change["changed"]) for row in self.rows)


def pattern_draft(view: View, rule: Entry, now: Sequence[str]) -> RuleDraft | None:
    """What patterns in the address would bind; None if there are none."""
    globs = view.query.get("glob", "").strip()[:LONGEST_GLOB]
    if not globs:
        return None
    wanted = [each for line in globs.splitlines() if (each := line.strip())]
    try:
        fits = parse_set(wanted)
    except BadGlob as problem:
        return RuleDraft(globs, problem=str(problem))
    files = view.console.updates.leases.files.all()
    then = [path for path in files if fits.match(path) is not None]
    last = number_in(view.query, "last", 0)
    rows, untold = _rows(view, last, lambda: _with_patterns(view, rule, wanted))
    more, fewer = _differences(view, then, now)
    return RuleDraft(globs, "", untold, (), len(then), more, fewer, last=last or LAST, rows=rows)


def text_draft(view: View, rule: Entry, now: Sequence[str], form: Mapping[str, str]) -> RuleDraft:
    """What another text of the rule's file would bind, and what it would have done."""
    before = file_text(view, rule)
    # Browsers end every line with CRLF, whatever the file does.
    ends = "\r\n" if "\r\n" in before else "\n"
    text = ends.join(form.get("text", "")[:LONGEST_TEXT].replace("\r\n", "\n").split("\n"))
    last = number_in(form, "last", LAST)
    try:
        graph = draft_graph(view.work.root, TIP, rule.link or rule.path, text.encode())
    except (UsageError, ConfigError) as problem:
        return RuleDraft("", text, str(problem), last=last)
    entry = next((each for each in graph.catalog.entries if each.path == rule.path), None)
    if entry is None:
        return RuleDraft("", text, "with this text the file is no rule.", last=last)
    files = view.console.updates.leases.files.all()
    then = bound_files(graph, files).by_rule.get(entry.id, ())
    more, fewer = _differences(view, then, now)
    rows, untold = _rows(view, last, lambda: graph)
    patch = part_of(text_patch(before, text), view.query, LINES, "draft-patch")
    return RuleDraft("", text, untold, entry.problems, len(then), more, fewer, patch, last, rows)


def file_text(view: View, rule: Entry) -> str:
    """The text of a rule's file as it is, line ends too; "" where there is none any more."""
    try:
        return (view.work.root / rule.path).read_bytes().decode(errors="replace")
    except OSError:
        return ""


def _with_patterns(view: View, rule: Entry, globs: Sequence[str]) -> Snapshot:
    tip = graph_at(view.work.root, TIP)
    if all(each.path != rule.path for each in tip.catalog.entries):
        raise UsageError(f"{rule.path} is not committed, so that nothing was judged by it: commit.")
    return with_patterns(tip, rule.path, globs)


def _differences(
    view: View, then: Sequence[str], now: Sequence[str]
) -> tuple[ShownPart[str], ShownPart[str]]:
    return (
        part_of(sorted(set(then).difference(now)), view.query, FILES, "more"),
        part_of(sorted(set(now).difference(then)), view.query, FILES, "fewer"),
    )


def _rows(
    view: View, last: int, against: Callable[[], Snapshot]
) -> tuple[Sequence[ReplayRow], str]:
    """The last changes by the rules of the branch and by a draft, or why they are not told."""
    if not last:
        return (), ""
    if last > MOST:
        return (), f"the last {last} changes are too many for a page: ask for 1 to {MOST}."
    try:
        with view.console.updates.replaying(view.go_on) as go_on:
            found = replay(view.work.root, last=last, against=against(), progress=go_on)
    except (Busy, UsageError, ConfigError) as problem:
        return (), str(problem)
    return replayed_rows(found), ""
