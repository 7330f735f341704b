"""Rules that say the same: exact copies, near copies, and pairs that may contradict each other."""

import re
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain, combinations, islice

from hornbook.doctor.finding import Finding
from hornbook.doctor.mentions import Mentions
from hornbook.doctor.rule_set import Rule, RuleSet

_WORD = re.compile(r"\w+")
_SHORTEST_COPY = 40
_SHINGLE = 5
_FEWEST_SHINGLES = 25
_ALIKE = 60
_COMMON = 20
"""A shingle that stands in more rules than this says nothing about any two of them."""


def duplicates(rules: RuleSet) -> list[Finding]:
    """Copies of a text in several files, and near copies; a link is no copy.

    What rulesync makes of its sources it makes anew after every edit: that is no copy either.
    """
    groups: dict[str, list[Rule]] = defaultdict(list)
    for rule in rules.texts:
        words = " ".join(_words(rule))
        if len(words) >= _SHORTEST_COPY:
            groups[words].append(rule)
    by_hand = [same for same in groups.values() if not any(map(_is_source, same))]
    found = [_copy(rule, same[0]) for same in by_hand for rule in same[1:]]
    return [*found, *_near_copies([same[0] for same in by_hand])]


def _is_source(rule: Rule) -> bool:
    return rule.document.tool == "rulesync"


def _words(rule: Rule) -> list[str]:
    return _WORD.findall(rule.document.body.casefold())


def _copy(rule: Rule, first: Rule) -> Finding:
    same_place = _scope(rule) == _scope(first)
    code = (
        "duplicate" if same_place or rule.document.tool != first.document.tool else "near_duplicate"
    )
    message = f"The text is the same as that of {first.path}; an edit of one leaves the other old."
    remedy = f"Keep one: make this file a link to {first.path}, or include it."
    return Finding(code, rule.path, None, rule.id, message, remedy)


def _scope(rule: Rule) -> tuple[str, frozenset[str]]:
    patterns = frozenset(pattern.glob for pattern in rule.document.patterns)
    return ("every file" if patterns <= {"**"} else "some", patterns - {"**"})


def _near_copies(rules: Sequence[Rule]) -> Iterator[Finding]:
    """Pairs that share most of their runs of five words, found without comparing all pairs."""
    shingles = {rule.id: _shingles(_words(rule)) for rule in rules}
    holders: dict[int, list[Rule]] = defaultdict(list)
    for rule in rules:
        for shingle in shingles[rule.id]:
            holders[shingle].append(rule)
    shared: Counter[tuple[str, str]] = Counter()
    for held in holders.values():
        if 2 <= len(held) <= _COMMON:
            shared.update((a.id, b.id) for a, b in combinations(held, 2))
    by_id = {rule.id: rule for rule in rules}
    for (one, other), count in sorted(shared.items()):
        smaller = min(len(shingles[one]), len(shingles[other]))
        share = count * 100 // smaller if smaller >= _FEWEST_SHINGLES else 0
        if share >= _ALIKE:
            yield _near(by_id[other], by_id[one], share)


def _shingles(words: list[str]) -> frozenset[int]:
    return frozenset(
        int.from_bytes(blake2b(" ".join(words[n : n + _SHINGLE]).encode(), digest_size=8).digest())
        for n in range(len(words) - _SHINGLE + 1)
    )


def _near(rule: Rule, other: Rule, share: int) -> Finding:
    message = f"{share} % of the shorter of this text and {other.path} stands in both."
    remedy = "Keep what they share in one of them, and refer to it."
    return Finding("near_duplicate", rule.path, None, rule.id, message, remedy)


