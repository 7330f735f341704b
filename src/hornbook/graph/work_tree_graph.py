"""The graph of the files as they are, made for one question and kept nowhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hornbook.disk import temporary_folder
from hornbook.errors import StoreError
from hornbook.graph.generations import Generations
from hornbook.graph.ingest.ingestion import Ingestion
from hornbook.graph.repository import silent
from hornbook.graph.snapshot import Snapshot
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings
from hornbook.vocabulary.names import UNNAMED


@contextmanager
def work_tree_graph(root: Path, settings: Settings) -> Iterator[Snapshot]:
    """The graph of the rules as they stand, whatever was ingested; it ends with the block.

    Nothing is written into the repository.
    """
    with temporary_folder("work-tree") as folder:
        places = Places(root, folder)
        generations = Generations(places.store)
        ingestion = Ingestion(places, settings, generations, silent, UNNAMED)
        ingestion.run((), rebuild=False, waiting=_nobody_else)
        generation = generations.open()
        if generation is None:
            raise StoreError(f"nothing of {root} could be ingested into {folder}.")
        try:
            yield Snapshot(
                generation.open_store, generation.catalog, settings, generation.extracts()
            )
        finally:
            generation.close()


def _nobody_else() -> None:
    """There is no other writer: the folder is ours alone."""
