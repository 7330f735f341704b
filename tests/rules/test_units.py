"""Units of a rule tile its text, begin at its headings and keep their names."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook.rules.units import SMALLEST, RulePart, RuleUnit, anchor, highest, units
from hornbook.text.tokens import counter
from hornbook.vocabulary.terms import Severity
from tests.kit.markdown_oracle import LINE_ENDS, documents, strange_bodies, top_blocks

RULE = "source.doc.sops.agents-agents"
LIMIT = 200

bodies = st.one_of(
    strange_bodies,
    st.builds(lambda text, end: text.replace("\n", end), documents, st.sampled_from(LINE_ENDS)),
)


def words(text: str) -> int:
    return len(text.split())


def prose(number: int, word: str = "word") -> str:
    return f"{' '.join([word] * number)}\n\n"


def cut(*texts: str, limit: int = LIMIT, severity: Severity | None = None) -> tuple[RuleUnit, ...]:
    parts = [RulePart(f"docs/part-{n}.md", f"r{n}", text) for n, text in enumerate(texts)]
    return units(RULE, parts, words, title="The title", severity=severity, limit=limit)


def slugs(found: tuple[RuleUnit, ...]) -> list[str]:
    return [unit.id.removeprefix(f"{RULE}.section.") for unit in found]


@given(st.lists(bodies, max_size=3), st.sampled_from([-1, 3, 20, LIMIT]))
def test_units_tile_the_parts_of_a_rule_byte_for_byte(texts: list[str], limit: int) -> None:
    found = cut(*texts, limit=limit)
    if sum(map(words, texts)) <= limit:
        assert found == ()
        return
    for number, text in enumerate(texts):
        assert "".join(unit.text for unit in found if unit.revision == f"r{number}") == text
    assert [unit.revision for unit in found] == sorted(unit.revision for unit in found)
    assert len({unit.id for unit in found}) == len(found)
    assert all(unit.tokens == words(unit.text) for unit in found)


@given(bodies)
def test_a_unit_begins_at_the_start_or_at_a_heading_that_stands_in_no_other_block(
    body: str,
) -> None:
    starts = {block.start for block in top_blocks(body) if block.level}
    at = 0
    for unit in cut(body, limit=3):
        assert at == 0 or at in starts
        at += len(unit.text)


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(SMALLEST, 300)), max_size=12))
def test_a_unit_over_the_limit_has_no_heading_left_to_cut_at(
    sections: list[tuple[int, int]],
) -> None:
    body = "".join(f"{'#' * level} Heading\n\n{prose(size)}" for level, size in sections)
    found = cut(body)
    for unit in found:
        assert unit.tokens <= LIMIT or unit.text.count("# Heading") == 1
    seconds = sum(level == 2 for level, _ in sections)
    assert len(found) >= seconds or not found


def test_a_rule_within_the_limit_has_no_units() -> None:
    assert cut("# T\n\n## A\n\n## B\n") == ()


def test_the_head_comes_first_then_a_unit_for_each_level_2_heading() -> None:
    found = cut(f"# T\n\nintro\n\n## Set up\n\n{prose(100)}## Style\n\n{prose(100)}")
    assert slugs(found) == ["head", "set-up", "style"]
    assert [unit.title for unit in found] == ["The title", "Set up", "Style"]
    assert found[0].text == "# T\n\nintro\n\n"


def test_a_unit_over_the_limit_is_cut_at_level_3_and_so_on() -> None:
    deep = f"### One\n\n{prose(90)}### Two\n\n{prose(90)}#### Inner\n\n{prose(150)}"
    found = cut(
        f"# T\n\n## Small\n\n{prose(70)}### Kept\n\n{prose(80)}## Large\n\n{prose(80)}{deep}"
    )
    assert slugs(found) == ["head", "small", "large", "one", "two", "inner"]


def test_a_head_of_many_level_1_headings_is_cut_at_them() -> None:
    found = cut(f"# One\n\n{prose(150)}# Two\n\n{prose(150)}# Three\n\n{prose(150)}")
    assert slugs(found) == ["head", "two", "three"]


def test_a_level_1_heading_ends_the_section_before_it() -> None:
    found = cut(f"# One\n\n## A\n\n{prose(150)}# Two\n\n{prose(150)}## B\n\n{prose(150)}")
    assert slugs(found) == ["head", "a", "two", "b"]


def test_a_small_unit_joins_the_one_before_it() -> None:
    found = cut(f"# T\n\n## A\n\n{prose(150)}## Tiny\n\nword\n\n## B\n\n{prose(150)}")
    assert slugs(found) == ["head", "a", "b"]
    assert found[1].text.endswith("## Tiny\n\nword\n\n")


def test_many_small_sections_do_not_make_one_that_has_no_end() -> None:
    found = cut("# T\n\n" + "".join(f"## S{n}\n\n{prose(50)}" for n in range(40)))
    assert len(found) > 5
    assert max(unit.tokens for unit in found) <= LIMIT + SMALLEST
    assert min(unit.tokens for unit in found[1:]) >= SMALLEST


def test_headings_in_fences_and_comments_are_none() -> None:
    hidden = "```\n## in a fence\n```\n\n<!--\n## in a comment\n-->\n\n> ## in a quote\n\n"
    assert slugs(cut(f"# T\n\n## A\n\n{hidden}{prose(300)}")) == ["head", "a"]


def test_a_rule_that_begins_with_a_section_has_no_head() -> None:
    found = cut(f"\n## A\n\n{prose(150)}## B\n\n{prose(150)}")
    assert slugs(found) == ["a", "b"]
    assert found[0].text.startswith("\n## A")


@pytest.mark.parametrize(
    ("heading", "slug"),
    [
        ("Error handling", "error-handling"),
        ("What's new in 2.0?", "whats-new-in-20"),
        ("`snake_case` and **bold**", "snake_case-and-bold"),
        ("[Linked](https://example.org) text", "linked-text"),
        ("A & B", "a--b"),
        ("Über Äpfel", "über-äpfel"),
        ("错误", "错误"),
        ("🎉 Party", "-party"),
        ("!!!", "section"),
    ],
)
def test_names_are_the_anchors_that_github_gives(heading: str, slug: str) -> None:
    found = cut(f"# T\n\n## {heading}\n\n{prose(300)}")
    assert slugs(found) == ["head", slug]


def test_the_second_heading_of_a_name_has_a_number_wherever_it_stands() -> None:
    names = ("Rules", "Rules", "Head", "Rules 2", "Rules")
    found = cut("# T\n\n" + "".join(f"## {name}\n\n{prose(80)}" for name in names))
    assert slugs(found) == ["head", "rules", "rules-2", "head-2", "rules-2-2", "rules-3"]
    grown = cut(f"# T\n\n## A\n\n{prose(70)}### Rules\n\n{prose(70)}## Rules\n\n{prose(80)}")
    assert slugs(grown) == ["head", "a", "rules-2"]


def test_no_unit_crosses_from_one_file_of_a_rule_to_the_next() -> None:
    found = cut(f"# T\n\n## A\n\n{prose(150)}", "tiny\n", f"# A\n\n{prose(150)}## B\n\n{prose(70)}")
    assert slugs(found) == ["head", "a", "part-1", "a-2", "b"]
    assert [unit.path for unit in found][2:4] == ["docs/part-1.md", "docs/part-2.md"]


def test_severity_is_inferred_for_each_unit_unless_it_is_stated() -> None:
    body = f"# T\n\n{prose(60)}## A\n\nYou MUST.\n{prose(80)}## B\n\nYou MAY.\n{prose(80)}"
    found = cut(body)
    assert [unit.severity for unit in found] == [Severity.WARNING, Severity.ERROR, Severity.INFO]
    assert all(unit.inferred for unit in found)
    assert highest(unit.severity for unit in found) is Severity.ERROR
    stated = cut(body, severity=Severity.INFO)
    assert {(unit.severity, unit.inferred) for unit in stated} == {(Severity.INFO, False)}


def test_a_word_in_a_code_block_does_not_make_a_unit_an_error() -> None:
    found = cut(f"# T\n\n## A\n\n```\nMUST\n```\n\n{prose(150)}## B\n\n{prose(80)}")
    assert {unit.severity for unit in found} == {Severity.WARNING}


@given(st.text())
def test_an_anchor_has_no_character_that_an_id_gives_a_meaning(heading: str) -> None:
    assert not re.search(r"[./\s#]", anchor(" ".join(heading.split())))


def test_the_exact_counter_says_which_rules_are_large() -> None:
    count = counter("cl100k")
    text = f"# T\n\n## A\n\n{prose(1000)}## B\n\n{prose(1000)}"
    found = units(RULE, [RulePart("AGENTS.md", "r", text)], count, title="T", limit=1500)
    assert slugs(found) == ["head", "a", "b"]
    assert units(RULE, [RulePart("AGENTS.md", "r", prose(1400))], count, limit=1500) == ()
