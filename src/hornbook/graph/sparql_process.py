"""SPARQL in processes of its own: a query that takes too long or too much is ended, not waited for.

Oxigraph cannot be told to stop. In a thread a runaway query would keep a core until it ends.
"""

import multiprocessing
import resource
import signal
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from hornbook.errors import BadQuery, HornbookError, StoreError, TooSlow
from hornbook.graph.generations import Generation, Generations
from hornbook.graph.oxigraph import OxigraphStore
from hornbook.graph.sparql import Dataset, Forms, SparqlLimits, respond

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

STARTING = 60.0


@dataclass(frozen=True, slots=True)
class Question:
    """A query, the form of its answer, and what it may look at."""

    text: str
    forms: Forms
    dataset: Dataset
    bounds: SparqlLimits


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer, its form and the version of the graph behind it, or an error."""

    data: bytes = b""
    form: str = ""
    version: str = ""
    error: HornbookError | None = None


class Asker:
    """Asks one process after another; each serves until it has to be ended. For one thread."""

    def __init__(self, megabytes: int) -> None:
        self._megabytes = megabytes
        self._process: SpawnProcess | None = None
        self._line: Connection | None = None

    def start(self) -> None:
        """Have a process ready before the first question.

        Raises:
            StoreError: It does not start.
        """
        self._ready()

    def ask(self, question: Question, folder: Path, seconds: float) -> Reply:
        """The answer to a question about the newest graph in a store's folder.

        Raises:
            TooSlow: The query was ended.
            HornbookError: As the query itself raises it.
        """
        line = self._ready()
        try:
            line.send((folder, question))
            if not line.poll(seconds):
                self.close()
                raise TooSlow(f"the query took more than {seconds:g} s: ask for less.")
            reply: Reply = line.recv()
        except (EOFError, OSError) as problem:
            self.close()
            raise TooSlow(
                f"the query needed more than {self._megabytes} MB, or its process died: "
                "ask for less."
            ) from problem
        if reply.error is not None:
            raise reply.error
        return reply

    def close(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
            self._process = None
        if self._line is not None:
            self._line.close()
            self._line = None

    def _ready(self) -> Connection:
        if self._line is None or self._process is None or not self._process.is_alive():
            self.close()
            context = multiprocessing.get_context("spawn")
            self._line, theirs = context.Pipe()
            self._process = context.Process(
                target=_serve, args=(theirs, self._megabytes), daemon=True
            )
            self._process.start()
            theirs.close()
            if not self._line.poll(STARTING) or self._line.recv() is not None:
                self.close()
                raise StoreError("the process that answers SPARQL does not start: see the log.")
        return self._line


def _serve(line: Connection, megabytes: int) -> None:
    """Answer questions until the other side is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit = megabytes * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    newest: _Newest | None = None
    line.send(None)
    while True:
        try:
            folder, question = line.recv()
        except EOFError:
            return
        if newest is None or newest.folder != folder:
            newest = _Newest(folder)
        line.send(_reply(newest, question))


def _reply(newest: "_Newest", question: Question) -> Reply:
    try:
        store, version = newest.store()
        found = respond(
            store,
            question.text,
            question.forms,
            dataset=question.dataset,
            bounds=question.bounds,
        )
        return Reply(found.data, found.form, version)
    except HornbookError as error:
        return Reply(error=error)
    except MemoryError:
        return Reply(error=TooSlow("the query needed too much memory: ask for less."))
    except RecursionError:
        return Reply(error=BadQuery("the query is nested too deep: make it flatter."))


class _Newest:
    """The published graph, opened again when another one is published."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._generations = Generations(folder)
        self._generation: Generation | None = None
        self._empty = OxigraphStore.in_memory()

    def store(self) -> tuple[OxigraphStore, str]:
        name = self._generations.published()
        if self._generation is not None and name not in {None, self._generation.name}:
            self._generation.close()
            self._generation = None
        if self._generation is None:
            self._generation = self._generations.open()
        if self._generation is None:
            return self._empty, ""
        return self._generation.open_store(), self._generation.catalog.version
