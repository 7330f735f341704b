import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook.agents.assignment import Answer, Usage
from hornbook.agents.embedded.developer import EmbeddedDeveloper
from hornbook.agents.embedded.model_call import RateLimited, RateLimiter, TokenRate
from hornbook.agents.model_endpoint import ModelEndpoint
from hornbook.errors import UsageError
from hornbook.gates.gate import GateReport
from hornbook.review.printed_review import review_schema
from tests.kit.chat_server import Reply, chat_server
from tests.kit.step_runs import COUNT, act, assignment, gate, report
from tests.kit.waiting import SAFETY
from tests.kit.workspaces import write

SECRET = "sk-do-not-tell-1234567890"


@pytest.fixture
def models() -> None:
    pytest.importorskip("pydantic_ai", reason="the extra `models` is not installed")


def endpoint(url: str, **more: Any) -> ModelEndpoint:
    return ModelEndpoint("openai-compatible", "local", url, **more)


def ask(reply: Reply, seconds: float = SAFETY, **more: Any) -> tuple[Answer, list[dict[str, Any]]]:
    with chat_server(lambda _: reply) as server:
        answer = endpoint(server.url, **more)("Be brief.", "state: 1\n", seconds)
    return answer, server.requests


@pytest.mark.usefixtures("models")
def test_a_model_gets_exactly_two_messages_and_its_usage_is_counted() -> None:
    answer, requests = ask(Reply("action: run_check"))
    assert answer == Answer(text="action: run_check", usage=Usage(11, 7, 1))
    (request,) = requests
    assert [(each["role"], each["content"]) for each in request["messages"]] == [
        ("system", "Be brief."),
        ("user", "state: 1\n"),
    ]
    assert (request["model"], request["max_tokens"]) == ("local", 4096)


@pytest.mark.usefixtures("models")
def test_without_a_system_prompt_there_is_one_message() -> None:
    with chat_server(lambda _: Reply("x")) as server:
        endpoint(server.url)("", "state: 1\n", SAFETY)
    assert [each["role"] for each in server.requests[0]["messages"]] == ["user"]


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    ("model", "held"), [("claude-opus-4-8", True), ("claude-3-haiku-20240307", False)]
)
def test_a_schema_is_sent_to_models_that_can_be_held_to_it(model: str, *, held: bool) -> None:
    schema = json.dumps(review_schema(["source.doc.sops.a", "source.doc.sops.b"]))
    with chat_server(lambda _: Reply("{}")) as server:
        url = server.url.removesuffix("/v1")
        key = {"ANTHROPIC_API_KEY": SECRET}
        answer = ModelEndpoint("anthropic", model, url, schema=schema, environment=key)(
            "", "c", SAFETY
        )
    (request,) = server.requests
    assert ("source.doc.sops.b" in json.dumps(request)) is held
    assert (answer.text, bool(answer.notes)) == ("{}", not held)


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize("cut", [True, False])
def test_an_answer_that_ran_out_of_room_is_marked(*, cut: bool) -> None:
    answer, _ = ask(Reply("action: run_", cut=cut))
    assert (answer.text, answer.cut) == ("action: run_", cut)


@pytest.mark.usefixtures("models")
def test_an_anthropic_endpoint_is_asked_in_its_own_protocol_with_the_key() -> None:
    with chat_server(lambda _: Reply("action: run_check")) as server:
        url = server.url.removesuffix("/v1")
        asked = ModelEndpoint(
            "anthropic", "claude-x", url, environment={"ANTHROPIC_API_KEY": SECRET}
        )
        answer = asked("Be brief.", "state: 1\n", SAFETY)
    assert (answer.text, answer.error) == ("action: run_check", None)
    assert "Be brief." in str(server.requests[0]["system"])
    assert len(server.requests[0]["messages"]) == 1
    assert SECRET in str(server.headers[0])
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (11, 7)


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    ("status", "headers", "wait"),
    [
        (429, {"retry-after": "17"}, 17.0),
        (429, {}, 30.0),
        (500, {}, 10.0),
        (503, {"retry-after": "4"}, 4.0),
    ],
)
def test_a_limit_and_a_failing_server_say_how_long_to_wait_and_are_asked_once(
    status: int, headers: dict[str, str], wait: float
) -> None:
    answer, requests = ask(Reply("later", status, headers))
    assert answer.retry_after == wait
    assert answer.text == ""
    assert len(requests) == 1


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize("status", [400, 401, 404, 422])
def test_a_refused_request_is_an_error_and_no_reason_to_wait(status: int) -> None:
    answer, requests = ask(Reply("no such model", status))
    assert answer.retry_after is None
    assert answer.error is not None
    assert str(status) in answer.error
    assert len(requests) == 1


@pytest.mark.usefixtures("models")
def test_a_slow_answer_ends_at_the_deadline() -> None:
    answer, requests = ask(Reply("late", hold=True), seconds=0.3)
    assert answer.error is not None
    assert (answer.text, answer.retry_after) == ("", None)
    assert len(requests) <= 1  # a slow machine may not even have sent it


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize("raw", [b"<html>", b"{}", b'{"choices": []}', b"[1]", b""])
def test_garbage_is_an_error(raw: bytes) -> None:
    answer, _ = ask(Reply(raw=raw))
    assert answer.error
    assert (answer.text, answer.retry_after) == ("", None)


