"""What becomes of a task before anybody works on it: one answer, in one wording, for all who ask.

`plans check` and `tasks` ask it of the files as they are, `execute` of the commit that the task
builds on.
"""

from dataclasses import dataclass
from enum import StrEnum

from hornbook.context.review_packet import bound_rules
from hornbook.context.sizing import Sizing
from hornbook.graph.snapshot import Snapshot
from hornbook.text.tokens import counter


class Route(StrEnum):
    """Where a task goes: `passes` starts too, and is reviewed in several passes."""

    START = "start"
    SPLIT = "split"
    PASSES = "passes"
    REFUSED = "refused"


STARTING = frozenset({Route.START, Route.PASSES})


@dataclass(frozen=True, slots=True)
class TaskRoute:
    """Where a task goes, and why it does not simply start."""

    route: Route
    reasons: tuple[str, ...] = ()

    @property
    def starts(self) -> bool:
        """Whether somebody may work on the task as it is."""
        return self.route in STARTING

    def said_of(self, task: str) -> str:
        """The route in words; `task` names the task at the beginning of a sentence."""
        what = {
            Route.START: "fits",
            Route.SPLIT: "is split before anybody works on it",
            Route.PASSES: "is reviewed in passes",
            Route.REFUSED: "does not fit, and no split of it would",
        }[self.route]
        return f"{task} {what}: {' '.join(self.reasons)}" if self.reasons else f"{task} {what}."


def route_of(sizing: Sizing, snapshot: Snapshot) -> TaskRoute:
    """Where a sized task goes; `snapshot` has the rules that it was sized by.

    A split takes files apart, so it helps unless one file alone is too much. Where that is because
    of its rules, passes help, unless a section of one is longer than all the room for rules.
    """
    if sizing.fits:
        return TaskRoute(Route.START)
    said = {reason.code: reason.message for reason in sizing.reasons}
    hopeless = (*_large_files(sizing), *_long_sections(sizing, snapshot))
    if hopeless:
        return TaskRoute(Route.REFUSED, hopeless)
    rules_only = set(said) == {"sop_over_reserve"}
    if rules_only and _crowded(sizing, snapshot):
        return TaskRoute(Route.PASSES, tuple(said.values()))
    return TaskRoute(Route.SPLIT, tuple(said.values()))


def _large_files(sizing: Sizing) -> tuple[str, ...]:
    """Why files are too large for any task."""
    return tuple(
        f"{file.path} alone needs {file.tokens} tokens, {sizing.limit} may be used: split the "
        "file, or have a model with a larger window develop."
        for file in sizing.files
        if file.tokens > sizing.limit
    )


def _crowded(sizing: Sizing, snapshot: Snapshot) -> bool:
    """Whether the rules of one file alone are too many."""
    return any(
        sum(binding.tokens for binding in snapshot.rules.bind(file.path)) > sizing.reserve
        for file in sizing.files
    )


def _long_sections(sizing: Sizing, snapshot: Snapshot) -> tuple[str, ...]:
    """Why rules of the files go into no pass: a rule that is too long has a section that is."""
    if not any(reason.code == "sop_over_reserve" for reason in sizing.reasons):
        return ()
    count = counter(snapshot.settings.counter)
    found = []
    for rule in bound_rules(snapshot, [file.path for file in sizing.files]):
        whole = sum(count(piece.text) for piece in rule.pieces)
        parts = {rule.unit.id: whole}
        if rule.head is not None and rule.sections:  # each goes with the rule's head
            head = count(rule.head.text)
            parts = {
                piece.id: count(piece.text) + (0 if piece == rule.head else head)
                for piece in rule.pieces
            }
        if whole > sizing.reserve:
            found += [
                f"{part} alone needs {tokens} tokens, {sizing.reserve} are reserved for rules: "
                "part it by headings, or raise `reserve`."
                for part, tokens in parts.items()
                if tokens > sizing.reserve
            ]
    return tuple(found)
