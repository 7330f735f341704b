"""Who works, what waits and why, as `hornbook fleet`, REST and GraphQL tell it."""

from contextlib import closing
from pathlib import Path

from hornbook.loop.engine.engine import Engine, EngineScope, Options
from hornbook.loop.engine.engine_runs import EngineRuns, Request
from hornbook.loop.engine.fleet import fleet_of
from hornbook.loop.engine.workers import connect, database_url, disconnect
from hornbook.loop.runs.overview import Fleet
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings
from hornbook.settings.surroundings import EngineSettings
from hornbook.version import __version__
from tests.kit.commands import answer
from tests.kit.engine_loop import ScriptedLoop
from tests.kit.engines import RUN, database_for, prepare
from tests.kit.git import start
from tests.kit.waiting import until


def test_without_any_run_there_is_nobody(tmp_path: Path) -> None:
    assert fleet_of(Places(tmp_path), Settings()) == Fleet()
    start(tmp_path, {"a.txt": "1\n"})
    told = answer(tmp_path, "fleet", "--json")
    empty: dict[str, object] = {
        "machines": [],
        "waiting": [],
        "costs": [],
        "untold": [],
        "currency": None,
    }
    assert told == {**empty, "per_minute": 0.0, "cost": 0.0}
    asked = answer(tmp_path, "query", "--text", "{ fleet { machines { id runs } perMinute cost } }")
    assert asked["data"]["fleet"] == {"machines": [], "perMinute": 0.0, "cost": 0.0}


def test_it_tells_who_works_and_why_the_others_wait(tmp_path: Path) -> None:
    start(tmp_path, {"a.txt": "1\n"})
    places = Places(tmp_path)
    prepare(places.state, {RUN: ["ask", "end approved"], "run.alpha.2.1": ["end approved"]})
    with database_for("postgres") as url:
        settings = Settings(repository="shop", engine=EngineSettings(database=url))
        options = Options(places.state, url, 2, 0.2, 30.0, repository="shop")
        loop = ScriptedLoop(places.state, database=url, repository="shop")
        with closing(loop), Engine(loop, options, EngineScope(plan="alpha")) as engine:
            for run in (RUN, "run.alpha.2.1"):
                engine.begin(Request(run, "alpha", "task.alpha.1"))
            until(lambda: not any(r.needs_nobody for r in engine.runs.of_plan("alpha")), "runs")
            other = connect(database_url(tmp_path, url), "till")
            EngineRuns(other, "till").add([Request("till-1", "rates")])
            found = fleet_of(places, settings)
            (machine,) = found.machines
            assert (machine.id, machine.host) == (engine.roster.worker, engine.roster.host)
            assert (machine.version, machine.alive, machine.runs) == (__version__, True, ())
            disconnect(other)
        waits = {(each.repository, each.run): each.reason for each in found.waiting}
        assert waits == {
            ("shop", RUN): "a person has to answer: Which one?",
            ("till", "till-1"): "no machine works for its repository: `hornbook worker` joins one",
        }
        assert all(each.since.endswith("Z") for each in found.waiting)
        assert found.per_minute == 0.1
        assert fleet_of(places, settings).machines == ()  # who ended is gone
