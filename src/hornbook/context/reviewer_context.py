"""The reviewer's context: every rule that binds the change, whole, or a refusal."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from typing import TypedDict

from hornbook.context.bin_packing import fewest_groups
from hornbook.context.budget import ReviewRoom
from hornbook.context.prompt import (
    Context,
    LeftOut,
    ListedUnit,
    Outcome,
    Part,
    Reason,
    Unit,
    contributions,
    in_order,
    lay_out,
    quoted_name,
    text_part,
)
from hornbook.rules.rendering import told_severity
from hornbook.settings.reserve import ReserveFrom
from hornbook.text.token_boundary import count_joined
from hornbook.text.tokens import TokenCounter

NO_RULE = "No rule binds these files."
RULES = "Rules that bind this change"
INSTRUCTIONS = "instructions_over_budget"
NO_SPLIT_HELPS = frozenset({INSTRUCTIONS, "core_over_budget", "task_over_budget"})
SETTINGS = {
    "situation_over_budget": "working_memory` (the task is taken from it)",
    "task_over_budget": "task`",
    "core_over_budget": "core`",
    INSTRUCTIONS: "system_prompt`",
}
"""The setting of `budget` that makes room for each part whose size no split changes."""
MOST_LISTED = 8
SUBJECTS = {"diff": "The change under review", "files": "The files under review"}


@dataclass(frozen=True, slots=True)
class RuleSection:
    """A unit of a large rule, as it goes into the prompt."""

    unit: Unit
    title: str
    inferred: bool
    path: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, and the files of the change that it binds.

    `unit` is all of its own text and `included` what other files add to it, each whole; `inferred`
    says that their severities are told from their words. A large rule is answered by its
    `sections`, which goes for a part of it too. Its `head` is the first of them, with what is said
    above the rule's text, and is shown with every part; where nothing stands above the first
    section, it is what is said there, and nobody answers it.
    """

    unit: Unit
    files: frozenset[str]
    head: Unit | None = None
    sections: tuple[RuleSection, ...] = ()
    included: tuple[Unit, ...] = ()
    inferred: bool = False
    whole: bool = True

    @property
    def pieces(self) -> tuple[Unit, ...]:
        """What of the rule goes into the prompt, in order."""
        if self.head is None:
            return (self.unit, *self.included)
        others = (each.unit for each in self.sections if each.unit != self.head)
        return (self.head, *others)

    def part(self, ids: Collection[str]) -> "Rule":
        """The rule with those of its sections that are named."""
        chosen = tuple(each for each in self.sections if each.unit.id in ids)
        return replace(self, sections=chosen, whole=False)


@dataclass(frozen=True, slots=True)
class Extra:
    """A section of things that help, most important first; what does not fit is left out."""

    name: str
    heading: str
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class ReviewMaterial:
    """All that a reviewer's context is made from.

    `asked` says that the instructions hold what the workflow asks, `because` by which setting each
    section is there.
    """

    files: tuple[str, ...]
    instructions: str
    rules: tuple[Rule, ...]
    extras: tuple[Extra, ...]
    diffs: tuple[Unit, ...]
    situation: str = ""
    subject: str = "diff"
    task: Unit | None = None
    core: tuple[Unit, ...] = ()
    asked: bool = False
    because: Mapping[str, str] = field(default_factory=dict)


def assemble(review: ReviewMaterial, room: ReviewRoom, count: TokenCounter) -> Context:
    """The whole context, or a refusal that says what to do; never a shorter rule."""
    return _Assembly(review, room, count).context()


class _ReserveFacts(TypedDict):
    reserve: int
    reserve_from: ReserveFrom
    over_planned: bool


