"""How large a pattern is once its repetitions are counted out: engines write them out too."""

import re
from dataclasses import dataclass

_PIECE = re.compile(
    r"\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\{(\d*),?(\d*)\}|.",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class PatternSize:
    """How many pieces a pattern has, and how deeply its groups are nested."""

    pieces: int
    depth: int


def size_of(pattern: str) -> PatternSize:
    """The size of a pattern; one that is no regular expression has some size too."""
    open_groups, last, deepest = [0], 0, 0
    for piece in _PIECE.finditer(pattern):
        times = [int(each) for each in (piece[1], piece[2]) if each]
        if times:
            more = last * (max(*times, 1) - 1)
            last += more
            open_groups[-1] += more
        elif piece[0] == "(":
            open_groups.append(0)
            deepest = max(deepest, len(open_groups) - 1)
        elif piece[0] == ")" and len(open_groups) > 1:
            last = open_groups.pop() + 1
            open_groups[-1] += last
        elif piece[0] not in "*+?|":
            last = 1
            open_groups[-1] += 1
    return PatternSize(sum(open_groups), deepest)
