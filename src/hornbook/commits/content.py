"""Whether what a file holds can be shown: one answer for patches, prompts and evidence.

Everything is shown as text, however odd, but for two kinds. Pictures, archives, fonts and
recordings are known by their first bytes and by their name, both: a script with the first bytes of
a picture is no picture. Data that is mostly no text at all would tell a reader nothing; it is not
shown, and where a rule binds it a person has to look. A NUL byte alone hides nothing any more.
"""

import re
from enum import StrEnum

_MEDIA: tuple[tuple[frozenset[str], tuple[bytes, ...]], ...] = (
    (frozenset({"png"}), (b"\x89PNG\r\n\x1a\n",)),
    (frozenset({"jpg", "jpeg", "jfif"}), (b"\xff\xd8\xff",)),
    (frozenset({"gif"}), (b"GIF87a", b"GIF89a")),
    (frozenset({"webp", "wav", "avi"}), (b"RIFF",)),
    (frozenset({"ico", "cur"}), (b"\0\0\1\0", b"\0\0\2\0", b"\x89PNG\r\n\x1a\n")),
    (frozenset({"bmp"}), (b"BM",)),
    (frozenset({"tif", "tiff"}), (b"II*\0", b"MM\0*")),
    (frozenset({"icns"}), (b"icns",)),
    (frozenset({"psd"}), (b"8BPS",)),
    (frozenset({"jxl"}), (b"\xff\x0a", b"\0\0\0\x0cJXL ")),
    (
        frozenset({"zip", "jar", "war", "whl", "nupkg", "apk", "aar", "epub"}),
        (b"PK\3\4", b"PK\5\6"),
    ),
    (frozenset({"docx", "xlsx", "pptx", "odt", "ods", "odp", "vsix"}), (b"PK\3\4",)),
    (frozenset({"gz", "tgz"}), (b"\x1f\x8b",)),
    (frozenset({"bz2"}), (b"BZh",)),
    (frozenset({"xz", "txz"}), (b"\xfd7zXZ\0",)),
    (frozenset({"zst"}), (b"(\xb5/\xfd",)),
    (frozenset({"7z"}), (b"7z\xbc\xaf\x27\x1c",)),
    (frozenset({"rar"}), (b"Rar!\x1a\7",)),
    (frozenset({"woff"}), (b"wOFF",)),
    (frozenset({"woff2"}), (b"wOF2",)),
    (frozenset({"ttf", "ttc"}), (b"\0\1\0\0", b"true", b"ttcf")),
    (frozenset({"otf"}), (b"OTTO", b"\0\1\0\0")),
    (frozenset({"pdf"}), (b"%PDF-",)),
    (frozenset({"mp3"}), (b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2")),
    (frozenset({"ogg", "oga", "ogv", "opus"}), (b"OggS",)),
    (frozenset({"flac"}), (b"fLaC",)),
    (frozenset({"webm", "mkv"}), (b"\x1aE\xdf\xa3",)),
)
# Boxes of four bytes of length and a kind: the family of MP4 and of pictures kept like it.
_BOXED = frozenset({"mp4", "m4a", "m4v", "mov", "avif", "heic", "heif"})
_SNIFFED = 64 * 1024
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


class Content(StrEnum):
    """What a file holds: text, a kind of picture or archive that is known, or other data."""

    TEXT = "text"
    MEDIA = "media"
    DATA = "data"


def content_of(path: str, data: bytes) -> Content:
    """What a file of this name holds."""
    if b"\0" not in data and not _mostly_data(data):
        return Content.TEXT
    if _is_media(path, data):
        return Content.MEDIA
    return Content.DATA if _mostly_data(data) else Content.TEXT


def is_media_name(path: str) -> bool:
    """Whether a file goes by the name of a picture, an archive, a font or a recording."""
    end = path.rpartition(".")[2].lower()
    return end in _BOXED or any(end in ends for ends, _ in _MEDIA)


def _is_media(path: str, data: bytes) -> bool:
    end = path.rpartition(".")[2].lower()
    if end in _BOXED:
        return data[4:8] == b"ftyp"
    return any(end in ends and data.startswith(heads) for ends, heads in _MEDIA)


def _mostly_data(data: bytes) -> bool:
    """Whether one byte in ten is none of a text: a control, or no UTF-8."""
    head = data[:_SNIFFED]
    lost = len(head) - len(head.decode("utf-8", errors="ignore").encode())
    return (lost + len(_NO_TEXT.findall(head))) * 10 > len(head)
