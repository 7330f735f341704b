"""What stands beside the rules: decisions and conventions about files."""

from collections.abc import Sequence

from hornbook.model import Activation, Category, Entry
from hornbook.model.context import LeftOut, Unit
from hornbook.model.review import Ruling
from hornbook.text.globs import parse_set
from hornbook.workspace.snapshot import Snapshot

SUPERSEDED = ("superseded", "superceded", "deprecated", "rejected")


def decisions_about(
    snapshot: Snapshot, paths: Sequence[str], planned: Sequence[Unit]
) -> tuple[tuple[Unit, ...], tuple[LeftOut, ...]]:
    """The decisions of the plan and about these files that stand, and those that do not."""
    later = snapshot.superseded
    current = [unit for unit in planned if unit.id not in later]
    past = [
        LeftOut(unit.id, f"it is superseded by {later[unit.id]}")
        for unit in planned
        if unit.id in later
    ]
    for entry in _about(snapshot, Category.DECISION, paths):
        document = snapshot.document(entry.id)
        status = document.decision.status if document.decision is not None else ""
        replaced = later.get(entry.id)
        if status.lower().startswith(SUPERSEDED) or replaced:
            by = f" by {replaced}" if replaced else ""
            said = status if status.lower().startswith(SUPERSEDED) else "superseded"
            past.append(LeftOut(entry.id, f"it is {said}{by}"))
        else:
            text = f"## {document.title}\n\n- Decision: {entry.id}\n- Status: {status}\n\n"
            current.append(Unit(entry.id, document.revision, text + document.body))
    return tuple(current), tuple(past)


def conventions_about(
    snapshot: Snapshot, paths: Sequence[str]
) -> tuple[tuple[Unit, ...], tuple[LeftOut, ...]]:
    """The conventions about these files, and those that no review stands behind any more."""
    found, doubted = [], []
    about = _about(snapshot, Category.CONVENTION, paths)
    taught: dict[str, set[str | None]] = {}
    for convention, _review, outcome in snapshot.store.rows("convention_reviews") if about else ():
        taught.setdefault(convention, set()).add(outcome)
    for entry in about:
        if Ruling.APPROVED not in taught.get(entry.id, {Ruling.APPROVED}):
            reason = "the records of the reviews that it was learned from were altered"
            doubted.append(LeftOut(entry.id, reason))
            continue
        document = snapshot.document(entry.id)
        said = document.summary if document.tool == "record" else document.body
        text = f"## {document.title}\n\n- Convention: {entry.id}\n\n{said}"
        found.append(Unit(entry.id, document.revision, text))
    return tuple(found), tuple(doubted)


def _about(snapshot: Snapshot, category: Category, paths: Sequence[str]) -> list[Entry]:
    """The documents of a category whose patterns fit one of the files."""
    found = []
    for entry in snapshot.catalog.entries:
        if entry.category is category and entry.activation is Activation.GLOB:
            globs = parse_set(pattern.glob for pattern in entry.patterns)
            if any(globs.match(path) is not None for path in paths):
                found.append(entry)
    return found
