"""Whatever is done to a file below `.hornbook/`, `verify` names the file."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.disk import FileFault
from hornbook.graph.verification import IndexCheck
from hornbook.loop.verification import StateCheck
from tests.kit.git import git
from tests.kit.tax_plan import RULE, hornbook, with_the_tax_plan

TASK = "plans/add-tax/tasks/1"
KEPT = f"{TASK}/artifacts"
INDEX = {
    "the pointer to the index": "store/CURRENT",
    "the catalog": "store/generations/*/catalog",
    "the seal of the index": "store/generations/*/seal",
    "a table of the graph": "store/generations/*/graph/*.sst",
    "the graph's own list of tables": "store/generations/*/graph/MANIFEST-*",
    "an extract": "store/generations/*/extracts/[0-9]*",
    "where extracts lie": "store/generations/*/extracts/places",
    "what files looked like": "store/seen",
    "the journal": "objects/journal.jsonl",
    "a past text": "objects/??/*",
    "a receipt": "records/receipts/*.json",
    "a review": "records/reviews/*.json",
}
STATE = {
    "the database of events": "events.db",
    "the export of a plan": "plans/add-tax/events.jsonl",
    "the plan as people read it": "plans/add-tax/plan.md",
    "its decisions": "plans/add-tax/decisions.md",
    "its risks": "plans/add-tax/risks.md",
    "a task": f"{TASK}/task.yaml",
    "how a task stands": f"{TASK}/state.yaml",
    "what was done for it": f"{TASK}/actions.jsonl",
    "what the next attempt knows": f"{TASK}/working_memory.yaml",
    "a prompt of the developer": f"{KEPT}/inputs/*-developer.md",
    "a packet of the reviewer": f"{KEPT}/inputs/[0-9a-f]*[0-9a-f].md",
    "an answer of the developer": f"{KEPT}/outputs/*-developer.md",
    "an answer of the reviewer": f"{KEPT}/outputs/*-reviewer-0-1.json",
    "a patch": f"{KEPT}/snapshots/*.patch",
    "a snapshot": f"{KEPT}/snapshots/*/0001/after",
    "a list of edits": f"{KEPT}/snapshots/*/edits.json",
    "a recorded decision": "records/decisions/*.json",
    "a recorded risk": "records/risks/*.json",
    "a recorded run": "records/runs/add-tax-t1-1.json",
    "a recorded review": "records/reviews/add-tax-t1-1.1.json",
    "a kept receipt": "records/receipts/*.json",
    "the engine's database": "engine.db",
    "up to where files were written": "events.db-written",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan that was carried out, and `older`, which is what was there before the last of it."""
    root = with_the_tax_plan(tmp_path_factory.mktemp("made"))
    answer = hornbook(root, "execute", "add-tax", "--agent", "scripted")
    assert answer.returncode == 0, answer.stderr
    _decide(root, 1)
    _ingest(root)
    shutil.copytree(root / ".hornbook", root / "older")
    _decide(root, 2)
    (root / ".hornbook/sources/docs/sops/naming.md").write_text(RULE + "\nAnd MUST be short.\n")
    _ingest(root)
    return root


def _decide(root: Path, number: int) -> None:
    said = ("--decision", f"Do {number}", "--reason", "so", "--impact", "none")
    decided = hornbook(root, "decide", "add-tax", *said)
    assert decided.returncode == 0, decided.stderr
    feared = ("--id", "R1", "--severity", "low", "--text", f"It may fail {number} times")
    risk = hornbook(root, "risk", "add-tax", *feared)
    assert risk.returncode == 0, risk.stderr


def _ingest(root: Path) -> None:
    with Workspace.open(root) as work:
        work.ingest()
        generations = work.places.store / "generations"
        current = work.published()
    for place in generations.iterdir():
        if place.name != current:
            shutil.rmtree(place)


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "copy"
    shutil.copytree(made, copy, symlinks=True)
    return copy


def index_faults(root: Path) -> list[FileFault]:
    with Workspace.open(root) as work:
        return list(IndexCheck(work.places).faults())


