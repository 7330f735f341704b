"""A plan carried out with a real model on this machine: whatever the model says, this holds.

No verdict is asserted, and no word of an answer: structure, order, coverage, limits and audit are.
"""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hornbook.agents.embedded.progress import LoopRules
from hornbook.agents.rule_leaks import RuleTexts
from hornbook.loop.runs.run_book import breaches
from hornbook.plans.events import verify
from hornbook.review.judgement import Ruling
from hornbook.review.printed_review import review_schema
from hornbook.settings.load import load
from hornbook.settings.models import Endpoint
from hornbook.text.tokens import counter
from tests.kit.git import git
from tests.model.served import Page, model_server, recorded, require_packages
from tests.model.stories import BOUND, RULES, SLUG, Story, carried_out

COUNT = counter("cl100k")
DEFINITE = {"approved", "asking", "handed_on", "superseded", "stopped", "failed"}
"""How a run can stand when `execute` has come to its end."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    require_packages()
    with model_server(Page.read(), tmp_path_factory.mktemp("server")) as found:
        yield found


def in_time(story: Story) -> Story:
    """The story, if every call was answered: nothing can be said of a machine that is too busy."""
    late = [
        event.data["error"]
        for event in story.of("agent.task.development", "agent.task.review")
        if "timed out" in str(event.data["error"])
    ]
    if late:
        pytest.fail(f"the model was too slow, try again with less load: {late}", pytrace=False)
    return story


@pytest.fixture(scope="module")
def developing(address: str, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """The model develops and would review."""
    with recorded(address) as recorder:
        root = tmp_path_factory.mktemp("developing")
        return in_time(carried_out(root, Page.read(), recorder, "embedded"))


@pytest.fixture(scope="module")
def reviewing(address: str, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """A script writes a sound change, the model reviews it."""
    with recorded(address) as recorder:
        root = tmp_path_factory.mktemp("reviewing")
        return in_time(carried_out(root, Page.read(), recorder, "scripted,embedded"))


@pytest.fixture(params=["developing", "reviewing"])
def story(request: pytest.FixtureRequest) -> Story:
    """Either of them: what holds whoever the model is."""
    found: Story = request.getfixturevalue(request.param)
    return found


def endpoint(story: Story, name: str) -> Endpoint:
    return load(story.root).models.endpoints[name]


def usages(story: Story) -> list[tuple[int, int]]:
    """Tokens in and out of every call, as the server counted them."""
    told = [answer["usage"] for answer in story.recorder.answers]
    return [(each["prompt_tokens"], each["completion_tokens"]) for each in told]


# Whoever the model is


def test_it_ends_in_a_definite_state_and_never_breaks_down(story: Story) -> None:
    assert "Traceback" not in story.executed.err
    runs = story.answer("runs")["runs"]
    assert {run["status"] for run in runs} <= DEFINITE
    approved = all(run["status"] == "approved" for run in runs)
    assert story.executed.code == (0 if approved else 1)
    assert story.recorder.requests, "the model was never asked"


def test_the_log_is_a_chain_and_shows_no_breach(story: Story) -> None:
    log = story.log
    assert verify(log) is None
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    assert breaches(log) == []
    assert story.hornbook("recover", SLUG).code == 0


def test_a_task_is_sized_before_anybody_works_on_it(story: Story) -> None:
    sized: set[str] = set()
    for event in story.log:
        if event.kind == "task.sized":
            assert event.data["fits"] is True
            sized.add(event.data["run"])
        elif event.kind in {"agent.task.development", "agent.task.review"}:
            assert event.data["run"] in sized


def test_a_reviewer_is_only_asked_about_a_tree_that_every_required_gate_passed(
    story: Story,
) -> None:
    passed: dict[str, str] = {}
    for event in story.log:
        run = str(event.data.get("run"))
        if event.kind == "agent.task.development":
            passed.pop(run, None)
        elif event.kind == "gates.ran":
            required = [each["status"] for each in event.data["gates"] if each["required"]]
            assert required
            if set(required) <= {"passed", "warned"}:
                passed[run] = event.data["tree"]
        elif event.kind == "agent.task.review":
            assert passed[run] == event.data["tree"]


def test_the_second_task_waits_until_the_first_is_approved(story: Story) -> None:
    approved: set[str] = set()
    for event in story.log:
        if event.kind == "task.approved":
            approved.add(event.data["task"])
        if event.kind == "run.started" and event.data.get("task") == f"task.{SLUG}.2":
            assert f"task.{SLUG}.1" in approved


def test_the_limits_of_attempts_and_steps_are_kept(story: Story) -> None:
    limits = load(story.root).engine
    for event in story.of("agent.task.development"):
        assert event.data["attempt"] <= limits.attempts
        assert event.data["usage"]["steps"] <= LoopRules().most_steps
    assert len(story.of("step.started")) <= limits.most_steps * len(story.of("run.started"))


def test_every_answer_and_every_prompt_keeps_to_the_models_window(story: Story) -> None:
    for request, (read, written) in zip(story.recorder.requests, usages(story), strict=True):
        served = endpoint(story, "small" if len(request["messages"]) == 2 else "small-reviewer")
        assert request["model"] == served.model
        assert request["max_tokens"] == served.output_tokens
        assert written <= served.output_tokens
        assert read + written <= served.max_tokens


def test_tokens_are_recorded_as_the_server_counted_them(story: Story) -> None:
    told = story.told()
    assert [(each["input_tokens"], each["output_tokens"]) for each in told] == usages(story)
    report = story.answer("runs", "show", f"{SLUG}-t1-1")
    mine = [event.data for event in story.of("agent.task.development", "agent.task.review")]
    counted = sum(each["usage"]["input_tokens"] + each["usage"]["output_tokens"] for each in mine)
    if len(story.of("run.started")) == 2:  # the plan's, and that of its first task
        assert report["spent"]["tokens"] == counted


def test_runs_show_and_runs_events_tell_the_story(story: Story) -> None:
    shown, listed = story.said[-2:]
    events = story.answer("runs", "events", f"{SLUG}-t1-1")["events"]
    kinds = [event["kind"] for event in events]
    mine = [event for event in story.log if event.data.get("run") == f"{SLUG}-t1-1"]
    assert kinds == [event.kind for event in mine]
    assert all(kind in listed.out for kind in kinds)
    report = story.answer("runs", "show", f"{SLUG}-t1-1")
    assert report["breaches"] == []
    assert len(report["attempts"]) == kinds.count("agent.task.development") >= 1
    if report["run"]["status"] == "asking":
        record = story.root / ".hornbook/records/escalations" / f"{report['record'].removeprefix('escalation.')}.json"  # fmt: skip
        known = json.loads(record.read_bytes())
        assert known["task"], known
        assert report["asks"].splitlines()[0] in shown.out + shown.err
    for call in story.told():
        assert str(call.get("summary") or call["output_tokens"])[:40] in listed.out


def test_the_users_own_branch_and_files_are_untouched(story: Story) -> None:
    assert git(story.root, "rev-parse", "HEAD") == story.head
    assert git(story.root, "symbolic-ref", "--short", "HEAD") == "main"
    assert git(story.root, "status", "--porcelain", "--", "shop", "tests") == ""


# The model as developer


def steps(story: Story) -> list[list[tuple[str, str]]]:
    """The prompts of the developer's steps: a review has no system prompt."""
    return [messages for messages in story.recorder.prompts() if len(messages) == 2]


