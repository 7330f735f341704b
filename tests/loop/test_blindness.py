"""Before each attempt of a run rules are looked for in all that a blind developer can read."""

from pathlib import Path
from typing import Any

import pytest

from hornbook import Workspace
from hornbook.agents.assignment import Answer
from hornbook.agents.embedded.model_call import withholding
from hornbook.agents.rule_leaks import RuleTexts
from hornbook.loop.protocol import StepKind
from hornbook.loop.runs.run_book import RunBook, blindness_warnings
from tests.kit.fakes import reviews, writes
from tests.kit.loops import CONFIG, GREET, PLAN, RULE, Stage, repository

RULE_ID = "source.doc.sops.greetings"
SENTENCE = "Every greeting MUST name the person whom it is for, and nobody else at all."
WELL = writes({"src/greet.py": GREET})


def sights(stage: Stage) -> list[dict[str, Any]]:  # events are JSON
    return [dict(event.data) for event in stage.log() if event.kind == "blindness.checked"]


def warnings(root: Path) -> tuple[str, ...]:
    with Workspace.open(root) as work:
        return RunBook(work.places, work.settings).report("run-1").warnings


def test_a_prompt_that_quotes_a_rule_is_never_sent_and_a_person_decides(tmp_path: Path) -> None:
    quoting = PLAN.replace("a name is greeted", f"a name is greeted. {SENTENCE}")
    stage = Stage(repository(tmp_path, quoting))
    outcome = stage.go()
    assert outcome.kind is StepKind.ASKING
    assert stage.developer.seen == []
    assert SENTENCE in outcome.message
    assert RULE_ID in outcome.message
    assert "the prompt quotes" in outcome.message
    (sight,) = sights(stage)
    assert {leak["where"] for leak in sight["prompt"]} == {"the prompt", "a criterion"}


def test_a_developer_who_may_see_rules_is_asked_all_the_same(tmp_path: Path) -> None:
    quoting = PLAN.replace("a name is greeted", f"a name is greeted. {SENTENCE}")
    stage = Stage(repository(tmp_path, quoting, CONFIG + "developer_sees: full\n"))
    assert stage.go().status == "approved"
    assert sights(stage) == []


def test_a_rule_in_a_file_of_the_repository_is_a_warning_of_the_run(tmp_path: Path) -> None:
    more = {"docs/notes.md": f"We say: {SENTENCE}\n", "AGENTS.md": "# Agents\n\nBe kind.\n"}
    stage = Stage(repository(tmp_path, **more))
    assert stage.go().status == "approved"
    told = warnings(tmp_path)
    assert f"a blind developer can read {RULE_ID} in docs/notes.md" in told
    assert "rule files that coding agents load by themselves stay: AGENTS.md" in told


def test_a_file_that_quotes_a_rule_may_be_worked_on(tmp_path: Path) -> None:
    plan = PLAN.replace("src/greet.py (new)", "src/app.py")
    shown = f'"""{SENTENCE}"""\n'
    stage = Stage(
        repository(tmp_path, plan, **{"src/app.py": shown}), [writes({"src/app.py": shown + GREET})]
    )
    assert stage.go().status == "approved"
    assert SENTENCE in stage.developer.seen[0].prompt
    assert stage.developer.seen[0].withheld == {}


def test_what_a_rule_quotes_of_the_code_may_stand_in_prompts_and_feedback(tmp_path: Path) -> None:
    code = 'def announce(name, place):\n    return f"{name} has come to {place}"\n'
    rule = f"{RULE}\n```python\n{code}```\n"
    plan = PLAN.replace("src/greet.py (new)", "src/app.py")
    more = {".hornbook/sources/docs/sops/greetings.md": rule, "src/app.py": code}
    said = reviews("rejected", "fixable", violated=True, feedback=f"Mend\n```python\n{code}```\n")
    better = writes({"src/app.py": code + GREET})
    stage = Stage(repository(tmp_path, plan, **more), [better], [said, reviews()])
    assert stage.go().status == "approved"
    assert code in stage.developer.seen[1].feedback
    assert not any("left out" in each for each in warnings(tmp_path))


def test_feedback_that_quotes_a_rule_reaches_the_developer_without_it(tmp_path: Path) -> None:
    said = f"Line 1 breaks this: {SENTENCE} Name the person."
    rejected = reviews("rejected", "fixable", violated=True, feedback=said)
    stage = Stage(repository(tmp_path), [WELL], [rejected, reviews()])
    assert stage.go().status == "approved"
    second = stage.developer.seen[1]
    assert SENTENCE not in second.prompt
    for text in (second.prompt, second.feedback):
        assert f"Line 1 breaks this: [a passage of {RULE_ID}] Name the person." in text
    assert any("feedback quoted rules" in each for each in warnings(tmp_path))
    assert second.withheld.keys() == {RULE_ID}


def test_later_looks_read_changed_files_alone_and_know_the_others(tmp_path: Path) -> None:
    broken = writes({"src/greet.py": f"# {SENTENCE}\n# BROKEN\n"})
    stage = Stage(repository(tmp_path, **{"docs/notes.md": f"{SENTENCE}\n"}), [broken, WELL, WELL])
    assert stage.go().status == "approved"
    first, second = sights(stage)
    assert [leak["where"] for leak in first["leaks"]] == ["docs/notes.md"]
    assert [leak["where"] for leak in second["leaks"]] == ["docs/notes.md", "src/greet.py"]
    assert first["commit"] != second["commit"]
    third = Stage(stage.root, [WELL], clock=stage.clock)
    third.go("run-2", "2")
    assert [leak["where"] for leak in sights(third)[-1]["leaks"]] == ["docs/notes.md"]


def test_a_model_is_not_sent_a_step_that_quotes_a_withheld_rule() -> None:
    sent: list[str] = []

    def ask(system: str, context: str, seconds: float) -> Answer:
        sent.append(context)
        return Answer(text=f"{len(system)} {seconds}")

    careful = withholding(ask, {RULE_ID: RULE})
    refused = careful("system", f"gate output: {SENTENCE}", 5)
    assert refused.error is not None
    assert RULE_ID in refused.error
    assert sent == []
    assert careful("system", "harmless", 5).error is None
    assert withholding(ask, {})("system", SENTENCE, 5).error is None


@pytest.mark.parametrize("around", ["", "before ", f"{SENTENCE[:30]} then "])
def test_a_text_without_rules_holds_no_run_of_them_and_all_the_rest(around: str) -> None:
    known = RuleTexts({"a": RULE, "b": f"Another rule quotes: {SENTENCE}"})
    text = f"{around}{SENTENCE} between {SENTENCE[5:60]} after"
    left, rules = known.without(text)
    assert list(known.leaks("x", left)) == []
    assert left.startswith(around.rstrip())
    assert " between " in left
    assert left.endswith(" after")
    assert rules == ("a", "b")


def test_a_network_that_nobody_watches_is_a_warning_of_the_run() -> None:
    found: dict[str, Any] = dict.fromkeys(("leaks", "host_files", "unread", "left_out"), ())
    (told,) = blindness_warnings({**found, "network": "host"})
    assert told.endswith("so a blind developer is not wholly blind")
    assert blindness_warnings({**found, "network": "listed"}) == blindness_warnings(found) == []
