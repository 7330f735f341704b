"""Terminal output as plain text."""

import re

_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_OVERWRITTEN = re.compile(r"^.*\r(?!$)", re.MULTILINE)
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def plain(text: str) -> str:
    """The text without colours, overwritten progress lines and control characters."""
    without = _SEQUENCE.sub("", text).replace("\r\n", "\n")
    return _STEERING.sub("", _OVERWRITTEN.sub("", without))