def test_every_step_is_a_conversation_of_two_messages_within_its_room(developing: Story) -> None:
    served = endpoint(developing, "small")
    room = served.prompt_tokens(load(developing.root).budget.safety_percent)
    told = [each for each in developing.told() if each["action"] != "answer"]
    prompts = steps(developing)
    assert len(prompts) == len(told) >= 1
    for messages, each in zip(prompts, told, strict=True):
        assert [role for role, _ in messages] == ["system", "user"]
        tokens = sum(COUNT(text) for _, text in messages)
        assert tokens == each["tokens"] <= room
        assert each["utilisation"] == round(tokens / served.max_tokens, 4)


def test_a_step_is_told_what_the_one_before_came_to(developing: Story) -> None:
    told = [each for each in developing.told() if each["action"] != "answer"]
    for before, messages in zip(told, steps(developing)[1:], strict=False):
        assert before["error"] is None or before["error"][:20] in messages[1][1]


def test_no_prompt_of_the_developer_holds_a_rule(developing: Story) -> None:
    rules = RuleTexts(RULES)
    for messages in steps(developing):
        for _, text in messages:
            assert list(rules.leaks("prompt", text)) == []


def test_what_the_developer_did_is_what_git_says(developing: Story) -> None:
    for event in developing.of("agent.task.development"):
        changed = git(
            developing.root, "diff", "--name-only", event.data["base"], event.data["commit"]
        )
        assert event.data["files"] == sorted(changed.split())


# The model as reviewer


def reviews(story: Story) -> list[dict[str, Any]]:
    return [dict(event.data) for event in story.of("agent.task.review")]


def packet_of(story: Story, review: dict[str, Any]) -> Path:
    task = story.root / ".hornbook/plans" / SLUG / "tasks/1/artifacts/inputs"
    return task / f"{review['prompt_sha256']}.md"


