"""The books of a repository in a store that others run: what is published, who writes, what may go.

The one graph that ever changes. It says which generation is `current`; which ones are `retired`,
since when; and which writers are at work, since when they last said so. All times are the store's
own, so that no machine's clock counts.

A writer says that it is at work before it looks at what is there, and counts on nothing but what
its base lists or what it read back since. Whoever sweeps deletes only what no manifest lists, and
in the same update sees to it that no writer is at work. One that was silent for `keep_minutes` is
taken for dead: it is struck out before anything is deleted, and who is struck out cannot move the
pointer. The manifest of a generation goes first: from then on its readers are told, and none sees
half of it.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pyoxigraph as ox

from hornbook.disk import to_seconds
from hornbook.errors import RemoteStoreFailed
from hornbook.graph.remote.endpoint import KEPT, Endpoint
from hornbook.graph.remote.manifest import (
    CURRENT,
    LAID_OUT,
    MOMENT,
    PAGE_OF,
    RETIRED,
    SINCE,
    STARTED,
    STATE_OF,
    SWEEPING,
)
from hornbook.graph.remote.store import AT_ONCE
from hornbook.vocabulary.names import ONTOLOGY, Namespace

_UNLISTED_PAGE = f"FILTER NOT EXISTS {{ GRAPH ?root {{ ?g {PAGE_OF} ?books }} }}"
_UNLISTED_MEMBER = (
    f"FILTER NOT EXISTS {{ GRAPH ?page {{ ?g {STATE_OF} ?of }} "
    f"GRAPH ?root {{ ?page {PAGE_OF} ?books }} }}"
)
MINUTE = timedelta(minutes=1)
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class BookEntries:
    """What the books say at one moment, by the store's clock."""

    now: datetime
    current: tuple[str, ...] = ()
    retired: dict[str, datetime] = field(default_factory=dict)
    writers: dict[str, datetime] = field(default_factory=dict)
    sweeping: bool = False


