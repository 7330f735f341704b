"""Generations of the store on disk: one writer makes the next, every reader keeps its own.

```
store/
  CURRENT                 the name of the published generation, swapped atomically
  lock                    held by the one writer; the system lets go of it if the writer dies
  generations/<n>-<x>/    one generation; the name is never used again
    graph                 the Oxigraph store, never written again once it is published
    catalog               the catalog of that graph
    extracts              what it says of each document, ready to be read
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
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import msgspec

from hornbook.disk import lock, locked, settle, write_whole
from hornbook.errors import StoreError
from hornbook.rules.catalog import Catalog

if TYPE_CHECKING:
    from hornbook.graph.extracts import Extracts, ExtractWriter
    from hornbook.graph.oxigraph import OxigraphStore

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
                self._store = OxigraphStore.read_only(self.folder / "graph")
            return self._store

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


class Generations:
    """The store folder of one workspace."""

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
            raise StoreError(
                f"the index in {place} is damaged ({problem}): run `hornbook ingest --rebuild`."
            ) from problem

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

    def draft(self, base: Generation | None) -> DraftGeneration:
        """The next generation, starting as a copy of `base`, or empty."""
        from hornbook.graph.extracts import FOLDER, ExtractWriter  # noqa: PLC0415  # start-up
        from hornbook.graph.oxigraph import OxigraphStore, copy_closed  # noqa: PLC0415  # start-up: only a writer needs it

        numbers = [place.name.partition("-")[0] for place in self._generations.iterdir()]
        number = max((int(each) for each in numbers if each.isdigit()), default=0) + 1
        folder = self._generations / f"{number}-{os.urandom(4).hex()}"
        folder.mkdir()
        (folder / "lock").touch()
        if base is None:
            extracts = ExtractWriter(folder / FOLDER, None, ())
        else:
            copy_closed(base.folder / "graph", folder / "graph")
            ids = [entry.id for entry in base.catalog.entries]
            extracts = ExtractWriter(folder / FOLDER, base.folder / FOLDER, ids)
        return DraftGeneration(OxigraphStore.writable(folder / "graph"), folder, extracts)

    def publish(self, draft: DraftGeneration, catalog: Catalog) -> None:
        """Make the draft the generation that readers open from now on."""
        draft.store.close()
        draft.extracts.finish([entry.id for entry in catalog.entries])
        _write(draft.folder / "catalog", _ENCODER.encode(catalog))
        if self._pointer.is_dir():
            shutil.rmtree(self._pointer)
        _write(self._pointer, draft.folder.name.encode())
        self._decoded = (draft.folder.name, catalog)
        self._prune()

    def ever_published(self) -> bool:
        """Whether readers have something to lose while the graph is built anew."""
        return self._published_or_none() is not None

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
            raise self._damaged(problem) from problem
        if not _NAME.fullmatch(name):
            raise self._damaged(f"it names {name!r}")
        return name

    def _damaged(self, why: object) -> StoreError:
        return StoreError(f"{self._pointer} is damaged ({why}): run `hornbook ingest --rebuild`.")

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


def _write(path: Path, data: bytes) -> None:
    """Write a file and have the disk keep it under its name."""
    write_whole(path, data)
    settle(path.parent)
