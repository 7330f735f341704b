"""Reads an evidence text: which places in files it names, and which pieces of code it quotes.

Evidence is prose. A place is `path:line`, `path:first-last`, several of them after commas,
`path:-line` for a line that the change removed, and what people and models write for the same:
`path#L35`, `path@35`, `path, line 35`, `lines 35 to 40 of path`. The path is the longest run of
words before the number that is a file of the change's trees. It may have the `a/` or `b/` of a
diff, backslashes, or be the end of just one changed file's path. What only looks like a path counts
as a place too, so that an invented file is refused and not overlooked.

What stands in backticks is a quote, unless it is a place or a file's name. A quote right behind a
place says what stands there; all others may be prose, such as what the code does not do. Text in
other quotation marks may be a quote too, and is never held against anybody.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from hornbook.review.evidence.languages import LINE
from hornbook.review.judgement import Citation

LONGEST_PATH = 1024
MOST = 200
MOST_NUMBERS = 1000
MOST_WORDS = 12
"""How many words a path may have; more is prose that ends in one."""
LONGEST_EVIDENCE = 20_000
# Ticks as Markdown has them: a run of n opens, the next run of n closes.
_TICKS = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_DASH = "[-\N{EN DASH}\N{EM DASH}]"
_LINES = rf"[-+]?[0-9]{{1,9}}(?:{_DASH}[-+]?[0-9]{{1,9}})?"
# `path:line:column`, as compilers print it, is its line; `path:3,7-9` are several places.
_COLON = re.compile(rf"[:@]~?({_LINES}(?:,\s?{_LINES})*)(?![0-9])(?::[0-9]+)?")
_ANCHOR = re.compile(rf"#L([0-9]{{1,9}}(?:{_DASH}L?[0-9]{{1,9}})?)")
_TO = rf"(?:\s*{_DASH}\s*|\s+to\s+|\s+and\s+|\s*,\s*)"
_NUMBERS = rf"[0-9]{{1,9}}(?:{_TO}L?[0-9]{{1,9}})?"
_WORDED = re.compile(
    r"[\s,(:\[\N{EN DASH}\N{EM DASH}-]{1,3}(?:(?:at|on|in|around|near|about|auf|à la|en la|na|"
    r"alla) |~)?"
    rf"(?:(?:{LINE})[\s=:]{{0,2}}|ll?\.\s?|L)({_NUMBERS})",
    re.IGNORECASE,
)
_WORDED_FIRST = re.compile(rf"\blines?\s+({_NUMBERS})\s+(?:of|in)\s+(\S+)", re.IGNORECASE)
# Quotation marks of prose; an apostrophe inside of a word is none.
_MARKS = re.compile(
    r""""([^"\n]{8,})"|[“„]([^”“\n]{8,})[”“]|«\s*([^»\n]{8,}?)\s*»|(?<!\w)'([^'\n]{8,})'(?!\w)"""
)
_LANGUAGE = re.compile(r"\A[a-zA-Z+#-]{0,12}\n")
_EDGES = "\"'()[]{}<>,;*.“”‘’«»"
# Files whose names have no end that tells what they are.
_BARE = r"\w*(?:[Mm]ake|[Dd]ocker|[Jj]enkins|[Jj]ust|Gem|Rake|Proc|Vagrant|Brew|Pip|Cake)file"
_BARE += "|README|LICENSE|CHANGELOG|AUTHORS|NOTICE|BUILD|WORKSPACE|CODEOWNERS"
_PATHLIKE = re.compile(
    rf"(?!.*://)(?=.*[A-Za-z])(?:.*/.*|.*\.[A-Za-z][A-Za-z0-9_]*|\.\w+|{_BARE})\Z"
)
_BETWEEN = re.compile(
    r"[\s:,;\-\N{EN DASH}\N{EM DASH}=>→()]*(?:has|is|says|reads|holds|shows)?[\s:]*"
)
_NO_PATH = re.compile(r"[\s\"'(\[<*,;=：，、；（「『【〈《]+")
# `path:7: code` in one pair of ticks.
_PLACE_AND_CODE = re.compile(rf"(\S+?[:@]{_LINES}):?\s+(\S.*)", re.DOTALL)

Named = Callable[[str], str | None]
"""The path of the change's trees that a written one means; none if it means no file."""


@dataclass(frozen=True, slots=True)
class Pointers:
    """What an evidence text names: places in files, files alone, and pieces of code.

    `attached` are those of the quotes that stand right behind a place. `strange` are places in
    files that no tree has, as they are written. `text` is all of it.
    """

    places: tuple[Citation, ...] = ()
    files: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()
    attached: tuple[str, ...] = ()
    strange: tuple[str, ...] = ()
    too_many: bool = False
    text: str = ""


@dataclass(slots=True)
class _Found:
    """What was found so far, in the order of the text."""

    places: list[Citation] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    quotes: list[str] = field(default_factory=list)
    attached: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    numbers: int = 0


