"""A metadata block as values that know their lines."""

from dataclasses import dataclass, field

LARGEST = 64 * 1024
"""Characters; no real block comes near, and a larger one is prose or an attack."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """A key that stands twice in a block; the value on line `last` is the one kept."""

    key: str
    first: int
    last: int


@dataclass(slots=True)
class Block:
    """The keys of a metadata block: values, text as written, file lines of keys and list items."""

    values: dict[str, object] = field(default_factory=dict)
    raw: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    item_lines: dict[str, tuple[int, ...]] = field(default_factory=dict)
    repeated: list[Repeated] = field(default_factory=list)
    ignored: list[int] = field(default_factory=list)

    def open(self, key: str, line: int) -> None:
        """Note that `key` begins on `line`, and whether it was there before."""
        if key in self.lines:
            self.repeated.append(Repeated(key, self.lines[key], line))
            self.item_lines.pop(key, None)
        self.lines[key] = line


class Unreadable(Exception):
    """A strict reader gives up on a block: why, and on which file line."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


class NotMapping(Exception):
    """A block parses, but holds something other than keys and values."""
