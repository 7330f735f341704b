"""What one line does not speak for: the other places of the same change.

A quote speaks for the line that it stands on. That a rule holds for everything that a change adds
is not said by one good line of several that look alike, by one function of three, or by a line that
was there before. So the lines that look like one that is quoted have to be in view too, and some
line of every function, block or entry that is new. What counts as a block is told by blank lines
and indentation, so that no language has to be known.
"""

import re
from collections.abc import Collection, Iterable, Iterator

from hornbook.review.evidence.changed_files import Reviewed

Line = tuple[str, int]
_TRIVIAL = re.compile(
    r"\s*(?:[\W_]*$|(?:import|from|use|using|require|#include|package|namespace|module)\b|end\b\W*$|"
    r"//|#|--|\*|/\*)"
)
_GOES_ON = re.compile(r"\s*(?:[)\]}]|(?:else|elif|elsif|except|catch|finally|rescue|ensure|end)\b)")
_MODIFIERS = re.compile(
    r"(?:(?:export|default|pub|public|private|protected|internal|static|final|abstract|override|"
    r"async|virtual|readonly|open|sealed|partial|extern|inline|suspend)\s+)+"
)
_KEYWORD = re.compile(
    r"(?:def|func|fn|fun|function|sub|proc|class|interface|struct|enum|trait|type|record|protocol|"
    r"resource|variable|output|data|test|it|describe)\b"
)
_ENTRY = re.compile(
    r"-\s+[\w.-]+(?=\s*:)|<[A-Za-z][\w.-]*|[\"'][\w@/.-]+[\"']\s*[:=]|@\w+|"
    r"[\w$.:]+(?=\()|[A-Za-z]\w*(?=\s+[\w\"'<])|[\w-]+(?=\s*:\s)"
)
_NO_KIND = re.compile(
    r"(?:return|const|let|var|val|mut|if|else|for|while|switch|case|when|match|try|catch|except|"
    r"finally|with|yield|await|raise|throw|defer|go|import|from|use|using|require|package|end|do|in|"
    r"not|and|or|self|this)\b"
)


def blocks(reviewed: Reviewed, path: str) -> Iterator[list[int]]:
    """The numbers of the lines that a file gains, function by function."""
    lines = reviewed.lines(path, old=False)
    for run in _runs(each for each in reviewed.files[path].added if each <= len(lines)):
        depth = {n: _depth(lines[n - 1]) for n in run if lines[n - 1].strip()}
        lowest, block, ended = min(depth.values(), default=0), list[int](), False
        for number in run:
            if number not in depth:
                ended = True
                continue
            begins = depth[number] <= lowest and not _GOES_ON.match(lines[number - 1])
            if block and begins and ended:
                yield block
                block = []
            ended = depth[number] > lowest or (ended and not begins)
            block.append(number)
        if block:
            yield block


def _runs(numbers: Iterable[int]) -> Iterator[list[int]]:
    run: list[int] = []
    for number in numbers:
        if run and run[-1] != number - 1:
            yield run
            run = []
        run.append(number)
    if run:
        yield run


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def unseen_block(
    paths: Iterable[str], seen: Collection[Line], reviewed: Reviewed, fewest: int
) -> str:
    """The first new block of which no line is in view, as people write a place; empty if none."""
    for path in paths:
        lines = reviewed.lines(path, old=False)
        for block in blocks(reviewed, path):
            telling = sum(not _TRIVIAL.match(lines[each - 1]) for each in block)
            if telling >= fewest and not any((path, each) in seen for each in block):
                return f"{path}:{block[0]}-{block[-1]}"
    return ""


def kind_of_line(line: str) -> str:
    """What a line is, if others may be just like it: a definition, an entry, a call."""
    said = line.strip()
    modifiers = _MODIFIERS.match(said)
    rest = said[modifiers.end() :] if modifiers is not None else said
    keyword = _KEYWORD.match(rest)
    if keyword is not None:
        return keyword[0]
    if modifiers is not None:
        return "member (" if "(" in rest.partition("=")[0] else "member"
    entry = _ENTRY.match(said)
    if entry is None or _NO_KIND.match(said):
        return ""
    return "entry" if said[0] in "\"'" else entry[0].lower()


def unseen_twin(
    quoted: Iterable[Line], added: Iterable[Line], seen: Collection[Line], reviewed: Reviewed
) -> str:
    """The first added line that is just like one that is quoted and is not in view."""
    kinds = {(path, _kind(path, number, reviewed)) for path, number in quoted}
    for path, number in added:
        if (path, number) not in seen:
            kind = _kind(path, number, reviewed)
            if kind[0] and (path, kind) in kinds:
                return f"{path}:{number}"
    return ""


def _kind(path: str, number: int, reviewed: Reviewed) -> tuple[str, int]:
    lines = reviewed.lines(path, old=False)
    line = lines[number - 1] if number <= len(lines) else ""
    return kind_of_line(line), _depth(line)
