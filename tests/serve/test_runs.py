"""Runs and their events: listed, followed from a place, until they end."""

import asyncio
import json
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gql import Client, gql
from gql.transport.websockets import WebsocketsTransport
from starlette.testclient import TestClient

from hornbook import Workspace
from hornbook.errors import NotFound
from hornbook.plans.log import EventLog
from hornbook.plans.principal import unknown
from hornbook.plans.run_kinds import kinds_for
from tests.kit.plans import PLAN, with_a_plan
from tests.kit.servers import ask, client, on_a_port
from tests.kit.waiting import SAFETY

RUN = "limits-1"


class Book:
    """Writes what a loop would write."""

    def __init__(self, root: Path) -> None:
        kinds = kinds_for({})
        self._log = EventLog(root / ".hornbook", lambda: "2026-03-01T12:00:00Z", kinds=kinds)

    def note(self, kind: str, run: str = RUN, key: str = "", **data: object) -> int:
        facts = {"run": run, **data}
        event, _ = self._log.append(
            "limits", kind, facts, key=key or f"{run}/{kind}", by=unknown("loop")
        )
        return event.seq

    def step(self, run: str = RUN) -> int:
        return self.note("agent.told", run, round=1, number=1, execution=1, told={"step": 1})

    def begin(self, run: str = RUN) -> int:
        facts: dict[str, object] = {"workflow": "", "payload": {}, "task": "task.limits.1"}
        return self.note("run.started", run, f"{run}/started", **facts)

    def end(self, run: str = RUN) -> int:
        return self.note("run.ended", run, status="approved", reason="done", spawned=[])

    def close(self) -> None:
        self._log.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    with_a_plan(tmp_path)
    with Workspace.open(tmp_path) as work:
        work.ingest()
        work.plan_book().commit("Limits", PLAN)
    return tmp_path


@pytest.fixture
def book(root: Path) -> Iterator[Book]:
    found = Book(root)
    yield found
    found.close()


@pytest.fixture
def local(root: Path) -> Iterator[TestClient]:
    with client(root) as found:
        yield found


def frames(text: str) -> list[tuple[int, Any]]:
    """The numbers and contents of a stream's events."""
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            found.append((int(lines["id"]), json.loads(lines["data"])))
    return found


def test_a_run_is_stopped_once_and_by_name(root: Path) -> None:
    book = Book(root)
    book.begin()
    book.close()
    with client(root) as found:
        path = f"/api/v1/runs/{RUN}/stop"
        nobody = found.post(path, headers={"authorization": ""})
        told = found.post(path, json={"reason": "too dear"})
        again = found.post(path)
        missing = found.post("/api/v1/runs/none-1/stop")
        (last,) = found.get("/api/v1/audit", params={"kind": "run.ended"}).json()["items"]
    assert nobody.status_code == 401
    assert told.json() == {"run": RUN, "status": "stopped", "ended": [RUN]}
    assert (again.status_code, again.json()["code"]) == (409, "ended")
    assert missing.status_code == 404
    assert last["principal"]["via"] == "secret"
    assert last["data"]["reason"].endswith("stopped it: too dear")


