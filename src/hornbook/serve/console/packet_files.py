"""The packet of a change as files: what a reviewer is given, and what is kept of it."""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hornbook.context.receipt import receipt
from hornbook.context.review_packet import Packet
from hornbook.review.printed_review import review_schema
from hornbook.settings.places import Places

ARCHIVE = "packet.zip"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The same packet is the same archive, whenever it is made."""


@dataclass(frozen=True, slots=True)
class PacketFiles:
    """Everything that `hornbook review prepare` writes, by the same names."""

    files: Mapping[str, bytes]
    receipts: tuple[dict[str, object], ...]

    def archive(self) -> bytes:
        """All of them in one file."""
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in self.files.items():
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
        return held.getvalue()

    def kept(self, places: Places) -> bool:
        """Whether the receipts are records already, so that a review needs no others."""
        names = [str(each["receipt_sha256"])[:16] for each in self.receipts]
        folder = places.records / "receipts"
        return bool(names) and all((folder / f"{name}.json").is_file() for name in names)


def packet_files(packet: Packet) -> PacketFiles:
    """The files of a packet, or of its passes; none where it cannot be whole."""
    parts = packet.parts()
    if any(each.context.text is None for each in parts):
        return PacketFiles({}, ())
    files: dict[str, bytes] = {}
    receipts = []
    for number, each in enumerate(parts, 1):
        folder = "" if len(parts) == 1 else f"pass-{number}/"
        facts = receipt(each.context, each.made_for)
        receipts.append(facts)
        files[f"{folder}prompt.md"] = (each.context.text or "").encode()
        files[f"{folder}receipt.json"] = _json(facts)
        files[f"{folder}review.schema.json"] = _json(review_schema(each.context.answer_ids))
    return PacketFiles(files, tuple(receipts))


def _json(facts: Mapping[str, object] | Sequence[object]) -> bytes:
    return (json.dumps(facts, ensure_ascii=False, indent=2) + "\n").encode()
