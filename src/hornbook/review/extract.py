"""Finds the one review in what a model printed: bare, fenced, or with prose around it."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

LARGEST = 1_048_576
KEYS = ("verdict", "rejection_type", "sop_review", "confidence", "feedback", "patterns")
MOST_TRIES = 2000
_OPENING = re.compile(r"\{\s*[\"']")
_TRAILING_COMMA = re.compile(r",\s*([}\]])")
_BOMS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))


class UnreadableReview(ValueError):
    """What was printed holds no review, or more than one: the message says what to do."""


@dataclass(frozen=True, slots=True)
class _Twice(Exception):
    key: str


def extract(data: bytes) -> dict[str, object]:
    """The JSON object that is the review.

    Objects that have none of a review's keys are prose: a quoted snippet, an empty `{}`.

    Raises:
        Unreadable: There is none, there are several, or it is not JSON.
    """
    text = _text(data)
    found = list(_objects(text))
    reviews = [each for each in found if isinstance(each, dict)]
    broken = [each for each in found if isinstance(each, UnreadableReview)]
    if len(reviews) + len(broken) > 1:
        raise UnreadableReview(
            f"it holds {len(reviews) + len(broken)} objects that look like a review: "
            "answer with one JSON object and nothing else."
        )
    if broken:
        raise broken[0]
    if not reviews:
        raise UnreadableReview(
            "it holds no JSON object with a verdict: answer with one JSON object "
            f"that has {', '.join(KEYS[:5])}."
        )
    try:
        json.dumps(reviews[0], ensure_ascii=False).encode()
    except UnicodeEncodeError as problem:
        raise UnreadableReview(
            "it holds half of a character (a lone surrogate): write it whole."
        ) from problem
    return reviews[0]


def _text(data: bytes) -> str:
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


def _objects(text: str) -> Iterator[dict[str, object] | UnreadableReview]:
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
            if not value.keys().isdisjoint(KEYS):
                yield value
        if tries > MOST_TRIES or looked > 8 * LARGEST:
            yield UnreadableReview("its braces are too tangled to read: answer with the JSON only.")
            return
        opening = _OPENING.search(text, end)


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
    where = f"line {problem.lineno}, column {problem.colno}"
    comma = _TRAILING_COMMA.match(text, text.rfind(",", 0, problem.pos + 1))
    if comma is not None and comma.end() >= problem.pos:
        return UnreadableReview(f"trailing comma before `{comma[1]}`, {where}: remove it.")
    if problem.pos >= len(text.rstrip()) or problem.msg.startswith("Unterminated"):
        return UnreadableReview(f"it ends in the middle, {where}: the answer was cut off.")
    if text[problem.pos : problem.pos + 1] == "'":
        return UnreadableReview(f"single quotes, {where}: JSON has double quotes.")
    return UnreadableReview(f"it is not JSON, {where}: {problem.msg[:1].lower()}{problem.msg[1:]}.")
