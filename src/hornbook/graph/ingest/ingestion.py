"""One ingest from beginning to end: look, plan, write, publish."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path

from hornbook.commits import git
from hornbook.commits.repository_name import repository_name
from hornbook.disk import canonical_time
from hornbook.errors import StoreError, UsageError
from hornbook.graph.ingest.builder import Builder
from hornbook.graph.ingest.history import DocumentEvent, Happened, Journal, Objects
from hornbook.graph.ingest.publish import Publication, PublicationTools
from hornbook.graph.ingest.report import IngestReport, Progress
from hornbook.graph.ingest.seen_files import save
from hornbook.graph.ingest.survey import EVERY_RULE, Contents, Look, Readings, Survey, include
from hornbook.graph.ingest.work_list import (
    IngestWork,
    KnownDocument,
    LastIngest,
    recall_known,
    work_to_do,
)
from hornbook.graph.statements import SCHEMA
from hornbook.graph.store import GenerationStore, PublishedGeneration
from hornbook.rules.catalog import Catalog, Entry
from hornbook.rules.discover import FoundFile
from hornbook.rules.document import Problem
from hornbook.rules.document_reader import INCLUDED
from hornbook.rules.includes import Inclusion
from hornbook.rules.tool_setup import ToolSetup
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings
from hornbook.version import __version__
from hornbook.vocabulary.names import UNNAMED, Namespace
from hornbook.vocabulary.terms import Level

JOURNAL = ".hornbook/objects/journal.jsonl"


class Ingestion:
    """Brings the graph of one workspace up to date with its files."""

    def __init__(
        self,
        places: Places,
        settings: Settings,
        generations: GenerationStore,
        progress: Progress,
        names: Namespace,
    ) -> None:
        self._places = places
        self._settings = settings
        self._progress = progress
        self._generations = generations
        self._journal = Journal(places.journal)
        self._objects = Objects(places.objects)
        self._survey = Survey(places, settings, generations.seen)
        self._builder = Builder(settings)
        self._names = names
        self._fingerprint = fingerprint(settings, self._survey.setup, names)
        self._notices: list[Problem] = []

    def run(
        self, paths: Sequence[str | Path], *, rebuild: bool, waiting: Callable[[], None]
    ) -> IngestReport:
        """Ingest everything, or only the paths that were named.

        Raises:
            UsageError: A named path lies outside the root or never existed.
        """
        started = time.perf_counter()
        named = self._survey.relative(paths)
        self._places.prepare_index()
        with self._generations.writing(waiting):
            base = None if rebuild else self._base()
            try:
                report = self._from(base, named, rebuild=rebuild)
            except StoreError as problem:
                if base is None:
                    raise
                self._tell_rebuilt(problem)
                report = self._from(None, named, rebuild=True)
        return replace(report, seconds=round(time.perf_counter() - started, 3))

    def _from(
        self, base: PublishedGeneration | None, named: list[str], *, rebuild: bool
    ) -> IngestReport:
        try:
            known = recall_known(base, self._journal)
            return self._bring_up_to_date(known, named, rebuild=rebuild)
        finally:
            if base is not None:
                base.close()

    def _tell_rebuilt(self, problem: StoreError) -> None:
        message = f"was damaged and is built anew: {problem}"
        self._notices.append(
            Problem(".hornbook/store", None, "index_rebuilt", Level.WARNING, message)
        )

    def _base(self) -> PublishedGeneration | None:
        """The generation to start from; None when it is of another make or damaged."""
        try:
            base = self._generations.open()
        except StoreError as problem:
            self._tell_rebuilt(problem)
            return None
        if base is None:
            return None
        whole_journal = self._journal.size() >= base.catalog.journal
        if whole_journal and base.catalog.fingerprint == self._fingerprint:
            return base
        base.close()
        if not whole_journal:
            message = "lost lines that the graph had: past revisions before now are forgotten."
            self._notices.append(Problem(JOURNAL, None, "history_lost", Level.WARNING, message))
        return None

    def _bring_up_to_date(
        self, known: LastIngest, named: list[str], *, rebuild: bool
    ) -> IngestReport:
        wanted = named or ([] if rebuild and known.roots else [EVERY_RULE])
        fresh = [path for path in wanted if path not in known.roots]
        roots = [*known.roots, *fresh]
        around = self._survey.around(roots)
        look = self._look(known, named, roots)
        inclusions = self._include(known, look)
        at = _now()
        followed = [DocumentEvent(Happened.FOLLOWED, path, at) for path in fresh]
        rewrite = known.base is None
        hashes = {
            each.path: each.sha256
            for each in known.documents.values()
            if each.entry and _read_alike(each.entry, look.files.get(each.path))
        }
        setup = self._survey.setup
        readings = Readings(self._places.root, self._settings, self._objects, setup, look.files)
        contents = self._survey.read(look, hashes, readings.note, self._progress)
        untouched = self._untouched(known, look, contents)
        renamed = partial(_renames, self._places.root)
        todo = work_to_do(known, readings.facts, untouched, renamed, inclusions)
        if todo.work or todo.gone or followed or known.stale or rewrite:
            tools = PublicationTools(
                self._generations,
                self._journal,
                self._objects,
                self._builder,
                self._progress,
                self._names,
            )
            commit = Publication(tools, known, readings, self._fingerprint, at)
            catalog = commit.publish(todo, followed)
        else:
            assert known.base is not None  # noqa: S101  # rewrite would be true
            catalog = known.base.catalog
            self._generations.keep_last_ingest(known.base.name)
        self._objects.settle()
        save(self._generations.seen, self._survey.seen(around, look, contents))
        return self._report(catalog, todo, [*look.problems, *contents.problems])

    def _look(self, known: LastIngest, named: list[str], roots: list[str]) -> Look:
        """Everything that is followed when the graph starts anew, else what was named."""
        for path in named:
            if not (self._places.root / path).exists() and not _was_known(known, path):
                raise UsageError(f"{path} does not exist in {self._places.root}: check the path.")
        if named and known.base is not None:
            return self._survey.only(named)
        return self._survey.everything(roots)

    def _include(self, known: LastIngest, look: Look) -> dict[str, Inclusion]:
        """What the rules include; the look has the files that are read only because of that."""
        beyond: dict[str, str] = {}
        sizes: dict[str, int] = {}
        for each in known.documents.values():
            entry = each.entry
            if entry is not None:
                sizes |= {include.sha256: include.tokens for include in entry.includes}
                if entry.tool != INCLUDED and not look.covers(each.path):
                    beyond[each.path] = entry.link or each.path
        return include(self._places.root, self._settings, look, beyond, sizes)

    def _untouched(self, known: LastIngest, look: Look, contents: Contents) -> list[KnownDocument]:
        """Documents whose file is as it was, or was not looked at."""
        return [
            each
            for each in known.documents.values()
            if each.path not in contents.read
            and (each.path in contents.digests or not _looked_for(each, look))
        ]

    def _report(self, catalog: Catalog, todo: IngestWork, problems: list[Problem]) -> IngestReport:
        found = [*self._notices, *problems]
        for entry in catalog.entries:
            found += entry.problems
        return IngestReport(
            added=todo.count(Happened.ADDED),
            changed=todo.count(Happened.CHANGED),
            removed=len(todo.gone),
            unchanged=todo.unchanged,
            documents=len(catalog.entries),
            chunks=sum(entry.chunk_count for entry in catalog.entries),
            triples=sum(entry.triples for entry in catalog.entries),
            problems=tuple(sorted(found, key=lambda each: (each.path, each.line or 0, each.code))),
            seconds=0.0,
        )


def namespace(root: Path, settings: Settings) -> Namespace:
    """Where the entities of a repository live; a folder that has no name lives apart from all."""
    try:
        name = repository_name(root, settings.repository)
    except UsageError:
        name = UNNAMED.repository
    return Namespace(name, settings.base_iri)


def fingerprint(settings: Settings, setup: ToolSetup, names: Namespace) -> str:
    """What, beside the files, decides what the graph says: another one means to build anew."""
    parts = (
        __version__,
        SCHEMA,
        settings.counter,
        settings.chunk_target,
        settings.chunk_maximum,
        settings.chunk_minimum,
        settings.largest_file,
        setup.key(),
        settings.review.section_tokens,
        names.entities,
    )
    return sha256(repr(parts).encode()).hexdigest()


def _looked_for(document: KnownDocument, look: Look) -> bool:
    """Whether the look would have found the document's file if it were still a source."""
    included = document.entry is not None and document.entry.tool == INCLUDED
    return included or look.covers(document.path)


def _read_alike(entry: Entry, found: FoundFile | None) -> bool:
    """Whether a file would be read as it was last time if its text is the same."""
    if found is None:
        return True
    return (entry.link, entry.tool == INCLUDED) == (found.target, found.included)


def _was_known(known: LastIngest, path: str) -> bool:
    return any(
        each.path == path or each.path.startswith(path + "/") for each in known.documents.values()
    )


def _now() -> str:
    return canonical_time(datetime.now(UTC))


_RENAMES_SEEN = 200
"""How many of the newest commits are looked through for files that were renamed."""


def _renames(root: Path) -> dict[str, str]:
    """New path to old path, for renames in the work tree and in the newest commits."""
    found: dict[str, str] = {}
    history = ("log", f"-n{_RENAMES_SEEN}", "--format=", "--relative")
    for arguments in (history, ("diff", "HEAD", "--relative")):
        try:
            answer = git.run(root, *arguments, "-M", "-z", "--name-status", "--diff-filter=R")
        except FileNotFoundError:
            return found
        fields = [os.fsdecode(part).lstrip("\n") for part in answer.stdout.split(b"\0") if part]
        for place in range(0, len(fields) - 2, 3):
            found.setdefault(fields[place + 2], fields[place + 1])
    return found
