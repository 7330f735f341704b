"""Follows a folder: tells whenever a file that might be a source changes."""

import threading
from collections.abc import Iterator
from pathlib import Path

import watchfiles

from hornbook.rules.discover import SKIPPED_FOLDERS, is_text


def _matters(root: Path, path: str) -> bool:
    """Whether a change of this path can change what is ingested; a folder's name always can."""
    relative = Path(path).relative_to(root)
    parts = relative.parts
    if not SKIPPED_FOLDERS.isdisjoint(parts) or parts[:2] in {
        (".hornbook", "store"),
        (".hornbook", "objects"),
    }:
        return False
    return is_text(path, relative.name) or relative.name.startswith(".") or not relative.suffix


def changes(root: Path, stop: threading.Event | None = None) -> Iterator[set[str]]:
    """The paths of each burst of edits, creations, renames and deletions, until it is stopped.

    The first burst is empty and comes when the watch stands: what changed before it is not told.
    """
    standing = False
    for burst in watchfiles.watch(
        root,
        watch_filter=lambda _change, path: _matters(root, path),
        debounce=400,
        step=50,
        rust_timeout=300,
        yield_on_timeout=True,
        raise_interrupt=True,
        stop_event=stop,
    ):
        if burst or not standing:
            yield {path for _, path in burst}
        standing = True
