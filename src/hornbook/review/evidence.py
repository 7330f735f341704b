"""Whether a rule's evidence really exists in the reviewed tree.

Evidence is prose with places in it: `path:line`, `path:first-last`, several of them after commas,
with quotes of the code in backticks, and beside it the citations that a review gives as fields.
It is resolved in three steps. First the prose is read: what stands in backticks is a quote, unless
it is a place or a file's name, and every number behind a colon belongs to the longest path before
it that is a file of the tree. A word that looks like a path and is no file counts as a place too,
so that an invented file is refused and not overlooked. Then each place must exist, and each quote
must stand on one of the cited lines, whitespace aside. Last, what is left must be enough: some
place at all, and for a rule of severity error a quote that is long enough to have been read. A
search that proves absence stands in for both when the rule is said to be kept.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from hornbook.review.judgement import Citation, JudgedRule, SopEntry, Status
from hornbook.review.printed_review import is_blank
from hornbook.review.search import Searches, SearchResult

LONGEST_PATH = 1024
MOST = 200
MOST_NUMBERS = 1000
MOST_WORDS = 12
"""How many words a path may have; more is prose that ends in one."""
LONGEST_EVIDENCE = 20_000
# Ticks as Markdown has them: a run of n opens, the next run of n closes.
_TICKS = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_DASH = "[-\N{EN DASH}\N{EM DASH}]"
_LINES = rf"[0-9]{{1,9}}(?:{_DASH}[0-9]{{1,9}})?"
# `path:line:column`, as compilers print it, is its line; `path:3,7-9` are several places.
_PLACE = re.compile(rf":({_LINES}(?:,{_LINES})*)(?![0-9])(?::[0-9]+)?")
_LANGUAGE = re.compile(r"\A[a-zA-Z+#-]{0,12}\n")
_EDGES = "\"'()[]{}<>,;*“”‘’«»"
# Files whose names have no end that tells what they are.
_BARE = r"\w*(?:[Mm]ake|[Dd]ocker|[Jj]enkins|[Jj]ust|Gem|Rake|Proc|Vagrant|Brew|Pip|Cake)file"
_BARE += "|README|LICENSE|CHANGELOG|AUTHORS|NOTICE|BUILD|WORKSPACE|CODEOWNERS"
_PATHLIKE = re.compile(
    rf"(?!.*://)(?=.*[A-Za-z])(?:.*/.*|.*\.[A-Za-z][A-Za-z0-9_]*|\.\w+|{_BARE})\Z"
)

Has = Callable[[str], bool]


class Tree(Protocol):
    """The files of the reviewed commit, as far as evidence needs them."""

    def has(self, path: str) -> bool:
        """Whether the path is a regular file of the tree."""

    def lines(self, path: str) -> list[str]:
        """The lines of a file of the tree."""


def lines_of(text: str) -> list[str]:
    """A text's lines as git and editors count them: what ends a line is a line feed."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


@dataclass(frozen=True, slots=True)
class Pointers:
    """What an evidence text names: places in files, and pieces of code."""

    places: tuple[Citation, ...]
    quotes: tuple[str, ...]
    too_many: bool = False


def find(evidence: str, has: Has) -> Pointers:
    """The places and quotes of an evidence text.

    Ticks around a place, or around a file's name, make no quote of it. A name that is no file
    of the tree counts as a place when it looks like a path, so that it can be refused. Evidence
    that is longer than anybody reads is not looked through.
    """
    if len(evidence) > LONGEST_EVIDENCE:
        return Pointers((), (), too_many=True)
    prose, quotes = _quotes_apart(evidence, has)
    places: list[Citation] = []
    numbers = list(_PLACE.finditer(prose))
    for found in numbers[:MOST_NUMBERS]:
        before = max(0, found.start() - LONGEST_PATH)
        path = _path_before(prose[before : found.start()], has)
        if path is not None:
            places += (Citation(path, first, last) for first, last in _spans(found[1]))
    named = tuple(dict.fromkeys(places))
    too_many = len(named) > MOST or len(numbers) > MOST_NUMBERS
    return Pointers(named[:MOST], tuple(dict.fromkeys(quotes)), too_many)


def _quotes_apart(evidence: str, has: Has) -> tuple[str, list[str]]:
    """The text without the quotes in it, and the quotes; ticks around a place are only dropped."""
    quotes: list[str] = []
    prose, end = "", 0
    for tick in _TICKS.finditer(evidence):
        prose += evidence[end : tick.start()]
        end = tick.end()
        inside = tick[2].strip()
        if _PLACE.match(evidence, end) or _is_place(inside, has) or has(_plain(inside)):
            prose += inside
        else:
            quotes.append(_LANGUAGE.sub("", tick[2]) if len(tick[1]) >= 3 else tick[2])
            prose += " "
    return prose + evidence[end:], quotes


def _spans(lines: str) -> Iterator[tuple[int, int]]:
    for each in lines.split(","):
        first, *last = map(int, re.split(_DASH, each))
        yield first, last[0] if last else first


def _is_place(text: str, has: Has) -> bool:
    found = _PLACE.search(text)
    return (
        found is not None
        and found.end() == len(text)
        and _path_before(text[: found.start()], has) == _plain(text[: found.start()])
    )


