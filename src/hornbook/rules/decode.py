"""Bytes to text, saying where they are not what they should be."""

import codecs

from hornbook.rules.document import Problems

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""What a file in UTF-16 starts with."""


_LOOKED_AT = 1024


def decode(data: bytes, problems: Problems) -> str:
    """Return the text of `data`; bytes that are not UTF-8 are replaced and reported."""
    if data.startswith(UTF_16):
        problems.error(1, "not_utf8", "The file is UTF-16: save it as UTF-8.")
        return data.decode("utf-16", errors="replace")
    start = data[:_LOOKED_AT]
    if start.count(0) * 4 > len(start):
        problems.error(1, "not_utf8", "Every other byte is 0, as in UTF-16: save it as UTF-8.")
        return data.decode("utf-8", errors="replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.error(
            line,
            "invalid_utf8",
            f"Byte 0x{data[error.start]:02x} at offset {error.start} is not UTF-8: "
            "save the file as UTF-8.",
        )
        return data.decode("utf-8", errors="replace")