class Books:
    """Reads and changes the books of one repository."""

    def __init__(self, endpoint: Endpoint, names: Namespace, keep_minutes: int) -> None:
        self._endpoint = endpoint
        self._names = names
        self._keep = keep_minutes * MINUTE
        self._books = f"<{names.store_graph}>"

    def published(self) -> str | None:
        """The hash of the generation that is published, if there is one.

        Raises:
            RemoteStoreFailed: The store is away, or the pointer names nothing that can be.
        """
        b = self._books
        rows = self._endpoint.select(f"SELECT ?now WHERE {{ GRAPH {b} {{ {b} {CURRENT} ?now }} }}")
        if not rows:
            return None
        found = [row[0].value for row in rows if isinstance(row[0], ox.NamedNode)]
        start = f"{self._names.generation_graph}@"
        name = found[0].removeprefix(start) if found else ""
        if len(rows) != 1 or not _HASH.fullmatch(name):
            raise RemoteStoreFailed(
                f"the graph store at {self._endpoint.url} says that {len(rows)} generations are "
                f"published ({', '.join(found)}): see what else writes to "
                f"{b}. {KEPT}"
            )
        return name

    def published_at(self, name: str) -> str:
        """Since when a generation is published; "" if another one is."""
        b = self._books
        rows = self._endpoint.select(
            f"SELECT ?at WHERE {{ GRAPH {b} {{ {b} {CURRENT} {self._root(name)} ; {SINCE} ?at }} }}"
        )
        found = [row[0].value for row in rows if isinstance(row[0], ox.Literal)]
        return to_seconds(_moment(found[0])) if found else ""

    def begin(self, writer: str) -> None:
        """Say that a writer begins now."""
        b = self._books
        self._endpoint.update(
            f"INSERT {{ GRAPH {b} {{ {self._writer(writer)} {STARTED} ?now }} }} "
            f"WHERE {{ BIND (NOW() AS ?now) }}"
        )

    def at_work(self, writer: str) -> None:
        """Say that a writer is still at work, unless it was struck out."""
        b, term = self._books, self._writer(writer)
        self._endpoint.update(
            f"DELETE {{ GRAPH {b} {{ {term} {STARTED} ?before }} }} "
            f"INSERT {{ GRAPH {b} {{ {term} {STARTED} ?now }} }} "
            f"WHERE {{ GRAPH {b} {{ {term} {STARTED} ?before }} BIND (NOW() AS ?now) }}"
        )

    def was_struck_out(self, writer: str, name: str) -> bool:
        """Whether a writer was taken for dead; one that published `name` is gone as well."""
        books = self.entries()
        root = f"{self._names.generation_graph}@{name}"
        published = root in books.current or root in books.retired
        return f"{self._names.store_graph}#{writer}" not in books.writers and not published

    def switch(self, writer: str, old: str | None, new: str) -> str | None:
        """Publish a generation in the place of another one; which one is published afterwards.

        Nothing happens if the other one is no longer published, or the writer was struck out.
        """
        b = self._books
        after, term = self._root(new), self._writer(writer)
        if old is None:
            before = f"FILTER NOT EXISTS {{ GRAPH {b} {{ {b} {CURRENT} ?any }} }}"
            removed, retired = "", ""
        else:
            before = f"GRAPH {b} {{ {b} {CURRENT} {self._root(old)} }}"
            removed = f"{b} {CURRENT} {self._root(old)} . "
            retired = f" . {self._root(old)} {RETIRED} ?now" if old != new else ""
        self._endpoint.update(
            f"DELETE {{ GRAPH {b} {{ {removed}{after} {RETIRED} ?since . "
            f"{b} {SINCE} ?then . {term} {STARTED} ?begun }} }} "
            f"INSERT {{ GRAPH {b} {{ {b} {CURRENT} {after} ; {SINCE} ?now{retired} }} }} "
            f"WHERE {{ {before} BIND (NOW() AS ?now) "
            f"OPTIONAL {{ GRAPH {b} {{ {b} {SINCE} ?then }} }} "
            f"OPTIONAL {{ GRAPH {b} {{ {after} {RETIRED} ?since }} }} "
            f"GRAPH {b} {{ {term} {STARTED} ?begun }} }}"
        )
        return self.published()

    def entries(self) -> BookEntries:
        """All that the books say."""
        b = self._books
        rows = self._endpoint.select(
            f"SELECT ?now ?s ?p ?o WHERE {{ BIND (NOW() AS ?now) "
            f"OPTIONAL {{ GRAPH {b} {{ ?s ?p ?o }} }} }}"
        )
        said: dict[str, dict[str, str]] = {}
        now = ""
        for moment, subject, predicate, value in rows:
            now = moment.value if isinstance(moment, ox.Literal) else ""
            if isinstance(subject, ox.NamedNode) and isinstance(value, ox.NamedNode | ox.Literal):
                said.setdefault(str(predicate), {})[subject.value] = value.value
        if not now:
            raise RemoteStoreFailed(
                f"the graph store at {self._endpoint.url} does not tell the time. {KEPT}"
            )
        return BookEntries(
            now=_moment(now),
            current=tuple(said.get(CURRENT, {}).values()),
            retired={root: _moment(at) for root, at in said.get(RETIRED, {}).items()},
            writers={each: _moment(at) for each, at in said.get(STARTED, {}).items()},
            sweeping=SWEEPING in said,
        )

    def sweep(self) -> int:
        """Drop what no generation lists any more; how many graphs, pages and manifests were."""
        books = self.entries()
        cutoff = books.now - self._keep
        if any(at > cutoff for at in books.writers.values()):
            return 0
        expired = [
            root for root, at in books.retired.items() if at <= cutoff and root not in books.current
        ]
        unfinished = books.sweeping or bool(books.writers)
        if not expired and not unfinished:
            return 0
        return _Sweep(self._endpoint, self._names, cutoff).run(expired, books, whole=unfinished)

    def _root(self, name: str) -> str:
        return f"<{self._names.generation_graph}@{name}>"

    def _writer(self, writer: str) -> str:
        return f"<{self._names.store_graph}#{writer}>"


