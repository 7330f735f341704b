"""A source document as values: what ingestion yields and the graph stores."""

from dataclasses import dataclass, field
from enum import StrEnum

from hornbook.vocabulary.terms import Activation, Category, Level, Scope, Severity


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with one document, with the line and the remedy in its message."""

    path: str
    line: int | None
    code: str
    level: Level
    message: str


@dataclass(frozen=True, slots=True)
class Pattern:
    """One glob in our dialect, the text it was read from and its line in the file.

    A leading `!` in `glob` excludes.
    """

    glob: str
    raw: str
    line: int | None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document's body: `start` and `end` are byte offsets in the file."""

    index: int
    section: str
    start: int
    end: int
    tokens: int
    content: str


@dataclass(frozen=True, slots=True)
class Link:
    """A reference to another document as it was written, and the id it resolves to, if any."""

    relation: str
    reference: str
    line: int | None
    target: str | None = None


class Unread(StrEnum):
    """Why something that a rule file leads to could not be read, or is no part of the rule."""

    BROKEN_LINK = "broken_link"
    BROKEN_INCLUDE = "broken_include"
    LFS_POINTER = "lfs_pointer"
    NOT_WRITTEN = "not_written"
    UNREADABLE_FILE = "unreadable_file"
    UNREADABLE_FOLDER = "unreadable_folder"
    PERSONAL = "personal"
    NOT_PROSE = "not_prose"

    @property
    def is_meant(self) -> bool:
        """Whether the rule is whole without it, by its tool's rules or ours."""
        return self in {Unread.PERSONAL, Unread.NOT_PROSE}


@dataclass(frozen=True, slots=True)
class Include:
    """A file whose text is part of a rule: where it lies, and which file includes it on what line.

    `id` is the document of it; one that could not be read has a reason instead. Where there are
    `globs`, it is part of the rule only for files that one of them fits.
    """

    path: str
    by: str
    line: int
    sha256: str = ""
    tokens: int = 0
    id: str = ""
    unread: Unread | None = None
    globs: tuple[str, ...] = ()


Fact = tuple[str, str]
"""A predicate's name and a value."""


@dataclass(frozen=True, slots=True)
class Part:
    """A thing that a record tells of with facts of its own, such as one finding of a review.

    `kind` is a name of `PART_KINDS`.
    """

    kind: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class DecisionFacts:
    """What a decision record says about itself."""

    status: str
    date: str | None = None
    deciders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """One source document, read whole: metadata, chunks that tile its body, problems.

    `head` is the text before the body (BOM and frontmatter), so head plus chunks is the file.
    `link` is the file that a link at `path` leads to, `includes` what the tool would read with it,
    in order; with `only_includes` it says nothing of its own.
    `inferred` names the fields that the document does not state itself; `facts` are statements
    of a record beyond what every document has, `parts` the things with facts of their own.
    """

    id: str
    path: str
    sha256: str
    title: str
    category: Category
    activation: Activation
    severity: Severity
    scope: Scope
    mime_type: str
    tool: str
    head: str = ""
    patterns: tuple[Pattern, ...] = ()
    summary: str = ""
    requirements: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    related_domains: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    authority: str | None = None
    added_by: str | None = None
    added_at: str | None = None
    project: str | None = None
    inferred: tuple[str, ...] = ()
    decision: DecisionFacts | None = None
    links: tuple[Link, ...] = ()
    facts: tuple[Fact, ...] = ()
    parts: tuple[Part, ...] = ()
    link: str = ""
    includes: tuple[Include, ...] = ()
    only_includes: bool = False
    chunks: tuple[Chunk, ...] = ()
    tokens: int = 0
    problems: tuple[Problem, ...] = field(default=())

    @property
    def body(self) -> str:
        """The document's text without frontmatter."""
        return "".join(chunk.content for chunk in self.chunks)

    @property
    def revision(self) -> str:
        """The id of this text: it never changes its meaning."""
        return revision_id(self.id, self.sha256)


def revision_id(document_id: str, sha256: str) -> str:
    """The id of the revision of a document that has this content hash."""
    return f"{document_id}.rev.{sha256[:12]}"


def chunk_id(document_id: str, index: int) -> str:
    """The id of a document's chunk; indexes start at 1."""
    return f"{document_id}.chunk.{index}"


def part_id(document_id: str, kind: str, number: int) -> str:
    """The id of a thing that a document is described with; numbers start at 1."""
    return f"{document_id}.{kind}.{number}"


class Problems:
    """The problems of the document at `path`, in the order they were met."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._found: list[Problem] = []

    def error(self, line: int | None, code: str, message: str) -> None:
        """Add a problem that keeps the document from being used as meant."""
        self._add(Level.ERROR, line, code, message)

    def warning(self, line: int | None, code: str, message: str) -> None:
        """Add a problem that somebody should look at."""
        self._add(Level.WARNING, line, code, message)

    def info(self, line: int | None, code: str, message: str) -> None:
        """Add a remark."""
        self._add(Level.INFO, line, code, message)

    def told(self) -> tuple[Problem, ...]:
        """Return every problem once, ordered by line."""
        return tuple(sorted(dict.fromkeys(self._found), key=lambda found: found.line or 0))

    def extend(self, problems: tuple[Problem, ...]) -> None:
        """Add problems that were found elsewhere in the same document."""
        self._found.extend(problems)

    def _add(self, level: Level, line: int | None, code: str, message: str) -> None:
        self._found.append(Problem(self.path, line, code, level, message))
