"""Workspaces with a plan to checkpoint and recover, and their files as bytes."""

from pathlib import Path
from typing import Any

from hornbook import Workspace
from hornbook.plans.events import Event, next_event
from hornbook.plans.log import EventLog
from hornbook.plans.principal import unknown
from tests.kit.plans import PLAN, with_a_plan

NOW = "2026-11-16T08:00:00.000Z"


def remembered(root: Path, *, commit: bool = True) -> Path:
    """A workspace with the plan `limits`, two decisions and a risk of two severities."""
    with_a_plan(root)
    with Workspace.open(root) as work:
        work.ingest()
        book = work.plan_book()
        book.explore("Limits", PLAN)
        book.decide(None, decision="A bucket\n- Decision: no", reason="bursts", impact="memory")
        book.decide(None, decision="Per user", reason="fair", impact="a key")
        book.risk(None, name="R1", severity="low", text="a restart forgets")
        book.risk(None, name="R1", severity="high", text="a restart forgets")
        if commit:
            book.promote()
    return root


def folder_of(root: Path, slug: str = "limits") -> Path:
    return root / ".hornbook" / "plans" / slug


def made_files(root: Path) -> dict[str, bytes]:
    """What a checkpoint makes: the plan's folder and the records."""
    state = root / ".hornbook"
    found = [*sorted((state / "plans").rglob("*")), *sorted((state / "records").rglob("*"))]
    return {
        each.relative_to(root).as_posix(): each.read_bytes() for each in found if each.is_file()
    }


def without_database(root: Path) -> None:
    for each in (root / ".hornbook").glob("events.db*"):
        each.unlink()


def forged(root: Path, kind: str, data: dict[str, Any], slug: str = "limits") -> Event:
    """An event with whole hashes that our own commands would not have appended."""
    without_database(root)
    path = folder_of(root, slug) / "events.jsonl"
    log = EventLog(root / ".hornbook", lambda: NOW)
    log.sync(slug)
    last = log.events(slug)[-1]
    log.close()
    without_database(root)
    event = next_event(last, plan=slug, kind=kind, data=data, key="forged", by=unknown("x"), at=NOW)
    with path.open("ab") as file:
        file.write(event.line.encode())
    return event
