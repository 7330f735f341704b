"""Searches that prove absence: they must be able to find, look everywhere, and be seen."""

import json

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from hornbook.review.evidence.search import Searches, SearchResult, example, shared_words
from hornbook.review.judgement import JudgedUnit, Search

RULE = "No Prints\n\nHandlers MUST NOT print; use the `logger`."
FILES = {
    "app.py": "import logging\n\ndef load():\n    return 1\n",
    "web.js": "export const one = 1;\n",
    "notes.md": "Do not print.\n",
    "deploy.yaml": "replicas: 1\n",
}


def looked(
    pattern: str,
    *paths: str,
    bound: tuple[str, ...] = ("app.py",),
    more: dict[str, str] | None = None,
) -> SearchResult:
    searches = Searches({**FILES, **(more or {})}, {"r": RULE})
    return searches.look(Search(pattern, paths), JudgedUnit("r", "r", "error", files=bound))


@pytest.mark.parametrize(
    "pattern",
    [
        r"print\b\B",
        r"a^print",
        r"print$print",
        r"pri\bnt\(",
        r"print\(\Bx\b\B",
        r"print(?i)\b\B",
        r"(?:print|echo)\b\B\(",
        r"\p{Lu}^print",
        r"print{0}q\Bq\bq",
    ],
)
def test_a_pattern_that_can_find_nothing_proves_nothing(pattern: str) -> None:
    (said,) = looked(pattern).problems
    assert "proves nothing" in said


@pytest.mark.parametrize(
    "pattern",
    [
        r"\bprint\s*\(",
        r"^\s*print\(",
        r"console\.(?:log|debug|info)\b",
        r"^\s*from\s+\S+\s+import\s+\*.*print",
        r"print.*\n.*print",
        r"(?i)printf?",
        r"(?:print|echo)\(",
        r"(?P<what>print|echo)\(",
        r"(?i:print)\(",
        r"[^.]\bprint\([^)]*\)(?:\.read|\.write)",
        r"print\((?P<quote>['\"]).*",
        r"(print|echo) \1",
        r"print\x28",
        r"[[:alpha:]]+print",
        r"\p{L}+print",
        r"(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}print",
        r"print[\s\S]{50,60}end",
        r"print{3,}",
        r"[]a]print",
        r"print\\|print/",
        "печать|print",
        r"print++\(",
    ],
)
def test_a_pattern_that_can_find_something_counts(pattern: str) -> None:
    assert looked(pattern, "app.py").problems == ()


@pytest.mark.parametrize(
    "pattern",
    [
        "(" * 400 + "print" + ")" * 400,
        r"(?:(?:(?:\b){1000}){1000}){1000}print",
        r"(?:print{5000}){5000}",
        r"((?:p{1,99}rint){99}){99}",
        "print{99999999999}",
    ],
)
def test_a_pattern_that_is_too_large_is_not_run(pattern: str) -> None:
    (said,) = looked(pattern).problems
    assert "repeats or nests too much" in said


def test_code_that_the_rule_binds_is_not_left_out() -> None:
    both = ("app.py", "web.js")
    (said,) = looked("print", "**/*.py", bound=both).problems
    assert "leaves out web.js" in said
    assert looked("print", "**/*.py", "**/*.js", bound=both) == SearchResult(
        chosen=both, supports=True
    )
    (said,) = looked("print", "*.yaml", bound=("app.py", "deploy.yaml")).problems
    assert "leaves out app.py" in said
    (said,) = looked("printer", "*.md", bound=("app.py", "notes.md")).problems
    assert "leaves out app.py" in said


def test_a_rule_of_removed_files_is_searched_for_in_all_code() -> None:
    (said,) = looked("print", "*.yaml", bound=()).problems
    assert "leaves out app.py, web.js" in said
    assert looked("print", "*.js", "*.py", bound=()).problems == ()


def test_prose_and_data_may_be_left_out_and_that_is_told() -> None:
    found = looked("print", "**/*.py", bound=("app.py", "notes.md", "deploy.yaml"))
    assert found.problems == ()
    ((code, said),) = found.warnings
    assert (code, "notes.md, deploy.yaml" in said) == ("partial_search", True)


def test_windows_line_ends_hide_nothing() -> None:
    (said,) = looked("print$", more={"more": "x = 1\r\nprint\r\n"}).problems
    assert "more:2 has it" in said


def test_indentation_hides_nothing() -> None:
    (said,) = looked("^return 1").problems
    assert "misses app.py:4" in said
    assert looked(r"^[^^]return 1|^\^return").problems == ()


def test_a_search_for_something_else_is_told() -> None:
    ((code, _),) = looked("zebra").warnings
    assert code == "unrelated_search"


@pytest.mark.parametrize(
    "pattern", ["^logger[.]log", "PRINT", "print$", "^logger[.]Print", r"print\(\)", r"\bprint\s\("]
)
def test_a_search_that_only_just_misses_is_told(pattern: str) -> None:
    text = "    print(1)\n    logger.print(2)\nx = logger.log\n"
    found = looked(pattern, "app.py", more={"app.py": text})
    assert [code for code, _ in found.warnings] == ["narrow_search"], found
    assert "app.py:" in found.warnings[0][1]


@pytest.mark.parametrize(
    ("pattern", "related"),
    [
        (r"fmt\.Print", True),
        (r"log\(", True),
        (r"printf?\(", True),
        (r"doPrintNow", True),
        (r"handler_x", True),
        (r"panic\(", False),
        (r"\bnot\b", False),
        (r"\print", False),
    ],
)
def test_a_word_is_shared_by_its_beginning(pattern: str, related: bool) -> None:
    assert bool(shared_words(pattern, RULE)) is related


LITERAL = st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), min_size=1).map(
    regex.escape
)
ATOM = st.one_of(
    LITERAL,
    st.sampled_from([r"\w", r"\d", r"\s", r"\S", ".", "[a-f]", "[^a-z]", r"[\w.-]", r"\x41"]),
)


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    times = st.sampled_from(["", "*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "+?"])
    group = st.builds("(?:{}){}".format, inner, times)
    return st.one_of(
        group,
        st.builds("({}){}".format, inner, times),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("{}{}".format, inner, inner),
    )


@given(st.recursive(ATOM, _larger, max_leaves=8))
def test_every_plain_pattern_has_an_example_that_it_finds(pattern: str) -> None:
    found = example(pattern)
    assert found is not None
    assert regex.search(pattern, found, regex.MULTILINE) is not None


@given(st.text(max_size=40))
def test_any_text_is_a_pattern_or_is_told_not_to_be_one(pattern: str) -> None:
    found = looked(pattern)
    assert isinstance(json.dumps([found.problems, found.warnings]), str)
    try:
        regex.compile(pattern)
    except regex.error:
        assert found.problems
