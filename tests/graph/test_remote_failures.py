"""A store that is away, wrong or shared, and clients and servers that are killed: nothing is lost."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.errors import RemoteStoreFailed
from hornbook.graph.remote.manifest import CURRENT, PAGE_OF
from hornbook.graph.remote.store import RemoteStore
from tests.graph.test_remote_store import (
    ID,
    edit,
    embedded_copy,
    export_of,
    graphs_in,
    ingest,
    store_of,
)
from tests.kit.graph_stores import (
    OxigraphServer,
    Proxy,
    WrongAnswer,
    endpoint,
    oxigraph_server,
    proxy_before,
    remote_config,
    remote_workspace,
)
from tests.kit.servers import client
from tests.kit.workspaces import SOPS, write

EVERYTHING = "SELECT ?s { GRAPH ?g { ?s ?p ?o } } LIMIT 1"


def published(root: Path) -> list[bytes]:
    """All that is published, straight from the store and held against every hash."""
    store = store_of(root)
    with closing(store.endpoint):
        name = store.published()
        assert name is not None
        return RemoteStore(store.endpoint, store.books._names, name).canonical()


WRONG = {
    "garbage": (WrongAnswer(body=b"<html>hello</html>"), "no SPARQL result in JSON.*hello"),
    "error": (WrongAnswer(500, b"out of order"), "failed .500.*out of order"),
    "truncated": (WrongAnswer(body=b'{"head":', length=400), "broke off in the middle"),
    "half": (WrongAnswer(body=b'{"head":{"vars":["a"]},"results":{"bindings":[{'), "broke off"),
    "redirect": (
        WrongAnswer(302, headers=(("location", "https://u:p@elsewhere.example/x?k=v"),)),
        "leads elsewhere .302.*https://elsewhere.example/x., which is not followed",
    ),
    "log-in": (WrongAnswer(401), "does not let us in .401.*`graph.credentials`"),
    "forbidden": (WrongAnswer(403), "does not let us in .403"),
    "nothing there": (WrongAnswer(404), "no such thing at /.*`graph.query_path`"),
    "away": (WrongAnswer(503), "is busy or away .503.*`graph.wait_seconds`"),
    "a yes": (WrongAnswer(body=b'{"head":{},"boolean":true}'), "with a yes or no"),
}


def test_a_wrong_answer_is_told_and_loses_nothing(
    tmp_path: Path, server: OxigraphServer, proxy: Proxy
) -> None:
    root = remote_workspace(tmp_path / "ws", proxy.url)
    ingest(root)
    before = published(root)
    edit(root)
    for wrong, told in WRONG.values():
        for kind in ("/query", "/update"):
            if kind == "/update" and wrong.status == 200 and wrong.length is None:
                continue  # what an update answers is not looked at: it is read back

            def answer(
                _number: int,
                path: str,
                _body: bytes,
                kind: str = kind,
                wrong: WrongAnswer = wrong,
            ) -> WrongAnswer | None:
                return wrong if path == kind else None

            proxy.fault = answer
            with Workspace.open(root) as work:
                with pytest.raises(RemoteStoreFailed, match=f"(?s){told}.*Nothing is lost"):
                    work.ingest()
                with pytest.raises(RemoteStoreFailed, match="Nothing is lost"):
                    work.why(["main.go"])
            proxy.fault = None
            assert published(root) == before
    assert export_of(root) == export_of(embedded_copy(root))
    assert published(root) != before


def test_a_store_that_lies_about_an_update_is_found_out(
    tmp_path: Path, server: OxigraphServer, proxy: Proxy
) -> None:
    root = remote_workspace(tmp_path / "ws", proxy.url)
    ingest(root)
    before = published(root)
    edit(root)
    proxy.fault = lambda _n, path, _body: None if path == "/query" else WrongAnswer(204)
    with (
        Workspace.open(root) as work,
        pytest.raises(RemoteStoreFailed, match="does not hold what it was sent"),
    ):
        work.ingest()
    assert published(root) == before


def test_a_store_that_is_not_there_is_told_with_a_remedy(tmp_path: Path) -> None:
    root = remote_workspace(tmp_path / "ws", "http://127.0.0.1:9", wait_seconds=0)
    with Workspace.open(root) as work:
        with pytest.raises(RemoteStoreFailed, match=r"127\.0\.0\.1:9 cannot be reached.*runs, or"):
            work.ingest()
        with pytest.raises(RemoteStoreFailed):
            work.why(["main.go"])
        with pytest.raises(RemoteStoreFailed):
            work.export()


def test_a_store_that_comes_back_is_waited_for(server: OxigraphServer, proxy: Proxy) -> None:
    proxy.fault = lambda number, _path, _body: WrongAnswer(503) if number < 4 else None
    with closing(endpoint(proxy.url, wait_seconds=600)) as found:
        found.select(EVERYTHING)
    assert len(proxy.requests) == 4


def test_the_login_comes_from_a_variable_and_is_never_told(
    tmp_path: Path, server: OxigraphServer, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = remote_workspace(tmp_path / "ws", proxy.url, credentials="GRAPH_LOGIN")
    monkeypatch.delenv("GRAPH_LOGIN", raising=False)
    with (
        Workspace.open(root) as work,
        pytest.raises(RemoteStoreFailed, match=r"GRAPH_LOGIN.*not set"),
    ):
        work.ingest()
    for secret, header in (
        ("reader:open-sesame-42", "Basic cmVhZGVyOm9wZW4tc2VzYW1lLTQy"),
        ("a-token-0123456789", "Bearer a-token-0123456789"),
    ):
        monkeypatch.setenv("GRAPH_LOGIN", secret)
        proxy.fault = None
        ingest(root)
        assert {each["authorization"] for each in proxy.headers} == {header}
        proxy.headers.clear()
        echo = WrongAnswer(500, f"you said {header} for {secret}".encode())
        proxy.fault = lambda _n, _p, _b, echo=echo: echo
        with Workspace.open(root) as work, pytest.raises(RemoteStoreFailed) as told:
            work.ingest()
        assert secret not in str(told.value)
        assert header.split()[1] not in str(told.value)
        proxy.headers.clear()


def breaks_off(root: Path, proxy: Proxy, point: int, *, lost: bool) -> bool:
    """Whether an ingest fails if the store does from its request `point` on.

    With `lost` that request is still carried out, and only nobody hears of it.
    """
    failing = len(proxy.requests) + point
    proxy.fault = lambda n, _path, _body: WrongAnswer(500) if n >= failing + lost else None
    proxy.after = lambda n, _path, _body: lost and n == failing
    try:
        ingest(root)
    except RemoteStoreFailed:
        return True
    finally:
        proxy.fault = proxy.after = None
    return False


def test_an_ingest_that_fails_anywhere_leaves_all_or_nothing(
    tmp_path: Path, server: OxigraphServer, proxy: Proxy
) -> None:
    root = remote_workspace(tmp_path / "ws", proxy.url)
    ingest(root)
    point, before = 1, published(root)
    edit(root)
    while breaks_off(root, proxy, point, lost=point % 2 == 0):
        now = published(root)
        if now != before:  # the answer to the switch got lost: then it is the whole new one
            assert now == [line for line in export_of(embedded_copy(root)).split(b"\n") if line]
            before = now
            edit(root)
        point += 1
    assert point > 8
    assert export_of(root) == export_of(embedded_copy(root))


POINTS: dict[str, tuple[Callable[[bytes], bool], bool]] = {
    "before the first graph": (lambda body: b"INSERT DATA" in body, False),
    "when the manifest is sent": (lambda body: PAGE_OF.encode() in body, True),
    "before the pointer moves": (lambda body: CURRENT.encode() in body, False),
    "when the pointer moved": (lambda body: CURRENT.encode() in body, True),
}


def killed_ingest(root: Path, proxy: Proxy, wanted: Callable[[bytes], bool], *, done: bool) -> None:
    """An ingest whose process is killed over an update: before it is carried out, or when it is."""
    command = [sys.executable, "-m", "hornbook", "--root", str(root), "ingest"]
    running: list[subprocess.Popen[bytes]] = []
    killed: list[int] = []

    def kill(path: str, body: bytes) -> None:
        if path == "/update" and not killed and wanted(body):
            killed.append(running[0].pid)
            os.kill(running[0].pid, signal.SIGKILL)

    def at_arrival(_number: int, path: str, body: bytes) -> WrongAnswer | None:
        if not done:
            kill(path, body)
        return WrongAnswer(500) if killed else None  # nothing of a dead client is carried out

    def at_end(_number: int, path: str, body: bytes) -> bool:
        if done:
            kill(path, body)
        return bool(killed)

    proxy.fault, proxy.after = at_arrival, at_end
    running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    assert running[0].wait() == -signal.SIGKILL
    proxy.fault = proxy.after = None


@pytest.mark.usefixtures("no_time")
def test_a_client_that_is_killed_leaves_all_or_nothing(
    tmp_path: Path, server: OxigraphServer, proxy: Proxy
) -> None:
    root = remote_workspace(tmp_path / "ws", proxy.url, "killed-1", keep_minutes=1)
    ingest(root)
    many, before = len(graphs_in(server.url, "killed-1")), published(root)
    for point, (wanted, done) in POINTS.items():
        edit(root)
        killed_ingest(root, proxy, wanted, done=done)
        moved = point == "when the pointer moved"
        assert (published(root) == before) == (not moved)
        ingest(root)
        before = published(root)
    assert export_of(root) == export_of(embedded_copy(root))
    edit(root)
    ingest(root)
    assert len(graphs_in(server.url, "killed-1")) == many, "what the dead left is swept"


def test_a_server_that_is_killed_keeps_what_was_published(tmp_path: Path) -> None:
    with oxigraph_server(tmp_path / "data") as own, proxy_before(own.url) as proxy:
        root = remote_workspace(tmp_path / "ws", proxy.url)
        ingest(root)
        before = published(root)
        for wanted, _ in POINTS.values():
            edit(root)

            def kill(
                _n: int, path: str, body: bytes, wanted: Callable[[bytes], bool] = wanted
            ) -> WrongAnswer | None:
                if path == "/update" and wanted(body):
                    own.kill()
                return WrongAnswer(502) if own.process is None else None

            proxy.fault = kill
            with Workspace.open(root) as work, pytest.raises(RemoteStoreFailed, match="502"):
                work.ingest()
            proxy.fault = None
            own.start()
            assert published(root) == before
        ingest(root)
        assert published(root) != before
        assert export_of(root) == export_of(embedded_copy(root))


def test_of_two_writers_at_once_one_wins_and_the_other_tries_again(
    tmp_path: Path, server: OxigraphServer, proxy: Proxy
) -> None:
    here = remote_workspace(tmp_path / "here", proxy.url, "shared-1")
    there = tmp_path / "there"
    ingest(here)
    shutil.copytree(here, there, ignore=shutil.ignore_patterns("store"))
    write(there, {".hornbook/config.yaml": remote_config(server.url, "shared-1")})
    edit(here, "\nHere.\n")
    edit(there, "\nThere.\n")
    met: list[list[bytes]] = []

    def meet(_n: int, path: str, body: bytes) -> None:
        if path == "/update" and CURRENT.encode() in body and not met:
            met.append([])  # the other one is faster, by a whole ingest
            ingest(there)
            met.append(published(there))

    proxy.fault = meet
    ingest(here)
    proxy.fault = None
    assert any(b"There." in line for line in met[1])
    now = published(here)
    assert any(b"Here." in line for line in now)
    assert not any(b"There." in line for line in now)
    with Workspace.open(there) as work:
        assert work.is_outdated()
        assert not work.is_current()
        work.bring_up_to_date()
        text = "".join(chunk.content for chunk in work.snapshot().document(ID).chunks)
        assert "There." in text
        assert "Here." not in text
    assert export_of(there) == export_of(embedded_copy(there))


@pytest.mark.usefixtures("no_time")
def test_a_writer_that_was_taken_for_dead_publishes_nothing(
    tmp_path: Path, server: OxigraphServer, proxy: Proxy
) -> None:
    here = remote_workspace(tmp_path / "here", proxy.url, "slow-1", keep_minutes=1)
    ingest(here)
    there = tmp_path / "there"
    shutil.copytree(here, there, ignore=shutil.ignore_patterns("store"))
    write(there, {".hornbook/config.yaml": remote_config(server.url, "slow-1", keep_minutes=1)})
    edit(here, "\nHere.\n")
    edit(there, "\nThere.\n")
    met: list[str] = []

    def meet(_n: int, path: str, body: bytes) -> None:
        if path == "/update" and PAGE_OF.encode() in body and not met:
            met.append(path)  # its graphs are there, and no manifest lists them
            ingest(there)

    proxy.fault = meet
    with Workspace.open(here) as work, pytest.raises(RemoteStoreFailed, match="took it for dead"):
        work.ingest()
    proxy.fault = None
    assert any(b"There." in line for line in published(here))
    ingest(here)
    assert export_of(here) == export_of(embedded_copy(here))


def test_writers_that_publish_all_the_time_are_told(
    tmp_path: Path, server: OxigraphServer, proxy: Proxy
) -> None:
    root = remote_workspace(tmp_path / "ws", proxy.url)
    ingest(root)
    store = store_of(root)
    edit(root)

    def others(_n: int, path: str, body: bytes) -> None:
        if path == "/update" and CURRENT.encode() in body:
            book, other = f"<{store.books._names.store_graph}>", os.urandom(32).hex()
            root_of = f"<{store.books._names.generation_graph}@{other}>"
            with closing(endpoint(server.url)) as outside:
                outside.update(
                    f"DELETE {{ GRAPH {book} {{ ?b {CURRENT} ?c }} }} "
                    f"INSERT {{ GRAPH {book} {{ ?b {CURRENT} {root_of} }} }} "
                    f"WHERE {{ GRAPH {book} {{ ?b {CURRENT} ?c }} }}"
                )

    proxy.fault = others
    with Workspace.open(root) as work, pytest.raises(RemoteStoreFailed, match="others published"):
        work.ingest()


def test_a_server_answers_from_the_store_and_says_when_it_is_away(
    tmp_path: Path, server: OxigraphServer, proxy: Proxy
) -> None:
    root = remote_workspace(tmp_path / "ws", proxy.url)
    ingest(root)
    query = '{ entities(filter: { predicatePrefix: "source.doc.sops" }) { id triples { object } } }'
    count = "SELECT (COUNT(*) AS ?n) { ?r a hb:SOP }"
    copy = embedded_copy(root)
    ingest(copy)
    with client(root) as remote, client(copy) as embedded:
        both = [each.post("/graphql", json={"query": query}).json() for each in (remote, embedded)]
        assert both[0] == both[1]
        assert len(both[0]["data"]["entities"]) == 2
        asked = {"query": count}
        assert remote.get("/sparql", params=asked).json()["results"]["bindings"] != []
        write(root, {f"{SOPS}/third.md": (root / f"{SOPS}/error-handling.md").read_text()})
        ingest(root)
        found = remote.get("/sparql", params=asked).json()["results"]["bindings"]
        assert found[0]["n"]["value"] == "3"
        assert len(remote.post("/graphql", json={"query": query}).json()["data"]["entities"]) == 3
        proxy.fault = lambda _n, _p, _b: WrongAnswer(500, b"gone")
        assert remote.get("/readyz").status_code == 503
        assert remote.get("/sparql", params=asked).status_code == 503
        away = remote.post("/graphql", json={"query": query})
        assert "data" not in away.json() or away.json()["data"] is None
        assert "graph store" in away.text
        proxy.fault = None
        assert remote.get("/readyz").status_code == 200


def clone_of(root: Path, place: Path, url: str, repository: str, **others: object) -> Path:
    """Another clone with the same files and the same history, whose graph lies in the same store."""
    shutil.copytree(root, place, ignore=shutil.ignore_patterns("store"))
    return write(place, {".hornbook/config.yaml": remote_config(url, repository, **others)})


def test_an_answer_is_of_the_files_here_though_another_clone_publishes_meanwhile(
    tmp_path: Path, server: OxigraphServer, proxy: Proxy
) -> None:
    here = remote_workspace(tmp_path / "here", proxy.url, "meanwhile-1")
    ingest(here)
    there = clone_of(here, tmp_path / "there", server.url, "meanwhile-1")
    edit(there, "\nThere.\n")
    with Workspace.open(here) as work:
        (before,) = work.why(["handlers/user.go"])
    questions: list[int] = []
    for number in (1, 2, 3):  # after each of the first questions to the store
        questions.clear()

        def meet(_n: int, path: str, _body: bytes, number: int = number) -> bool:
            if path == "/query":
                questions.append(number)
                if len(questions) == number:
                    ingest(there)
            return False

        proxy.after = meet
        with Workspace.open(here) as work:
            (found,) = work.why(["handlers/user.go"])
            text = "".join(chunk.content for chunk in work.ingested().document(ID).chunks)
        assert (found, "There." in text) == (before, False)
        assert len(questions) >= number
        proxy.after = None
        ingest(here)


def test_a_store_that_is_only_read_answers_and_takes_nothing(
    tmp_path: Path, server: OxigraphServer, proxy: Proxy
) -> None:
    writer = remote_workspace(tmp_path / "writer", server.url, "readers-1")
    ingest(writer)
    reader = clone_of(writer, tmp_path / "reader", proxy.url, "readers-1")
    proxy.fault = lambda _n, path, _body: WrongAnswer(403) if path != "/query" else None
    with (
        Workspace.open(reader) as work,
        pytest.raises(RemoteStoreFailed, match=r"graph\.read_only"),
    ):
        work.ingest()
    config = remote_config(proxy.url, "readers-1", read_only="true")
    write(reader, {".hornbook/config.yaml": config})
    with Workspace.open(reader) as work, Workspace.open(writer) as other:
        assert work.why(["handlers/user.go"]) == other.why(["handlers/user.go"])
        assert work.ingest().changed == 0
        assert work.export() == other.export()
    edit(reader)
    with Workspace.open(reader) as work:
        with pytest.raises(RemoteStoreFailed, match=r"only read here.*error-handling.*allowed"):
            work.why(["handlers/user.go"])
        assert work.snapshot().document(ID).id == ID
