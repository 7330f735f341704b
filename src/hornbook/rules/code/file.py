"""A source file as a reviewer sees it from afar: its signatures and what it imports."""

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Signature:
    """The header of one declaration on one line; `depth` 0 stands in nothing else."""

    line: int
    depth: int
    text: str

    def as_text(self) -> str:
        """The signature as one text, from which `parse` gets it back."""
        return f"{self.line} {self.depth} {self.text}"

    @classmethod
    def parse(cls, text: str) -> "Signature":
        """The signature that `as_text` wrote."""
        line, depth, header = text.split(" ", 2)
        return cls(int(line), int(depth), header)


@dataclass(frozen=True, slots=True)
class CodeFile:
    """What could be read of one file.

    `language` is empty where it is not known. `imports` are references as the language writes
    them (`a.b.c`, `.sibling`, `./x.js`, `crate::a::B`), each once, in file order. `problem` says
    why something may be missing.
    """

    path: str
    language: str
    sha256: str
    signatures: tuple[Signature, ...] = ()
    imports: tuple[str, ...] = ()
    problem: str | None = None


def code_id(path: str) -> str:
    """The id of a source file: its path with everything but letters and digits encoded."""
    return "code.file." + quote(path, safe="").replace(".", "%2E")
