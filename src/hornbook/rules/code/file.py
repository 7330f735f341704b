"""A source file as a reviewer sees it from afar: its signatures and what it imports."""

import re
from dataclasses import dataclass
from urllib.parse import unquote


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
    """The id of a source file: its path as it is, which only an IRI has to encode."""
    return f"code.file.{path}"


_ENCODED = re.compile(r"code\.file\.([^./]*)(\.rev\.[0-9a-f]+)?")


def unencoded_id(entity_id: str) -> str:
    """An id as it is now; journals of the first schema have the paths of source files encoded.

    Such an id has neither a dot nor a slash in its path, as every source file's own path has.
    """
    found = _ENCODED.fullmatch(entity_id)
    return code_id(unquote(found[1])) + (found[2] or "") if found else entity_id