def read_places(evidence: str, named: Named) -> Pointers:
    """The places and quotes of an evidence text; one longer than anybody reads has none."""
    if len(evidence) > LONGEST_EVIDENCE:
        return Pointers(too_many=True)
    found = _Found()
    prose = _without_quotes(evidence, named, found)
    _read_prose(prose, named, found)
    found.quotes += (next(filter(None, mark.groups())) for mark in _MARKS.finditer(prose))
    places = tuple(dict.fromkeys(found.places))
    return Pointers(
        places[:MOST],
        tuple(dict.fromkeys(found.files)),
        tuple(dict.fromkeys(found.quotes)),
        tuple(dict.fromkeys(found.attached)),
        tuple(dict.fromkeys(found.strange)),
        too_many=len(places) > MOST or found.numbers > MOST_NUMBERS,
        text=evidence,
    )


def _without_quotes(evidence: str, named: Named, found: _Found) -> str:
    """The text without the quotes in it; ticks around a place are only dropped."""
    prose, end = "", 0
    for tick in _TICKS.finditer(evidence):
        prose += evidence[end : tick.start()]
        end = tick.end()
        inside = tick[2].strip()
        if _COLON.match(evidence, end) or _is_place(inside, named) or named(plain(inside)):
            prose += inside
            continue
        both = _PLACE_AND_CODE.fullmatch(inside)
        if both is not None and _is_place(both[1], named):
            prose += both[1] + " "
            found.quotes.append(both[2])
            found.attached.append(both[2])
            continue
        quote = _LANGUAGE.sub("", tick[2]) if len(tick[1]) >= 3 else tick[2]
        found.quotes.append(quote)
        if _ends_in_place(prose):
            found.attached.append(quote)
        prose += " "
    return prose + evidence[end:]


def _ends_in_place(prose: str) -> bool:
    """Whether a place is the last thing that a text says, but for a word or sign between."""
    tail = prose[-(LONGEST_PATH // 4) :]
    places = (*_COLON.finditer(tail), *_ANCHOR.finditer(tail))
    return any(_BETWEEN.fullmatch(tail, place.end()) for place in places)


def _read_prose(prose: str, named: Named, found: _Found) -> None:
    for form in (_COLON, _ANCHOR, _WORDED):
        for number in form.finditer(prose):
            found.numbers += 1
            if found.numbers > MOST_NUMBERS:
                return
            before = prose[max(0, number.start() - LONGEST_PATH) : number.start()]
            word = _path_before(before, named, strict=form is _WORDED)
            _add(word, number[1], named, found)
    for number in _WORDED_FIRST.finditer(prose):
        path = plain(number[2].strip(_EDGES))
        _add(path if named(path) else None, number[1], named, found)
    for word in prose.split():
        file = named(plain(_COLON.sub("", word).strip(_EDGES + ":!?")))
        if file is not None:
            found.files.append(file)


def _add(written: str | None, lines: str, named: Named, found: _Found) -> None:
    if written is None:
        return
    path = named(written)
    if path is None:
        found.strange.append(f"{written}:{lines}")
        return
    found.places += (Citation(path, first, last, old=old) for first, last, old in _spans(lines))


def _spans(lines: str) -> Iterator[tuple[int, int, bool]]:
    for each in re.split(r"\s*,\s*", lines):
        numbers = [int(number) for number in re.findall(r"[0-9]+", each)]
        yield numbers[0], numbers[-1], each.startswith("-")


def _is_place(text: str, named: Named) -> bool:
    found = _COLON.search(text) or _ANCHOR.search(text)
    if found is None or found.end() != len(text):
        return False
    path = plain(text[: found.start()])
    return named(path) is not None or (" " not in path and bool(_PATHLIKE.match(path)))


def _path_before(text: str, named: Named, *, strict: bool) -> str | None:
    """The path that ends a text: the longest that is a file, else the last word if path-like."""
    line = text[-LONGEST_PATH:].rpartition("\n")[2]
    starts = [0, *(match.end() for match in _NO_PATH.finditer(line))]
    for start in starts[-MOST_WORDS:]:
        path = plain(line[start:].rstrip("\"')]>*"))
        if path and named(path):
            return path
    word = plain(line.split()[-1].strip(_EDGES)) if line.split() and not strict else ""
    return word if _PATHLIKE.match(word) else None


def plain(path: str) -> str:
    """A path as the tree has it: without `./` and backslashes."""
    return path.strip().replace("\\", "/").removeprefix("./")


def meant(path: str, is_file: Callable[[str], bool], changed: Sequence[str]) -> str | None:
    """The file that a written path means.

    It is one of the tree, also behind the `a/` or `b/` of a diff; else the only changed file whose
    path ends with it.
    """
    if is_file(path):
        return path
    if path[:2] in {"a/", "b/"} and is_file(path[2:]):
        return path[2:]
    ending = [each for each in changed if path and each.endswith(f"/{path}")]
    return ending[0] if len(ending) == 1 else None
