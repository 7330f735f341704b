"""Inbox and run in the console: what is asked, with its evidence, and a person's word on it."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hornbook import Workspace
from hornbook.loop.engine.engine_runs import EngineRuns, Request
from hornbook.loop.engine.workers import connect, database_url, disconnect
from hornbook.loop.runs.timeline import Lane, timeline
from hornbook.plans.principal import Principal, PrincipalKind, Via
from hornbook.plans.workspace_log import repository_of
from hornbook.serve.console.layers import layers_of
from hornbook.serve.console.live import _Look
from hornbook.serve.console.run_drawings import time_scale
from hornbook.serve.console.views import runs as run_views
from tests.kit.console_pages import page_of, send, sign_in
from tests.kit.fakes import reviews, writes
from tests.kit.loops import BROKEN, GREET, PLAN, Stage, repository
from tests.kit.servers import client
from tests.kit.workspaces import write

RUN, PAGE = "run-1", "/runs/run-1"
BOT = Principal("token:ci", PrincipalKind.TOKEN, Via.TOKEN)


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that failed three times at a gate and asks."""
    root = repository(tmp_path_factory.mktemp("asking"))
    broken = [writes({"src/greet.py": f"{BROKEN}# {number}\n"}) for number in range(3)]
    assert Stage(root, developer=broken).go().status == "asking"
    return root


@pytest.fixture
def browser(asking: Path) -> Iterator[TestClient]:
    with client(asking, named=False) as found:
        yield found