def test_a_review_is_asked_for_with_the_packet_and_nothing_else(reviewing: Story) -> None:
    asked = reviewing.recorder.prompts()
    assert len(asked) == len(reviews(reviewing)) >= 1
    for messages, review in zip(asked, reviews(reviewing), strict=True):
        ((role, text),) = messages
        assert role == "user"
        assert sha256(text.encode()).hexdigest() == review["prompt_sha256"]
        assert text == packet_of(reviewing, review).read_text("utf-8")


def test_what_was_sent_satisfies_its_receipt_with_every_rule_whole(
    reviewing: Story, tmp_path: Path
) -> None:
    for messages, review in zip(reviewing.recorder.prompts(), reviews(reviewing), strict=True):
        sent = tmp_path / "sent.md"
        sent.write_bytes(messages[0][1].encode())
        name = f"{review['receipt_sha256'][:16]}.json"
        receipt = reviewing.root / ".hornbook/records/receipts" / name
        assert reviewing.hornbook("context", "verify", str(receipt), str(sent)).code == 0
        facts = json.loads(receipt.read_bytes())
        assert tuple(facts["sop_ids"]) == BOUND
        assert facts["tokens"] == COUNT(messages[0][1]) <= facts["window"]
        for rule_id in BOUND:
            body = RULES[rule_id.rpartition(".")[2]].split("---\n")[2]
            assert body.strip() in messages[0][1]
        assert RULES["pages"].split("---\n")[2].strip() not in messages[0][1]


def test_the_server_is_told_to_hold_a_review_to_the_schema_of_its_rules(reviewing: Story) -> None:
    for request in reviewing.recorder.requests:
        form = request["response_format"]
        assert form["type"] == "json_schema"
        wanted = form["json_schema"]["schema"]
        entry = wanted["$defs"]["entry"]["properties"]
        assert entry["sop_id"]["enum"] == list(BOUND)
        assert wanted["properties"]["sop_review"]["minItems"] == len(BOUND)
    assert all(each["constrained"] and not each["notes"] for each in reviewing.told("answer"))


def test_an_answer_has_the_form_of_a_review_unless_it_was_cut(reviewing: Story) -> None:
    schema = review_schema(BOUND)
    told = reviewing.told("answer")
    for answer, review, each in zip(
        reviewing.recorder.answers, reviews(reviewing), told, strict=True
    ):
        choice = answer["choices"][0]
        assert review["answer"] == choice["message"]["content"]
        assert review["error"] is None
        assert each["cut"] == (choice["finish_reason"] == "length")
        if not each["cut"]:
            jsonschema.validate(json.loads(review["answer"]), schema)


def test_every_review_is_judged_and_kept_with_its_reasons(reviewing: Story) -> None:
    judged = [event.data for event in reviewing.of("review.checked")]
    assert len(judged) == len(reviews(reviewing))
    for data, review in zip(judged, reviews(reviewing), strict=True):
        assert data["outcome"] in set(Ruling)
        assert data["tree"] == review["tree"]
        assert bool(data["problems"]) == (data["outcome"] == Ruling.INVALID)
        assert data["explanation"]
        record = reviewing.root / ".hornbook/records/reviews" / f"{data['record'].removeprefix('review.')}.json"  # fmt: skip
        assert json.loads(record.read_bytes())["outcome"] == data["outcome"]


def test_review_check_by_hand_finds_the_same_faults(reviewing: Story, tmp_path: Path) -> None:
    checks = reviewing.of("review.checked")
    for event, review in zip(checks, reviews(reviewing), strict=True):
        answer = tmp_path / "review.json"
        answer.write_text(review["answer"], "utf-8")
        receipt = f".hornbook/records/receipts/{review['receipt_sha256'][:16]}.json"
        told = reviewing.answer("review", "check", str(answer), "--receipt", receipt)
        assert told["problems"] == event.data["problems"]


def test_an_outcome_leads_where_it_must(reviewing: Story) -> None:
    """An invalid review goes to a person and never to the developer."""
    log = reviewing.log
    for place, event in enumerate(log):
        if event.kind != "review.checked":
            continue
        run = event.data["run"]
        after = [each for each in log[place + 1 :] if each.data.get("run") == run]
        kinds = [each.kind for each in after]
        outcome = event.data["outcome"]
        if outcome in {Ruling.INVALID, Ruling.ESCALATE}:
            assert event.data["route"] == "human"
            assert "user.signal.escalate" in kinds
            assert not {"agent.task.development", "task.approved"} & set(kinds)
        elif outcome == Ruling.APPROVED:
            assert "task.approved" in kinds
        else:
            assert event.data["route"] not in {None, "human"}
            assert "task.approved" not in kinds[: kinds.index("step.finished")]
