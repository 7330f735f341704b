"""The glob dialect: tables of what fits, and equality with a slow matcher of a few lines."""

import json
import re
from collections.abc import Iterator
from functools import cache
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbook.errors import BadGlob
from hornbook.text.glob_syntax import MAX_DEPTH, MAX_LENGTH
from hornbook.text.globs import Glob, parse, parse_set, split_list
from tests.kit.paths import DATA

unhurried = settings(deadline=None)  # a busy machine is no failure
TABLES = DATA / "globs"


def _rows() -> Iterator[tuple[str, str, str, bool]]:
    table = json.loads((TABLES / "fits.json").read_text(encoding="utf-8"))
    for claim, patterns in table.items():
        for pattern, paths in patterns.items():
            yield from ((claim, pattern, path, True) for path in paths["fits"])
            yield from ((claim, pattern, path, False) for path in paths["misses"])


def _refusals() -> list[tuple[str, int, str]]:
    table = json.loads((TABLES / "refused.json").read_text(encoding="utf-8"))
    return [(pattern, position, found) for pattern, (position, found) in table.items()]


# --- the slow matcher: recursion over segments and characters, for patterns without escapes ------


def _reference_texts(pattern: str) -> list[str]:
    innermost = re.search(r"\{([^{}]*)\}", pattern)
    if innermost is None:
        return [pattern]
    before, after = pattern[: innermost.start()], pattern[innermost.end() :]
    return [
        text
        for choice in innermost[1].split(",")
        for text in _reference_texts(before + choice + after)
    ]


@cache
def _reference_name_fits(pattern: str, name: str) -> bool:
    if not pattern:
        return not name
    if pattern[0] == "*":
        rest = pattern[1:]
        return any(_reference_name_fits(rest, name[start:]) for start in range(len(name) + 1))
    if not name:
        return False
    length = pattern.index("]") + 1 if pattern[0] == "[" else 1
    return _reference_character_fits(pattern[:length], name[0]) and _reference_name_fits(
        pattern[length:], name[1:]
    )


def _reference_character_fits(atom: str, character: str) -> bool:
    if atom == "?":
        return True
    if atom[0] != "[":
        return atom == character
    members = atom.strip("[]!^")
    if len(members) == 3 and members[1] == "-":
        members = "".join(map(chr, range(ord(members[0]), ord(members[2]) + 1)))
    return (character in members) != (atom[1] in "!^")


@cache
def _reference_fits(pattern: tuple[str, ...], path: tuple[str, ...]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_reference_fits(pattern[1:], path[start:]) for start in range(len(path) + 1))
    return (
        bool(path)
        and _reference_name_fits(pattern[0], path[0])
        and _reference_fits(pattern[1:], path[1:])
    )


def _reference_text_fits(text: str, path: str) -> bool:
    names = [name for name in text.split("/") if name not in {"", "."}]
    if not names:
        return False
    if len(names) == 1 and not text.startswith("/"):
        names.insert(0, "**")
    if text.endswith(("/", "/.")):
        names += ["**", "*"]
    return _reference_fits(tuple(names), tuple(path.split("/")))


# --- what hypothesis draws --------------------------------------------------------------------

_PIECES = [
    "a",
    "b",
    "c",
    ".",
    "*",
    "*",
    "**",
    "?",
    "/",
    "/",
    "/**/",
    "[ab]",
    "[!a]",
    "[^b]",
    "[a-b]",
]
_words = st.lists(st.sampled_from(_PIECES), max_size=7).map("".join)
_braced = st.recursive(
    _words,
    lambda inner: st.builds(
        lambda before, choices, after: f"{before}{{{','.join(choices)}}}{after}",
        _words,
        st.lists(inner, min_size=1, max_size=3),
        inner,
    ),
    max_leaves=6,
)
_names = st.text("abc", min_size=1, max_size=5) | st.sampled_from(["a.b", ".a", "ab.c"])
_paths = st.lists(_names, min_size=1, max_size=6).map("/".join)


def _parsed(pattern: str) -> Glob | None:
    try:
        return parse(pattern)
    except BadGlob:
        return None


# --- the tables -------------------------------------------------------------------------------


