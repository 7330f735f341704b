"""The file of promoted invariants: entries are added, what is there stays."""

from pathlib import Path

from hornbook.execute.plan_files import write_if_changed
from hornbook.model.plan import Invariant

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
