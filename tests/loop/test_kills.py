"""Processes that carry out a plan are killed with SIGKILL at their effects: nothing is lost.

Here some telling effects are chosen. `make test-kills` kills at every effect once: before it, and
inside of it if it has an inside, at its last time in the route. The route `approved` is killed at
all of its effects, every other one at those that `approved` has not, and at some that it shares. On
a shared database only those are chosen in which the database, git or a program takes part: files
are written the same way there. `HORNBOOK_KILLS=every` kills at every time, which takes hours.
"""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest

from hornbook.loop.runs.run_book import breaches
from tests.kit.engines import DATABASES, database_for
from tests.kit.kill_cases import (
    FIVE,
    ROUTES,
    SLUG,
    Kill,
    Place,
    Route,
    Zygote,
    copied,
    kills,
    prepared,
)

EVERY = os.environ.get("HORNBOOK_KILLS") == "every"
MANY = EVERY or os.environ.get("HORNBOOK_KILLS") == "once"
SLICES = 16 if EVERY else 4
PLAIN = "approved"
SHARED = 8
"""How many effects that a route shares with the plain one are killed at in it as well."""
OF_THE_DATABASE = ("commit", "schema", "export", "git", "run")


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
CONFINED = "run …"
"""The program that agents and gates run in, whatever confines them on this machine."""
CHOSEN = [
    ("approved", "sqlite", Kill("schema CREATE TABLE workflow_events")),
    ("approved", "sqlite", Kill(f"{EVENT} agent.task.development")),
    ("approved", "postgres", Kill("git update-ref", 2, "inside")),
    ("approved", "sqlite", Kill(CONFINED, 2, "inside")),
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


KILLS = 25
"""How often the plan of five tasks is killed."""


@pytest.mark.skipif(not MANY, reason="takes minutes: `make test-kills`")
def test_five_tasks_killed_at_random_come_to_the_same(tmp_path: Path, wholes: Wholes) -> None:
    template = prepared(tmp_path / "template", Route("five", FIVE))
    whole = copied(template, tmp_path / "whole", wholes.zygote)
    whole.carry_through()
    place = copied(template, tmp_path / "killed", wholes.zygote)
    # So far apart on average that the kills reach into all of the plan and are over before it is.
    place.carry_through_kills(Random(15), KILLS, len(whole.effects) // 10)
    assert len(place.left) == KILLS
    assert place.outcome() == whole.outcome()
    place.check()
    for each in (whole, place):
        ended, _ = each.outcome()
        assert set(ended.values()) == {"approved"}
        assert len(ended) == 6
        assert breaches(each.events(SLUG)) == []
        assert each.rubbish() == each.processes() == []


@pytest.mark.skipif(MANY, reason="all effects are killed at, these among them")
@pytest.mark.parametrize(("route", "database", "kill"), CHOSEN)
def test_a_kill_at_a_telling_effect_changes_nothing(
    tmp_path: Path, wholes: Wholes, route: str, database: str, kill: Kill
) -> None:
    whole = wholes.of(route, database)
    if kill.name == CONFINED:
        programs = Counter(each for each in whole.effects if each.startswith("run "))
        kill = replace(kill, name=programs.most_common(1)[0][0])
    with database_for(database) as url:
        place = copied(whole.template, tmp_path / "killed", wholes.zygote, url)
        survives(place, whole, kill)
        assert len(place.left) == 1


def chosen(wholes: Wholes, way: Way) -> list[Kill]:
    """The kills of a way: all of them, or each effect once as the head of this module says."""
    every = kills(wholes.of(way.route, way.database).effects, way.how)
    if EVERY:
        return every
    once = {each.name: each for each in every}
    if way.route != PLAIN:
        plain = set(wholes.of(PLAIN, way.database).effects)
        shared = sorted(once.keys() & plain)
        left_out = {*shared} - {*Random(way.route).sample(shared, min(SHARED, len(shared)))}
        once = {name: kill for name, kill in once.items() if name not in left_out}
    if way.database != "sqlite":
        once = {name: each for name, each in once.items() if name.startswith(OF_THE_DATABASE)}
    return list(once.values())


@pytest.mark.skipif(not MANY, reason="takes many minutes: `make test-kills`")
@pytest.mark.parametrize("part", range(SLICES if MANY else 1))
@pytest.mark.parametrize("way", ways()[: None if MANY else 1])
def test_a_kill_at_any_effect_changes_nothing(
    tmp_path: Path, wholes: Wholes, way: Way, part: int
) -> None:
    whole = wholes.of(way.route, way.database)
    for number, kill in enumerate(chosen(wholes, way)[part::SLICES]):
        with database_for(way.database) as url:
            place = copied(whole.template, tmp_path / str(number), wholes.zygote, url)
            survives(place, whole, kill)
