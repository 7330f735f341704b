"""How a generation is laid out in a store that others run: pure.

A store that speaks SPARQL can replace nothing under a reader and has no folder to swap, so nothing
in it is ever changed but one pointer:

```
…/graph/<repository>/<document>@<hash>      a document's state: one immutable graph a revision
…/history/<repository>/<document>@<hash>    its past, the same
…/graph/<repository>/_page/<n>@<hash>       a page: <graph@hash> state_of <graph> for each member
…/graph/<repository>/_generation@<hash>     the manifest: <page> page_of <books> for each page
…/graph/<repository>/_store                 the books: <books> current <manifest>, and who writes
```
A hash is the sha256 of the graph's statements, sorted. Equal content has an equal name, so what is
there need not be sent, a killed upload is simply sent again, and a manifest vouches for everything
below it. About as many pages as each has members: an edit makes one page and the manifest anew. Of
those, and of a document's past, only what differs is sent, since the store copies the rest itself.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256

import pyoxigraph as ox

from hornbook.graph.store import text
from hornbook.vocabulary.names import BASE, ONTOLOGY, Namespace

LAYOUT = 1
BOOKS = BASE + "store#"
STATE_OF, PAGE_OF, LAID_OUT, MEMBERS = (
    f"<{BOOKS}{name}>" for name in ("state_of", "page_of", "layout", "members")
)
CURRENT, SINCE, RETIRED, STARTED, SWEEPING = (
    f"<{BOOKS}{name}>" for name in ("current", "since", "retired", "started", "sweeping")
)
INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"
MOMENT = "<http://www.w3.org/2001/XMLSchema#dateTime>"
OWN = "own"
"""The bucket of what belongs to no document: what the store says of itself, and the ontology."""

_HASHED = re.compile(r"@[0-9a-f]{64}\Z")
_GRAPH = re.compile(r"GRAPH ([?$])(\w+)\s*\{")
# Written by us and by the store alike: what is neither escaped by a number nor typed, and plain
# integers and truth values.
_UNSURE = re.compile(r"\x7f|\\[u/]|\^\^")
_PLAIN_TYPED = re.compile(
    r'"(?:(?:0|-?[1-9]\d{0,17})"\^\^<http://www\.w3\.org/2001/XMLSchema#integer>'
    r'|(?:true|false)"\^\^<http://www\.w3\.org/2001/XMLSchema#boolean>)\Z'
)


def line_of(statement: str) -> str:
    """A statement as every store gives it back: one spelling for one meaning."""
    if not _UNSURE.search(statement):
        return statement
    start = statement.find('"')
    if start >= 0 and _PLAIN_TYPED.match(statement, start) and "\\" not in statement:
        return statement
    return _respelled(statement)


@lru_cache(maxsize=256)
def _respelled(statement: str) -> str:
    """A statement in the spelling of the embedded store, which keeps numbers and times by value."""
    store = ox.Store()
    store.load(f"{statement} .\n".encode(), format=ox.RdfFormat.N_TRIPLES)
    quad = next(iter(store))
    return f"{quad.subject} {quad.predicate} {quad.object}"


def digest(lines: Iterable[str]) -> str:
    """The name of a graph's content."""
    return sha256("\n".join(sorted(lines)).encode()).hexdigest()


def plain(graph: str) -> str:
    """What a graph is the state of: its name without the hash."""
    return graph[:-65] if _HASHED.search(graph) else graph


@dataclass(frozen=True, slots=True)
class StoredGraph:
    """An immutable graph: what it is a state of, its hash, and its statements."""

    of: str
    hash: str
    lines: tuple[str, ...]

    @property
    def iri(self) -> str:
        """Its name in the store."""
        return f"{self.of}@{self.hash}"


def stored(of: str, statements: Iterable[str]) -> StoredGraph:
    """The immutable graph of some statements."""
    lines = tuple(sorted(set(map(line_of, statements))))
    return StoredGraph(of, digest(lines), lines)


@dataclass(frozen=True)
class Manifest:
    """All graphs of a generation: the hash of each by what it is the state of."""

    names: Namespace
    members: Mapping[str, str]

    @cached_property
    def pages(self) -> dict[str, StoredGraph]:
        """The pages by their buckets."""
        many = 1
        while many * many < len(self.members):
            many *= 2
        buckets: dict[str, list[str]] = {}
        for graph, hashed in self.members.items():
            line = f"<{graph}@{hashed}> {STATE_OF} <{graph}>"
            buckets.setdefault(self._bucket(graph, many), []).append(line)
        return {
            bucket: stored(self.names.page_graph(bucket), lines)
            for bucket, lines in sorted(buckets.items())
        }

    @cached_property
    def root(self) -> StoredGraph:
        """The manifest itself."""
        books = f"<{self.names.store_graph}>"
        lines = [f"<{page.iri}> {PAGE_OF} {books}" for page in self.pages.values()]
        lines.append(f'{books} {LAID_OUT} "{LAYOUT}"^^{INTEGER}')
        lines.append(f'{books} {MEMBERS} "{len(self.members)}"^^{INTEGER}')
        return stored(self.names.generation_graph, lines)

    def _bucket(self, graph: str, many: int) -> str:
        if graph in {self.names.meta_graph, ONTOLOGY}:
            return OWN
        # A document's state and its past are in one page.
        document = self.names.document_path(graph) or graph
        number = int.from_bytes(sha256(document.encode()).digest()[:4], "big") % many
        return str(number)


def through_manifest(name: str) -> str:
    """A named query that sees only the graphs of one generation; `$manifest` stands for it.

    Behind each group of a graph stands that the graph is in a page, and the page in the manifest.
    A graph that is named is looked up by what it is the state of.
    """
    query, result, end = text(name), [], 0
    for number, found in enumerate(_GRAPH.finditer(query)):
        close = _end_of_group(query, found.end())
        graph = f"?{found[2]}" if found[1] == "?" else f"?of_{found[2]}"
        state = f"?state_{number}" if found[1] == "?" else f"${found[2]}"
        result.append(f"{query[end : found.start()]}GRAPH {graph} {{{query[found.end() : close]}")
        result.append(
            f" GRAPH ?page_{number} {{ {graph} {STATE_OF} {state} }}"
            f" GRAPH $manifest {{ ?page_{number} {PAGE_OF} ?books_{number} }}"
        )
        end = close
    return "".join(result) + query[end:]


def _end_of_group(query: str, start: int) -> int:
    depth = 1
    for place in range(start, len(query)):
        depth += (query[place] == "{") - (query[place] == "}")
        if not depth:
            return place + 1
    raise ValueError(f"a group is not closed in {query!r}")
