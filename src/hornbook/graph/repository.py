"""A repository with its settings and its graph: opened, ingested, and read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from hornbook.disk import temporary_folder
from hornbook.errors import NotFound, StoreError
from hornbook.settings.load import Check, find_root, load
from hornbook.settings.places import Places, cache_folder, sweep_cache
from hornbook.vocabulary.terms import Category

if TYPE_CHECKING:
    from hornbook.graph.catalog_view import CatalogView, ReserveReport
    from hornbook.graph.ingest.report import HistoryLine, IngestReport, Progress
    from hornbook.graph.oxigraph import OxigraphStore
    from hornbook.graph.snapshot import Snapshot
    from hornbook.graph.store import GenerationStore, PublishedGeneration
    from hornbook.rules.catalog import Catalog
    from hornbook.rules.document import Problem
    from hornbook.settings.settings import Settings

# A report on fit samples at most so many files of a repository.
MOST_FILES = 20_000


# So many documents are named when they were read before an answer.
MOST_TOLD = 5


def silent(_stage: str, _done: int, _total: int) -> None:
    """Report no progress."""


WAITING = "another ingest is writing to this workspace; waiting for it to finish"


def _nobody_hears(_text: str) -> None:
    """Answer without a word about how."""


def _nobody() -> None:
    """Wait for another writer without telling anybody."""


def generation_store(places: Places, settings: Settings) -> GenerationStore:
    """Where the generations of a repository are published, as its settings say."""
    if settings.graph.is_remote:
        from hornbook.graph.ingest.ingestion import namespace  # noqa: PLC0415  # start-up
        from hornbook.graph.remote.generations import RemoteGenerations  # noqa: PLC0415  # start-up

        names = namespace(places.root, settings)
        return RemoteGenerations(places.store, settings.graph, names)
    from hornbook.graph.generations import Generations  # noqa: PLC0415  # start-up

    return Generations(places.store)


def last_catalog(places: Places, settings: Settings) -> Catalog | None:
    """What the last ingest here left, as far as this machine knows; a remote store is not asked.

    Raises:
        StoreError: The index on disk is damaged.
    """
    if not places.store.is_dir():
        return None
    return generation_store(places, settings).last_catalog()


class Repository:
    """One repository with its graph, whose newest state is opened when it is first asked for.

    It is what later rooms are handed; `Workspace` adds the questions that need those rooms.
    """

    def __init__(self, root: Path, *checks: Check) -> None:
        self.places = Places(root)
        self.settings = load(root, *checks)
        self._generation: PublishedGeneration | None = None
        self._snapshot: Snapshot | None = None
        self._stores: dict[Path, GenerationStore] = {}
        self._temporary = ExitStack()
        self._folder: Path | None = None
        self.tell: Callable[[str], None] = _nobody_hears
        """Hears, in a sentence, that files were read again before a question was answered."""
        self.follows_files = True
        """Whether questions about rules are answered from the files as they are now. Whoever shares
        a workspace between threads decides by itself when it is brought up to date."""

    @property
    def _generations(self) -> GenerationStore:
        store = self.places.store
        if store not in self._stores:
            self._stores[store] = generation_store(self.places, self.settings)
        return self._stores[store]

    @classmethod
    def open(cls, root: str | Path | None = None) -> Self:
        """The workspace at `root`, or the nearest one above the current folder.

        Raises:
            UsageError: The root is no folder, or its settings are wrong.
        """
        given = str(root) if root is not None else None
        return cls(find_root(given, os.environ.get("HORNBOOK_ROOT"), Path.cwd()))

    @property
    def root(self) -> Path:
        """The folder that all paths are relative to."""
        return self.places.root

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the graph."""
        self._let_go()
        self._temporary.close()
        for store in self._stores.values():
            store.release()
        self._folder = None
        self.places = Places(self.root)

    def _let_go(self) -> None:
        self._snapshot = None
        if self._generation is not None:
            self._generation.close()
            self._generation = None

    def tidy(self) -> None:
        """Delete past states of the index that nobody reads, as every ingest does."""
        self._generations.tidy()
        self._generations.release()

    def ingest(
        self,
        paths: Sequence[str | Path] = (),
        *,
        strict: bool = False,
        rebuild: bool = False,
        progress: Progress = silent,
        waiting: Callable[[], None] = _nobody,
    ) -> IngestReport:
        """Read documents into the graph: those that changed since the last time.

        With `strict` every document is also checked against the SHACL shapes.
        """
        self.close()
        report = self._ingest(paths, rebuild=rebuild, progress=progress, waiting=waiting)
        if not strict:
            return report
        from hornbook.graph.shapes import shape_problems  # noqa: PLC0415  # loads pyshacl

        snapshot = self.snapshot()
        return shape_problems(report, snapshot.store, snapshot.catalog, progress)

    def _ingest(
        self,
        paths: Sequence[str | Path] = (),
        *,
        rebuild: bool = False,
        progress: Progress = silent,
        waiting: Callable[[], None] = _nobody,
    ) -> IngestReport:
        from hornbook.graph.ingest.ingestion import Ingestion, namespace  # noqa: PLC0415  # loads the parsers

        self._let_go()
        names = namespace(self.root, self.settings)
        ingestion = Ingestion(self.places, self.settings, self._generations, progress, names)
        return ingestion.run(paths, rebuild=rebuild, waiting=waiting)

    def problems(self) -> list[Problem]:
        """What is wrong with what was read: with documents, and with files that became none.

        In the order of paths and lines. Nothing is read again for it.

        Raises:
            StoreError: The index on disk is damaged.
        """
        from hornbook.graph.ingest.survey import Survey  # noqa: PLC0415  # loads the parsers

        catalog = self.snapshot().catalog
        found = {each for entry in catalog.entries for each in entry.problems}
        if catalog.roots:
            found.update(Survey(self.places, self.settings).problems(catalog.roots))
        return sorted(found, key=lambda e: (e.path, e.line or 0, e.code, e.message))

    def bring_up_to_date(self) -> None:
        """Read what is new, changed or gone since the last ingest, so that no answer is old.

        The graph of a repository without `.hornbook/` lies in the user's cache folder, and so does
        that of one that cannot be written; where that is impossible too, it lasts until `close`.

        Raises:
            StoreError: The index on disk is damaged.
        """
        cache = cache_folder(self.root)
        candidates = [Places(self.root)] if (self.root / ".hornbook").is_dir() else []
        candidates += [Places(self.root, cache)] if cache is not None else []
        for places in candidates:
            with suppress(OSError):  # it cannot be kept there
                self._follow(places)
                return
        if self._folder is None:
            self._folder = self._temporary.enter_context(temporary_folder("index"))
        self._follow(Places(self.root, self._folder))

    def _follow(self, places: Places) -> None:
        """Have the graph that lies there say what the files say."""
        self.use(places)
        if not self.is_current():
            self._read_again()
        elif self._generation is not None and not self._generations.is_last(self._generation.name):
            self._let_go()
        # Others may have published since that was looked at: their files are not those here.
        if self._generation is None:
            self._generation = self._generations.open_last()

    def use(self, places: Places) -> None:
        """Keep and read the graph there."""
        if places != self.places:
            self._let_go()
            self.places = places

    def is_current(self) -> bool:
        """Whether the graph says what the files say now; no file is parsed for that.

        Raises:
            StoreError: What is published cannot be told.
        """
        from hornbook.graph.ingest.seen_files import load, save, seen_again  # noqa: PLC0415  # start-up

        if not self._generations.has_last_ingest():
            return False
        seen = load(self._generations.seen)
        again = seen_again(self.root, self.settings, seen)
        if again is not None and again is not seen:
            with suppress(OSError):
                save(self._generations.seen, again)
        return again is not None

    def _read_again(self) -> None:
        """Ingest, and tell of documents that changed; our own plans and records do all the time."""
        before = self._texts()
        report = self._ingest(waiting=lambda: self.tell(WAITING))
        self._generation = self._generations.open_last()
        if before is None:
            if self.places.aside is not None:
                sweep_cache(self.places.aside.parent)
            noun = "document" if report.documents == 1 else "documents"
            self.tell(f"nothing was ingested yet: read {report.documents} {noun}")
            return
        now = self._texts() or {}
        told = [
            f"{path} ({'new' if path not in before else 'changed' if path in now else 'gone'})"
            for path in sorted(before.keys() | now.keys())
            if before.get(path) != now.get(path)
        ]
        if told:
            more = f" and {len(told) - MOST_TOLD} more" if len(told) > MOST_TOLD else ""
            self.tell(f"read again since the last ingest: {', '.join(told[:MOST_TOLD])}{more}")

    def _texts(self) -> dict[str, str] | None:
        """The hash of every document by path; None where none can be read."""
        from hornbook.rules.discover import PLANS, RECORDS  # noqa: PLC0415  # start-up

        try:
            generation = self._opened()
        except StoreError:
            return None  # the ingest builds it anew
        if generation is None:
            return None
        entries = generation.catalog.entries
        return {e.path: e.sha256 for e in entries if not e.path.startswith((PLANS, RECORDS))}

    def snapshot(self) -> Snapshot:
        """The graph as it was last published; the same until `refresh` or `ingest`.

        Raises:
            StoreError: The index on disk is damaged.
        """
        if self._snapshot is None:
            from hornbook.graph.snapshot import Snapshot  # noqa: PLC0415  # start-up: `why` needs only the catalog

            generation = self._opened()
            if generation is None:
                self._snapshot = Snapshot.empty(self.settings)
            else:
                self._snapshot = Snapshot(
                    generation.open_store, generation.catalog, self.settings, generation.extracts()
                )
        return self._snapshot

    def _catalog_view(self) -> CatalogView:
        """The rules, read again where they changed, without the graph behind them.

        Raises:
            NotFound: As `ingested` says.
            StoreError: The index on disk is damaged.
        """
        if self.follows_files:
            self.bring_up_to_date()
        generation = self._opened()
        if generation is None:
            raise self._nothing_ingested()
        if self._snapshot is not None:
            return self._snapshot
        from hornbook.graph.catalog_view import CatalogView  # noqa: PLC0415  # start-up

        return CatalogView(generation.catalog, self.settings)

    def _opened(self) -> PublishedGeneration | None:
        """The generation that is read until `refresh` or `ingest`, if there is one."""
        if self._generation is None:
            self._generation = self._generations.open()
        return self._generation

    def is_outdated(self) -> bool:
        """Whether something was published since the snapshot was taken.

        A store that was deleted publishes nothing: what is open stays.

        Raises:
            StoreError: What is published cannot be told.
        """
        newest = self._generations.published()
        mine = self._generation.name if self._generation is not None else None
        return newest is not None and newest != mine

    def published(self) -> str:
        """The name of what is published now, whatever this workspace has open; "" if nothing is.

        Raises:
            StoreError: What is published cannot be told.
        """
        return self._generations.published() or ""

    def published_at(self) -> str:
        """When the graph that is open was published; "" if none was."""
        generation = self._opened()
        return "" if generation is None else generation.published_at()

    def ingested(self) -> Snapshot:
        """The graph, brought up to date, for answers that must not be given without one.

        Raises:
            NotFound: Files are not followed and nothing was ever ingested here, so that "no rule"
                would mean nothing.
        """
        if self.follows_files:
            self.bring_up_to_date()
        snapshot = self.snapshot()
        if self._generation is None:
            raise self._nothing_ingested()
        return snapshot

    def _nothing_ingested(self) -> NotFound:
        return NotFound(f"nothing is ingested in {self.root} yet: run `hornbook ingest` first.")

    def refresh(self) -> Snapshot:
        """The newest published graph."""
        self._let_go()
        return self.snapshot()

    def reserve_report(self) -> ReserveReport:
        """How the rules sit with the reserve, over the files of the repository."""
        from hornbook.rules.discover import FileKind, walk  # noqa: PLC0415  # start-up

        found = walk(self.root, "", lambda _path, _name: True)
        entries = self.snapshot().catalog.entries
        sources = {entry.path for entry in entries if entry.category is not Category.CODE}
        files = (each.path for each in found if each.kind is FileKind.FILE)
        paths = (path for path in files if path not in sources)
        return self.snapshot().reserve_report(islice(paths, MOST_FILES))

    def sparql(self, text: str, result_format: str | None = None) -> bytes:
        """The answer to a SPARQL query, read-only.

        Raises:
            BadQuery: It does not parse, writes, or reaches out.
        """
        from hornbook.graph.sparql import answer  # noqa: PLC0415  # start-up: loads the store

        return answer(self._store(), text, result_format)

    def export(self, export_format: str = "nquads") -> bytes:
        """The whole graph in canonical order."""
        from hornbook.graph.export import export  # noqa: PLC0415  # start-up: loads the store

        return export(self._store(), export_format)

    def history(self, document_id: str) -> list[HistoryLine]:
        """What happened to a document, oldest first.

        Raises:
            NotFound: Nothing ever had this id.
        """
        from hornbook.graph.ingest.history import document_history  # noqa: PLC0415  # start-up

        return document_history(self.places.journal, document_id)

    def text_of(self, sha256: str) -> bytes:
        """A text that a document has or had.

        Raises:
            NotFound: It was never ingested here.
        """
        from hornbook.graph.ingest.history import Objects  # noqa: PLC0415  # start-up

        return Objects(self.places.objects).read(sha256)

    def replica(self) -> Path:
        """The folder with a graph that free SPARQL can be asked of, as it was last published.

        It is the store itself, or a copy of what a store that others run has published now.

        Raises:
            RemoteStoreFailed: The store is away, or answers wrongly.
        """
        if not self.settings.graph.is_remote:
            return self.places.store
        from hornbook.graph.remote.replica import bring_up_to_date  # noqa: PLC0415  # start-up

        return bring_up_to_date(self._generations)

    def _store(self) -> OxigraphStore:
        from hornbook.graph.oxigraph import OxigraphStore  # noqa: PLC0415  # start-up: loads the store

        store = self.snapshot().store
        if isinstance(store, OxigraphStore):
            return store
        from hornbook.graph.generations import Generations  # noqa: PLC0415  # start-up

        copied = Generations(self.replica()).open()
        if copied is None:
            raise self._nothing_ingested()
        self._temporary.callback(copied.close)
        return copied.open_store()
