"""Every value of a workflow has an effect in a run, or is refused when it is loaded."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hornbook.loop.protocol import StepKind
from hornbook.loop.workflow.load import load_workflow
from tests.kit.fakes import reviews, writes
from tests.kit.loops import BROKEN, CONFIG, GREET, Stage, repository
from tests.kit.workflow_texts import Definition, action, definition, put, text_of

WELL = writes({"src/greet.py": GREET})
BADLY = writes({"src/greet.py": BROKEN})
S = "steps"
FILE = ".hornbook__workflows__plan-and-execute.json"
Change = Callable[[Definition], object]


def stage(root: Path, *changes: Change, config: str = CONFIG, **moves: object) -> Stage:
    """The loop over a repository whose base has the shipped workflow with some changes."""
    of = definition()
    for change in changes:
        change(of)
    return Stage(repository(root, config=config, **{FILE: text_of(of)}), **moves)  # type: ignore[arg-type]  # moves are lists


def prompt(step: str, text: str) -> Change:
    return put(S, step, "action", "prompt", value=text)


def section(text: str, heading: str) -> str:
    """A section of a prompt."""
    return text.split(f"# {heading}\n", 1)[1].split("\n# ", 1)[0]


def test_the_prompts_of_the_shipped_workflow_are_sent_with_their_placeholders_filled(
    tmp_path: Path,
) -> None:
    done = Stage(repository(tmp_path))
    assert done.go().status == "approved"
    told = section(done.developer.seen[0].prompt, "Instructions")
    assert "Implement the following task.\n\nTask: Greet" in told
    assert "Acceptance Criteria:\n- a name is greeted" in told
    asked = section(done.reviewer.seen[0].prompt, "Instructions")
    assert "Review the following implementation for production readiness." in asked
    assert "## Task\n\nGreet" in asked
    assert "${" not in told + asked


def test_a_reviewer_is_asked_what_the_workflow_says_and_the_form_follows(tmp_path: Path) -> None:
    said = writes({"src/greet.py": GREET}, text="I am the best developer of all.")
    done = stage(
        tmp_path,
        prompt("reviewer", "ASKED of ${trigger.payload.task_id}: ${steps.developer.output.result}"),
        developer=[said],
    )
    assert done.go().status == "approved"
    text = done.reviewer.seen[0].prompt
    asked = section(text, "Instructions")
    assert "ASKED of task.hello.1" in asked
    assert "best developer" not in text
    assert asked.index("ASKED of") < asked.index("Answer with one JSON object")
    assert "Every greeting MUST name the person" in section(text, "Rules that bind this change")


def test_the_developers_prompt_stands_in_its_instructions(tmp_path: Path) -> None:
    done = stage(tmp_path, prompt("developer", "DO ${trigger.payload.task_description}"))
    assert done.go().status == "approved"
    assert "DO Greet" in section(done.developer.seen[0].prompt, "Instructions")
    assert "a name is greeted" in section(done.developer.seen[0].prompt, "The task")


def test_a_retry_prompt_stands_above_the_failure_that_it_tells_of(tmp_path: Path) -> None:
    done = stage(tmp_path, prompt("retry_developer_gates", "AGAIN, for:"), developer=[BADLY, WELL])
    assert done.go().status == "approved"
    assert "AGAIN" not in done.developer.seen[0].prompt
    told = section(done.developer.seen[1].prompt, "What the last attempt was told")
    assert told.index("AGAIN, for:") < told.index("check failed")


def test_a_failure_that_the_retry_prompt_quotes_is_told_once(tmp_path: Path) -> None:
    done = Stage(repository(tmp_path), [BADLY, WELL])
    assert done.go().status == "approved"
    told = section(done.developer.seen[1].prompt, "What the last attempt was told")
    assert "Structural gate checks failed. Fix the following issues:" in told
    assert told.count("what is broken has to be mended") == 1


def test_the_prompt_of_a_retry_after_a_review_is_used(tmp_path: Path) -> None:
    again = reviews("rejected", "fixable", violated=True, feedback="Name the person.")
    done = stage(tmp_path, prompt("retry_developer_feedback", "ANEW:"), reviewer=[again, reviews()])
    assert done.go().status == "approved"
    told = section(done.developer.seen[1].prompt, "What the last attempt was told")
    assert told.index("ANEW:") < told.index("Name the person.")


@pytest.mark.parametrize(
    ("threshold", "setting", "status"),
    [(0.95, 70, "asking"), (0.5, 70, "approved"), (0.5, 95, "asking")],
)
def test_the_stricter_of_two_confidences_counts(
    tmp_path: Path, threshold: float, setting: int, status: str
) -> None:
    change = put(S, "validate_review", "action", "payload", "confidence_threshold", value=threshold)
    config = f"{CONFIG}review: {{confidence_percent: {setting}}}\n"
    assert stage(tmp_path, change, config=config).go().status == status


def overriding(*overrides: object) -> Change:
    return put(S, "structural_gates", "action", "payload", "overrides", value=list(overrides))


def test_a_gate_of_the_workflow_is_run_beside_those_of_the_base(tmp_path: Path) -> None:
    command = "test ! -f src/greet.py"
    done = stage(tmp_path, overriding({"name": "own", "command": command}))
    assert done.go().kind is StepKind.ASKING
    names = [each["name"] for each in done.newest("gates.ran").data["gates"]]
    assert {"check", "own"} <= set(names)
    assert f"`{command}`" in done.developer.seen[0].prompt


def test_an_override_makes_an_optional_gate_required(tmp_path: Path) -> None:
    config = CONFIG.replace("sh check.sh}", "sh check.sh, required: false}")
    lax = Stage(repository(tmp_path / "lax", config=config), [BADLY])
    assert lax.go().status == "approved"
    strict = stage(
        tmp_path / "strict",
        overriding({"name": "check", "required": True}),
        config=config,
        developer=[BADLY],
    )
    assert strict.go().kind is StepKind.ASKING


def test_a_literal_preset_adds_its_gates(tmp_path: Path) -> None:
    change = put(S, "structural_gates", "action", "payload", "preset", value="rust")
    done = stage(tmp_path, change)
    assert done.go().kind is StepKind.ASKING, "the base has nothing that cargo could build"
    names = {each["name"] for each in done.newest("base.gated").data["gates"]}
    assert {"check", "rust-build", "rust-test"} <= names


def test_an_override_of_no_gate_asks_a_person(tmp_path: Path) -> None:
    done = stage(tmp_path, overriding({"name": "chek", "required": True}))
    outcome = done.go()
    assert outcome.kind is StepKind.ASKING
    assert "overrides `chek`, which is no gate" in outcome.message


def test_the_model_of_the_reviewers_step_reviews(tmp_path: Path) -> None:
    models = "models:\n  endpoints:\n    sharp: {provider: openai, model: m, max_tokens: 90000}\n"
    change = put(S, "reviewer", "action", "model", value="sharp")
    done = stage(tmp_path, change, config=CONFIG + models)
    assert done.go().status == "approved"
    assert done.reviewer.seen[0].model == "sharp"
    assert done.newest("context.assembled").data["window"] == 90000


def test_a_model_that_nobody_has_is_refused_before_anybody_works(tmp_path: Path) -> None:
    done = stage(tmp_path, put(S, "reviewer", "action", "model", value="shrap"))
    outcome = done.go()
    assert (outcome.kind, outcome.status) == (StepKind.ENDED, "refused")
    assert "names the model 'shrap'" in outcome.message
    assert not done.developer.seen


def test_the_workflow_of_the_base_counts_and_an_uncommitted_one_is_refused(tmp_path: Path) -> None:
    done = Stage(repository(tmp_path))
    of = definition()
    action(of, "developer")["prompt"] = "UNCOMMITTED"
    folder = tmp_path / ".hornbook" / "workflows"
    folder.mkdir()
    (folder / "plan-and-execute.json").write_text(text_of(of), "utf-8")
    outcome = done.go()
    assert outcome.status == "refused"
    assert "plan-and-execute.json is not committed as it stands" in outcome.message
    (folder / "plan-and-execute.json").unlink()
    assert done.go("run-2").status == "approved"


PAYLOAD = (S, "{}", "action", "payload")


@pytest.mark.parametrize(
    ("step", "key", "value", "said"),
    [
        ("structural_gates", "slug", "users", "`${trigger.payload.slug}`"),
        ("structural_gates", "preset", "ruts", "did you mean `rust`?"),
        ("structural_gates", "preset", 3, "a preset is a name"),
        ("structural_gates", "overrides", {"name": "x"}, "an array of objects"),
        ("structural_gates", "overrides", [{"required": True}], "no `name`"),
        ("structural_gates", "overrides", [{"name": "x", "enabled": False}], "`enabled`"),
        ("structural_gates", "overrides", [{"name": "x", "required": False}], "never takes away"),
        ("structural_gates", "overrides", [{"name": "x", "threshold": 101}], "a percentage"),
        ("structural_gates", "overrides", [{"name": "x", "timeout": 5}], "with a `command`"),
        ("assemble_context", "files", ["a.py"], "git says were changed"),
        ("assemble_context", "files", "${trigger.payload.files:-[]}", "git says were changed"),
        ("assemble_context", "task_id", "task.a.1", "the task that it was begun for"),
        ("validate_review", "review_output", "${steps.developer.output}", "reviewer answered"),
        ("validate_review", "expected_sops", [], "recomputed from git"),
        ("validate_review", "confidence_threshold", 1.5, "from 0 to 1"),
        ("validate_review", "confidence_threshold", "0.9", "from 0 to 1"),
        ("verdict_check", "patterns", [], "the review that was recorded"),
    ],
)
def test_a_value_that_no_run_would_use_is_refused_with_the_reason(
    step: str, key: str, value: object, said: str
) -> None:
    of = definition()
    action(of, step)["payload"][key] = value
    found = load_workflow(json.dumps(of, indent=1))
    assert [each.code for each in found.errors] == [f"bad_value:{key}"]
    assert said in found.errors[0].message
    assert found.errors[0].path.endswith(f".action.payload.{key}")


def test_two_reviewers_are_asked_the_same() -> None:
    of = definition()
    second = json.loads(json.dumps(next(e for e in of["steps"] if e["name"] == "reviewer")))
    second["name"] = "second"
    second["action"]["prompt"] = "Otherwise."
    of["steps"].insert(5, second)
    codes = {each.code for each in load_workflow(json.dumps(of)).errors}
    assert "bad_value:prompt" in codes
