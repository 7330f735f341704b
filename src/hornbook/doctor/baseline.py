"""Findings that a team knows and accepts until a day, with the reason: a YAML list."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

from hornbook.doctor.finding import CODES, Finding
from hornbook.errors import ConfigError, UsageError
from hornbook.located import FileReading
from hornbook.settings.checks import is_day

PLACE = Path(".hornbook") / "doctor.yaml"
DAYS = 90
_HEAD = """\
# Findings of `hornbook doctor` that are accepted until a day. Give each a reason of your own.
"""


@dataclass(frozen=True, slots=True)
class Accepted:
    """What is accepted: a code, in a file or for a rule, until a day and for a reason."""

    code: str
    reason: str
    accept_until: str
    path: str = ""
    rule: str = ""

    def covers(self, finding: Finding) -> bool:
        """Whether a finding is one of those that are accepted."""
        return (
            finding.code == self.code
            and self.path in {"", finding.path}
            and self.rule in {"", finding.rule}
        )


def read_baseline(path: Path) -> tuple[Accepted, ...]:
    """The entries of a baseline.

    Raises:
        UsageError: The file cannot be read.
        ConfigError: With everything that is wrong in it.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(f"{path} cannot be read ({problem}): name a baseline file.") from problem
    reading = FileReading(path.name)
    entries = reading.read_list(text, Accepted)
    for number, entry in enumerate(entries):
        if entry.code and entry.code not in CODES:
            reading.complain(
                reading.lines[f"[{number}].code"],
                f"`{entry.code}` is no code: write one of {', '.join(CODES)}.",
            )
        if entry.accept_until and not is_day(entry.accept_until):
            reading.complain(
                reading.lines[f"[{number}].accept_until"],
                f"`{entry.accept_until}` is no day: write it as 2026-12-31.",
            )
    if reading.problems:
        raise ConfigError(reading.problems)
    return entries


def with_entry(text: str, entry: Accepted) -> str:
    """The text of a baseline with one entry more, and all that stood in it before.

    Raises:
        UsageError: The text is written in a way that nothing can be added to.
    """
    facts = (
        ("code", entry.code),
        ("path", entry.path),
        ("rule", entry.rule),
        ("reason", entry.reason),
        ("accept_until", entry.accept_until),
    )
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in facts if value]
    before = _entries(text)
    kept = text if before else _without_empty_list(text)
    head = kept if not kept or kept.endswith("\n") else f"{kept}\n"
    made = (head or _HEAD) + "- " + "\n  ".join(lines) + "\n"
    if _entries(made) != (*before, entry):
        raise UsageError(
            f"{PLACE} is not written as a list of `- code: …` entries: write it so, with one key a "
            "line, and accept the finding again."
        )
    return made


def _entries(text: str) -> tuple[Accepted, ...]:
    """The entries of a text; none where it is no baseline."""
    reading = FileReading(PLACE.name)
    try:
        entries = reading.read_list(text, Accepted) if text.strip() else ()
    except ConfigError:
        return ()
    return () if reading.problems else entries


def _without_empty_list(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if line.strip() != "[]")


def accepted(
    findings: Iterable[Finding], entries: Iterable[Accepted], today: date
) -> tuple[Finding, ...]:
    """The findings, those that an entry covers which has not expired marked with its day."""
    valid = [each for each in entries if each.accept_until >= today.isoformat()]
    return tuple(_marked(finding, valid) for finding in findings)


def _marked(finding: Finding, entries: list[Accepted]) -> Finding:
    days = [each.accept_until for each in entries if each.covers(finding)]
    return replace(finding, accepted_until=max(days)) if days else finding


def baseline_text(findings: Iterable[Finding], today: date) -> str:
    """A baseline that accepts all findings above info for ninety days."""
    until = (today + timedelta(days=DAYS)).isoformat()
    kept = [each for each in findings if each.level != "info"]
    entries = dict.fromkeys((each.code, each.path, each.rule or "") for each in kept)
    if not entries:
        return f"{_HEAD}[]\n"
    return _HEAD + "".join(
        f"- code: {code}\n  path: {json.dumps(path, ensure_ascii=False)}\n"
        + (f"  rule: {rule}\n" if rule else "")
        + f"  reason: known when the baseline was written on {today.isoformat()}\n"
        + f"  accept_until: {until}\n"
        for code, path, rule in entries
    )
