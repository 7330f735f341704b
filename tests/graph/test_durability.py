"""Kill it, run two at once, read while it writes: every document stays whole, old or new."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.graph.generations import Generations
from hornbook.graph.ingest.history import Journal, Objects
from hornbook.graph.oxigraph import OxigraphStore
from tests.kit.waiting import SAFETY
from tests.kit.workspaces import write

DOCUMENTS = 150


def text(number: int, round_: int) -> str:
    body = "".join(f"## Part {part}\n\nRound {round_} says {number}.\n\n" for part in range(4))
    return f"---\napplies_to: '*.x{number}'\nseverity: error\n---\n# Rule {number}\n\n{body}"


def fill(root: Path, round_: int) -> None:
    write(root, {f"docs/sops/rule-{n:03}.md": text(n, round_) for n in range(DOCUMENTS)})


def command(root: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "hornbook", "--root", str(root), *arguments]


def start(root: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        command(root, *arguments),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=root,
        start_new_session=True,
    )


def assert_whole(root: Path, rounds: set[int]) -> int:
    """Every document in the graph is one of the texts it ever had; how many there are."""
    with Workspace.open(root) as work:
        snapshot = work.snapshot()
        for entry in snapshot.catalog.entries:
            document = snapshot.document(entry.id)
            number = int(entry.id.rpartition("-")[2])
            assert document.head + document.body in {text(number, each) for each in rounds}
            assert len(document.chunks) == entry.chunk_count
        return len(snapshot.catalog.entries)


def test_a_kill_storm_loses_nothing(tmp_path: Path) -> None:
    fill(tmp_path, 0)
    rounds = {0}
    delays = [0.05, 0.3, 0.45, 0.6, 0.75, 0.9, 0.5, 0.65]
    present = 0
    for round_, delay in enumerate(delays, 1):
        process = start(tmp_path, "ingest", "docs")
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        found = assert_whole(tmp_path, rounds)
        assert found >= present
        present = found
        fill(tmp_path, round_)
        rounds.add(round_)
    with Workspace.open(tmp_path) as work:
        assert work.ingest([tmp_path / "docs"]).documents == DOCUMENTS
        before = work.export()
        work.ingest(rebuild=True)
        assert work.export() == before
    assert assert_whole(tmp_path, {len(delays)}) == DOCUMENTS


class Crash(BaseException):
    """The power goes off."""


def before(owner: type, name: str) -> Callable[[pytest.MonkeyPatch], None]:
    def arm(patch: pytest.MonkeyPatch) -> None:
        def crash(*_: object, **__: object) -> None:
            raise Crash

        patch.setattr(owner, name, crash)

    return arm


def after(owner: type, name: str) -> Callable[[pytest.MonkeyPatch], None]:
    def arm(patch: pytest.MonkeyPatch) -> None:
        real = getattr(owner, name)

        def crash(*arguments: object, **options: object) -> None:
            real(*arguments, **options)
            raise Crash

        patch.setattr(owner, name, crash)

    return arm


BOUNDARIES = {
    "before the texts are kept": before(Objects, "keep"),
    "after one text was kept": after(Objects, "keep"),
    "before the graph is written": before(Generations, "draft"),
    "after the draft was made": after(Generations, "draft"),
    "after one document was written": after(OxigraphStore, "replace"),
    "before the journal": before(Journal, "append"),
    "after the journal": after(Journal, "append"),
    "before publishing": before(Generations, "publish"),
    "after publishing": after(Generations, "publish"),
}


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_crash_at_any_boundary_is_made_good_by_the_next_ingest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, boundary: str
) -> None:
    files = {"docs/sops/rule-001.md": text(1, 0), "docs/sops/rule-002.md": text(2, 0)}
    write(tmp_path, files)
    with Workspace.open(tmp_path) as work:
        work.ingest([tmp_path / "docs"])
    write(tmp_path, {"docs/sops/rule-001.md": text(1, 1), "docs/sops/rule-003.md": text(3, 0)})
    (tmp_path / "docs/sops/rule-002.md").unlink()
    with monkeypatch.context() as patch:
        BOUNDARIES[boundary](patch)
        with pytest.raises(Crash):
            Workspace.open(tmp_path).ingest()
    assert assert_whole(tmp_path, {0, 1}) == 2
    write(tmp_path, {"docs/sops/rule-001.md": text(1, 2)})
    with Workspace.open(tmp_path) as work:
        work.ingest()
        assert [entry.id[-8:] for entry in work.snapshot().catalog.entries] == [
            "rule-001",
            "rule-003",
        ]
        export = work.export()
        work.ingest(rebuild=True)
        assert work.export() == export
    assert assert_whole(tmp_path, {0, 2}) == 2


def test_a_torn_journal_line_is_dropped(tmp_path: Path) -> None:
    write(tmp_path, {"docs/sops/rule-001.md": text(1, 0)})
    with Workspace.open(tmp_path) as work:
        work.ingest([tmp_path / "docs"])
        with work.places.journal.open("ab") as journal:
            journal.write(b'{"event": "chan')
        write(tmp_path, {"docs/sops/rule-001.md": text(1, 1)})
        work.ingest()
        events = [event.event for event in Journal(work.places.journal).read()]
        assert events == ["followed", "added", "followed", "changed"]


def test_two_ingests_at_once_are_safe(tmp_path: Path) -> None:
    fill(tmp_path, 0)
    running = [start(tmp_path, "ingest", "docs") for _ in range(3)]
    assert [process.wait(SAFETY) for process in running] == [0, 0, 0]
    assert assert_whole(tmp_path, {0}) == DOCUMENTS
    with Workspace.open(tmp_path) as work:
        added = [event for event in Journal(work.places.journal).read() if event.id]
        assert len(added) == DOCUMENTS


def test_readers_never_wait_and_never_see_half_a_document(tmp_path: Path) -> None:
    fill(tmp_path, 0)
    with Workspace.open(tmp_path) as work:
        work.ingest([tmp_path / "docs"])
    stop = threading.Event()
    failures: list[BaseException] = []

    def read() -> None:
        while not stop.is_set():
            try:
                assert assert_whole(tmp_path, {0, 1, 2, 3}) == DOCUMENTS
            except BaseException as failure:  # noqa: BLE001
                failures.append(failure)
                return

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for round_ in (1, 2, 3):
        fill(tmp_path, round_)
        with Workspace.open(tmp_path) as work:
            work.ingest()
    stop.set()
    for reader in readers:
        reader.join()
    assert failures == []


def test_a_snapshot_stays_as_it_was_while_others_publish(tmp_path: Path) -> None:
    write(tmp_path, {"docs/sops/rule-001.md": text(1, 0)})
    with Workspace.open(tmp_path) as reader, Workspace.open(tmp_path) as writer:
        writer.ingest([tmp_path / "docs"])
        snapshot = reader.snapshot()
        for round_ in range(1, 5):
            write(tmp_path, {"docs/sops/rule-001.md": text(1, round_)})
            writer.ingest()
        assert text(1, 0).endswith(snapshot.document("source.doc.sops.rule-001").body)
        assert reader.is_outdated()
        assert text(1, 4).endswith(reader.refresh().document("source.doc.sops.rule-001").body)


def test_old_generations_are_deleted_when_nobody_reads_them(tmp_path: Path) -> None:
    write(tmp_path, {"docs/sops/rule-001.md": text(1, 0)})
    with Workspace.open(tmp_path) as work:
        work.ingest([tmp_path / "docs"])
        for round_ in range(1, 6):
            write(tmp_path, {"docs/sops/rule-001.md": text(1, round_)})
            work.ingest()
        assert len(list((work.places.store / "generations").iterdir())) <= 2