@pytest.mark.usefixtures("models")
def test_an_empty_answer_is_an_error() -> None:
    answer, _ = ask(Reply("  "))
    assert answer.error == "local gave an empty answer"


@pytest.mark.usefixtures("models")
def test_a_server_that_is_down_is_asked_again_later() -> None:
    with chat_server(lambda _: Reply("x")) as server:
        gone = server.url
    answer = endpoint(gone)("s", "c", SAFETY)
    assert answer.error
    assert answer.retry_after == 10.0


@pytest.mark.usefixtures("models")
def test_a_key_is_sent_and_never_told() -> None:
    with chat_server(lambda _: Reply(f"bad key {SECRET}", 401)) as server:
        asked = endpoint(server.url, key_variable="MY_KEY", environment={"MY_KEY": SECRET})
        answer = asked("s", "c", SAFETY)
    assert server.headers[0]["authorization"] == f"Bearer {SECRET}"
    assert SECRET not in repr(answer)
    assert SECRET not in repr(asked)


@pytest.mark.usefixtures("models")
def test_the_key_of_one_provider_is_not_sent_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with chat_server(lambda _: Reply("x")) as server:
        endpoint(server.url)("s", "c", SAFETY)
    assert SECRET not in str(server.headers)


@pytest.mark.usefixtures("models")
def test_a_developer_works_over_http_with_two_messages_a_step(tmp_path: Path) -> None:
    write(tmp_path / "tree", {"a.py": "x = 1\n"})
    answers = iter(
        (
            "Let me look.\n```yaml\naction: read_file\nparameters:\n  path: a.py\n```",
            act("edit_file", path="a.py", search="x = 1", replace="x = 2"),
            act("complete", summary="x is 2"),
        )
    )

    def check(names: Sequence[str]) -> GateReport:
        del names
        return report(gate("test", passed=(tmp_path / "tree/a.py").read_text() == "x = 2\n"))

    with chat_server(lambda _: Reply(next(answers))) as server:
        made = EmbeddedDeveloper(endpoint(server.url), check, lambda _: tmp_path / "state", COUNT)
        answer = made.work(assignment(tmp_path / "tree", "a.py"), lambda event: None)
    assert (answer.text, answer.error) == ("x is 2", None)
    assert (answer.usage.steps, answer.usage.input_tokens) == (3, 33)
    roles = [[each["role"] for each in request["messages"]] for request in server.requests]
    assert roles == [["system", "user"]] * 3


def test_without_the_extra_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai.exceptions", None)
    with pytest.raises(UsageError, match=r'pip install "hornbook\[models\]"'):
        endpoint("http://127.0.0.1:9/v1")("s", "c", 1.0)


def test_a_missing_key_names_its_variable() -> None:
    with pytest.raises(UsageError, match="OPENAI_API_KEY is not set"):
        ModelEndpoint("openai", "gpt", environment={})("s", "c", 1.0)


def test_an_unknown_provider_and_a_missing_url_are_refused() -> None:
    with pytest.raises(UsageError, match="did you mean 'anthropic'"):
        ModelEndpoint("antropic", "x")
    with pytest.raises(UsageError, match="needs a url"):
        ModelEndpoint("openai-compatible", "x")


def test_importing_endpoints_loads_no_model_library() -> None:
    import subprocess

    code = "import sys, hornbook.agents.model_endpoint; print('pydantic_ai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"


CALLS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 900)), max_size=30)


@given(CALLS)
def test_no_minute_holds_more_tokens_than_allowed(calls: list[tuple[int, int]]) -> None:
    pace, now, made = TokenRate(1000), 0.0, list[tuple[float, int]]()
    for pause, tokens in calls:
        now += pause
        now += pace.wait(tokens, now)
        assert pace.wait(tokens, now) == 0
        pace = pace.after(tokens, now)
        made.append((now, tokens))
    for at, _ in made:
        assert sum(size for when, size in made if at - 60 < when <= at) <= 1000


def test_a_call_larger_than_the_limit_waits_for_an_empty_minute() -> None:
    pace = TokenRate(100).after(50, 0.0).after(10, 30.0)
    assert pace.wait(500, 40.0) == 50.0
    assert TokenRate(100).wait(500, 0.0) == 0.0
    assert TokenRate(0).after(10**9, 0.0).wait(10**9, 0.0) == 0.0


def test_too_early_a_call_is_not_made_but_told_when() -> None:
    now = [0.0]
    asked: list[str] = []

    def model(system: str, context: str, seconds: float) -> Answer:
        asked.append(f"{system}{context}{seconds}")
        return Answer(text="x", usage=Usage(90, 5))

    paced = RateLimited(model, RateLimiter(100, lambda: now[0]), len)
    assert paced("ab", "c", 1.0).text == "x"
    assert paced("ab", "cdef", 1.0).retry_after == 60.0
    now[0] = 60.0
    assert paced("ab", "cdef", 1.0).text == "x"
    assert len(asked) == 2
