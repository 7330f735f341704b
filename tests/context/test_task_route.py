"""What becomes of a task before anybody works on it."""

from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.context.sizing import size_task
from hornbook.context.task_route import Route, TaskRoute, route_of
from tests.kit.workspaces import write

SOPS = ".hornbook/sources/docs/sops"


def rule(words: int, applies_to: str = "src/**", heading: str = "") -> str:
    head = f'---\ncategory: sop\napplies_to: "{applies_to}"\nseverity: error\n---\n# R\n\n'
    return head + heading.join(f"Say {applies_to}. " * words for _ in range(3 if heading else 1))


def routed(root: Path, *files: str) -> TaskRoute:
    with Workspace.open(root) as work:
        work.ingest()
        snapshot = work.ingested()
        sizing = size_task(root, snapshot, files)
        found = route_of(sizing, snapshot)
    assert (found.route is Route.START) is sizing.fits
    return found


FILES = {f"src/{name}.py": f"{name} = 1\n" for name in "abcde"}


def test_a_task_that_fits_starts(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    found = routed(tmp_path, "src/a.py", "src/b.py")
    assert (found.route, found.starts) == (Route.START, True)
    assert found.said_of("Task 1") == "Task 1 fits."


def test_too_many_files_are_split(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    found = routed(tmp_path, *FILES)
    assert found.said_of("Task 1") == (
        "Task 1 is split before anybody works on it: the task has 5 files, 4 are the most: split "
        "the task."
    )


def test_a_file_that_is_too_large_alone_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {**FILES, "src/big.py": "x = 1  # a number\n" * 20_000})
    found = routed(tmp_path, "src/a.py", "src/big.py")
    assert (found.route, found.starts) == (Route.REFUSED, False)
    assert "src/big.py alone needs" in found.said_of("Task 1")


@pytest.mark.parametrize(
    ("rules", "files", "route"),
    [
        ({"one": rule(500, "src/a.py"), "two": rule(500, "src/b.py")}, ("a", "b"), Route.SPLIT),
        ({"one": rule(500), "two": rule(500, "src/*")}, ("a",), Route.PASSES),
        ({"one": rule(300, heading="\n\n## More\n\n")}, ("a",), Route.PASSES),
        ({"one": rule(1400)}, ("a",), Route.REFUSED),
    ],
)
def test_more_rules_than_the_reserve_split_or_are_read_in_passes(
    tmp_path: Path, rules: dict[str, str], files: tuple[str, ...], route: Route
) -> None:
    config = {".hornbook/config.yaml": "reserve: 3000\n"}
    write(tmp_path, {**FILES, **config, **{f"{SOPS}/{n}.md": each for n, each in rules.items()}})
    found = routed(tmp_path, *(f"src/{name}.py" for name in files))
    assert found.route is route, found
    assert found.reasons
