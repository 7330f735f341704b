"""Recovery: whatever was cut off, the log restores the plan byte for byte or says why not."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbook import Workspace
from hornbook.context.recovery import FileState, Recovery, read_export
from hornbook.errors import EventLogError, NotFound, UsageError
from hornbook.loop.memory_gates import GATES, MemoryGate, check_memory
from hornbook.plans.checkpoint import digest_of
from hornbook.plans.events import canonical
from hornbook.plans.log import EventLog
from tests.kit.commands import expect
from tests.kit.plan_memory import NOW, folder_of, forged, made_files, remembered, without_database
from tests.kit.workspaces import write

PLAN = ".hornbook/plans/limits/plan.md"
EXPORT = ".hornbook/plans/limits/events.jsonl"
CHECKPOINT = ".hornbook/plans/limits/checkpoint.json"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return remembered(tmp_path_factory.mktemp("made"))


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def recovered(root: Path, *, mend: bool = False) -> Recovery:
    with Workspace.open(root) as work:
        return work.memory().recover(mend=mend)


def states(found: Recovery) -> dict[str, str]:
    return {each.path: each.state for each in found.differing}


def answer(root: Path, *arguments: str, code: int = 0) -> Any:
    return json.loads(expect(root, "recover", *arguments, "--json", code=code).stdout)


def test_an_untouched_plan_is_restored_byte_for_byte(root: Path) -> None:
    write(root, {"docs/context/ROLES.md": "# Roles\n", "CLAUDE.md": "# Claude\n"})
    before = made_files(root)
    found = answer(root)
    assert found["passed"] is True
    assert found["source"] == "database"
    assert found["restored"][PLAN].encode() == (root / PLAN).read_bytes()
    assert {each["state"] for each in found["files"]} == {"same"}
    assert [Path(each["path"]).name for each in found["core"]] == [
        "CLAUDE.md",
        "CONTEXT_CORE.md",
        "ROLES.md",
        "GUARDRAILS.md",
    ]
    assert [each["sha256"] is None for each in found["core"]] == [False, True, False, True]
    assert found["checkpoint"]["matches"] is True
    assert made_files(root) == before


@pytest.mark.parametrize("name", ["plan.md", "decisions.md", "risks.md"])
def test_a_damaged_file_is_named_with_both_hashes_and_rebuilt(root: Path, name: str) -> None:
    path = folder_of(root) / name
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    found = recovered(root)
    (damaged,) = found.differing
    assert (damaged.path, damaged.state) == (f".hornbook/plans/limits/{name}", FileState.DAMAGED)
    assert (damaged.expected, damaged.found) == (digest_of(whole), digest_of(path.read_bytes()))
    told = expect(root, "recover", code=1).stdout
    assert f"expected {damaged.expected}, found {damaged.found}" in told
    expect(root, "recover", "--repair")
    assert path.read_bytes() == whole
    assert recovered(root).passed
    kept = list((root / ".hornbook" / "quarantine" / "limits").iterdir())
    assert [each.read_bytes() for each in kept] == [whole[: len(whole) // 2]]


def test_a_missing_file_is_written_anew(root: Path) -> None:
    whole = (root / PLAN).read_bytes()
    (root / PLAN).unlink()
    assert states(recovered(root)) == {PLAN: "missing"}
    assert recovered(root, mend=True).passed
    assert (root / PLAN).read_bytes() == whole


def test_an_exploration_that_is_being_edited_is_told_apart_from_damage(tmp_path: Path) -> None:
    root = remembered(tmp_path, commit=False)
    edited = (root / PLAN).read_text().replace("Limit the rate.", "Limit it.")
    (root / PLAN).write_text(edited)
    assert states(recovered(root)) == {PLAN: "edited"}
    (root / PLAN).write_text("# Plan: torn\n\n## Situ")
    assert states(recovered(root)) == {PLAN: "damaged"}


# The pointer


@pytest.mark.parametrize(
    ("pointer", "said"),
    [(None, "there is no"), ("", "is empty"), ("\n", "is empty"), ("limits\nlimits\n", "2 lines")],
)
def test_a_pointer_that_names_no_plan_is_refused(
    root: Path, pointer: str | None, said: str
) -> None:
    path = root / ".hornbook" / "ACTIVE_PLAN"
    path.unlink()
    if pointer is not None:
        path.write_text(pointer)
    with Workspace.open(root) as work:
        memory = work.memory()
        for refused in (memory.recover, memory.checkpoint, lambda: gates(root)):
            with pytest.raises(UsageError, match=said):
                refused()
        assert memory.recover("limits").passed
    if pointer == "":
        assert said in expect(root, "recover", code=2).stderr


# Without the database


def test_the_export_alone_restores_the_plan(root: Path) -> None:
    before = made_files(root)
    without_database(root)
    (root / PLAN).unlink()
    found = recovered(root)
    assert found.source == "export"
    assert not list((root / ".hornbook").glob("events.db")), "looking makes no database"
    assert found.restored[PLAN].encode() == before[PLAN]
    assert recovered(root, mend=True).passed
    assert made_files(root) == before
    assert recovered(root).source == "database"


def test_the_export_cut_off_at_every_byte_gives_its_whole_lines(root: Path) -> None:
    data = (root / EXPORT).read_bytes()
    lines = data.splitlines(keepends=True)
    ends = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
    for cut in range(len(data) + 1):
        found = read_export(data[:cut], "limits", "e")
        # A line that lacks nothing but its end is whole.
        whole = sum(1 for end in ends[1:] if cut >= end - 1)
        assert len(found.events) == whole, cut
        torn = 0 if cut + 1 in ends else cut - max(end for end in ends if end <= cut)
        assert found.torn == torn, cut


@pytest.mark.parametrize("lost", [1, 2, 40, 10_000])
def test_a_torn_last_line_is_dropped_and_told(root: Path, lost: int) -> None:
    without_database(root)
    data = (root / EXPORT).read_bytes()
    if lost > len(data):
        (root / EXPORT).write_bytes(b"")
        with pytest.raises(NotFound, match="there is no event"):
            recovered(root)
        return
    (root / EXPORT).write_bytes(data[:-lost])
    found = recovered(root)
    assert states(found)[EXPORT] == "damaged"
    assert any("was cut off" in each for each in found.notes) is (lost > 1)
    mended = recovered(root, mend=True)
    assert mended.passed
    again = recovered(root)
    assert (again.passed, again.seq) == (True, mended.seq)
    with Workspace.open(root) as work:
        assert work.plan("limits").state.seq == mended.seq


def test_events_that_a_checkpoint_knew_and_the_log_lost_are_told(root: Path) -> None:
    without_database(root)
    (root / EXPORT).write_bytes((root / EXPORT).read_bytes()[:-40])
    found = recovered(root)
    assert not found.passed
    assert found.checkpoint is not None
    assert not found.checkpoint.matches
    assert any("events are lost" in each for each in found.notes)


def test_an_altered_line_in_the_middle_stops_with_its_number(root: Path) -> None:
    without_database(root)
    lines = (root / EXPORT).read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"fair", b"unfair")
    (root / EXPORT).write_bytes(b"".join(lines))
    before = made_files(root)
    told = expect(root, "recover", "--repair", code=1).stderr
    assert "events.jsonl, line 3: its content does not have the hash that it states" in told
    assert made_files(root) == before


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_no_changed_byte_in_the_middle_passes(data: st.DataObject) -> None:
    whole = LINES
    place = data.draw(st.integers(0, whole.rindex(b"\n", 0, len(whole) - 1)))
    byte = data.draw(st.integers(0, 255).filter(lambda found: found != whole[place]))
    changed = whole[:place] + bytes([byte]) + whole[place + 1 :]
    with pytest.raises((EventLogError, UsageError)) as refused:
        read_export(changed, "limits", "e")
    line = whole[:place].count(b"\n") + 1
    told = int(str(refused.value).partition("line ")[2].partition(":")[0])
    assert told in {line, line + 1}, "a line end that is gone is missed one line later"


def test_a_newer_schema_is_refused_whether_the_database_is_there_or_not(root: Path) -> None:
    last = json.loads((root / EXPORT).read_bytes().splitlines()[-1])
    newer = canonical({**last, "seq": last["seq"] + 1, "schema": 3})
    with (root / EXPORT).open("a") as file:
        file.write(newer + "\n")
    for _ in range(2):
        assert "it has schema 3, this Hornbook knows 2" in expect(root, "recover", code=2).stderr
        without_database(root)


# With a database that says something else


def test_a_damaged_export_is_rebuilt_from_the_database(root: Path) -> None:
    whole = (root / EXPORT).read_bytes()
    (root / EXPORT).write_bytes(whole.replace(b"fair", b"unfair"))
    found = recovered(root)
    assert (found.source, states(found)) == ("database", {EXPORT: "damaged"})
    assert recovered(root, mend=True).passed
    assert (root / EXPORT).read_bytes() == whole


def test_a_database_that_cannot_be_read_is_made_anew_from_the_export(root: Path) -> None:
    before = made_files(root)
    without_database(root)
    (root / ".hornbook" / "events.db").write_bytes(b"no database at all" * 100)
    assert "cannot be used" in expect(root, "plans", code=1).stderr
    found = recovered(root)
    assert found.source == "export"
    assert any("cannot be used" in each for each in found.notes)
    assert recovered(root, mend=True).passed
    assert made_files(root) == before
    with Workspace.open(root) as work:
        assert work.plan("limits").state.seq == found.seq


def test_a_plan_that_is_damaged_in_the_database_leaves_the_others_alone(root: Path) -> None:
    with Workspace.open(root) as work:
        work.plan_book().explore("Other")
        work.plan_book().use("limits")
    with sqlite3.connect(root / ".hornbook" / "events.db") as database:
        database.execute(
            "UPDATE hornbook_events SET line = replace(line, 'fair', 'foul') WHERE plan = 'limits'"
        )
    database.close()
    (folder_of(root, "other") / "events.jsonl").unlink()
    found = recovered(root)
    assert found.source == "export"
    assert recovered(root, mend=True).passed
    assert recovered(root).source == "database"
    with Workspace.open(root) as work:
        assert [view.plan.slug for view in work.plans()] == ["other", "limits"]


def test_a_database_that_is_behind_is_completed(root: Path) -> None:
    event = forged(root, "risk.recorded", {"id": "R2", "severity": "low", "text": "t"})
    with_it = (root / EXPORT).read_bytes()
    (root / EXPORT).write_bytes(b"".join(with_it.splitlines(keepends=True)[:-1]))
    with Workspace.open(root) as work:
        work.plan("limits")
    (root / EXPORT).write_bytes(with_it)
    found = recovered(root, mend=True)
    assert (found.source, found.seq) == ("export", event.seq)
    assert "R2" in (folder_of(root) / "risks.md").read_text()


def test_two_whole_logs_that_contradict_each_other_stop(root: Path) -> None:
    lines = (root / EXPORT).read_bytes().splitlines(keepends=True)
    stem = b"".join(lines[:-1])
    (root / EXPORT).write_bytes(stem)
    saved = {each.name: each.read_bytes() for each in (root / ".hornbook").glob("events.db*")}
    forged(root, "risk.recorded", {"id": "R9", "severity": "low", "text": "t"})
    for name, data in saved.items():
        (root / ".hornbook" / name).write_bytes(data)
    with pytest.raises(EventLogError, match=f"line {len(lines)} and event {len(lines)}"):
        recovered(root)


# The checkpoint


def test_a_checkpoint_of_another_log_stops(root: Path) -> None:
    kept = json.loads((root / CHECKPOINT).read_bytes())
    (root / CHECKPOINT).write_text(json.dumps({**kept, "event_hash": "0" * 64}))
    assert "the log was replaced" in expect(root, "recover", code=1).stderr


@pytest.mark.parametrize("text", ["", "{}", "[]", "{", '{"schema": 1, "plan": "x"}'])
def test_a_damaged_checkpoint_is_written_anew(root: Path, text: str) -> None:
    whole = (root / CHECKPOINT).read_bytes()
    (root / CHECKPOINT).write_text(text)
    assert states(recovered(root)) == {CHECKPOINT: "damaged"}
    assert recovered(root, mend=True).passed
    assert (root / CHECKPOINT).read_bytes() == whole


def test_a_newer_checkpoint_is_refused(root: Path) -> None:
    kept = json.loads((root / CHECKPOINT).read_bytes())
    (root / CHECKPOINT).write_text(json.dumps({**kept, "schema": 3}))
    assert "update Hornbook" in expect(root, "recover", code=2).stderr


def test_artifacts_are_compared_and_cannot_be_rebuilt(root: Path) -> None:
    write(root, {"out/a.txt": "a\n", "out/b.txt": "b\n", "out/older.txt": "o\n"})
    named = [
        {"path": f"out/{name}.txt", "sha256": digest_of(f"{name}\n".encode())} for name in "ab"
    ]
    forged(root, "step.ended", {"artifacts": named})
    expect(root, "checkpoint", "--automatic")
    found = recovered(root)
    assert found.passed
    assert [each.path for each in found.artifacts] == ["out/a.txt", "out/b.txt"]
    write(root, {"out/a.txt": "changed\n"})
    (root / "out/b.txt").unlink()
    mended = recovered(root, mend=True)
    assert not mended.passed
    assert states(mended) == {"out/a.txt": "damaged", "out/b.txt": "missing"}


# Killed at every write

KILLED = """
import os, shutil, signal, sys
from pathlib import Path
from hornbook import Workspace
from hornbook.loop.plan_book import PlanBook
from hornbook.settings.settings import Settings

