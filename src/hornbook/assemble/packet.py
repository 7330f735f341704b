"""Lays units out as one prompt and knows where every byte of it came from."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from hornbook.model.context import Item, Section, Unit

_BACKTICKS = re.compile(r"`+")

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Part:
    """A section before it is laid out: `empty` is said in the place of units.

    Units that are `quoted` stand between marks with their id and hash, so that no text in them
    can pass for a section of the prompt.
    """

    name: str
    heading: str
    units: tuple[Unit, ...]
    budget: int
    empty: str = ""
    quoted: bool = True

    @property
    def pieces(self) -> list[tuple[str, Unit | None]]:
        """The texts of the section in order; those without a unit are frame."""
        said = f"# {self.heading}\n\n" + ("" if self.units else f"{self.empty}\n\n")
        pieces: list[tuple[str, Unit | None]] = [(said, None)]
        for unit in self.units:
            mark = f"{unit.id} {unit.revision.rpartition('.')[2]}"
            end = "" if unit.text.endswith("\n") else "\n"
            if self.quoted:
                pieces.append((f"[begin {mark}]\n", None))
            pieces.append((unit.text, unit))
            pieces.append((f"{end}[end {mark}]\n\n" if self.quoted else f"{end}\n", None))
        return pieces

    @property
    def text(self) -> str:
        """The section as it stands in the prompt."""
        return "".join(text for text, _ in self.pieces)


def fenced(text: str, language: str) -> str:
    """A text as a code block that nothing in it can end."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}\n"


def lay_out(parts: Sequence[Part], count: Count) -> tuple[str, tuple[Section, ...]]:
    """The prompt, and for every section and unit its place, size and hash."""
    texts: list[str] = []
    sections: list[Section] = []
    offset = 0
    for part in parts:
        start = offset
        items: list[Item] = []
        for text, unit in part.pieces:
            data = text.encode()
            if unit is not None:
                items.append(
                    Item(
                        id=unit.id,
                        revision=unit.revision,
                        sha256=sha256(data).hexdigest(),
                        offset=offset,
                        length=len(data),
                        tokens=count(text),
                        severity=unit.severity,
                    )
                )
            texts.append(text)
            offset += len(data)
        sections.append(
            Section(
                name=part.name,
                tokens=sum(item.tokens for item in items),
                budget=part.budget,
                offset=start,
                length=offset - start,
                sha256=sha256(part.text.encode()).hexdigest(),
                items=tuple(items),
            )
        )
    return "".join(texts), tuple(sections)
