"""The graph of a commit, in memory, read from git without touching the work tree."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from hornbook.commits import git
from hornbook.graph import documents as recall
from hornbook.graph.ingest.builder import Builder, too_large
from hornbook.graph.ingest.history import DocumentEvent, Happened, Past, project
from hornbook.graph.ingest.publish import Written, sign, write
from hornbook.graph.ingest.work import DocumentFacts, Known, work_to_do
from hornbook.graph.oxigraph import OxigraphStore
from hornbook.graph.snapshot import Snapshot
from hornbook.rules.discover import is_text, reached
from hornbook.rules.reading import is_rule_file, read
from hornbook.settings.load import CONFIG, parse_settings
from hornbook.settings.values import Settings
from hornbook.text.globs import parse


def graph_at(root: Path, revision: str) -> Snapshot:
    """The graph of the documents that a commit holds, by its own settings, asked like any other.

    Raises:
        UsageError: The revision names no commit.
        ConfigError: The settings of the commit are wrong.
    """
    commit = git.commit(root, revision)
    held = git.files_at(root, commit)
    settings = Settings()
    if CONFIG.as_posix() in held:
        blob = held[CONFIG.as_posix()]
        settings = parse_settings(git.blobs(root, [blob])[blob])
    files = {path: blob for path, blob in held.items() if _is_source(path, settings)}
    contents = git.blobs(root, files.values())
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
        for work in work_to_do(Known(None), facts, (), dict).work
    )
    write(store, documents, bulk=True)
    catalog = replace(recall.catalog(store), version=commit)
    sign(store, catalog)
    return Snapshot(lambda: store, catalog, settings)


def _is_source(path: str, settings: Settings) -> bool:
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
