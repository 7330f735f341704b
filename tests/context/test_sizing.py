from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook import Workspace
from hornbook.context.budget import task_room, too_large
from hornbook.context.sizing import SizedFile, reasons_against
from hornbook.errors import ConfigError, UsageError
from hornbook.settings.reserve import Reserve, ReserveFrom
from hornbook.settings.settings import Budget
from tests.kit.workspaces import SOPS, with_the_example_sop, write

BUDGET = Budget()
RESERVE = Reserve(4000, ReserveFrom.DEFAULT, planned=4000)


def test_the_numbers_of_the_source_documents_hold() -> None:
    given_room = task_room(200_000, sweet_spot=0, budget=BUDGET)
    assert (given_room.available, given_room.limit) == (156_100, 62_440)


def test_a_window_below_16353_is_a_configuration_error() -> None:
    assert task_room(16_353, sweet_spot=0, budget=BUDGET).available == 1
    with pytest.raises(ConfigError, match="16352"):
        task_room(16_352, sweet_spot=0, budget=BUDGET)


def test_a_sweet_spot_is_the_limit_up_to_what_is_available() -> None:
    assert task_room(200_000, sweet_spot=100_000, budget=BUDGET).limit == 100_000
    assert task_room(200_000, sweet_spot=999_999, budget=BUDGET).limit == 156_100


@given(st.integers(16_353, 2_000_000), st.integers(0, 2_000_000))
def test_too_large_is_exact_at_the_border(window: int, estimate: int) -> None:
    space = task_room(window, sweet_spot=0, budget=BUDGET)
    expected = estimate * 100 > space.available * 40
    assert too_large(estimate, space, sweet_spot=0, budget=BUDGET) is expected


def test_every_reason_is_named() -> None:
    space = task_room(16_400, sweet_spot=0, budget=BUDGET)
    files = [SizedFile(f"{n}.py", 100) for n in range(5)]
    reasons = reasons_against(
        500, files, space, rule_tokens=5000, reserve=RESERVE, sweet_spot=0, budget=BUDGET
    )
    assert [each.code for each in reasons] == ["over_budget", "too_many_files", "sop_over_reserve"]


@pytest.fixture
def work(tmp_path: Path) -> Workspace:
    root = with_the_example_sop(tmp_path)
    write(
        root,
        {
            "handlers/a.go": "x" * 41,
            "handlers/b.go": "y" * 8,
            "api.pb.go": "z" * 4000,
            "é.py": "é" * 8,
        },
    )
    work = Workspace.open(root)
    work.ingest()
    return work


def test_the_estimate_rounds_each_part_up(work: Workspace) -> None:
    answer = work.size(["handlers/a.go", "é.py"], description="12345", criteria=["1", "12345678"])
    assert answer.estimate == 11 + 2 + 2 + 1 + 2
    assert answer.counter == "heuristic"
    assert answer.fits


def test_globs_are_expanded_and_generated_files_count_a_hundred(work: Workspace) -> None:
    answer = work.size(["**/*.go"])
    assert [(file.path, file.tokens) for file in answer.files] == [
        ("api.pb.go", 100),
        ("handlers/a.go", 11),
        ("handlers/b.go", 2),
    ]


def test_binary_files_count_a_hundred(work: Workspace) -> None:
    (work.root / "data.bin").write_bytes(b"\0" * 9000)
    assert work.size(["data.bin"]).estimate == 100


def test_a_file_to_be_created_counts_nothing(work: Workspace) -> None:
    (file,) = work.size(["new.go"]).files
    assert (file.tokens, file.note) == (0, "to be created")


def test_four_files_are_a_warning_and_five_too_many(work: Workspace) -> None:
    four = work.size([f"{n}.py" for n in range(4)])
    assert four.fits
    assert [each.code for each in four.warnings] == ["many_files"]
    five = work.size([f"{n}.py" for n in range(5)])
    assert [each.code for each in five.reasons] == ["too_many_files"]


def test_rules_over_the_reserve_are_a_reason(work: Workspace) -> None:
    write(work.root, {f"{SOPS}/large.md": "---\napplies_to: '*.go'\n---\n# L\n\n" + "word " * 5000})
    work.ingest()
    fits = work.size(["a.go"])
    assert (fits.reserve, fits.reserve_from, fits.over_planned) == (30_000, "default", True)
    assert fits.fits
    over = work.size(["a.go"], reserve=4000)
    assert [each.code for each in over.reasons] == ["sop_over_reserve"]
    assert over.available == fits.available == 156_100


def test_the_reserve_is_that_of_the_window_asked_for(work: Workspace) -> None:
    assert work.size(["a.go"], window=100_000).reserve == 15_000
    assert work.size(["a.go"], window=20_000).reserve == 4000
    assert work.size(["a.go"], model="gpt").reserve == 150_000
    assert work.size(["a.go"], window=100_000, reserve="10%").reserve == 10_000


def test_unknown_models_and_no_files_are_refused(work: Workspace) -> None:
    with pytest.raises(UsageError, match="no model 'nope'"):
        work.size(["a.go"], model="nope")
    with pytest.raises(UsageError, match="no files"):
        work.size([])


def test_a_window_may_be_given(work: Workspace) -> None:
    assert work.size(["a.go"], window=20_000).window == 20_000
    with pytest.raises(ConfigError):
        work.size(["a.go"], window=10_000)
