"""Keeps reviews and what was learned from them as records: files first, the graph from there."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from hornbook.disk import draft_of, settle, to_seconds, write_whole
from hornbook.gates.gate import GateReport
from hornbook.review.conventions import Conventions
from hornbook.review.judge import heads_in
from hornbook.review.judgement import Judgement, Ruling, Status
from hornbook.review.printed_review import PrintedReview, read_review
from hornbook.review.review_history import read_record
from hornbook.rules.own_files.records import RECORD, hashes_of, sealed, unsealed
from hornbook.settings.places import Places

SCHEMA = "hornbook.review.v1"
WORST_FIRST = (Status.VIOLATED, Status.PASSED, Status.NOT_APPLICABLE)
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
class JudgedReview:
    """A judgement with everything that it was made from."""

    judgement: Judgement
    reviews: Sequence[PrintedReview]
    receipts: Sequence[Mapping[str, object]]
    gates: GateReport | None = None


def record_review(places: Places, judged: JudgedReview, occasion: Occasion) -> Path:
    """Write the record of a judgement, sealed, and its patterns as candidates if it approved.

    A run's reviews are numbered; a record is never written over. What lies in the place of a
    numbered one and says something else was not written by its run: that is replaced.
    """
    folder = places.records / "reviews"
    places.prepare()
    folder.mkdir(parents=True, exist_ok=True)
    receipts = [str(each.get("receipt_sha256", ""))[:16] for each in judged.receipts]
    run = occasion.run or (receipts[0] if receipts else "")
    if not _NAME.fullmatch(run):
        run = "without-receipt"
    at = to_seconds(occasion.at)
    facts = record_facts(
        replace(judged, gates=_with_relative_logs(judged.gates, places)), occasion, at
    )
    path, review_id = _write(folder, run, occasion.number, facts)
    if judged.judgement.outcome is Ruling.APPROVED:
        Conventions(places).learn(judged.judgement, review_id, at)
    return path


def _write(
    folder: Path, run: str, number: int | None, facts: Mapping[str, object]
) -> tuple[Path, str]:
    """Where a record is kept, and its id; with a number it may be there already."""
    place = number or 1
    while True:
        path, review_id = folder / f"{run}.{place}.json", f"review.{run}.{place}"
        record = sealed({"id": review_id, **facts})
        text = json.dumps(record, ensure_ascii=False, indent=2) + "\n"
        draft = draft_of(path)
        draft.write_text(text, encoding="utf-8", errors="backslashreplace")
        settle(draft)
        try:
            os.link(draft, path)
        except FileExistsError:
            if number is None:
                place += 1
                continue
            if not _is_same(path, record):
                draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        return path, review_id


def _is_same(path: Path, record: Mapping[str, object]) -> bool:
    """Whether a file is the record, though perhaps of another time."""
    known = read_record(path)
    if known is None or unsealed(known):
        return False
    ours, theirs = (
        {key: value for key, value in each.items() if key not in {"at", RECORD}}
        for each in (record, known)
    )
    return ours == theirs


def _with_relative_logs(gates: GateReport | None, places: Places) -> GateReport | None:
    """Results whose logs are named from the root: records are kept, and read elsewhere."""
    if gates is None:
        return None
    root = str(places.root) + os.sep
    results = (replace(e, log=e.log and e.log.removeprefix(root)) for e in gates.gates)
    return replace(gates, gates=tuple(results))


def record_facts(judged: JudgedReview, occasion: Occasion, at: str) -> dict[str, object]:
    """What a record of a judgement says, but for its id and seal."""
    judgement = judged.judgement
    receipts = [str(each.get("receipt_sha256", "")) for each in judged.receipts]
    statuses = _statuses(judged)
    facts: dict[str, object] = {
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
        "receipts": [f"receipt.{each[:16]}" for each in receipts],
        "rules": [
            {
                "id": rule.id,
                "severity": rule.severity,
                "revision": rule.revision,
                "statuses": _together([statuses[unit.id] for unit in rule.judged]),
                "units": [
                    {"id": unit.id, "severity": unit.severity, "statuses": statuses[unit.id]}
                    for unit in rule.units
                ],
            }
            for rule in judgement.rules
        ],
        "findings": list(map(asdict, judgement.findings)),
        "problems": list(map(asdict, judgement.problems)),
        "warnings": list(map(asdict, judgement.warnings)),
        "feedback": judgement.feedback,
        "gates": asdict(judged.gates) if judged.gates is not None else None,
        "reviews": [
            {"name": printed.name, "printed": printed.data.decode("utf-8", "replace")}
            for printed in judged.reviews
        ],
    }
    if judgement.canary is not None:
        facts["canary"] = asdict(judgement.canary)
    plain = json.loads(json.dumps(facts))
    return {**facts, "hashes": {**hashes_of(plain), "receipts": receipts}}


def _statuses(judged: JudgedReview) -> dict[str, list[str]]:
    """What the reviews say of each rule, or section of a large one, each status once."""
    found: dict[str, dict[str, None]] = {
        unit.id: {} for rule in judged.judgement.rules for unit in rule.judged
    }
    heads = heads_in(judged.judgement.rules)
    for printed in judged.reviews:
        review = read_review(printed.data).review
        for entry in review.entries if review is not None else ():
            name = heads.get(entry.sop_id, entry.sop_id)
            if name in found:
                found[name][str(entry.status)] = None
    return {name: list(statuses) for name, statuses in found.items()}


def _together(statuses: Sequence[Sequence[str]]) -> list[str]:
    """What was said of a rule: of one in sections, the worst that was said of any."""
    if len(statuses) == 1:
        return list(statuses[0])
    said = {each for some in statuses for each in some}
    return [str(status) for status in WORST_FIRST if status in said][:1]


def keep_receipt(places: Places, facts: Mapping[str, object]) -> Path:
    """The record in which a receipt is kept: the next ingest makes it part of the graph.

    When this returns the disk has it and its name, so that an event or a record may name it.
    """
    name = str(facts["receipt_sha256"])[:16]
    path = places.records / "receipts" / f"{name}.json"
    places.prepare()
    write_whole(path, (json.dumps(facts, ensure_ascii=False, indent=2) + "\n").encode())
    settle(path.parent)
    return path