@pytest.fixture(scope="module")
def approved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that failed at a gate once and was approved then."""
    root = repository(tmp_path_factory.mktemp("approved"))
    moves = (writes({"src/greet.py": BROKEN}), writes({"src/greet.py": GREET}))
    assert Stage(root, developer=moves, reviewer=(reviews(),)).go().status == "approved"
    return root


def test_the_inbox_shows_what_is_asked_with_the_evidence_at_hand(browser: TestClient) -> None:
    page = page_of(browser, "/")
    assert "Needs a person 1" in page.text
    assert "broken: src/greet.py" in page.text
    assert "gate check" in page.text
    assert PAGE in page.links()
    assert any(re.match(r"/changes/[0-9a-f]{40}\.\.[0-9a-f]{40}$", each) for each in page.links())
    assert "Sign in as a person to answer" in page.text
    assert "<textarea" not in page.answer.text


def test_a_red_base_is_shown_with_what_its_gates_printed(tmp_path: Path) -> None:
    red = {"src__old.py": "print('BROKEN already')\n"}
    assert Stage(repository(tmp_path, **red)).go(task=None).status == "asking"
    with client(tmp_path, named=False) as browser:
        page = page_of(browser, "/")
    assert "these gates are red: check" in page.text
    assert "broken: src/old.py" in page.text


def test_the_inbox_lists_rules_that_no_review_can_hold(asking: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(asking, tmp_path / "root"))
    write(root, {"AGENTS.md": "# Much\n\n" + "It MUST be told in full.\n" * 9000})
    with Workspace.open(root) as work:
        work.ingest()
    with client(root, named=False) as browser:
        page = page_of(browser, "/")
    assert "Needs a person 2" in page.text
    assert "Rules that alone are larger than the room of 30,000 tokens" in page.text
    assert "/rules/source.doc.sops.agents-agents" in page.links()


def test_only_a_person_answers_and_the_answer_is_theirs(asking: Path, browser: TestClient) -> None:
    sign_in(browser, asking, BOT)
    fields = {**page_of(browser, PAGE).fields(f"{PAGE}/answer"), "action": "return", "text": "No."}
    refused = send(browser, f"{PAGE}/answer", fields)
    assert refused.status_code == 403
    assert "token:ci" in refused.text
    browser.cookies.clear()
    assert send(browser, f"{PAGE}/answer", fields).status_code == 401


def test_an_answer_to_what_changed_meanwhile_is_refused_with_both_states(tmp_path: Path) -> None:
    root = repository(tmp_path)
    broken = [writes({"src/greet.py": f"{BROKEN}# {number}\n"}) for number in range(6)]
    stage = Stage(root, developer=broken)
    asked = stage.go().message
    with client(root, named=False) as browser:
        sign_in(browser, root)
        fields = page_of(browser, PAGE).fields(f"{PAGE}/answer")
        missing = send(browser, f"{PAGE}/answer", {**fields, "action": "return"})
        assert (missing.status_code, "says nothing" in missing.text) == (422, True)
        given = {**fields, "action": "return", "text": "Mend the greeting."}
        answer = send(browser, f"{PAGE}/answer", given)
        assert (answer.status_code, answer.headers["location"]) == (303, f"{PAGE}?said=answered")
        assert "Your answer is noted" in page_of(browser, answer.headers["location"]).text
        late = send(browser, f"{PAGE}/answer", {**given, "text": "No, stop it."})
        assert late.status_code == 409
        assert asked in late.text
        assert "human:ann answered" in late.text
        assert "Mend the greeting." in late.text
        assert stage.drive(RUN).status == "asking"
        told = send(browser, f"{PAGE}/stop", {**fields, "status": "running", "reason": "x"})
        assert told.status_code == 409
        fields = page_of(browser, PAGE).fields(f"{PAGE}/answer")
        ended = {**fields, "action": "stop", "reason": "Enough."}
        assert send(browser, f"{PAGE}/answer", ended).status_code == 303
        assert send(browser, f"{PAGE}/stop", fields).status_code == 409
        assert "Nothing waits for you." in page_of(browser, "/").text
    answered = [event for event in stage.log() if event.kind == "run.answered"]
    assert [(event.principal.id, event.principal.via) for event in answered] == [
        ("human:ann", "session"),
        ("human:ann", "session"),
    ]


def test_a_run_that_was_answered_and_that_nobody_takes_up_is_told_as_that(
    asking: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(asking, tmp_path / "root"))
    with Workspace.open(root) as work:
        work.answer(RUN, "return", text="Mend the greeting.")
        places, settings = work.places, work.settings
    name = repository_of(places, settings)
    with client(root, named=False) as browser:
        assert "Nobody works on it now" not in page_of(browser, PAGE).text
        engine = connect(database_url(places.state, ""), name)
        EngineRuns(engine, name).add([Request(RUN, "hello", "task.hello.1")])
        disconnect(engine)
        for place in (PAGE, "/", "/runs", "/plans/hello"):
            page = page_of(browser, place)
            assert "Nobody works on it now: no machine works for its repository" in page.text
            assert "/plans/hello" in page.links()


def test_the_run_of_a_plan_shows_its_tasks_and_is_worked_on_while_one_is(tmp_path: Path) -> None:
    root = repository(tmp_path / "root")
    broken = [writes({"src/greet.py": f"{BROKEN}# {number}\n"}) for number in range(3)]
    assert Stage(root, developer=broken).go(task=None).status == "asking"
    with Workspace.open(root) as work, work.run_book() as book:
        (task,) = (row for row in book.rows() if row.task)
        work.answer(task.id, "return", text="Mend the greeting.")
        places, settings = work.places, work.settings
    name = repository_of(places, settings)
    engine = connect(database_url(places.state, ""), name)
    EngineRuns(engine, name).add([Request(RUN, "hello", None)])
    disconnect(engine)
    with client(root, named=False) as browser:
        page = page_of(browser, PAGE)
    assert "All of hello running" in page.text
    assert "Its tasks 1" in page.text
    assert f"/runs/{task.id}" in page.links()
    assert "Nobody works on it now" not in page.text


def test_a_run_is_shown_over_time_with_attempts_and_contexts(approved: Path) -> None:
    with client(approved, named=False) as browser:
        page = page_of(browser, PAGE)
        assert "Greet approved task.hello.1" in page.text
        assert "Attempts 2" in page.text
        for lane in ("developer", "gates", "reviewer"):
            assert f">{lane}</text>" in page.answer.text
        assert 'class="bad"' in page.answer.text
        contexts = [link for link in page.links() if "/contexts/" in link]
        assert len(contexts) == 3
        assert "verified Its receipt" in page_of(browser, contexts[-1]).text
        page_of(browser, f"{PAGE}/contexts/{'0' * 64}", status=404)


def test_a_context_that_was_edited_is_told_as_that(approved: Path) -> None:
    with Workspace.open(approved) as work, work.run_book() as book:
        seen = timeline(book.events(RUN)).contexts[-1]
    path = approved / ".hornbook/plans/hello" / seen.path
    kept = path.read_bytes()
    try:
        path.write_bytes(kept.replace(b"MUST", b"may "))
        with client(approved, named=False) as browser:
            page = page_of(browser, f"{PAGE}/contexts/{seen.sha256}")
    finally:
        path.write_bytes(kept)
    assert "does not hold The text is the one" in page.text
    assert "does not hold Its receipt" in page.text


def test_a_timeline_has_each_step_once_and_ends_with_the_run(approved: Path) -> None:
    with Workspace.open(approved) as work, work.run_book() as book:
        events = book.events(RUN)
    whole = timeline(events)
    assert [each.lane for each in whole.stretches[:3]] == [
        Lane.DEVELOPER,
        Lane.GATES,
        Lane.DEVELOPER,
    ]
    assert all(each.ended for each in whole.stretches)
    cut = next(place for place, each in enumerate(events) if each.kind == "gates.ran")
    assert timeline(events[:cut]).stretches[-1].ended == ""


def test_only_a_developer_in_whose_prompt_rules_were_looked_for_is_called_blind(
    approved: Path,
) -> None:
    with client(approved, named=False) as browser:
        assert page_of(browser, PAGE).text.count("none: a developer is not shown them") == 2
    with Workspace.open(approved) as work, work.run_book() as book:
        events = book.events(RUN)
    seeing = timeline([each for each in events if each.kind != "blindness.checked"]).contexts
    assert [(each.role, each.blind) for each in seeing[:2]] == [("developer", False)] * 2


def test_a_long_wait_takes_little_of_the_width() -> None:
    scale = time_scale([(0.0, 10.0), (100_000.0, 100_010.0)])
    assert len(scale.waits) == 1
    assert scale.at(10.0) == pytest.approx(0.476, abs=0.01)
    assert scale.at(100_000.0) == pytest.approx(0.524, abs=0.01)
    assert scale.at(200_000.0) == 1.0
    assert scale.at(-5.0) == 0.0
    assert time_scale([]).at(3.0) == 1.0


def test_the_stream_tells_of_runs_once_for_all_who_look(asking: Path, tmp_path: Path) -> None:
    root = shutil.copytree(asking, tmp_path / "copy")
    with Workspace.open(root) as work:
        look = _Look(work.run_book())
        look.begin()
        assert look.news() == []
        work.answer(RUN, "stop", reason="Enough.")
        (told,) = look.news()
        look.close()
    assert (told["kind"], told["run"], told["plan"]) == ("run", RUN, "hello")
    assert re.fullmatch(r"run\.ended", str(told["what"]))


def test_plans_show_explorations_apart_and_tasks_on_a_board(asking: Path, tmp_path: Path) -> None:
    root = shutil.copytree(asking, tmp_path / "copy")
    with Workspace.open(root) as work:
        work.plan_book().explore("Later <b>", None)
    with client(root, named=False) as browser:
        listed = page_of(browser, "/plans")
        assert "Explorations 1" in listed.text
        assert "Commitments 1" in listed.text
        assert "<b>" not in listed.answer.text
        page = page_of(browser, "/plans/hello")
        assert "Waits 1" in page.text
        assert "What waits for what among 2 tasks" in page.answer.text
        assert "waits for 1" in page.text
        assert "/plans/hello/execute" not in page.answer.text
        page_of(browser, "/plans/none", status=404)


def test_a_plan_is_promoted_by_a_person_once(tmp_path: Path) -> None:
    root = repository(tmp_path)
    with Workspace.open(root) as work:
        work.plan_book().explore("Wave", PLAN)
    with client(root, named=False) as browser:
        sign_in(browser, root, BOT)
        fields = page_of(browser, "/plans/wave").fields("/plans/wave/promote")
        assert send(browser, "/plans/wave/promote", fields).status_code == 403
        assert send(browser, "/plans/wave/execute", fields).status_code == 409
        sign_in(browser, root)
        fields = page_of(browser, "/plans/wave").fields("/plans/wave/promote")
        done = send(browser, "/plans/wave/promote", fields)
        assert (done.status_code, done.headers["location"]) == (303, "/plans/wave?said=promoted")
        late = send(browser, "/plans/wave/promote", fields)
        assert late.status_code == 409
        assert "exploring" in late.text
        assert "committed" in late.text
        assert send(browser, "/plans/wave/stop", fields).status_code == 409


def test_a_plan_is_amended_and_what_two_people_wrote_at_once_is_not_lost(tmp_path: Path) -> None:
    root = repository(tmp_path)
    with Workspace.open(root) as work:
        work.plan_book().explore("Wave", PLAN)
    with client(root, named=False) as browser:
        sign_in(browser, root)
        fields = page_of(browser, "/plans/wave").fields("/plans/wave/amend")
        mine = {**fields, "sections": "## Situation\n\nNobody waves <b>yet</b>.\n"}
        done = send(browser, "/plans/wave/amend", mine)
        assert (done.status_code, done.headers["location"]) == (303, "/plans/wave?said=amended")
        assert "Nobody waves <b>yet</b>." in page_of(browser, "/plans/wave").text
        late = send(browser, "/plans/wave/amend", {**fields, "sections": "## Mission\n\nMine.\n"})
        assert late.status_code == 409
        assert "Nobody waves" in late.text
        assert "Mine." in late.text
        refused = send(browser, "/plans/wave/amend", {**fields, "text": "", "sections": ""})
        assert refused.status_code == 409


def test_runs_are_listed_a_page_at_a_time(
    asking: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = shutil.copytree(asking, tmp_path / "copy")
    with Workspace.open(root) as work:
        work.answer(RUN, "stop", reason="Enough.")
    Stage(root, developer=[writes({"src/greet.py": GREET})], reviewer=(reviews(),)).go(run="run-2")
    with client(root, named=False) as browser:
        monkeypatch.setattr(run_views, "ROWS", 1)
        first = page_of(browser, "/runs")
        assert "1 to 1 of 2 runs" in first.text
        (next_page,) = [each for each in first.links() if each.startswith("?page=2")]
        assert "2 to 2 of 2 runs" in page_of(browser, f"/runs{next_page}").text


def test_a_cycle_among_tasks_is_drawn_and_not_followed_for_ever() -> None:
    assert layers_of({"1": [], "2": ["1"], "3": ["2", "1"]}) == {"1": 0, "2": 1, "3": 2}
    assert set(layers_of({"1": ["2"], "2": ["1"], "3": ["9"]})) == {"1", "2", "3"}
