"""The reviewer's context: every rule that binds the change, whole, or a refusal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256

from hornbook.context.bin_packing import fewest_groups
from hornbook.context.budget import ReviewRoom
from hornbook.context.prompt import (
    Context,
    LeftOut,
    Outcome,
    Part,
    Reason,
    Unit,
    contributions,
    in_order,
    lay_out,
    text_part,
)
from hornbook.text.tokens import TokenCounter

NO_RULE = "No rule binds these files."
RULES = "Rules that bind this change"
INSTRUCTIONS = "instructions_over_budget"
NO_SPLIT_HELPS = frozenset(
    {INSTRUCTIONS, "core_over_budget", "plan_over_budget", "task_over_budget"}
)
SETTINGS = {
    "situation_over_budget": "working_memory` (plan and task are taken from it)",
    "plan_over_budget": "plan`",
    "task_over_budget": "task`",
    "core_over_budget": "core`",
    INSTRUCTIONS: "system_prompt`",
}
"""The setting of `budget` that makes room for each part whose size no split changes."""
MOST_LISTED = 8
SUBJECTS = {"diff": "The change under review", "files": "The files under review"}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as a unit, and the files of the change that it binds."""

    unit: Unit
    files: frozenset[str]


@dataclass(frozen=True, slots=True)
class Extra:
    """A section of things that help, most important first; what does not fit is left out."""

    name: str
    heading: str
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class ReviewMaterial:
    """All that a reviewer's context is made from."""

    files: tuple[str, ...]
    instructions: str
    rules: tuple[Rule, ...]
    extras: tuple[Extra, ...]
    diffs: tuple[Unit, ...]
    situation: str = ""
    subject: str = "diff"
    plan: Unit | None = None
    task: Unit | None = None
    core: tuple[Unit, ...] = ()


def assemble(review: ReviewMaterial, room: ReviewRoom, count: TokenCounter) -> Context:
    """The whole context, or a refusal that says what to do; never a shorter rule."""
    return _Assembly(review, room, count).context()


def _remedy(code: str) -> str:
    return f": raise `budget.{SETTINGS[code]}" if code in SETTINGS else ""


