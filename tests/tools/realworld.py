"""How Hornbook does on repositories that nobody here wrote: `make realworld REPOS="path path…"`.

Each path is a clone with some history. Its rules are read as its HEAD has them and its last changes
are replayed, by the defaults; no model is asked, and its files are left alone.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from hornbook import Workspace
from hornbook.commits import git
from hornbook.doctor.replay import Replay, ReplayedChange
from hornbook.errors import HornbookError
from hornbook.graph.commit_graph import graph_at

CHANGES = 50


@dataclass(frozen=True)
class Measured:
    """What was found in one repository; `error` is why nothing was."""

    name: str
    documents: int = 0
    problems: dict[str, int] = field(default_factory=dict)
    files: int = 0
    files_within: int = 0
    changes: dict[str, int] = field(default_factory=dict)
    too_big_by_rules: int = 0
    largest: int = 0
    listed: tuple[str, ...] = ()
    grade: str = ""
    findings: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    error: str = ""


def measured(root: Path, last: int = CHANGES) -> Measured:
    """One repository's line of the table."""
    began = time.process_time()
    try:
        with Workspace.open(root) as work:
            found = _rules(work.root)
            replay = work.replay(last=last)
            health = work.doctor()
    except HornbookError as error:
        return Measured(root.name, error=str(error))
    return replace(
        found,
        changes=replay.counts(),
        too_big_by_rules=sum(map(_is_too_big_by_rules, replay.changes)),
        largest=max((each.packet.tokens for each in replay.changes), default=0),
        listed=tuple(_worth_a_look(replay)),
        grade=health.grade,
        findings=dict(Counter(f"{each.level}:{each.code}" for each in health.open).most_common()),
        seconds=round(time.process_time() - began, 1),
    )


def _rules(root: Path) -> Measured:
    """What is told of the rules as HEAD has them."""
    with git.operation(root):
        head = git.commit(root, "HEAD")
        snapshot = graph_at(root, head)
        sources = {entry.path for entry in snapshot.catalog.entries}
        paths = [path for path in git.files_at(root, head) if path not in sources]
        fit = snapshot.reserve_report(paths)
    problems = (each for entry in snapshot.catalog.entries for each in entry.problems)
    return Measured(
        root.name,
        documents=len(sources),
        problems=dict(Counter(f"{each.level}:{each.code}" for each in problems).most_common()),
        files=fit.files,
        files_within=fit.files - fit.files_over,
    )


def _codes(change: ReplayedChange) -> set[str]:
    return {reason.code for reason in change.packet.reasons}


def _is_too_big_by_rules(change: ReplayedChange) -> bool:
    """Whether a change has to be split though its patch would fit."""
    return change.packet.kind == "too_big" and "diff_over_budget" not in _codes(change)


def _worth_a_look(replay: Replay) -> Iterator[str]:
    """Every change that did not come to a packet, with the first reason."""
    for each in replay.changes:
        if not each.packet.fits:
            reason = each.packet.reasons[0]
            yield f"{each.step.commit[:10]} {each.packet.kind}: {reason.code}: {reason.message}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "–"


HEADS = (
    *("repository", "documents", "problems", "files within", "changes", "complete", "passes"),
    *("refused", "too big (by rules)", "not judged", "largest", "doctor", "CPU s"),
)


def table(rows: Sequence[Measured]) -> str:
    """The measurements as a table in Markdown."""
    lines = [_line(HEADS), _line("-" * 3 for _ in HEADS)]
    return "\n".join([*lines, *(_line(_cells(each)) for each in rows)])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(each: Measured) -> tuple[str, ...]:
    if each.error:
        return (each.name, *("–" for _ in HEADS[2:]), each.error.partition("\n")[0])
    counts = each.changes
    total = counts["changes"]
    return (
        each.name,
        str(each.documents),
        str(sum(each.problems.values())),
        _share(each.files_within, each.files),
        str(total),
        *(_share(counts[kind], total) for kind in ("complete", "passes", "refused")),
        f"{counts['too_big']} ({each.too_big_by_rules})",
        str(counts["not_judged"]),
        str(each.largest),
        f"{each.grade} ({sum(each.findings.values())})",
        str(each.seconds),
    )


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {code}" for code, count in counts.items()) or "none"


def main(arguments: Sequence[str]) -> int:
    """Print the table, what is worth a look, and how many changes rules refused."""
    parser = argparse.ArgumentParser(prog="make realworld", description=__doc__)
    parser.add_argument("repositories", nargs="+", type=Path, help="clones, by path")
    parser.add_argument("--last", type=int, default=CHANGES, help=f"changes of each [{CHANGES}]")
    parser.add_argument("--json", action="store_true", help="print all that was measured")
    given = parser.parse_args(arguments)
    rows = []
    for root in given.repositories:
        sys.stderr.write(f"{root.name} …\n")
        rows.append(measured(root, given.last))
    if given.json:
        print(json.dumps([asdict(each) for each in rows], indent=2))
        return 0
    print(table(rows))
    for each in rows:
        print(f"\n{each.name}: problems {_listed(each.problems)}; doctor {_listed(each.findings)}")
        print("\n".join(f"  {line}" for line in each.listed))
    changes = sum(each.changes.get("changes", 0) for each in rows)
    refused = sum(each.changes.get("refused", 0) + each.too_big_by_rules for each in rows)
    print(f"\nRefused because of rules: {refused} of {changes} ({_share(refused, changes)}).")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