def state_faults(root: Path) -> list[FileFault]:
    with Workspace.open(root) as work:
        return list(StateCheck(work.places, work.settings).faults())


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def damages(path: Path, older: Path) -> Iterator[tuple[str, bytes | None]]:
    data = path.read_bytes()
    yield "flipped", b"SQLite" + data[6:][::-1] if path.suffix == ".db" else flipped(data)
    yield "cut", data[: len(data) // 2]
    yield "deleted", None
    # An older mark only has the next command write the same files once more.
    if older.exists() and older.read_bytes() != data and path.name != "events.db-written":
        yield "swapped with an older one", older.read_bytes()


def unnamed(root: Path, pattern: str, faults: Callable[[Path], list[FileFault]]) -> list[str]:
    """Each damage to the first file of a kind that `verify` does not name."""
    state = root / ".hornbook"
    path = min(state.glob(pattern))
    shown = f".hornbook/{path.relative_to(state)}"
    whole, found = path.read_bytes(), []
    for name, data in damages(path, root / "older" / path.relative_to(state)):
        path.unlink()  # what is shared by a hard link stays
        if data is not None:
            path.write_bytes(data)
        told = faults(root)
        if not any(each.path == shown and each.code and each.remedy for each in told):
            found.append(f"{name}: {told}")
        path.unlink(missing_ok=True)
        path.write_bytes(whole)
    return found


@pytest.mark.parametrize("kind", INDEX)
def test_each_damage_to_a_file_of_the_index_is_named(root: Path, kind: str) -> None:
    assert index_faults(root) == []
    assert unnamed(root, INDEX[kind], index_faults) == []


@pytest.mark.parametrize("kind", STATE)
def test_each_damage_to_a_file_of_plans_and_runs_is_named(root: Path, kind: str) -> None:
    assert unnamed(root, STATE[kind], state_faults) == []


def test_what_was_carried_out_verifies_and_the_command_says_so(root: Path) -> None:
    answer = hornbook(root, "verify", "--json")
    assert answer.returncode == 0, answer.stdout
    told = json.loads(answer.stdout)
    assert told["ok"] is True
    assert told["problems"] == []
    assert told["checked"] > 60
    git(root, "add", "-f", ".hornbook/plans")
    (root / ".hornbook/plans/add-tax/plan.md").unlink()
    answer = hornbook(root, "verify", "--json")
    assert answer.returncode == 1
    codes = {each["code"] for each in json.loads(answer.stdout)["problems"]}
    assert codes == {"plan_file_missing", "committed_file_missing"}


def test_following_the_remedies_makes_it_whole_again(root: Path) -> None:
    state = root / ".hornbook"
    (state / "events.db").unlink()
    (state / "store" / "CURRENT").unlink()
    (state / "plans/add-tax/plan.md").write_text("nothing\n")
    told = hornbook(root, "verify").stdout
    assert "hornbook plans" in told
    assert "hornbook ingest" in told
    assert hornbook(root, "ingest").returncode == 0
    hornbook(root, "plans")
    hornbook(root, "recover", "add-tax", "--repair")
    answer = hornbook(root, "verify")
    assert answer.returncode == 0, answer.stdout


REMEDY = re.compile(r"`hornbook ([^`]*)`")


@pytest.mark.parametrize(
    "kind",
    [
        "the database of events",
        "the export of a plan",
        "a task",
        "how a task stands",
        "a list of edits",
        "a recorded run",
        "the engine's database",
        "up to where files were written",
    ],
)
def test_following_each_remedy_mends_what_it_is_given_for(root: Path, kind: str) -> None:
    path = min((root / ".hornbook").glob({**INDEX, **STATE}[kind]))
    whole = path.read_bytes()
    for name, data in damages(path, root / "none"):
        path.unlink()
        if data is not None:
            path.write_bytes(data)
        told = json.loads(hornbook(root, "verify", "--json").stdout)["problems"]
        assert told, name
        for _ in range(3):
            _follow(root, told[-1])
            told = json.loads(hornbook(root, "verify", "--json").stdout)["problems"]
            if not told:
                break
        assert told == [], f"{name}: {told}"
        path.unlink(missing_ok=True)
        path.write_bytes(whole)
        hornbook(root, "plans")


def _follow(root: Path, told: dict[str, str]) -> None:
    path, remedy = root / told["path"], told["remedy"]
    assert "`hornbook" not in told["message"], "the remedy is said once"
    if "move it away" in remedy or remedy.startswith("delete it"):
        path.unlink(missing_ok=True)
    command = REMEDY.search(remedy)
    said = "plans" if command is None else command[1]
    hornbook(root, *(["execute", "add-tax"] if said == "execute" else said.split()))


def test_a_folder_where_nothing_happened_yet_is_whole(tmp_path: Path) -> None:
    (tmp_path / ".hornbook").mkdir()
    assert index_faults(tmp_path) == []
    assert state_faults(tmp_path) == []
