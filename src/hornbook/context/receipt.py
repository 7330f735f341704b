"""Receipts: what a prompt was made of, so that anyone can check it from its bytes alone."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any  # receipts are read as they come

from hornbook.context.prompt import Context, ReviewerBrief, answer_ids
from hornbook.context.templates.roles import StepFacts
from hornbook.rules.own_files.records import RECEIPT, seal_of
from hornbook.rules.units import HEAD, unit_id

SCHEMA = "hornbook.receipt.v1"
NO_UNITS = (
    "the receipt has no `units`: a Hornbook made it that judged no rule by its sections; "
    "prepare the review again"
)

Counters = Callable[[str], Callable[[str], int]]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a context was made for: the change, and the commits that its rules came from.

    `findings` are rule files that it edits, `hidden` what a reader does not see of it; `told` is
    what else it says, if anything. `step` tells the template that the context was made by.
    """

    files: tuple[str, ...]
    base: str | None = None
    head: str | None = None
    merge_base: str | None = None
    tree: str | None = None
    graph: str | None = None
    model: str | None = None
    whole_set: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    told: ReviewerBrief | None = None
    step: StepFacts | None = None


def receipt(context: Context, made_for: Circumstances) -> dict[str, object]:
    """The receipt of a complete context: everything but the text, and the hash of itself."""
    facts = asdict(context)
    del facts["text"]
    facts |= asdict(made_for)
    facts["prompt_sha256"] = context.sha256
    facts["schema"] = SCHEMA
    plain: dict[str, object] = json.loads(json.dumps(facts))
    plain["receipt_sha256"] = own_hash(plain)
    return plain


def own_hash(facts: Mapping[str, object]) -> str:
    """The hash over a receipt without the hash itself."""
    return seal_of(facts, RECEIPT)


def verify(facts: Mapping[str, object], prompt: bytes, counters: Counters) -> list[str]:
    """What is wrong with a prompt or its receipt, each with its place; empty when all is right."""
    try:
        return list(_Check(facts, prompt, counters).problems())
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        return [f"the receipt is not one that Hornbook wrote: {problem!r}"]


class _Check:
    def __init__(self, facts: Mapping[str, object], prompt: bytes, counters: Counters) -> None:
        self._facts = facts
        self._prompt = prompt
        self._counters = counters

    def problems(self) -> Iterator[str]:
        if self._facts.get("schema") != SCHEMA:
            yield f"the receipt's schema is {self._facts.get('schema')!r}, not {SCHEMA!r}"
            return
        if "units" not in self._facts:
            yield NO_UNITS
            return
        if self._facts["receipt_sha256"] != own_hash(self._facts):
            yield "the receipt was edited: its own hash is another one"
        digest = sha256(self._prompt).hexdigest()
        for key in ("sha256", "prompt_sha256"):
            if self._facts[key] != digest:
                yield f"the prompt is another one: {key} is {self._facts[key]}, found {digest}"
        yield from self._sections()
        yield from self._tokens()
        yield from self._rules()

    def _sections(self) -> Iterator[str]:
        end = 0
        for section in _dicts(self._facts["sections"]):
            name, start, length = section["name"], int(section["offset"]), int(section["length"])
            if start != end:
                yield f"section {name} starts at byte {start}, the one before ends at {end}"
            end = start + length
            if self._differs(section):
                yield from self._where(section)
        if end != len(self._prompt):
            yield f"the prompt has {len(self._prompt)} bytes, its sections end at byte {end}"

    def _where(self, section: Mapping[str, object]) -> Iterator[str]:
        start = int(str(section["offset"]))
        changed = [item for item in _dicts(section["items"]) if self._differs(item)]
        for item in changed:
            first = int(item["offset"])
            last = first + int(item["length"])
            yield f"bytes {first} to {last}, section {section['name']}: {item['id']} differs"
        if not changed:
            last = start + int(str(section["length"]))
            yield f"bytes {start} to {last}, section {section['name']}: differs outside its items"

    def _differs(self, place: Mapping[str, object]) -> bool:
        start, length = int(str(place["offset"])), int(str(place["length"]))
        data = self._prompt[start : start + length]
        return len(data) != length or sha256(data).hexdigest() != place["sha256"]

    def _tokens(self) -> Iterator[str]:
        count = self._counters(str(self._facts["counter"]))
        found = count(self._prompt.decode("utf-8", "replace"))
        if found != self._facts["tokens"]:
            yield f"the prompt has {found} tokens, the receipt says {self._facts['tokens']}"
        for section in _dicts(self._facts["sections"]):
            total = 0
            for item in _dicts(section["items"]):
                start = int(item["offset"])
                data = self._prompt[start : start + int(item["length"])]
                found = count(data.decode("utf-8", "replace"))
                total += found
                if found != item["tokens"]:
                    yield f"{item['id']} has {found} tokens, the receipt says {item['tokens']}"
            if total != section["tokens"]:
                yield (
                    f"the items of section {section['name']} have {total} tokens, "
                    f"the receipt says {section['tokens']}"
                )

    def _rules(self) -> Iterator[str]:
        """Whether the prompt holds what is to be answered.

        Beside it only heads may be shown, and files that are part of a rule and answered with it.
        """
        held = {
            str(item["id"]): item
            for section in _dicts(self._facts["sections"])
            if section["name"] == "sops"
            for item in _dicts(section["items"])
        }
        units = _dicts(self._facts["units"])
        said = list(asked_in(self._facts))
        heads = {name for unit in units for name in heads_of(str(unit["sop_id"]))}
        beside = {name for name, item in held.items() if name in heads or item["included_by"]}
        found = sorted(held.keys() - (beside - set(said)))
        if found != said:
            yield f"the receipt lists {said} to be answered, its sections hold {found}"
        for unit in units:
            item = held.get(str(unit["id"]), unit)
            for key in ("tokens", "severity"):
                if item[key] != unit[key]:
                    yield f"{unit['id']} has {key} {item[key]}, its unit says {unit[key]}"


def asked_in(facts: Mapping[str, object]) -> tuple[str, ...]:
    """What a review of a receipt's packet has one entry for.

    Raises:
        KeyError: It is no receipt.
        TypeError: It is no receipt.
    """
    units = [(str(each["id"]), str(each["sop_id"])) for each in _dicts(facts["units"])]
    listed = facts["sop_ids"]
    if not isinstance(listed, list):
        raise TypeError(f"expected a list, found {listed!r}")
    return answer_ids(map(str, listed), units)


def heads_of(sop_id: str) -> tuple[str, str]:
    """The ids that the head of a rule with units may have in a prompt."""
    return sop_id, unit_id(sop_id, HEAD)


def _dicts(value: object) -> "list[dict[str, Any]]":
    if not isinstance(value, list):
        raise TypeError(f"expected a list, found {value!r}")
    return value
