"""The graph of a commit, read from git without touching the work tree, and kept on disk.

To read, cut and count the rules of a commit takes a second for a few hundred of them, to load what
was made before a tenth of that, and its catalog alone a thousandth. So what was made is kept, and
the store is filled only when somebody asks it.

It is kept in git's own folder, never below `.hornbook/`: what lies there can be part of a change,
and a change must not bring the rules along that judge it.
"""

import json
import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import msgspec

from hornbook.commits import git
from hornbook.commits.commit import Commit, commit_at
from hornbook.disk import write_whole
from hornbook.errors import UsageError
from hornbook.graph import documents as recall
from hornbook.graph import statements
from hornbook.graph.oxigraph import OxigraphStore
from hornbook.graph.snapshot import Snapshot
from hornbook.graph.store import NamedGraph
from hornbook.rules.catalog import Catalog
from hornbook.rules.discover import is_text, reached
from hornbook.settings.load import CONFIG, parse_settings
from hornbook.settings.settings import Settings
from hornbook.text.globs import parse
from hornbook.version import __version__
from hornbook.vocabulary.names import META_GRAPH

CACHE_FORMAT = 1
"""Changes when entries of an earlier form must not be read any more."""
MOST_KEPT = 32
"""How many graphs are kept of a repository; the ones written longest ago go first."""
_MAKERS = ("graph", "rules", "settings", "text", "vocabulary")


def graph_at(root: Path, revision: str) -> Snapshot:
    """The graph of the documents that a commit holds, by its own settings, asked like any other.

    Raises:
        UsageError: The revision names no commit.
        ConfigError: The settings of the commit are wrong.
    """
    commit = commit_at(root, revision)
    return commit.memo("rule graph", lambda: _graph_of(commit))


def settings_of(commit: Commit) -> Settings:
    """The settings that a commit has.

    Raises:
        ConfigError: They are wrong.
    """
    return commit.memo("settings", lambda: _settings_of(commit))


def _settings_of(commit: Commit) -> Settings:
    data = commit.text(CONFIG.as_posix())
    return Settings() if data is None else parse_settings(data)


def _graph_of(commit: Commit) -> Snapshot:
    settings = settings_of(commit)
    files = {path: blob for path, blob in commit.files.items() if _is_source(path, settings)}
    kept = KeptGraphs(_folder(commit.root))
    key = _key(commit, settings, files)
    made = kept.read(key)
    if made is None:
        made = build(commit, settings, files)
        kept.write(key, made)
    catalog = replace(made.catalog, version=commit.sha)
    return Snapshot(lambda: _store_of(made.quads, catalog), catalog, settings)


def _store_of(quads: bytes, catalog: Catalog) -> OxigraphStore:
    store = OxigraphStore.in_memory()
    store.load(zlib.decompress(quads))
    store.replace([NamedGraph(META_GRAPH, tuple(statements.meta(catalog)))])
    return store


def _key(commit: Commit, settings: Settings, files: Mapping[str, str]) -> str:
    """The hash over everything that a graph is made from, and over who makes it."""
    config = CONFIG.as_posix()
    facts = [
        CACHE_FORMAT,
        __version__,
        _maker(),
        commit.files.get(config, ""),
        settings.counter,
        [(path, commit.modes[path], blob) for path, blob in sorted(files.items())],
    ]
    return sha256(json.dumps(facts).encode()).hexdigest()


@lru_cache(maxsize=1)
def _maker() -> str:
    """Tells our own code from another state of the same version, as a checkout has many."""
    top = Path(__file__).parents[1]
    files = sorted(path for room in _MAKERS for path in (top / room).rglob("*.py"))
    facts = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return sha256(json.dumps(facts).encode()).hexdigest()


def _folder(root: Path) -> Path | None:
    try:
        return git.whereabouts(root).common / "hornbook" / "graphs"
    except UsageError:
        return None


