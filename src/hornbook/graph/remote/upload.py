"""Sends the graphs of the next generation, each read back before it counts."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path

from hornbook.errors import RemoteStoreFailed
from hornbook.graph.remote.endpoint import KEPT, Endpoint
from hornbook.graph.remote.manifest import Manifest, StoredGraph, digest, stored
from hornbook.graph.remote.store import AT_ONCE, RemoteStore, read_graphs
from hornbook.graph.store import NamedGraph, Rows
from hornbook.vocabulary.names import Namespace

CHARACTERS = 2_000_000
"""About so much is sent in one request."""


class UploadingStore:
    """The next generation while its writer fills it; it answers what the one before says.

    A graph that the base lists with the same hash is neither sent nor looked at. Of every other one
    it is read first what the store has under its name, so that nothing is sent that is there.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        base: RemoteStore | None,
        before: Manifest | None,
        names: Namespace,
        at_work: Callable[[], None],
        *,
        read_only: bool = False,
    ) -> None:
        """`before` is the manifest of `base`; `at_work` is called now and then, before sending.

        With `read_only` it is looked whether the store has it all, and nothing is sent.
        """
        self._read_only = read_only
        self.names = names
        self._endpoint = endpoint
        self._base = base
        self._before = before.members if before is not None else {}
        self._pages = before
        self._at_work = at_work
        self.members = dict(self._before)
        self._waiting: list[StoredGraph] = []
        self._size = 0

    def rows(self, name: str, /, **terms: str) -> Rows:
        """The rows of a named query, as the base answers it."""
        return [] if self._base is None else self._base.rows(name, **terms)

    def replace(self, graphs: Iterable[NamedGraph]) -> None:
        """Have some graphs hold these statements in the next generation."""
        for graph in graphs:
            if not graph.statements:
                self.members.pop(graph.iri, None)
                continue
            made = stored(graph.iri, graph.statements)
            self.members[graph.iri] = made.hash
            if self._before.get(graph.iri) != made.hash:
                self._waiting.append(made)
                self._size += sum(map(len, made.lines))
            if self._size > CHARACTERS or len(self._waiting) >= AT_ONCE:
                self.flush()

    def load(self, nquads: Path | bytes) -> None:
        """Take the quads of a file, in which each graph's stand together."""
        if isinstance(nquads, bytes):
            self._take(line for line in nquads.decode().split("\n") if line)
        else:
            with nquads.open(encoding="utf-8", newline="\n") as file:
                self._take(file)

    def _take(self, lines: Iterable[str]) -> None:
        for graph, group in groupby(lines, key=lambda line: line.rstrip("\n").rpartition(" <")[2]):
            statements = tuple(line.rpartition(" <")[0] for line in group)
            self.replace([NamedGraph(graph.removesuffix("> ."), statements)])

    def statements(self, graph: str) -> list[str]:
        """The content of one named graph, as the base has it."""
        return [] if self._base is None else self._base.statements(graph)

    def canonical(self) -> list[bytes]:
        """Every quad, as the base has it."""
        return [] if self._base is None else self._base.canonical()

    def flush(self) -> None:
        """Send what waits."""
        waiting, self._waiting, self._size = self._waiting, [], 0
        if waiting:
            self._at_work()
            self._send(waiting, self._pasts(waiting))

    def _pasts(self, graphs: Iterable[StoredGraph]) -> dict[str, StoredGraph]:
        """What the store has of the same documents' past, which only grows."""
        pasts = [each.of for each in graphs if each.of.startswith(self.names.histories)]
        known = {f"{of}@{self._before[of]}": of for of in pasts if of in self._before}
        if not known:
            return {}
        found = read_graphs(self._endpoint, known)
        return {known[iri]: stored(known[iri], lines) for iri, lines in found.items()}

    def finish(self) -> Manifest:
        """Send what waits, then the pages, then the manifest, which is returned.

        Raises:
            RemoteStoreFailed: The store is away, or does not hold what it was sent.
        """
        self.flush()
        manifest = Manifest(self.names, self.members)
        before = self._pages.pages if self._pages is not None else {}
        known = {page.iri for page in before.values()}
        pages = [page for page in manifest.pages.values() if page.iri not in known]
        for start in range(0, len(pages), AT_ONCE):
            self._send(pages[start : start + AT_ONCE], {page.of: page for page in before.values()})
        root = self._pages.root if self._pages is not None and self._base is not None else None
        self._send([manifest.root], {root.of: root} if root is not None else {})
        return manifest

    def _send(
        self, graphs: Sequence[StoredGraph], alike: dict[str, StoredGraph] | None = None
    ) -> None:
        """Have the store hold some graphs; `alike` are states that the store can begin with."""
        missing = self._different(graphs)
        updates = [_update(graph, (alike or {}).get(graph.of)) for graph in missing]
        if not updates:
            return
        if self._read_only:
            raise only_read(self._endpoint.url, f"<{missing[0].of}> is another there")
        self._endpoint.update(" ;\n".join(updates))
        mended = self._different(missing)
        for graph in mended:
            self._endpoint.put(graph.iri, graph.lines)  # what it holds cannot be added to
        wrong = self._different(mended)
        if wrong:
            raise RemoteStoreFailed(
                f"the graph store at {self._endpoint.url} does not hold what it was sent: "
                f"<{wrong[0].iri}> reads back otherwise than its {len(wrong[0].lines)} "
                f"statements, as do {len(wrong) - 1} more graphs. {KEPT}"
            )

    def _different(self, graphs: Sequence[StoredGraph]) -> list[StoredGraph]:
        """The graphs that the store does not hold as they are, by number and hash of statements."""
        if not graphs:
            return []
        found = read_graphs(self._endpoint, [graph.iri for graph in graphs])
        return [
            graph
            for graph in graphs
            if len(lines := found.get(graph.iri, [])) != len(graph.lines)
            or digest(lines) != graph.hash
        ]


def only_read(url: str, differs: str) -> RemoteStoreFailed:
    """What is told where the files are not those that are published, and may not be."""
    return RemoteStoreFailed(
        f"the graph store at {url} is only read here (`graph.read_only`), and holds another state "
        f"than the files: {differs}. Check out what was published, or have it published by "
        f"`hornbook ingest` where that is allowed. {KEPT}"
    )


def _update(graph: StoredGraph, before: StoredGraph | None) -> str:
    """The update that adds a graph; where it is much like another, only the difference is sent."""
    whole = f"INSERT DATA {{ GRAPH <{graph.iri}> {{ {' . '.join(graph.lines)} }} }}"
    if before is None:
        return whole
    gone = {line.partition(" ")[0] for line in set(before.lines) - set(graph.lines)}
    kept = {line for line in before.lines if line.partition(" ")[0] not in gone}
    added = [line for line in graph.lines if line not in kept]
    if len(gone) + len(added) > len(graph.lines) // 2:
        return whole
    without = f" FILTER (?s NOT IN ({', '.join(sorted(gone))}))" if gone else ""
    copied = (
        f"INSERT {{ GRAPH <{graph.iri}> {{ ?s ?p ?o }} }} "
        f"WHERE {{ GRAPH <{before.iri}> {{ ?s ?p ?o }}{without} }}"
    )
    if not added:
        return copied
    return f"{copied} ;\nINSERT DATA {{ GRAPH <{graph.iri}> {{ {' . '.join(added)} }} }}"
