"""Several repositories, and several releases, on one database."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sql

from hornbook.errors import EngineError, EventLogError
from hornbook.loop.engine.engine import Engine, EngineScope, Options
from hornbook.loop.engine.engine_runs import EngineRun, EngineRuns, Request
from hornbook.loop.engine.workers import connect, database_url, disconnect
from hornbook.plans.databases.shared_database import SCHEMA, checked_url
from hornbook.plans.log import EventLog
from hornbook.plans.workspace_log import open_log
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings
from hornbook.settings.surroundings import EngineSettings
from tests.kit.engine_loop import EFFECT, ScriptedLoop
from tests.kit.engines import RUN, database_for, prepare, tried
from tests.kit.git import start
from tests.kit.waiting import SAFETY, until

KINDS = ["sqlite-url", "postgres"]


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite-url":
        yield f"sqlite:///{tmp_path / 'shared.db'}"
        return
    with database_for("postgres") as url:
        yield url


@contextmanager
def engine_of(state: Path, database: str, repository: str) -> Iterator[Engine]:
    options = Options(state, database, 2, 0.2, 1.0, repository=repository)
    with (
        closing(ScriptedLoop(state, database=database, repository=repository)) as loop,
        Engine(loop, options, EngineScope(plan="alpha")) as engine,
    ):
        yield engine


def settled(engine: Engine) -> dict[str, EngineRun]:
    until(lambda: not any(r.needs_nobody for r in engine.runs.of_plan("alpha")), "the runs")
    return {each.run: each for each in engine.runs.of_plan("alpha")}


def log_of(state: Path, database: str, repository: str) -> EventLog:
    return EventLog(state, lambda: "", database=database, repository=repository)


def test_equal_slugs_and_runs_of_two_repositories_never_meet(tmp_path: Path, database: str) -> None:
    for name, steps in (("shop", ["continue", "end approved"]), ("till", ["end rejected"])):
        state = prepare(tmp_path / name, {RUN: steps})
        with engine_of(state, database, name) as engine:
            engine.hold("alpha")
            engine.begin(Request(RUN, "alpha", "task.alpha.1"))
            assert settled(engine)[RUN].status == steps[-1].removeprefix("end ")
            assert engine.roster.holder("alpha") is not None
    counts = {}
    for name in ("shop", "till"):
        with closing(log_of(tmp_path / name, database, name)) as log:
            counts[name] = len(log.events("alpha"))
            assert log.plans() == ["alpha"]
            assert log.plan_with(f"{RUN}:0") == "alpha"
            assert log.misfits("alpha") == []
    assert counts == {"shop": 2, "till": 1}
    (tmp_path / "third").mkdir()
    with closing(log_of(tmp_path / "third", database, "third")) as log:
        assert log.plans() == []
        assert log.of_kind(EFFECT.name) == []
    tables = connect(database_url(tmp_path, database), "third")
    assert EngineRuns(tables, "third").of_plan("alpha") == []
    disconnect(tables)


OLD_TABLES = (
    (
        "CREATE TABLE hornbook_events (plan TEXT NOT NULL, seq INTEGER NOT NULL, key TEXT NOT NULL, "
        "kind TEXT NOT NULL, hash TEXT NOT NULL, line TEXT NOT NULL, ends INTEGER NOT NULL, "
        "PRIMARY KEY (plan, seq), UNIQUE (plan, key))"
    ),
    (
        "CREATE TABLE hornbook_workers (worker TEXT NOT NULL PRIMARY KEY, place TEXT NOT NULL, "
        "since FLOAT NOT NULL, seen FLOAT NOT NULL)"
    ),
    (
        "CREATE TABLE hornbook_runs (run TEXT NOT NULL PRIMARY KEY, plan TEXT NOT NULL, task TEXT, "
        "agent TEXT, parent TEXT, leg INTEGER NOT NULL, phase TEXT NOT NULL, status TEXT NOT NULL, "
        "message TEXT NOT NULL, worker TEXT NOT NULL, steps INTEGER NOT NULL, spent FLOAT NOT NULL, "
        "ordinal INTEGER NOT NULL)"
    ),
    "CREATE INDEX ix_hornbook_runs_plan ON hornbook_runs (plan)",
    "CREATE TABLE hornbook_holds (plan TEXT NOT NULL PRIMARY KEY, worker TEXT NOT NULL)",
)
OLD_STATEMENTS = (
    "SELECT line FROM hornbook_events WHERE plan = 'alpha' AND seq >= 1 ORDER BY seq",
    "SELECT line, ends FROM hornbook_events WHERE plan = 'alpha' ORDER BY seq DESC LIMIT 1",
    "SELECT DISTINCT plan FROM hornbook_events",
    "INSERT INTO hornbook_events VALUES ('alpha', 9, 'k', 'x', 'h', 'l', 9)",
    "UPDATE hornbook_workers SET seen = 1 WHERE worker = 'w'",
    "INSERT INTO hornbook_workers (worker, place, since, seen) VALUES ('w', 'p', 1, 1)",
    "UPDATE hornbook_runs SET phase = 'running' WHERE run = 'r'",
    "SELECT run FROM hornbook_runs",
    "DELETE FROM hornbook_holds WHERE worker = 'w'",
)


def plain(database: str) -> sql.Engine:
    """The database as a release sees it that knows no schema of ours."""
    return sql.create_engine(checked_url(database), poolclass=sql.NullPool)


def made_by_an_earlier_release(state: Path, database: str) -> None:
    """A plan at work: one effect is in the events, and a worker that is gone has the run's leg."""
    with closing(ScriptedLoop(state)) as loop:  # as a file of its own, for the bytes of its events
        loop.start("alpha", "task.alpha.1", agent=None, run_id=RUN)
    with closing(EventLog(state, lambda: "")) as log:
        events = log.events("alpha")
    (state / "events.db").unlink()
    engine = plain(database)
    with engine.begin() as connection:
        for statement in OLD_TABLES:
            connection.exec_driver_sql(statement)
        ends = 0
        for event in events:
            ends += len(event.line.encode())
            row = {"p": event.plan, "s": event.seq, "k": event.key, "d": event.kind}
            row |= {"h": event.hash, "l": event.line, "e": ends}
            new = "INSERT INTO hornbook_events VALUES (:p, :s, :k, :d, :h, :l, :e)"
            connection.execute(sql.text(new), row)
        connection.exec_driver_sql(
            f"INSERT INTO hornbook_runs VALUES ('{RUN}', 'alpha', 'task.alpha.1', NULL, NULL, 1, "
            "'running', 'running', '', 'gone', 1, 0.5, 1)"
        )
        connection.exec_driver_sql("INSERT INTO hornbook_holds VALUES ('alpha', 'gone')")
    engine.dispose()


