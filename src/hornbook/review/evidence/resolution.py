"""Whether a rule's evidence really exists, in the reviewed tree or in what the change removed.

`places` reads what the evidence names; here each of it is looked up. Every place must exist: one
that does not is refused, because it was made up. Of the quotes one that holds is enough, the others
may be prose; but if a quote stands right behind a place, some quote must hold. A quote that stands
just once in the file that it is cited for says better than a number where it was seen, so that it
corrects a line that is off. Last, what is left must be enough: some place at all, and for a rule of
severity error a quote that is long enough to have been read, or the whole of a shorter line.

That evidence exists does not say that it has to do with the change: that is for `bearing`.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace

from hornbook.review.evidence.changed_files import Reviewed, nothing_to_cite
from hornbook.review.evidence.places import LONGEST_EVIDENCE, MOST, Pointers, plain, read_places
from hornbook.review.evidence.quotes import (
    SHORTEST_QUOTE,
    holds,
    only_line,
    squeezed,
    standing,
    visible_length,
)
from hornbook.review.evidence.search import Searches, SearchResult
from hornbook.review.judgement import Citation, JudgedUnit, SopEntry, Status
from hornbook.review.printed_review import is_blank

SHORTEST_REASON = 8
FAR = 20
"""Lines between a citation and its quote that no reader of a patch miscounts by."""
MOST_QUOTES = 50
"""How many quotes of an entry are looked for; one that holds is enough."""


def lines_of(text: str) -> list[str]:
    """A text's lines as git and editors count them: what ends a line is a line feed."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


