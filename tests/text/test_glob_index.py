"""The glob index gives what trying every set one by one gives."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbook.errors import BadGlob
from hornbook.text.glob_index import GlobIndex
from hornbook.text.glob_matcher import Matcher
from hornbook.text.globs import Glob, GlobSet, parse_set

unhurried = settings(deadline=None)  # a busy machine is no failure

# names that patterns and paths share, so that most drawn pairs nearly fit
_SEGMENTS = ["a", "b", "docs", "*", "**", "**", "a*", "?", "[ab]", "{a,docs}"]
_LAST = [
    "a",
    "docs",
    "*.go",
    "*.test.ts",
    "*.ts",
    "*_x.go",
    "a*.go",
    "*",
    "**",
    "",
    "{*.go,b/*.ts}",
]
_patterns = st.builds(
    lambda lead, folders, last: lead + "/".join([*folders, last]),
    st.sampled_from(["", "", "/", "./", "!"]),
    st.lists(st.sampled_from(_SEGMENTS), max_size=3),
    st.sampled_from(_LAST),
)
_paths = st.builds(
    lambda lead, folders, last: lead + "/".join([*folders, last]),
    st.sampled_from(["", "", "", "./", "/", "../"]),
    st.lists(st.sampled_from(["a", "b", "docs", "x.go"]), max_size=4),
    st.sampled_from(["a", "docs", "a.go", ".go", "y_x.go", "a.test.ts", "b.ts", ".test.ts", "go"]),
)


def _is_set(patterns: Sequence[str]) -> bool:
    try:
        parse_set(patterns)
    except BadGlob:
        return False
    return True


_sets = st.lists(_patterns, max_size=4).filter(_is_set).map(parse_set)


def _one_by_one(sets: Sequence[GlobSet], path: str) -> list[tuple[int, Glob]]:
    found = ((key, globs.match(path)) for key, globs in enumerate(sets))
    return [(key, glob) for key, glob in found if glob is not None]


@unhurried
@given(st.lists(_sets, max_size=6), st.lists(_paths, min_size=1, max_size=4))
def test_index_gives_what_trying_each_set_gives(sets: list[GlobSet], paths: list[str]) -> None:
    index = GlobIndex(enumerate(sets))
    for path in paths:
        assert index.match(path) == _one_by_one(sets, path)


@unhurried
@given(st.lists(_sets, max_size=4), st.text("a.go/", max_size=12))
def test_index_takes_any_path(sets: list[GlobSet], path: str) -> None:
    assert GlobIndex(enumerate(sets)).match(path) == _one_by_one(sets, path)


def test_entries_come_in_the_order_given() -> None:
    index = GlobIndex((key, parse_set(["*.go"])) for key in ("z", "a", "m"))
    assert [key for key, _ in index.match("x.go")] == ["z", "a", "m"]


def test_a_key_given_twice_is_two_entries() -> None:
    index = GlobIndex([("k", parse_set(["*.go"])), ("k", parse_set(["x*"]))])
    assert [glob.pattern for _, glob in index.match("x.go")] == ["*.go", "x*"]


def test_entry_comes_with_its_own_first_pattern() -> None:
    index = GlobIndex([(1, parse_set(["**", "*.go"])), (2, parse_set(["*.go", "**"]))])
    assert [(key, glob.pattern) for key, glob in index.match("x.go")] == [(1, "**"), (2, "*.go")]


def test_one_entry_may_exclude_what_another_includes() -> None:
    index = GlobIndex([(1, parse_set(["**", "!docs/**"])), (2, parse_set(["docs/**"]))])
    assert [key for key, _ in index.match("docs/a")] == [2]
    assert [key for key, _ in index.match("a")] == [1]


def test_empty_index_fits_nothing() -> None:
    empty: GlobIndex[str] = GlobIndex([])
    assert empty.match("a") == []


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*.go", "a/b.go"),
        ("**/*.go", "b.go"),
        ("*.test.ts", "a/b.test.ts"),
        ("Makefile", "a/Makefile"),
        ("docs/**", "docs/a/b"),
        ("docs/**", "docs"),
        ("docs/", "x/docs/b"),
        ("src/**/*.py", "src/x/a.py"),
        ("src/*.py", "src/a.py"),
        ("/*.md", "README.md"),
        ("**/tests/**/*.py", "x/tests/y/a.py"),
        ("a/b/c.txt", "a/b/c.txt"),
        ("{src,lib}/**/*.{ts,tsx}", "lib/a/b.tsx"),
        ("**", "a/b"),
    ],
)
def test_common_shapes_are_looked_up_and_never_matched(
    pattern: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Matcher, path: str) -> bool:
        raise AssertionError(path)

    index = GlobIndex([(1, parse_set([pattern]))])
    monkeypatch.setattr(Matcher, "matches", refuse)
    assert [key for key, _ in index.match(path)] == [1]


def test_paths_with_many_dots_and_folders_are_answered() -> None:
    sets = [parse_set(["a/" * depth + "**/*" + ".a" * depth]) for depth in range(1, 30)]
    index = GlobIndex(enumerate(sets))
    assert len(index.match("a/" * 1000 + ".a" * 1000)) == len(sets)