def _path_before(text: str, has: Has) -> str | None:
    """The path that ends a text: the longest that is a file, else the last word if path-like."""
    line = text[-LONGEST_PATH:].rpartition("\n")[2]
    starts = [0, *(match.end() for match in re.finditer(r"[\s\"'(\[<*,;]+", line))]
    for start in starts[-MOST_WORDS:]:
        path = _plain(line[start:])
        if path and has(path):
            return path
    word = _plain(line.split()[-1].strip(_EDGES)) if line.split() else ""
    return word if _PATHLIKE.match(word) else None


def _plain(path: str) -> str:
    return path.removeprefix("./")


SHORTEST_QUOTE = 8
SHORTEST_REASON = 8


@dataclass(frozen=True, slots=True)
class Resolved:
    """The places that evidence rests on, and why it does not hold; both may be missing.

    Warnings are of evidence that holds.
    """

    places: tuple[Citation, ...]
    problems: tuple[tuple[str, str], ...]
    warnings: tuple[tuple[str, str], ...] = ()


def _is_empty(entry: SopEntry) -> bool:
    return is_blank(entry.evidence) and not entry.citations and entry.search is None


def resolve(
    entry: SopEntry,
    rule: JudgedRule,
    tree: Tree,
    searches: Searches,
    rule_files: Container[str] = (),
) -> Resolved:
    """Check one entry's evidence; each problem is a code and what is wrong with its remedy.

    `rule_files` are those of the rules that the change leaves as they are: what a rule says is no
    evidence that it is kept.
    """
    if entry.status is Status.NOT_APPLICABLE:
        return Resolved((), tuple(_no_reason(entry.evidence)))
    if _is_empty(entry):
        return Resolved((), (("no_evidence", "The evidence is blank: cite path:line."),))
    pointers = find(entry.evidence, tree.has)
    places = (*entry.citations, *pointers.places)
    looked = searches.look(entry.search, rule) if entry.search is not None else SearchResult()
    wrong = [*_not_there(entry, pointers, tree), *looked.problems]
    wrong += _only_rules(places, rule_files)
    wrong = wrong or list(_too_little(entry, places, pointers, rule.severity))
    if wrong:
        return Resolved((), tuple(("unresolved_evidence", each) for each in wrong))
    return Resolved(places, (), looked.warnings)


def _only_rules(places: Sequence[Citation], rule_files: Container[str]) -> Iterator[str]:
    if places and all(place.path in rule_files for place in places):
        yield f"{shown(places[0])} is a rule, which says nothing of the change: cite that."


def _no_reason(evidence: str) -> Iterator[tuple[str, str]]:
    if is_blank(evidence):
        yield "no_evidence", "The evidence is blank: say why the rule does not apply."
    elif len(_visible(evidence)) < SHORTEST_REASON:
        yield "no_evidence", f"{evidence.strip()!r} is no reason: say why it does not apply."


def _quotes_not_there(quotes: Iterable[str], cited: Sequence[str]) -> Iterator[str]:
    for quote in quotes:
        if not any(_squeezed(quote) in text for text in cited):
            yield (
                f"no cited line holds {_short(quote)}: text in backticks must stand on the "
                "lines that are cited, whitespace aside."
            )


def _not_there(entry: SopEntry, pointers: Pointers, tree: Tree) -> Iterator[str]:
    """Everything that is cited and not there."""
    cited: list[str] = []
    for place in (*pointers.places, *entry.citations):
        missing = _missing(place, tree)
        if missing:
            yield missing
            continue
        cited.append(_squeezed("\n".join(tree.lines(place.path)[place.start - 1 : place.end])))
        if place.quote and _squeezed(place.quote) not in cited[-1]:
            yield f"{shown(place)} does not hold {_short(place.quote)}: quote what is there."
    if cited:
        yield from _quotes_not_there(pointers.quotes, cited)
    if pointers.too_many:
        yield (
            f"it cites more than {MOST} places, or has more than {LONGEST_EVIDENCE} characters: "
            "name the places that matter."
        )


def _missing(place: Citation, tree: Tree) -> str | None:
    if not tree.has(place.path):
        return f"{shown(place)}: the reviewed tree has no file {place.path!r}: cite one it has."
    count = len(tree.lines(place.path))
    if count == 0:
        return f"{shown(place)}: {place.path} is empty or binary: cite a file that has lines."
    if not 1 <= place.start <= place.end <= count:
        return f"{shown(place)}: {place.path} has lines 1 to {count}: cite lines that exist."
    return None


def _too_little(
    entry: SopEntry, places: tuple[Citation, ...], pointers: Pointers, severity: str
) -> Iterator[str]:
    """What is still needed when all that is cited exists."""
    if entry.search is not None and entry.status is Status.PASSED:
        return
    if not places:
        yield (
            "It names no place in the reviewed tree: write path:line or path:first-last, "
            "such as `handlers/user.go:45`."
        )
        return
    quotes = (*pointers.quotes, *(place.quote for place in entry.citations))
    longest = max((len(_visible(quote)) for quote in quotes), default=0)
    if severity == "error" and longest < SHORTEST_QUOTE:
        yield (
            f"A rule of severity error needs a quote of at least {SHORTEST_QUOTE} characters "
            f"from the cited lines, in backticks; the longest has {longest}."
        )


def shown(place: Citation) -> str:
    """A place as people write it."""
    span = f"{place.start}-{place.end}" if place.end != place.start else str(place.start)
    return f"{place.path}:{span}"


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _visible(text: str) -> str:
    """What of a text can be seen."""
    return "".join(letter for letter in text if not is_blank(letter))


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= 60 else f"{flat[:57]}...")
