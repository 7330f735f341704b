"""The catalog: what is in the graph now, without the texts."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hornbook.rules.document import Include, Link, Pattern, Problem
from hornbook.vocabulary.terms import Activation, Category, Scope, Severity

if TYPE_CHECKING:
    from hornbook.vocabulary.names import Namespace


@dataclass(frozen=True, slots=True)
class Entry:
    """One current document's metadata: all that applicability, paging and reports need.

    `signature` stands for the predicates that the document itself carries in the graph (the
    catalog's `signatures` has their names), `triples` counts all statements of its named graph,
    chunks included. `wanted_id` is the id it would have if no document before it in path order
    had the same. `link` is the file that a link at `path` leads to, `includes` what is read with
    it, in order; with `only_includes` the file says nothing of its own. `inferred` names the fields
    that the document does not state itself.
    """

    id: str
    path: str
    sha256: str
    title: str
    category: Category
    activation: Activation
    severity: Severity
    scope: Scope
    tool: str
    summary: str
    tokens: int
    chunk_count: int
    triples: int
    wanted_id: str
    signature: str
    patterns: tuple[Pattern, ...] = ()
    domains: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    inferred: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    formerly: tuple[str, ...] = ()
    link: str = ""
    includes: tuple[Include, ...] = ()
    only_includes: bool = False
    problems: tuple[Problem, ...] = ()

    @property
    def text_and_place(self) -> tuple[str, str]:
        """What is equal for rules of which a review gets one: the text, and the folder."""
        return self.sha256, self.path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Revision:
    """One text that a document had: when it came (if an ingest saw that) and when it went."""

    id: str
    document_id: str
    sha256: str
    path: str
    began: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    derived_from: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Removed:
    """A document whose file is gone: its id stays, with its past."""

    id: str
    path: str
    at: str


@dataclass(frozen=True, slots=True)
class Catalog:
    """Every current document in id order, and the version of the graph that says so.

    `journal` is how much of the journal the graph contains, `lines` the hash over all of that,
    `chain` the hash over those of its events that make history, `roots` the folders and files that
    ingest was told to follow, `repository` and `base_iri` where its entities live.
    """

    version: str = ""
    fingerprint: str = ""
    journal: int = 0
    chain: str = ""
    lines: str = ""
    roots: tuple[str, ...] = ()
    signatures: dict[str, tuple[str, ...]] = field(default_factory=dict)
    entries: tuple[Entry, ...] = field(default=())
    removed: tuple[Removed, ...] = field(default=())
    repository: str = "_"
    base_iri: str = ""

    @property
    def names(self) -> "Namespace":
        """Where its entities live."""
        from hornbook.vocabulary.names import BASE, Namespace  # noqa: PLC0415  # start-up: `why` asks no graph

        return Namespace(self.repository, self.base_iri or BASE)
