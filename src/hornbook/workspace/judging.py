"""The graph of a commit, in memory, read from git without touching the work tree."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from hornbook.git import reader as git
from hornbook.graph import recall
from hornbook.graph.store import OxigraphStore
from hornbook.ingest.discover import is_text, reached
from hornbook.ingest.journal import Event, Happened, Past, project
from hornbook.ingest.reading import is_rule_file, read
from hornbook.text.globs import parse
from hornbook.workspace.building import Builder, too_large
from hornbook.workspace.known import Known
from hornbook.workspace.planning import Facts, plan
from hornbook.workspace.settings import Settings
from hornbook.workspace.settings_loading import CONFIG, parse_settings
from hornbook.workspace.snapshot import Snapshot
from hornbook.workspace.writing import Written, sign, write


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
        path: Facts(path, digests[path], reading.desired_id, reading.links)
        for path, reading in readings.items()
    }
    builder = Builder(settings)
    store = OxigraphStore.in_memory()
    documents = (
        Written(
            builder.build(readings[work.path], work.sha256, work.id, work.links, work.problems),
            work.wanted_id,
            project(Past(), Event(Happened.ADDED, work.path, "", work.id, work.sha256)),
            new=True,
        )
        for work in plan(Known(None), facts, (), dict).work
    )
    write(store, documents, bulk=True)
    catalog = replace(recall.catalog(store), version=commit)
    sign(store, catalog)
    return Snapshot(store, catalog, settings)


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