def test_a_running_plan_of_an_earlier_release_goes_on(tmp_path: Path, database: str) -> None:
    state = prepare(tmp_path / "state", {RUN: ["continue", "continue", "end approved"]})
    made_by_an_earlier_release(state, database)
    with engine_of(state, database, "shop") as engine:
        engine.hold("alpha")
        run = settled(engine)[RUN]
        assert (run.status, run.repository) == ("approved", "shop")
    assert tried(state) == {(RUN, 0): 1, (RUN, 1): 1, (RUN, 2): 1}  # what was done stays done
    with closing(log_of(state, database, "shop")) as log:
        assert [e.data["number"] for e in log.events("alpha") if e.kind == EFFECT.name] == [0, 1, 2]


def test_a_worker_takes_up_what_an_earlier_release_left(tmp_path: Path, database: str) -> None:
    state = prepare(tmp_path / "state", {RUN: ["continue", "end approved"]})
    made_by_an_earlier_release(state, database)
    options = Options(state, database, 2, 0.2, 1.0, repository="shop")
    loop = ScriptedLoop(state, database=database, repository="shop")
    with closing(loop), Engine(loop, options) as engine:
        assert settled(engine)[RUN].status == "approved"


def test_a_local_database_of_an_earlier_release_is_brought_up_to_date(tmp_path: Path) -> None:
    state = prepare(tmp_path / "state", {RUN: ["continue", "end approved"]})
    made_by_an_earlier_release(state, f"sqlite:///{state / 'events.db'}")
    with closing(EventLog(state, lambda: "")) as log:
        assert len(log.events("alpha")) == 1
        log.sync("alpha")


@pytest.mark.parametrize("fresh", [True, False])
def test_an_older_release_is_told_to_upgrade(tmp_path: Path, *, fresh: bool) -> None:
    with database_for("postgres") as url:
        state = prepare(tmp_path / "state", {RUN: ["end approved"]})
        if not fresh:
            made_by_an_earlier_release(state, url)
        log_of(state, url, "shop").close()
        disconnect(connect(database_url(state, url), "shop"))
        engine = plain(url)
        before = rows(engine)
        with engine.begin() as connection:
            for statement in OLD_TABLES[:1]:
                made = statement.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS")
                connection.exec_driver_sql(made)
        assert sql.inspect(engine).has_table("hornbook_runs")  # so that it makes none of its own
        for statement in OLD_STATEMENTS:
            with (
                pytest.raises(sql.exc.DatabaseError, match="upgrade Hornbook on this machine"),
                engine.begin() as connection,
            ):
                connection.exec_driver_sql(statement)
        assert rows(engine) == before
        engine.dispose()