base, place = Path(sys.argv[1]), Path(sys.argv[2])

def work_on(root):
    with Workspace.open(root) as work:
        book = work.plan_book()
        book.decide("limits", decision="One more", reason="r", impact="i")
        book.risk("limits", name="R1", severity="critical", text="worse")
        work.memory().checkpoint("limits")

def killed_at(root, boundary):
    left = boundary

    def count(event, arguments):
        nonlocal left
        written = event == "open" and isinstance(arguments[2], int) and arguments[2] & (
            os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if written or event in {"os.rename", "os.remove", "os.mkdir", "os.truncate"}:
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    work_on(root)

boundary = 0
while True:
    root = place / str(boundary)
    shutil.copytree(base, root)
    child = os.fork()
    if child == 0:
        killed_at(root, boundary)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status):
        assert os.WEXITSTATUS(status) == 0
        break
    boundary += 1
print(boundary)
"""


def test_a_process_killed_at_any_write_leaves_a_plan_that_is_restored(
    root: Path, tmp_path: Path
) -> None:
    base, place = tmp_path / "base", tmp_path / "killed"
    place.mkdir()
    base.mkdir()
    subprocess.run(["cp", "-r", str(root / ".hornbook"), str(base)], check=True)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(base), str(place)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ},
    )
    boundaries = int(done.stdout)
    assert boundaries > 10
    known = len((root / EXPORT).read_bytes().splitlines())
    for number in range(boundaries):
        found = recovered(place / str(number), mend=True)
        assert found.passed, number
        assert known <= found.seq <= known + 2
        again = recovered(place / str(number))
        assert again.passed
        assert again.restored[PLAN].encode() == (place / str(number) / PLAN).read_bytes()
        with Workspace.open(place / str(number)) as work:
            assert not work.plan("limits").problems
        drafts = [each for each in made_files(place / str(number)) if each.endswith(".draft")]
        assert drafts == []


# The gates of a plan's memory


def gates(root: Path) -> dict[str, MemoryGate]:
    with Workspace.open(root) as work:
        found = check_memory(work.memory(), work.plan_book(), work.root, None)
    return {gate.name: gate for gate in found}


def failing(root: Path) -> set[str]:
    return {name for name, gate in gates(root).items() if not gate.passed}


def test_the_gates_of_a_plans_memory_pass_and_write_nothing(root: Path) -> None:
    before = made_files(root)
    assert tuple(gates(root)) == GATES
    assert failing(root) == set()
    assert made_files(root) == before
    told = json.loads(expect(root, "recover", "--check", "--json").stdout)
    assert (told["passed"], len(told["gates"])) == (True, 4)


def test_each_gate_of_a_plans_memory_can_fail(root: Path) -> None:
    kept = json.loads((root / CHECKPOINT).read_bytes())
    altered = {**kept, "files": {**kept["files"], PLAN: "0" * 64}}
    (root / CHECKPOINT).write_text(json.dumps(altered))
    assert failing(root) == {"compaction", "recovery"}
    expect(root, "recover", "--repair")
    assert failing(root) == set()
    whole = (root / PLAN).read_text()
    (root / PLAN).write_text(whole.replace("- OUT: handlers/admin/**", "- OUT: [unclosed"))
    assert failing(root) >= {"recovery", "guardrail"}
    (root / PLAN).write_text(whole)
    (root / "handlers" / "user.go").unlink()
    assert failing(root) == {"evaluator"}
    assert "file_missing" in expect(root, "recover", "--check", code=1).stdout


def test_checking_and_repairing_are_two_things(root: Path) -> None:
    assert "give one of them" in expect(root, "recover", "--check", "--repair", code=2).stderr


def _lines() -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        log = EventLog(Path(place), lambda: NOW)
        for number in range(4):
            data = {"id": f"R{number}", "severity": "low", "text": "é\u2028x"}
            log.append("limits", "risk.recorded", data, key=str(number))
        log.close()
        return (Path(place) / "plans" / "limits" / "events.jsonl").read_bytes()


LINES = _lines()
