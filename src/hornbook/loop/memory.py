"""The memory of plans: checkpoints, recovery, and invariants that a person lets into the core."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hornbook.context.recovery import LogReading, Recovery, put_aside, recover, repair
from hornbook.context.tiers import CONTEXT_CORE
from hornbook.disk import now
from hornbook.errors import (
    DatabaseAway,
    DatabaseFailed,
    EventLogError,
    NotFound,
    PlanHeld,
    UsageError,
)
from hornbook.plans import event_keys
from hornbook.plans.active import required_plan
from hornbook.plans.checkpoint import CheckpointReport, holding, write_checkpoint
from hornbook.plans.files import write_if_changed
from hornbook.plans.log import EventLog
from hornbook.plans.plan import Invariant
from hornbook.plans.principal import require_human
from hornbook.plans.store import PlanStore
from hornbook.plans.workspace_log import open_log
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings

HEADING = "# Context core\n"


def with_invariant(path: Path, made: Invariant, plan: str) -> None:
    """Add an invariant to the core file, unless it stands there already."""
    text = path.read_text(encoding="utf-8") if path.is_file() else HEADING
    if f"\n- Id: {made.id}\n" in f"{text}\n":
        return
    bullets = (
        ("Invariant", made.text),
        ("Reason", made.reason),
        ("Plan", plan),
        ("At", made.promoted_at or made.at),
        ("Id", made.id),
    )
    entry = "".join(f"- {name}: {_indented(value)}\n" for name, value in bullets)
    write_if_changed(path, f"{text.rstrip()}\n\n{entry}")


def _indented(value: str) -> str:
    return value.replace("\n", "\n  ")


@dataclass(frozen=True, slots=True)
class PlanInvariant:
    """An invariant with the plan that proposed it."""

    plan: str
    invariant: Invariant


class Memory:
    """What outlives a session: the plans of one workspace on disk."""

    def __init__(self, places: Places, settings: Settings, clock: Callable[[], str] = now) -> None:
        self._places = places
        self._settings = settings
        self._clock = clock

    def slug(self, given: str | None) -> str:
        """The slug that is meant: the one given (a plan's id too), else the active plan's.

        Raises:
            UsageError: There is neither, or the pointer is damaged.
        """
        return required_plan(self._places.state, given and given.removeprefix("plan."))

    @contextmanager
    def log(self) -> Iterator[EventLog]:
        """The event log, open."""
        self._places.prepare()
        log = open_log(self._places, self._settings, self._clock)
        try:
            yield log
        finally:
            log.close()

    def checkpoint(self, given: str | None = None, *, automatic: bool = False) -> CheckpointReport:
        """Write a plan's files from its events, and the checkpoint that holds their hashes.

        An automatic one puts what it must not use into quarantine; by hand that is refused.

        Raises:
            EventLogError: An event violates the schema; names it and the field.
            UsageError: A file does not say what the events say.
            PlanHeld: Another process works on the plan.
        """
        slug = self.slug(given)
        with self.log() as log:
            return write_checkpoint(
                self._places.state, log, slug, at=self._clock(), automatic=automatic
            )

    def checkpoint_at_boundary(self, slug: str) -> CheckpointReport | None:
        """The same where a phase ends or tiers fill up; None if another process holds the plan.

        Whoever holds it checkpoints it at the end of its own phase.
        """
        try:
            return self.checkpoint(slug, automatic=True)
        except PlanHeld:
            return None

    def recover(self, given: str | None = None, *, mend: bool = False) -> Recovery:
        """What the log of a plan gives, compared with what lies on disk.

        With `mend` whatever differs is written anew, and what was there put into quarantine.

        Raises:
            NotFound: There is no event of this plan.
            EventLogError: Neither table nor export is whole, or they contradict each other.
            UsageError: The pointer is damaged, or a newer Hornbook wrote the checkpoint.
            PlanHeld: Another process works on the plan.
        """
        slug, state = self.slug(given), self._places.state
        if not mend:
            return self._recovered(slug)[0]
        with holding(state, slug, "recover --repair", at=self._clock()):
            mended, reading = self._recovered(slug)
            mended = repair(state, mended, reading)
            self._mend_database(slug, reading)
            self._mend_projections(slug)
        return mended

    def invariants(self) -> list[PlanInvariant]:
        """What plans proposed to hold always, promoted or not."""
        with self.log() as log:
            store = PlanStore(self._places.state, log)
            views = [store.view(slug) for slug in store.slugs()]
        return [
            PlanInvariant(view.plan.slug, each) for view in views for each in view.state.invariants
        ]

    def propose(self, given: str | None, *, text: str, reason: str) -> str:
        """The id of an invariant that is proposed; the same text twice is one.

        Raises:
            UsageError: The text or the reason is blank.
        """
        if not text.strip() or not reason.strip():
            raise UsageError("an invariant needs a text and a reason: give --text and --reason.")
        slug = self.slug(given)
        with self.log() as log:
            store = PlanStore(self._places.state, log)
            store.view(slug)
            data = {"text": text, "reason": reason}
            key = event_keys.invariant(text)
            event, _ = log.append(slug, "invariant.proposed", data, key=key)
            listed = store.view(slug).state.invariants
        return next(each.id for each in listed if each.text == event.data["text"])

    def promote(self, invariant_id: str) -> Invariant:
        """The invariant, let into the core file by a person.

        Raises:
            NotFound: No plan proposed it.
            NotAPerson: Whoever asks is none; nothing was done.
        """
        found = next((e for e in self.invariants() if e.invariant.id == invariant_id), None)
        if found is None:
            known = ", ".join(each.invariant.id for each in self.invariants()) or "none"
            raise NotFound(f"there is no invariant {invariant_id!r}: proposed are {known}.")
        with self.log() as log:
            require_human(log.principal, "promote an invariant", self._places.state)
            data = {"id": invariant_id}
            key = event_keys.promoted_invariant(invariant_id)
            log.append(found.plan, "invariant.promoted", data, key=key)
            PlanStore(self._places.state, log).view(found.plan)
        promoted = next(e.invariant for e in self.invariants() if e.invariant.id == invariant_id)
        with_invariant(self._places.root / CONTEXT_CORE, promoted, found.plan)
        return promoted

    def _recovered(self, slug: str) -> tuple[Recovery, LogReading]:
        log = self._opened()
        try:
            return recover(self._places.state, slug, log)
        finally:
            if isinstance(log, EventLog):
                log.close()

    def _opened(self) -> EventLog | str:
        """The event log, or in words why it cannot be used; none is made where there is none."""
        database, state = self._settings.engine.database, self._places.state
        if not database and not (state / "events.db").exists():
            return ".hornbook/events.db is not there"
        try:
            return open_log(self._places, self._settings, self._clock)
        except EventLogError as problem:
            if not database and isinstance(problem.__cause__, DatabaseAway):
                raise  # it is busy, not gone: nothing may take its place
            return str(problem).rstrip(".")

    def _mend_database(self, slug: str, reading: LogReading) -> None:
        """Make the table say what the export says; a file that is no database is made anew."""
        if reading.database_fault is not None:
            self._forget(slug)
        with self.log() as log:
            if log.misfits(slug):
                log.forget(slug)
            log.sync(slug)
            log.set_projected(slug, reading.events[-1].seq)

    def _mend_projections(self, slug: str) -> None:
        """Write anew what runs left besides; what was there is put aside."""
        from hornbook.loop.verification import StateCheck  # noqa: PLC0415  # start-up: only here

        check = StateCheck(self._places, self._settings)
        for path in check.differing(slug):
            put_aside(self._places.state, slug, path)
            path.unlink()  # what is there of an edit is not written again
        check.project_again(slug)

    def _forget(self, slug: str) -> None:
        """Remove the plan from the table, or the whole table if it cannot be read at all."""
        try:
            with self.log() as log:
                log.forget(slug)
        except (EventLogError, DatabaseFailed) as problem:
            away = (problem, problem.__cause__)
            if self._settings.engine.database or any(
                isinstance(each, DatabaseAway) for each in away
            ):
                raise
            state = self._places.state
            for name in ("events.db", "events.db-wal", "events.db-shm"):
                put_aside(state, slug, state / name)
                (state / name).unlink(missing_ok=True)
