"""A model behind an endpoint in every role, asked over HTTP as the settings say."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hornbook import Workspace
from hornbook.agents.assignment import Answer, Assignment, Limits, Role, nowhere
from hornbook.agents.embedded.embedded_agent import EmbeddedAgent
from hornbook.context.budget import review_room
from hornbook.context.templates.roles import shipped_instructions
from hornbook.errors import ConfigError, UsageError
from hornbook.gates.base_tests import BaseResults
from hornbook.gates.gate import GateResult, GateStatus
from hornbook.loop.configured_agents import WorkspaceStaff
from hornbook.review.printed_review import review_schema
from hornbook.settings.load import parse_settings
from hornbook.settings.models import CAPABILITIES, Endpoint, ModelSettings
from hornbook.settings.reserve import reserve_for
from hornbook.settings.settings import Settings
from hornbook.text.tokens import counter
from tests.kit.chat_server import ChatServer, Reply, chat_server
from tests.kit.git import commit, git
from tests.kit.loops import CONFIG, GREET, Stage, repository
from tests.kit.step_runs import act, assignment
from tests.kit.workspaces import write
from tests.model import served
from tests.model.served import Page

pytest.importorskip("pydantic_ai", reason="the extra `models` is not installed")

COUNT = counter("cl100k")
SCHEMA = json.dumps(review_schema(["source.doc.sops.a", "source.doc.sops.b"]))
GATE = "gates:\n  additional:\n    - {name: there, command: test -f a.py}\n"
Told = list[Mapping[str, object]]


def local(url: str, **more: Any) -> Endpoint:
    return Endpoint("openai-compatible", "tiny", 4000, url=url, **more)


def crew(root: Path, endpoint: Endpoint) -> EmbeddedAgent:
    names: dict[str, tuple[str, ...]] = dict.fromkeys(CAPABILITIES, ("ours",))
    settings = Settings(models=ModelSettings({"ours": endpoint}, names))
    return EmbeddedAgent(root, root / ".hornbook" / "embedded", settings)


def review(**more: Any) -> Assignment:
    asked = Assignment(
        key="plan-t1-1/4/review-0-1",
        role=Role.REVIEWER,
        task_id="task.plan.1",
        attempt=1,
        folder="",
        prompt="# The packet\n\nwhole\n",
        phase="review",
        schema=SCHEMA,
        limits=Limits(seconds=20),
    )
    return replace(asked, **more)


def asked(
    root: Path, reply: Callable[[dict[str, Any]], Reply], task: Assignment, **more: Any
) -> tuple[Any, ChatServer, Told]:
    """The answer to an assignment, the server that was asked, and what was told of it."""
    told: Told = []
    with chat_server(reply) as server:
        answer = crew(root, local(server.url, **more)).work(task, told.append)
    return answer, server, told


# Reviews


def test_a_review_is_the_packet_alone_and_held_to_the_schema_of_its_rules(tmp_path: Path) -> None:
    answer, server, told = asked(tmp_path, lambda _: Reply("{}"), review())
    (request,) = server.requests
    assert [(m["role"], m["content"]) for m in request["messages"]] == [("user", review().prompt)]
    form = request["response_format"]["json_schema"]
    assert form["strict"] is True
    assert form["schema"]["properties"]["sop_review"]["minItems"] == 2
    assert form["schema"]["$defs"]["entry"]["properties"]["sop_id"]["enum"] == [
        "source.doc.sops.a",
        "source.doc.sops.b",
    ]
    assert (answer.text, answer.usage.input_tokens, answer.usage.output_tokens) == ("{}", 11, 7)
    (said,) = told
    assert (said["constrained"], said["cut"], said["notes"]) == (True, False, [])
    assert (said["tokens"], said["input_tokens"]) == (COUNT(review().prompt), 11)


def test_what_was_wrong_with_a_review_stands_before_the_same_packet(tmp_path: Path) -> None:
    again = review(system="Your review was not accepted:\n\n- it is empty")
    _, server, _ = asked(tmp_path, lambda _: Reply("{}"), again)
    messages = server.requests[0]["messages"]
    assert [each["role"] for each in messages] == ["system", "user"]
    assert "was not accepted" in messages[0]["content"]
    assert messages[1]["content"] == review().prompt


@pytest.mark.parametrize("status", [400, 422, 501])
def test_a_server_that_refuses_the_schema_is_asked_without_it_and_that_is_told(
    tmp_path: Path, status: int
) -> None:
    def reply(body: dict[str, Any]) -> Reply:
        refused = "response_format" in body
        return Reply("no such parameter", status) if refused else Reply("fine")

    answer, server, told = asked(tmp_path, reply, review())
    assert (answer.text, answer.error) == ("fine", None)
    assert ["response_format" in each for each in server.requests] == [True, False]
    (said,) = told
    assert said["constrained"] is False
    assert "asked without the schema of the answer, which was refused" in str(said["notes"])
    assert "no such parameter" in str(said["notes"])


def test_a_refusal_of_the_request_itself_stays_an_error(tmp_path: Path) -> None:
    answer, server, told = asked(tmp_path, lambda _: Reply("bad key", 401), review())
    assert "bad key" in answer.error
    assert len(server.requests) == len(told) == 1
    assert told[0]["error"] == answer.error


def test_a_prompt_that_is_over_the_servers_window_is_not_asked_for_twice(tmp_path: Path) -> None:
    raw = json.dumps(
        {
            "error": {
                "code": 400,
                "message": "request (9531 tokens) exceeds the available context size (4000 tokens)",
                "type": "exceed_context_size_error",
            }
        }
    ).encode()
    answer, server, _ = asked(tmp_path, lambda _: Reply(raw=raw, status=400), review())
    assert "exceeds the available context size" in answer.error
    assert len(server.requests) == 1


def test_a_rate_limit_waits_and_is_no_answer(tmp_path: Path) -> None:
    limited = Reply("slow down", 429, {"retry-after": "7"})
    answer, _, told = asked(tmp_path, lambda _: limited, review())
    assert (answer.retry_after, told) == (7.0, [])


def test_an_answer_that_was_cut_is_told_as_such(tmp_path: Path) -> None:
    answer, _, told = asked(tmp_path, lambda _: Reply('{"verdict": "app', cut=True), review())
    assert (answer.text, answer.cut) == ('{"verdict": "app', True)
    assert told[0]["cut"] is True


@pytest.mark.parametrize(
    ("prompt", "given", "sent"),
    [(10, 0, 1000), (10, 300, 300), (3900, 0, 100), (3900, 300, 100)],
)
def test_an_answer_has_its_limit_and_never_more_than_the_window_leaves(
    tmp_path: Path, prompt: int, given: int, sent: int
) -> None:
    text = "a " * prompt
    left = 4000 - COUNT(text)
    _, server, told = asked(
        tmp_path, lambda _: Reply("{}"), review(prompt=text), output_tokens=given
    )
    expected = left if left < (given or 1000) else sent
    assert server.requests[0]["max_tokens"] == told[0]["output_limit"] == expected


def test_a_prompt_that_leaves_no_room_for_an_answer_is_not_sent(tmp_path: Path) -> None:
    answer, server, told = asked(tmp_path, lambda _: Reply("{}"), review(prompt="a " * 9000))
    assert "the window of tiny 4000: use a model with a larger window" in answer.error
    assert (server.requests, told) == ([], [])


def test_a_call_has_the_deadline_of_its_endpoint(tmp_path: Path) -> None:
    answer, server, _ = asked(
        tmp_path, lambda _: Reply("late", hold=True), review(), call_seconds=1
    )
    assert "timed out after 1 second" in answer.error
    assert len(server.requests) == 1


def test_tokens_per_minute_are_shared_by_all_who_ask_an_endpoint(tmp_path: Path) -> None:
    with chat_server(lambda _: Reply("{}")) as server:
        ours = crew(tmp_path, local(server.url, tokens_per_minute=20))
        first = ours.work(review(), lambda _: None)
        second = ours.work(review(key="another"), lambda _: None)
    assert first.text == "{}"
    assert second.retry_after is not None
    assert 0 < second.retry_after <= 60
    assert len(server.requests) == 1


# Which endpoint


def test_an_endpoint_is_found_by_name_by_model_and_by_what_a_role_needs(tmp_path: Path) -> None:
    with chat_server(lambda _: Reply("one")) as one, chat_server(lambda _: Reply("two")) as two:
        settings = Settings(
            models=ModelSettings(
                {
                    # the shipped endpoint `local` has this model as well, and no url
                    "first": Endpoint("openai-compatible", "local", 4000, url=one.url),
                    "second": Endpoint("openai-compatible", "two", 4000, url=two.url),
                },
                {"reviewing": ("first",), "planning": ("second",)},
            )
        )
        ours = EmbeddedAgent(tmp_path, tmp_path, settings)

        def told(task: Assignment) -> str:
            return ours.work(task, lambda _: None).text

        assert told(review()) == "one"
        assert told(review(model="first")) == "one"
        assert told(review(model="second")) == "two"
        assert told(review(model="two")) == "two"
        assert told(review(role=Role.PLANNER)) == "two"
        with pytest.raises(UsageError, match="no endpoint serves the model 'three'"):
            told(review(model="three"))


def test_a_reviewer_with_the_developers_model_is_told_as_such(root: Path) -> None:
    with chat_server(lambda _: Reply("{}")) as server:
        ours = f"{{provider: openai-compatible, model: m, max_tokens: 4000, url: '{server.url}'}}"
        models = f"models:\n  endpoints:\n    ours: {ours}\n"
        write(root, {".hornbook/config.yaml": models + GATE})
        with Workspace.open(root) as work:
            worker = WorkspaceStaff(work.places, work.settings).worker(Role.REVIEWER, "embedded")
        assert worker is not None
        told: Told = []
        assert worker.work(review(model="ours"), told.append).text == "{}"
    assert [each.get("kind", each.get("action")) for each in told] == ["agent.note", "answer"]
    assert "develops and reviews with the same model" in str(told[0]["note"])


# Steps of a developer


@pytest.fixture
def root(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path, {"a.py": "x = 1\n", ".hornbook/config.yaml": GATE})
    return tmp_path


def test_steps_keep_to_a_small_window(root: Path) -> None:
    write(root, {"a.py": "".join(f"name_{n} = {n}\n" for n in range(3000))})
    answer, server, told = asked(
        root,
        lambda _: Reply(act("escalate", reason="too hard")),
        assignment(root, "a.py"),
        output_tokens=400,
    )
    assert answer.escalation == "too hard"
    (request,) = server.requests
    tokens = sum(COUNT(each["content"]) for each in request["messages"])
    assert 2500 < tokens <= 4000 - 400 - 600
    assert request["max_tokens"] == 400
    assert "response_format" not in request
    assert told[-1]["tokens"] == tokens


def test_another_round_begins_anew_and_a_restart_goes_on(root: Path) -> None:
    def steps(key: str) -> list[object]:
        """The steps that are told of one assignment."""
        task = assignment(root, "a.py", key=key)
        _, _, told = asked(root, lambda _: Reply(act("escalate", reason="why?")), task)
        return [each["step"] for each in told]

    assert steps("plan-t1-1/1/agent-1") == [0, 1]
    assert steps("plan-t1-1/1/agent-1") == [1]
    assert steps("plan-t1-1/r2-1/agent-1") == [0, 1]
    assert steps("plan-t1-2/1/agent-1") == [0, 1]


def test_nothing_of_an_answer_that_was_cut_is_done(root: Path) -> None:
    cut = "action: edit_file\nparameters:\n  path: a.py\n  content: |\n    x = 2\n    y ="
    replies = iter((Reply(cut, cut=True), Reply(act("escalate", reason="no"))))
    answer, server, told = asked(root, lambda _: next(replies), assignment(root, "a.py"))
    assert answer.escalation == "no"
    assert (root / "a.py").read_text() == "x = 1\n"
    assert "the answer was cut after 7 tokens" in str(told[1]["error"])
    assert "the answer was cut after 7 tokens" in server.requests[1]["messages"][1]["content"]


RED_GATE = GATE + "    - {name: old, command: 'echo $PWD; grep -l x a.py; exit 1'}\n"


@pytest.mark.parametrize("accepted", ["ann: later", ""])
def test_what_is_known_to_be_red_does_not_keep_work_from_being_complete(
    root: Path, accepted: str
) -> None:
    write(root, {".hornbook/config.yaml": RED_GATE})
    old = GateResult("old", True, GateStatus.FAILED, 1, output=f"{root}\na.py")
    base = BaseResults((GateResult("there", True, GateStatus.PASSED), old), accepted)
    replies = iter(
        (
            act("edit_file", path="a.py", content="x = 2\n"),
            act("complete", summary="done"),
            act("escalate", reason="it is red"),
        )
    )
    task = assignment(root, "a.py", told_apart=base.told)
    answer, server, told = asked(root, lambda _: Reply(next(replies)), task)
    if accepted:
        assert (answer.text, answer.escalation) == ("done", None)
        assert "(known to be red: old)" in str(told[1]["summary"])
        shown = server.requests[1]["messages"][1]["content"]
        assert "known_red:" in shown
        assert "known to be red (ann: later), as on the base" in shown
        assert "ready_for_completion: true" in shown
    else:
        assert answer.escalation == "it is red"


def test_it_checks_itself_with_the_gates_that_will_judge_it(tmp_path: Path) -> None:
    """They are the base's: an edit of the work tree's settings meanwhile counts for nobody."""
    begun = CONFIG.replace("gates:", "gates:\n  confine: never")  # where the kit keeps worktrees
    repository(tmp_path, config=begun)
    edited = begun.replace("check.sh", "gone.sh") + "    - {name: later, command: sh gone.sh}\n"
    write(tmp_path, {".hornbook/config.yaml": edited})
    replies = iter(
        (
            act("edit_file", path="src/greet.py", content=GREET),
            act("complete", summary="greeted"),
            act("escalate", reason="it is red"),
        )
    )

    def develops(task: Assignment) -> Answer:
        return crew(tmp_path, local(server.url)).work(replace(task, model="ours"), nowhere)

    with chat_server(lambda _: Reply(next(replies))) as server:
        ended = Stage(tmp_path, [develops]).go()
    assert ended.status == "approved", ended.message
    assert "later" not in server.requests[1]["messages"][1]["content"]


# Settings


def test_an_answer_that_takes_the_whole_window_is_refused_with_its_line() -> None:
    text = (
        "models:\n  endpoints:\n    ours:\n"
        "      {provider: openai-compatible, model: m, max_tokens: 500, output_tokens: 500}\n"
    )
    with pytest.raises(ConfigError) as caught:
        parse_settings(text.encode())
    assert "output_tokens` must be below max_tokens" in str(caught.value)


@pytest.mark.parametrize(("window", "room"), [(1, 1), (4000, 1000), (200_000, 4096)])
def test_an_answer_has_4096_tokens_or_a_quarter_of_a_smaller_window(window: int, room: int) -> None:
    assert Endpoint("openai", "m", window).answer_tokens == room


# The page about local models


def test_the_settings_of_the_page_make_room_for_everything_in_their_small_window() -> None:
    settings = parse_settings(Page.read().config.encode())
    models, budget = settings.registry(), settings.budget
    for capability in CAPABILITIES:
        found = models.resolve(capability)
        assert found is not None
        assert found[1].url.startswith("http://127.0.0.1:")
        window = found[1].max_tokens
        reserve = reserve_for(settings, window)
        assert review_room(settings, window, reserve, planned=True).diff > 500
        assert found[1].prompt_tokens(budget.safety_percent) > 2000
    assert COUNT(shipped_instructions("reviewer")) <= budget.system_prompt


def test_what_the_test_with_a_model_lacks_is_a_failure_that_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(served, "PACKAGES", ("no_such_model",))
    with pytest.raises(pytest.fail.Exception, match="no_such_model not installed: run `make test"):
        served.require_packages()
