"""Chunks are lossless, cut nothing that belongs together, and change only where the text does."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbook.rules.chunks.blocks import markdown_blocks
from hornbook.rules.chunks.chunk import ChunkLimits, chunk
from hornbook.rules.document import Chunk
from hornbook.text.token_boundary import additive_boundary
from hornbook.text.tokens import counter
from tests.kit.growth import in_proportion
from tests.kit.markdown_oracle import (
    LINE_ENDS,
    documents,
    never_cut,
    paragraphs,
    strange_bodies,
    top_blocks,
)
from tests.kit.paths import CORPUS

MAXIMA = (64, 512, 1500)

bodies = st.one_of(
    strange_bodies,
    st.builds(
        lambda text, end, mark: mark + text.replace("\n", end),
        documents,
        st.sampled_from(LINE_ENDS),
        st.sampled_from(["", "\ufeff"]),
    ),
)
limits_of = {
    maximum: ChunkLimits(target=maximum * 2 // 3, maximum=maximum, minimum=maximum * 2 // 15)
    for maximum in MAXIMA
}
each_maximum = pytest.mark.parametrize("limits", limits_of.values(), ids=map(str, MAXIMA))


def words(text: str) -> int:
    return len(text.split())


def superadditive(text: str) -> int:
    """Count more in a text than in its pieces together, which no tokenizer does by much."""
    return words(text) + words(text) ** 2 // 64


def contents(chunks: tuple[Chunk, ...]) -> list[str]:
    return [piece.content for piece in chunks]


def boundaries(chunks: tuple[Chunk, ...]) -> list[int]:
    ends = [0]
    for piece in chunks:
        ends.append(ends[-1] + len(piece.content))
    return ends


def assert_tiles(body: str, chunks: tuple[Chunk, ...], count: Callable[[str], int]) -> None:
    assert "".join(contents(chunks)) == body
    assert [piece.index for piece in chunks] == list(range(1, len(chunks) + 1))
    file = b"\0" * 7 + body.encode()
    for before, after in pairwise(chunks):
        assert before.end == after.start
    for piece in chunks:
        assert file[piece.start : piece.end].decode() == piece.content
        assert piece.tokens == count(piece.content)
    assert not body or (chunks[0].start, chunks[-1].end) == (7, len(file))


def assert_cuts_nothing(body: str, chunks: tuple[Chunk, ...]) -> None:
    edges = boundaries(chunks)[1:-1]
    assert [(edge, block) for block in never_cut(body) for edge in edges if edge in block] == []
    assert all(body[edge - 1] in "\r\n" for edge in edges)


def assert_within(
    body: str, chunks: tuple[Chunk, ...], count: Callable[[str], int], limits: ChunkLimits
) -> None:
    """Check that a chunk above the maximum is one block, or one item of a list above it."""
    blocks = top_blocks(body)
    starts = {block.start for block in blocks}
    for block in blocks:
        if count(body[block.start : block.end]) > limits.maximum:
            starts.update(block.items[1:])
    for start, end in pairwise(boundaries(chunks)):
        if count(body[start:end]) > limits.maximum:
            assert not any(start < inner < end for inner in starts)


@each_maximum
@settings(max_examples=150, deadline=None)
@given(body=bodies, plain=st.booleans())
def test_tiles_the_body_byte_for_byte(limits: ChunkLimits, body: str, plain: bool) -> None:
    for count in (words, counter("heuristic")):
        chunks = chunk(body, count, limits, offset=7, plain=plain)
        assert_tiles(body, chunks, count)
        assert chunks == chunk(body, count, limits, offset=7, plain=plain)


@each_maximum
@settings(max_examples=150, deadline=None)
@given(body=bodies)
def test_cuts_nothing_that_belongs_together(limits: ChunkLimits, body: str) -> None:
    assert_cuts_nothing(body, chunk(body, words, limits))


@each_maximum
@settings(max_examples=150, deadline=None)
@given(body=bodies)
def test_only_a_single_block_passes_the_maximum(limits: ChunkLimits, body: str) -> None:
    for count in (words, superadditive, counter("heuristic")):
        assert_within(body, chunk(body, count, limits), count, limits)


@each_maximum
@settings(max_examples=150, deadline=None)
@given(body=bodies, plain=st.booleans())
def test_small_chunks_are_those_that_fit_no_neighbour(
    limits: ChunkLimits, body: str, plain: bool
) -> None:
    for before, after in pairwise(chunk(body, words, limits, plain=plain)):
        if min(before.tokens, after.tokens) < limits.minimum:
            assert before.tokens + after.tokens > limits.maximum


@each_maximum
@settings(max_examples=150, deadline=None)
@given(body=bodies)
def test_cuts_at_headings_before_blocks(limits: ChunkLimits, body: str) -> None:
    """Only a section above the target is cut, and each chunk names where it starts."""
    chunks = chunk(body, words, limits)
    blocks = top_blocks(body)
    headings = [block for block in blocks if block.level]
    edges = [0, *(block.start for block in headings), len(body)]
    for piece, start in zip(chunks, boundaries(chunks), strict=False):
        path: list[tuple[int, str]] = []
        for heading in headings:
            if heading.start <= start:
                path = [opened for opened in path if opened[0] < heading.level]
                path.append((heading.level, heading.title))
        assert piece.section == " > ".join(title for _, title in path if title)
        if start not in edges:
            first, last = next(edge for edge in pairwise(edges) if edge[0] < start < edge[1])
            assert words(body[first:last]) > limits.target


@each_maximum
@settings(max_examples=150, deadline=None)
@given(body=documents, data=st.data())
def test_edit_that_keeps_its_size_changes_one_chunk(
    limits: ChunkLimits, body: str, data: st.DataObject
) -> None:
    blocks = [block for block in markdown_blocks(body) if not block.level]
    if not blocks:
        return
    block = data.draw(st.sampled_from(blocks))
    text = re.sub(r"\bw(\d)", r"x\1", body[block.start : block.end])
    edited = body[: block.start] + text + body[block.end :]
    for count in (words, counter("heuristic")):
        before, after = chunk(body, count, limits), chunk(edited, count, limits)
        assert boundaries(before) == boundaries(after)
        inside = [block.start < edge < block.end for edge in boundaries(before)]
        changed = sum(old != new for old, new in zip(before, after, strict=True))
        assert changed <= 1 + sum(inside)


def part(number: int, texts: list[str]) -> str:
    return f"## Part {number}\n\n" + "".join(texts)


short = st.integers(3, 20).map(lambda length: "w " * length + "\n\n")
parts = st.lists(paragraphs, max_size=4)
no_small_parts = st.lists(short, min_size=4, max_size=16).filter(
    lambda texts: words("".join(texts)) > 8
)


@settings(max_examples=200, deadline=None)
@given(st.lists(no_small_parts, min_size=2, max_size=8), no_small_parts, st.data())
def test_edit_under_one_heading_leaves_chunks_under_others_alone(
    texts: list[list[str]], other: list[str], data: st.DataObject
) -> None:
    """So it is among h1 and h2 parts that are not below the minimum."""
    limits = ChunkLimits(target=42, maximum=64, minimum=8)
    at = data.draw(st.integers(0, len(texts) - 1))
    old = [part(number, text) for number, text in enumerate(texts)]
    new = [*old[:at], part(at, other), *old[at + 1 :]]
    before = contents(chunk("".join(old), words, limits))
    after = contents(chunk("".join(new), words, limits))
    head = contents(chunk("".join(old[:at]), words, limits))
    tail = contents(chunk("".join(old[at + 1 :]), words, limits))
    assert before[: len(head)] == after[: len(head)] == head
    assert before[len(before) - len(tail) :] == after[len(after) - len(tail) :] == tail


@each_maximum
@settings(max_examples=200, deadline=None)
@given(st.lists(parts, min_size=1, max_size=12), parts, st.data())
def test_edit_reaches_no_further_than_the_next_large_parts(
    limits: ChunkLimits, texts: list[list[str]], other: list[str], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(texts) - 1))
    old = [part(number, text) for number, text in enumerate(texts)]
    new = [*old[:at], part(at, other), *old[at + 1 :]]
    large = [number for number, text in enumerate(old) if words(text) >= limits.minimum]
    first = max([number for number in large if number < at], default=0)
    last = [number for number in large if number > at][1:2] or [len(old)]
    opening = f"## Part {last[0]}\n"  # what is small at its top may join what is before it

    def untouched(chunks: tuple[Chunk, ...]) -> list[str]:
        spans = [re.findall(r"^## Part (\d+)$", piece.content, re.MULTILINE) for piece in chunks]
        own = [piece.section.removeprefix("Part ") for piece in chunks]
        reach = [
            {int(one) for one in [start, *span] if one}
            for start, span in zip(own, spans, strict=True)
        ]
        return [
            piece.content
            for piece, numbers in zip(chunks, reach, strict=True)
            if max(numbers) < first or (min(numbers) >= last[0] and opening not in piece.content)
        ]

    before = untouched(chunk("".join(old), words, limits))
    assert before == untouched(chunk("".join(new), words, limits))


def test_edit_in_a_run_of_tiny_sections_does_not_cascade() -> None:
    titles = [f"## Term {number}\n\n" for number in range(300)]
    tiny = [title + "word " * (20 + number % 50) + "\n\n" for number, title in enumerate(titles)]
    before = contents(chunk("".join(tiny), words))
    assert all(200 <= words(text) <= 1500 for text in before)
    for at in range(0, 300, 7):
        edited = [*tiny[:at], tiny[at] + "more " * 60 + "\n\n", *tiny[at + 1 :]]
        after = contents(chunk("".join(edited), words))
        assert len(set(before) - set(after)) <= 4
        assert len(set(after) - set(before)) <= 4


def test_small_sections_join_the_next() -> None:
    body = "# Title\n\nIntro.\n\n## Rules\n\n" + "rule " * 300 + "\n\n## See also\n\nMore.\n"
    assert [(piece.section, piece.content) for piece in chunk(body, words)] == [("Title", body)]


def test_sections_of_some_size_stand_alone() -> None:
    body = "".join(
        f"## Part {number}\n\n{'word ' * 300}\n\n### More\n\nText.\n\n" for number in (1, 2)
    )
    assert [piece.section for piece in chunk(body, words)] == ["Part 1", "Part 2"]


def test_oversize_block_stands_alone() -> None:
    fence = "```\n" + "code\n\n" * 2000 + "```\n\n"
    body = "# Title\n\n" + "word " * 300 + "\n\n" + fence + "word " * 300 + "\n"
    chunks = chunk(body, words)
    assert [piece.content == fence for piece in chunks] == [False, True, False]
    assert [piece.section for piece in chunks] == ["Title"] * 3


def test_list_above_the_maximum_is_cut_between_items() -> None:
    items = [
        f"{number}. " + "word " * 90 + "\n   - nested " + "word " * 90 + "\n"
        for number in range(1, 20)
    ]
    chunks = chunk("Intro\n\n" + "".join(items) + "\nEnd\n", words)
    assert len(chunks) == 4
    assert all(re.match(r"\d+\. |Intro", piece.content) for piece in chunks)


def test_list_within_the_maximum_is_not_cut() -> None:
    items = "- " + "word " * 139 + "\n"
    chunks = chunk("word " * 900 + "\n\n" + items * 10, words)
    assert [piece.content for piece in chunks][1] == items * 10


@pytest.mark.parametrize(
    ("body", "sections"),
    [
        ("text\n", [""]),
        ("# A ##\n", ["A"]),
        ("\ufeff# A\n", ["A"]),
        ("A\nB\n===\n", ["A B"]),
        ("#\n## B\n", [""]),
        ("- # A\n", [""]),
        ("> # A\n", [""]),
        ("### A\n\n# B\n", ["A"]),
    ],
)
def test_section_is_the_path_of_the_first_block(body: str, sections: list[str]) -> None:
    assert [piece.section for piece in chunk(body, words)] == sections


def test_section_is_the_path_of_headings() -> None:
    long = "word " * 400 + "\n\n"
    body = f"# A\n\n{long}## B `c`\n\n{long}#### D\n\n{long}### E\n\n{long}# F\n\n{long}"
    paths = ["A", "A > B `c`", "A > B `c` > D", "A > B `c` > E", "F"]
    assert [piece.section for piece in chunk(body, words)] == paths


def test_plain_text_has_no_headings() -> None:
    body = "# a\n\n" + "word " * 900 + "\n\n## b\n" + "word " * 900 + "\n"
    assert [piece.section for piece in chunk(body, words, plain=True)] == ["", ""]


def test_empty_body_has_no_chunk() -> None:
    assert chunk("", words) == chunk("", words, plain=True) == ()


@settings(max_examples=60, deadline=None)
@given(bodies)
def test_counts_that_add_up_give_the_same_chunks(body: str) -> None:
    exact = counter("cl100k")
    limits = limits_of[512]
    assert chunk(body, exact, limits) == chunk(body, exact, limits, adds=additive_boundary)


@each_maximum
@settings(max_examples=100, deadline=None)
@given(body=documents)
def test_counts_no_text_more_than_a_few_times(limits: ChunkLimits, body: str) -> None:
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return words(text)

    chunk(body, count, limits)
    assert sum(counted) <= 5 * len(body)


@pytest.mark.parametrize("unit", ["word word word\n\n", "# a\nb\n", "- a\n", "a\n", "word "])
def test_any_text_takes_time_in_proportion_to_its_size(unit: str) -> None:
    body = unit * (250_000 // len(unit))
    chunks = in_proportion(lambda text: chunk(text, words), body)
    assert "".join(contents(chunks)) == body


def test_five_megabytes_take_time_in_proportion() -> None:
    section = "## Part\n\n" + "A line of prose.\n" * 9 + "\n- item\n  - item\n\n```\ncode\n```\n\n"
    body = "".join(f"# {number}\n\n{section * 5}" for number in range(5300))
    assert len(body) > 5_000_000
    chunks = in_proportion(lambda text: chunk(text, words), body)
    assert "".join(contents(chunks)) == body


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not here")
@each_maximum
def test_real_documents(limits: ChunkLimits) -> None:
    count = counter("cl100k")
    paths = [path for path in CORPUS.rglob("*") if path.suffix in (".md", ".mdc")]
    assert paths
    for path in paths:
        body = path.read_bytes().decode("utf-8", "replace")
        chunks = chunk(body, count, limits, offset=7, adds=additive_boundary)
        assert_tiles(body, chunks, count)
        assert_cuts_nothing(body, chunks)
        assert_within(body, chunks, count, limits)
        plain = chunk(body, count, replace(limits, minimum=0), plain=True)
        assert "".join(contents(plain)) == body
