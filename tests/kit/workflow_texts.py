"""Definitions for the tests of workflows: a good one, and a table of bad ones made from it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.kit.paths import DATA, PACKAGE

SOURCE = DATA / "workflows" / "source.json"
FOLDER = PACKAGE / "loop" / "workflow"
SHIPPED = sorted((FOLDER / "workflows").glob("*.json"))
LOOP = (FOLDER / "workflows" / "plan-and-execute.json").read_text(encoding="utf-8")

Definition = dict[str, Any]  # JSON that tests take apart


def definition() -> Definition:
    """The shipped loop, to be changed."""
    found: Definition = json.loads(LOOP)
    return found


def step(of: Definition, name: str) -> Definition:
    """One of its steps."""
    found: Definition = next(each for each in of["steps"] if each["name"] == name)
    return found


def action(of: Definition, name: str) -> Definition:
    """The action of one of its steps."""
    found: Definition = step(of, name)["action"]
    return found


def text_of(of: Definition) -> str:
    """A definition as it would stand in a file."""
    return json.dumps(of, indent=2, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Bad:
    """A definition that is refused: how it is made, the code, a text on its line, and the hint.

    `seen` says whether the JSON schema can see it too.
    """

    id: str
    change: Callable[[Definition], object]
    code: str
    at: str
    hint: str
    seen: bool = True


def put(*path: str | int, value: object) -> Callable[[Definition], object]:
    """A change that sets a value; a step is named after `steps`."""

    def change(of: Definition) -> None:
        place: Any = of
        for before, key in zip((None, *path), path[:-1], strict=False):
            place = step(of, str(key)) if before == "steps" else place[key]
        place[path[-1]] = value

    return change


def drop(*path: str) -> Callable[[Definition], object]:
    """A change that removes a member."""

    def change(of: Definition) -> None:
        place: Any = of
        for before, key in zip((None, *path), path[:-1], strict=False):
            place = step(of, key) if before == "steps" else place[key]
        del place[path[-1]]

    return change


def extra(**members: object) -> Callable[[Definition], object]:
    """A change that adds a step at the end."""
    done = {"type": "publish", "subject": "workflow.events", "payload": {"event": "extra"}}
    return lambda of: of["steps"].append({"action": done, **members})


def both(*changes: Callable[[Definition], object]) -> Callable[[Definition], object]:
    """Several changes, one after the other."""
    return lambda of: [change(of) for change in changes]


S = "steps"
BAD = [
    Bad("unknown key", put("enbled", value=True), "unknown_key:enbled", '"enbled"', "did you mean `enabled`?"),
    Bad("unknown step key", put(S, "reviewer", "on_failure", value="x"), "unknown_key:on_failure", '"on_failure"', "`on_fail`"),
    Bad("unknown condition key", put(S, "verdict_check", "condition", "op", value="eq"), "unknown_key:op", '"op"', "`operator`"),
    Bad("unknown action key", put(S, "reviewer", "action", "promt", value="x"), "unknown_key:promt", '"promt"', "`prompt`"),
    Bad("payload of an agent", put(S, "reviewer", "action", "payload", value={}), "unknown_key:payload", '"payload": {}', "`type`, `subject`"),
    Bad("unknown trigger key", put("trigger", "subjct", value="x"), "unknown_key:subjct", '"subjct"', "`subject`"),
    Bad("unknown input", put(S, "structural_gates", "action", "payload", "presets", value="go"), "unknown_key:presets", '"presets"', "`preset`"),
    Bad("unknown task member", put(S, "verdict_check", "action", "payload", "patern", value=[]), "unknown_key:patern", '"patern"', "`patterns`"),
    Bad("no id", drop("id"), "missing_key:id", "{", "add it"),
    Bad("no steps", drop("steps"), "missing_key:steps", "{", "add it"),
    Bad("no timeout", drop("timeout"), "missing_key:timeout", "{", "add it"),
    Bad("no limit", drop("max_iterations"), "missing_key:max_iterations", "{", "add it"),
    Bad("no version", drop("version"), "missing_key:version", "{", "add it"),
    Bad("no input", drop(S, "validate_review", "action", "payload", "expected_sops"), "missing_key:expected_sops", '"payload": {\n          "task_id": "${trigger.payload.task_id}",\n          "review_output"', "add it"),
    Bad("no payload", drop(S, "structural_gates", "action", "payload"), "missing_key:slug", '"action": {\n        "type": "call",\n        "subject": "workflow.gate.structural"\n', "add it"),
    Bad("no operator", drop(S, "verdict_check", "condition", "operator"), "missing_key:operator", '"condition": {\n        "field": "${steps.reviewer.output.verdict}",\n        "value"', "add it"),
    Bad("no prompt", drop(S, "reviewer", "action", "prompt"), "missing_key:prompt", '"action": {\n        "type": "publish_agent",\n        "subject": "agent.task.review"', "add it"),
    Bad("condition without on_fail", drop(S, "check_too_big", "on_fail"), "missing_key:on_fail", '{\n      "name": "check_too_big"', "add `on_fail`"),
    Bad("steps of the wrong kind", put("steps", value={}), "bad_value:steps", '"steps": {}', "kind array"),
    Bad("no step at all", put("steps", value=[]), "bad_value:steps", '"steps": []', "add one"),
    Bad("enabled as a text", put("enabled", value="yes"), "bad_value:enabled", '"enabled": "yes"', "kind boolean"),
    Bad("a step that is a text", lambda of: of["steps"].append("complete"), "bad_value:steps", '    "complete"\n', "kind object"),
    Bad("bad id", put("id", value="Plan and Execute"), "bad_value:id", '"id": "Plan', "lower-case"),
    Bad("bad version", put("version", value="1"), "bad_value:version", '"version": "1"', "1.0.0"),
    Bad("bad step name", extra(name="a.b"), "bad_value:name", '"name": "a.b"', "lower-case"),
    Bad("bad duration", put("timeout", value="30 minutes"), "bad_value:timeout", '"30 minutes"', "`5m`"),
    Bad("no duration", put(S, "reviewer", "timeout", value="0s"), "bad_value:timeout", '"timeout": "0s"', "`5m`"),
    Bad("time-out for a person", both(extra(name="wait", timeout="1h", on_success="complete"), put(S, "wait", "action", value={"type": "ask", "subject": "user.signal.question", "payload": {"task_id": 1, "question": "?"}})), "bad_value:timeout", '"timeout": "1h"', "does not count"),
    Bad("no iteration", put("max_iterations", value=0), "bad_value:max_iterations", '"max_iterations": 0', "from 1 to 100"),
    Bad("half an iteration", put("max_iterations", value=2.5), "bad_value:max_iterations", '"max_iterations": 2.5', "whole number"),
    Bad("another trigger", put("trigger", "subject", value="workflow.trigger.other"), "bad_value:subject", '"workflow.trigger.other"', "`workflow.trigger.plan-and-execute`", seen=False),
    Bad("wrong role", put(S, "reviewer", "action", "role", value="developer"), "bad_value:role", '"role": "developer",\n        "model": "${trigger.payload.model}",\n        "prompt": "Review', "`reviewer`"),
    Bad("empty prompt", put(S, "reviewer", "action", "prompt", value=" "), "bad_value:prompt", '"prompt": " "', "write something"),
    Bad("a status from an answer", put(S, "verdict_check", "action", "payload", "status", value="${steps.reviewer.output.verdict}"), "bad_value:status", '"status": "${steps', "no answer of an agent"),
    Bad("a field that is a text", put(S, "verdict_check", "condition", "field", value="verdict"), "bad_value:field", '"field": "verdict"', "${…}"),
    Bad("a field of the wrong kind", both(put(S, "verdict_check", "condition", "operator", value="lt"), put(S, "verdict_check", "condition", "value", value=1)), "bad_value:field", '"field": "${steps.reviewer.output.verdict}"', "kind string", seen=False),
    Bad("a limit that is a text", put(S, "retry_developer_gates", "condition", "value", value="3"), "bad_value:value", '"value": "3"', "kind number"),
    Bad("a verdict that is never given", put(S, "verdict_check", "condition", "value", value="aproved"), "bad_value:value", '"value": "aproved"', "did you mean `approved`?", seen=False),
    Bad("a verdict of the wrong kind", put(S, "verdict_check", "condition", "value", value=True), "bad_value:value", '"value": true', "like kinds", seen=False),
    Bad("a list that is none", put(S, "verdict_check", "condition", "operator", value="in"), "bad_value:value", '"value": "approved"', "kind array"),
    Bad("a judge with a condition", put(S, "structural_gates", "condition", value={"field": "${trigger.payload.slug}", "operator": "eq", "value": "x"}), "bad_value:condition", '"condition": {\n        "field": "${trigger.payload.slug}"', "step of its own"),
    Bad("an alias of another subject", put(S, "reviewer", "output_as", value="developer"), "bad_value:output_as", '"output_as": "developer",\n      "timeout": "5m"', "another subject", seen=False),
    Bad("unknown operator", put(S, "verdict_check", "condition", "operator", value="equals"), "unknown_operator:equals", '"operator": "equals"', "write one of `eq`"),
    Bad("mistyped operator", put(S, "verdict_check", "condition", "operator", value="contain"), "unknown_operator:contain", '"operator": "contain"', "did you mean `contains`?"),
    Bad("unknown action", put(S, "reviewer", "action", "type", value="publish_agnt"), "unknown_action:publish_agnt", '"publish_agnt"', "did you mean `publish_agent`?"),
    Bad("unknown subject", put(S, "structural_gates", "action", "subject", value="workflow.gate.structual"), "unknown_subject:workflow.gate.structual", "structual", "did you mean `workflow.gate.structural`?"),
    Bad("a subject of another action", put(S, "complete", "action", "subject", value="workflow.gate.structural"), "unknown_subject:workflow.gate.structural", '"subject": "workflow.gate.structural",\n        "payload": {\n          "event": "task', "type `call`"),
    Bad("a trigger without an id", put(S, "check_too_big", "action", "subject", value="workflow.trigger."), "unknown_subject:workflow.trigger.", '"workflow.trigger."', "the id of a workflow"),
    Bad("unknown target", put(S, "reviewer", "on_success", value="validate_reviews"), "unknown_step:validate_reviews", '"validate_reviews"', "did you mean `validate_review`?", seen=False),
    Bad("unknown step in an expression", put(S, "reviewer_failed", "action", "payload", "error", value="${steps.revewer.error}"), "unknown_step:revewer", "revewer", "did you mean `reviewer`?", seen=False),
    Bad("unknown output", put(S, "verdict_check", "condition", "field", value="${steps.reviewer.output.verdct}"), "unknown_field:verdct", "verdct", "did you mean `verdict`?", seen=False),
    Bad("a member of a text", put(S, "verdict_check", "condition", "field", value="${steps.reviewer.output.verdict.x}"), "unknown_field:verdict.x", "verdict.x", "has no members", seen=False),
    Bad("an output of an event", put(S, "complete", "action", "payload", "x", value="${steps.review_invalid.output.x:-1}"), "unknown_field:x", "review_invalid.output.x", "answers nothing", seen=False),
    Bad("neither output nor error", put(S, "complete", "action", "payload", "x", value="${steps.reviewer.result}"), "unknown_field:result", "steps.reviewer.result", "`steps.reviewer.error`", seen=False),
    Bad("unknown root", put(S, "complete", "action", "payload", "x", value="${step.reviewer.output}"), "unknown_field:step.reviewer.output", "${step.", "did you mean `steps`?", seen=False),
    Bad("unknown execution field", put(S, "complete", "action", "payload", "x", value="${execution.attempt}"), "unknown_field:execution.attempt", "execution.attempt", "`execution.iteration`", seen=False),
    Bad("the whole trigger", put(S, "complete", "action", "payload", "x", value="${trigger.payload}"), "unknown_field:trigger.payload", '"x"', "and a name", seen=False),
    Bad("an open expression", put(S, "complete", "action", "payload", "x", value="a ${execution.iteration"), "bad_expression", '"x"', "not closed", seen=False),
    Bad("an empty expression", put(S, "complete", "action", "payload", "x", value="${}"), "bad_expression", '"x"', "names no value", seen=False),
    Bad("an empty default", put(S, "complete", "action", "payload", "x", value="${trigger.payload.x:-}"), "bad_expression", '"x"', '`:-""`', seen=False),
    Bad("half a default", put(S, "complete", "action", "payload", "x", value="${trigger.payload.x:-[1}"), "bad_expression", '"x"', "neither JSON nor", seen=False),
    Bad("two steps of a name", extra(name="complete"), "duplicate_step:complete", '"name": "complete"\n', "rename one", seen=False),
    Bad("unreachable", extra(name="lonely"), "unreachable_step:lonely", '"lonely"', "no step leads to", seen=False),
    Bad("no end", put(S, "complete", "on_success", value="complete"), "cannot_end:complete", '"name": "complete"', "leads to an end", seen=False),
    Bad("an endless cycle", both(drop(S, "retry_developer_gates", "condition"), put(S, "retry_developer_gates", "on_fail", value="developer_failed"), drop(S, "developer_failed", "action"), put(S, "developer_failed", "action", value={"type": "publish", "subject": "workflow.events", "payload": {"event": "x"}})), "unguarded_cycle:structural_gates", '"name": "structural_gates"', "for ever", seen=False),
    Bad("a guard that does not limit", put(S, "retry_developer_gates", "condition", "operator", value="ge"), "unguarded_cycle:retry_developer_gates", '"name": "retry_developer_gates"', "`lt` a number", seen=False),
    Bad("round by failing", put(S, "retry_developer_gates", "on_fail", value="structural_gates"), "unguarded_cycle:structural_gates", '"name": "structural_gates"', "for ever", seen=False),
    Bad("an answer that may not be there", put(S, "developer_failed", "action", "payload", "x", value="${steps.reviewer.output.feedback}"), "may_be_missing:reviewer", '"x"', "default", seen=False),
    Bad("an answer lost to a newer error", put(S, "reviewer_failed", "action", "payload", "x", value="${steps.last_check.output.feedback}"), "may_be_missing:last_check", '"x"', "without an output", seen=False),
    Bad("an error that was none", put(S, "verdict_check", "action", "payload", "patterns", value="${steps.reviewer.error}"), "may_be_missing:reviewer", '"patterns"', "without an error", seen=False),
    Bad("an old attempt", drop(S, "retry_developer_gates", "output_as"), "stale:developer", '"files": "${steps.developer', "`output_as` `developer`", seen=False),
    Bad("a review before the gates", put(S, "developer", "on_success", value="assemble_context"), "review_without_gates:reviewer", '"action": {\n        "type": "publish_agent",\n        "subject": "agent.task.review"', "workflow.gate.structural", seen=False),
    Bad("a review without rules", put(S, "assemble_context", "on_fail", value="reviewer"), "review_without_context:reviewer", '"action": {\n        "type": "publish_agent",\n        "subject": "agent.task.review"', "workflow.context.assemble", seen=False),
    Bad("an unchecked approval", put(S, "reviewer", "on_success", value="verdict_check"), "unearned_approval:verdict_check", '"action": {\n        "type": "publish",\n        "subject": "workflow.task.complete"', "an accepted review", seen=False),
    Bad("an approval of a rejection", put(S, "verdict_check", "condition", "value", value="rejected"), "unearned_approval:verdict_check", '"action": {\n        "type": "publish",\n        "subject": "workflow.task.complete"', "an approving verdict", seen=False),
]  # fmt: skip


def made(bad: Bad) -> str:
    """The text of a bad definition."""
    of = definition()
    bad.change(of)
    return text_of(of)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
    ),
    max_leaves=20,
)
