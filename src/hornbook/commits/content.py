"""What of a changed file can be shown, and what a reader of its patch does not see all the same.

Everything is shown as text, however odd, but for two kinds. Pictures, archives, fonts and
recordings are known by their first bytes and by their name, both: a script with the first bytes of
a picture is no picture. Data that is mostly no text at all would tell a reader nothing; it is not
shown, and where a rule binds it a person has to look. A NUL byte alone hides nothing any more.

What is shown may still hide something. Some of it are characters: those that cannot be seen, that
end a line for one program and not for another, or that look like others. Some are names that look
like another name. And some of what a change brings is in no patch at all: the files of a submodule,
what a link out of the repository leads to, what a pointer of Git LFS stands for, and code that is
written in an encoding which its first lines name.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from itertools import chain
from typing import Protocol

from hornbook.text.visible import ascii_words, fold, imitations_in, odd_name, unseen_in

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


LINK = "120000"
SUBMODULE = "160000"
_DOCUMENTS = (".md", ".mdx", ".mdc", ".rst", ".txt", ".adoc", ".html", ".svg", ".po", ".xlf")
"""Ends of files in which people write in other scripts, next to Latin ones."""
_NAMED_ANEW = frozenset("ARC")
_PLAIN = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\xff]|\r(?!\n|\Z)|[ \t]{100}")
"""What makes a text worth a look: most have none of it."""
_FAR = re.compile(r"\S[ \t]{100,}(?=\S)")
_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_WRITTEN_IN = (".py", ".pyi", ".pyw", ".rb")
# Encodings in which ASCII is what it looks like.
_USUAL = re.compile(
    r"(?:utf[-_]?8|(?:us[-_]?)?ascii|latin[-_]?1|iso[-_](?:8859|latin)[-_]\d+|cp125\d|"
    r"windows[-_]125\d|koi8[-_][ru]|euc[-_](?:jp|kr)|gbk|gb2312|gb18030|big5)(?:[-_](?:sig|unix|dos))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class FileChange:
    """One changed file; `before` is its old path when it was renamed or copied.

    `mode` is git's, of what is there now.
    """

    path: str
    status: str
    before: str | None = None
    mode: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Hidden:
    """Something about a changed file that a reader does not see, and the line where there is one.

    It matters where a rule binds the file.
    """

    path: str
    line: int | None
    what: str


class Sides(Protocol):
    """What the changed files hold before and after."""

    @property
    def new(self) -> Mapping[str, str]:
        """The regular files of after, and their blobs."""

    def of(self, each: FileChange) -> tuple[bytes | None, bytes | None]:
        """What the file held and holds; none where it is not there, or no regular file."""

    def content(self, each: FileChange) -> Content:
        """The content of both sides together."""

    def target(self, each: FileChange) -> str | None:
        """Where a symbolic link leads now, from the top of the repository."""


def hidden_in(files: tuple[FileChange, ...], sides: Sides) -> Iterator[Hidden]:
    """What a reader of the patches does not see."""
    looks = _alike((each.path for each in files if each.status in _NAMED_ANEW), sides.new)
    for each in files:
        what = _elsewhere(each, sides)
        if what is not None:
            yield Hidden(each.path, None, what)
        old, new = sides.of(each)
        if new is None:
            continue
        if each.status in _NAMED_ANEW:
            yield from _of_name(each.path, looks[fold(each.path)])
        if sides.content(each) is Content.DATA:
            yield Hidden(each.path, None, "it is no text and no known kind of picture or archive")
        elif sides.content(each) is Content.TEXT:
            yield from _of_lines(each.path, old or b"", new)


def _elsewhere(each: FileChange, sides: Sides) -> str | None:
    """Why what a path brings is in no patch, in words; none if it is."""
    if each.mode == SUBMODULE:
        return "it is a submodule, and none of its files is shown"
    target = sides.target(each)
    if target is not None and (target.startswith("/") or target.split("/", 1)[0] == ".."):
        return "it is a link that leads out of the repository"
    new = sides.of(each)[1]
    if new is not None and new.startswith(_POINTER) and not is_media_name(each.path):
        return "it is a pointer of Git LFS, and what it stands for is not shown"
    return None


def _alike(wanted: Iterable[str], paths: Iterable[str]) -> dict[str, list[str]]:
    """The paths that look like one of those that are wanted, by how they look."""
    found: dict[str, list[str]] = {fold(path): [] for path in wanted}
    for path in paths if found else ():
        if (look := fold(path)) in found:
            found[look].append(path)
    return found


def _of_name(path: str, alike: Iterable[str]) -> Iterator[Hidden]:
    odd = odd_name(path)
    if odd is not None:
        yield Hidden(path, None, odd)
    for twin in alike:
        if twin != path:
            yield Hidden(path, None, f"its name differs from {twin!r} only in what one overlooks")


def _of_lines(path: str, old: bytes, new: bytes) -> Iterator[Hidden]:
    """What is hidden in lines that were not there before."""
    coded = path.lower().endswith(_WRITTEN_IN) and b"coding" in new[:1000]
    if not coded and not _PLAIN.search(new):
        return
    known = set(old.split(b"\n"))
    code = not path.lower().endswith(_DOCUMENTS)
    words = cache(lambda: ascii_words(new.decode("utf-8", "replace")))
    for number, line in enumerate(new.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if line in known:
            continue
        shown = line.decode("utf-8", "replace")
        found = chain(unseen_in(shown), imitations_in(shown, words) if code else ())
        if _PLAIN.search(line):
            yield from (Hidden(path, number, what) for what in found)
        if code and _FAR.search(shown):
            yield Hidden(path, number, "code that stands behind over a hundred blanks")
        cookie = _COOKIE.match(shown) if coded and number <= 2 else None
        if cookie is not None and not _USUAL.fullmatch(cookie[1]):
            yield Hidden(path, number, f"it is code in the encoding {cookie[1]!r}")