_NEVER = re.compile(
    r"\b(?:never|must not|mustn't|do not|don't|avoid|should not|shouldn't|no longer|forbid(?:den)?"
    r"|not allowed|prohibited)\b",
    re.IGNORECASE,
)
_ALWAYS = re.compile(
    r"\b(?:always|must|should|prefer|use|require[sd]?|ensure|make sure|do)\b", re.IGNORECASE
)
_CLAUSE = re.compile(
    r"[.;:,()—–]|\b(?:unless|except|when|if|instead|because|so that|but|rather|for|in|as|to|where"
    r"|with|without|over)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"`([^`]+)`")
_EMPTY = frozenset(
    [
        "a",
        "an",
        "the",
        "use",
        "using",
        "used",
        "any",
        "all",
        "your",
        "our",
        "this",
        "that",
        "these",
        "those",
        "always",
        "never",
        "must",
        "not",
        "should",
        "do",
        "don",
        "t",
        "be",
        "is",
        "are",
        "of",
        "and",
        "or",
        "it",
        "they",
        "you",
        "we",
        "only",
        "please",
        "avoid",
        "prefer",
        "ensure",
        "make",
        "sure",
        "new",
        "no",
    ]
)
_MOST_PAIRS = 20


@dataclass(frozen=True, slots=True)
class Demand:
    """What one line of a rule demands or forbids, reduced to the words that matter."""

    rule: Rule
    line: int
    text: str
    forbids: bool
    about: frozenset[str]


def contradictions(rules: RuleSet, named: dict[str, Mentions]) -> list[Finding]:
    """Pairs of lines in rules for the same files that may demand opposite things."""
    by_subject: dict[frozenset[str], list[Demand]] = defaultdict(list)
    for rule in rules.texts:
        if rule.entry.activation.enforced:
            for demand in _demands(rule, named[rule.id]):
                by_subject[demand.about].append(demand)
    found = [
        _opposed(one, other)
        for demands in by_subject.values()
        for one, other in islice(_pairs(demands), _MOST_PAIRS)
    ]
    return sorted(found, key=lambda each: (each.path, each.line or 0))[:_MOST_PAIRS]


def _pairs(demands: Sequence[Demand]) -> Iterator[tuple[Demand, Demand]]:
    """Pairs of a demand and a later one that forbids it, or the other way round, in their order.

    Their rules can bind one file, as far as their folders tell. A long rule has thousands of
    demands about one thing: only those are compared that are a pair.
    """
    bases = [_base(each.rule) for each in demands]
    inside: dict[tuple[bool, str], list[int]] = defaultdict(list)
    below: dict[tuple[bool, str], list[int]] = defaultdict(list)
    for place, (demand, base) in enumerate(zip(demands, bases, strict=True)):
        inside[demand.forbids, base].append(place)
        for above in _above(base):
            below[demand.forbids, above].append(place)
    for place, (demand, base) in enumerate(zip(demands, bases, strict=True)):
        sign = not demand.forbids
        held = [below[sign, base], *(inside[sign, above] for above in (base, *_above(base)))]
        later = ((each, bisect(each, place)) for each in held)
        for other in sorted(chain(*(each[at : at + _MOST_PAIRS] for each, at in later))):
            yield demand, demands[other]


def _above(base: str) -> list[str]:
    """The folders above one, the root first."""
    ends = (place for place, letter in enumerate(base) if letter == "/")
    return ["", *(base[:end] for end in ends)] if base else []


def _demands(rule: Rule, named: Mentions) -> Iterator[Demand]:
    for line in named.prose:
        text = re.sub(
            r"[*_]{1,3}(?=\w)|(?<=\w)[*_]{1,3}|^\s*(?:[-*+>]|\d+[.)])\s+", "", line.text
        ).strip()
        never = _NEVER.search(text)
        always = None if never else _ALWAYS.search(text)
        sign = never or always
        if sign is None or sign.start() > 40:
            continue
        about = _about(text[sign.end() :])
        if about:
            yield Demand(rule, line.line, text, never is not None, about)


def _about(text: str) -> frozenset[str]:
    """The words that say what a demand is about; too few or too many say nothing."""
    codes = {code.strip().casefold() for code in _CODE.findall(text)}
    clause = _CLAUSE.split(_CODE.sub(" ", text), maxsplit=1)[0] if not codes else ""
    words = {word.removesuffix("s") for word in _WORD.findall(clause.casefold())} - _EMPTY
    about = codes or words
    return frozenset(about) if (codes and len(codes) == 1) or 1 < len(words) <= 4 else frozenset()


def _base(rule: Rule) -> str:
    """The folder that a rule is for; "" is the root, and stands for what cannot be told."""
    patterns = [
        pattern.glob for pattern in rule.document.patterns if not pattern.glob.startswith("!")
    ]
    if len(patterns) != 1:
        return ""
    return re.split(r"/?[*?\[{]", patterns[0].lstrip("/"))[0]


def _opposed(one: Demand, other: Demand) -> Finding:
    message = (
        f"“{_short(one.text)}” and “{_short(other.text)}” ({other.rule.path}:{other.line}) "
        "may demand opposite things."
    )
    remedy = "Let a person decide which holds, and say when, or delete one."
    return Finding("contradiction_candidate", one.rule.path, one.line, one.rule.id, message, remedy)


def _short(text: str) -> str:
    return text if len(text) <= 70 else text[:69].rstrip() + "…"
