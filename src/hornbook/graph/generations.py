"""Generations of the store on disk: one writer makes the next, every reader keeps its own.

```
store/
  CURRENT                 the name of the published generation, swapped atomically
  lock                    held by the one writer; the system lets go of it if the writer dies
  generations/<n>-<x>/    one generation; the name is never used again
    graph                 the Oxigraph store, never written again once it is published
    catalog               the catalog of that graph
    extracts              what it says of each document, ready to be read
    seal                  the sha256 of each of these files
    lock                  held shared by readers, so that nobody deletes it under them
```
A writer that is killed leaves a folder that was never published; the next writer removes it.

One writer, any number of readers, and nobody waits for a reader. The writer copies the published
generation (its large tables by hard links), changes the copy, and swaps CURRENT to its name: a
reader sees the old generation or the new one, never half of one. A reader takes the shared lock of
its generation before it reads and keeps it until it is done. Whoever prunes takes that lock for
itself without waiting, and if it gets it unlinks the lock file before it deletes the folder. So a
reader that opened the lock file just before finds it without a name, and looks at CURRENT again.
"""

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import file_digest, sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import msgspec

from hornbook.disk import lock, locked, settle, settle_below, to_seconds, write_whole
from hornbook.errors import HornbookError, StoreError
from hornbook.rules.catalog import Catalog

if TYPE_CHECKING:
    from hornbook.graph.extracts import Extracts, ExtractWriter
    from hornbook.graph.oxigraph import OxigraphStore
    from hornbook.graph.store import PublishedGeneration
    from hornbook.vocabulary.names import Namespace

_NAME = re.compile(r"\d+-[0-9a-f]+")
_DECODER = msgspec.msgpack.Decoder(Catalog)
_ENCODER = msgspec.msgpack.Encoder()


class Generation:
    """A published state, open for reading until it is closed; its graph is opened when asked."""

    def __init__(self, name: str, folder: Path, catalog: Catalog, handle: int) -> None:
        self.name = name
        self.folder = folder
        self.catalog = catalog
        self._handle = handle
        self._opening = Lock()
        self._store: OxigraphStore | None = None
        self._extracts: Extracts | None = None

    def extracts(self) -> "Extracts | None":
        """What the graph says of the catalog's documents; a store of an older make has none."""
        from hornbook.graph.extracts import FOLDER, PLACES, Extracts  # noqa: PLC0415  # start-up

        place = self.folder / FOLDER
        if self._extracts is None and (place / PLACES).exists():
            self._extracts = Extracts(place)
        return self._extracts

    def open_store(self) -> "OxigraphStore":
        """The graph, read-only; opened once, by whoever asks it first.

        Raises:
            StoreError: It is damaged.
        """
        from hornbook.graph.oxigraph import OxigraphStore  # noqa: PLC0415  # start-up: `why` asks only the catalog

        with self._opening:
            if self._store is None:
                self._store = OxigraphStore.read_only(self.folder / "graph", self.catalog.names)
            return self._store

    def published_at(self) -> str:
        """When its catalog was written, just before it was published."""
        moment = (self.folder / "catalog").stat().st_mtime
        return to_seconds(datetime.fromtimestamp(moment, UTC))

    def close(self) -> None:
        """Stop reading; the generation may be deleted from now on."""
        if self._store is not None:
            self._store.release()
        if self._extracts is not None:
            self._extracts.close()
        os.close(self._handle)


@dataclass(frozen=True, slots=True)
class DraftGeneration:
    """The next generation while its writer fills it."""

    store: "OxigraphStore"
    folder: Path
    extracts: "ExtractWriter"
    base: Path | None
    owner: "Generations"

    def publish(self, catalog: Catalog) -> None:
        """Make it the generation that readers open from now on."""
        self.owner.publish(self, catalog)