def test_runs_are_listed_with_how_they_stand(local: TestClient, book: Book) -> None:
    assert local.get("/api/v1/runs").json() == {"runs": []}
    book.begin()
    book.begin("limits-2")
    book.end()
    runs = local.get("/api/v1/runs").json()["runs"]
    assert [(each["id"], each["status"]) for each in runs] == [
        ("limits-2", "running"),
        (RUN, "approved"),
    ]
    of_plan = local.get("/api/v1/runs?plan=plan.limits").json()["runs"]
    # One of them still runs, so that its seconds may have gone on between the two answers.
    assert all(
        later.pop("elapsed_seconds") >= before.pop("elapsed_seconds")
        for later, before in zip(of_plan, runs, strict=True)
    )
    assert of_plan == runs
    assert local.get("/api/v1/runs?plan=other").json()["runs"] == []
    one = local.get(f"/api/v1/runs/{RUN}").json()
    assert one == local.get(f"/api/v1/runs/run.{RUN}").json()
    assert one == runs[1] | {"elapsed_seconds": one["elapsed_seconds"]}
    assert one["message"] == "done"
    assert (one["plan"], one["task"], one["workflow"]) == ("limits", "task.limits.1", "plan")
    fields = "id plan task workflow status step attempt message startedAt updatedAt"
    by_graphql = ask(
        local, f'{{ runs {{ {fields} }} run(id: "{RUN}") {{ id }} none: run(id: "x") {{ id }} }}'
    )["data"]
    names = fields.replace("startedAt", "started_at").replace("updatedAt", "updated_at").split()
    assert [list(each.values()) for each in by_graphql["runs"]] == [
        [each[name] for name in names] for each in runs
    ]
    assert (by_graphql["run"], by_graphql["none"]) == ({"id": RUN}, None)


