"""Token counters: exact offline, safe on any text, additive at line starts."""

import base64
import hashlib
import importlib
import json
import socket
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import tiktoken
import tiktoken.load
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbook.errors import UsageError
from hornbook.text.exact_counter import (
    LONGEST_BLANKS,
    OFFICIAL_SHA256,
    PATTERNS,
    exact_counter,
    load_ranks,
    pack,
    ranks_path,
    unpack,
)
from hornbook.text.token_boundary import additive_boundary, count_joined
from hornbook.text.tokens import COUNTERS, DEFAULT_COUNTER, counter

EXACT = {"cl100k": "cl100k_base", "o200k": "o200k_base"}
DIGESTS = b"".join(hashlib.sha256(bytes([value])).digest() for value in range(64))

TEXTS = {
    "empty": "",
    "prose": "Every error must be recorded together with the name of its caller.",
    "markdown": "# Rules\n\n- MUST log\n  - nested\n\n\n```python\nx = 'a'\n```\n| a | b |\n",
    "contractions": "I'll can't WE'RE they've d'accord 'S ''s",
    "paths": "//\n/usr/bin\n==\n//x\r\n/\n",
    "numbers": "1234567 3.14159 0x00ff 1_000_000",
    "whitespace": " \t\n\n  \r\n\u3000\u2028x \x85 \n   ",
    "control": "a\x00b\x1c \x1f\n\x7f",
    "emoji": "👩‍👩‍👧‍👦 🏳️‍🌈 ok",
    "cjk": "すべてのエラーは記録しなければならない。每个错误都必须记录。",
    "marks": "e\u0301a\u0308 नमस्ते ǅungla ʰH",
    "special": "<|endoftext|> <|fim_prefix|><|endofprompt|>",
    "base64": base64.b64encode(DIGESTS).decode(),
}

texts_rich_in_borders = st.text(
    st.sampled_from(
        "  \t\n\n\r//''==(.<|sSlaAZ1\x00\x1c\x85\xa0\u2028\u3000漢éǅʰ\u0301\u200d😀\ud800"
    ),
    max_size=24,
)


@cache
def official_file(encoding: str) -> bytes:
    """Return the `.tiktoken` file that the package's ranks stand for."""
    lines = (
        b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in load_ranks(encoding).items()
    )
    return b"".join(lines)


@cache
def published(encoding: str) -> dict[str, Any]:  # Any: tiktoken's own untyped keyword arguments
    """Return what tiktoken itself makes `encoding` of, with our rebuilt file for its download."""
    public = importlib.import_module("tiktoken_ext.openai_public")

    def from_rebuilt_file(url: str, expected_hash: str) -> dict[bytes, int]:
        official = official_file(url.rsplit("/", maxsplit=1)[-1].removesuffix(".tiktoken"))
        assert hashlib.sha256(official).hexdigest() == expected_hash
        return {
            base64.b64decode(token): int(rank)
            for token, rank in (line.split() for line in official.splitlines())
        }

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(public, "load_tiktoken_bpe", from_rebuilt_file)
        arguments: dict[str, Any] = getattr(public, encoding)()
    return arguments


@cache
def reference(name: str) -> Callable[[str], int]:
    encoding = tiktoken.Encoding(**published(EXACT[name]))
    return lambda text: len(encoding.encode(text, disallowed_special=()))


@pytest.mark.parametrize("encoding", EXACT.values())
def test_ranks_rebuild_to_the_official_file(encoding: str) -> None:
    assert hashlib.sha256(official_file(encoding)).hexdigest() == OFFICIAL_SHA256[encoding]


@pytest.mark.parametrize("encoding", EXACT.values())
def test_patterns_are_those_tiktoken_publishes(encoding: str) -> None:
    assert published(encoding)["pat_str"] == PATTERNS[encoding]


def test_both_tables_together_stay_under_a_megabyte_and_a_half() -> None:
    assert sum(ranks_path(encoding).stat().st_size for encoding in EXACT.values()) < 1_500_000


longer_tokens = st.lists(
    st.binary(min_size=2).filter(lambda token: b"\xff" not in token), min_size=1
)


@given(single=st.permutations([bytes([value]) for value in range(256)]), longer=longer_tokens)
def test_packing_loses_no_token(single: list[bytes], longer: list[bytes]) -> None:
    assert unpack(pack(single + longer)) == single + longer


@pytest.mark.parametrize("longer", [[], [b"a"], [b"a\xff"]])
def test_packing_refuses_what_it_cannot_give_back(longer: list[bytes]) -> None:
    with pytest.raises(ValueError, match="after the first 256"):
        pack([bytes([value]) for value in range(256)] + longer)


def test_packing_refuses_a_table_without_the_single_bytes() -> None:
    with pytest.raises(ValueError, match="256 single bytes"):
        pack([b"ab", b"cd"])


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_counts_what_tiktoken_counts(name: str, text: str) -> None:
    assert counter(name)(text) == reference(name)(text)


@pytest.mark.parametrize("name", EXACT)
@settings(deadline=None)  # the first example makes the counter
@given(text=texts_rich_in_borders)
def test_counts_any_text_as_tiktoken_does(name: str, text: str) -> None:
    assert counter(name)(text) == reference(name)(text)


