"""An examination on one screen: the grade, the five findings that matter, the rest by count."""

from collections import Counter
from collections.abc import Sequence

from hornbook.doctor.finding import CODES, Finding, Health

WIDTH = 79
"""How wide a line is where nobody says so: a terminal of 80 columns."""
SHOWN = 5


def screen(health: Health, width: int | None = WIDTH) -> list[str]:
    """The lines for people: at most 24, sentences clipped to the width if there is one."""
    shown = the_telling(health, SHOWN)
    lines = [headline(health), ""]
    for finding in shown:
        lines.append(place_of(finding))
        lines += [_clipped(f"  {text}", width) for text in said(finding)]
    rest = Counter(each.code for each in health.open)
    rest -= Counter(each.code for each in shown)
    if rest:
        lines += [
            "",
            *_wrapped("and ", [f"{rest[code]} {code}" for code in CODES if rest[code]], width),
        ]
    taken = len(health.findings) - len(health.open)
    if taken:
        lines.append(f"{taken} accepted by the baseline")
    fixable = sum(each.edit is not None for each in health.open)
    if fixable:
        lines.append(f"{fixable} can be healed with --fix")
    if health.not_judged:
        codes = ", ".join(dict.fromkeys(each.code for each in health.not_judged))
        lines.append(_clipped(f"not judged, at least in part: {codes} (--json says why)", width))
    return lines


def headline(health: Health) -> str:
    """The grade and the counts in one line."""
    counts = health.counts
    told = [_counted(counts[level], level) for level in ("error", "warning", "info")]
    return f"{health.grade}  {', '.join(told)} in {_counted(health.rules, 'rule')}"


def the_telling(health: Health, most: int) -> Sequence[Finding]:
    """The findings that matter most, at most two of one kind while there are others."""
    order = list(health.open)
    taken: list[Finding] = []
    seen: Counter[str] = Counter()
    for finding in order:
        if seen[finding.code] < 2:
            seen[finding.code] += 1
            taken.append(finding)
    chosen = [*taken[:most], *(each for each in order if each not in taken)][:most]
    return sorted(chosen, key=order.index)


def one_line(finding: Finding) -> str:
    """A finding in one line of a screen."""
    return _clipped(f"{place_of(finding)}: {finding.message}")


def place_of(finding: Finding) -> str:
    """Level, code and place of a finding."""
    place = finding.path if finding.line is None else f"{finding.path}:{finding.line}"
    return f"{finding.level.value} {finding.code}  {place}"


def said(finding: Finding) -> tuple[str, str]:
    """What is wrong, and what to do."""
    return finding.message, finding.remedy


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _clipped(text: str, width: int | None = WIDTH) -> str:
    plain = " ".join(text.split()) if "\n" in text else text
    return plain if width is None or len(plain) <= width else plain[: width - 1] + "…"


def _wrapped(lead: str, words: Sequence[str], width: int | None) -> list[str]:
    lines, line = [], lead
    for number, word in enumerate(words):
        comma = "," if number + 1 < len(words) else ""
        if width is not None and len(line) + len(word) + 1 > width:
            lines.append(line.rstrip())
            line = "    "
        line += f"{word}{comma} "
    return [*lines, line.rstrip()]
