"""Generations in a store that others run: what `Generations` is for the embedded one.

```
store/
  lock                  held by the one writer of this workspace
  remote/<x>/           what this workspace knows of one repository in one store
    LAST                the generation that the last ingest here published
    <hash>/catalog      the catalog of a generation; it is also made from the store, only slower
    <hash>/members      what its manifest lists
    seen                the files as the last ingest into this store saw them
    replica/            the published generation in an embedded store, for free SPARQL and exports
```
"""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import msgspec

from hornbook.disk import locked, write_whole
from hornbook.errors import RemoteStoreFailed
from hornbook.graph import documents
from hornbook.graph.remote.books import Books, new_writer
from hornbook.graph.remote.endpoint import KEPT, Endpoint
from hornbook.graph.remote.manifest import Manifest
from hornbook.graph.remote.store import RemoteStore
from hornbook.graph.remote.upload import UploadingStore, only_read
from hornbook.graph.statements import iri
from hornbook.rules.catalog import Catalog
from hornbook.settings.surroundings import GraphSettings
from hornbook.vocabulary import predicates as p
from hornbook.vocabulary.names import Namespace

if TYPE_CHECKING:
    from hornbook.graph.store import PublishedGeneration

ATTEMPTS = 8
"""So often a writer that others were faster than tries again."""
SAYS_SO_EVERY = 20.0
REPLICA = "replica"
_DECODER = msgspec.msgpack.Decoder(Catalog)
_ENCODER = msgspec.msgpack.Encoder()


class RemoteGeneration:
    """A published state in the store, for any number of threads."""

    def __init__(
        self, name: str, catalog: Catalog, store: RemoteStore, folder: Path, books: Books
    ) -> None:
        self.name = name
        self._books = books
        self.catalog = catalog
        self.folder = folder
        self._store = store
        self._reading = Lock()
        self._manifest: Manifest | None = None

    def extracts(self) -> None:
        """Nothing is kept beside a remote store: it is asked."""

    def open_store(self) -> RemoteStore:
        """The graph, read-only."""
        return self._store

    def manifest(self) -> Manifest:
        """What the generation lists.

        Raises:
            RemoteStoreFailed: The store is away, or lost some of it.
        """
        with self._reading:
            if self._manifest is None:
                self._manifest = self._kept() or self._store.manifest()
            return self._manifest

    def _kept(self) -> Manifest | None:
        """What this workspace wrote down, if that is what the generation's name vouches for."""
        with suppress(OSError, msgspec.MsgspecError):
            data = (self.folder / "members").read_bytes()
            members = msgspec.msgpack.decode(data, type=dict[str, str])
            manifest = Manifest(self._store.names, members)
            if manifest.root.hash == self.name:
                return manifest
        return None

    def published_at(self) -> str:
        """Since when it is published, by the store's clock; "" if it is not any more."""
        return self._books.published_at(self.name)

    def close(self) -> None:
        """Stop reading; nothing is held."""


@dataclass(frozen=True, slots=True)
class RemoteDraft:
    """The next generation while its writer sends it."""

    store: UploadingStore
    folder: Path
    writer: str
    owner: "RemoteGenerations"
    extracts: None = None

    def publish(self, catalog: Catalog) -> None:
        """Make it the generation that readers ask from now on."""
        self.owner.publish(self, catalog)


