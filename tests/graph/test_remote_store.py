"""The same answers from a store that somebody else runs as from the embedded one."""

import re
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.errors import ConfigError, RemoteStoreFailed
from hornbook.graph.export import FORMATS
from hornbook.graph.ingest.ingestion import namespace
from hornbook.graph.remote.generations import RemoteGenerations
from hornbook.graph.repository import generation_store
from hornbook.loop.backup import backup, restore
from hornbook.loop.verification import verify_state
from hornbook.settings.load import parse_settings
from tests.graph.test_remote_layout import NAMED, asked_of
from tests.kit.graph_stores import (
    OxigraphServer,
    Proxy,
    endpoint,
    remote_workspace,
)
from tests.kit.servers import DECISIONS
from tests.kit.workspaces import SOPS, write

RULE = f"{SOPS}/error-handling.md"
ID = "source.doc.sops.error-handling"


@pytest.fixture
def root(tmp_path: Path, server: OxigraphServer) -> Path:
    return write(remote_workspace(tmp_path / "remote", server.url), DECISIONS)


def embedded_copy(root: Path) -> Path:
    """The same files and the same history, with the graph on this machine."""
    copy = root.parent / f"{root.name}-embedded"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(root, copy, ignore=shutil.ignore_patterns("store"))
    config = copy / ".hornbook" / "config.yaml"
    config.write_text(re.sub(r"(?s)graph:.*", "", config.read_text()))
    return copy


def export_of(root: Path, form: str = "nquads") -> bytes:
    with Workspace.open(root) as work:
        work.ingest()
        return work.export(form)


def store_of(root: Path) -> RemoteGenerations:
    with Workspace.open(root) as work:
        found = generation_store(work.places, work.settings)
        assert isinstance(found, RemoteGenerations)
        return found


def edit(root: Path, text: str = "\nMore.\n") -> None:
    path = root / RULE
    path.write_text(path.read_text() + text)


def ingest(root: Path) -> None:
    with Workspace.open(root) as work:
        work.ingest()


def test_exports_are_the_same_bytes_from_both_stores(root: Path) -> None:
    ingest(root)
    edit(root)
    ingest(root)
    (root / f"{SOPS}/test-coverage.md").unlink()
    ingest(root)
    copy = embedded_copy(root)
    for form in FORMATS:
        assert export_of(root, form) == export_of(copy, form)
    with Workspace.open(root) as work:
        store = work.snapshot().store
        assert b"".join(line + b"\n" for line in store.canonical()) == work.export()
        assert store.statements(store.names.graph(ID)) != []


def test_every_named_query_and_catalog_is_the_same_from_both_stores(root: Path) -> None:
    ingest(root)
    with Workspace.open(root) as remote, Workspace.open(embedded_copy(root)) as embedded:
        embedded.ingest()
        here, there = remote.snapshot(), embedded.snapshot()
        assert here.catalog.entries == there.catalog.entries
        names = there.store.names
        answered = 0
        for name in NAMED:
            terms = asked_of(names, name)
            rows = sorted(here.store.rows(name, **terms))
            assert rows == sorted(there.store.rows(name, **terms)), name
            answered += bool(rows)
        assert answered > 10
        assert here.registry == there.registry
        paths = ["handlers/user.go", "main_test.go"]
        assert [each.rules for each in remote.why(paths)] == [
            each.rules for each in embedded.why(paths)
        ]


def test_free_sparql_and_its_graph_names_are_the_same_from_both_stores(root: Path) -> None:
    ingest(root)
    copy = embedded_copy(root)
    ingest(copy)
    texts = [
        "SELECT ?g ?s ?p ?o { GRAPH ?g { ?s ?p ?o } } ORDER BY ?g ?s ?p ?o",
        "SELECT (COUNT(*) AS ?all) { ?s ?p ?o }",
        "SELECT ?new { ?new decision:supersedes+ ?old }",
    ]
    with Workspace.open(root) as remote, Workspace.open(copy) as embedded:
        for text in texts:
            assert remote.sparql(text, "csv") == embedded.sparql(text, "csv")
        edit(root)
        remote.ingest()
        count = f"SELECT (COUNT(*) AS ?n) {{ ?r prov:specializationOf {remote_term(remote)} }}"
        assert remote.sparql(count, "csv") == b"n\r\n2\r\n"


def remote_term(work: Workspace) -> str:
    return work.snapshot().store.names.term(ID)


def test_a_workspace_without_its_own_notes_reads_what_another_published(
    root: Path, tmp_path: Path
) -> None:
    ingest(root)
    other = tmp_path / "other"
    write(other, {".hornbook/config.yaml": (root / ".hornbook/config.yaml").read_text()})
    with Workspace.open(root) as here, Workspace.open(other) as there:
        assert there.snapshot().catalog.entries == here.snapshot().catalog.entries
        assert there.snapshot().version == here.snapshot().version
        assert there.snapshot().document(ID) == here.snapshot().document(ID)
        assert there.export() == here.export()


