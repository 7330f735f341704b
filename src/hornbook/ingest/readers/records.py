"""Our own records: what Hornbook did, as files under `.hornbook/records`."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from hornbook.ingest.readers.protocol import Reading, SourceFile
from hornbook.ingest.readers.record_reading import RecordKind, Said, read_record
from hornbook.model import Category, Scope
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
        kind = RecordKind("receipt", Category.RECEIPT, Scope.CODE, _facts, _broken)
        return read_record(file, kind)


def _broken(receipt: Said, _name: str) -> Iterator[str]:
    broken = unsealed(receipt, RECEIPT)
    if broken:
        yield broken


def _facts(receipt: Said) -> tuple[tuple[str, str], ...]:
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