class _Assembly:
    """One reviewer's context in the making; each text is counted once."""

    def __init__(self, review: ReviewMaterial, room: ReviewRoom, count: TokenCounter) -> None:
        self._review = review
        self._room = room
        self._count = count
        self._tokens = cache(count)
        self._rules = [rule.unit for rule in review.rules]

    def context(self) -> Context:
        reasons = self._reasons()
        if reasons:
            return self._refused(reasons)
        review, room = self._review, self._room
        extras, left_out = self._filled()
        parts = [
            text_part("instructions", "Instructions", review.instructions, room.instructions),
            Part("core", "What always holds", review.core, room.core),
            text_part("situation", "What is reviewed", review.situation, room.situation),
            Part("plan", "The plan", _units_of(review.plan), room.plan),
            Part("task", "The task", _units_of(review.task), room.task),
            Part("sops", RULES, tuple(self._rules), room.reserve, NO_RULE),
            *extras,
            Part(review.subject, SUBJECTS[review.subject], review.diffs, room.diff),
        ]
        text, sections = lay_out(
            in_order(part for part in parts if part.units or part.empty), self._count
        )
        return Context(
            outcome=Outcome.COMPLETE,
            sop_ids=self._ids(),
            text=text,
            tokens=self._count(text),
            counter=self._count.name,
            sha256=sha256(text.encode()).hexdigest(),
            sections=sections,
            left_out=left_out,
            reserve=self._room.reserve,
            window=self._room.window,
            tiers=contributions(sections),
        )

    def _reasons(self) -> list[Reason]:
        """Every part that does not fit, with what it needs and what it may have."""
        review, room = self._review, self._room
        rules = f"{len(self._rules)} rules"
        needs = (
            ("sop_over_reserve", rules, self._size(self._rules), room.reserve),
            ("diff_over_budget", "the change", self._diff_tokens(review.files), room.diff),
            (
                "situation_over_budget",
                "what is reviewed",
                self._tokens(review.situation),
                room.situation,
            ),
            ("plan_over_budget", "the plan", self._size(_units_of(review.plan)), room.plan),
            ("task_over_budget", "the task", self._size(_units_of(review.task)), room.task),
            ("core_over_budget", "the core files", self._size(review.core), room.core),
            (
                INSTRUCTIONS,
                "the instructions",
                self._tokens(review.instructions),
                room.instructions,
            ),
        )
        return [
            Reason(code, f"{what} need {needed} tokens, {room} are reserved{_remedy(code)}.")
            for code, what, needed, room in needs
            if needed > room
        ]

    def _refused(self, reasons: list[Reason]) -> Context:
        """The refusal with what helps: passes for too many rules, a split for too large a change.

        Where the rules of one file alone are too many, no split of the files helps; where what is
        always told is too long, neither does.
        """
        alone = {file: self._size(self._binding([file])) for file in self._review.files}
        offenders = [file for file, size in alone.items() if size > self._room.reserve]
        refused = Context(
            outcome=Outcome.FAILED,
            sop_ids=self._ids(),
            text=None,
            tokens=self._size(self._rules),
            counter=self._count.name,
            sha256=None,
            sections=(),
            reasons=tuple(reasons),
            reserve=self._room.reserve,
            window=self._room.window,
        )
        if offenders:
            return replace(
                refused,
                outcome=Outcome.SOP_OVERFLOW,
                passes=self._passes(),
                reasons=(*reasons, *self._overflow(offenders, alone)),
            )
        if NO_SPLIT_HELPS.isdisjoint(reason.code for reason in reasons):
            split = fewest_groups(self._review.files, self._fits) or ()
            return replace(
                refused,
                outcome=Outcome.TOO_BIG,
                split=split,
                reasons=(*reasons, _about_split(split)),
            )
        return refused

    def _overflow(self, offenders: list[str], alone: dict[str, int]) -> Iterator[Reason]:
        worst = min(offenders, key=lambda file: (len(self._binding([file])), file))
        rules = self._largest_first(self._binding([worst]))
        listed = ", ".join(f"{unit.id} ({self._size([unit])})" for unit in rules[:MOST_LISTED])
        if len(rules) > MOST_LISTED:
            listed += f" and {len(rules) - MOST_LISTED} more"
        reserve = self._room.reserve
        yield Reason(
            "file_over_reserve",
            f"the rules of {worst} alone need {alone[worst]} tokens, {reserve} are reserved: "
            f"{listed}. Narrow or split these rules, raise `reserve`, or review in passes.",
        )
        for unit in self._rules:
            size = self._size([unit])
            if size > reserve:
                yield Reason(
                    "rule_over_reserve",
                    f"{unit.id} alone needs {size} tokens, {reserve} are reserved: no pass can "
                    "hold it; split the rule or raise `reserve`.",
                )

    def _passes(self) -> tuple[tuple[str, ...], ...]:
        units = tuple(self._largest_first(self._rules))
        groups = fewest_groups(units, lambda some: self._size(some) <= self._room.reserve)
        return tuple(tuple(sorted(unit.id for unit in group)) for group in groups or ())

    def _largest_first(self, units: Sequence[Unit]) -> list[Unit]:
        return sorted(units, key=lambda unit: (-self._size([unit]), unit.id))

    def _fits(self, files: Sequence[str]) -> bool:
        return (
            self._size(self._binding(files)) <= self._room.reserve
            and self._diff_tokens(files) <= self._room.diff
        )

    def _binding(self, files: Sequence[str]) -> list[Unit]:
        wanted = set(files)
        return [rule.unit for rule in self._review.rules if not wanted.isdisjoint(rule.files)]

    def _diff_tokens(self, files: Sequence[str]) -> int:
        wanted = set(files)
        return self._size([unit for unit in self._review.diffs if unit.id in wanted])

    def _size(self, units: Sequence[Unit]) -> int:
        """What units take of their room: their own tokens, as `why` adds them up."""
        return sum(self._tokens(unit.text) for unit in units)

    def _filled(self) -> tuple[list[Part], tuple[LeftOut, ...]]:
        """The extras that fit behind the rules, item by item, whole."""
        used = self._size(self._rules)
        parts: list[Part] = []
        left_out: list[LeftOut] = []
        for extra in self._review.extras:
            room = self._room.reserve - used
            taken: list[Unit] = []
            for unit in extra.units:
                size = self._size([unit])
                if used + size <= self._room.reserve:
                    taken.append(unit)
                    used += size
                else:
                    message = f"{size} tokens do not fit in what is left of {self._room.reserve}"
                    left_out.append(LeftOut(unit.id, message))
            if taken:
                parts.append(Part(extra.name, extra.heading, tuple(taken), room))
        return parts, tuple(left_out)

    def _ids(self) -> tuple[str, ...]:
        return tuple(sorted(unit.id for unit in self._rules))


def _units_of(unit: Unit | None) -> tuple[Unit, ...]:
    """The unit where there is one that says something."""
    return (unit,) if unit is not None and unit.text else ()


def _about_split(split: tuple[tuple[str, ...], ...]) -> Reason:
    if split:
        return Reason("split", f"review the files in {len(split)} groups; each of them fits.")
    return Reason(
        "no_split",
        "one file's change does not fit on its own: make the change smaller, or use a model "
        "with a larger window.",
    )
