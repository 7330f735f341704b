"""The reviewed tree, as far as evidence needs it."""

from typing import Protocol


class Tree(Protocol):
    """The files of the reviewed commit."""

    def has(self, path: str) -> bool:
        """Whether the path is a regular file of the tree."""

    def lines(self, path: str) -> list[str]:
        """The lines of a file of the tree."""


def lines_of(text: str) -> list[str]:
    """A text's lines as git and editors count them: what ends a line is a line feed."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines
