"""Generated SOPs, about eight chunks each, and the repository that holds them."""

from pathlib import Path
from random import Random

WORDS = [
    "error",
    "context",
    "operation",
    "handler",
    "request",
    "response",
    "timeout",
    "retry",
    "transaction",
    "index",
    "query",
    "schema",
    "migration",
    "rollback",
    "logger",
    "metric",
    "trace",
    "span",
    "cache",
    "token",
    "session",
    "header",
    "payload",
    "validate",
    "encode",
    "decode",
    "parse",
    "render",
    "commit",
    "review",
    "evidence",
    "rule",
    "severity",
    "scope",
    "boundary",
]
ENDINGS = ("go", "py", "ts", "rs", "java", "sql", "md", "yaml")


def _sentence(random: Random) -> str:
    return " ".join(random.choices(WORDS, k=random.randint(9, 22))).capitalize() + "."


def _section(random: Random, number: int) -> str:
    paragraphs = [" ".join(_sentence(random) for _ in range(6)) for _ in range(6)]
    items = "".join(f"{n}. {_sentence(random)}\n" for n in range(1, 7))
    code = "\n".join(f"    value_{n} = {random.choice(WORDS)}({n})" for n in range(12))
    table = "| name | meaning |\n|---|---|\n" + "".join(
        f"| {random.choice(WORDS)} | {_sentence(random)} |\n" for _ in range(5)
    )
    return (
        f"## Part {number}\n\n"
        + "\n\n".join(paragraphs)
        + f"\n\n{items}\n```python\n{code}\n```\n\n{table}\n"
    )


def _short(random: Random, number: int) -> str:
    return (
        f"## Part {number}\n\n{_sentence(random)} {_sentence(random)}\n\n1. {_sentence(random)}\n\n"
    )


def document(number: int, *, short: bool = False) -> str:
    """One SOP of about eight chunks: a thousand tokens each, or fifty if it is short."""
    random = Random(number)
    ending = ENDINGS[number % len(ENDINGS)]
    section = _short if short else _section
    sections = "".join(section(random, part) for part in range(8))
    return (
        f'---\ncategory: sop\ntitle: Rule {number}\napplies_to: ["area{number % 997}/part{number}/**/*.{ending}"]\n'
        f"severity: error\nkeywords: [{random.choice(WORDS)}, {random.choice(WORDS)}]\n---\n"
        f"# Rule {number}\n\n{_sentence(random)}\n\n{sections}"
    )


SHORT_FROM = 50_000
SHORT_CHUNKS = "chunk_minimum: 10\nchunk_target: 50\nchunk_maximum: 100\n"


def repository(root: Path, count: int) -> list[Path]:
    """Write documents below `root/docs/sops`, a hundred a folder; very many are short ones."""
    short = count >= SHORT_FROM
    if short:
        (root / ".hornbook").mkdir()
        (root / ".hornbook" / "config.yaml").write_text(SHORT_CHUNKS, encoding="utf-8")
    paths = []
    for number in range(count):
        path = root / "docs" / "sops" / f"team{number // 100:04}" / f"rule-{number:06}.md"
        if number % 100 == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document(number, short=short), encoding="utf-8")
        paths.append(path)
    return paths
