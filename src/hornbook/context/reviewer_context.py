"""The reviewer's context: every rule that binds the change, whole, or a refusal."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from hornbook.context.prompt import (
    Context,
    LeftOut,
    Outcome,
    Part,
    Reason,
    Unit,
    fewest_groups,
    lay_out,
)
from hornbook.context.tier_sources import contributions, in_order
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
SUBJECTS = {
    "diff": ("diff", "The change under review"),
    "files": ("files", "The files under review"),
}


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
class ReviewRoom:
    """The budgets of a review, in tokens."""

    window: int
    instructions: int
    reserve: int
    situation: int
    diff: int
    plan: int = 0
    task: int = 0
    core: int = 0


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
    def __init__(self, review: ReviewMaterial, room: ReviewRoom, count: TokenCounter) -> None:
        self._review = review
        self._room = room
        self._count = count
        self._sizes: dict[str, int] = {}

    def context(self) -> Context:
        reasons = self._reasons()
        if reasons:
            return self._refused(reasons)
        extras, left_out = self._filled()
        parts = [
            _told(
                "instructions", "Instructions", self._review.instructions, self._room.instructions
            ),
            *self._core(),
            _told("situation", "What is reviewed", self._review.situation, self._room.situation),
            *self._intent(),
            self._rules_part([rule.unit for rule in self._review.rules]),
            *extras,
        ]
        if self._review.diffs:
            name, heading = SUBJECTS[self._review.subject]
            parts.append(Part(name, heading, self._review.diffs, self._room.diff))
        text, sections = lay_out(in_order(parts), self._count)
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
        rules = self._rule_tokens([rule.unit for rule in self._review.rules])
        needs = (
            ("sop_over_reserve", f"{len(self._review.rules)} rules", rules, self._room.reserve),
            (
                "diff_over_budget",
                "the change",
                self._diff_tokens(self._review.files),
                self._room.diff,
            ),
            (
                "situation_over_budget",
                "what is reviewed",
                self._remembered(self._review.situation),
                self._room.situation,
            ),
            ("plan_over_budget", "the plan", self._told(self._review.plan), self._room.plan),
            ("task_over_budget", "the task", self._told(self._review.task), self._room.task),
            (
                "core_over_budget",
                "the core files",
                self._rule_tokens(self._review.core),
                self._room.core,
            ),
            (
                INSTRUCTIONS,
                "the instructions",
                self._remembered(self._review.instructions),
                self._room.instructions,
            ),
        )
        return [
            Reason(code, f"{what} need {needed} tokens, {room} are reserved{_remedy(code)}.")
            for code, what, needed, room in needs
            if needed > room
        ]

    def _refused(self, reasons: list[Reason]) -> Context:
        alone = {file: self._rule_tokens(self._binding([file])) for file in self._review.files}
        offenders = [file for file, size in alone.items() if size > self._room.reserve]
        passes: tuple[tuple[str, ...], ...] = ()
        split: tuple[tuple[str, ...], ...] = ()
        if offenders:
            outcome = Outcome.SOP_OVERFLOW
            reasons += self._overflow(offenders, alone)
            passes = self._passes()
        elif any(reason.code in NO_SPLIT_HELPS for reason in reasons):
            outcome = Outcome.FAILED
        else:
            outcome = Outcome.TOO_BIG
            split = fewest_groups(self._review.files, self._fits) or ()
            reasons.append(_about_split(split))
        return Context(
            outcome=outcome,
            sop_ids=self._ids(),
            text=None,
            tokens=self._rule_tokens([rule.unit for rule in self._review.rules]),
            counter=self._count.name,
            sha256=None,
            sections=(),
            split=split,
            passes=passes,
            reasons=tuple(reasons),
            reserve=self._room.reserve,
            window=self._room.window,
        )

    def _overflow(self, offenders: list[str], alone: dict[str, int]) -> list[Reason]:
        worst = min(offenders, key=lambda file: (len(self._binding([file])), file))
        rules = sorted(self._binding([worst]), key=lambda unit: (-self._size(unit), unit.id))
        listed = ", ".join(f"{unit.id} ({self._size(unit)})" for unit in rules[:MOST_LISTED])
        if len(rules) > MOST_LISTED:
            listed += f" and {len(rules) - MOST_LISTED} more"
        found = [
            Reason(
                "file_over_reserve",
                f"the rules of {worst} alone need {alone[worst]} tokens, {self._room.reserve} are "
                f"reserved: {listed}. Narrow or split these rules, raise `reserve`, or review in "
                "passes.",
            )
        ]
        for rule in self._review.rules:
            size = self._rule_tokens([rule.unit])
            if size > self._room.reserve:
                found.append(
                    Reason(
                        "rule_over_reserve",
                        f"{rule.unit.id} alone needs {size} tokens, {self._room.reserve} are "
                        "reserved: no pass can hold it; split the rule or raise `reserve`.",
                    )
                )
        return found

    def _passes(self) -> tuple[tuple[str, ...], ...]:
        units = [rule.unit for rule in self._review.rules]
        units.sort(key=lambda unit: (-self._size(unit), unit.id))
        groups = fewest_groups(
            tuple(units), lambda some: self._rule_tokens(some) <= self._room.reserve
        )
        return tuple(tuple(sorted(unit.id for unit in group)) for group in groups or ())

    def _core(self) -> list[Part]:
        """What binds every step, where a team keeps such files."""
        units = self._review.core
        return [Part("core", "What always holds", units, self._room.core)] if units else []

    def _intent(self) -> list[Part]:
        """What the change is for: the plan and the task, where there are any."""
        told = (
            ("plan", "The plan", self._review.plan, self._room.plan),
            ("task", "The task", self._review.task, self._room.task),
        )
        return [
            Part(name, heading, (unit,), budget)
            for name, heading, unit, budget in told
            if unit is not None and unit.text
        ]

    def _told(self, unit: Unit | None) -> int:
        return 0 if unit is None else self._size(unit)

    def _fits(self, files: Sequence[str]) -> bool:
        return (
            self._rule_tokens(self._binding(files)) <= self._room.reserve
            and self._diff_tokens(files) <= self._room.diff
        )

    def _binding(self, files: Sequence[str]) -> list[Unit]:
        wanted = set(files)
        return [rule.unit for rule in self._review.rules if not wanted.isdisjoint(rule.files)]

    def _rules_part(self, units: Sequence[Unit]) -> Part:
        return Part("sops", RULES, tuple(units), self._room.reserve, NO_RULE)

    def _rule_tokens(self, units: Sequence[Unit]) -> int:
        """What rules take of the reserve: their own tokens, as `why` adds them up."""
        return sum(map(self._size, units))

    def _diff_tokens(self, files: Sequence[str]) -> int:
        wanted = set(files)
        return sum(self._size(unit) for unit in self._review.diffs if unit.id in wanted)

    def _size(self, unit: Unit) -> int:
        return self._remembered(unit.text)

    def _remembered(self, text: str) -> int:
        if text not in self._sizes:
            self._sizes[text] = self._count(text)
        return self._sizes[text]

    def _filled(self) -> tuple[list[Part], tuple[LeftOut, ...]]:
        """The extras that fit behind the rules, item by item, whole."""
        used = self._rule_tokens([rule.unit for rule in self._review.rules])
        parts: list[Part] = []
        left_out: list[LeftOut] = []
        for extra in self._review.extras:
            room = self._room.reserve - used
            taken: list[Unit] = []
            for unit in extra.units:
                size = self._size(unit)
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
        return tuple(sorted(rule.unit.id for rule in self._review.rules))


def _told(name: str, heading: str, text: str, budget: int) -> Part:
    """A section of one text that is ours."""
    digest = sha256(text.encode()).hexdigest()[:12]
    return Part(name, heading, (Unit(name, digest, text),), budget, quoted=False)


def _about_split(split: tuple[tuple[str, ...], ...]) -> Reason:
    if split:
        return Reason("split", f"review the files in {len(split)} groups; each of them fits.")
    return Reason(
        "no_split",
        "one file's change does not fit on its own: make the change smaller, or use a model "
        "with a larger window.",
    )
