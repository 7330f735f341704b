"""Taking a file apart: lossless, never fatal, never losing metadata in silence."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hornbook.rules.metadata.frontmatter import Parts, read_lenient, split
from hornbook.vocabulary.terms import Level
from tests.kit.growth import in_proportion


def parts(text: str | bytes) -> Parts:
    return split(text.encode() if isinstance(text, str) else text, "a.md")


def codes(found: Parts) -> list[str]:
    return [problem.code for problem in found.problems]


def test_metadata_lines_and_body_are_taken_apart() -> None:
    found = parts("---\ntitle: T\napplies_to:\n  - a/**\n  - b/**\n---\n# Body\n")
    assert found.head == "---\ntitle: T\napplies_to:\n  - a/**\n  - b/**\n---\n"
    assert found.body == "# Body\n"
    assert found.metadata == {"title": "T", "applies_to": ["a/**", "b/**"]}
    assert found.lines == {"title": 2, "applies_to": 3}
    assert found.item_lines == {"applies_to": (4, 5)}
    assert found.body_line == 7
    assert found.readable
    assert not found.problems


def test_a_document_without_frontmatter_is_all_body() -> None:
    found = parts("# Title\n\ntext\n")
    assert (found.head, found.body, found.metadata) == ("", "# Title\n\ntext\n", {})


def test_a_bom_does_not_hide_the_frontmatter() -> None:
    found = parts("\ufeff---\ntitle: T\n---\nbody")
    assert found.metadata == {"title": "T"}
    assert found.head.startswith("\ufeff---")
    assert found.body == "body"


def test_a_bom_alone_is_head() -> None:
    found = parts("\ufeffbody")
    assert (found.head, found.body) == ("\ufeff", "body")


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_line_ends_are_kept_in_head_and_body(end: str) -> None:
    text = end.join(["---", "title: T", "globs: [a,", "  b]", "---", "one", "two", ""])
    found = parts(text)
    assert found.metadata == {"title": "T", "globs": ["a", "b"]}
    assert found.item_lines == {"globs": (3, 4)}
    assert found.body == f"one{end}two{end}"
    assert found.head + found.body == text


def test_a_rule_inside_the_body_stays_there() -> None:
    found = parts("---\ntitle: T\n---\none\n\n---\n\ntwo\n")
    assert found.body == "one\n\n---\n\ntwo\n"


def test_blanks_after_the_fences_are_tolerated() -> None:
    assert parts("---  \ntitle: T\n--- \nbody").metadata == {"title": "T"}


def test_dots_close_a_block() -> None:
    assert parts("---\ntitle: T\n...\nbody").body == "body"


def test_a_longer_fence_is_no_fence() -> None:
    assert parts("----\ntitle: T\n----\n").metadata == {}


def test_an_empty_block_is_metadata_without_keys() -> None:
    found = parts("---\n---\nbody")
    assert (found.head, found.body) == ("---\n---\n", "body")
    assert not found.problems


@pytest.mark.parametrize("value", ["2024-01-31", "2024-01-31T10:00:00Z", "2024-01-31 10:00:00"])
def test_dates_stay_the_text_they_are(value: str) -> None:
    assert parts(f"---\ndate: {value}\n---\n").metadata == {"date": value}


@pytest.mark.parametrize("value", ["yes", "no", "on", "1:30", "0777", "0x1f", ".inf", "12e3"])
def test_text_that_old_yaml_takes_for_something_else_stays_text(value: str) -> None:
    assert parts(f"---\nid: {value}\n---\n").metadata == {"id": value}


def test_numbers_keep_the_text_they_were_written_with() -> None:
    found = parts("---\ntitle: 1.10\n---\n")
    assert (found.metadata["title"], found.raw["title"]) == (1.1, "1.10")


@pytest.mark.parametrize(
    "inner",
    [
        "- a\n- b",
        "just some words",
        "## Overview\n\nThis project is: great.",
        "## Overview\n\n**Important** words here, and *more* of them",
        "# Only a heading",
        "\nNote: read this.\nThen do that, and *do* it well\nand again.\n",
    ],
)
def test_a_section_between_two_rules_is_not_lost(inner: str) -> None:
    text = f"---\n{inner}\n---\nrest\n"
    found = parts(text)
    assert found.body == text
    assert codes(found) == ["frontmatter_not_mapping"]
    assert found.readable


def test_a_document_that_opens_with_a_rule_has_no_problem() -> None:
    found = parts("---\n\n# Title\n\ntext\n")
    assert not found.problems
    assert found.readable


def test_an_unclosed_block_is_an_error_and_stays_in_the_body() -> None:
    found = parts("---\ntitle: T\napplies_to: a\n\n# Body\n")
    assert found.body.startswith("---\ntitle")
    assert codes(found) == ["frontmatter_unclosed"]
    assert found.problems[0].level is Level.ERROR
    assert not found.readable


def test_frontmatter_after_a_blank_line_is_told() -> None:
    found = parts("\n---\napplies_to: a/**\n---\nbody\n")
    assert codes(found) == ["frontmatter_late"]
    assert found.problems[0].line == 2
    assert not found.readable


def test_a_repeated_key_names_both_lines_and_the_value_used() -> None:
    found = parts("---\napplies_to: a\ntitle: T\napplies_to: b\n---\n")
    assert found.metadata["applies_to"] == "b"
    assert codes(found) == ["duplicate_key"]
    assert "lines 2 and 4" in found.problems[0].message
    assert found.problems[0].line == 4


def test_a_star_that_yaml_takes_for_an_alias_is_read_line_by_line() -> None:
    found = parts('---\ndescription: "a: b"\nglobs: **/*\nalwaysApply: false\n---\nbody')
    assert found.metadata == {"description": "a: b", "globs": "**/*", "alwaysApply": False}
    assert found.lines == {"description": 2, "globs": 3, "alwaysApply": 4}
    assert codes(found) == ["frontmatter_lenient"]
    assert found.problems[0].line == 3
    assert 'globs: "**/*"' in found.problems[0].message
    assert found.body == "body"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("globs: *.ts, **/*.{a,b}", "*.ts, **/*.{a,b}"),
        ("globs: [**/*.{ts,tsx}, 'b']", ["**/*.{ts,tsx}", "b"]),
        ("globs: !vendor/**", "!vendor/**"),
        ("globs: *.ts # only these", "*.ts"),
        ('globs:\n  - *.ts\n  - "b"', ["*.ts", "b"]),
        ("globs:\n- *.ts\n- b", ["*.ts", "b"]),
        ("globs: [\n  *.ts,\n  b,\n]", ["*.ts", "b"]),
        ("globs: *.ts,\n  *.js", "*.ts, *.js"),
        ("globs:**/*.ts", "**/*.ts"),
        ("globs: {a,b}/**", "{a,b}/**"),
    ],
)
def test_patterns_that_are_not_yaml_are_still_read(written: str, read: object) -> None:
    found = parts(f"---\n{written}\n---\n")
    assert found.metadata == {"globs": read}
    assert codes(found) == ["frontmatter_lenient"]


def test_a_line_that_belongs_to_no_key_is_told() -> None:
    found = parts("---\nglobs: *.ts\nstray words\nalwaysApply: true\n---\n")
    assert found.metadata == {"globs": "*.ts", "alwaysApply": True}
    assert [(p.code, p.line) for p in found.problems] == [
        ("frontmatter_lenient", 2),
        ("line_ignored", 3),
    ]


@pytest.mark.parametrize("inner", ["{{{", "%%%\n@@@", ": : :"])
def test_a_block_nobody_can_read_is_unreadable(inner: str) -> None:
    found = parts(f"---\n{inner}\n---\nbody")
    assert codes(found) == ["frontmatter_unreadable"]
    assert not found.readable
    assert found.head + found.body == f"---\n{inner}\n---\nbody"


def test_anchors_and_aliases_are_read_as_text() -> None:
    found = parts("---\ntitle: &a T\nsummary: *a\n---\n")
    assert found.metadata == {"title": "&a T", "summary": "*a"}
    assert codes(found) == ["frontmatter_lenient"]


def test_an_alias_bomb_is_over_at_once() -> None:
    """One that goes off is never over."""
    rows = ["title: &a0 [x, x]"]
    rows += [f"k{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    found = parts("---\n" + "\n".join(rows) + "\n---\n")
    assert codes(found) == ["frontmatter_lenient"]


@pytest.mark.parametrize(
    "text", ["a: " + "[" * 60_000, "a: " + "{a: " * 15_000, "a: " + "- " * 30_000]
)
def test_deep_nesting_does_not_overflow_the_stack(text: str) -> None:
    in_proportion(lambda part: parts(f"---\n{part}\n---\n"), text)


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.system [ls]", "!!binary aGk=", "!x y"])
def test_tags_are_text(tag: str) -> None:
    assert parts(f"---\ntitle: {tag}\n---\n").metadata == {"title": tag}


def test_a_block_that_is_too_large_is_an_error() -> None:
    found = parts("---\ntitle: " + "x" * 70_000 + "\n---\nbody")
    assert codes(found) == ["frontmatter_too_large"]
    assert not found.readable


def test_toml_is_read() -> None:
    found = parts('+++\ntitle = "T"\ndate = 2024-01-31\nglobs = ["a", "b"]\n+++\nbody')
    assert found.metadata == {"title": "T", "date": "2024-01-31", "globs": ["a", "b"]}
    assert found.lines == {"title": 2, "date": 3, "globs": 4}
    assert found.body == "body"


def test_bad_toml_is_told_with_its_line() -> None:
    found = parts('+++\ntitle = "T"\nglobs = **\n+++\nbody')
    assert [(p.code, p.line) for p in found.problems] == [("toml_invalid", 3)]
    assert not found.readable
    assert found.body.startswith("+++")


def test_bytes_that_are_not_utf8_are_told_with_offset_and_line() -> None:
    found = parts(b"---\ntitle: T\n---\nbody \xff here")
    assert codes(found) == ["invalid_utf8"]
    assert "offset 22" in found.problems[0].message
    assert found.problems[0].line == 4
    assert found.metadata == {"title": "T"}
    assert found.readable


def test_metadata_with_broken_characters_are_not_trusted() -> None:
    assert not parts(b"---\nglobs: \xff/**\n---\nbody").readable


def test_utf16_is_told() -> None:
    found = parts("---\ntitle: T\n---\n".encode("utf-16"))
    assert codes(found) == ["not_utf8"]
    assert not found.readable


def test_all_problems_are_told_at_once() -> None:
    found = parts(b"---\nglobs: *.a\nglobs: *.b\nstray\n---\n\xff")
    assert codes(found) == ["frontmatter_lenient", "duplicate_key", "line_ignored", "invalid_utf8"]


@pytest.mark.parametrize("text", ["---\n" + "word " * 1_000_000, "# T\n" + "x\n" * 2_500_000])
def test_five_megabytes_are_no_problem(text: str) -> None:
    found = in_proportion(parts, text)
    assert found.head + found.body == text


PIECES = ["---", "+++", "...", "\n", "\r\n", "\r", "\ufeff", "key: ", "globs: ", "*", "[", "]", "{"]
PIECES += ["}", "- ", "  ", '"', "'", "#", "&a", "|", ">", "a", "= 1", "é", "\x00", "\u2028", "!"]
pieces = st.lists(
    st.sampled_from(PIECES),
    max_size=30,
).map("".join)


@given(st.one_of(pieces, pieces.map(lambda text: f"---\n{text}\n---\nbody"), st.text()))
@example("---\na: 'x\n---\n")
def test_head_and_body_are_the_whole_text(text: str) -> None:
    found = parts(text)
    assert found.head + found.body == text


@given(st.one_of(st.binary(), st.binary().map(lambda data: b"---\n" + data + b"\n---\n")))
def test_no_bytes_are_fatal(data: bytes) -> None:
    found = split(data, "a.md")
    if not any(problem.code in {"not_utf8", "invalid_utf8"} for problem in found.problems):
        assert (found.head + found.body).encode() == data


@given(st.one_of(pieces, st.text()))
def test_the_lenient_reader_never_raises(text: str) -> None:
    found = read_lenient(text)
    assert set(found.values) == set(found.lines) == set(found.raw)


@given(pieces)
def test_every_line_named_is_in_the_file(text: str) -> None:
    whole = f"---\n{text}\n---\nbody"
    last = whole.count("\n") + whole.count("\r") + 1
    found = parts(whole)
    named = [*found.lines.values(), *(n for rows in found.item_lines.values() for n in rows)]
    assert all(1 < line <= last for line in named)
