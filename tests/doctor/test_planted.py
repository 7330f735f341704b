"""Each planted defect is found by its name, and nothing else is told of a sound repository."""

import shutil
from pathlib import Path

import pytest

from hornbook.workspace import Workspace
from tests.doctor.planted import DEFECTS, Defect, sound


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sound(tmp_path_factory.mktemp("sound"))


def serious(root: Path) -> list[tuple[str, str]]:
    with Workspace.open(root) as work:
        found = work.doctor().findings
    return [
        (each.code, each.path) for each in found if each.level != "info" or each.code == "stale"
    ]


def test_a_sound_repository_has_nothing_to_tell(base: Path) -> None:
    with Workspace.open(base) as work:
        health = work.doctor()
    assert (health.grade, [each.answer() for each in health.findings]) == ("A", [])
    assert not (base / ".hornbook").exists()


def test_there_are_more_than_twenty_five_kinds_of_defect() -> None:
    assert len({defect.name for defect in DEFECTS}) > 25


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_a_planted_defect_is_found(defect: Defect, base: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(base, tmp_path / "spoilt"))
    defect.plant(root)
    found = serious(root)
    assert (defect.code, defect.path) in found
    assert {path for _, path in found} == {defect.path}
