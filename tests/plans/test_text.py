from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hornbook.plans.plan import Constraints, Plan
from hornbook.plans.text import SECTIONS, parse, render

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
GLOBS = st.lists(st.one_of(st.text(), st.text(alphabet='ab{,}*/` "\n')), max_size=4).map(tuple)
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
