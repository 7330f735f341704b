"""What waits for a person is told once, signed, and only where it may be told."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sql

from hornbook.errors import ConfigError
from hornbook.loop.engine import notices
from hornbook.loop.engine.engine import Engine, Options
from hornbook.loop.engine.engine_runs import EngineRuns, NoticeState, Request
from hornbook.loop.engine.fleet import fleet_of
from hornbook.loop.engine.notices import NotDelivered, Notices, SignedMessage, deliver
from hornbook.loop.engine.plan_engine import PlanEngine
from hornbook.loop.engine.workers import NOTICES, connect, database_url, disconnect
from hornbook.loop.protocol import StepKind, StepOutcome
from hornbook.settings.load import load
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings
from hornbook.settings.surroundings import NotifySettings
from hornbook.workspace import Workspace
from tests.kit.engines import DATABASES, database_for
from tests.kit.paths import ROOT
from tests.kit.serve_process import free_port
from tests.kit.waiting import until

SECRET = "a secret that both sides know"
VARIABLE = "HORNBOOK_NOTIFY_SECRET"
ASKS = StepOutcome(StepKind.ASKING, "run-1", message="Which one?", question=7)


@pytest.fixture(params=DATABASES)
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sql.Engine]:
    with database_for(request.param) as url:
        engine = connect(database_url(tmp_path, url), "shop")
        yield engine
        disconnect(engine)


def receiver_of_the_docs() -> str:
    page = (ROOT / "docs" / "notify.md").read_text(encoding="utf-8")
    found = re.search(r"<!-- receiver -->\n```text\n(.*?)```", page, re.DOTALL)
    assert found is not None
    return found[1]


@contextmanager
def receiving(port: int, secret: str = SECRET) -> "Iterator[subprocess.Popen[str]]":
    """The receiver that the docs show, until the block ends; its lines say what it was told."""
    process = subprocess.Popen(
        [sys.executable, "-c", receiver_of_the_docs()],
        env={**os.environ, VARIABLE: secret, "PORT": str(port)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


def settings(port: int, **more: object) -> NotifySettings:
    listed = (f"127.0.0.1:{port}",)
    told = {"url": f"http://127.0.0.1:{port}/hook", "private": listed, **more}
    return NotifySettings(secret_variable=VARIABLE, **told)  # type: ignore[arg-type]  # as named


def asking(tables: sql.Engine) -> EngineRuns:
    runs = EngineRuns(tables, "shop", notices=True)
    runs.add([Request("run-1", "a")])
    runs.settle(ASKS)
    return runs


def states(tables: sql.Engine) -> list[tuple[int, str, int, str]]:
    asked = sql.select(NOTICES.c.question, NOTICES.c.state, NOTICES.c.attempts, NOTICES.c.problem)
    with tables.begin() as connection:
        return [tuple(row) for row in connection.execute(asked.order_by(NOTICES.c.question))]


def make_due(tables: sql.Engine) -> None:
    """As if the pause before the next attempt were over."""
    with tables.begin() as connection:
        connection.execute(sql.update(NOTICES).values(due=0.0))


def notices_of(
    tables: sql.Engine, told: NotifySettings, environment: Mapping[str, str] | None = None
) -> Notices:
    return Notices(tables, "shop", told, {VARIABLE: SECRET} if environment is None else environment)


def test_a_question_is_told_once_however_often_it_is_tried(tables: sql.Engine) -> None:
    port = free_port()
    runs, told = asking(tables), notices_of(tables, settings(port))
    told.tell()  # nobody receives yet
    ((_, state, attempts, problem),) = states(tables)
    assert (state, attempts) == (NoticeState.WAITING, 1)
    assert "nobody answers there" in problem
    told.tell()
    assert states(tables)[0][2] == 1, "it is not due again yet"
    with receiving(port) as process:
        until(lambda: arrived(tables, told), "the message")
        runs.settle(ASKS)  # looked at again, it asks the same
        make_due(tables)
        told.tell()
        runs.settle(StepOutcome(StepKind.ASKING, "run-1", message="And this?", question=9))
        told.tell()
        assert process.stdout is not None
        said = [process.stdout.readline(), process.stdout.readline()]
    assert said == ["run-1 asks: Which one?\n", "run-1 asks: And this?\n"]
    assert [(row[0], row[1]) for row in states(tables)] == [(7, "sent"), (9, "sent")]


def arrived(tables: sql.Engine, told: Notices) -> bool:
    make_due(tables)
    told.tell()
    return states(tables)[0][1] == NoticeState.SENT


def test_who_is_killed_before_it_noted_that_leaves_it_to_the_next(tables: sql.Engine) -> None:
    port = free_port()
    asking(tables)
    dies, lives = notices_of(tables, settings(port)), notices_of(tables, settings(port))
    assert dies._take() is not None  # and is killed, whether it sent it or not
    lives.tell()
    assert states(tables)[0][1:3] == (NoticeState.WAITING, 1), "for a minute it is another's"
    with receiving(port) as process:
        until(lambda: arrived(tables, lives), "the message")
        assert process.stdout is not None
        assert process.stdout.readline() == "run-1 asks: Which one?\n"


def test_what_was_answered_meanwhile_is_not_told(tables: sql.Engine) -> None:
    runs = asking(tables)
    runs.answered("run-1")
    notices_of(tables, settings(free_port())).tell()
    assert states(tables)[0][1] == NoticeState.OVER


def test_a_question_is_over_once_its_run_asks_another(tables: sql.Engine) -> None:
    runs, told = asking(tables), notices_of(tables, settings(free_port()))
    runs.answered("run-1")
    runs.settle(StepOutcome(StepKind.ASKING, "run-1", message="And this?", question=9))
    told.tell()
    assert [row[:3] for row in states(tables)] == [(7, "over", 0), (9, "waiting", 1)]
    runs.settle(StepOutcome(StepKind.ENDED, "run-1", status="approved"))
    assert [row[1] for row in states(tables)] == ["over", "over"]


def test_a_question_that_is_answered_while_it_is_sent_stays_over(tables: sql.Engine) -> None:
    runs, told = asking(tables), notices_of(tables, settings(free_port()))
    taken = told._take()
    assert taken is not None
    runs.answered("run-1")
    told._note(taken, "nobody answers there")
    assert states(tables)[0][1] == NoticeState.OVER
    runs.settle(ASKS)  # looked at again, it was no answer to this
    assert states(tables)[0][1] == NoticeState.WAITING


def test_a_place_that_is_none_is_a_problem_of_the_question_alone(tables: sql.Engine) -> None:
    asking(tables)
    notices_of(tables, settings(free_port(), private=("here",))).tell()
    ((_, state, attempts, problem),) = states(tables)
    assert (state, attempts) == (NoticeState.WAITING, 1)
    assert problem == "'here' is no host with its port: write it as `host:443`."


def test_who_has_no_time_left_takes_no_question(tables: sql.Engine) -> None:
    asking(tables)
    notices_of(tables, settings(free_port())).tell(lambda: False)
    assert states(tables)[0][1:3] == (NoticeState.WAITING, 0)


def test_a_receiver_that_says_nothing_is_waited_for_as_long_as_was_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        message = SignedMessage("shop.a.7", 1, b"{}")
        with pytest.raises(NotDelivered, match="timed out"):
            deliver(f"http://{place}/hook", message, SECRET, [place], 0.05)


def test_repositories_with_databases_of_their_own_tell_under_their_names(tmp_path: Path) -> None:
    ids = set()
    for name in ("a", "b"):
        root = tmp_path / name
        (root / ".hornbook").mkdir(parents=True)
        told = "notify: {url: https://hooks.example/x, secret_variable: S}\n"
        (root / ".hornbook" / "config.yaml").write_text(told)
        with Workspace(root) as work:
            ids.add(PlanEngine(work)._name_to_others())
    assert len(ids) == 2
    tables = connect(database_url(tmp_path, ""), "")
    runs = EngineRuns(tables, notices=True)
    runs.add([Request("run-1", "a")])
    runs.settle(ASKS)
    told_by = Notices(tables, "", settings(1), name="shop-1a2b3c")
    taken = told_by._take()
    assert taken is not None
    message = told_by._message(taken)
    disconnect(tables)
    assert message.id == "shop-1a2b3c.a.7"
    assert b'"repository": "shop-1a2b3c"' in message.body


def test_what_does_not_arrive_in_time_is_given_up_and_shown(tmp_path: Path) -> None:
    places = Places(tmp_path)
    places.prepare()
    tables = connect(database_url(places.state, ""), "shop")
    asking(tables)
    with tables.begin() as connection:
        connection.execute(sql.update(NOTICES).values(asked=0.0))
    notices_of(tables, settings(free_port()), {}).tell()
    (untold,) = fleet_of(places, Settings(repository="shop")).untold
    runs = EngineRuns(tables, "shop")
    runs.answered("run-1")
    assert not fleet_of(places, Settings(repository="shop")).untold
    disconnect(tables)
    assert (untold.run, untold.question, untold.attempts, untold.failed) == ("run-1", 7, 1, True)
    assert untold.problem == f"the environment variable {VARIABLE} (`notify.secret_variable`) is not set"  # fmt: skip


def test_a_receiver_refuses_what_another_secret_signed(tables: sql.Engine) -> None:
    port = free_port()
    asking(tables)
    told = notices_of(tables, settings(port), {VARIABLE: "another"})
    with receiving(port):
        until(lambda: refused(tables, told), "the refusal")


def refused(tables: sql.Engine, told: Notices) -> bool:
    make_due(tables)
    told.tell()
    return states(tables)[0][3].endswith("answered with status 401")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "169.254.169.254", "10.0.0.1"])
def test_addresses_of_private_networks_are_refused_unless_listed(host: str) -> None:
    message = SignedMessage("shop.a.7", 1, b"{}")
    with pytest.raises(NotDelivered, match=r"private network: add `.*:9` to `notify\.private`"):
        deliver(f"https://{host}:9/hook", message, SECRET, ["127.0.0.1:8"])


def test_the_signature_is_that_of_standard_webhooks() -> None:
    message = SignedMessage("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    assert message.signature(secret) == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


class Asking:
    """A loop whose run asks at once."""

    def start(self, plan: str, task: str | None, *, agent: str | None, run_id: str) -> StepOutcome:
        return ASKS

    step = gave_up = None


def test_an_engine_tells_what_its_runs_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    monkeypatch.setenv(VARIABLE, SECRET)
    monkeypatch.setattr(notices, "FIRST_PAUSE", 0.1)
    options = Options(tmp_path, "", 2, 0.2, 30.0, repository="shop", notify=settings(port))
    with receiving(port) as process, Engine(Asking(), options) as engine:  # type: ignore[arg-type]  # it starts only
        engine.begin(Request("run-1", "a"))
        assert process.stdout is not None
        assert process.stdout.readline() == "run-1 asks: Which one?\n"
    with closing(connect(database_url(tmp_path, ""), "shop").connect()) as connection:
        assert connection.execute(sql.select(NOTICES.c.state)).scalars().all() == ["sent"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("url: ftp://a.example\n  secret_variable: S", "write an https:// address"),
        ("url: http://a.example/x\n  secret_variable: S", "in `notify.private`"),
        ("url: https://a.example/x", "name the environment variable"),
        ("hours: 0", "must be above 0"),
        (
            "url: 'https://[x/hook'\n  secret_variable: S",
            "line 2: `notify.url` is 'https://[x/hook'",
        ),
        ("url: https://a.example:99999/x\n  secret_variable: S", "write an https:// address"),
        ("url: 'https://a.example/a b'\n  secret_variable: S", "write an https:// address"),
        ("hours: 1\n  private: [here]", "line 3: `notify.private` has 'here': write a host with"),
        ("private: ['10.0.0.1:70000']", "`notify.private` has '10.0.0.1:70000'"),
    ],
)
def test_settings_that_would_tell_unsigned_or_in_the_open_are_refused(
    tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / ".hornbook").mkdir()
    (tmp_path / ".hornbook" / "config.yaml").write_text(f"notify:\n  {text}\n")
    with pytest.raises(ConfigError, match=re.escape(said)):
        load(tmp_path)


@pytest.mark.parametrize("url", ["http://[x/v1", "http://a:99999/v1", "'http://a b/v1'", "a/v1"])
def test_an_endpoint_that_is_no_address_is_told_with_its_line(tmp_path: Path, url: str) -> None:
    (tmp_path / ".hornbook").mkdir()
    near = "models:\n  endpoints:\n    a:\n      provider: openai-compatible\n      model: m\n"
    told = f"{near}      max_tokens: 9000\n      url: {url}\nnotify: {{hours: 0}}\n"
    (tmp_path / ".hornbook" / "config.yaml").write_text(told)
    with pytest.raises(ConfigError, match=r"line 7: `models\.endpoints\.a\.url` is ") as problem:
        load(tmp_path)
    assert "`notify.hours`" in str(problem.value), "all problems are told at once"
