"""Top-level blocks are the ones that markdown-it finds, and are found in linear time."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings

from hornbook.rules.chunks.blocks import TopBlock, markdown_blocks, plain_blocks
from tests.kit.growth import in_proportion
from tests.kit.markdown_oracle import LINE_ENDS, strange_bodies, top_blocks
from tests.kit.paths import DATA, ROOT

CORPUS = ROOT.parent / "shared" / "corpus"
SPEC_EXAMPLES = os.environ.get("HORNBOOK_SPEC_EXAMPLES", "")
EXAMPLES = dict(
    example.split("\n", 1)
    for example in (DATA / "chunk/blocks.txt").read_text("utf-8").split("%% ")[1:]
)
SIZE = 80_000

PATHOLOGICAL = {
    "nested quotes": "> " * SIZE,
    "quotes that are not lazy": "> # a\nb\n" * (SIZE // 8),
    "quoted fences that are not lazy": "> ```\nb\n" * (SIZE // 8),
    "quoted tables that are not lazy": "> a|b\n> -|-\nb\n" * (SIZE // 14),
    "inner quotes that are not lazy": "> > # a\n> b\n" * (SIZE // 12) + "c\n",
    "lazy lines in deep quotes": ("> " * 18 + "a\nb\n") * (SIZE // 40),
    "one lazy paragraph": "> a\n" + "b\n" * (SIZE // 2),
    "ever deeper quotes": "".join("> " * depth + "a\n" for depth in range(280)),
    "nested bullets": "- " * SIZE,
    "nested numbers": "1. " * (SIZE // 3),
    "quotes in lists": "> - " * (SIZE // 4),
    "ever deeper lists": "".join("  " * depth + "- a\n" for depth in range(280)),
    "deep list before blank lines": "- " * 200 + "a\n" + "\n" * SIZE,
    "items": "- a\n" * (SIZE // 4),
    "loose items": "- a\n\n" * (SIZE // 5),
    "lazy items": "- a\nb\n" * (SIZE // 6),
    "empty items": "-\n\n" * (SIZE // 3),
    "items that end as no flat list": "- a\n" * (SIZE // 4) + "# b\n",
    "rules or items": "* * * * a\n" * (SIZE // 10),
    "lines": "a\n" * (SIZE // 2),
    "a long setext heading": "a\n" * (SIZE // 2) + "=",
    "setext headings": "a\n=\n" * (SIZE // 4),
    "headings": "# a\n" * (SIZE // 4),
    "open brackets": "[" * SIZE,
    "nested brackets": "[" * SIZE + "a" + "]" * SIZE,
    "lines of open brackets": "[a\n" * (SIZE // 3),
    "open links": "[a](<b" * (SIZE // 6),
    "open titles": "[a]: u 't\n" * (SIZE // 10),
    "definitions": "[a]: u\n" * (SIZE // 7),
    "backticks": "".join("`" * length + " " for length in range(400)),
    "stars": "*" * SIZE,
    "stars and letters": "*a **a " * (SIZE // 7),
    "open comment": "<!--\n" * (SIZE // 5),
    "open tags": "<a " * (SIZE // 3),
    "tags": "<a>\n\n" * (SIZE // 5),
    "attributes": "<a" + " a=1" * (SIZE // 4) + "\n",
    "a wide table": "|".join("a" * (SIZE // 4)) + "\n" + "|".join("-" * (SIZE // 4)) + "\n",
    "a long table": "a|b\n-|-\n" + "a|b\n" * (SIZE // 4),
    "rows that lack cells": "|".join("a" * 200) + "\n" + "|".join("-" * 200) + "\n" + "x\n" * 2000,
    "heads of tables": "a|b\n" * (SIZE // 4),
    "indented code": "    a\n\n" * (SIZE // 7),
    "blanks": (" " * 99 + "\n") * (SIZE // 100),
    "one line of blanks": " " * SIZE + "a",
    "tabs": "\t" * SIZE,
    "nul": "\0" * SIZE,
    "one line": "word " * (SIZE // 5),
}


def test_has_an_example_for_each_kind_of_block() -> None:
    assert len(EXAMPLES) >= 60


@pytest.mark.parametrize("end", LINE_ENDS, ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_finds_the_blocks_of_examples(name: str, end: str) -> None:
    body = EXAMPLES[name].replace("\n", end)
    assert markdown_blocks(body) == top_blocks(body)
    assert markdown_blocks("\ufeff" + body) == top_blocks("\ufeff" + body)


@settings(max_examples=1500, deadline=None)
@given(strange_bodies)
def test_finds_the_blocks_of_strange_bodies(body: str) -> None:
    assert markdown_blocks(body) == top_blocks(body)


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not here")
def test_finds_the_blocks_of_real_documents() -> None:
    paths = [path for path in CORPUS.rglob("*") if path.suffix in (".md", ".mdc")]
    bodies = {path: path.read_bytes().decode("utf-8", "replace") for path in paths}
    assert [
        path for path, body in bodies.items() if markdown_blocks(body) != top_blocks(body)
    ] == []


@pytest.mark.skipif(not SPEC_EXAMPLES, reason="HORNBOOK_SPEC_EXAMPLES names no file")
def test_finds_the_blocks_of_the_specification() -> None:
    """The file is a JSON list of objects with `markdown`, as `spec_tests.py --dump-tests` has it."""
    examples = json.loads(Path(SPEC_EXAMPLES).read_text("utf-8"))
    bodies = [example["markdown"] for example in examples]
    assert len(bodies) > 600
    assert [body for body in bodies if markdown_blocks(body) != top_blocks(body)] == []


@pytest.mark.parametrize("name", PATHOLOGICAL)
def test_takes_linear_time(name: str) -> None:
    blocks = in_proportion(markdown_blocks, PATHOLOGICAL[name])
    assert blocks[0].start == 0
    assert blocks[-1].end == len(PATHOLOGICAL[name])


def test_deep_nesting_does_not_swallow_what_follows() -> None:
    body = "- " * 100 + "a\n\n# Next\n\ntext\n"
    assert [block.title for block in markdown_blocks(body)] == ["", "Next", ""]


def test_byte_order_mark_hides_no_heading() -> None:
    assert markdown_blocks("\ufeff# Title\ntext")[0] == TopBlock(0, 9, 1, "Title")


def test_plain_paragraphs_end_at_blank_lines() -> None:
    body = "\n# one\n- two\n \n\nthree\r\n\r\nfour\n"
    texts = [body[block.start : block.end] for block in plain_blocks(body)]
    assert texts == ["\n# one\n- two\n \n\n", "three\r\n\r\n", "four\n"]


@pytest.mark.parametrize("body", ["\n", " ", "\ufeff", "\r\n\r\n", " \n\t"])
def test_blank_body_is_one_block(body: str) -> None:
    assert markdown_blocks(body) == plain_blocks(body) == [TopBlock(0, len(body))]


def test_empty_body_has_no_block() -> None:
    assert markdown_blocks("") == plain_blocks("") == []
