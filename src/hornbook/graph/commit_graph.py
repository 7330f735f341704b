"""The graph of a commit, read from git without touching the work tree, and kept on disk.

To read, cut and count the rules of a commit takes a second for a few hundred of them, to load what
was made before a tenth of that, and its catalog alone a thousandth. So what was made is kept, and
the store is filled only when somebody asks it.

It is kept in git's own folder, never below `.hornbook/`: what lies there can be part of a change,
and a change must not bring the rules along that judge it. For a repository without `.hornbook/`,
into which nothing is written, it is kept in the user's cache folder.
"""

import json
import os
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hornbook.commits import git
from hornbook.commits.commit import Commit, commit_at
from hornbook.disk import write_whole
from hornbook.errors import ConfigError, UsageError
from hornbook.graph import documents as recall
from hornbook.graph import statements
from hornbook.graph.oxigraph import OxigraphStore
from hornbook.graph.snapshot import Snapshot
from hornbook.graph.store import NamedGraph
from hornbook.rules.catalog import Catalog
from hornbook.rules.discover import entered, is_text, may_be_rule, reached
from hornbook.rules.links import LinkedFile, PathKind, Place, Wanted, follow, resolve
from hornbook.settings.load import CONFIG, load, parse_settings
from hornbook.settings.places import cache_folder
from hornbook.settings.reserve import SettingsOfBase
from hornbook.settings.settings import Settings
from hornbook.text.globs import parse
from hornbook.text.tokens import counter
from hornbook.version import __version__

if TYPE_CHECKING:
    from hornbook.rules.includes import Inclusion
    from hornbook.rules.readers.protocol import Reading
    from hornbook.rules.tool_setup import ToolSetup

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


def settings_of_base(root: Path, revision: str) -> SettingsOfBase:
    """Whether the commit that judges has settings, beside those of the work tree."""
    commit = commit_at(root, revision)
    try:
        here = load(root)
    except ConfigError:
        here = None
    return SettingsOfBase(commit.sha, CONFIG.as_posix() in commit.files, here)


def _settings_of(commit: Commit) -> Settings:
    data = commit.text(CONFIG.as_posix())
    return Settings() if data is None else parse_settings(data)


def rules_key(root: Path, revision: str) -> str:
    """A name for what the graph of a commit is made from: equal ones have equal graphs.

    Raises:
        UsageError: The revision names no commit.
        ConfigError: The settings of the commit are wrong.
    """
    commit = commit_at(root, revision)
    return _key(commit, settings_of(commit), sources_in(commit))


def sources_in(commit: Commit) -> "CommitSources":
    """What a commit's graph is made from."""
    return commit.memo("sources", lambda: sources_of(commit, settings_of(commit), _setup(commit)))


def _own_files(commit: Commit, settings: Settings, setup: "ToolSetup") -> dict[str, str]:
    """Path to blob of the regular files that are documents."""
    asked = ("is source", settings.exclude, settings.starts, setup.key())
    known: tuple[set[str], set[str]] = git.once(commit.root, asked, lambda: (set(), set()))
    judged, sources = known
    files = commit.files
    for path in files.keys() - judged:
        judged.add(path)
        if _is_source(path, settings, setup):
            sources.add(path)
    return {path: files[path] for path in sorted(sources & files.keys())}


def _graph_of(commit: Commit) -> Snapshot:
    settings = settings_of(commit)
    with git.operation(commit.root):
        sources = sources_in(commit)
        kept = KeptGraphs(_folder(commit.root))
        key = _key(commit, settings, sources)
        made = kept.read(key)
        if made is None:
            made = build(commit, settings, sources)
            kept.write(key, made)
    return snapshot_of(commit, settings, made)


def snapshot_of(commit: Commit, settings: Settings, made: "MadeGraph") -> Snapshot:
    """A graph that was made for a commit, ready to be asked."""
    catalog = replace(made.catalog, version=commit.sha)
    return Snapshot(lambda: _store_of(made.quads, catalog), catalog, settings)


@dataclass(frozen=True, slots=True)
class CommitSources:
    """What the rules of a commit are made from.

    `files` has the blob of each document by path, `linked` those that are read at a link's place,
    `broken` why a link cannot be read, `included` what is read only because a rule includes it.
    """

    tree: "CommittedTree"
    setup: "ToolSetup"
    files: Mapping[str, str]
    linked: Mapping[str, LinkedFile]
    broken: Mapping[str, str]
    included: frozenset[str]
    inclusions: "Mapping[str, Inclusion]"