class RemoteGenerations:
    """The generations of one repository in one store."""

    in_batches = False
    """A generation is published whole: half of an ingest would be seen by everybody."""

    def __init__(self, folder: Path, settings: GraphSettings, names: Namespace) -> None:
        self.endpoint = Endpoint(settings)
        self._names = names
        self._index = folder
        key = sha256(f"{self.endpoint.url} {names.store_graph}".encode()).hexdigest()[:16]
        self.folder = folder / "remote" / key
        self._read_only = settings.read_only
        self.books = Books(self.endpoint, names, settings.keep_minutes)

    def published(self) -> str | None:
        """The name of the generation that readers ask, if there is one.

        Raises:
            RemoteStoreFailed: The store is away or answers wrongly.
        """
        return self.books.published()

    def ever_published(self) -> bool:
        """Whether readers have something to lose while the graph is built anew."""
        return self.published() is not None

    def has_last_ingest(self) -> bool:
        """Whether what is published is what the last ingest of this workspace left.

        Raises:
            RemoteStoreFailed: The store is away or answers wrongly.
        """
        last = self._last()
        return last is not None and last == self.published()

    def last_catalog(self) -> Catalog | None:
        """What the last ingest of this workspace left, if that is known here; nobody is asked."""
        last = self._last()
        return self._catalog(last) if last is not None else None

    def open(self) -> RemoteGeneration | None:
        """The published generation, or None when nothing was ever published.

        Raises:
            RemoteStoreFailed: The store is away or answers wrongly.
        """
        return self._open(self.published())

    def open_last(self) -> RemoteGeneration | None:
        """What the last ingest of this workspace left, whatever others published since.

        Raises:
            RemoteStoreFailed: The store is away or answers wrongly.
        """
        return self._open(self._last())

    def is_last(self, name: str) -> bool:
        """Whether a generation is what the last ingest of this workspace left; nobody is asked."""
        return name == self._last()

    def _open(self, name: str | None) -> RemoteGeneration | None:
        if name is None:
            return None
        store = RemoteStore(self.endpoint, self._names, name)
        catalog = self._catalog(name)
        if catalog is None:
            catalog = _catalog_of(store)
            with suppress(OSError):  # it is asked again next time
                self._keep(name, catalog, None)
        return RemoteGeneration(name, catalog, store, self.folder / name, self.books)

    @property
    def seen(self) -> Path:
        """The file that says which files the last ingest into this store saw."""
        return self.folder / "seen"

    def release(self) -> None:
        """Close the connections to the store."""
        self.endpoint.close()

    def keep_last_ingest(self, name: str) -> None:
        """Take note that this generation is what the last ingest of this workspace left."""
        if self._last() != name:
            write_whole(self.folder / "LAST", name.encode(), durable=False)

    @contextmanager
    def writing(self, waiting: Callable[[], None]) -> Iterator[None]:
        """Be the only writer of this workspace; those of others are met when the pointer moves."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self._index / "lock", waiting):
            yield

    def tidy(self) -> None:
        """Drop what nobody asks for any longer, in the store and here."""
        if self._read_only:
            return
        with suppress(RemoteStoreFailed):  # whoever publishes next does it as well
            self.books.sweep()

    def draft(self, base: "PublishedGeneration | None", names: Namespace) -> RemoteDraft:
        """The next generation, beginning with what `base` lists, or with nothing."""
        writer, said = new_writer(), [time.monotonic()]
        if not self._read_only:
            self.books.begin(writer)

        def at_work() -> None:
            if not self._read_only and time.monotonic() - said[0] > SAYS_SO_EVERY:
                said[0] = time.monotonic()
                self.books.at_work(writer)

        before = store = None
        if isinstance(base, RemoteGeneration):
            before, store = base.manifest(), base.open_store()
            store.must_be_there()  # it was there before we said that we are at work
        uploading = UploadingStore(
            self.endpoint, store, before, names, at_work, read_only=self._read_only
        )
        return RemoteDraft(uploading, self.folder, writer, self)

    def publish(self, draft: RemoteDraft, catalog: Catalog) -> None:
        """Have the pointer name the draft's manifest, and read back that it does.

        A writer that was slower than another one tries again: its generation is made from its files
        and its history alone, and the other's stays for `keep_minutes`.

        Raises:
            RemoteStoreFailed: The store is away, answers wrongly, or others publish all the time.
        """
        manifest = draft.store.finish()
        name = manifest.root.hash
        self._keep(name, catalog, manifest)
        old = self.published()
        if self._read_only and old == name:
            self.keep_last_ingest(name)
            self._prune(name)
            return
        if self._read_only:
            raise only_read(self.endpoint.url, "what is published is another state")
        for _ in range(ATTEMPTS):
            now = self.books.switch(draft.writer, old, name)
            if now != name and self.books.was_struck_out(draft.writer, name):
                raise RemoteStoreFailed(
                    f"the graph store at {self.endpoint.url} heard nothing of this ingest for "
                    "`graph.keep_minutes`, so that another one took it for dead: run it again, "
                    f"or have that be longer. {KEPT}"
                )
            if now == name:
                self.keep_last_ingest(name)
                self._prune(name)
                self.tidy()
                return
            old = now
        raise RemoteStoreFailed(
            f"others published to the graph store at {self.endpoint.url} {ATTEMPTS} times while "
            f"this ingest tried to: run it again. {KEPT}"
        )

    def _last(self) -> str | None:
        try:
            return (self.folder / "LAST").read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError):
            return None

    def _catalog(self, name: str) -> Catalog | None:
        try:
            return _DECODER.decode((self.folder / name / "catalog").read_bytes())
        except (OSError, msgspec.MsgspecError):
            return None

    def _keep(self, name: str, catalog: Catalog, manifest: Manifest | None) -> None:
        place = self.folder / name
        write_whole(place / "catalog", _ENCODER.encode(catalog), durable=False)
        if manifest is not None:
            write_whole(place / "members", _ENCODER.encode(dict(manifest.members)), durable=False)

    def _prune(self, published: str) -> None:
        """Forget generations that are not published; whoever reads one has it in memory."""
        for place in self.folder.iterdir():
            if place.is_dir() and place.name not in {published, REPLICA}:
                shutil.rmtree(place, ignore_errors=True)


def _catalog_of(store: RemoteStore) -> Catalog:
    """The catalog of a generation that another workspace published, as its graph has it."""
    found = documents.catalog(store)
    rows = store.rows("meta", graph=iri(store.names.meta_graph))
    version = next((value for name, value in rows if name == p.STORE_VERSION.name), "")
    return replace(found, version=version)
