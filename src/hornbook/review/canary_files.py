"""Keeps what was planted, each in a file of its own.

Only its owner can read it, git ignores it, and agents that are confined do not see it. A review is
one of a canary if the receipt that it is given with is a canary's. A file that is wrongly there can
forbid an approval, and never give one.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

import msgspec

from hornbook.disk import write_whole
from hornbook.errors import UsageError
from hornbook.review.canary import Canary
from hornbook.settings.places import Places

_OWNER_ONLY = 0o600
_OWNER_FOLDER = 0o700


def keep(places: Places, canary: Canary) -> Path:
    """Keep what was planted where only its owner reads it."""
    places.prepare()
    folder = places.canaries
    folder.mkdir(exist_ok=True)
    folder.chmod(_OWNER_FOLDER)
    # The folder's own, since `.hornbook/.gitignore` may be one that a person wrote.
    write_whole(folder / ".gitignore", b"*\n")
    text = json.dumps(asdict(canary), ensure_ascii=False, indent=2) + "\n"
    path = _place(places, canary.receipt_sha256)
    write_whole(path, text.encode(), _OWNER_ONLY)
    return path


def keep_prompt(places: Places, canary: Canary, text: str) -> None:
    """Keep the prompt of what was planted beside it, as only its owner reads that too."""
    write_whole(prompt_place(places, canary.receipt_sha256), text.encode(), _OWNER_ONLY)


def prompt_place(places: Places, receipt_sha256: str) -> Path:
    """Where the prompt of a canary lies, by its receipt."""
    return _place(places, receipt_sha256).with_suffix(".md")


def planted(places: Places, receipts: Iterable[Mapping[str, object]]) -> Canary | None:
    """The canary that one of the receipts is of.

    Raises:
        UsageError: The file of what was planted cannot be read.
    """
    for receipt in receipts:
        name = str(receipt.get("receipt_sha256", ""))
        if not name.isalnum():
            continue
        path = _place(places, name)
        try:
            found = msgspec.json.decode(path.read_bytes(), type=Canary)
        except FileNotFoundError:
            continue
        except (OSError, msgspec.DecodeError) as problem:
            raise UsageError(
                f"{path}: what was planted cannot be read ({problem}): restore the file, or remove "
                "it and make another canary."
            ) from problem
        if found.receipt_sha256 == name:
            return found
    return None


def _place(places: Places, receipt_sha256: str) -> Path:
    return places.canaries / f"{receipt_sha256[:16]}.json"
