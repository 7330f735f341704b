"""What of a gate's output goes back to a developer: the lines that say what is wrong."""

import re

from hornbook.gates.ansi import plain

BUDGET = 6000
_LINE = 400
_BEFORE = 2
_AFTER = 8
_HEAD = 8
_END = 8

_MATTERS = re.compile(
    r"""
      ^E\s{2,}\S | ^(?:FAILED|ERROR)\ \S | ^_{4,}\ .*\ _{4,}$              # pytest
    | ^\s*---\ FAIL: | ^FAIL\t | ^panic: | ^\S+\.go:\d+(?::\d+)?:          # go
    | ^error(?:\[E\d+\])?: | ^----\ .*\ stdout\ ----$ | \bpanicked\ at\b   # cargo
    | ^\s*●\ \S | ^\s*[✕✖×]\ \S | ^\s*FAIL\ \S | ^not\ ok\ \d+             # jest, vitest, node
    | ^[^\s:]+:\d+:\d+:\ [A-Z]+\d+\b | ^[A-Z]+\d+\ (?:\[\*\]\ )?\S         # ruff
    | ^[^\s:]+:\d+:(?:\d+:)?\ error: | ^\S+\(\d+,\d+\):\ error\ TS\d+      # mypy, tsc
    | ^\S+:\d+:\d+\ -\ error\ TS\d+
    | ^(?:\w+\.)*\w*(?:Error|Exception)\b: | ^Traceback\ \(most            # a program of its own
    | (?:command\ )?not\ found$
    """,
    re.VERBOSE,
)


def trim(output: str, *, log: str, budget: int = BUDGET) -> str:
    """The lines of an output that matter, with context, in at most `budget` characters.

    What is left out is counted where it stood, and the last line names the log that has it all.
    An output that fits is given whole.
    """
    text = plain(output).strip("\n")
    if len(text) <= budget:
        return text
    lines = [_shortened(line) for line in text.split("\n")]
    closing = f"[the whole output, {len(lines)} lines: {log}]"
    kept = _kept(lines, budget - len(closing) - 1)
    return "\n".join([*_told(lines, kept), closing])


def _shortened(line: str) -> str:
    if len(line) <= _LINE:
        return line
    half = _LINE // 2
    return f"{line[:half]} [{len(line) - 2 * half} characters omitted] {line[-half:]}"


def _kept(lines: list[str], budget: int) -> set[int]:
    """The places of the lines to keep: the end, then what matters from the top, then the head."""
    kept: set[int] = set()
    wanted = [range(max(0, len(lines) - _END), len(lines))]
    for place, line in enumerate(lines):
        if _MATTERS.search(line):
            wanted.append(range(max(0, place - _BEFORE), min(len(lines), place + _AFTER + 1)))
    if len(wanted) == 1:
        wanted.extend((range(min(_HEAD, len(lines))), *_alternating(len(lines))))
    for places in wanted:
        # Each gap may cost a marker of its own.
        cost = sum(len(lines[place]) + 1 for place in places if place not in kept) + 32
        if cost > budget:
            break
        budget -= cost if not kept.issuperset(places) else 0
        kept.update(places)
    return kept


def _alternating(count: int) -> list[range]:
    """Pieces from the head and from the end in turn, towards the middle."""
    pieces = []
    for start in range(_HEAD, count // 2, _HEAD):
        pieces.append(range(start, start + _HEAD))
        pieces.append(range(count - start - _HEAD, count - start))
    return pieces


def _told(lines: list[str], kept: set[int]) -> list[str]:
    told: list[str] = []
    omitted = 0
    for place, line in enumerate(lines):
        if place not in kept:
            omitted += 1
            continue
        if omitted:
            told.append(f"[{omitted} lines omitted]")
            omitted = 0
        told.append(line)
    if omitted:
        told.append(f"[{omitted} lines omitted]")
    return told