class Generations:
    """The store folder of one workspace."""

    in_batches = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._pointer = folder / "CURRENT"
        self._generations = folder / "generations"
        self._decoded: tuple[str, Catalog] | None = None

    def open(self) -> Generation | None:
        """The published generation, or None when nothing was ever published.

        Raises:
            StoreError: It is there but damaged.
        """
        while (name := self.published()) is not None:
            place = self._generations / name
            try:
                handle = lock(place / "lock", shared=True, create=False)
            except FileNotFoundError:
                if name == self.published():
                    raise StoreError(
                        f"generation {name} of {self.folder} is missing: "
                        "run `hornbook ingest --rebuild`."
                    ) from None
                continue
            if handle is None:
                continue
            if os.fstat(handle).st_nlink:
                return self._read(name, handle)
            os.close(handle)  # the writer deleted this generation between our two looks
        return None

    def _read(self, name: str, handle: int) -> Generation:
        place = self._generations / name
        try:
            (place / "graph" / "CURRENT").stat()  # opened later, but missing is told now
            if self._decoded is None or self._decoded[0] != name:
                self._decoded = (name, _DECODER.decode((place / "catalog").read_bytes()))
            return Generation(name, place, self._decoded[1], handle)
        except (OSError, msgspec.MsgspecError) as problem:
            os.close(handle)
            raise _index_error(f"the index in {place}", problem) from problem

    @property
    def seen(self) -> Path:
        """The file that says which files the last ingest saw."""
        return self.folder / "seen"

    def last_catalog(self) -> Catalog | None:
        """The catalog of what is published, if there is one.

        Raises:
            StoreError: It is there but damaged.
        """
        generation = self.open()
        if generation is None:
            return None
        generation.close()
        return generation.catalog

    def release(self) -> None:
        """Nothing: there are no connections."""

    def keep_last_ingest(self, name: str) -> None:
        """Nothing: who ingests here also publishes here."""

    @contextlib.contextmanager
    def writing(self, waiting: Callable[[], None]) -> Iterator[None]:
        """Be the only writer; `waiting` is called once if another one has to finish first."""
        self._generations.mkdir(parents=True, exist_ok=True)
        with locked(self.folder / "lock", waiting):
            self._prune()
            yield

    def tidy(self) -> None:
        """Delete what nobody reads any longer, unless somebody writes, who does it as well."""
        try:
            handle = lock(self.folder / "lock", wait=False, create=False)
        except FileNotFoundError:
            return
        if handle is None:
            return
        try:
            self._prune()
        finally:
            os.close(handle)

    def draft(self, base: "PublishedGeneration | None", names: "Namespace") -> DraftGeneration:
        """The next generation, starting as a copy of `base`, or empty."""
        from hornbook.graph.extracts import FOLDER, ExtractWriter  # noqa: PLC0415  # start-up
        from hornbook.graph.oxigraph import OxigraphStore, copy_closed  # noqa: PLC0415  # start-up: only a writer needs it

        numbers = [place.name.partition("-")[0] for place in self._generations.iterdir()]
        number = max((int(each) for each in numbers if each.isdigit()), default=0) + 1
        folder = self._generations / f"{number}-{os.urandom(4).hex()}"
        folder.mkdir()
        (folder / "lock").touch()
        if not isinstance(base, Generation):
            base = None
            extracts = ExtractWriter(folder / FOLDER, None, (), names)
        else:
            copy_closed(base.folder / "graph", folder / "graph")
            ids = [entry.id for entry in base.catalog.entries]
            extracts = ExtractWriter(folder / FOLDER, base.folder / FOLDER, ids, names)
        store = OxigraphStore.writable(folder / "graph", names)
        before = None if base is None else base.folder
        return DraftGeneration(store, folder, extracts, before, self)

    def publish(self, draft: DraftGeneration, catalog: Catalog) -> None:
        """Make the draft the generation that readers open from now on."""
        draft.store.close()
        draft.extracts.finish([entry.id for entry in catalog.entries])
        write_whole(draft.folder / "catalog", _ENCODER.encode(catalog), durable=False)
        write_seal(draft.folder, draft.base)
        settle_below(draft.folder)
        settle(self._generations)
        if self._pointer.is_dir():
            shutil.rmtree(self._pointer)
        _write(self._pointer, draft.folder.name.encode())
        self._decoded = (draft.folder.name, catalog)
        self._prune()

    def folder_of(self, name: str) -> Path:
        """Where a generation lies."""
        return self._generations / name

    def ever_published(self) -> bool:
        """Whether readers have something to lose while the graph is built anew."""
        return self._published_or_none() is not None

    def open_last(self) -> Generation | None:
        """The same: only ingests of this workspace publish here.

        Raises:
            StoreError: As `open` does.
        """
        return self.open()

    def is_last(self, name: str) -> bool:
        """Whether a generation is the published one.

        Raises:
            StoreError: What is published cannot be told.
        """
        return name == self.published()

    def has_last_ingest(self) -> bool:
        """Whether something is published: only ingests of this workspace publish here."""
        return self.published() is not None

    def published(self) -> str | None:
        """The name of the generation that readers open, if there is one.

        Raises:
            StoreError: The pointer is there but names nothing: that is not the same as no rules.
        """
        try:
            name = self._pointer.read_text(encoding="ascii").strip()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, UnicodeDecodeError) as problem:
            raise _index_error(str(self._pointer), problem) from problem
        if not _NAME.fullmatch(name):
            raise _index_error(str(self._pointer), ValueError(f"it names {name!r}"))
        return name

    def _published_or_none(self) -> str | None:
        try:
            return self.published()
        except StoreError:
            return None

    def _prune(self) -> None:
        """Delete what is neither published nor being read. Only who holds the lock calls this."""
        published = self._published_or_none()
        for place in self._generations.iterdir():
            if place.name != published and _unread(place):
                shutil.rmtree(place, ignore_errors=True)