@pytest.mark.parametrize(("claim", "pattern", "path", "fits"), list(_rows()))
def test_pattern_fits_as_the_table_says(claim: str, pattern: str, path: str, fits: bool) -> None:
    assert parse(pattern).matches(path) is fits, claim


@pytest.mark.parametrize(("pattern", "position", "found"), _refusals())
def test_refusal_says_where_and_what(pattern: str, position: int, found: str) -> None:
    with pytest.raises(BadGlob) as refusal:
        parse(pattern)
    assert refusal.value.pattern == pattern
    assert refusal.value.position == position
    assert found in refusal.value.found
    assert refusal.value.remedy


def test_table_is_wide() -> None:
    assert len(list(_rows())) >= 300


# --- equality with the slow matcher -------------------------------------------------------------


@unhurried
@given(_words | _braced, _paths)
def test_every_engine_agrees_with_the_slow_matcher(pattern: str, path: str) -> None:
    expected = any(_reference_text_fits(text, path) for text in _reference_texts(pattern))
    glob = _parsed(pattern)
    if glob is None:
        assert not expected
        return
    assert glob.matches(path) is expected
    assert (glob.matcher._regex.match(path) is not None) is expected
    assert glob.matcher._machine.accepts(path) is expected


@unhurried
@given(st.text(max_size=30), _paths | st.text(max_size=30))
def test_any_text_is_a_pattern_or_refused(pattern: str, path: str) -> None:
    glob = _parsed(pattern)
    if glob is not None:
        assert glob.matcher._machine.accepts(path) in {True, False}
        assert glob.matches(path) in {True, False}


@unhurried
@given(st.text("ab*?[]{}!^-,/\\.: ", max_size=20), _paths)
def test_both_engines_agree_on_any_punctuation(pattern: str, path: str) -> None:
    glob = _parsed(pattern)
    if glob is not None:
        assert (glob.matcher._regex.match(path) is not None) is glob.matcher._machine.accepts(path)


@unhurried
@given(_paths)
def test_an_escaped_path_fits_itself_only(path: str) -> None:
    glob = parse("/" + "".join("\\" + character for character in path))
    assert glob.matches(path)
    assert not glob.matches(path + "x")


@unhurried
@given(_words, _paths)
def test_excluding_changes_no_match(pattern: str, path: str) -> None:
    plain, excluding = _parsed(pattern), _parsed("!" + pattern)
    if plain is None or excluding is None:
        assert plain is None
        assert excluding is None
        return
    assert excluding.negated
    assert plain.matches(path) == excluding.matches(path)


# --- bombs: each of these finishes, where backtracking or plain expansion would not ---------------

_BOMBS = {
    "stars": "*a*a*a*a*a*b",
    "many stars": "*a" * 2000 + "b",
    "double stars": "**/" * 1300 + "x",
    "double stars between names": "**/a/" * 800 + "b",
    "double stars between stars": "**/*a*a*/" * 400 + "b",
    "braces of stars": "{*a,*b}*" * 8,
    "too many braces of stars": "{*a,*b}*" * 500,
    "empty braces": "{,}" * 1365,
    "single braces": "{a,b}{c}" * 500,
    "braces without end": "{" * 4096,
    "deep braces": "{a," * 1000 + "b" + "}" * 1000,
    "braces as deep as allowed": "{a," * (MAX_DEPTH - 1) + "b" + "}" * (MAX_DEPTH - 1),
    "long literal": "*" + "a" * 4000 + "b",
    "long run of question marks": "*" + "?a" * 2000 + "b",
    "long run of names": "**/" + "a/" * 2000 + "b",
    "classes": "*" + "[!b]" * 1000 + "b",
    "too long": "a" * (MAX_LENGTH + 1),
}
_LONG_PATHS = ["a" * 4096, "a/" * 2047 + "a", "ab" * 2048, "".join(map(chr, range(0x4E00, 0x5E00)))]


@pytest.mark.parametrize("pattern", _BOMBS.values(), ids=_BOMBS.keys())
def test_bomb_fizzles(pattern: str) -> None:
    glob = _parsed(pattern)
    if glob is not None:
        for path in _LONG_PATHS:
            assert not glob.matches(path + "/c")


