"""An examination on one screen: the grade, the five findings that matter, the rest by count."""

from collections import Counter
from collections.abc import Sequence
from textwrap import wrap

from hornbook.doctor.finding import CODES, Finding, Health

WIDTH = 79
"""How wide a line is where nobody says so: a terminal of 80 columns."""
LINES = 24
"""How many lines a screen has."""
SHOWN = 5


def screen(health: Health, width: int | None = WIDTH) -> list[str]:
    """The lines for people: at most 24, within the width if there is one.

    A sentence that is longer than a line goes on in a second one while the screen has room for
    it, the findings that matter most first; else it is clipped.
    """
    shown = the_telling(health, SHOWN)
    end = _closing(health, shown, width)
    room = LINES - 2 - 3 * len(shown) - len(end)
    lines = [headline(health), ""]
    for finding in shown:
        lines.append(_clipped(place_of(finding), width))
        for text in said(finding):
            sentence = _sentence(text, width, 2 if room > 0 else 1)
            room -= len(sentence) - 1
            lines += sentence
    return lines + end


def _closing(health: Health, shown: Sequence[Finding], width: int | None) -> list[str]:
    lines = []
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
        codes = list(dict.fromkeys(each.code for each in health.not_judged))
        lines += _wrapped("not judged, or in part (--json says why): ", codes, width)
    return lines


def _sentence(text: str, width: int | None, most: int) -> list[str]:
    """A sentence below its finding: indented, on at most so many lines."""
    if width is None:
        return [f"  {text}"]
    lines = wrap(text, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], _clipped(f"  {' '.join(map(str.strip, lines[most - 1 :]))}", width)]


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
