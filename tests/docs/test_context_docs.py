"""The pages under docs/context say what the code does: every table in them is compared."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.context.recovery import FileState
from hornbook.context.tier_sources import MOST_ENTRIES
from hornbook.context.tiers import CORE_FILES, LOADED_BY_HOST, TIER_OF, Tier
from hornbook.hooks.command_judge import refusal
from hornbook.loop.memory_gates import _MEANING, GATES
from hornbook.loop.track_import import ACTIVE, CHECKPOINTS, TRACK_FILES, TRACKS
from hornbook.plans.checkpoint import KEYS, SCHEMA
from hornbook.plans.events import FIELDS
from hornbook.plans.state import PLAN_KINDS
from tests.kit.hook_calls import ask, payload
from tests.kit.pages import codes, rows, text_of
from tests.kit.plan_memory import folder_of, remembered
from tests.kit.tracks import FILES, taken_over
from tests.kit.workspaces import write

TIERS = text_of("context/CONTEXT_TIERS")
RULES = text_of("context/COMPACTION_RULES")
FLOW = text_of("context/RECOVERY_FLOW")
PATHS = text_of("context/ARTIFACT_PATHS")
GUARDRAILS = text_of("context/GUARDRAILS")


def test_the_tiers_and_their_sections_are_documented_in_order() -> None:
    listed = rows(TIERS, "tier", "what it holds", "changes")
    assert [codes(tier)[0] for tier, _, _ in listed] == list(Tier)
    sections = rows(TIERS, "section", "tier")
    assert {codes(name)[0]: codes(tier)[0] for name, tier in sections} == TIER_OF
    order = [list(Tier).index(Tier(codes(tier)[0])) for _, tier in sections]
    assert order == sorted(order)


def test_the_core_files_are_documented_in_order_with_who_gives_them() -> None:
    listed = rows(TIERS, "order", "file", "given by")
    assert tuple(codes(path)[0] for _, path, _ in listed) == CORE_FILES
    ours = {codes(path)[0] for _, path, given in listed if given == "Hornbook"}
    assert ours == set(CORE_FILES) - LOADED_BY_HOST
    assert f"{MOST_ENTRIES} entries" in TIERS


def test_the_schema_of_events_is_documented() -> None:
    listed = rows(RULES, "kind", "must have", "may have")
    documented = {codes(kind)[0]: (set(codes(must)), set(codes(may))) for kind, must, may in listed}
    assert documented == {
        kind: (set(required), set(optional)) for kind, (required, optional) in FIELDS.items()
    }
    for name, (required, optional) in documented.items():
        kind = PLAN_KINDS[name]
        assert (set(kind.required), set(kind.optional)) == (required, optional)
    assert all(f"`{kind}`" in text_of("plans") for kind in FIELDS)


def test_the_keys_of_a_checkpoint_are_documented() -> None:
    listed = rows(RULES, "key", "holds")
    assert tuple(codes(key)[0] for key, _ in listed) == KEYS
    assert listed[0][1].startswith(f"{SCHEMA};")


def test_the_files_of_a_checkpoint_are_documented(tmp_path: Path) -> None:
    root = remembered(tmp_path)
    with Workspace.open(root) as work:
        work.plan_book().tasks()
        made = work.memory().checkpoint()
    documented = [codes(file)[0] for file, _ in rows(RULES, "file", "from the events")]
    patterns = [re.sub(r"<n>", r"\\d+", name.replace(".", r"\.")) for name in documented]
    for path in (*made.files, made.path):
        assert any(re.search(f"/{pattern}", path) for pattern in patterns), path
    for pattern in patterns:
        assert any(re.search(f"/{pattern}", path) for path in (*made.files, made.path)), pattern


def test_the_states_and_gates_of_recovery_are_documented() -> None:
    states = rows(FLOW, "state", "meaning", "`--repair`")
    assert [codes(state)[0] for state, _, _ in states] == list(FileState)
    gates = rows(FLOW, "gate", "passes when")
    assert {codes(gate)[0]: meaning for gate, meaning in gates} == _MEANING
    assert tuple(codes(gate)[0] for gate, _ in gates) == GATES


def test_the_layout_that_can_be_imported_is_documented() -> None:
    documented = {codes(path)[0] for path, _ in rows(PATHS, "file", "becomes")}
    known = {f"{TRACKS}/<id>/{name}" for name in TRACK_FILES}
    assert documented >= known | {ACTIVE, f"{CHECKPOINTS}/<id>/latest.json"}


def test_the_commands_that_agents_may_not_run_are_documented() -> None:
    sentence = next(part for part in GUARDRAILS.split("\n\n") if part.startswith("`promote`"))
    for command in codes(sentence.replace("and `retire`", "and `conventions retire`")):
        assert refusal(command.split(), "planner") == command
    assert refusal(["invariants", "propose"], "planner") is None
    assert refusal(["invariants", "propose"], "developer") == "invariants propose"


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """A workspace in which everything was done once."""
    root = write(tmp_path, FILES)
    subprocess.run(["git", "init"], cwd=root, check=True, capture_output=True)
    taken_over(root, root)
    remembered(root)
    with Workspace.open(root) as work:
        work.plan_book().tasks()
        memory = work.memory()
        memory.promote(memory.propose(None, text="t", reason="r"))
        memory.checkpoint()
        with (folder_of(root) / "plan.md").open("a") as file:
            file.write("torn")
        memory.recover(mend=True)
        work.run_gates()
    ask(root, "post-tool-use", payload(root, "Edit", file_path="main.go"))
    ask(root, "pre-tool-use", payload(root, "Write", file_path=".hornbook/x", content=""))
    return root


def test_every_documented_path_is_written(used: Path) -> None:
    places = {"<slug>": "*", "<session>": "*", "<n>": "*", "<hash>": "*"}
    listed = rows(PATHS, "path", "tier", "written by")
    assert {tier for _, tier, _ in listed} == set(Tier)
    for path, _, _ in listed:
        pattern = codes(path)[0]
        for name, glob in places.items():
            pattern = pattern.replace(name, glob)
        assert list(used.glob(pattern)), path
    kept = json.loads((folder_of(used) / "checkpoint.json").read_bytes())
    assert kept["plan"] == "limits"
