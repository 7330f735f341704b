"""What every reader takes and gives."""

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from hornbook.rules.document import (
    Chunk,
    DecisionFacts,
    Document,
    Fact,
    Include,
    Link,
    Part,
    Pattern,
    Problem,
)
from hornbook.rules.metadata.frontmatter import Parts
from hornbook.vocabulary.terms import Activation, Category, Scope, Severity


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read: its path in the repository and its parts."""

    path: PurePosixPath
    parts: Parts


@dataclass(frozen=True, slots=True)
class ReadBinding:
    """How a document comes to bind files."""

    activation: Activation
    patterns: tuple[Pattern, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything that a document says about itself, before it has an id and chunks."""

    path: str
    tool: str
    desired_id: str
    title: str
    category: Category
    activation: Activation
    severity: Severity
    scope: Scope
    mime_type: str
    head: str
    body: str
    body_line: int
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
    problems: tuple[Problem, ...] = ()

    def document(
        self,
        *,
        document_id: str,
        sha256: str,
        chunks: tuple[Chunk, ...],
        tokens: int,
        links: tuple[Link, ...] | None = None,
        includes: tuple[Include, ...] = (),
        only_includes: bool = False,
        problems: tuple[Problem, ...] = (),
    ) -> Document:
        """Return the document with its id, chunks and resolved links; `problems` are added."""
        return Document(
            id=document_id,
            path=self.path,
            sha256=sha256,
            title=self.title,
            category=self.category,
            activation=self.activation,
            severity=self.severity,
            scope=self.scope,
            mime_type=self.mime_type,
            tool=self.tool,
            head=self.head,
            patterns=self.patterns,
            summary=self.summary,
            requirements=self.requirements,
            domains=self.domains,
            related_domains=self.related_domains,
            keywords=self.keywords,
            authority=self.authority,
            added_by=self.added_by,
            added_at=self.added_at,
            project=self.project,
            inferred=self.inferred,
            decision=self.decision,
            links=self.links if links is None else links,
            facts=self.facts,
            parts=self.parts,
            link=self.link,
            includes=includes,
            only_includes=only_includes,
            chunks=chunks,
            tokens=tokens,
            problems=(*self.problems, *problems),
        )


class Reader(Protocol):
    """Reads the files of one format."""

    @property
    def tool(self) -> str:
        """The name of the format."""

    def claims(self, path: PurePosixPath) -> bool:
        """Whether a file at this path, relative to the repository, is in the format."""

    def read(self, file: SourceFile) -> Reading:
        """Return what the file says; never raises."""