def test_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise AssertionError("the network was asked for")

    monkeypatch.setattr(socket, "socket", unreachable)
    monkeypatch.setattr(tiktoken.load, "read_file", unreachable)
    monkeypatch.setattr(tiktoken.load, "read_file_cached", unreachable)
    assert exact_counter("cl100k", "cl100k_base")("hello world") == 2


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("漢字漢字漢", 2), ("\ud800", 1)],
)
def test_heuristic_is_four_characters_a_token_rounded_up(text: str, tokens: int) -> None:
    assert counter("heuristic")(text) == tokens


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([{"id": n, "at": [n * 7 % 101, n % 9], "tag": None} for n in range(50)]),
        base64.b64encode(DIGESTS).decode(),
        DIGESTS.hex(),
        "すべてのエラーは呼び出し元の名前を付けて記録しなければならない。",
        "प्रत्येक त्रुटि को कॉल करने वाले के नाम के साथ दर्ज किया जाना चाहिए।",
        "Κάθε σφάλμα πρέπει να καταγράφεται μαζί με το όνομα του καλούντος.",
    ],
    ids=["json", "base64", "hex", "japanese", "hindi", "greek"],
)
def test_exact_is_half_as_much_again_where_the_heuristic_is_low(text: str) -> None:
    assert counter(DEFAULT_COUNTER)(text) * 2 > counter("heuristic")(text) * 3


def test_the_heuristic_starts_without_tiktoken() -> None:
    program = (
        "import sys; from hornbook.text.tokens import counter; counter('heuristic')('x');"
        "sys.exit('tiktoken' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_every_counter_says_its_name_and_is_made_once() -> None:
    assert [counter(name).name for name in COUNTERS] == list(COUNTERS)
    assert all(counter(name) is counter(name) for name in COUNTERS)


def test_tiktokens_own_names_are_known_too() -> None:
    assert all(counter(encoding) is counter(name) for name, encoding in EXACT.items())


def test_unknown_counter_names_the_valid_ones_and_the_nearest() -> None:
    with pytest.raises(
        UsageError, match=r"'CL100': did you mean 'cl100k'\? Use one of heuristic, cl100k, o200k\."
    ):
        counter("CL100")
    with pytest.raises(UsageError, match=r"no token counter 'zzz': Use one of"):
        counter("zzz")


@pytest.mark.parametrize("name", EXACT)
def test_spelled_out_special_tokens_are_ordinary_text(name: str) -> None:
    assert counter(name)("<|endoftext|>") > 1


@pytest.mark.parametrize("name", EXACT)
def test_lone_surrogates_count_as_the_replacement_character(name: str) -> None:
    count = counter(name)
    assert count("a\ud800b\udfff") == count("a\ufffdb\ufffd")


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("tail", ["", "x"])
def test_a_million_blanks_are_counted_though_tiktoken_panics(name: str, tail: str) -> None:
    assert 7813 <= counter(name)(" " * 1_000_000 + tail) <= 7815


@pytest.mark.parametrize("name", EXACT)
def test_the_longest_run_that_is_not_cut_is_counted_as_tiktoken_does(name: str) -> None:
    by_tiktoken = 7034
    assert counter(name)("\n" + " " * LONGEST_BLANKS + "x") == by_tiktoken


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize(("letter", "tokens"), [("a", 125_000), ("=", 15_625)])
def test_a_million_times_one_character_is_one_word(name: str, letter: str, tokens: int) -> None:
    assert counter(name)(letter * 1_000_000) == tokens


@pytest.mark.parametrize("name", EXACT)
def test_five_megabytes_of_base64_are_counted(name: str) -> None:
    text = base64.b64encode(DIGESTS * 2048).decode() + "\n"
    assert len(text) > 5_000_000
    assert counter(name)(text) > len(text) // 2


@pytest.mark.parametrize("name", EXACT)
@settings(deadline=None)  # the first example makes the counter
@given(text=texts_rich_in_borders)
def test_counts_add_up_at_every_additive_boundary(name: str, text: str) -> None:
    count = counter(name)
    for at in range(len(text) + 1):
        if additive_boundary(text[:at], text[at:]):
            assert count(text[:at]) + count(text[at:]) == count(text), (text[:at], text[at:])


@given(before=texts_rich_in_borders, line_end=st.sampled_from(["\n", "\r\n", "\r"]))
def test_an_indented_or_plain_line_starts_at_an_additive_boundary(
    before: str, line_end: str
) -> None:
    assert all(
        additive_boundary(before + line_end, line) for line in ["# x", "    x", "-", "漢", "\t/"]
    )


def test_counts_add_up_before_an_overlong_run_of_blanks() -> None:
    count, after = counter("cl100k"), " " * (LONGEST_BLANKS + 1) + "x"
    assert additive_boundary("a\n", after)
    assert count("a\n") + count(after) == count("a\n" + after)


@pytest.mark.parametrize(("before", "after"), [("", ""), ("", " x"), ("x", "")])
def test_nothing_added_is_additive(before: str, after: str) -> None:
    assert additive_boundary(before, after)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("o200k", "}\n\n", "//"),
        ("cl100k", "a\n", "\n"),
        ("cl100k", "\n", "    \n"),
        ("cl100k", "a\n", " \nb"),
        ("cl100k", "hello wor", "ld"),
        ("cl100k", "x ", "y"),
    ],
)
def test_claims_no_boundary_where_counts_differ(name: str, before: str, after: str) -> None:
    count = counter(name)
    assert not additive_boundary(before, after)
    assert count(before) + count(after) != count(before + after)


@given(pieces=st.lists(texts_rich_in_borders, max_size=5))
@pytest.mark.parametrize("name", ["cl100k", "o200k"])
def test_pieces_counted_one_by_one_are_as_many_as_together(name: str, pieces: list[str]) -> None:
    count = counter(name)
    ended = [f"{piece}\n" for piece in pieces]
    assert count_joined(pieces, count) == count("".join(pieces))
    assert count_joined(ended, count) == count("".join(ended))
