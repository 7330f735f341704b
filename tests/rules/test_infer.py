"""What is inferred from a body."""

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook.rules import inference
from hornbook.rules.chunks.outline import outline
from hornbook.vocabulary.terms import Severity


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("# Error handling\n", "Error handling"),
        ("text\n\n## Second level ##\n", "Second level"),
        ("Underlined\n==========\n", "Underlined"),
        ("```\n# not this\n```\n# This\n", "This"),
        ("<!-- # not this -->\n# This\n", "This"),
        ("no heading", "Error handling go"),
        ("#hashtag\n", "Error handling go"),
        ("#\n# Named\n", "Named"),
    ],
)
def test_the_title_is_the_first_heading_or_the_name(body: str, title: str) -> None:
    assert inference.title(outline(body), PurePosixPath("docs/error-handling_go.md")) == title


@pytest.mark.parametrize(
    ("body", "severity"),
    [
        ("You MUST wrap errors.", Severity.ERROR),
        ("You SHOULD and MUST NOT.", Severity.ERROR),
        ("NEVER do that.", Severity.ERROR),
        ("It SHALL be.", Severity.ERROR),
        ("You SHOULD wrap errors. You MAY log.", Severity.WARNING),
        ("RECOMMENDED: x", Severity.WARNING),
        ("You MAY log.", Severity.INFO),
        ("OPTIONAL", Severity.INFO),
        ("you must, should and may", None),
        ("```\nMUST\n```\n", None),
        ("~~~~\n```\nMUST\n~~~~\nYou MAY.", Severity.INFO),
        ("MUSTARD", None),
    ],
)
def test_severity_follows_words_in_capitals_outside_code(
    body: str, severity: Severity | None
) -> None:
    assert inference.severity(outline(body)) == severity


@pytest.mark.parametrize(
    ("body", "summary"),
    [
        ("# T\n\nFirst line\nsecond line.\n\nOther.", "First line second line."),
        ("# T\ndirectly below\n", "directly below"),
        ("# T\n- item\nlazy line\n\n1. one\n\n> quote\n\n| a | b |\n\nProse.", "Prose."),
        ("Title\n=====\n\nProse.", "Prose."),
        ("```\ncode\n```\nProse.", "Prose."),
        ("Date: 2024-01-31\nStatus: ok\n\nProse.", "Prose."),
        ("![badge](x)\n[![b](x)](y)\n\nProse.", "Prose."),
        ("# Only a heading", ""),
        ("**Bold** start.", "**Bold** start."),
        ("---\n\nProse.", "Prose."),
    ],
)
def test_the_summary_is_the_first_paragraph(body: str, summary: str) -> None:
    assert inference.summary(outline(body).lines) == summary


def test_a_long_summary_ends_with_a_sentence() -> None:
    assert inference.shorten("A sentence. " * 60).endswith("A sentence.")
    assert len(inference.shorten("A sentence. " * 60)) <= 300


def test_a_long_summary_without_sentences_ends_with_a_word() -> None:
    short = inference.shorten("word " * 200)
    assert short.endswith("word…")
    assert len(short) <= 300


@pytest.mark.parametrize(
    "heading", ["## Requirements", "# Rules:", "#### 3. Checklist", "Rules\n---"]
)
def test_requirements_are_the_items_of_their_section(heading: str) -> None:
    body = f"# T\n\n- not this\n\n{heading}\n\nIntro.\n\n- One\n  goes on\n* Two\n1. Three\n\n# Next\n- no\n"
    assert inference.requirements(outline(body)) == ("One goes on", "Two", "Three")


def test_nested_items_belong_to_their_item() -> None:
    body = "## Rules\n- Errors:\n  - wrap\n  - name\n- [ ] Two\n    1. deep\n\n  goes on\n\nprose\n"
    assert inference.requirements(outline(body)) == ("Errors: wrap; name", "Two; deep goes on")


def test_requirements_go_on_below_smaller_headings() -> None:
    body = "## Rules\n### A\n- one\n### B\n- two\n## Other\n- three\n"
    assert inference.requirements(outline(body)) == ("one", "two")


def test_code_in_a_list_is_no_requirement() -> None:
    assert inference.requirements(outline("## Rules\n- one\n  ```\n  - code\n  ```\n- two\n")) == (
        "one",
        "two",
    )


def test_an_unclosed_fence_runs_to_the_end() -> None:
    assert inference.requirements(outline("## Rules\n- one\n```\n- two\n")) == ("one",)


@given(st.text(alphabet="#-* `~\n<!>1.)[]|=ab\r\t:"))
def test_inference_never_raises_and_keeps_lines(body: str) -> None:
    shape = outline(body)
    assert len(shape.lines) == len(outline(body.replace("`", "x").replace("~", "x")).lines)
    inference.requirements(shape)
    inference.severity(shape)
    assert "\n" not in inference.summary(shape.lines)
