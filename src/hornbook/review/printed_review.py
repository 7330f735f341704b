"""Finds the one review in what a model printed: bare, fenced, or with prose around it."""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from math import isfinite
from typing import (
    Any,  # a JSON schema is a tree of any values
    TypeVar,
)

from hornbook.resources import PACKAGE
from hornbook.review.contradiction import contradiction, told_besides
from hornbook.review.judgement import (
    Citation,
    Excuse,
    LearnedPattern,
    RejectionType,
    Review,
    ReviewProblem,
    Search,
    SopEntry,
    Status,
    Verdict,
)

LARGEST = 1_048_576
KEYS = ("verdict", "rejection_type", "sop_review", "confidence", "feedback", "patterns")
MOST_TRIES = 2000
_LINE_NUMBER = re.compile(r"(?:lines?\s*|L)?(-?[0-9]{1,9})", re.IGNORECASE)
_OPENING = re.compile(r"\{\s*[\"']")
_TRAILING_COMMA = re.compile(r",\s*([}\]])")
_BOMS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))


@dataclass(frozen=True, slots=True)
class PrintedReview:
    """What one reviewer answered, and a name to tell it from others."""

    name: str
    data: bytes


class UnreadableReview(ValueError):
    """What was printed holds no review, or more than one: the message says what to do."""


@dataclass(frozen=True, slots=True)
class _Twice(Exception):
    key: str


@dataclass(frozen=True, slots=True)
class FoundReview:
    """The object that is the review, and all that was printed around it."""

    facts: dict[str, object]
    around: str = ""


def extract(data: bytes) -> FoundReview:
    """The JSON object that is the review.

    Objects that have none of a review's keys are prose: a quoted snippet, an empty `{}`. One that
    only holds a review, as in `{"review": …}`, is its wrapping.

    Raises:
        UnreadableReview: There is none, there are several, or it is not JSON.
    """
    found = list(_objects(_decoded(data)))
    if len(found) > 1:
        raise UnreadableReview(
            f"it holds {len(found)} objects that look like a review: "
            "answer with one JSON object and nothing else."
        )
    if not found:
        raise UnreadableReview(
            "it holds no JSON object with a verdict: answer with one JSON object "
            f"that has {', '.join(KEYS[:5])}."
        )
    (review,) = found
    if isinstance(review, UnreadableReview):
        raise review
    try:
        json.dumps(review.facts, ensure_ascii=False).encode()
    except UnicodeEncodeError as problem:
        raise UnreadableReview(
            "it holds half of a character (a lone surrogate): write it whole."
        ) from problem
    return review


def _decoded(data: bytes) -> str:
    if not data.strip():
        raise UnreadableReview("it is empty: the reviewer answered nothing.")
    if len(data) > LARGEST:
        raise UnreadableReview(
            f"it has {len(data)} bytes, at most {LARGEST} are read: answer with the JSON only."
        )
    encoding = next((name for mark, name in _BOMS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as problem:
        raise UnreadableReview(
            f"it is not UTF-8 ({problem.reason}): save it as UTF-8."
        ) from problem


def _objects(text: str) -> Iterator[FoundReview | UnreadableReview]:
    """Every outermost object with a review's key, and every broken one that was to be a review."""
    decoder = json.JSONDecoder(object_pairs_hook=_once)
    opening, tries, looked = _OPENING.search(text), 0, 0
    while opening is not None:
        place, end = opening.start(), opening.start() + 1
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError, _Twice) as problem:
            stop = problem.pos if isinstance(problem, json.JSONDecodeError) else len(text)
            tries, looked = tries + 1, looked + stop - place
            if _meant(text, place, stop):
                yield _broken(text, problem)
                end = max(end, stop)
        else:
            around = f"{text[:place]}\n{text[end:]}"
            for each in _reviews_in(value):
                wrapping = "" if each is value else told_besides(value)
                yield FoundReview(each, f"{around}\n{wrapping}")
        if tries > MOST_TRIES or looked > 8 * LARGEST:
            yield UnreadableReview("its braces are too tangled to read: answer with the JSON only.")
            return
        opening = _OPENING.search(text, end)


def _reviews_in(value: dict[str, object]) -> Iterator[dict[str, object]]:
    """The object if it has a review's key, else what it wraps."""
    if not value.keys().isdisjoint(KEYS):
        yield value
        return
    for each in value.values():
        if isinstance(each, dict) and "verdict" in each:
            yield each


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise _Twice(key)
        found[key] = value
    return found


def _meant(text: str, start: int, stop: int) -> bool:
    """Whether a broken object was to be a review: one of the keys stands where it was read."""
    head = text[start : stop + 40]
    return any(f'"{key}"' in head or f"'{key}'" in head for key in KEYS)


def _broken(text: str, problem: Exception) -> UnreadableReview:
    if isinstance(problem, _Twice):
        return UnreadableReview(f"`{problem.key}` stands twice in one object: say it once.")
    if isinstance(problem, RecursionError):
        return UnreadableReview("it is nested too deeply: a review has four levels.")
    if not isinstance(problem, json.JSONDecodeError):
        return UnreadableReview(f"it is not JSON ({problem}).")
    return UnreadableReview(_syntax_error(text, problem))


def _syntax_error(text: str, problem: json.JSONDecodeError) -> str:
    where = f"line {problem.lineno}, column {problem.colno}"
    comma = _TRAILING_COMMA.match(text, text.rfind(",", 0, problem.pos + 1))
    if comma is not None and comma.end() >= problem.pos:
        return f"trailing comma before `{comma[1]}`, {where}: remove it."
    if problem.pos >= len(text.rstrip()) or problem.msg.startswith("Unterminated"):
        return f"it ends in the middle, {where}: the answer was cut off."
    if text[problem.pos : problem.pos + 1] == "'":
        return f"single quotes, {where}: JSON has double quotes."
    return f"it is not JSON, {where}: {problem.msg[:1].lower()}{problem.msg[1:]}."


Choice = TypeVar("Choice", bound=StrEnum)
MOST_PATTERNS = 20
# What a citation's path, first and last line are called, by us and by others.
_CITATION_KEYS = (
    ("path", "file"),
    ("start", "start_line", "line", "lines"),
    ("end", "end_line"),
)
_ENTRY_KEYS = ("sop_id", "status", "evidence", "violations", "citations", "search", "excused")
_INVISIBLE = frozenset("\u200b\u200c\u200d\u2060\ufeff\u00ad\u180e\u2800\u3164\u115f\u1160\uffa0")


@dataclass(slots=True)
class ReviewReading:
    """A review as far as it could be read, and what is wrong with its form.

    `notes` are worth knowing and cost nothing: keys that mean nothing here.
    """

    review: Review | None = None
    problems: list[ReviewProblem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def complain(self, code: str, message: str, sop_id: str | None = None) -> None:
        """Note a problem."""
        self.problems.append(ReviewProblem(code, sop_id, message))


def is_blank(text: str) -> bool:
    """Whether nothing of a text can be seen."""
    return all(
        letter.isspace() or letter in _INVISIBLE or unicodedata.category(letter) in {"Cc", "Cf"}
        for letter in text
    )


def is_nothing(text: str) -> bool:
    """Whether a text says that there is nothing, in itself or in a word for it."""
    return is_blank(text) or text.strip(" .-").casefold() in {"", "none", "n/a", "no violations"}


def read_review(data: bytes) -> ReviewReading:
    """The review that a model printed; `review` is None when there is none to speak of."""
    reading = ReviewReading()
    try:
        found = extract(data)
    except UnreadableReview as problem:
        reading.complain("unparsable", f"The review cannot be read: {problem}")
        return reading
    facts = found.facts
    _unknown(reading, facts, KEYS, "")
    reading.review = Review(
        verdict=_verdict(reading, facts),
        rejection_type=_rejection_type(reading, facts),
        entries=_entries(reading, facts),
        confidence=_confidence(reading, facts),
        feedback=_feedback(reading, facts),
        patterns=_patterns(reading, facts),
    )
    besides = {key: value for key, value in facts.items() if key not in KEYS}
    said = contradiction(reading.review, f"{found.around}\n{told_besides(besides)}")
    if said:
        reading.complain("contradicting_verdict", said)
    return reading


def _verdict(reading: ReviewReading, facts: dict[str, object]) -> Verdict:
    found = facts.get("verdict")
    verdict = _choice(found, Verdict)
    if verdict is None:
        code = "verdict_mismatch" if isinstance(found, str) else "unparsable"
        said = f"`verdict` is {found!r}" if "verdict" in facts else "`verdict` is missing"
        reading.complain(code, f"{said}: write approved or rejected.")
    # What is no verdict is no approval.
    return verdict or Verdict.REJECTED


_NO_TYPE = ("", "null", "none", "n/a")


def _rejection_type(reading: ReviewReading, facts: dict[str, object]) -> RejectionType | None:
    found = facts.get("rejection_type")
    kind = _choice(found, RejectionType)
    approves = _choice(facts.get("verdict"), Verdict) is Verdict.APPROVED
    if approves and isinstance(found, str) and found.strip().lower() in _NO_TYPE:
        return None
    known = ", ".join(RejectionType)
    if approves and found is not None:
        reading.complain(
            "unexpected_rejection_type",
            f"The review approves with `rejection_type` {_short(found)}: write null, or reject.",
        )
    elif not approves and kind is None:
        said = "missing" if found is None else _short(found)
        reading.complain(
            "missing_rejection_type",
            f"The review rejects and `rejection_type` is {said}: write one of {known}.",
        )
    return kind


_DECIMAL = re.compile(r"[01](?:\.\d{1,6})?|\.\d{1,6}")


def _confidence(reading: ReviewReading, facts: dict[str, object]) -> float | None:
    found = facts.get("confidence")
    if isinstance(found, str) and _DECIMAL.fullmatch(found.strip()):
        reading.notes.append(f"`confidence` is the text {found!r}, read as a number.")
        found = float(found)
    if isinstance(found, int | float) and not isinstance(found, bool):
        try:
            number = float(found)
        except OverflowError:
            number = float("inf")
        if isfinite(number) and 0 <= number <= 1:
            return number
    said = f"is {_short(found)}" if "confidence" in facts else "is missing"
    reading.complain("bad_confidence", f"`confidence` {said}: write a number from 0 to 1.")
    return None


def _feedback(reading: ReviewReading, facts: dict[str, object]) -> str:
    found = facts.get("feedback")
    if isinstance(found, str) and not is_blank(found):
        return found
    said = "is missing" if "feedback" not in facts else "is blank"
    if "feedback" in facts and not isinstance(found, str):
        said = f"is {_short(found)}, not a text"
    reading.complain("missing_feedback", f"`feedback` {said}: say what to do, or why it is good.")
    return ""


def _entries(reading: ReviewReading, facts: dict[str, object]) -> tuple[SopEntry, ...]:
    found = facts.get("sop_review")
    if not isinstance(found, list):
        said = f"is {_short(found)}" if "sop_review" in facts else "is missing"
        reading.complain("unparsable", f"`sop_review` {said}: write a list, an entry a rule.")
        return ()
    read_entries = (_entry(reading, each, place) for place, each in enumerate(found))
    return tuple(each for each in read_entries if each is not None)


def _entry(reading: ReviewReading, facts: object, place: int) -> SopEntry | None:
    where = f"sop_review[{place}]"
    if not isinstance(facts, dict):
        reading.complain("unparsable", f"`{where}` is {_short(facts)}: write an object.")
        return None
    sop_id = facts.get("sop_id")
    if not isinstance(sop_id, str):
        reading.complain("unparsable", f"`{where}` has no `sop_id`: name the rule it is about.")
        return None
    _unknown(reading, facts, _ENTRY_KEYS, f"{where}.")
    form = _Form(reading, sop_id)
    status = _choice(facts.get("status"), Status)
    if status is None:
        form.wrong("status", facts.get("status"), f"one of {', '.join(Status)}")
        return None
    return SopEntry(
        sop_id=sop_id,
        status=status,
        evidence=form.evidence(facts),
        violations=form.texts(facts, "violations"),
        citations=form.citations(facts),
        search=form.search(facts),
        excused=form.excuses(facts),
    )


class _Form:
    """Reads the fields of one rule's entry; what is wrong is said with the rule's id."""

    def __init__(self, reading: ReviewReading, sop_id: str) -> None:
        self._reading = reading
        self._sop_id = sop_id

    def wrong(self, key: str, found: object, wanted: str) -> None:
        self._reading.complain(
            "unparsable", f"`{key}` is {_short(found)}: write {wanted}.", self._sop_id
        )

    def text(self, facts: dict[str, object], key: str) -> str:
        found = facts.get(key)
        if found is None:
            return ""
        if isinstance(found, list) and all(isinstance(each, str) for each in found):
            return "\n".join(found)
        if not isinstance(found, str):
            self.wrong(key, found, "a text")
            return ""
        return found

    def evidence(self, facts: dict[str, object]) -> str:
        """The evidence, with citations that are written as texts."""
        cited = facts.get("citations")
        written = (
            [each for each in cited if isinstance(each, str)] if isinstance(cited, list) else []
        )
        return "\n".join((self.text(facts, "evidence"), *written))

    def texts(self, facts: dict[str, object], key: str) -> tuple[str, ...]:
        found = facts.get(key)
        if found is None:
            return ()
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            self.wrong(key, found, "a list of texts")
            return ()
        return tuple(each for each in found if not is_nothing(each))

    def citations(self, facts: dict[str, object]) -> tuple[Citation, ...]:
        found = facts.get("citations")
        if found is None:
            return ()
        if not isinstance(found, list):
            self.wrong("citations", found, "a list of {path, start, end, quote}")
            return ()
        read_ones = (self._citation(each) for each in found if not isinstance(each, str))
        return tuple(each for each in read_ones if each is not None)

    def _citation(self, found: object) -> Citation | None:
        if not isinstance(found, dict):
            self.wrong("citations", found, "objects with path, start, end, quote")
            return None
        path, start, end = (_first(found, names) for names in _CITATION_KEYS)
        quote = found.get("quote", "")
        if isinstance(start, str) and end is None:
            start, end = _both_ends(start)
        end = start if end is None else end
        if not isinstance(path, str) or not isinstance(quote, str | None):
            self.wrong("citations", found, "path and quote as texts")
            return None
        first, last = _line_number(start), _line_number(end)
        if first is None or last is None:
            self.wrong("citations", found, "start and end as line numbers")
            return None
        return Citation(path, abs(first), abs(last), quote or "", old=first < 0)

    def excuses(self, facts: dict[str, object]) -> tuple[Excuse, ...]:
        found = facts.get("excused")
        if found is None:
            return ()
        read_ones = (self._excuse(each) for each in (found if isinstance(found, list) else [found]))
        return tuple(each for each in read_ones if each is not None)

    def _excuse(self, found: object) -> Excuse | None:
        facts = found if isinstance(found, dict) else {}
        paths, reason = facts.get("paths"), facts.get("reason")
        paths = [paths] if isinstance(paths, str) else paths
        if not isinstance(reason, str) or not isinstance(paths, list):
            self.wrong("excused", found, '{"paths": ["glob"], "reason": "why"}')
            return None
        if not paths or not all(isinstance(each, str) for each in paths):
            self.wrong("excused", found, '{"paths": ["glob"], "reason": "why"}')
            return None
        return Excuse(tuple(paths), reason)

    def search(self, facts: dict[str, object]) -> Search | None:
        found = facts.get("search")
        if found is None:
            return None
        wanted = '{"pattern": "regular expression", "paths": ["glob"]}'
        if not isinstance(found, dict) or not isinstance(found.get("pattern"), str):
            self.wrong("search", found, wanted)
            return None
        if not found["pattern"]:
            self._reading.notes.append(f"{self._sop_id}: a search without a pattern is none.")
            return None
        paths = found.get("paths", [])
        if isinstance(paths, str):
            paths = [paths]
        if not isinstance(paths, list) or not all(isinstance(each, str) for each in paths):
            self.wrong("search", found, wanted)
            return None
        return Search(str(found["pattern"]), tuple(paths))


def _patterns(reading: ReviewReading, facts: dict[str, object]) -> tuple[LearnedPattern, ...]:
    found = facts.get("patterns")
    if found is None:
        return ()
    patterns = []
    for each in found if isinstance(found, list) else [found]:
        pattern = _pattern(each)
        if pattern is None:
            reading.notes.append(
                f"a pattern is ignored: {_short(each)} is not {{name, pattern, applies_to}}."
            )
        else:
            patterns.append(pattern)
    more = len(patterns) - MOST_PATTERNS
    if more > 0:
        reading.notes.append(f"{more} patterns are ignored: {MOST_PATTERNS} are read.")
    return tuple(patterns[:MOST_PATTERNS])


def _pattern(found: object) -> LearnedPattern | None:
    facts = found if isinstance(found, dict) else {}
    texts = [facts.get(key) for key in ("name", "pattern", "applies_to")]
    if all(isinstance(text, str) and not is_blank(text) for text in texts):
        return LearnedPattern(*map(str, texts))
    return None


def _unknown(
    reading: ReviewReading, facts: dict[str, object], known: tuple[str, ...], at: str
) -> None:
    for key in sorted(facts.keys() - set(known)):
        near = get_close_matches(key, known, 1)
        hint = f"did you mean `{near[0]}`?" if near else "it means nothing here."
        reading.notes.append(f"unknown key `{at}{key}`: {hint}")


def _choice(found: object, kind: type[Choice]) -> Choice | None:
    """The one that is meant; capitals and blanks do not count."""
    if not isinstance(found, str):
        return None
    written = re.sub(r"[\s-]+", "_", found.strip().lower())
    return kind(written) if written in list(kind) else None


def _first(facts: dict[str, object], names: tuple[str, ...]) -> object:
    """What stands by the first of the names that is there."""
    return next((facts[name] for name in names if facts.get(name) is not None), None)


def _both_ends(lines: str) -> tuple[str, str | None]:
    """The first and the last of `12-15`; other texts are one line."""
    first, dash, last = lines.strip().partition("-")
    return (first, last) if first and dash else (lines, None)


def _line_number(value: object) -> int | None:
    """A line number, also as a text such as "35" or "L35"; a negative one is of before."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    written = _LINE_NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    return int(written[1]) if written is not None else None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


REVIEW = "review.v1.json"
ANSWER = "review-validator.v1.json"


def review_schema(sop_ids: Iterable[str]) -> dict[str, Any]:
    """The schema of a review over these rules: each is answered, and no other can be.

    It holds to what constrained decoding of model providers knows: every key is required,
    none may be added. That each rule is answered once is for the check to see.
    """
    ids = sorted(set(sop_ids))
    schema: dict[str, Any] = json.loads(schema_text(REVIEW))
    del schema["$id"]
    answers = schema["properties"]["sop_review"]
    answers |= {"minItems": len(ids), "maxItems": len(ids)}
    if ids:
        schema["$defs"]["entry"]["properties"]["sop_id"]["enum"] = ids
    return schema


@cache
def schema_text(name: str) -> str:
    """The text of a shipped schema."""
    return (PACKAGE / "review/schemas" / name).read_text(encoding="utf-8")
