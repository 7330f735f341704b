"""Whether a failure is one that passes by itself, and how long to wait for that."""

import re

RATE_LIMITED = 60.0
SERVER_DOWN = 15.0
LONGEST = 6 * 3600.0
_RATE = re.compile(
    r"rate.?limit|too many requests|quota exceeded|resource.?exhausted|overloaded"
    r"|(?:status|code|http|error|api)\W.{0,12}\b(?:429|529)\b"
    r"|usage limit|(?:reached|hit) your .{0,20}limit",
    re.IGNORECASE,
)
_SERVER = re.compile(
    r"(?:status|code|http|error|api)\W.{0,12}\b50[0234]\b|internal server error|bad gateway"
    r"|service (?:is |temporarily )?unavailable"
    r"|gateway time-?out|server_error|\bECONNRE(?:SET|FUSED)\b|\bETIMEDOUT\b",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"(?:retry[-_ ]?after[\"':=\s]{0,4}|(?:try again|retry|retrying|wait|resets?) "
    r"(?:in|for|after) (?:about )?)"
    r"(\d{1,9}(?:\.\d{1,9})?)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)?\b",
    re.IGNORECASE,
)
_UNTIL = re.compile(r"\|(\d{10})\b")


def retry_after(words: str, now: float) -> float | None:
    """Seconds to wait before asking again; none if waiting does not help.

    `words` is what a failed call said, `now` the time in seconds since 1970.
    """
    if _RATE.search(words):
        patience = RATE_LIMITED
    elif _SERVER.search(words):
        patience = SERVER_DOWN
    else:
        return None
    until = _UNTIL.search(words)
    if until is not None:
        patience = float(until[1]) - now
    after = _AFTER.search(words)
    if after is not None:
        patience = float(after[1]) * _unit(after[2] or "s")
    return min(max(patience, 0.0), LONGEST)


def _unit(name: str) -> float:
    lower = name.lower()
    if lower.startswith(("ms", "milli")):
        return 0.001
    return {"m": 60.0, "h": 3600.0}.get(lower[0], 1.0)