@dataclass(frozen=True, slots=True)
class Resolved:
    """The places that evidence rests on, and why it does not hold; both may be missing.

    `named` are the files that it names, with or without a line, `files` those of them that changed
    and have no line to cite; `searched` are those that a search which proves something looked at.
    Warnings are of evidence that holds; notes say how it was read. `cited` are the places that
    exist, whether the evidence holds or not; `quoted` are the lines of the change among them that a
    quote which is long enough stands on.
    """

    places: tuple[Citation, ...] = ()
    problems: tuple[tuple[str, str], ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()
    named: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    searched: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    cited: tuple[Citation, ...] = ()
    quoted: tuple[Citation, ...] = ()


@dataclass(slots=True)
class _Sighting:
    """What was found of the cited places: those that exist, and what is wrong."""

    places: list[Citation] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    corrected: set[str] = field(default_factory=set)
    """The files for which a quote said better where it stands."""
    held: int = 0
    """The length of the longest quote that holds."""
    lineless: bool = False
    """Whether no file that the rule binds has a line to cite."""
    whole: bool = False
    """Whether a quote is all that stands on the lines cited."""
    quoted: list[Citation] = field(default_factory=list)
    far: list[str] = field(default_factory=list)
    """What was cited far from where its quote stands."""


def resolve(
    entry: SopEntry,
    rule: JudgedUnit,
    reviewed: Reviewed,
    searches: Searches,
    rule_files: Container[str] = (),
    *,
    weighed: bool = True,
) -> Resolved:
    """Check one entry's evidence; each problem is a code and what is wrong with its remedy.

    `rule_files` are those of the rules that the change leaves as they are: what a rule says is no
    evidence that it is kept. What is not `weighed` may be little, but nothing that is made up.
    """
    if _is_empty(entry):
        return Resolved(problems=(("no_evidence", "The evidence is blank: cite path:line."),))
    pointers = read_places(entry.evidence, reviewed.named)
    looked = searches.look(entry.search, rule) if entry.search is not None else SearchResult()
    seen = _sighted(entry, pointers, reviewed)
    seen.lineless = nothing_to_cite(rule.bound, reviewed)
    files = tuple(path for path in pointers.files if _is_lineless(path, reviewed))
    wrong = [*seen.wrong, *looked.problems, *_only_rules(seen.places, rule_files)]
    proves = looked.proves and entry.status is Status.PASSED
    if weighed and not wrong:
        wrong = list(_too_little(entry, rule, seen, files, pointers, proves=proves))
    if wrong:
        code = "unresolved_evidence" if not _no_reason(entry) else "no_evidence"
        problems = tuple((code, each) for each in wrong)
        return Resolved(problems=problems, cited=tuple(seen.places))
    return Resolved(
        places=tuple(seen.places),
        cited=tuple(seen.places),
        quoted=tuple(seen.quoted),
        warnings=(*looked.warnings, *(("corrected_line", each) for each in seen.far[:1])),
        named=tuple(dict.fromkeys((*(each.path for each in seen.places), *pointers.files))),
        files=files,
        searched=looked.chosen if proves or _is_supported(looked, entry, rule, seen) else (),
        notes=tuple(seen.notes),
    )


def _is_supported(looked: SearchResult, entry: SopEntry, rule: JudgedUnit, seen: _Sighting) -> bool:
    """Whether a search that proves nothing alone counts beside what is quoted of the change."""
    cited = any(place.path in rule.files for place in seen.quoted)
    return looked.supports and cited and entry.status is Status.PASSED


def _is_empty(entry: SopEntry) -> bool:
    return is_blank(entry.evidence) and not entry.citations and entry.search is None


def _is_lineless(path: str, reviewed: Reviewed) -> bool:
    file = reviewed.files.get(path)
    return file is not None and not file.citable


def _only_rules(places: Sequence[Citation], rule_files: Container[str]) -> Iterator[str]:
    if places and all(place.path in rule_files for place in places):
        yield f"{shown(places[0])} is a rule, which says nothing of the change: cite that."


def _sighted(entry: SopEntry, pointers: Pointers, reviewed: Reviewed) -> _Sighting:
    """What of the cited places and quotes exists."""
    seen = _Sighting()
    off: list[Citation] = []
    for place in (*pointers.places, *(_by_tree(each, reviewed) for each in entry.citations[:MOST])):
        _look_up(place, reviewed, seen, off)
    _hold_quotes(pointers, reviewed, seen, off)
    for place in off:
        empty = not reviewed.lines(place.path, old=place.old)
        if place.path not in seen.corrected and not (empty and _is_lineless(place.path, reviewed)):
            seen.wrong.append(_missing(place, reviewed))
    texts = [_squeezed_text(place, reviewed) for place in seen.places] if pointers.strange else []
    for strange in pointers.strange:
        if not any(squeezed(strange) in text for text in texts):
            path = strange.rpartition(":")[0]
            said = f"{strange}: the reviewed tree has no file {path!r}: cite one it has."
            seen.wrong.append(said)
    if pointers.too_many or len(entry.citations) > MOST:
        seen.wrong.append(
            f"it cites more than {MOST} places, or has more than {LONGEST_EVIDENCE} characters: "
            "name the places that matter."
        )
    return seen


def _by_tree(place: Citation, reviewed: Reviewed) -> Citation:
    path = plain(place.path)
    return replace(place, path=reviewed.named(path) or path)


def _look_up(place: Citation, reviewed: Reviewed, seen: _Sighting, off: list[Citation]) -> None:
    """Take a place that exists, correct one by its own quote, or put it aside."""
    place = reviewed.side(place)
    exists = 1 <= place.start <= place.end <= len(reviewed.lines(place.path, old=place.old))
    if not place.quote:
        (seen.places if exists else off).append(place)
        return
    if exists and holds(place.quote, _squeezed_text(place, reviewed)):
        seen.places.append(place)
        _weigh(place.quote, place, reviewed, seen)
        return
    corrected = _corrected(place.quote, [place.path], reviewed)
    if corrected is not None:
        _take_corrected(place.quote, corrected, reviewed, seen)
        _note_far([place], corrected, seen)
    elif exists:
        seen.wrong.append(
            f"{shown(place)} does not hold {_short(place.quote)}: quote what is there."
        )
    else:
        off.append(place)


def _hold_quotes(
    pointers: Pointers, reviewed: Reviewed, seen: _Sighting, off: list[Citation]
) -> None:
    """Hold the quotes of the prose against the places; where none fits, find where it stands."""
    quotes, fitting = pointers.quotes[:MOST_QUOTES], set[str]()
    named = (*(place.path for place in (*seen.places, *off)), *pointers.files)
    cited = list(dict.fromkeys(named))
    prose = squeezed(pointers.text)
    for place in tuple(seen.places):
        text = _squeezed_text(place, reviewed)
        for quote in (*quotes, *_written_out(place, prose, reviewed)):
            if holds(quote, text):
                fitting.add(quote)
                _weigh(quote, place, reviewed, seen)
    for quote in quotes:
        elsewhere = None if quote in fitting else _corrected(quote, cited, reviewed)
        if elsewhere is not None:
            _note_far([*seen.places, *off], elsewhere, seen)
            _take_corrected(quote, elsewhere, reviewed, seen)
    if pointers.attached and seen.places and not seen.held:
        seen.wrong.append(
            f"no cited line holds {_short(pointers.attached[0])}: quote what stands on the lines "
            "that you cite."
        )


def _written_out(place: Citation, prose: str, reviewed: Reviewed) -> Iterator[str]:
    """The cited lines that stand in the prose without any mark around them."""
    parts = reviewed.squeezed_lines(place.path, old=place.old)
    for line in parts[place.start - 1 : min(place.end, place.start + MOST_QUOTES)]:
        plain = line.lstrip("-*+")
        if len(plain) >= SHORTEST_QUOTE and plain in prose:
            yield plain


def _weigh(quote: str, place: Citation, reviewed: Reviewed, seen: _Sighting) -> None:
    """Note how much of a quote that holds was read, and where in the change it stands."""
    length, said = visible_length(quote), squeezed(quote)
    whole = said == _squeezed_text(place, reviewed)
    seen.held = max(seen.held, length)
    seen.whole |= whole
    if length >= SHORTEST_QUOTE or whole:
        seen.quoted += _where(quote, place, reviewed)


def _where(quote: str, place: Citation, reviewed: Reviewed) -> Iterator[Citation]:
    """The lines of the change that a quote stands on, among those cited."""
    for each in reviewed.in_hunks(place):
        lines = standing(quote, _squeezed_lines(each, reviewed))
        if lines is not None:
            first, last = (each.start - 1 + number for number in lines)
            yield replace(each, start=first, end=last, quote="")


def _corrected(quote: str, paths: Sequence[str], reviewed: Reviewed) -> Citation | None:
    """Where a quote stands that is found just once in one of the files, now or before."""
    for old in (False, True):
        for path in paths:
            lines = only_line(quote, reviewed.squeezed_lines(path, old=old))
            if lines is not None:
                return Citation(path, *lines, old=old)
    return None


def _take_corrected(quote: str, place: Citation, reviewed: Reviewed, seen: _Sighting) -> None:
    seen.places.insert(0, place)
    seen.corrected.add(place.path)
    _weigh(quote, place, reviewed, seen)
    seen.notes.append(f"{_short(quote)} stands at {shown(place)}, which counts as the place cited.")


def _note_far(cited: Sequence[Citation], stands: Citation, seen: _Sighting) -> None:
    """Note a quote that stands far from all lines that are cited of its file."""
    of_file = [each for each in cited if each.path == stands.path]
    away = [max(each.start - stands.end, stands.start - each.end) for each in of_file]
    if away and min(away) > FAR:
        nearest = of_file[away.index(min(away))]
        seen.far.append(
            f"{shown(nearest)} is cited for what stands at {shown(stands)}: was it looked at there?"
        )


def _squeezed_text(place: Citation, reviewed: Reviewed) -> str:
    return "".join(_squeezed_lines(place, reviewed))


def _squeezed_lines(place: Citation, reviewed: Reviewed) -> list[str]:
    return reviewed.squeezed_lines(place.path, old=place.old)[place.start - 1 : place.end]


def _missing(place: Citation, reviewed: Reviewed) -> str:
    if reviewed.named(place.path) is None:
        return f"{shown(place)}: the reviewed tree has no file {place.path!r}: cite one it has."
    count = len(reviewed.lines(place.path, old=place.old))
    if count == 0:
        return f"{shown(place)}: {place.path} is empty or binary: cite a file that has lines."
    return f"{shown(place)}: {place.path} has lines 1 to {count}: cite lines that exist."


def _no_reason(entry: SopEntry) -> bool:
    """Whether an entry says that a rule does not apply and gives no reason."""
    return (
        entry.status is Status.NOT_APPLICABLE and visible_letters(entry.evidence) < SHORTEST_REASON
    )


def _too_little(
    entry: SopEntry,
    rule: JudgedUnit,
    seen: _Sighting,
    files: Sequence[str],
    pointers: Pointers,
    *,
    proves: bool,
) -> Iterator[str]:
    """What is still needed when all that is cited exists."""
    error = rule.severity == "error"
    if entry.status is Status.NOT_APPLICABLE:
        if _no_reason(entry):
            yield f"{entry.evidence.strip()!r} is no reason: say why the rule does not apply."
        elif error and not (seen.places or pointers.files or seen.lineless):
            yield (
                "A rule of severity error is waved away without a place: cite what you looked "
                "at, as path:line."
            )
        return
    if proves or (files and not seen.places):
        return
    if not seen.places:
        search = " The search alone proves nothing of this rule." if entry.search else ""
        yield (
            "It names no place in the reviewed tree: write path:line or path:first-last, "
            f"such as `handlers/user.go:45`.{search}"
        )
    elif error and seen.held < SHORTEST_QUOTE and not seen.whole:
        yield (
            f"A rule of severity error needs a quote of at least {SHORTEST_QUOTE} characters "
            f"from the cited lines, in backticks; the longest that holds has {seen.held}."
        )


def shown(place: Citation) -> str:
    """A place as people write it."""
    side = "-" if place.old else ""
    span = f"{place.start}-{place.end}" if place.end != place.start else str(place.start)
    return f"{place.path}:{side}{span}"


def visible_letters(text: str) -> int:
    """How many letters of a text can be seen."""
    return sum(not is_blank(letter) for letter in text)


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= 60 else f"{flat[:57]}...")
