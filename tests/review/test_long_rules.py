"""A rule about many things is answered by having looked; one about one thing by what it says."""

from dataclasses import replace

import pytest

from hornbook.review.judge import ReviewBrief, judge
from hornbook.review.judgement import Judgement
from tests.kit.review_worlds import Facts, Tried, World

RULE = "Calls of other services MUST pass `timeout`.\n"
PROSE = (
    "Describe the pull request by its template, link the issue, and write what was tried.\n"
    "Commits say why they are made; branches begin with the name of their author.\n"
) * 4
BASE = "import requests\n\n\ndef name() -> str:\n    return 'shop'\n"
ADDED = (
    "\n\ndef load(url: str) -> bytes:\n    return requests.get(url, timeout=5).content\n"
    "\n\ndef store(url: str, body: bytes) -> int:\n    return requests.put(url, body).status_code\n"
)
HALF: Facts = {
    "name": "half",
    "answers": {"calls": ["passed", "One call: <<shop.py|requests.get|q>>"]},
}


def judged(text: str, tried: Facts = HALF, *, inferred: bool) -> Judgement:
    rules = {"calls": {"text": text, "severity": "error", "applies_to": "**/*.py"}}
    facts: Facts = {
        "world": "calls",
        "rules": rules,
        "base": {"shop.py": BASE},
        "clean": {"shop.py": BASE + ADDED},
    }
    world = World("calls", facts)
    case = world.case("clean")
    told: frozenset[str] = frozenset(case.units if inferred else ())
    case = replace(case, reviewed=replace(case.reviewed, inferred=told))
    printed = Tried(world, "half", "clean", attack=False, facts=tried).printed
    return judge(case, [ReviewBrief("it", frozenset(case.units), printed)])


def codes(found: Judgement) -> tuple[str, set[str], set[str]]:
    problems = {each.code for each in found.problems}
    return str(found.outcome), problems, {each.code for each in found.warnings}


@pytest.mark.parametrize("inferred", [False, True])
def test_an_answer_to_a_short_rule_speaks_of_each_place(inferred: bool) -> None:
    found = codes(judged(RULE, inferred=inferred))
    assert found == ("escalate", {"beside_the_rule"}, set())


def test_an_answer_to_a_page_of_prose_is_not_held_to_its_words() -> None:
    found = codes(judged(PROSE + RULE, inferred=True))
    assert found == ("approved", set(), {"perhaps_beside"})


def test_a_stated_severity_holds_for_a_longer_rule() -> None:
    outcome, problems, _ = codes(judged(PROSE + RULE, inferred=False))
    assert (outcome, problems) == ("escalate", {"beside_the_rule"})


def test_a_search_beside_places_that_hold_costs_nothing() -> None:
    answer = ["passed", "<<shop.py|requests.get|q>>", {"search": {"pattern": "TODO", "paths": []}}]
    text = PROSE + RULE + "Never use `eval`.\n"
    found = judged(text, {"name": "searched", "answers": {"calls": answer}}, inferred=True)
    assert codes(found) == ("approved", set(), {"perhaps_beside"})
    assert any("TODO" in each for each in found.notes)