def rows(engine: sql.Engine) -> dict[str, int]:
    names = ("events", "runs", "workers", "holds")
    with engine.connect() as connection:
        return {
            name: connection.exec_driver_sql(
                f"SELECT count(*) FROM {SCHEMA}.hornbook_{name}"
            ).scalar_one()
            for name in names
        }


def test_a_newer_release_keeps_us_out(tmp_path: Path) -> None:
    with database_for("postgres") as url:
        state = prepare(tmp_path / "state", {RUN: ["end approved"]})
        with engine_of(state, url, "shop") as engine:
            other = plain(url)
            with other.begin() as connection:
                connection.exec_driver_sql(f"INSERT INTO {SCHEMA}.hornbook_form VALUES (999)")
            other.dispose()
            with pytest.raises(
                EngineError, match=r"form 999 of a newer Hornbook.*upgrade Hornbook"
            ):
                engine.roster.beat()
        with pytest.raises(EventLogError, match=r"form 999 of a newer Hornbook.*upgrade Hornbook"):
            log_of(state, url, "shop")


def test_two_repositories_with_one_name_are_told_apart(tmp_path: Path, database: str) -> None:
    settings = Settings(repository="shop", engine=EngineSettings(database=database))
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        start(tmp_path / name, {"a.txt": f"{name}\n"})
        Places(tmp_path / name).prepare()
    open_log(Places(tmp_path / "first"), settings, lambda: "").close()
    with pytest.raises(EventLogError, match="another repository named shop"):
        open_log(Places(tmp_path / "second"), settings, lambda: "")
    open_log(Places(tmp_path / "first"), settings, lambda: "").close()


def test_a_table_of_that_name_in_a_foreign_schema_is_left_alone(tmp_path: Path) -> None:
    with database_for("postgres") as url:
        engine = plain(url)
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE SCHEMA others")
            connection.exec_driver_sql("CREATE TABLE others.hornbook_events (plan TEXT)")
            connection.exec_driver_sql("INSERT INTO others.hornbook_events VALUES ('theirs')")
        with closing(log_of(tmp_path, url, "shop")) as log:
            assert log.plans() == []
        with engine.connect() as connection:
            kept = connection.exec_driver_sql("SELECT plan FROM others.hornbook_events").scalars()
            assert kept.all() == ["theirs"]
        engine.dispose()


def test_a_slow_git_keeps_no_worker_from_telling_that_it_lives(tmp_path: Path) -> None:
    state = prepare(tmp_path / "state", {RUN: ["end approved"]})
    stuck, released, beats = threading.Event(), threading.Event(), list[int]()

    def follow() -> None:
        stuck.set()
        released.wait()

    with closing(ScriptedLoop(state)) as loop:
        engine = Engine(loop, Options(state, heartbeat=0.02), follow=follow)
        beat = engine.roster.beat

        def counted() -> None:
            beat()
            beats.append(1)

        engine.roster.beat = counted  # type: ignore[method-assign]  # counts what it does
        with engine:
            try:
                assert stuck.wait(SAFETY)
                before = len(beats)
                until(lambda: len(beats) > before + 2, "three beats while git is asked")
            finally:
                released.set()


def test_a_connection_in_use_ends_with_its_last_user_and_not_by_chance(tmp_path: Path) -> None:
    with database_for("postgres") as url:
        engine = connect(database_url(tmp_path, url), "shop")
        used = engine.connect()
        driver = used.connection.dbapi_connection
        assert driver is not None
        disconnect(engine)  # as when a step outlives its engine
        used.close()
        assert getattr(driver, "closed")  # noqa: B009  # the driver's own


def test_a_connection_that_comes_back_while_its_pool_is_closed_ends(tmp_path: Path) -> None:
    with database_for("postgres") as url:
        engine = connect(database_url(tmp_path, url), "shop")
        used = engine.connect()
        driver = used.connection.dbapi_connection
        assert driver is not None
        # The last user goes between its coming back and its being kept.
        sql.event.listen(engine, "checkin", lambda *_returned: disconnect(engine), once=True)
        used.close()
        assert getattr(driver, "closed")  # noqa: B009  # the driver's own
