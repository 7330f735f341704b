"""A repository with its settings and its graph: opened, ingested, and read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from hornbook.errors import NotFound
from hornbook.settings.load import Check, find_root, load
from hornbook.settings.places import Places
from hornbook.vocabulary.terms import Category

if TYPE_CHECKING:
    from hornbook.graph.catalog_view import CatalogView, ReserveReport
    from hornbook.graph.generations import Generation, Generations
    from hornbook.graph.ingest.report import HistoryLine, IngestReport, Progress
    from hornbook.graph.oxigraph import OxigraphStore
    from hornbook.graph.snapshot import Snapshot

# A report on fit samples at most so many files of a repository.
MOST_FILES = 20_000


def silent(_stage: str, _done: int, _total: int) -> None:
    """Report no progress."""


def _nobody() -> None:
    """Wait for another writer without telling anybody."""


class Repository:
    """One repository with its graph, whose newest state is opened when it is first asked for.

    It is what later rooms are handed; `Workspace` adds the questions that need those rooms.
    """

    def __init__(self, root: Path, *checks: Check) -> None:
        self.places = Places(root)
        self.settings = load(root, *checks)
        self._generation: Generation | None = None
        self._snapshot: Snapshot | None = None

    @cached_property
    def _generations(self) -> Generations:
        from hornbook.graph.generations import Generations  # noqa: PLC0415  # start-up

        return Generations(self.places.store)

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
        self._snapshot = None
        if self._generation is not None:
            self._generation.close()
            self._generation = None

    def tidy(self) -> None:
        """Delete past states of the index that nobody reads, as every ingest does."""
        self._generations.tidy()

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
        from hornbook.graph.ingest.ingestion import Ingestion  # noqa: PLC0415  # loads the parsers

        self.close()
        ingestion = Ingestion(self.places, self.settings, self._generations, progress)
        report = ingestion.run(paths, rebuild=rebuild, waiting=waiting)
        if not strict:
            return report
        from hornbook.graph.shapes import shape_problems  # noqa: PLC0415  # loads pyshacl

        snapshot = self.snapshot()
        return shape_problems(report, snapshot.store, snapshot.catalog, progress)

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
        """The rules as they were last published, without the graph behind them.

        Raises:
            NotFound: Nothing was ever ingested here, so that "no rule" would mean nothing.
            StoreError: The index on disk is damaged.
        """
        if self._snapshot is not None:
            return self.ingested()
        generation = self._opened()
        if generation is None:
            raise self._nothing_ingested()
        from hornbook.graph.catalog_view import CatalogView  # noqa: PLC0415  # start-up

        return CatalogView(generation.catalog, self.settings)

    def _opened(self) -> Generation | None:
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

    def ingested(self) -> Snapshot:
        """The graph, for answers that must not be given without one.

        Raises:
            NotFound: Nothing was ever ingested here, so that "no rule" would mean nothing.
        """
        snapshot = self.snapshot()
        if self._generation is None:
            raise self._nothing_ingested()
        return snapshot

    def _nothing_ingested(self) -> NotFound:
        return NotFound(f"nothing is ingested in {self.root} yet: run `hornbook ingest` first.")

    def refresh(self) -> Snapshot:
        """The newest published graph."""
        self.close()
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

    def _store(self) -> OxigraphStore:
        from hornbook.graph.oxigraph import OxigraphStore  # noqa: PLC0415  # start-up: loads the store

        store = self.snapshot().store
        if not isinstance(store, OxigraphStore):
            raise TypeError("SPARQL texts and exports need the embedded store")
        return store
