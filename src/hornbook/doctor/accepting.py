"""Accepts findings in the name of a person: in the baseline of the workspace, for a time."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hornbook.disk import locked, write_whole
from hornbook.doctor.baseline import DAYS, PLACE, Accepted, accepted, with_entry
from hornbook.doctor.examination import examine
from hornbook.doctor.finding import Finding
from hornbook.errors import NotFound, UsageError
from hornbook.plans.principal import Principal, at_command_line, require_human
from hornbook.settings.checks import is_day
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings


def accept_finding(
    places: Places, settings: Settings, wanted: Accepted, by: Principal | None
) -> list[Finding]:
    """Write an entry that accepts findings; the findings, with the day until which.

    Raises:
        NotAPerson: Whoever accepts is none.
        NotFound: Nothing that nobody accepted fits.
        UsageError: No reason or no place is given, the day is none or over, or the file cannot be
            added to.
        ConfigError: The baseline is wrong.
    """
    who = by or at_command_line(places.state)
    require_human(who, "accept a finding", places.state, settings.answer.via)
    if not wanted.reason.strip():
        raise UsageError("no reason is given: say why the finding is accepted.")
    if not (wanted.path or wanted.rule):
        raise UsageError("no place is given: name the path or the rule whose finding is accepted.")
    today = datetime.now(UTC).date()
    until = wanted.accept_until or (today + timedelta(days=DAYS)).isoformat()
    if not is_day(until) or until < today.isoformat():
        raise UsageError(f"{until!r} is no day from today on: write it as 2026-12-31.")
    entry = replace(wanted, accept_until=until, reason=f"{wanted.reason.strip()} ({who.id})")
    found = examine(places, settings, baseline=None, today=today).open
    covered = [finding for finding in found if entry.covers(finding)]
    if not covered:
        near = ", ".join(sorted({finding.code for finding in found})) or "none"
        raise NotFound(
            f"no finding {wanted.code!r} of {wanted.path or wanted.rule or 'any file'} is open: "
            f"open are {near}."
        )
    place = places.root / PLACE
    places.prepare()
    with locked(places.state / ".gitignore"):  # a file that is there: nothing new for git to see
        before = place.read_text(encoding="utf-8-sig") if place.is_file() else ""
        write_whole(place, with_entry(before, entry).encode())
    return list(accepted(covered, [entry], today))
