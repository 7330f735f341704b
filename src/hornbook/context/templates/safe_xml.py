"""Reads XML from strangers into plain values: no DTD, no entity, nothing outside the file.

The parser is expat itself, because it tells the line of every element. It never sees a document
type: that is refused in the decoded text, so nothing can be declared that would expand.
"""

import codecs
import re
from dataclasses import dataclass, field
from xml.parsers import expat

from hornbook.located import MAX_DEPTH, ReadingRefused, Refusal, limited

MAX_NODES = 5000
WHITESPACE = " \t\r\n"

_PROLOG = re.compile(r"\ufeff?(?:[ \t\r\n]+|<\?.*?\?>|<!--.*?-->)*", re.DOTALL)
_LINE_END = re.compile(r"\r\n|\r|\n")
_ACCEPTED = {"utf-8": {"utf-8", "utf8", "us-ascii", "ascii"}, "utf-16": {"utf-16"}}


@dataclass(frozen=True, slots=True)
class Element:
    """An element with its own text, whole and untrimmed; comments and instructions are gone."""

    name: str
    line: int
    attributes: tuple[tuple[str, str], ...] = ()
    children: tuple["Element", ...] = ()
    text: str = ""

    def attribute(self, name: str) -> str | None:
        """An attribute's value without surrounding whitespace."""
        return next(
            (value.strip(WHITESPACE) for key, value in self.attributes if key == name), None
        )

    def child(self, name: str) -> "Element | None":
        """The first child of that name."""
        return next((child for child in self.children if child.name == name), None)

    @property
    def value(self) -> str:
        """The text without surrounding whitespace, which is not part of a value."""
        return self.text.strip(WHITESPACE)


def read_xml(data: bytes | str) -> Element | Refusal:
    """The root element, or why there is none; never raises, whatever the bytes are."""
    try:
        return _parse(*_decode(limited(data)))
    except ReadingRefused as refused:
        return refused.refusal


def _decode(data: bytes) -> tuple[str, str]:
    """The text and the encoding that its first bytes show, as the XML standard has it."""
    encoding, codec = "utf-8", "utf-8-sig"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding, codec = "utf-16", "utf-16"
    elif data.startswith((b"<\0", b"\0<")):
        encoding, codec = "utf-16", "utf-16-le" if data.startswith(b"<") else "utf-16-be"
    try:
        return data.decode(codec), encoding
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        message = f"the text is not {encoding.upper()}: save the file as UTF-8."
        raise ReadingRefused("not_well_formed", line, message) from error


def _parse(text: str, encoding: str) -> Element:
    _refuse_document_type(text)
    tree = _Tree(encoding)
    try:
        tree.parser.Parse(text.encode("utf-8"), True)
    except expat.ExpatError as error:
        message = f"{expat.ErrorString(error.code)} at column {error.offset + 1}."
        raise ReadingRefused("not_well_formed", error.lineno, message) from error
    return tree.root()


def _refuse_document_type(text: str) -> None:
    prolog = _PROLOG.match(text)
    start = prolog.end() if prolog else 0
    if text.startswith("<!DOCTYPE", start):
        line = len(_LINE_END.findall(text, 0, start)) + 1
        raise _document_type(line)


def _document_type(line: int) -> ReadingRefused:
    message = "a document type could declare entities or name other files: remove <!DOCTYPE …>."
    return ReadingRefused("doctype_forbidden", line, message)


@dataclass(slots=True)
class _Open:
    """An element whose end has not been read yet."""

    name: str
    line: int
    attributes: tuple[tuple[str, str], ...]
    children: list[Element] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def closed(self) -> Element:
        return Element(
            self.name, self.line, self.attributes, tuple(self.children), "".join(self.text)
        )


class _Tree:
    """Collects what expat tells; holds the limits on depth and number."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._nodes = 0
        self._open = [_Open("", 0, ())]
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.ordered_attributes = True
        self.parser.XmlDeclHandler = self._declaration
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters

    def root(self) -> Element:
        return self._open[0].children[0]

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() not in _ACCEPTED[self._encoding]:
            self._refuse(
                "not_well_formed",
                f"the file is {self._encoding.upper()} and declares encoding {encoding!r}: "
                "save it as UTF-8 and declare that or nothing.",
            )

    def _doctype(self, *_: object) -> None:
        raise _document_type(self.parser.CurrentLineNumber)

    def _start(self, name: str, attributes: list[str]) -> None:
        pairs = tuple(zip(attributes[::2], attributes[1::2], strict=True))
        self._nodes += 1 + len(pairs)
        if len(self._open) > MAX_DEPTH:
            self._refuse("too_deep", f"elements nest deeper than {MAX_DEPTH}: split the file.")
        if self._nodes > MAX_NODES:
            message = f"there are more than {MAX_NODES} elements and attributes: split the file."
            self._refuse("too_large", message)
        self._open.append(_Open(name, self.parser.CurrentLineNumber, pairs))

    def _end(self, _name: str) -> None:
        closed = self._open.pop().closed()
        self._open[-1].children.append(closed)

    def _characters(self, text: str) -> None:
        self._open[-1].text.append(text)

    def _refuse(self, code: str, message: str) -> None:
        raise ReadingRefused(code, self.parser.CurrentLineNumber, message)