def test_a_reader_keeps_its_generation_while_another_is_published(root: Path) -> None:
    ingest(root)
    with Workspace.open(root) as reader:
        before = reader.snapshot()
        edit(root, "\nA new paragraph.\n")
        ingest(root)
        old = before.document(ID)
        assert "A new paragraph" not in "".join(chunk.content for chunk in old.chunks)
        assert reader.is_outdated()
        new = reader.refresh().document(ID)
        assert "A new paragraph" in "".join(chunk.content for chunk in new.chunks)


@pytest.mark.usefixtures("no_time")
def test_a_generation_that_was_dropped_says_so_and_does_not_look_empty(
    tmp_path: Path, server: OxigraphServer
) -> None:
    root = remote_workspace(tmp_path / "ws", server.url, keep_minutes=1)
    ingest(root)
    with Workspace.open(root) as reader:
        before = reader.snapshot()
        before.store.rows("patterns")
        edit(root)
        ingest(root)
        with pytest.raises(RemoteStoreFailed, match=r"no longer in the graph store.*ask again"):
            before.store.rows("patterns")
        assert reader.refresh().store.rows("patterns")


def graphs_in(url: str, repository: str) -> set[str]:
    with closing(endpoint(url)) as outside:
        rows = outside.select("SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }")
    return {str(row[0]) for row in rows if f"/{repository}/" in str(row[0])}


@pytest.mark.usefixtures("no_time")
def test_what_no_generation_lists_is_dropped_and_the_rest_stays(
    tmp_path: Path, server: OxigraphServer
) -> None:
    root = remote_workspace(tmp_path / "ws", server.url, "swept-1", keep_minutes=1)
    other = remote_workspace(tmp_path / "other", server.url, "swept-2", keep_minutes=1)
    ingest(other)
    ingest(root)
    many = len(graphs_in(server.url, "swept-1"))
    for _ in range(3):
        edit(root)
        ingest(root)
    assert len(graphs_in(server.url, "swept-1")) == many
    assert export_of(root) == export_of(embedded_copy(root))
    assert export_of(other) == export_of(embedded_copy(other))


def test_past_generations_stay_as_long_as_they_are_kept(
    tmp_path: Path, server: OxigraphServer
) -> None:
    root = remote_workspace(tmp_path / "ws", server.url, "kept-1")
    ingest(root)
    before = graphs_in(server.url, "kept-1")
    edit(root)
    ingest(root)
    assert before < graphs_in(server.url, "kept-1")


def quads_sent(proxy: Proxy, start: int) -> int:
    """How many statements the bodies of updates have, those that the store copies aside."""
    sent = 0
    for _, path, body in proxy.requests[start:]:
        if path.startswith("/update"):
            for data in re.findall(r"INSERT DATA \{ GRAPH <[^>]+> \{ (.*) \} \}", body.decode()):
                sent += data.count(" . ") + 1
        elif path.startswith("/store"):
            sent += body.count(b" .\n")
    return sent


def test_an_edit_sends_its_document_and_the_difference_of_the_manifest(
    tmp_path: Path, server: OxigraphServer, proxy: Proxy
) -> None:
    root = remote_workspace(tmp_path / "ws", proxy.url)
    rule = (root / RULE).read_text()
    write(root, {f"{SOPS}/rule-{number}.md": rule for number in range(300)})
    ingest(root)
    start, all_sent = len(proxy.requests), proxy.sent()
    edit(root)
    with Workspace.open(root) as work:
        report = work.ingest()
        snapshot = work.snapshot()
        own = next(each.triples for each in snapshot.catalog.entries if each.id == ID)
    assert report.changed == 1
    assert quads_sent(proxy, start) <= 5 * own
    assert proxy.sent() - all_sent < all_sent / 20
    assert not [path for _, path, _ in proxy.requests[start:] if path.startswith("/store")]


def test_the_past_of_a_document_is_not_sent_again(
    tmp_path: Path, server: OxigraphServer, proxy: Proxy
) -> None:
    root = remote_workspace(tmp_path / "ws", proxy.url)
    ingest(root)
    sent = []
    for number in range(4):
        edit(root, f"\nEdit {number}.\n")
        start = len(proxy.requests)
        ingest(root)
        sent.append(quads_sent(proxy, start))
    assert sent[1:] == [sent[1]] * 3


def test_an_ingest_without_a_change_sends_nothing(
    tmp_path: Path, server: OxigraphServer, proxy: Proxy
) -> None:
    root = remote_workspace(tmp_path / "ws", proxy.url)
    ingest(root)
    start = len(proxy.requests)
    ingest(root)
    assert {path for _, path, _ in proxy.requests[start:]} == {"/query"}


