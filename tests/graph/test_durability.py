"""Kill it, run two at once, read while it writes: every document stays whole, old or new."""

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hornbook import Workspace, disk
from hornbook.errors import DiskFailed
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
    delays = [0.05, 0.3, 0.45, 0.6, 0.9]
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
                assert assert_whole(tmp_path, {0, 1, 2}) == DOCUMENTS
            except BaseException as failure:  # noqa: BLE001
                failures.append(failure)
                return

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for round_ in (1, 2):
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


class DiskDiary:
    """What was handed to the disk and what got its name, in order."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.kept: list[Path] = []
        self.named: list[tuple[Path, int]] = []
        fsync, replace, whole = os.fsync, os.replace, disk.sync_file_system

        def noted_fsync(handle: int) -> None:
            fsync(handle)
            self.kept.append(Path(f"/proc/self/fd/{handle}").readlink())

        def noted_replace(source: str | Path, target: str | Path) -> None:
            replace(source, target)
            self.named.append((Path(target), len(self.kept)))
            self.kept = [Path(target) if each == Path(source) else each for each in self.kept]

        def noted_sync(inside: Path) -> bool:
            done = whole(inside)
            self.kept += [each for each in inside.parents[0].rglob("*") if each.is_file()]
            return done

        patch.setattr(os, "fsync", noted_fsync)
        patch.setattr(os, "replace", noted_replace)
        patch.setattr(disk, "sync_file_system", noted_sync)

    def before(self, name: str) -> set[Path]:
        """What the disk had when a file of this name got it last."""
        at = [number for path, number in self.named if path.name == name][-1]
        return set(self.kept[:at])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("documents", [2, disk.MANY + 1])
def test_the_disk_has_everything_before_a_name_points_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, documents: int
) -> None:
    write(tmp_path, {f"docs/sops/rule-{n:03}.md": text(n, 0) for n in range(documents)})
    with monkeypatch.context() as patch:
        diary = DiskDiary(patch)
        with Workspace.open(tmp_path) as work:
            work.ingest([tmp_path / "docs"])
            place = work.places.store / "generations" / work.published()
            texts = [path for path in work.places.objects.glob("??/*") if path.is_file()]
            journal = work.places.journal
    settled = diary.before("CURRENT")
    assert len(texts) == documents
    published = [path for path in place.rglob("*") if path.name not in {"LOCK", "LOG"}]
    assert {path.name for path in published} >= {"catalog", "seal", "places", "graph", "extracts"}
    assert {*published, place, place.parent, journal, *texts} - settled == set()
    assert not (journal.parent / "incoming").exists()


def test_what_a_killed_ingest_left_of_its_texts_is_taken_away(tmp_path: Path) -> None:
    write(tmp_path, {"docs/sops/rule-001.md": text(1, 0)})
    left = tmp_path / ".hornbook/objects/incoming/half"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    with Workspace.open(tmp_path) as work:
        work.ingest([tmp_path / "docs"])
        assert work.snapshot().catalog.entries
    assert not left.parent.exists()


FAULTS = {
    errno.ENOSPC: "free some room",
    errno.EMFILE: "ulimit -n",
    errno.EACCES: "right",
    errno.EIO: "check that disk",
}


@pytest.mark.parametrize("code", FAULTS)
@pytest.mark.parametrize("where", ["catalog", "CURRENT"])
def test_an_error_of_the_disk_is_told_as_that_and_nothing_is_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, where: str
) -> None:
    write(tmp_path, {"docs/sops/rule-001.md": text(1, 0)})
    with Workspace.open(tmp_path) as work:
        work.ingest([tmp_path / "docs"])
        published = work.published()
    read_bytes, read_text = Path.read_bytes, Path.read_text

    def failing(self: Path, *arguments: object, **options: object) -> object:
        if self.name == where:
            raise OSError(code, os.strerror(code), str(self))
        real = read_bytes if not arguments and not options else read_text
        return real(self, *arguments, **options)  # type: ignore[arg-type]  # either of them

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", failing)
        patch.setattr(Path, "read_text", failing)
        for ask in (Workspace.ingest, Workspace.snapshot):
            with Workspace.open(tmp_path) as work, pytest.raises(DiskFailed) as told:
                ask(work)
            assert FAULTS[code] in str(told.value)
            assert "nothing is damaged" in str(told.value)
            assert "--rebuild" not in str(told.value)
    with Workspace.open(tmp_path) as work:
        assert work.published() == published


def test_a_document_that_a_limit_keeps_from_us_is_not_taken_for_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"docs/sops/rule-001.md": text(1, 0), "docs/sops/rule-002.md": text(2, 0)})
    with Workspace.open(tmp_path) as work:
        work.ingest([tmp_path / "docs"])
    write(tmp_path, {"docs/sops/rule-002.md": text(2, 1)})
    real = Path.open

    def failing(self: Path, *arguments: object, **options: object) -> object:
        if self.name == "rule-002.md":
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), str(self))
        return real(self, *arguments, **options)  # type: ignore[call-overload]  # as it was called

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", failing)
        with Workspace.open(tmp_path) as work, pytest.raises(DiskFailed, match="ulimit"):
            work.ingest()
    with Workspace.open(tmp_path) as work:
        assert len(work.snapshot().catalog.entries) == 2