def test_bomb_for_the_regex_fizzles_there_too() -> None:
    for pattern in ("*a" * 100 + "b", "**/a/" * 100 + "b", "**/*a*a*/" * 40 + "b"):
        regex = parse(pattern).matcher._regex
        assert all(regex.match(path + "/c") is None for path in _LONG_PATHS)


def test_long_paths_fit_large_patterns() -> None:
    assert parse("*a" * 2000 + "*").matches("a" * 4096)
    assert parse("**/a/" * 800 + "**").matches("a/" * 2047 + "a")


def test_limits_name_the_remedy() -> None:
    for pattern in ("a" * (MAX_LENGTH + 1), "{a,b}" * 12, "{" * (MAX_DEPTH + 1)):
        with pytest.raises(BadGlob) as refusal:
            parse(pattern)
        assert refusal.value.remedy.startswith(("write", "split"))


# --- lists and sets -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "patterns"),
    [
        ("", []),
        (" , ,", []),
        ("a", ["a"]),
        ("**/*.{ts,tsx}, a", ["**/*.{ts,tsx}", "a"]),
        ("a,b ,\tc\n", ["a", "b", "c"]),
        ("{a,{b,c}},d", ["{a,{b,c}}", "d"]),
        ("[,],a", ["[,]", "a"]),
        ("{[}],b},c", ["{[}],b}", "c"]),
        (r"a\,b,c", [r"a\,b", "c"]),
        (r"a\ , b", [r"a\ ", "b"]),
        (r"\{a,b", [r"\{a", "b"]),
        ("a b, c", ["a b", "c"]),
        ("!a, b", ["!a", "b"]),
        ("a}, b", ["a}", "b"]),
        ("{a, b", ["{a, b"]),
        ("[a, b", ["[a, b"]),
    ],
)
def test_list_splits_at_commas_outside_braces_and_brackets(text: str, patterns: list[str]) -> None:
    assert split_list(text) == patterns


@unhurried
@given(st.lists(_braced.filter(_parsed), max_size=5))
def test_joined_patterns_split_into_themselves(patterns: list[str]) -> None:
    assert split_list(", ".join(patterns)) == patterns


@unhurried
@given(st.text("ab*[]{}!,/\\ ", max_size=30))
def test_split_patterns_keep_every_character_but_commas_and_blanks(text: str) -> None:
    def visible(part: str) -> str:
        return part.replace(",", "").replace(" ", "")

    assert visible("".join(split_list(text))) == visible(text)


def test_set_gives_the_first_pattern_that_fits() -> None:
    globs = parse_set(["*.py", "src/**", "**"])
    assert [globs.match(path) for path in ("src/a.py", "src/a.go", "a.go")] == list(globs.globs)


def test_set_keeps_patterns_as_written() -> None:
    assert [glob.pattern for glob in parse_set(["./a", "!b/"]).globs] == ["./a", "!b/"]


def test_empty_set_fits_nothing() -> None:
    assert parse_set([]).match("a") is None


def test_only_exclusions_are_refused() -> None:
    with pytest.raises(BadGlob, match="only exclusions"):
        parse_set(["!a", "!b"])


def test_globs_are_equal_by_their_text() -> None:
    assert parse("a/*") == parse("a/*")
    assert parse("a/*") != parse("!a/*")


@unhurried
@given(
    st.lists(_words.filter(_parsed), min_size=1, max_size=3),
    st.lists(_words.filter(_parsed), max_size=3),
    _paths,
    st.randoms(use_true_random=False),
)
def test_any_exclusion_wins_wherever_it_stands(
    included: list[str], excluded: list[str], path: str, random: Random
) -> None:
    patterns = included + ["!" + pattern for pattern in excluded]
    shuffled = random.sample(patterns, len(patterns))
    fits = any(parse(pattern).matches(path) for pattern in included)
    hidden = any(parse(pattern).matches(path) for pattern in excluded)
    assert (parse_set(patterns).match(path) is not None) is (fits and not hidden)
    assert (parse_set(shuffled).match(path) is not None) is (fits and not hidden)