def sources_of(commit: Commit, settings: Settings, setup: "ToolSetup") -> CommitSources:
    """The documents of a commit: its rule files, links and what they include."""
    from hornbook.rules.includes import IncludeSource, included_files, inclusions  # noqa: PLC0415  # loads the readers

    tree = tree_of(commit)
    files = _own_files(commit, settings, setup)
    found = [
        each
        for path in tree.links
        if reached(path)
        for each in follow(tree, path, path, _wanted_links(settings, setup))
        if not _excluded(each.path, settings)
    ]
    broken = {each.path: each.broken for each in found if each.broken}
    linked = {each.path: each for each in found if not each.broken}
    files |= {path: commit.files[each.target] for path, each in linked.items()}
    texts = {path: linked[path].target if path in linked else path for path in files}
    source = IncludeSource(tree, lambda _path: False, settings.largest_file)
    included = inclusions(source, texts)
    more = included_files(included, texts)
    for path, real in more.items():
        files[path] = commit.files[real]
        if path != real:
            linked[path] = LinkedFile(path, path, real, real)
    _check_names(commit, files)
    return CommitSources(tree, setup, files, linked, broken, frozenset(more), included)


def _check_names(commit: Commit, paths: Iterable[str]) -> None:
    """Refuse a commit whose rules the graph cannot name: none of them may be lost silently."""
    wrong = [path for path in paths if not _is_utf8(path)]
    if wrong:
        shown = ", ".join(sorted(repr(path) for path in wrong))
        held = f"{commit.sha[:12]} holds rules whose names are not UTF-8"
        raise UsageError(f"{held} ({shown}): rename them, or leave them out with `exclude`.")


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


class CommittedTree:
    """The tree of a commit below the root, links and other repositories with it."""

    def __init__(self, commit: Commit) -> None:
        self._commit = commit
        below = git.prefix_of(commit.root)
        self._entries = {
            each.path.removeprefix(below): each
            for each in git.entries_of(commit.root, commit.sha)
            if each.path.startswith(below)
        }
        self.links = tuple(sorted(path for path, each in self._entries.items() if each.is_link))

    @cached_property
    def _paths(self) -> Sequence[str]:
        return sorted(self._entries)

    def _below(self, folder: str) -> Iterator[str]:
        """The paths below a folder, sorted; no other is looked at."""
        start = f"{folder}/" if folder else ""
        for place in range(bisect_left(self._paths, start), len(self._paths)):
            if not self._paths[place].startswith(start):
                return
            yield self._paths[place]

    @cached_property
    def _targets(self) -> Mapping[str, str]:
        blobs = {path: self._entries[path].blob for path in self.links}
        texts = git.blobs(self._commit.root, blobs.values())
        return {path: os.fsdecode(texts[blob]) for path, blob in blobs.items()}

    def kind(self, path: str) -> PathKind:
        """What the commit has at the path."""
        entry = self._entries.get(path)
        if entry is None:
            held = next(self._below(path), None)
            return PathKind.NOTHING if held is None else PathKind.FOLDER
        if entry.is_link:
            return PathKind.LINK
        return PathKind.FILE if entry.is_file else PathKind.REPOSITORY

    def target(self, path: str) -> str:
        """What the link says."""
        return self._targets[path]

    def names(self, folder: str) -> Sequence[str]:
        """The names in a folder."""
        skipped = len(folder) + 1 if folder else 0
        return sorted({path[skipped:].partition("/")[0] for path in self._below(folder)})

    def read(self, path: str) -> bytes:
        """What the file holds."""
        return self._commit.text(path) or b""


def tree_of(commit: Commit) -> CommittedTree:
    """The tree of a commit, made once."""
    return commit.memo("tree", lambda: CommittedTree(commit))


def _store_of(quads: bytes, catalog: Catalog) -> OxigraphStore:
    store = OxigraphStore.in_memory()
    store.load(zlib.decompress(quads))
    store.replace([NamedGraph(store.names.meta_graph, tuple(statements.meta(catalog)))])
    return store


def _setup(commit: Commit) -> "ToolSetup":
    """What a commit's tree shows about the tools in use."""
    return commit.memo("tool setup", lambda: _setup_of(commit))


def _setup_of(commit: Commit) -> "ToolSetup":
    from hornbook.rules.tool_setup import ASKED, present_among, tool_setup  # noqa: PLC0415  # loads the parsers

    hidden = (path for path in commit.files if path.startswith("."))
    named = (path for path in ASKED if path in commit.files)
    linked = _linked(commit, ASKED)
    return tool_setup(
        present_among((*hidden, *named, *linked)),
        lambda path: commit.text(linked.get(path, path)) or b"",
    )


