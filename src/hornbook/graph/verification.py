"""Whether the index, the journal and the past texts are as they were written.

A generation is sealed with the hash of each of its files, its catalog holds a hash over all of the
journal that went into it, and a text lies under its own hash: so each vouches for another one. What
a crash may leave behind, an index that lacks the last lines of the journal, is told as well; the
next ingest mends it.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from hornbook.disk import FileFault
from hornbook.errors import HornbookError, RemoteStoreFailed, StoreError
from hornbook.graph.generations import SEAL, Generations, hash_of, read_seal
from hornbook.graph.ingest.history import Happened, Journal
from hornbook.graph.ingest.seen_files import read as read_seen
from hornbook.graph.remote.generations import RemoteGenerations
from hornbook.graph.repository import generation_store
from hornbook.rules.catalog import Catalog, Entry
from hornbook.rules.discover import RECORDS
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings

INGEST = "run `hornbook ingest`, which builds it anew from files and history."
REBUILD = "run `hornbook ingest --rebuild`, which builds it anew from files and history."
BACKUP = "restore it from a backup or another clone; else its text cannot be shown any more."
HISTORY = "restore the file from a backup; else `hornbook ingest` goes on without that history."
AS_IT_IS = "restore the file from a backup; else `hornbook ingest --rebuild` takes it as it is."
WITHOUT = (
    "restore the file from a backup; else remove the line and run `hornbook ingest`, which goes on "
    "without that piece of history."
)
LASTING = ("receipts/", "reviews/")


class IndexCheck:
    """Looks at every file of the index; `checked` is how many there were."""

    def __init__(self, places: Places, settings: Settings | None = None) -> None:
        """With settings, the graph lies where they say; without, it is embedded."""
        self._places = places
        self._settings = settings or Settings()
        self._journal = Journal(places.journal)
        self.checked = 0

    def faults(self) -> Iterator[FileFault]:
        """Everything that is not as it was written."""
        catalog = Catalog()
        generations = generation_store(self._places, self._settings)
        if isinstance(generations, RemoteGenerations):
            yield from self._remote(generations)
            return
        if not isinstance(generations, Generations):
            raise TypeError(f"{generations} is no store that can be checked")
        try:
            name = generations.published()
            if name is not None:
                yield from self._sealed(generations.folder_of(name))
            generation = generations.open()
        except HornbookError as problem:
            code = "index_damaged" if isinstance(problem, StoreError) else "index_unreadable"
            yield self._fault(code, self._places.store / "CURRENT", str(problem), REBUILD)
        else:
            if generation is None:
                yield from self._without_index()
            else:
                catalog = generation.catalog
                generation.close()
                yield from self._level(catalog)
                yield from self._seen(catalog, generations.seen)
        yield from self._texts()
        yield from self._lasting(catalog.entries)

    def _remote(self, generations: RemoteGenerations) -> Iterator[FileFault]:
        """The graph in a store that others run, held against the hashes in its own names."""
        entries: tuple[Entry, ...] = ()
        url = generations.endpoint.url
        try:
            generation = generations.open()
            if generation is None:
                yield from self._without_index()
            else:
                entries = generation.catalog.entries
                self.checked += len(generation.open_store().manifest().members)
                for graph in generation.open_store().changed_graphs():
                    told = f"<{graph}> does not hold what its name says"
                    yield FileFault("remote_graph_changed", url, told, REBUILD)
                if generations.has_last_ingest():
                    yield from self._level(generation.catalog)
                    yield from self._seen(generation.catalog, generations.seen)
        except RemoteStoreFailed as problem:
            remedy = "mend the store, then run `hornbook verify` again."
            yield FileFault("remote_store_failed", url, str(problem), remedy)
        finally:
            generations.release()
        yield from self._texts()
        yield from self._lasting(entries)

    def _without_index(self) -> Iterator[FileFault]:
        if self._journal.size():
            told = "is not there, although the journal says that documents were ingested"
            yield self._fault("index_missing", self._places.store / "CURRENT", told, INGEST)

    def _sealed(self, folder: Path) -> Iterator[FileFault]:
        seal = read_seal(folder)
        if seal is None:
            told = "is missing or damaged: whether the index is whole cannot be told"
            yield self._fault("index_unsealed", folder / SEAL, told, REBUILD)
            return
        for name, expected in sorted(seal.items()):
            self.checked += 1
            path = folder / name
            if not path.is_file():
                yield self._fault("index_file_missing", path, "is not there", REBUILD)
            elif hash_of(path) != expected:
                told = "is not what was published"
                yield self._fault("index_file_changed", path, told, REBUILD)

    def _level(self, catalog: Catalog) -> Iterator[FileFault]:
        """Whether the journal is the one that went into the index."""
        self.checked += 1
        path, size = self._places.journal, self._journal.size()
        if size < catalog.journal:
            told = f"has {size} bytes, of {catalog.journal} that are in the index"
            yield self._fault("journal_cut", path, told, HISTORY)
        elif self._journal.digest("", 0, catalog.journal) != catalog.lines:
            told = "has other lines than those that are in the index"
            yield self._fault("journal_changed", path, told, AS_IT_IS)
        elif size > catalog.journal:
            told = f"lacks the last {size - catalog.journal} bytes of the journal"
            yield self._fault("index_behind", self._places.store / "CURRENT", told, INGEST)

    def _seen(self, catalog: Catalog, path: Path) -> Iterator[FileFault]:
        self.checked += 1
        seen = read_seen(path)
        if seen is None:
            told = "is missing or not what was written"
            yield self._fault("seen_damaged", path, told, INGEST)
            return
        current = {entry.path: entry.sha256 for entry in catalog.entries}
        other = [
            path
            for path, facts in sorted(seen.files.items())
            if current.get(path, facts[3]) != facts[3]
        ]
        if other:
            told = f"is of another time than the index: {other[0]} had another text"
            yield self._fault("seen_outdated", path, told, INGEST)

    def _texts(self) -> Iterator[FileFault]:
        """Every text that the journal names is there, and each lies under its own hash."""
        try:
            named = {
                event.sha256: event
                for event in self._journal.read()
                if event.sha256 and event.event is not Happened.REMOVED and not event.large
            }
        except StoreError as problem:
            told = str(problem).removeprefix(f"{self._places.journal}, ").rpartition(": ")[0]
            yield self._fault("journal_damaged", self._places.journal, told, WITHOUT)
            named = {}
        if self._torn():
            told = "ends in the middle of a line"
            yield self._fault("journal_torn", self._places.journal, told, INGEST)
        there = set()
        for path in sorted(self._places.objects.glob("??/*")):
            self.checked += 1
            there.add(path.parent.name + path.name)
            if hash_of(path) != path.parent.name + path.name:
                yield self._fault("text_changed", path, "has another hash than its name", BACKUP)
        for digest, event in sorted(named.items()):
            if digest not in there:
                path = self._places.objects / digest[:2] / digest[2:]
                told = f"is not there: a text that {event.path} had at {event.at}"
                yield self._fault("text_missing", path, told, BACKUP)

    def _torn(self) -> bool:
        size = self._journal.size()
        if not size:
            return False
        with self._places.journal.open("rb") as file:
            file.seek(size - 1)
            return file.read() != b"\n"

    def _lasting(self, entries: Iterable[Entry]) -> Iterator[FileFault]:
        """Records that never change are there, as they were ingested."""
        for entry in entries:
            if not entry.path.startswith(RECORDS):
                continue
            if not entry.path.removeprefix(RECORDS).startswith(LASTING):
                continue
            path = self._places.root / entry.path
            restore = "restore it from git or from a backup."
            if not path.is_file():
                yield self._fault("record_missing", path, "is not there any more", restore)
            elif sha256(path.read_bytes()).hexdigest() != entry.sha256:
                told = "is not the record that was ingested"
                yield self._fault("record_changed", path, told, restore)

    def _fault(self, code: str, path: Path, message: str, remedy: str) -> FileFault:
        root = self._places.root
        shown = path.relative_to(root) if path.is_relative_to(root) else path
        return FileFault(code, str(shown), message, remedy)