@dataclass(frozen=True, slots=True)
class MadeGraph:
    """The catalog of a commit's documents and, compressed, the quads that say the same."""

    catalog: Catalog
    quads: bytes


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(MadeGraph)


class KeptGraphs:
    """Graphs on disk by what they were made from; one that is damaged or not ours is not read.

    An entry is the sha256 of the rest, the key, and the graph. Several processes may read and
    write at once: an entry appears whole or not at all.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def read(self, key: str) -> MadeGraph | None:
        """The graph under a key, if a whole one lies there."""
        if self._folder is None:
            return None
        try:
            path = self._folder / key
            ours = path.stat().st_uid == os.getuid()
            data = path.read_bytes() if ours else b""
        except OSError:
            return None
        if data[:32] != sha256(data[32:]).digest() or data[32:96] != key.encode():
            return None
        try:
            return _DECODER.decode(data[96:])
        except msgspec.MsgspecError:
            return None

    def write(self, key: str, made: MadeGraph) -> None:
        """Keep a graph; where nothing can be written, it is made again the next time."""
        if self._folder is None:
            return
        payload = key.encode() + _ENCODER.encode(made)
        with suppress(OSError):
            write_whole(self._folder / key, sha256(payload).digest() + payload, durable=False)
            self._prune()

    def _prune(self) -> None:
        found = [(entry.stat().st_mtime_ns, entry.path) for entry in os.scandir(self._folder)]
        for _, path in sorted(found)[:-MOST_KEPT]:
            Path(path).unlink(missing_ok=True)


def build(commit: Commit, settings: Settings, files: Mapping[str, str]) -> MadeGraph:
    """The graph of some files of a commit, by their paths and blobs."""
    # Whoever finds the graph on disk needs no parsers.
    from hornbook.graph.ingest.builder import Builder, too_large  # noqa: PLC0415  # loads the readers
    from hornbook.graph.ingest.history import (  # noqa: PLC0415  # loads the readers
        DocumentEvent,
        Happened,
        Past,
        project,
    )
    from hornbook.graph.ingest.publish import Written, write  # noqa: PLC0415  # loads the readers
    from hornbook.graph.ingest.work_list import DocumentFacts, LastIngest, work_to_do  # noqa: PLC0415  # loads the readers
    from hornbook.rules.document_reader import read  # noqa: PLC0415  # loads the readers

    contents = git.blobs(commit.root, files.values())
    readings = {path: read(path, contents[blob]) for path, blob in files.items()}
    digests = {path: sha256(contents[blob]).hexdigest() for path, blob in files.items()}
    for path, blob in files.items():
        if len(contents[blob]) > settings.largest_file:
            readings[path] = too_large(readings[path], settings.largest_file)
    facts = {
        path: DocumentFacts(path, digests[path], reading.desired_id, reading.links)
        for path, reading in readings.items()
    }
    builder = Builder(settings)
    store = OxigraphStore.in_memory()
    documents = (
        Written(
            builder.build(readings[work.path], work.sha256, work.id, work.links, work.problems),
            work.wanted_id,
            project(Past(), DocumentEvent(Happened.ADDED, work.path, "", work.id, work.sha256)),
            new=True,
        )
        for work in work_to_do(LastIngest(None), facts, (), dict).work
    )
    write(store, documents, bulk=True)
    quads = b"\n".join((*store.canonical(), b""))
    return MadeGraph(recall.catalog(store), zlib.compress(quads, 1))


def _is_source(path: str, settings: Settings) -> bool:
    from hornbook.rules.document_reader import is_rule_file  # noqa: PLC0415  # loads the parsers

    name = path.rpartition("/")[2]
    if any(parse(pattern).matches(path) for pattern in settings.exclude):
        return False
    text = is_text(path, name)
    if reached(path) and (text or name.startswith(".")) and is_rule_file(path):
        return True
    return any(
        path == start or (text and (not start or path.startswith(start + "/")))
        for start in settings.starts
    )
