"""Whether a rule's evidence really exists in the reviewed tree."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import regex

from hornbook.errors import BadGlob
from hornbook.model.review import Citation, Search, SopEntry, Status
from hornbook.review.citing import Pointing, find
from hornbook.review.reading import is_blank
from hornbook.review.tree import Tree
from hornbook.text.globs import parse_set

SHORTEST_QUOTE = 8
PATIENCE_SECONDS = 2
LONGEST_PATTERN = 1000


@dataclass(frozen=True, slots=True)
class Resolved:
    """The first place that evidence rests on, and why it does not hold; both may be missing."""

    place: Citation | None
    problems: tuple[tuple[str, str], ...]


def resolve(entry: SopEntry, severity: str, tree: Tree, changed: Mapping[str, str]) -> Resolved:
    """Check one entry's evidence; `changed` holds the texts of the changed files.

    Each problem is a code and what is wrong with its remedy.
    """
    blank = is_blank(entry.evidence) and not entry.citations and entry.search is None
    if blank:
        wanted = "say why" if entry.status is Status.NOT_APPLICABLE else "cite path:line"
        return Resolved(None, (("no_evidence", f"The evidence is blank: {wanted}."),))
    if entry.status is Status.NOT_APPLICABLE:
        return Resolved(None, ())
    pointing = find(entry.evidence, tree.has)
    wrong = list(_wrong(entry, pointing, tree))
    if entry.search is not None:
        wrong += _still_there(entry.search, changed)
    places = (*entry.citations, *pointing.places)
    if not wrong:
        wrong += _too_little(entry, places, pointing, severity)
    problems = tuple(("unresolved_evidence", each) for each in wrong)
    return Resolved(places[0] if places and not wrong else None, problems)


def _wrong(entry: SopEntry, pointing: Pointing, tree: Tree) -> Iterator[str]:
    """Everything that is cited and not there."""
    held: list[str] = []
    for place in (*pointing.places, *entry.citations):
        missing = _missing(place, tree)
        if missing:
            yield missing
            continue
        text = _squeezed("\n".join(tree.lines(place.path)[place.start - 1 : place.end]))
        held.append(text)
        if place.quote and _squeezed(place.quote) not in text:
            yield f"{shown(place)} does not hold {_short(place.quote)}: quote what is there."
    cited = bool(pointing.places or entry.citations)
    for quote in pointing.quotes:
        if cited and held and not any(_squeezed(quote) in text for text in held):
            yield (
                f"no cited line holds {_short(quote)}: text in backticks must stand on the "
                "lines that are cited, whitespace aside."
            )


def _missing(place: Citation, tree: Tree) -> str | None:
    if not tree.has(place.path):
        return f"{shown(place)}: the reviewed tree has no file {place.path!r}: cite one it has."
    count = len(tree.lines(place.path))
    if not 1 <= place.start <= place.end <= count:
        return f"{shown(place)}: {place.path} has lines 1 to {count}: cite lines that exist."
    return None


def _too_little(
    entry: SopEntry, places: tuple[Citation, ...], pointing: Pointing, severity: str
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
    quotes = (*pointing.quotes, *(place.quote for place in entry.citations))
    longest = max((len(_squeezed(quote)) for quote in quotes), default=0)
    if severity == "error" and longest < SHORTEST_QUOTE:
        yield (
            f"A rule of severity error needs a quote of at least {SHORTEST_QUOTE} characters "
            f"from the cited lines, in backticks; the longest has {longest}."
        )


def _still_there(search: Search, changed: Mapping[str, str]) -> Iterator[str]:
    """Why a search for what must be absent does not count: it ran over nothing, or found it."""
    try:
        globs = parse_set(search.paths) if search.paths else None
    except BadGlob as problem:
        yield f"the search's paths are no globs: {problem}"
        return
    chosen = sorted(path for path in changed if globs is None or globs.match(path) is not None)
    if is_blank(search.pattern):
        yield "the search has no pattern: write what must not be there."
    elif len(search.pattern) > LONGEST_PATTERN:
        yield f"the search's pattern has over {LONGEST_PATTERN} characters: write a simpler one."
    elif not chosen:
        asked = ", ".join(search.paths) or "every changed file"
        yield f"the search looks at no changed file ({asked}): name files that the change touches."
    else:
        yield from _found(search.pattern, {path: changed[path] for path in chosen})


def _found(pattern: str, texts: Mapping[str, str]) -> Iterator[str]:
    try:
        compiled = regex.compile(pattern, regex.MULTILINE)
        for path, text in texts.items():
            match = compiled.search(text, timeout=PATIENCE_SECONDS)
            if match is not None:
                line = text.count("\n", 0, match.start()) + 1
                yield f"the search for {_short(pattern)} is not empty: {path}:{line} has it."
                return
    except regex.error as problem:
        yield f"the search's pattern is no regular expression: {problem}."
    except TimeoutError:
        yield f"the search for {_short(pattern)} takes too long: write a simpler pattern."


def shown(place: Citation) -> str:
    """A place as people write it."""
    span = f"{place.start}-{place.end}" if place.end != place.start else str(place.start)
    return f"{place.path}:{span}"


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= 60 else f"{flat[:57]}...")
