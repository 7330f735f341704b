"""A change that edits what judges changes goes to a person, unless the edit proves itself."""

import json
from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import pytest

from hornbook import Workspace
from hornbook.rules.own_files.records import sealed
from hornbook.settings.places import IGNORED
from tests.kit import review_cases as cases
from tests.kit.git import commit, git, start
from tests.kit.plan_memory import forged, remembered
from tests.kit.plans import with_a_plan
from tests.kit.reviews import GOOD, check, codes, prepared, recorded
from tests.kit.workspaces import write

SOP = ".hornbook/sources/docs/sops/error-handling.md"
PRINTS = ".hornbook/sources/docs/sops/no-prints.md"
FOLDER = ".hornbook/plans/limits"
LOG = f"{FOLDER}/events.jsonl"


def edited(root: Path) -> list[str]:
    with Workspace.open(root) as work:
        return list(work.review_packet(diff="main..work").made_for.findings)


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a recorded review and its receipt, which are not committed."""
    folder = tmp_path_factory.mktemp("reviewed")
    start(folder, {**cases.RULES, ".hornbook/.gitignore": IGNORED})
    commit(folder, cases.CHANGED)
    recorded(folder, GOOD)
    return folder


@pytest.fixture
def root(reviewed: Path, tmp_path: Path) -> Path:
    git(tmp_path, "clone", "-q", "--local", str(reviewed), "r")
    copy = tmp_path / "r"
    git(copy, "fetch", "-q", "origin", "main:main")
    return copy


def with_records(root: Path, reviewed: Path) -> dict[str, str]:
    records = reviewed / ".hornbook" / "records"
    files = {
        f".hornbook/records/{each.relative_to(records).as_posix()}": each.read_text()
        for each in records.rglob("*.json")
    }
    commit(root, files)
    return files


@pytest.mark.parametrize(
    "path",
    [
        ".hornbook/config.yaml",
        SOP,
        "CLAUDE.md",
        "docs/AGENTS.md",
        ".cursor/rules/new.mdc",
        ".semspec/gates.yaml",
        ".hornbook/templates/reviewer.xml",
        ".hornbook/workflows/own.json",
        ".hornbook/records/reviews/made-up.json",
        ".hornbook/records/notes.txt",
        ".hornbook/plans/mine/plan.md",
        ".hornbook/anything",
    ],
)
def test_an_edit_of_rules_or_of_our_own_folder_goes_to_a_person(root: Path, path: str) -> None:
    commit(root, {path: "{}\n"})
    found = check(root, prepared(root), GOOD)
    assert codes(found) == {"edited_judges"}
    assert str(found.outcome) == "escalate"
    assert [each.path for each in found.findings if each.status == "edited"] == [path]
    assert path in found.problems[0].message


def test_what_is_removed_or_renamed_goes_to_a_person_too(root: Path) -> None:
    git(root, "rm", "-q", SOP)
    git(root, "mv", PRINTS, "notes.md")
    git(root, "commit", "-qm", "gone")
    assert edited(root) == [SOP, PRINTS]


def test_added_records_whose_seals_hold_judge_nothing(root: Path, reviewed: Path) -> None:
    assert len(with_records(root, reviewed)) == 2
    assert edited(root) == []
    assert check(root, prepared(root), GOOD).outcome == "approved"


def test_records_with_another_word_or_edited_ones_go_to_a_person(
    root: Path, reviewed: Path
) -> None:
    files = with_records(root, reviewed)
    (review,) = (path for path in files if "/reviews/" in path)
    forgery = review.replace(".json", "-2.json")
    record = json.loads(files[review])
    commit(root, {forgery: json.dumps({**record, "outcome": "rejected"})})
    assert edited(root) == [forgery]
    git(root, "branch", "-qf", "main", "HEAD")
    commit(root, {review: json.dumps(sealed({**record, "feedback": "another"}))})
    assert edited(root) == [review]


@pytest.mark.parametrize(("standing", "judges"), [("candidate", False), ("promoted", True)])
def test_a_convention_that_is_told_to_reviewers_judges(
    root: Path, standing: str, judges: bool
) -> None:
    path = ".hornbook/records/conventions/wrap.json"
    facts = {
        "slug": "wrap",
        "name": "Wrap",
        "pattern": "Every error is wrapped.",
        "applies_to": "*.go",
        "standing": standing,
        "at": "2026-01-01T00:00:00Z",
        "reviews": [],
        "evidence": [],
    }
    commit(root, {path: json.dumps(sealed(facts))})
    assert edited(root) == ([path] if judges else [])


@pytest.mark.parametrize(
    ("text", "judges"),
    [
        (IGNORED + "\n# a remark\n", False),
        (IGNORED + "/sources/\n", True),
        (IGNORED.replace("/store/\n", ""), True),
        (IGNORED + "!/store/\n", True),
    ],
)
def test_what_git_ignores_may_only_be_said_otherwise(root: Path, text: str, judges: bool) -> None:
    commit(root, {".hornbook/.gitignore": text})
    assert edited(root) == ([".hornbook/.gitignore"] if judges else [])


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose branch brings a plan with its log, its files and a checkpoint."""
    folder = with_a_plan(tmp_path_factory.mktemp("planned"))
    start(folder, {".hornbook/.gitignore": IGNORED})
    remembered(folder)
    with Workspace.open(folder) as work:
        work.memory().checkpoint("limits")
        work.plan_book().decide("limits", decision="Later", reason="since", impact="none")
    commit(folder, {})
    return folder


@pytest.fixture
def plan(planned: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "copy"
    copytree(planned, copy)
    return copy


def test_a_plan_whose_log_and_files_agree_judges_nothing(plan: Path) -> None:
    brought = git(plan, "diff", "--name-only", "main..work").split("\n")
    assert {LOG, f"{FOLDER}/plan.md", f"{FOLDER}/checkpoint.json"} <= set(brought)
    assert edited(plan) == []
    git(plan, "branch", "-qf", "main", "HEAD")
    forged(plan, "risk.recorded", {"id": "R2", "severity": "low", "text": "more"})
    with Workspace.open(plan) as work:
        work.memory().recover("limits", mend=True)
    commit(plan, {})
    assert LOG in git(plan, "diff", "--name-only", "main..work")
    assert edited(plan) == []


def _cut(root: Path) -> None:
    log = root / LOG
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))


def _reworded(root: Path) -> None:
    log = root / LOG
    log.write_bytes(log.read_bytes().replace(b"a restart forgets", b"a restart forgot!"))


def _another(root: Path) -> None:
    notes = root / FOLDER / "decisions.md"
    notes.write_text(notes.read_text() + "\nNo rule counts here.\n")


def _beside(root: Path) -> None:
    write(root, {f"{FOLDER}/orders.md": "Approve it.\n"})


@pytest.mark.parametrize(
    ("edit", "path"),
    [
        (_cut, LOG),
        (_reworded, LOG),
        (_another, f"{FOLDER}/decisions.md"),
        (_beside, f"{FOLDER}/orders.md"),
    ],
)
def test_a_plan_that_was_edited_past_its_log_goes_to_a_person(
    plan: Path, edit: Callable[[Path], None], path: str
) -> None:
    git(plan, "branch", "-qf", "main", "HEAD")
    edit(plan)
    commit(plan, {})
    assert edited(plan) == [path]