def test_a_stream_tells_what_was_and_ends_with_the_run(local: TestClient, book: Book) -> None:
    first = book.begin()
    book.begin("limits-2")
    step = book.step()
    last = book.end()
    answer = local.get(f"/api/v1/runs/{RUN}/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    told = frames(answer.text)
    assert [number for number, _ in told] == [first, step, last]
    assert [each["kind"] for _, each in told] == ["run.started", "agent.told", "run.ended"]
    assert {each["run"] for _, each in told} == {RUN}
    assert told[1][1]["data"]["told"] == {"step": 1}


def test_a_stream_goes_on_from_the_last_event(local: TestClient, book: Book) -> None:
    first = book.begin()
    step = book.step()
    last = book.end()

    def after(number: object) -> Any:
        headers = {"last-event-id": str(number)}
        return local.get(f"/api/v1/runs/{RUN}/events", headers=headers)

    assert [number for number, _ in frames(after(first).text)] == [step, last]
    over = after(last)
    assert (over.status_code, over.content) == (204, b"")
    for wrong in ("x", "-1", "1e3"):
        assert after(wrong).status_code == 422


def test_events_come_while_a_client_listens(root: Path, book: Book) -> None:
    """The next event is written only when the one before it has arrived."""
    first = book.begin()
    with on_a_port(root) as address:
        answer = urllib.request.urlopen(f"{address}/api/v1/runs/{RUN}/events", timeout=SAFETY)

        def next_number() -> int:
            for line in answer:
                if line.startswith(b"id: "):
                    return int(line[4:])
            raise AssertionError("the stream ended")

        assert next_number() == first
        step = book.step()
        assert next_number() == step
        last = book.end()
        assert next_number() == last
        assert b"id: " not in answer.read()


def test_a_subscription_gives_the_same_over_sse_and_a_socket(root: Path, book: Book) -> None:
    first = book.begin()
    book.step()
    book.end()
    text = f'subscription {{ runEvents(id: "{RUN}", after: {first}) {{ seq kind run data }} }}'
    with on_a_port(root) as address:
        request = urllib.request.Request(
            f"{address}/graphql",
            data=json.dumps({"query": text}).encode(),
            headers={"content-type": "application/json", "accept": "text/event-stream"},
        )
        body = urllib.request.urlopen(request, timeout=SAFETY).read().decode()
        lines = [line[6:] for line in body.splitlines() if line.startswith("data: ")]
        by_events = [json.loads(line)["data"]["runEvents"] for line in lines]

        async def listen() -> list[Any]:
            socket = WebsocketsTransport(
                url=f"{address.replace('http', 'ws')}/graphql",
                connect_timeout=SAFETY,
                ack_timeout=SAFETY,
            )
            async with Client(transport=socket) as session:
                return [found["runEvents"] async for found in session.subscribe(gql(text))]

        assert asyncio.run(listen()) == by_events
    assert [each["kind"] for each in by_events] == ["agent.told", "run.ended"]
    assert "event: complete" in body


def test_a_plan_is_followed_with_everything_that_happens_to_it(root: Path, book: Book) -> None:
    book.begin()
    book.end()
    with on_a_port(root) as address:
        answer = urllib.request.urlopen(f"{address}/api/v1/runs/plan.limits/events", timeout=SAFETY)
        kinds = []
        for line in answer:
            if line.startswith(b"data: "):
                kinds.append(json.loads(line[6:])["kind"])
            if kinds and kinds[-1] == "run.ended":
                break
        assert kinds == ["plan.explored", "plan.promoted", "run.started", "run.ended"]
        with Workspace.open(root) as work:
            work.plan_book().decide("limits", decision="Yes", reason="Why not", impact="None")
        later = next(line for line in answer if line.startswith(b"data: "))
        assert json.loads(later[6:])["kind"] == "decision.recorded"
        answer.close()


def test_a_run_that_is_not_there_is_told_by_the_stream_which_ends(local: TestClient) -> None:
    text = 'subscription { runEvents(id: "nope") { seq } }'
    headers = {"accept": "text/event-stream"}
    answer = local.post("/graphql", json={"query": text}, headers=headers)
    _, sent, complete, _ = answer.text.split("\n\n")
    (error,) = json.loads(sent.partition("data: ")[2])["errors"]
    assert error["extensions"]["code"] == "NOT_FOUND"
    assert complete.startswith("event: complete")


def test_streams_end_when_the_server_stops(root: Path, book: Book) -> None:
    book.begin()
    ended = threading.Event()
    with on_a_port(root) as address:
        answer = urllib.request.urlopen(f"{address}/api/v1/runs/{RUN}/events", timeout=SAFETY)
        assert answer.readline() == b":\n"

        def read_on() -> None:
            answer.read()
            ended.set()

        thread = threading.Thread(target=read_on)
        thread.start()
    thread.join(SAFETY)
    assert ended.is_set()


def test_there_are_no_more_streams_than_allowed(tmp_path: Path) -> None:
    with_a_plan(tmp_path)
    config = tmp_path / ".hornbook" / "config.yaml"
    config.parent.mkdir(exist_ok=True)
    config.write_text("serve:\n  streams: 1\n")
    with Workspace.open(tmp_path) as work:
        work.plan_book().commit("Limits", PLAN)
    book = Book(tmp_path)
    book.begin()
    book.close()
    with on_a_port(tmp_path) as address:
        first = urllib.request.urlopen(f"{address}/api/v1/runs/{RUN}/events", timeout=SAFETY)
        assert first.readline() == b":\n"
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{address}/api/v1/runs/{RUN}/events", timeout=SAFETY)
        assert refused.value.code == 503
        assert json.loads(refused.value.read())["code"] == "streams"
        first.close()


def test_a_log_that_was_made_anew_is_read_again(root: Path, book: Book) -> None:
    book.begin()
    with Workspace.open(root) as work, work.run_book() as runs:
        assert [each.id for each in runs.lines()] == [RUN]
        book.close()
        for path in (root / ".hornbook").glob("events.db*"):
            path.unlink()
        assert [each.id for each in runs.lines()] == [RUN], "the export has it"
        later = Book(root)
        later.begin("limits-2")
        later.close()
        assert {each.id for each in runs.lines()} == {RUN, "limits-2"}
        with pytest.raises(NotFound, match="hornbook runs"):
            runs.line("limits-3")


def test_without_plans_there_are_no_runs_and_nothing_is_written(tmp_path: Path) -> None:
    with_a_plan(tmp_path)
    with Workspace.open(tmp_path) as work, work.run_book() as runs:
        assert runs.lines() == []
    assert not (tmp_path / ".hornbook" / "events.db").exists()
