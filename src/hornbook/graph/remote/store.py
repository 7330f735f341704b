"""A generation in a store that others run, asked by named queries.

A query sees the graphs that the generation's manifest lists and no others, whatever is published
meanwhile. A generation that was dropped answers nothing, which would look like a graph without
rules: so no rows are believed only if the manifest is still there.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NoReturn

import pyoxigraph as ox

from hornbook.errors import RemoteStoreFailed
from hornbook.graph.remote.endpoint import KEPT, Endpoint, Term
from hornbook.graph.remote.manifest import (
    LAYOUT,
    PAGE_OF,
    STATE_OF,
    Manifest,
    digest,
    plain,
    through_manifest,
)
from hornbook.graph.store import NamedGraph, Rows, fill_in, parameters
from hornbook.vocabulary.names import ONTOLOGY, Namespace

AT_ONCE = 400
"""So many graphs are read in one request."""
_PREFIX = re.compile(r"(?<![\w.:<])([A-Za-z][\w.]*):(?=\w)")


class RemoteStore:
    """The graph of one published generation; it never changes."""

    def __init__(self, endpoint: Endpoint, names: Namespace, name: str) -> None:
        """`name` is the generation's hash."""
        self.names = names
        self._endpoint = endpoint
        self._name = name
        self._root = f"{names.generation_graph}@{name}"

    def rows(self, name: str, /, **terms: str) -> Rows:
        """The rows of a named query.

        Raises:
            RemoteStoreFailed: The store is away, answers wrongly, or dropped this generation.
        """
        if parameters(name) != terms.keys():
            raise KeyError(f"query {name!r} takes {sorted(parameters(name))}, not {sorted(terms)}")
        query = fill_in(_declared(name, self.names), {**terms, "manifest": f"<{self._root}>"})
        found = self._endpoint.select(query)
        if not found:
            self.must_be_there()
        return [tuple(map(self._text, row)) for row in found]

    def must_be_there(self) -> None:
        """Go on only if this generation was not dropped.

        Raises:
            RemoteStoreFailed: It was.
        """
        if not self._endpoint.ask(f"ASK {{ GRAPH <{self._root}> {{ ?page {PAGE_OF} ?books }} }}"):
            raise RemoteStoreFailed(
                f"generation {self._name[:12]} is no longer in the graph store at "
                f"{self._endpoint.url}: ask again, for the one that is published now; "
                "`graph.keep_minutes` says how long past ones stay."
            )

    def _text(self, term: Term) -> str:
        if isinstance(term, ox.NamedNode):
            return self.names.name_of(plain(term.value))
        return term.value if isinstance(term, ox.Literal) else ""

    def replace(self, graphs: Iterable[NamedGraph]) -> NoReturn:
        """Refuse: what is published never changes."""
        raise TypeError(f"generation {self._name} is published: {len(list(graphs))} graphs refused")

    def load(self, nquads: Path | bytes) -> NoReturn:
        """Refuse: what is published never changes."""
        raise TypeError(f"generation {self._name} is published: {nquads!r} refused")

    def statements(self, graph: str) -> list[str]:
        """The content of one named graph as `<s> <p> o` statements, sorted."""
        manifest = self.manifest()
        if graph not in manifest.members:
            return []
        return next(lines for _, lines in self.graphs(manifest, [graph]))

    def manifest(self) -> Manifest:
        """What this generation lists, which its own name vouches for.

        Raises:
            RemoteStoreFailed: The store lost or changed some of it.
        """
        query = (
            f"SELECT ?member ?of WHERE {{ GRAPH <{self._root}> {{ ?page {PAGE_OF} ?books }} "
            f"GRAPH ?page {{ ?member {STATE_OF} ?of }} }}"
        )
        members = {}
        for member, of in self._endpoint.select(query):
            if isinstance(member, ox.NamedNode) and isinstance(of, ox.NamedNode):
                members[of.value] = member.value.rpartition("@")[2]
        manifest = Manifest(self.names, members)
        if manifest.root.hash != self._name:
            self.must_be_there()
            raise RemoteStoreFailed(
                f"the manifest of generation {self._name[:12]} in the graph store at "
                f"{self._endpoint.url} is not what was published (layout {LAYOUT}, "
                f"{len(members)} graphs): run `hornbook ingest --rebuild`. {KEPT}"
            )
        return manifest

    def graphs(self, manifest: Manifest, wanted: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
        """Some graphs of the generation by what they are the state of, with their statements.

        Raises:
            RemoteStoreFailed: One is not what was published.
        """
        for start in range(0, len(wanted), AT_ONCE):
            part = wanted[start : start + AT_ONCE]
            found = read_graphs(self._endpoint, [f"{g}@{manifest.members[g]}" for g in part])
            for graph in part:
                lines = found.get(f"{graph}@{manifest.members[graph]}", [])
                if digest(lines) != manifest.members[graph]:
                    self.must_be_there()
                    raise RemoteStoreFailed(
                        f"<{graph}> in the graph store at {self._endpoint.url} is not what was "
                        f"published: run `hornbook ingest --rebuild`. {KEPT}"
                    )
                yield graph, lines

    def changed_graphs(self) -> Iterator[str]:
        """The graphs that the store does not hold as they were published.

        Raises:
            RemoteStoreFailed: The store is away, or the manifest itself is not what it was.
        """
        manifest = self.manifest()
        wanted = sorted(f"{graph}@{hashed}" for graph, hashed in manifest.members.items())
        for start in range(0, len(wanted), AT_ONCE):
            part = wanted[start : start + AT_ONCE]
            found = read_graphs(self._endpoint, part)
            yield from (
                graph for graph in part if digest(found.get(graph, [])) != graph.rpartition("@")[2]
            )
        self.must_be_there()

    def canonical(self) -> list[bytes]:
        """Every quad as a line of canonical N-Quads, sorted, without the ontology."""
        manifest = self.manifest()
        wanted = sorted(graph for graph in manifest.members if graph != ONTOLOGY)
        return sorted(
            f"{line} <{graph}> .".encode()
            for graph, lines in self.graphs(manifest, wanted)
            for line in lines
        )


def read_graphs(endpoint: Endpoint, graphs: Iterable[str]) -> dict[str, list[str]]:
    """The statements of some graphs by their names, each graph's sorted; missing ones are left out.

    Raises:
        RemoteStoreFailed: The store is away or answers wrongly.
    """
    values = " ".join(f"<{graph}>" for graph in graphs)
    query = f"SELECT ?g ?s ?p ?o WHERE {{ VALUES ?g {{ {values} }} GRAPH ?g {{ ?s ?p ?o }} }}"
    found: dict[str, list[str]] = {}
    for graph, subject, predicate, value in endpoint.select(query):
        if isinstance(graph, ox.NamedNode):
            found.setdefault(graph.value, []).append(f"{subject} {predicate} {value}")
    for lines in found.values():
        lines.sort()
    return found


@cache
def _declared(name: str, names: Namespace) -> str:
    """A named query through the manifest, with the prefixes that it uses."""
    query = through_manifest(name)
    used = sorted(set(_PREFIX.findall(query)) & names.prefixes.keys())
    return "".join(f"PREFIX {each}: <{names.prefixes[each]}>\n" for each in used) + query
