"""Coverage from the report that a tool wrote: counted from lines or statements, never rounded."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import filterfalse
from pathlib import Path
from xml.etree import ElementTree as ET

from hornbook.disk import read_left
from hornbook.gates.test_output import plain

# Where the tools put their reports unless told otherwise, by what a command names, the most exact
# form first.
_USUAL: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"\bgo\b"), ("coverage.out", "cover.out")),
    (
        re.compile(r"\b(?:pytest|coverage|unittest|python3?|tox|nox)\b"),
        ("coverage.json", "coverage.xml", "coverage.lcov"),
    ),
    (
        re.compile(r"\b(?:cargo)\b"),
        ("target/llvm-cov/coverage.json", "lcov.info", "cobertura.xml"),
    ),
    (
        re.compile(r"\b(?:npm|npx|pnpm|yarn|node|bun|deno|jest|vitest|c8|nyc)\b"),
        (
            "coverage/coverage-summary.json",
            "coverage/lcov.info",
            "coverage/cobertura-coverage.xml",
            "lcov.info",
        ),
    ),
)
USUAL_PLACES = tuple(dict.fromkeys(place for _, usual in _USUAL for place in usual))
_NAMED = re.compile(r"[^\s=:'\"]+\.(?:out|xml|json|info|lcov)\b")
_TOTAL = re.compile(r"^TOTAL +(\d+) +(\d+)(?: +\d+ +\d+)? +\d+(?:\.\d+)?%", re.MULTILINE)

MOST_BYTES = 200_000_000
"""A report that is larger is none."""

Stamp = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many of the counted lines or statements ran, and which report says so."""

    covered: int
    total: int
    source: str

    @property
    def percent(self) -> Fraction:
        """The exact share in percent; nothing to count is nothing covered."""
        return Fraction(100 * self.covered, self.total) if self.total else Fraction(0)

    def reaches(self, threshold: int) -> bool:
        """Whether the exact share is at least the threshold."""
        return self.total > 0 and self.percent >= threshold

    def told(self) -> str:
        """The share in words, never rounded up."""
        hundredths = self.percent * 100
        return f"{hundredths.numerator // hundredths.denominator / 100:.2f} %"


def named_places(command: str, creates: Iterable[str]) -> tuple[str, ...]:
    """Where a gate says that its report lies: what its command and `creates` name."""
    literal = [path for path in creates if not re.search(r"[*?\[{!]|/$", path)]
    return tuple(dict.fromkeys((*_NAMED.findall(command), *literal)))


def places(command: str, creates: Iterable[str]) -> tuple[str, ...]:
    """Where a gate's report may lie: what it names, then the usual places of its language.

    A command of no known language may have it in any of the usual places.
    """
    usual = [place for named, places in _USUAL if named.search(command) for place in places]
    return tuple(dict.fromkeys((*named_places(command, creates), *(usual or USUAL_PLACES))))


def stamps(folder: Path, candidates: Iterable[str]) -> dict[str, Stamp]:
    """What tells a report from an older one in the same place."""
    found = {}
    for path in candidates:
        try:
            facts = (folder / path).stat()
        except OSError:
            continue
        found[path] = (facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size, facts.st_ino)
    return found


def measured(
    folder: Path,
    candidates: Iterable[str],
    before: Mapping[str, Stamp],
    output: str,
    named: Collection[str] = (),
) -> Coverage | str:
    """The coverage by the reports written since `before`, or why there is none.

    A report in a place that is `named` beats those in usual places, which anybody may have
    written. Where reports and the TOTAL line of the output disagree, the lowest counts.
    """
    wanted = list(candidates)
    now = stamps(folder, wanted)
    fresh = [path for path, stamp in now.items() if stamp != before.get(path)]
    problems: list[str] = []
    # In a usual place anybody may have written.
    found = list(_read(folder, filter(named.__contains__, fresh), problems))
    if not found:
        found = list(_read(folder, filterfalse(named.__contains__, fresh), problems))
    found += _total_line(output)
    if found:
        return _lowest(found)
    problems += [f"{path} is older than this run" for path in now if path not in fresh]
    told = "; ".join(problems) or "looked for " + ", ".join(wanted) + " and a TOTAL line"
    remedy = "name the report in the command or in `creates`"
    return f"no coverage report was written: {told}; {remedy}."


