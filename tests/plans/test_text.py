from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hornbook.plans.plan import Constraints, Plan
from hornbook.plans.text import SECTIONS, empty_sections, parse, render
from hornbook.text.plan_syntax import GUIDANCE

AS_THE_SOURCE_HAS_IT = """\
# Plan: Limit the rate

## Situation
What exists now.

## Mission
What we're doing and why.

## Execution
Approach and sketch.

```sh
## no section, a comment
```

## Constraints
- IN: src/**, tests/*.{py,txt}
- IN: docs/limits.md
- OUT: what's excluded, for now
- DO NOT TOUCH: `src/legacy/**`

## Coordination
Dependencies.
"""

LIKE_HEADINGS = st.sampled_from(
    [
        "## Mission",
        "\\## Mission",
        "## Other",
        "```",
        "~~~ x",
        "# Plan: x",
        "---",
        "- IN: x",
        GUIDANCE["situation"][0],
        f"\\{GUIDANCE['mission'][0]}",
        f" {GUIDANCE['execution'][0]} ",
        "",
        " ",
        "\r",
    ]
)
TEXT = st.one_of(
    st.text(),
    st.lists(st.one_of(LIKE_HEADINGS, st.text(max_size=5)), max_size=8).map("\n".join),
)
TITLE = st.text(min_size=1).map(lambda text: " ".join(text.split())).filter(str.strip)
WORDS = st.sampled_from(["what's in scope", "what's excluded", "what\u2019s in scope"])
GLOB = st.one_of(st.text(), st.text(alphabet='ab{,}*/` "\n'), WORDS)
GLOBS = st.lists(GLOB, max_size=4).map(tuple)
PLANS = st.builds(
    Plan,
    slug=st.just("limit-the-rate"),
    title=TITLE.filter(
        lambda text: not any(ord(c) < 32 or c in "\x7f\x85\u2028\u2029" for c in text)
    ),
    committed=st.booleans(),
    situation=TEXT,
    mission=TEXT,
    execution=TEXT,
    constraints=st.builds(Constraints, GLOBS, GLOBS, GLOBS),
    coordination=TEXT,
    created_at=st.just("2026-11-16T08:00:00Z"),
    committed_at=st.sampled_from([None, "2026-11-16T09:00:00Z"]),
    supersedes=st.sampled_from([None, "older", "odd: 'slug"]),
)


@given(PLANS)
@example(
    Plan(
        "a", "Plan: x", situation="```\n## Mission\n", mission="## Mission\r\n\n", coordination="\n"
    )
)
def test_a_plan_survives_its_own_file(plan: Plan) -> None:
    read = parse(render(plan))
    assert read.plan == plan
    assert read.problems == ()


@given(PLANS)
def test_the_same_plan_gives_the_same_text(plan: Plan) -> None:
    assert render(parse(render(plan)).plan) == render(plan)


@given(TEXT)
def test_any_text_is_read_or_told_what_is_wrong(text: str) -> None:
    read = parse(text)
    assert read.problems or read.plan.title
    assert all(each.line is not None and each.line >= 1 for each in read.problems)


def test_the_form_of_the_source_documents_is_read() -> None:
    read = parse(AS_THE_SOURCE_HAS_IT)
    assert read.problems == ()
    assert read.plan.title == "Limit the rate"
    assert read.plan.situation == "What exists now."
    assert "## no section" in read.plan.execution
    assert read.plan.constraints == Constraints(
        ("src/**", "tests/*.{py,txt}", "docs/limits.md"),
        ("what's excluded, for now",),
        ("src/legacy/**",),
    )
    assert read.lines["Mission"] == 7
    assert read.constraint_lines["DO NOT TOUCH", "src/legacy/**"] == 20


def test_a_file_with_crlf_is_the_same_plan() -> None:
    crlf = parse(AS_THE_SOURCE_HAS_IT.replace("\n", "\r\n"))
    assert crlf.plan == parse(AS_THE_SOURCE_HAS_IT).plan
    assert crlf.problems == ()


def test_every_problem_is_told_at_once_with_its_line() -> None:
    text = "---\nslgu: x\ncommitted: maybe\n---\nstray\n## Situation\n## Risks\n## Situation\n## Constraints\nsrc\n"
    told = {(each.code, each.line) for each in parse(text).problems}
    assert told == {
        ("bad_frontmatter", 2),
        ("bad_frontmatter", 3),
        ("no_title", 5),
        ("stray_text", 5),
        ("unknown_section", 7),
        ("duplicate_section", 8),
        ("bad_constraint", 10),
        ("missing_section", 11),
    }
    missing = [each.message for each in parse(text).problems if each.code == "missing_section"]
    assert len(missing) == 3


@pytest.mark.parametrize("name", SECTIONS)
def test_a_missing_section_is_named(name: str) -> None:
    kept = "\n".join(f"## {each}\n" for each in SECTIONS if each != name)
    (problem,) = parse(f"# Plan: x\n{kept}").problems
    assert f"`## {name}`" in problem.message


def test_a_misspelt_key_gets_the_nearest_name() -> None:
    (problem,) = parse(render(Plan("a", "A")).replace("slug", "slugg")).problems
    assert "did you mean `slug`" in problem.message


def test_only_what_would_be_misread_is_escaped() -> None:
    plan = Plan("a", "A", execution="# Steps\n\n```\n## comment\n```\n## Mission\n")
    assert "\n# Steps\n\n```\n## comment\n```\n\\## Mission\n" in render(plan)
    assert parse(render(replace(plan, execution="\\## Mission"))).plan.execution == "\\## Mission"


AS_A_TEMPLATE = """\
# Plan: [title]

## Situation
What exists now. Entity references to existing code/specs.

## Mission
What we're doing and why. Success criteria.

## Execution
Approach and sketch. Architectural decisions.

## Constraints
- IN: what's in scope
- OUT: what's excluded
- DO NOT TOUCH: files/systems that must not be modified

## Coordination
Dependencies, sequencing, entity references.
"""


def test_the_template_of_the_source_says_nothing() -> None:
    read = parse(AS_A_TEMPLATE)
    assert read.problems == ()
    assert read.plan == Plan("", "[title]")
    assert empty_sections(read.plan) == ("Situation", "Mission", "Execution")


def test_an_exploration_guides_its_author_and_a_commitment_does_not() -> None:
    plan = Plan("a", "A", mission="Limit.")
    text = render(plan)
    for name, lines in GUIDANCE.items():
        assert all((line in text.split("\n")) is (name != "mission") for line in lines)
    assert parse(text).plan == plan
    assert "What exists now." not in render(replace(plan, committed=True))


def test_text_beside_guidance_is_all_that_counts_and_keeps_its_line() -> None:
    lines = AS_A_TEMPLATE.replace(
        "decisions.\n", "decisions.\n\n1. Count\n   - Files: a.py\n", 1
    ).replace("- IN: what's in scope", "- IN: src/**")
    read = parse(lines)
    assert read.plan.execution == "1. Count\n   - Files: a.py"
    assert lines.split("\n")[read.lines["Execution"] - 1] == "1. Count"
    assert read.plan.constraints == Constraints(("src/**",))


def test_guidance_counts_only_in_its_own_section_and_outside_of_code() -> None:
    said = GUIDANCE["situation"][0]
    plan = parse(AS_A_TEMPLATE.replace(GUIDANCE["mission"][0], said)).plan
    assert (plan.situation, plan.mission) == ("", said)
    fenced = f"```\n{said}\n```"
    assert parse(AS_A_TEMPLATE.replace(said, fenced)).plan.situation == fenced
