"""What machines handed each other for plans that are over: given up after `engine.keep_days`.

What a plan shared stays in the database until its work is done, nobody wrote an event of it for so
long, and this checkout has taken over all of it. Even then a commit stays that another plan's pack
builds on, and so does the tip of the plan's branch, with what that builds on, until a branch of
the remote has it. Events are none of this: `audit drop` drops those.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from hornbook.commits.git import is_ancestor
from hornbook.commits.packs import remote_tips
from hornbook.disk import now, to_milliseconds
from hornbook.errors import UsageError
from hornbook.loop.exchange import BRANCH, DAY, SharedCommit, SharedExchange
from hornbook.plans.audit.in_force import unfinished
from hornbook.plans.log import EventLog
from hornbook.plans.workspace_log import open_log
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings

EVERY_SECONDS = 3600.0


class Pruner:
    """Gives up what is past its time, once an hour; `tell` hears how much of which plan."""

    def __init__(
        self, places: Places, settings: Settings, tell: Callable[[str, str], None]
    ) -> None:
        self._places = places
        self._settings = settings
        self._tell = tell
        self._due = 0.0

    def __call__(self) -> None:
        """Prune, unless that was done within the hour.

        Raises:
            UsageError: Of some plans this checkout cannot have all; the others were pruned.
        """
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + EVERY_SECONDS
        exchange = SharedExchange(self._places, self._settings)
        log = open_log(self._places, self._settings, now)
        try:
            for plan, count in prune(self._places.root, self._settings, exchange, log):
                self._tell("engine", f"gave up {count} commits and files of plan {plan}")
        finally:
            log.close()
            exchange.close()


def prune(
    root: Path, settings: Settings, exchange: SharedExchange, log: EventLog
) -> Iterable[tuple[str, int]]:
    """Give up what is past its time; yields each plan, and how much of it went.

    Raises:
        UsageError: Of some plans this checkout cannot have all; the others were pruned.
    """
    before = exchange.time() - settings.engine.keep_days * DAY
    last = to_milliseconds(datetime.fromtimestamp(before, UTC))
    over, problems = [], []
    for plan in exchange.untouched_since(before):
        events, state = log.events(plan), log.state(plan)
        if state is None or events[-1].at >= last or unfinished(state, events):
            continue
        try:
            exchange.fetch(plan)
            over.append(plan)
        except UsageError as problem:
            problems.append(f"Nothing of plan {plan} is given up: {problem}")
    if over:
        seen = exchange.commits()
        pushed = remote_tips(root, settings.engine.remote)
        tips = [tip for plan in over if (tip := exchange.ref(f"{BRANCH}{plan}")) is not None]
        local = [tip for tip in tips if not _on_any(root, tip, pushed)]
        kept = still_needed(seen, over, local)
        kept |= _within(root, kept - {each.name for each in seen}, seen, over, pushed)
        for plan in over:
            count = exchange.give_up(plan, kept, seen)
            if count:
                yield plan, count
    if problems:
        raise UsageError(" ".join(problems))


def still_needed(
    shared: Sequence[SharedCommit], over: Sequence[str], tips: Iterable[str]
) -> set[str]:
    """The commits that must stay: `tips`, what plans need that are not over, and all below."""
    needs: dict[str, set[str]] = {}
    for each in shared:
        needs.setdefault(each.name, set()).update(each.needs)
    waiting = [*tips, *(need for each in shared if each.plan not in over for need in each.needs)]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += needs.get(name, ())
    return found


def _within(
    root: Path,
    needed: Iterable[str],
    shared: Sequence[SharedCommit],
    over: Sequence[str],
    pushed: Sequence[str],
) -> set[str]:
    """The commits whose packs may hold what is needed, and stands there under no name of its own.

    Each with what its own pack needs, so that it can still be unpacked.
    """
    missing = [each for each in sorted(needed) if not _on_any(root, each, pushed)]
    holders = {
        each.name
        for each in shared
        if each.plan in over and any(is_ancestor(root, one, each.name) for one in missing)
    }
    return still_needed([each for each in shared if each.plan in over], over, holders)


def _on_any(root: Path, commit: str, tips: Sequence[str]) -> bool:
    return any(is_ancestor(root, commit, tip) for tip in tips)
