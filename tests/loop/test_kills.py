"""Processes that carry out a plan are killed with SIGKILL at their effects: nothing is lost.

Here some telling effects are chosen. `make test-kills` kills before each effect of every route, and
inside of each that has an inside, on both databases; that takes hours.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.kit.engines import DATABASES, database_for
from tests.kit.kill_cases import ROUTES, Kill, Place, Zygote, copied, kills, prepared

EVERY = os.environ.get("HORNBOOK_KILLS") == "every"
SLICES = 16


@dataclass(frozen=True)
class Whole:
    """A route that nobody disturbed: where it began, its effects and what it came to."""

    template: Path
    effects: tuple[str, ...]
    result: tuple[str, ...]


class Wholes:
    """The undisturbed routes, each gone once."""

    def __init__(self, folder: Path, zygote: Zygote) -> None:
        self._folder = folder
        self.zygote = zygote
        self._known: dict[tuple[str, str], Whole] = {}

    def of(self, route: str, database: str) -> Whole:
        if (route, database) not in self._known:
            folder = self._folder / f"{route}-{database}"
            template = prepared(folder / "template", ROUTES[route])
            with database_for(database) as url:
                place = copied(template, folder / "whole", self.zygote, url)
                place.carry_through()
                place.check()
                whole = Whole(template, tuple(place.effects), tuple(place.result()))
            self._known[route, database] = whole
        return self._known[route, database]


@pytest.fixture(scope="module")
def wholes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wholes]:
    zygote = Zygote()
    yield Wholes(tmp_path_factory.mktemp("wholes"), zygote)
    zygote.close()


def survives(place: Place, whole: Whole, kill: Kill) -> None:
    """Kill a process at an effect, go on, and compare with the route that nobody disturbed."""
    place.carry_through(kill)
    place.check()
    assert tuple(place.result()) == whole.result


EVENT = "commit INSERT INTO hornbook_events"
CHOSEN = [
    ("approved", "sqlite", Kill("schema CREATE TABLE workflow_events")),
    ("approved", "sqlite", Kill(f"{EVENT} agent.task.development")),
    ("approved", "sqlite", Kill("run python3", 1, "inside")),
    ("approved", "postgres", Kill("git update-ref", 5, "inside")),
]


@dataclass(frozen=True)
class Way:
    """A route on a database, and how it is cut off."""

    route: str
    database: str
    how: str


def ways() -> list[object]:
    """Each route on each database, cut off before and inside of effects."""
    return [
        pytest.param(Way(route, name, how), marks=marks, id=f"{route}-{name}-{how}")
        for route in ROUTES
        for database in DATABASES
        for how in ("before", "inside")
        for name, marks in [_database(database)]
    ]


def _database(given: object) -> tuple[str, tuple[pytest.MarkDecorator, ...]]:
    if isinstance(given, str):
        return given, ()
    values, marks = getattr(given, "values"), getattr(given, "marks")  # noqa: B009  # of a parameter set
    return str(values[0]), tuple(marks)


@pytest.mark.skipif(EVERY, reason="all effects are killed at, these among them")
@pytest.mark.parametrize(("route", "database", "kill"), CHOSEN)
def test_a_kill_at_a_telling_effect_changes_nothing(
    tmp_path: Path, wholes: Wholes, route: str, database: str, kill: Kill
) -> None:
    whole = wholes.of(route, database)
    with database_for(database) as url:
        place = copied(whole.template, tmp_path / "killed", wholes.zygote, url)
        survives(place, whole, kill)
        assert len(place.left) == 1


@pytest.mark.skipif(not EVERY, reason="takes hours: `make test-kills`")
@pytest.mark.parametrize("part", range(SLICES if EVERY else 1))
@pytest.mark.parametrize("way", ways()[: None if EVERY else 1])
def test_a_kill_at_any_effect_changes_nothing(
    tmp_path: Path, wholes: Wholes, way: Way, part: int
) -> None:
    whole = wholes.of(way.route, way.database)
    for number, kill in enumerate(kills(whole.effects, way.how)[part::SLICES]):
        with database_for(way.database) as url:
            place = copied(whole.template, tmp_path / str(number), wholes.zygote, url)
            survives(place, whole, kill)