class _Assembly:
    """One reviewer's context in the making; each text is counted once."""

    def __init__(self, review: ReviewMaterial, room: ReviewRoom, count: TokenCounter) -> None:
        self._review = review
        self._room = room
        self._count = count
        self._tokens = cache(count)
        self._rules = review.rules

    def context(self) -> Context:
        reasons = self._reasons()
        if reasons:
            return self._refused(reasons)
        review, room = self._review, self._room
        extras, left_out = self._filled()
        diff_room = room.diff_beside(self._rules_size(self._rules))
        parts = [
            text_part("instructions", "Instructions", review.instructions, self._told_room),
            Part("core", "What always holds", review.core, room.core),
            text_part("situation", "What is reviewed", review.situation, room.situation),
            Part("task", "The task", _units_of(review.task), room.task),
            self._rules_part(),
            *extras,
            Part(review.subject, SUBJECTS[review.subject], review.diffs, diff_room),
        ]
        laid = in_order(
            replace(part, because=review.because.get(part.name, ""))
            for part in parts
            if part.units or part.empty
        )
        text, sections = lay_out(laid, self._tokens)
        return Context(
            outcome=Outcome.COMPLETE,
            sop_ids=self._ids(),
            text=text,
            tokens=self._whole(laid, text),
            counter=self._count.name,
            sha256=sha256(text.encode()).hexdigest(),
            sections=sections,
            units=self._units(),
            left_out=left_out,
            **self._reserve(),
            window=self._room.window,
            tiers=contributions(sections),
        )

    def _whole(self, laid: Sequence[Part], text: str) -> int:
        """The tokens of the prompt; most of its pieces were counted for their sections."""
        if self._count.name == "heuristic":
            return self._count(text)
        return count_joined((piece for part in laid for piece, _ in part.pieces), self._tokens)

    def _reasons(self) -> list[Reason]:
        """Every part that does not fit, with what it needs and what it may have."""
        review, room = self._review, self._room
        many, needed = len(self._rules), self._rules_size(self._rules)
        rules = f"{many} rules" if many > 1 else "1 rule"
        diff = self._diff_tokens(review.files)
        needs = (
            ("sop_over_reserve", rules, needed, room.reserve),
            ("diff_over_budget", "the change", diff, room.diff_beside(needed)),
            (
                "situation_over_budget",
                "what is reviewed",
                self._tokens(review.situation),
                room.situation,
            ),
            ("task_over_budget", "the task", self._size(_units_of(review.task)), room.task),
            ("core_over_budget", "the core files", self._size(review.core), room.core),
            (
                INSTRUCTIONS,
                "the instructions",
                self._tokens(review.instructions),
                self._told_room,
            ),
        )
        return [
            Reason(
                code,
                f"{what} {'need' if what.endswith('s') else 'needs'} {needed} tokens, "
                f"{given} are reserved{self._remedy(code)}.",
            )
            for code, what, needed, given in needs
            if needed > given
        ]

    @property
    def _told_room(self) -> int:
        """The room of the instructions; what a workflow asks may hold the task."""
        return self._room.instructions + (self._room.task if self._review.asked else 0)

    def _remedy(self, code: str) -> str:
        if code == "sop_over_reserve":
            return self._said
        return f": raise `budget.{SETTINGS[code]}" if code in SETTINGS else ""

    @property
    def _said(self) -> str:
        """Where the reserve came from, behind its number."""
        return f" ({self._room.reserve_said})" if self._room.reserve_said else ""

    def _reserve(self) -> _ReserveFacts:
        """What a context says of its reserve."""
        room = self._room
        return {
            "reserve": room.reserve,
            "reserve_from": room.reserve_from,
            "over_planned": self._rules_size(self._rules) > room.planned,
        }

    def _refused(self, reasons: list[Reason]) -> Context:
        """The refusal with what helps: passes for too many rules, a split for too large a change.

        Where the rules of one file alone are too many, be it only beside its change, no split of
        the files helps; where what is always told is too long, neither does.
        """
        alone = {file: self._rules_size(self._binding([file])) for file in self._review.files}
        offenders = [file for file, size in alone.items() if self._crowded(file, size)]
        refused = Context(
            outcome=Outcome.FAILED,
            sop_ids=self._ids(),
            text=None,
            tokens=self._rules_size(self._rules),
            counter=self._count.name,
            sha256=None,
            sections=(),
            units=self._units(),
            reasons=tuple(reasons),
            **self._reserve(),
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

    def _crowded(self, file: str, rules: int) -> bool:
        """Whether the rules of a file are what does not fit, not its change."""
        diff = self._diff_tokens([file])
        beside = self._room.rules_beside(diff) if diff <= self._room.diff else self._room.reserve
        return rules > beside

    def _overflow(self, offenders: list[str], alone: dict[str, int]) -> Iterator[Reason]:
        worst = min(offenders, key=lambda file: (len(self._binding([file])), file))
        rules = self._largest_first(self._binding([worst]))
        listed = ", ".join(
            f"{each.unit.path or each.unit.id} ({self._rule_size(each)})"
            for each in rules[:MOST_LISTED]
        )
        if len(rules) > MOST_LISTED:
            listed += f" and {len(rules) - MOST_LISTED} more"
        reserve = self._room.reserve
        yield Reason(
            "file_over_reserve",
            f"the rules of {worst} alone need {alone[worst]} tokens, {reserve} are reserved"
            f"{self._said}: {listed}. Narrow or split these rules, raise `reserve`, or review in "
            "passes.",
        )
        fits = self._diff_tokens(self._review.files) <= self._room.diff
        room = self._rules_room() if fits else reserve
        for each in self._slices():
            size = self._slices_size([each])
            if size > room:
                yield Reason("section_over_reserve", _no_pass_holds(each, size, room))

    def _slices(self) -> list["_Slice"]:
        """What passes are made of: whole rules, and the sections of each that alone is too large.

        Sections come first and in their order, so that a pass reads as the rule does.
        """
        over = [rule for rule in self._rules if self._rule_size(rule) > self._rules_room()]
        parts = [_Slice(rule, each.unit.id) for rule in over for each in rule.sections]
        others = [rule for rule in self._rules if rule not in over or not rule.sections]
        return [*parts, *(_Slice(rule) for rule in self._largest_first(others))]

    def _slices_size(self, slices: Sequence["_Slice"]) -> int:
        return self._rules_size(_put_together(slices))

    def _passes(self) -> tuple[tuple[str, ...], ...]:
        room = self._rules_room()
        groups = fewest_groups(self._slices(), lambda some: self._slices_size(some) <= room)
        return tuple(tuple(sorted(each.id for each in group)) for group in groups or ())

    def _rules_room(self) -> int:
        """What a pass has for rules, beside the whole change."""
        return self._room.rules_beside(self._diff_tokens(self._review.files))

    def _largest_first(self, rules: Sequence[Rule]) -> list[Rule]:
        return sorted(rules, key=lambda rule: (-self._rule_size(rule), rule.unit.id))

    def _fits(self, files: Sequence[str]) -> bool:
        diff = self._diff_tokens(files)
        rules = self._rules_size(self._binding(files))
        return diff <= self._room.diff and rules <= self._room.rules_beside(diff)

    def _binding(self, files: Sequence[str]) -> list[Rule]:
        wanted = set(files)
        return [rule for rule in self._rules if not wanted.isdisjoint(rule.files)]

    def _rules_part(self) -> Part:
        """The rules, those in sections piece by piece, with what is said of each piece."""
        pieces = tuple(piece for rule in self._rules for piece in rule.pieces)
        remarks = dict(remark for rule in self._rules for remark in _remarks(rule))
        return Part("sops", RULES, pieces, self._room.reserve, NO_RULE, remarks=remarks)

    def _units(self) -> tuple[ListedUnit, ...]:
        return tuple(
            ListedUnit(
                id=each.unit.id,
                sop_id=rule.unit.id,
                title=each.title,
                severity=str(each.unit.severity),
                inferred=each.inferred,
                tokens=self._tokens(each.unit.text),
                files=tuple(sorted(rule.files)),
            )
            for rule in self._rules
            for each in rule.sections
        )

    def _rules_size(self, rules: Sequence[Rule]) -> int:
        """What rules take of their room."""
        return sum(map(self._rule_size, rules))

    def _rule_size(self, rule: Rule) -> int:
        """A whole rule's tokens, as `why` has them; of a part those of its pieces."""
        return self._size([rule.unit, *rule.included] if rule.whole else rule.pieces)

    def _diff_tokens(self, files: Sequence[str]) -> int:
        wanted = set(files)
        return self._size([unit for unit in self._review.diffs if unit.id in wanted])

    def _size(self, units: Sequence[Unit]) -> int:
        """What units take of their room: their own tokens, added up."""
        return sum(self._tokens(unit.text) for unit in units)

    def _filled(self) -> tuple[list[Part], tuple[LeftOut, ...]]:
        """The extras that fit behind rules and change, item by item, whole."""
        used = self._rules_size(self._rules)
        most = self._rules_room()
        parts: list[Part] = []
        left_out: list[LeftOut] = []
        for extra in self._review.extras:
            room = most - used
            taken: list[Unit] = []
            for unit in extra.units:
                size = self._size([unit])
                if used + size <= most:
                    taken.append(unit)
                    used += size
                else:
                    message = f"{size} tokens do not fit in what is left of {most}"
                    left_out.append(LeftOut(unit.id, message))
            if taken:
                parts.append(Part(extra.name, extra.heading, tuple(taken), room))
        return parts, tuple(left_out)

    def _ids(self) -> tuple[str, ...]:
        return tuple(sorted(rule.unit.id for rule in self._rules))


@dataclass(frozen=True, slots=True)
class _Slice:
    """What goes into one pass whole: a rule, or one of its sections."""

    rule: Rule
    section: str | None = None

    @property
    def id(self) -> str:
        return self.section or self.rule.unit.id


def _put_together(slices: Sequence[_Slice]) -> list[Rule]:
    """The rules and parts of rules that slices make; a head is there once."""
    chosen: dict[str, set[str]] = {}
    for each in slices:
        chosen.setdefault(each.rule.unit.id, set()).add(each.section or "")
    rules = {each.rule.unit.id: each.rule for each in slices}
    return [rule if "" in chosen[name] else rule.part(chosen[name]) for name, rule in rules.items()]


def _no_pass_holds(each: _Slice, size: int, room: int) -> str:
    with_head = " with the head of its rule" if each.section else ""
    remedy = (
        "Give it headings that it can be cut at"
        if each.section
        else "Lower `review.section_tokens`, so that it is cut at its headings"
    )
    return (
        f"{each.id} alone needs {size} tokens{with_head}, {room} are there for rules: no pass can "
        f"hold it. {remedy}, or raise `reserve`."
    )


def _remarks(rule: Rule) -> Iterator[tuple[str, str]]:
    """What is said above each piece of a rule of several files or sections."""
    name = rule.unit.id
    if rule.head is None:
        for part in rule.included:
            severity = told_severity(str(part.severity), rule.inferred)
            yield part.id, f"{_origin(part)}Part of {name}, severity {severity}, answered with it:"
        return
    shown = f"The head of {name}, shown to read its sections by: it is not answered here."
    yield rule.head.id, shown
    for each in rule.sections:
        severity = told_severity(str(each.unit.severity), each.inferred)
        said = f"A section of {name}, severity {severity}. Answer it as {each.unit.id}:"
        yield each.unit.id, _origin(each.unit) + said


def _origin(unit: Unit) -> str:
    """Where the text of a piece comes from that another file includes."""
    if unit.path is None or unit.included_by is None:
        return ""
    return f"{quoted_name(unit.path)}, included by {quoted_name(unit.included_by)}. "


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
