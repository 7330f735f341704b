"""Keeps reviews and what was learned from them as records: files first, the graph from there."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from hornbook.model.gates import GateReport
from hornbook.model.review import Judgement, Ruling
from hornbook.review.reading import read
from hornbook.temporary import draft_of
from hornbook.workspace.conventions import Conventions
from hornbook.workspace.places import Places
from hornbook.workspace.reviewing import Printed

SCHEMA = "hornbook.review.v1"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


@dataclass(frozen=True, slots=True)
class Occasion:
    """What a review belongs to: when it was judged, in which run, for which plan and task."""

    at: datetime
    run: str | None = None
    plan: str | None = None
    task: str | None = None
    number: int | None = None
    """Which review of its run it is; the record of the same one is written once."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A judgement with everything that it was made from."""

    judgement: Judgement
    reviews: Sequence[Printed]
    receipts: Sequence[Mapping[str, object]]
    gates: GateReport | None = None


def record_review(places: Places, judged: Judged, occasion: Occasion) -> Path:
    """Write the record of a judgement, and its patterns as candidates if it approved.

    A run's reviews are numbered; a record is never written over.
    """
    folder = places.records / "reviews"
    places.prepare()
    folder.mkdir(parents=True, exist_ok=True)
    receipts = [str(each.get("receipt_sha256", ""))[:16] for each in judged.receipts]
    run = occasion.run or (receipts[0] if receipts else "")
    if not _NAME.fullmatch(run):
        run = "without-receipt"
    at = occasion.at.strftime("%Y-%m-%dT%H:%M:%SZ")
    facts = _facts(judged, occasion, at)
    path, review_id = _kept(folder, run, occasion.number, facts)
    if judged.judgement.outcome is Ruling.APPROVED:
        Conventions(places).learn(judged.judgement, review_id, at)
    return path


def _kept(
    folder: Path, run: str, number: int | None, facts: Mapping[str, object]
) -> tuple[Path, str]:
    """Where a record is kept, and its id; with a number it may be there already."""
    place = number or 1
    while True:
        path, review_id = folder / f"{run}.{place}.json", f"review.{run}.{place}"
        text = json.dumps({"id": review_id, **facts}, ensure_ascii=False, indent=2) + "\n"
        draft = draft_of(path)
        draft.write_text(text, encoding="utf-8", errors="backslashreplace")
        try:
            os.link(draft, path)
        except FileExistsError:
            if number is None:
                place += 1
                continue
        finally:
            draft.unlink()
        return path, review_id


def _facts(judged: Judged, occasion: Occasion, at: str) -> dict[str, object]:
    judgement = judged.judgement
    statuses: dict[str, list[str]] = {rule.id: [] for rule in judgement.rules}
    for printed in judged.reviews:
        review = read(printed.data).review
        for entry in review.entries if review is not None else ():
            if entry.sop_id in statuses and entry.status not in statuses[entry.sop_id]:
                statuses[entry.sop_id].append(str(entry.status))
    return {
        "schema": SCHEMA,
        "at": at,
        "outcome": judgement.outcome,
        "rejection_type": judgement.rejection_type,
        "route": judgement.route,
        "base": judgement.base,
        "head": judgement.head,
        "run": occasion.run,
        "plan": occasion.plan,
        "task": occasion.task,
        "receipts": [
            f"receipt.{str(each.get('receipt_sha256', ''))[:16]}" for each in judged.receipts
        ],
        "rules": [
            {
                "id": rule.id,
                "severity": rule.severity,
                "revision": rule.revision,
                "statuses": statuses[rule.id],
            }
            for rule in judgement.rules
        ],
        "findings": [asdict(finding) for finding in judgement.findings],
        "problems": [asdict(problem) for problem in judgement.problems],
        "feedback": judgement.feedback,
        "gates": asdict(judged.gates) if judged.gates is not None else None,
        "reviews": [
            {"name": printed.name, "printed": printed.data.decode("utf-8", "replace")}
            for printed in judged.reviews
        ],
    }