def _linked(commit: Commit, asked: Iterable[str]) -> dict[str, str]:
    """Those of the paths that links lead to something, each with where it lies."""
    tree = tree_of(commit)
    links = tuple(f"{link}/" for link in tree.links)
    found = [(path, resolve(tree, path)) for path in asked if f"{path}/".startswith(links)]
    return {
        path: place.path
        for path, place in found
        if isinstance(place, Place) and place.folder == path.endswith("/")
    }


def _key(commit: Commit, settings: Settings, sources: CommitSources) -> str:
    """The hash over everything that a graph is made from, and over who makes it."""
    config = CONFIG.as_posix()
    real = {path: each.target for path, each in sources.linked.items()}
    facts = [
        CACHE_FORMAT,
        __version__,
        _maker(),
        commit.files.get(config, ""),
        settings.counter,
        sources.setup.key(),
        [
            (
                path,
                commit.modes[real.get(path, path)],
                blob,
                real.get(path),
                path in sources.included,
            )
            for path, blob in sorted(sources.files.items())
        ],
        sorted(sources.broken.items()),
        [
            (path, [astuple(one) for one in each.includes], list(map(astuple, each.problems)))
            for path, each in sorted(sources.inclusions.items())
        ],
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
        common = git.whereabouts(root).common
    except UsageError:
        return None
    if (root / ".hornbook").is_dir():
        return common / "hornbook" / "graphs"
    cache = cache_folder(root)
    return cache and cache / "graphs"


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


def build(commit: Commit, settings: Settings, sources: CommitSources) -> MadeGraph:
    """The graph of the documents of a commit."""
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
    from hornbook.rules.document_reader import broken_link, included_text  # noqa: PLC0415  # loads the readers
    from hornbook.rules.includes import measured  # noqa: PLC0415  # loads the readers

    blobs = commit.blobs(sources.files.values())
    contents = {path: blobs[blob] for path, blob in sources.files.items()}
    contents |= {path: broken_link(why) for path, why in sources.broken.items()}
    readings = {path: _reading(path, data, sources) for path, data in contents.items()}
    for path, data in contents.items():
        if len(data) > settings.largest_file:
            readings[path] = too_large(readings[path], settings.largest_file)
    facts = {
        path: DocumentFacts(
            path, sha256(contents[path]).hexdigest(), reading.desired_id, reading.links
        )
        for path, reading in readings.items()
    }
    count = counter(settings.counter)
    included = measured(
        sources.inclusions, sources.tree, lambda _digest, data: count(included_text(data))
    )
    builder = Builder(settings)
    store = OxigraphStore.in_memory()
    documents = (
        Written(
            builder.build(readings[work.path], work),
            work.wanted_id,
            project(Past(), DocumentEvent(Happened.ADDED, work.path, "", work.id, work.sha256)),
            new=True,
        )
        for work in work_to_do(LastIngest(None), facts, (), dict, included).work
    )
    write(store, documents, bulk=True)
    quads = b"\n".join((*store.canonical(), b""))
    return MadeGraph(recall.catalog(store), zlib.compress(quads, 1))


def _reading(path: str, data: bytes, sources: CommitSources) -> "Reading":
    """A document as it is read where it stands."""
    from hornbook.rules.document_reader import read, read_broken_link, read_included  # noqa: PLC0415  # loads the readers

    if path in sources.broken:
        return read_broken_link(path, sources.broken[path])
    if path in sources.included:
        reading = read_included(path, data)
    else:
        reading = read(path, data, sources.setup)
    linked = sources.linked.get(path)
    return reading if linked is None else replace(reading, link=linked.target)


def _wanted_links(settings: Settings, setup: "ToolSetup") -> Wanted:
    """Links to rule files and to folders of them, and everything below the configured sources."""
    from hornbook.rules.document_reader import is_rule_folder  # noqa: PLC0415  # loads the parsers

    def folder(path: str) -> bool:
        below = any(not s or f"{path}/".startswith(f"{s}/") for s in settings.starts)
        return below or is_rule_folder(path)

    return Wanted(lambda path, _name: _is_source(path, settings, setup), folder, entered)


def _excluded(path: str, settings: Settings) -> bool:
    return any(parse(pattern).matches(path) for pattern in settings.exclude)


def _is_source(path: str, settings: Settings, setup: "ToolSetup") -> bool:
    from hornbook.rules.document_reader import is_rule_file  # noqa: PLC0415  # loads the parsers

    name = path.rpartition("/")[2]
    if _excluded(path, settings):
        return False
    text = is_text(path, name)
    if (text or may_be_rule(path, name)) and is_rule_file(path, setup) and reached(path):
        return True
    return any(
        path == start or (text and (not start or path.startswith(start + "/")))
        for start in settings.starts
    )
