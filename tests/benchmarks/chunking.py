"""How long chunking with exact counts takes, against markdown-it's full parse of the same texts.

Run with `python -m tests.benchmarks.chunking` from the root of the checkout.
"""

import time
from collections.abc import Callable
from random import Random

from markdown_it import MarkdownIt

from hornbook.rules.chunks.chunk import chunk
from hornbook.text.token_boundary import additive_boundary
from hornbook.text.tokens import counter
from tests.kit.paths import CORPUS

DOCUMENTS = 40
ROUNDS = 5

_VOCABULARY = """the a of error handler must should never always request service caller timeout retry
log context package module function returns value when because before after each every test review
database migration schema index query transaction configuration deployment secret user response
status **must** `wrap()` `ctx` *only* [guide](../guide.md) and or not is are with without for in
to from by on it this that team rule example reason exception boundary"""
_WORDS = _VOCABULARY.split()


def measure() -> dict[str, float]:
    """Return ratios to the full parse for generated texts and, where it is there, the corpus."""
    generated = [_document(Random(seed)) for seed in range(DOCUMENTS)]
    figures = _compared(generated, "generated")
    paths = sorted(path for path in CORPUS.rglob("*") if path.suffix in (".md", ".mdc"))
    if paths:
        real = [path.read_bytes().decode("utf-8", "replace") for path in paths]
        figures |= _compared(real, "corpus")
    return figures


def _compared(texts: list[str], name: str) -> dict[str, float]:
    parser = MarkdownIt("commonmark").enable("table")
    count = counter("cl100k")
    chunks = sum(len(chunk(text, count)) for text in texts)
    full = _seconds(parser.parse, texts)
    ours = _seconds(lambda text: chunk(text, count, adds=additive_boundary), texts)
    recounted = _seconds(lambda text: chunk(text, count), texts)
    counted = _seconds(count, texts)
    return {
        f"{name}_megabytes": sum(map(len, texts)) / 1e6,
        f"{name}_chunks_per_document": chunks / len(texts),
        f"{name}_full_parse_seconds": full,
        f"{name}_chunk_seconds": ours,
        f"{name}_ratio": ours / full,
        f"{name}_ratio_without_adds": recounted / full,
        f"{name}_ratio_of_counting_once": counted / full,
    }


def _seconds(work: Callable[[str], object], texts: list[str]) -> float:
    """Return the least seconds for all texts; no result is kept, which would cost collections."""

    def once() -> float:
        start = time.process_time()
        for text in texts:
            work(text)
        return time.process_time() - start

    return min(once() for _ in range(ROUNDS))


def _sentence(random: Random, least: int = 6, most: int = 18) -> str:
    words = random.choices(_WORDS, k=random.randint(least, most))
    return " ".join(words).capitalize() + "."


def _paragraph(random: Random) -> str:
    sentences = [_sentence(random) for _ in range(random.randint(2, 6))]
    return "\n".join(sentences) + "\n\n"


def _list(random: Random) -> str:
    lines: list[str] = []
    for _ in range(random.randint(3, 9)):
        lines.append(f"- {_sentence(random)}\n")
        if random.random() < 0.2:
            lines.append(f"  - {_sentence(random)}\n")
    return "".join(lines) + "\n"


def _fence(random: Random) -> str:
    lines = [f"    value = call({random.randrange(99)}, name={word!r})" for word in _WORDS[:9]]
    body = "\n".join(random.sample(lines, random.randint(3, 9)))
    return f"```python\ndef example() -> None:\n{body}\n```\n\n"


def _table(random: Random) -> str:
    rows = [f"| `{word}` | {_sentence(random, 4, 9)} |\n" for word in _WORDS[3:9]]
    return "| Name | Meaning |\n|---|---|\n" + "".join(rows) + "\n"


def _section(random: Random, number: int) -> str:
    title = " ".join(random.choices(_WORDS[:20], k=3))
    kinds = random.choices(
        [_paragraph, _list, _fence, _table], [5, 4, 2, 1], k=random.randint(3, 7)
    )
    lower = [f"### {title} {at}\n\n{_paragraph(random)}" for at in range(random.randint(0, 3))]
    return f"## {number}. {title}\n\n" + "".join(kind(random) for kind in kinds) + "".join(lower)


def _document(random: Random) -> str:
    sections = [_section(random, number) for number in range(1, 9)]
    return f"# Standard {random.randrange(999)}\n\n{_paragraph(random)}" + "".join(sections)


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name}: {value:.3f}")
