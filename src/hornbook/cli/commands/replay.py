"""The command `replay`: what the rules did, or would have done, to past changes."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from hornbook.cli.options import json_option, opened, root_of
from hornbook.cli.output import Styled, console, counted, harmless, print_json, progress_bar

if TYPE_CHECKING:
    from rich.console import JustifyMethod
    from rich.table import Table

    from hornbook.doctor.replay import Replay, ReplayedChange, ReplayedPacket

MOST_LISTED = 8
FRAME = 3
"""What a table of rich puts between two columns."""
STYLES = {"complete": "green", "passes": "yellow", "too_big": "yellow", "refused": "red"}


@click.command()
@click.argument("span", metavar="[A..B]", required=False)
@click.option("--last", metavar="N", type=click.IntRange(min=1), help="The last N changes [50].")
@click.option("--against", metavar="REV", help="Judge twice: by the tip's rules and by REV's.")
@click.option("--worktree", is_flag=True, help="Judge twice: by the tip's rules and those here.")
@json_option
@root_of
def replay(
    root: str | None,
    span: str | None,
    last: int | None,
    against: str | None,
    *,
    worktree: bool,
    as_json: bool,
) -> None:
    """Say what the rules did, or would have done, to past changes.

    A change is a commit against its first parent, judged by the rules of that parent as
    `context review --diff` judges it. No model is asked and nothing is changed.
    """
    if span is not None and last is not None:
        raise click.UsageError("name a range or --last N, not both.")
    with opened(root) as work, progress_bar() as progress:
        found = work.replay(
            last=last or 50, span=span, against=against, worktree=worktree, progress=progress
        )
    if as_json:
        from hornbook.doctor.replay import answer

        print_json(answer(found))
        return
    _print_table(found, twice=against is not None or worktree)
    other = "the work tree" if worktree else against
    for sentence in _sentences(found, other):
        console().print(harmless(sentence), markup=False)


def _print_table(found: "Replay", *, twice: bool) -> None:
    newest_first = found.changes[::-1]
    if twice:
        rows = [_row_twice(each) for each in newest_first if each.changed]
        heads = ["commit", "subject", "rules", "tokens", "outcome"]
    else:
        rows = [_row(each) for each in newest_first]
        heads = ["date", "commit", "subject", "files", "rules", "tokens", "outcome"]
    if rows:
        out = console()
        out.print(_table(rows, heads, out.width))


def _table(rows: Sequence[Sequence[str]], heads: Sequence[str], width: int) -> "Table":
    """One line for each change: the subject gives way where the terminal is narrow."""
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    widths = [max(map(cell_len, (head, *cells))) for head, *cells in zip(heads, *rows, strict=True)]
    subject = heads.index("subject")
    frame = FRAME * len(heads) - 1
    widths[subject] = min(widths[subject], max(8, width - frame - sum(widths) + widths[subject]))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for head, room in zip(heads, widths, strict=True):
        side: JustifyMethod = "right" if head in {"files", "rules", "tokens"} else "left"
        table.add_column(head, justify=side, no_wrap=True, overflow="ellipsis", width=room)
    for row in rows:
        table.add_row(*(Text(harmless(cell), getattr(cell, "style", "")) for cell in row))
    return table


def _row(each: "ReplayedChange") -> tuple[str, ...]:
    packet = each.packet
    return (
        each.step.date[:10],
        each.step.commit[:8],
        each.step.subject,
        str(len(each.files)),
        str(len(packet.rules)),
        str(packet.tokens),
        _outcome(packet),
    )


def _row_twice(each: "ReplayedChange") -> tuple[str, ...]:
    packet, other = each.packet, each.against or each.packet
    return (
        each.step.commit[:8],
        each.step.subject,
        _pair(len(packet.rules), len(other.rules)),
        _pair(packet.tokens, other.tokens),
        Styled(_pair(_outcome(packet), _outcome(other)), STYLES.get(other.kind, "")),
    )


def _pair(before: object, after: object) -> str:
    return str(before) if before == after else f"{before} → {after}"


def _outcome(packet: "ReplayedPacket") -> Styled:
    words = f"{packet.passes} passes" if packet.kind == "passes" else packet.kind.replace("_", " ")
    return Styled(words, STYLES.get(packet.kind, ""))


def _sentences(found: "Replay", other: str | None) -> Iterator[str]:
    counts = found.counts()
    if not found.changes:
        yield "There is no change to replay."
        return
    yield (
        f"{counted(counts['changes'], 'change')}: {counts['complete']} complete, "
        f"{counts['passes']} in passes, {counts['refused']} refused, {counts['too_big']} too big, "
        f"{counts['not_judged']} not judged."
    )
    whole = [each for each in found.changes if each.packet.outcome == "complete"]
    if whole:
        most = max(whole, key=lambda each: each.packet.tokens)
        yield (
            f"The largest complete packet, of {most.step.commit[:8]}, has "
            f"{most.packet.tokens} tokens."
        )
    if other is not None:
        yield from _compared(found.changes, other)
    yield from _why_not(found)
    if found.never_bound:
        listed = ", ".join(map(harmless, found.never_bound_at[:MOST_LISTED]))
        more = len(found.never_bound) - MOST_LISTED
        yield (
            f"{counted(len(found.never_bound), 'rule')} bound none of them: {listed}"
            f"{f' and {more} more (--json has all)' if more > 0 else ''}."
        )
    yield from found.notes


def _compared(changes: "Sequence[ReplayedChange]", other: str) -> Iterator[str]:
    pairs = [(each.packet, each.against) for each in changes if each.against is not None]
    changed = sum(each.changed for each in changes)
    rules = sum(before.rules != after.rules for before, after in pairs)
    grown = sum(
        after.fits and before.fits and after.tokens > before.tokens for before, after in pairs
    )
    lost = sum(before.fits and not after.fits for before, after in pairs)
    won = sum(after.fits and not before.fits for before, after in pairs)
    yield (
        f"By the rules of {other}, {changed} of them are judged differently: {rules} by another "
        f"set of rules, {grown} packets grow, {lost} no longer fit, {won} fit that did not."
    )


def _why_not(found: "Replay") -> Iterator[str]:
    """The reason of each change that was not judged, several with the same in one sentence."""
    reasons: dict[str, list[str]] = {}
    for each in found.changes:
        if each.packet.kind == "not_judged":
            reasons.setdefault(each.packet.reasons[0].message, []).append(each.step.commit[:8])
    for message, commits in reasons.items():
        listed = ", ".join(commits[:MOST_LISTED])
        more = len(commits) - MOST_LISTED
        yield f"Not judged: {listed}{f' and {more} more' if more > 0 else ''}: {message}"


COMMANDS = (replay,)
