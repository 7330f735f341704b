"""The published generation of a remote store in an embedded one, for free SPARQL and for exports.

A text that somebody wrote sees all graphs as one and may name any, which cannot be asked through
a manifest without changing what it means. So it is asked of a copy, which is brought up to date
first: only graphs that differ are read, and each has the hash that the manifest says.
"""

from pathlib import Path

import msgspec

from hornbook.disk import temporary_folder, write_whole
from hornbook.errors import StoreError
from hornbook.graph.generations import DraftGeneration, Generation, Generations
from hornbook.graph.remote.generations import REPLICA, RemoteGeneration, RemoteGenerations
from hornbook.graph.remote.manifest import Manifest
from hornbook.graph.statements import quads
from hornbook.graph.store import GenerationStore, NamedGraph
from hornbook.vocabulary.names import ONTOLOGY, Namespace, decode

MANY = 64
"""So many graphs are loaded in bulk."""
_MEMBERS = "members"


def bring_up_to_date(store: GenerationStore) -> Path:
    """The folder of the copy, which has what the store has published now.

    Raises:
        RemoteStoreFailed: The store is away, or lost some of it.
    """
    if not isinstance(store, RemoteGenerations):
        raise TypeError("only a remote store is copied")
    folder = store.folder / REPLICA
    generation = store.open()
    if generation is None:
        return folder
    copies = Generations(folder)
    with copies.writing(_nobody):
        before = _opened(copies)
        try:
            known = _members(before) if before is not None else {}
            if known != generation.manifest().members:
                _copy(copies, before if known else None, known, generation)
        finally:
            if before is not None:
                before.close()
    return folder


def _opened(copies: Generations) -> Generation | None:
    try:
        return copies.open()
    except StoreError:
        return None  # it is made anew


def _members(copied: Generation) -> dict[str, str]:
    """The hashes of the graphs that a copy has; none if that cannot be told."""
    try:
        data = (copied.folder / _MEMBERS).read_bytes()
        return msgspec.msgpack.decode(data, type=dict[str, str])
    except (OSError, msgspec.MsgspecError):
        return {}


def _copy(
    copies: Generations,
    before: Generation | None,
    known: dict[str, str],
    generation: RemoteGeneration,
) -> None:
    manifest, names = generation.manifest(), generation.open_store().names
    draft = copies.draft(before, names)
    changed = sorted(
        graph for graph, hashed in manifest.members.items() if known.get(graph) != hashed
    )
    _fill(draft, generation, manifest, changed)
    gone = known.keys() - manifest.members.keys()
    draft.store.replace([NamedGraph(graph, ()) for graph in sorted(gone)])
    members = msgspec.msgpack.encode(dict(manifest.members))
    write_whole(draft.folder / _MEMBERS, members, durable=False)
    draft.publish(generation.catalog)


def _fill(
    draft: DraftGeneration, generation: RemoteGeneration, manifest: Manifest, changed: list[str]
) -> None:
    """Write what changed into the copy: the graph, and what is extracted from it."""
    store = generation.open_store()
    with temporary_folder("quads", draft.folder) as place, (place / "quads.nq").open("wb") as file:
        for graph, lines in store.graphs(manifest, changed):
            document = _document(graph, store.names)
            if document is not None:
                draft.extracts.add(document, lines)
            if draft.base is None and len(changed) >= MANY:
                file.write(quads(lines, graph).encode())
            else:
                draft.store.replace([NamedGraph(graph, tuple(lines))])
        if file.tell():
            file.flush()
            draft.store.load(Path(file.name))


def _document(graph: str, names: Namespace) -> str | None:
    """The document whose current state a graph is, if it is one's."""
    path = names.document_path(graph)
    if path is None or graph in {names.meta_graph, ONTOLOGY}:
        return None
    found = decode(path)
    return found if names.graph(found) == graph else None


def _nobody() -> None:
    """Wait for another process without telling anybody."""