def test_a_rebuild_reads_everything_back_and_sends_only_what_is_wrong(
    tmp_path: Path, server: OxigraphServer, proxy: Proxy
) -> None:
    root = remote_workspace(tmp_path / "ws", proxy.url, "mended-1")
    ingest(root)
    with Workspace.open(root) as work:
        graph = work.snapshot().store.names.graph(ID)
        assert verify_state(work.places, work.settings).ok
    stored = next(each for each in graphs_in(server.url, "mended-1") if f"<{graph}@" in each)
    with closing(endpoint(server.url)) as outside:
        outside.update(f"DELETE WHERE {{ GRAPH {stored} {{ ?s ?p 'sop' }} }}")
        outside.update(f"INSERT DATA {{ GRAPH {stored} {{ <urn:a> <urn:b> 'forged' }} }}")
    with Workspace.open(root) as work:
        found = verify_state(work.places, work.settings)
        assert [each.code for each in found.problems] == ["remote_graph_changed"]
        assert graph in found.problems[0].message
        with pytest.raises(RemoteStoreFailed, match="not what was published"):
            work.export()
        start = len(proxy.requests)
        work.ingest(rebuild=True)
        assert verify_state(work.places, work.settings).ok
    put = [path for method, path, _ in proxy.requests[start:] if method == "PUT"]
    assert len(put) == 1
    assert export_of(root) == export_of(embedded_copy(root))


def test_a_lost_page_of_the_manifest_is_told_and_rebuilt(root: Path) -> None:
    ingest(root)
    store = store_of(root)
    generation = store.open()
    assert generation is not None
    page = next(iter(generation.manifest().pages.values()))
    store.endpoint.update(f"DROP GRAPH <{page.iri}>")
    store.release()
    with Workspace.open(root) as work:
        assert [each.code for each in verify_state(work.places, work.settings).problems] == [
            "remote_store_failed"
        ]
        work.ingest(rebuild=True)
        assert verify_state(work.places, work.settings).ok


def test_going_from_one_store_to_the_other_reads_the_files_anew(root: Path) -> None:
    ingest(root)
    config = root / ".hornbook" / "config.yaml"
    remote = config.read_text()
    config.write_text(re.sub(r"(?s)graph:.*", "", remote))
    with Workspace.open(root) as work:
        assert work.why(["handlers/user.go"])[0].rules
    config.write_text(remote)
    edit(root, "\n## Requirements\n9. Nine\n")
    with Workspace.open(root) as work:
        assert work.why(["handlers/user.go"])[0].rules
        changed = work.snapshot().document(ID).sha256
    config.write_text(re.sub(r"(?s)graph:.*", "", remote))
    with Workspace.open(root) as work:
        work.bring_up_to_date()
        assert work.snapshot().document(ID).sha256 == changed


def test_backup_and_doctor_do_without_the_store(
    tmp_path: Path, server: OxigraphServer, proxy: Proxy
) -> None:
    root = remote_workspace(tmp_path / "ws", proxy.url)
    ingest(root)
    start = len(proxy.requests)
    with Workspace.open(root) as work:
        backup(work.places, work.settings, tmp_path / "backup.tgz")
        work.doctor()
    assert len(proxy.requests) == start
    with Workspace.open(root) as work:
        before = work.export()
    restored = tmp_path / "restored"
    restore(tmp_path / "backup.tgz", restored)
    with Workspace.open(restored) as work:
        work.ingest()
        assert work.export() == before


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("store: http://user:secret@host:7878", "without a log-in in it"),
        ("store: ftp://host", "write embedded, or a URL"),
        ("store: http://127.0.0.1:99999", "write embedded, or a URL"),
        ("credentials: no name", "never a secret"),
        ("store: http://store.example:7878\n  credentials: LOGIN", "sent unencrypted"),
        ("query_path: a b", "no path below"),
        ("keep_minutes: -1", "write a whole number"),
        ("keep_minutes: 0", "write 1 or more"),
        ("read_only: true", "a store that others run"),
        ("timeout_seconds: 0", "write 1 or more"),
    ],
)
def test_settings_of_a_store_that_cannot_be_are_refused(lines: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told) as refused:
        parse_settings(f"graph:\n  {lines}\n".encode())
    assert "secret@" not in str(refused.value)


def test_a_store_is_named_by_url_and_repository(root: Path) -> None:
    ingest(root)
    with Workspace.open(root) as work:
        names = namespace(work.root, work.settings)
        assert names.store_graph == f"{names.base}graph/{names.repository}/_store"
        assert work.published()
        assert work.published_at() > "2026"
