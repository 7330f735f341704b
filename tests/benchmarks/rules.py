"""Which rules bind files: the index against one pass over all compiled patterns."""

import re
import time
from collections.abc import Callable

from hornbook.rules.binding import RuleBook
from hornbook.rules.catalog import Entry
from hornbook.rules.document import Pattern
from hornbook.vocabulary.terms import Activation, Category, Scope, Severity
from tests.benchmarks.documents import ENDINGS

FILES = 100


def seconds(work: Callable[[], object], rounds: int = 5) -> float:
    """The best time of several rounds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def entries(count: int) -> list[Entry]:
    """Rules as in a large company: most bind their own area, a few everything."""
    return [_entry(number) for number in range(count)]


def _entry(number: int) -> Entry:
    ending = ENDINGS[number % len(ENDINGS)]
    glob = f"area{number % 997}/part{number // 997}/**/*.{ending}"
    return Entry(
        id=f"source.doc.sops.rule-{number:06}",
        path=f"docs/sops/rule-{number:06}.md",
        sha256="0" * 64,
        title=f"Rule {number}",
        category=Category.SOP,
        activation=Activation.GLOB,
        severity=Severity.ERROR,
        scope=Scope.CODE,
        tool="hornbook",
        summary="",
        tokens=100,
        chunk_count=8,
        triples=80,
        wanted_id=f"source.doc.sops.rule-{number:06}",
        signature="",
        patterns=(Pattern(glob, glob, 3),),
    )


def files() -> list[str]:
    """A hundred files, each bound by a rule or two."""
    return [
        f"area{number}/part{number % 10}/deep/er/file{number}.{ending}"
        for number, ending in ((n * 7, ENDINGS[n % len(ENDINGS)]) for n in range(FILES))
    ]


def one_pass(rules: list[Entry], paths: list[str]) -> int:
    """Every pattern compiled once and tried once: over one joined text of all paths."""
    joined = "\n".join(paths)
    found = 0
    for rule in rules:
        area, part, _, name = rule.patterns[0].glob.split("/")
        found += len(_REGEXES[rule.id].findall(joined)) if area and part and name else 0
    return found


_REGEXES: dict[str, re.Pattern[str]] = {}


def compile_all(rules: list[Entry]) -> None:
    """Compile the patterns outside of the timing."""
    for rule in rules:
        area, part, _, name = rule.patterns[0].glob.split("/")
        text = rf"^{area}/{part}/(?:[^\n]*/)?[^/\n]*{re.escape(name[1:])}$"
        _REGEXES[rule.id] = re.compile(text, re.MULTILINE)


def measure() -> dict[str, float]:
    """The ratios for a hundred files."""
    paths = files()
    ten = entries(10_000)
    compile_all(ten)
    book = RuleBook(ten)
    asked = seconds(lambda: [book.bind(path) for path in paths])
    tried = seconds(lambda: one_pass(ten, paths), rounds=2)
    building = seconds(lambda: RuleBook(ten), rounds=1)
    large = RuleBook(entries(100_000))
    asked_large = seconds(lambda: [large.bind(path) for path in paths])
    return {
        "why of 100 files at 10k rules, ms": asked * 1000,
        "why / one pass over all patterns": asked / tried,
        "building the index at 10k rules, ms": building * 1000,
        "why at 100k rules / at 10k": asked_large / asked,
    }
