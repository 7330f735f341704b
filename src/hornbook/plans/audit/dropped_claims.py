"""Whether a line of `dropped.jsonl` can be true: it is held against the log that it says is gone.

Anybody who can write files can write such a line. A log that this clone's table still has, or that
git has, shows whether it was over, and whether it is the one that the line tells of.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from hornbook.commits.history import last_versions
from hornbook.errors import EventLogError
from hornbook.plans.audit.dropped_logs import DroppedLog, dropped_logs
from hornbook.plans.audit.in_force import in_force
from hornbook.plans.events import Event, read_lines, verify
from hornbook.plans.state import project


def unfounded(entry: DroppedLog, events: Sequence[Event]) -> str:
    """Why a log that was dropped cannot be this one as it stands, in words; empty if it can be."""
    last = events[-1] if events else None
    if last is None or (entry.events, entry.head) != (last.seq, last.hash):
        return "its last event is another"
    if (entry.first_at, entry.last_at) != (events[0].at, last.at) or entry.at < last.at:
        return "it has events of another time"
    if not entry.principal.startswith("human:"):
        return f"{entry.principal} is no person, and only a person drops a log"
    state = project(events)
    return in_force(state, events) if state is not None else "it is no log of a plan"


def dropped_plans(
    state: Path, plans: Collection[str], events_of: Callable[[str], Sequence[Event]]
) -> list[str]:
    """Those of some plans that a line says are dropped, and that can be true of their logs."""
    listed = {plan: lines for plan, lines in dropped_logs(state).items() if plan in plans}
    return [plan for plan, lines in listed.items() if _can_be(lines, plan, events_of)]


def _can_be(
    lines: Sequence[DroppedLog], plan: str, events_of: Callable[[str], Sequence[Event]]
) -> bool:
    try:
        events = events_of(plan)
    except EventLogError:
        return False  # whoever reads it is told what is wrong
    return not all(unfounded(each, events) for each in lines)


def refuted_by_git(root: Path, entries: Iterable[DroppedLog]) -> Mapping[DroppedLog, str]:
    """The lines that cannot be true by the last version of a log that git has, and why.

    A log that grew after it was last committed says only that what it vouched for then may have
    ended since, and refutes nothing.
    """
    newest = {entry.plan: entry for entry in entries}
    paths = {plan: f".hornbook/plans/{plan}/events.jsonl" for plan in newest}
    texts = last_versions(root, list(paths.values()))
    found: dict[DroppedLog, str] = {}
    for plan, entry in newest.items():
        events, fault = read_lines(texts.get(paths[plan], b"").decode("utf-8", "replace"))
        if fault or verify(events) or not events or len(events) < entry.events:
            continue
        if why := unfounded(entry, events):
            found[entry] = why
    return found
