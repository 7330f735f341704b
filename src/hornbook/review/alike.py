"""Reviews that look at nothing: the same words or places for every rule, or none that applies."""

from collections import Counter
from collections.abc import Iterator, Sequence

from hornbook.model.review import Citation, ReviewProblem, Search, SopEntry, Status
from hornbook.review.citing import find
from hornbook.review.tree import Tree

FEWEST_ALIKE = 3


def alike_over_passes(entries: Sequence[SopEntry]) -> Iterator[ReviewProblem]:
    """The same over passes, whose reviewers do not know of each other.

    Each may honestly quote the same line of a small change, so that only the same words count,
    and from three rules on.
    """
    judged = [entry for entry in entries if entry.status is not Status.NOT_APPLICABLE]
    if not judged:
        yield from _waved_away(entries)
    elif len(judged) >= FEWEST_ALIKE:
        yield from _stamped(_same([_words(entry) for entry in judged], len(judged)))


def alike(entries: Sequence[SopEntry], tree: Tree) -> Iterator[ReviewProblem]:
    """Reviews that look at nothing: every rule waved away, or answered with the same words."""
    if len(entries) < 2:
        return
    if all(entry.status is Status.NOT_APPLICABLE for entry in entries):
        yield from _waved_away(entries)
        return
    judged = [entry for entry in entries if entry.status is not Status.NOT_APPLICABLE]
    yield from _stamped(
        max(
            _same([_words(entry) for entry in entries], len(entries)),
            _same([_words(entry) for entry in judged], len(judged)),
            _same([_shown(entry, tree) for entry in judged], max(len(judged), FEWEST_ALIKE)),
        )
    )


def _waved_away(entries: Sequence[SopEntry]) -> Iterator[ReviewProblem]:
    if len(entries) > 1:
        yield ReviewProblem(
            "all_not_applicable",
            None,
            f"None of {len(entries)} rules is said to apply, and all of them bind: "
            "a person decides.",
        )


def _stamped(count: int) -> Iterator[ReviewProblem]:
    if count:
        yield ReviewProblem(
            "rubber_stamp",
            None,
            f"{count} rules are answered with the same evidence: look at each on its own.",
        )


def shared(entries: Sequence[SopEntry], tree: Tree) -> Iterator[ReviewProblem]:
    """Rules that rest on the same lines and quotes, or on the same search."""
    groups: dict[object, list[str]] = {}
    for entry in entries:
        if entry.status is not Status.NOT_APPLICABLE:
            groups.setdefault(_shown(entry, tree), []).append(entry.sop_id)
    for ids in groups.values():
        others = list(dict.fromkeys(ids))
        if len(others) > 1:
            said = f"it rests on the same evidence as {', '.join(others[1:])}: does it prove both?"
            yield ReviewProblem("shared_evidence", others[0], said)


def _same(signatures: Sequence[object], whole: int) -> int:
    """How many of them are alike, if that is all (from two on), or most of three or more."""
    (_, times), *_ = Counter(signatures).most_common(1)
    everywhere = times >= 2 and times == whole
    most = times >= FEWEST_ALIKE and 2 * times > len(signatures)
    return times if everywhere or most else 0


def _words(entry: SopEntry) -> tuple[str, tuple[Citation, ...], Search | None]:
    """The evidence without what is the rule's own name, spacing, case and punctuation."""
    text = entry.evidence.casefold()
    slug = entry.sop_id.rpartition(".")[2].casefold()
    for name in (entry.sop_id.casefold(), slug, slug.replace("-", " ")):
        text = text.replace(name, "") if name else text
    words = "".join(letter for letter in text if letter.isalnum())
    return words, entry.citations, entry.search


def _shown(entry: SopEntry, tree: Tree) -> object:
    """What the evidence points at, whatever is said around it; an entry that points at nothing
    is like no other."""
    pointing = find(entry.evidence, tree.has)
    points = (pointing.places, pointing.quotes, entry.citations, entry.search)
    return points if any(points) else entry
