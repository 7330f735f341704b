"""The trial of presets says what it did not try, and what may count as passed."""

import pytest

from tests.tools.presets import FAILS, HOLDS, NONE, PROJECTS, Project, Tried, trials


def test_a_preset_without_its_tools_is_said_to_be_untried() -> None:
    (said,) = trials([Project("cmake", ("no-such-program",), {}, {})])
    assert said == "cmake: not tried, there is no no-such-program here"


@pytest.mark.parametrize(
    ("kind", "passed", "tested", "right"),
    [
        (HOLDS, True, True, True),
        (HOLDS, True, False, False),
        (HOLDS, False, False, False),
        (FAILS, False, False, True),
        (FAILS, True, True, False),
        (NONE, True, False, True),
        (NONE, True, True, False),
    ],
)
def test_only_a_test_that_holds_may_count_as_passed(
    kind: str, passed: bool, tested: bool, right: bool
) -> None:
    assert Tried("cmake", kind, passed, tested, "").as_it_should_be is right


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.preset)
def test_projects_differ_by_their_test_alone(project: Project) -> None:
    holds, fails = project.written(HOLDS), project.written(FAILS)
    assert project.written(NONE) == project.files
    assert {path for path in holds if holds[path] != fails[path]} <= project.test.keys()
    assert holds != fails