def _total_line(output: str) -> list[Coverage]:
    """The coverage that the last TOTAL line of an output tells."""
    statements, missed = map(int, (_TOTAL.findall(plain(output)) or [(0, 0)])[-1])
    said = Coverage(statements - missed, statements, "the TOTAL line of the output")
    return [said] if statements else []


def _read(folder: Path, paths: Iterable[str], problems: list[str]) -> Iterator[Coverage]:
    for path in paths:
        try:
            text = read_left(folder, path, MOST_BYTES).decode("utf-8", "replace")
            found = read_report(text, path)
        except (OSError, ValueError, KeyError, TypeError, LookupError, ET.ParseError) as problem:
            problems.append(f"{path} is no coverage report that can be read ({problem})")
            continue
        if found.total:
            yield found
        else:
            problems.append(f"{path} counts no line")


def _lowest(found: Sequence[Coverage]) -> Coverage:
    """The lowest, with what says otherwise; of equal ones the first."""
    lowest = min(found, key=lambda each: each.percent)
    others = [f"{each.source} says {each.told()}" for each in found if each.told() != lowest.told()]
    if not others:
        return lowest
    return replace(lowest, source=f"{lowest.source} (the lowest: {', '.join(others)})")


def read_report(text: str, path: str) -> Coverage:
    """The coverage in a report, whose form is told by its text.

    Raises:
        ValueError: The text has none of the known forms.
    """
    start = text.lstrip()
    if start.startswith("mode: "):
        return _go(start, path)
    if start.startswith("<"):
        return _cobertura(start, path)
    if start.startswith("{"):
        return _json(start, path)
    if re.search(r"^(?:TN|SF):", start, re.MULTILINE):
        return _lcov(start, path)
    raise ValueError("neither a Go profile, Cobertura, lcov nor a JSON summary")


_GO_BLOCK = re.compile(r"(.+:\d+\.\d+,\d+\.\d+) (\d+) (\d+)")


def _go(text: str, path: str) -> Coverage:
    """A block that several packages report ran if it ran in one of them."""
    blocks: dict[str, tuple[int, bool]] = {}
    for number, line in enumerate(text.splitlines()[1:], 2):
        if not line.strip() or line.startswith("mode: "):
            continue
        block = _GO_BLOCK.fullmatch(line.strip())
        if block is None:
            raise ValueError(f"line {number} is no block of a Go profile")
        _, ran_before = blocks.get(block[1], (0, False))
        blocks[block[1]] = (int(block[2]), ran_before or int(block[3]) > 0)
    total = sum(statements for statements, _ in blocks.values())
    covered = sum(statements * ran for statements, ran in blocks.values())
    return Coverage(covered, total, path)


def _cobertura(text: str, path: str) -> Coverage:
    root = ET.fromstring(text)  # noqa: S314  # written by the gate's own command, which runs code anyway
    if root.tag != "coverage":
        raise ValueError(f"its root is {root.tag}, not coverage")
    lines: dict[tuple[str, str], bool] = {}
    for unit in root.iter("class"):
        for line in unit.iter("line"):
            key = (unit.get("filename", ""), line.attrib["number"])
            lines[key] = lines.get(key, False) or int(line.attrib["hits"]) > 0
    if lines:
        return Coverage(sum(lines.values()), len(lines), path)
    return Coverage(int(root.get("lines-covered", 0)), int(root.get("lines-valid", 0)), path)


def _lcov(text: str, path: str) -> Coverage:
    lines: dict[tuple[str, str], bool] = {}
    file = ""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key == "SF":
            file = value
        elif key == "DA":
            number, hits = value.split(",")[:2]
            lines[file, number] = lines.get((file, number), False) or int(hits) > 0
    return Coverage(sum(lines.values()), len(lines), path)


def _json(text: str, path: str) -> Coverage:
    """Istanbul's summary, the JSON of coverage.py, or that of llvm-cov."""
    report = json.loads(text)
    forms: tuple[Callable[[], tuple[int, int]], ...] = (
        lambda: (report["total"]["lines"]["covered"], report["total"]["lines"]["total"]),
        lambda: (report["totals"]["covered_lines"], report["totals"]["num_statements"]),
        lambda: (
            sum(each["totals"]["lines"]["covered"] for each in report["data"]),
            sum(each["totals"]["lines"]["count"] for each in report["data"]),
        ),
    )
    for form in forms:
        try:
            covered, total = form()
        except (KeyError, TypeError):
            continue
        return Coverage(int(covered), int(total), path)
    raise ValueError("its JSON is neither Istanbul's, coverage.py's nor llvm-cov's")
