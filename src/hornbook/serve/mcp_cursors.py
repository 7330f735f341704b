"""Opaque cursors: the id behind which the next page begins."""

import base64
import binascii

from hornbook.errors import UsageError

_MARK = "after:"


def cursor_for(place: str) -> str:
    """The cursor behind an id or address."""
    return base64.urlsafe_b64encode(f"{_MARK}{place}".encode()).decode("ascii")


def place_of(cursor: str | None) -> str | None:
    """The id or address that a cursor stands for.

    Raises:
        UsageError: It is not a cursor of ours.
    """
    if cursor is None:
        return None
    try:
        decoded = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        decoded = ""
    if not decoded.startswith(_MARK):
        raise UsageError(f"{cursor!r} is not a cursor: pass next_cursor of the page before.")
    return decoded.removeprefix(_MARK)
