"""Seals: hashes that a record carries of itself, so that an edit is seen when it is read."""

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256

RECORD, RECEIPT = "record_sha256", "receipt_sha256"
JUDGED = (
    "outcome",
    "rejection_type",
    "route",
    "base",
    "head",
    "rules",
    "findings",
    "problems",
    "warnings",
    "feedback",
)
"""What of a recorded review is its judgement."""

Facts = Mapping[str, object]


def seal_of(facts: Facts, key: str = RECORD) -> str:
    """The hash over a record without the hash itself."""
    return digest({name: value for name, value in facts.items() if name != key})


def sealed(facts: Facts) -> dict[str, object]:
    """The facts as JSON has them, with their seal."""
    plain: dict[str, object] = json.loads(json.dumps(facts))
    return {**plain, RECORD: seal_of(plain)}


def digest(value: object) -> str:
    """The hash of a JSON value, however it is laid out."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def hashes_of(record: Facts) -> dict[str, object]:
    """The hashes of what a recorded review is made of: the answers, and the judgement."""
    return {
        "reviews": [digest(each) for each in printed_in(record)],
        "judgement": digest({name: record.get(name) for name in JUDGED}),
    }


def printed_in(record: Facts) -> list[str]:
    """What the reviewers printed, as a recorded review has it."""
    reviews = record.get("reviews")
    listed = reviews if isinstance(reviews, list) else []
    return [str(each.get("printed")) for each in listed if isinstance(each, dict)]


def unsealed(record: Facts, key: str = RECORD) -> str:
    """Why a record is not as it was written; empty if it is."""
    if key not in record:
        return f"it has no {key}"
    if record[key] != seal_of(record, key):
        return f"it was edited: its {key} is another one"
    return ""


def broken_seals(record: Facts) -> Iterator[str]:
    """Why a recorded review is not as it was written, part by part."""
    said = unsealed(record)
    if said:
        yield said
    known = record.get("hashes")
    told = known if isinstance(known, dict) else {}
    names = {"reviews": "what the reviewers printed", "judgement": "the judgement"}
    for name, actual in hashes_of(record).items():
        if told.get(name) != actual:
            yield f"the hash of {names[name]} is another one"
    ids, receipts = record.get("receipts"), told.get("receipts")
    if not isinstance(receipts, list) or ids != [f"receipt.{str(e)[:16]}" for e in receipts]:
        yield "its receipts are not those that it has the hashes of"
