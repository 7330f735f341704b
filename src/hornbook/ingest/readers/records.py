"""Our own records: what Hornbook did, as files under `.hornbook/records`."""

import json
from pathlib import PurePosixPath

from hornbook.ingest.problems import Problems
from hornbook.ingest.readers.protocol import Reading, SourceFile
from hornbook.model import Activation, Category, Scope, Severity
from hornbook.model.sealing import RECEIPT, unsealed
from hornbook.vocabulary import predicates as p

RECEIPTS = PurePosixPath(".hornbook/records/receipts")


class ReceiptReader:
    """Reads receipts: which revisions of which rules a context was made from."""

    tool = "record"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a receipt."""
        return path.parent == RECEIPTS and path.suffix == ".json"

    def read(self, file: SourceFile) -> Reading:
        """Return what the receipt says; one that is damaged is kept, with a problem."""
        problems = Problems(file.parts.path)
        problems.extend(file.parts.problems)
        try:
            receipt = json.loads(file.parts.body)
            facts = _facts(receipt)
            broken = unsealed(receipt, RECEIPT)
            if broken:
                facts = ()
                problems.error(1, "altered_record", altered("receipt", broken))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
            facts = ()
            message = f"It is not a receipt as Hornbook writes it ({problem}): delete it."
            problems.error(1, "bad_record", message)
        return Reading(
            path=file.parts.path,
            tool=self.tool,
            desired_id=f"receipt.{file.path.stem}",
            title=f"Receipt {file.path.stem}",
            category=Category.RECEIPT,
            activation=Activation.MANUAL,
            severity=Severity.INFO,
            scope=Scope.CODE,
            mime_type="application/json",
            head=file.parts.head,
            body=file.parts.body,
            body_line=1,
            facts=facts,
            problems=problems.told(),
        )


def altered(what: str, broken: str) -> str:
    """What to say of a record that is not as it was written."""
    return (
        f"The {what} is not as Hornbook wrote it and does not count ({broken}): restore it from "
        "git, or delete it."
    )


def _facts(receipt: dict[str, object]) -> tuple[tuple[str, str], ...]:
    found = [(p.RECEIPT_PROMPT.name, str(receipt["prompt_sha256"]))]
    for predicate, key in ((p.RECEIPT_BASE, "base"), (p.RECEIPT_HEAD, "head")):
        if receipt.get(key) is not None:
            found.append((predicate.name, str(receipt[key])))
    files, sections = receipt["files"], receipt["sections"]
    if not isinstance(files, list) or not isinstance(sections, list):
        raise TypeError("files and sections must be lists")
    found += [(p.RECEIPT_FILE.name, str(file)) for file in files]
    for section in sections:
        if section["name"] in {"sops", "decisions", "conventions"}:
            found += [(p.USED.name, str(item["revision"])) for item in section["items"]]
    return tuple(found)
