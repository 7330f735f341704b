"""The constraints of a plan's text: the globs of what is in scope, out of it, not to be touched."""

import re

from hornbook.execute.plan_text import parse
from hornbook.model.plan import Constraints
from hornbook.text.constraint_bullets import KINDS, read_bullet

_UNFINISHED = frozenset({"missing_section", "no_title"})
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def read_constraints(text: str) -> Constraints:
    """What the bullets under `Constraints` say, in order; other text there says nothing.

    A text that is no plan, such as one that is just being edited, is read for what looks like
    constraints: a guard that took them for none would let everything through.
    """
    read = parse(text)
    if "Constraints" in read.stated and {each.code for each in read.problems} <= _UNFINISHED:
        return read.plan.constraints
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for line in _section(text):
        bullet = read_bullet(line)
        if bullet is not None:
            found[bullet[0]] += bullet[1]
    return Constraints(*(tuple(found[kind]) for kind in KINDS))


def _section(text: str) -> list[str]:
    """The lines under the heading `Constraints`, up to the next that is not below it."""
    lines: list[str] = []
    level = 0
    fence = ""
    for line in text.splitlines():
        marks = _FENCE.match(line)
        if marks and (not fence or marks[1].startswith(fence)):
            fence = "" if fence else marks[1]
            continue
        heading = None if fence else _HEADING.fullmatch(line)
        if heading and (not level or len(heading[1]) <= level):
            level = len(heading[1]) if heading[2].lower() == "constraints" else 0
        elif level and not fence:
            lines.append(line)
    return lines