class _Sweep:
    """One sweep: everything that is expired at `cutoff`, unless a writer begins meanwhile.

    What is to go is looked up first and then deleted by many updates. A writer may come and go in
    between, so that each update looks again: at writers, and at whether anything lists the graph.
    """

    def __init__(self, endpoint: Endpoint, names: Namespace, cutoff: datetime) -> None:
        self._endpoint = endpoint
        self._names = names
        self._books = f"<{names.store_graph}>"
        b = self._books
        self._cutoff = f'"{cutoff.isoformat().replace("+00:00", "Z")}"^^{MOMENT}'
        self._nobody = (
            f"FILTER NOT EXISTS {{ GRAPH {b} {{ ?writer {STARTED} ?at }} "
            f"FILTER (?at > {self._cutoff}) }}"
        )
        self._expired = (
            f"GRAPH {b} {{ ?g {RETIRED} ?since }} FILTER (?since <= {self._cutoff}) "
            f"FILTER NOT EXISTS {{ GRAPH {b} {{ {b} {CURRENT} ?g }} }}"
        )

    def run(self, expired: Sequence[str], books: BookEntries, *, whole: bool) -> int:
        """Drop some generations; with `whole` also what killed writers and sweeps left."""
        self._strike_out(books)
        pages = self._pages_of(expired)
        self._drop(expired, self._expired)
        if whole:
            self._retire_unlisted(books)
            pages |= self._all_pages()
        members = self._members_of(pages)
        if whole:
            members |= self._members_of_none()
        members = {each for each in members if not each.startswith(f"{ONTOLOGY}@")}
        self._drop(sorted(members), _UNLISTED_MEMBER)
        self._drop(sorted(pages), _UNLISTED_PAGE)
        b = self._books
        self._endpoint.update(
            f"DELETE {{ GRAPH {b} {{ {b} {SWEEPING} true }} }} WHERE {{ {self._nobody} }}"
        )
        return len(expired) + len(pages) + len(members)

    def _strike_out(self, books: BookEntries) -> None:
        """Have dead writers publish nothing any more, and say that somebody sweeps."""
        b = self._books
        dead = " ".join(f"<{each}>" for each in books.writers)
        known = f"VALUES ?dead {{ {dead} }} GRAPH {b} {{ ?dead {STARTED} ?then }}"
        self._endpoint.update(
            f"DELETE {{ GRAPH {b} {{ ?dead {STARTED} ?then }} }} "
            f"INSERT {{ GRAPH {b} {{ {b} {SWEEPING} true }} }} "
            f"WHERE {{ {self._nobody} OPTIONAL {{ {known} }} }}"
        )

    def _drop(self, graphs: Sequence[str], condition: str) -> None:
        """Empty those graphs for which the condition holds, and forget that they are retired."""
        b = self._books
        for start in range(0, len(graphs), AT_ONCE):
            values = " ".join(f"<{each}>" for each in graphs[start : start + AT_ONCE])
            self._endpoint.update(
                f"DELETE {{ GRAPH ?g {{ ?s ?p ?o }} GRAPH {b} {{ ?g {RETIRED} ?when }} }} WHERE {{ "
                f"{{ SELECT ?g WHERE {{ VALUES ?g {{ {values} }} {self._nobody} {condition} }} }} "
                f"OPTIONAL {{ GRAPH ?g {{ ?s ?p ?o }} }} "
                f"OPTIONAL {{ GRAPH {b} {{ ?g {RETIRED} ?when }} }} }}"
            )

    def _pages_of(self, roots: Sequence[str]) -> set[str]:
        """The pages that some manifests list and no others do."""
        if not roots:
            return set()
        b = self._books
        values = " ".join(f"<{each}>" for each in roots)
        others = ", ".join(f"<{each}>" for each in roots)
        return self._graphs(
            f"VALUES ?root {{ {values} }} GRAPH ?root {{ ?g {PAGE_OF} {b} }} "
            f"FILTER NOT EXISTS {{ GRAPH ?other {{ ?g {PAGE_OF} {b} }} "
            f"FILTER (?other NOT IN ({others})) }}"
        )

    def _all_pages(self) -> set[str]:
        """The pages of this repository that no manifest lists."""
        start = self._names.page_graph("")
        return self._graphs(
            f"GRAPH ?g {{ ?member {STATE_OF} ?of }} FILTER STRSTARTS(STR(?g), '{start}') "
            f"{_UNLISTED_PAGE}"
        )

    def _members_of(self, pages: Iterable[str]) -> set[str]:
        """The graphs that are listed by some pages and by none that a manifest lists."""
        dead, found = sorted(pages), set[str]()
        for start in range(0, len(dead), AT_ONCE):
            values = " ".join(f"<{each}>" for each in dead[start : start + AT_ONCE])
            found |= self._graphs(
                f"VALUES ?from {{ {values} }} GRAPH ?from {{ ?g {STATE_OF} ?state }} "
                f"{_UNLISTED_MEMBER}"
            )
        return found

    def _members_of_none(self) -> set[str]:
        """Graphs of this repository that no page lists: what killed writers sent."""
        known = self._graphs(f"GRAPH ?page {{ ?g {STATE_OF} ?of }}")
        there = self._graphs("GRAPH ?g {}")
        own = (self._names.page_graph(""), f"{self._names.generation_graph}@")
        return {
            each
            for each in there - known
            if "@" in each
            and self._names.document_path(each) is not None
            and not each.startswith(own)
        }

    def _retire_unlisted(self, books: BookEntries) -> None:
        """A manifest that was sent and never published is retired from now on."""
        b = self._books
        sent = self._graphs(f"GRAPH ?g {{ {b} {LAID_OUT} ?layout }}")
        for root in sorted(sent - set(books.current) - books.retired.keys()):
            self._endpoint.update(
                f"INSERT {{ GRAPH {b} {{ <{root}> {RETIRED} ?now }} }} "
                f"WHERE {{ BIND (NOW() AS ?now) {self._nobody} "
                f"FILTER NOT EXISTS {{ GRAPH {b} {{ {b} {CURRENT} <{root}> }} }} }}"
            )

    def _graphs(self, where: str) -> set[str]:
        rows = self._endpoint.select(f"SELECT DISTINCT ?g WHERE {{ {where} }}")
        return {row[0].value for row in rows if isinstance(row[0], ox.NamedNode)}


def new_writer() -> str:
    """A name that no other writer has."""
    return f"writer-{os.urandom(8).hex()}"


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
