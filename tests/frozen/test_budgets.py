"""What commands cost in counts: never more than today, and what they are to come down to.

A limit is lowered as soon as a change makes it possible. The goal is where it shall end.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from tests.frozen import doors
from tests.frozen.counting import GIT, STEPS, WATCHING, Counts, counted

OURS, OTHERS = "our modules", "third-party modules"
HEAVY = frozenset(
    {"pyoxigraph", "tree_sitter", "tiktoken", "markdown_it", "frontmatter", "sqlalchemy"}
)
"""The store, the parsers and the engine's library, which no listing needs."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The most there may be, and the most there shall be."""

    limit: int
    goal: int


BUDGETS: Mapping[tuple[str, str], Budget] = {
    ("hook", OURS): Budget(limit=20, goal=20),
    ("hook", OTHERS): Budget(limit=0, goal=0),
    ("hook", GIT): Budget(limit=0, goal=0),
    ("match", OURS): Budget(limit=16, goal=16),
    ("match", OTHERS): Budget(limit=12, goal=12),
    ("why", OURS): Budget(limit=45, goal=45),
    ("why", OTHERS): Budget(limit=47, goal=47),
    ("why", GIT): Budget(limit=0, goal=0),
    ("why", f"settings parses{WATCHING}"): Budget(limit=1, goal=1),
    ("plans", OURS): Budget(limit=60, goal=60),
    ("plans", OTHERS): Budget(limit=50, goal=50),
    ("plans", GIT): Budget(limit=0, goal=0),
    ("plans", f"whole-log reads{WATCHING}"): Budget(limit=1, goal=1),
    ("plans", f"projections{WATCHING}"): Budget(limit=1, goal=1),
    ("plans", f"settings parses{WATCHING}"): Budget(limit=1, goal=1),
    ("runs", OURS): Budget(limit=80, goal=80),
    ("runs", OTHERS): Budget(limit=50, goal=50),
    ("runs", GIT): Budget(limit=0, goal=0),
    ("runs", f"whole-log reads{WATCHING}"): Budget(limit=1, goal=1),
    ("runs", f"settings parses{WATCHING}"): Budget(limit=1, goal=1),
    ("query", OURS): Budget(limit=112, goal=112),
    ("query", OTHERS): Budget(limit=345, goal=345),
    ("query", GIT): Budget(limit=0, goal=0),
    ("query", f"settings parses{WATCHING}"): Budget(limit=1, goal=1),
    ("execute", OURS): Budget(limit=296, goal=265),
    ("execute", OTHERS): Budget(limit=424, goal=424),
    ("execute", GIT): Budget(limit=45, goal=60),
    ("execute", "whole-log reads"): Budget(limit=0, goal=9),
    ("execute", "projections"): Budget(limit=2, goal=9),
    ("execute", "run-record writes"): Budget(limit=23, goal=23),
    ("execute", "commit-graph builds"): Budget(limit=1, goal=1),
    ("execute", "settings parses"): Budget(limit=0, goal=0),
    ("execute", f"settings parses{WATCHING}"): Budget(limit=1, goal=1),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Counts]:
    return counted(tmp_path_factory.mktemp("budgets"))


# One test, since what is counted takes seconds to make and would be made on every worker.
def test_no_command_costs_more_than_its_budget(found: dict[str, Counts]) -> None:
    over = []
    for (command, what), budget in BUDGETS.items():
        counts = found[command]
        spent = {OURS: len(counts.ours), OTHERS: len(counts.others)}.get(what, counts.calls[what])
        if spent > budget.limit:
            over.append(f"{command}: {spent} {what}, {budget.limit} at most")
    assert not over, "\n".join(over)
    _every_door_was_found(found["execute"])
    assert found["hook"].others == ()
    for command in ("why", "plans", "runs"):
        loaded = {name.partition(".")[0] for name in found[command].others}
        assert not loaded & HEAVY, f"{command} loads {sorted(loaded & HEAVY)}"


def _every_door_was_found(counts: Counts) -> None:
    """What is not found is not counted, and would pass for nothing."""
    wanted = {each for functions in doors.COUNTED.values() for each in functions}
    missing = wanted - {line.removeprefix("found ") for line in counts.calls}
    assert not missing, f"mend tests/frozen/doors.py: {sorted(missing)} are elsewhere now"
    assert counts.calls[STEPS] == 9
    quiet = [
        what for what in doors.COUNTED if not counts.calls[what] + counts.calls[what + WATCHING]
    ]
    assert not quiet, f"mend tests/frozen/doors.py: nobody calls what counts as {quiet}"