SEAL = "seal"
_DIGEST = 32
"""Bytes of its own hash, which stands before the others."""


def sealed_files(folder: Path) -> dict[str, Path]:
    """The files of a generation that never change, by their name below it."""
    found = {"catalog": folder / "catalog"}
    for part in ("extracts", "graph"):
        for path in sorted((folder / part).glob("*")):
            if path.name != "LOCK" and not path.name.startswith("LOG"):  # the store's own notes
                found[f"{part}/{path.name}"] = path
    return found


def write_seal(folder: Path, base: Path | None) -> None:
    """Write down the hash of each file; one that is shared with `base` was hashed before."""
    before = read_seal(base) or {} if base is not None else {}
    hashes = {}
    for name, path in sealed_files(folder).items():
        known = before.get(name)
        shared = known is not None and base is not None and _is_same(path, base / name)
        hashes[name] = str(known) if shared else hash_of(path)
    data = _ENCODER.encode(hashes)
    write_whole(folder / SEAL, sha256(data).digest() + data, durable=False)


def _is_same(path: Path, other: Path) -> bool:
    """Whether two names are one file; what somebody removed is none."""
    try:
        return path.samefile(other)
    except FileNotFoundError:
        return False


def read_seal(folder: Path) -> dict[str, str] | None:
    """The hash that each file of a generation was published with; None if none can be read."""
    try:
        data = (folder / SEAL).read_bytes()
        whole = data[:_DIGEST] == sha256(data[_DIGEST:]).digest()
        return msgspec.msgpack.decode(data[_DIGEST:], type=dict[str, str]) if whole else None
    except (OSError, msgspec.MsgspecError):
        return None


def hash_of(path: Path) -> str:
    """The sha256 of a file."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _unread(place: Path) -> bool:
    """Whether nobody reads a generation; then its lock is gone, so that nobody begins to."""
    try:
        handle = lock(place / "lock", wait=False, create=False)
    except OSError:
        return True
    if handle is None:
        return False
    (place / "lock").unlink(missing_ok=True)
    os.close(handle)
    return True


def _index_error(what: str, problem: Exception) -> HornbookError:
    from hornbook.graph.store import index_error  # noqa: PLC0415  # start-up: only where it fails

    return index_error(what, problem)


def _write(path: Path, data: bytes) -> None:
    """Write a file and have the disk keep it under its name."""
    write_whole(path, data)
    settle(path.parent)
