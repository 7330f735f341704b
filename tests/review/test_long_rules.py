"""A rule about one thing is held to all that it says; a page to each part that the change has."""

from dataclasses import replace

import pytest

from hornbook.review.evidence.marked_text import parts
from hornbook.review.judge import ReviewBrief, judge
from hornbook.review.judgement import Judgement
from tests.kit.growth import in_proportion
from tests.kit.review_worlds import DATA, Facts, Tried, World, worlds

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


def judged(
    text: str, tried: Facts = HALF, *, inferred: bool, base: str = BASE, added: str = ADDED
) -> Judgement:
    rules = {"calls": {"text": text, "severity": "error", "applies_to": "**/*.py"}}
    facts: Facts = {
        "world": "calls",
        "rules": rules,
        "base": {"shop.py": base},
        "clean": {"shop.py": base + added},
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


PAGE = DATA / "page.md"
MARK = "(the rule stands here)"


def in_page(world: World) -> World:
    """The same world where each rule of severity error is one part of a page."""
    page = PAGE.read_text(encoding="utf-8")
    rules = {
        name: {**rule, "text": page.replace(MARK, rule["text"].lstrip("#").strip())}
        if rule["severity"] == "error"
        else rule
        for name, rule in world.facts["rules"].items()
    }
    return World(world.name, {**world.facts, "rules": rules})


def test_what_a_rule_says_counts_inside_of_a_page_too() -> None:
    tried = [each for world in worlds() for each in in_page(world).tried()]
    ends = {True: 0, False: 0}
    for each in tried:
        case = each.world.case(each.variant)
        found = judge(case, [ReviewBrief("it", frozenset(case.units), each.printed)])
        wrong = str(found.outcome) == "approved" if each.attack else found.outcome != each.wanted
        ends[each.attack] += wrong
    # Before a page was read part by part 242 attacks were approved, and 5 honest ones stumbled.
    assert ends[True] <= 90
    assert ends[False] <= 17


def test_a_page_is_cut_into_what_is_about_one_thing() -> None:
    text = (
        "# Code\n\nWe like it short.\nReally.\n\n## Never\n\nDo not write:\n\n- `eval`\n"
        "  or the like\n- this:\n\n```py\nexec(x)\n\n```\n\n"
        "| a | b |\n|---|---|\n\n## Git\n\nNever rebase.\n"
    )
    assert parts(text) == (
        "# Code\n\nWe like it short.\nReally.",
        "## Never\n\nDo not write:",
        "## Never\n\nDo not write:\n\n- `eval`\n  or the like",
        "## Never\n\nDo not write:\n\n- this:\n```py\nexec(x)\n\n```",
        "## Never\n\nDo not write:\n\n| a | b |",
        "## Never\n\nDo not write:\n\n|---|---|",
    )


def test_a_long_paragraph_is_cut_into_its_sentences() -> None:
    long = "Names are words. " * 40 + "Never call `eval`."
    assert parts(long)[-1] == "Never call `eval`."


@pytest.mark.parametrize(
    ("said", "base", "added"),
    [
        ("Nothing is `global` here.\n", BASE, "\n\ndef f():\n    global n\n    n = 1\n"),
        (
            "Parcels MUST be counted by `metrics.count()`.\n",
            BASE,
            "\n\ndef f(parcel):\n    parcel.go()\n    return name()\n",
        ),
        ("Never cache the tenants.\n", BASE, "\n\ndef f():\n    tenants = cache()\n    go()\n"),
        ("Names are short.\n", BASE, ADDED),
    ],
)
def test_a_part_that_the_change_has_is_spoken_of(said: str, base: str, added: str) -> None:
    line = next(each.strip() for each in added.splitlines() if "def " in each)
    tried: Facts = {"name": "one", "answers": {"calls": ["passed", f"<<shop.py|{line}|q>>"]}}
    found = judged(PROSE * 2 + said, tried, inferred=True, base=base, added=added)

    assert codes(found)[:2] == ("escalate", {"beside_the_rule"})


@pytest.mark.parametrize("piece", ["- x\n", "a. ", "# b\n\n", "| a |\n", "```\n"])
def test_the_time_for_a_page_grows_with_its_length(piece: str) -> None:
    in_proportion(parts.__wrapped__, piece * (40_000 // len(piece)))
