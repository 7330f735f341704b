"""A change that waits for its judgement, and the reviews of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hornbook.gates.values import GateReport
from hornbook.review.integrity import Reviewed, Standard
from hornbook.review.values import Citation, JudgedRule, Review, ReviewProblem


@dataclass(frozen=True, slots=True)
class ReviewBrief:
    """What one review had to answer: the rules of its packet, and what was printed.

    `name` tells reviews apart when there are several.
    """

    name: str
    rule_ids: frozenset[str]
    printed: bytes


@dataclass(frozen=True, slots=True)
class Case:
    """A change to be judged: its rules, its tree, what gates and the change itself say.

    `doubts` are problems that no review can mend, such as a receipt that was edited;
    `questions` are facts that only a person can judge; `outside` are changed files that lie
    outside the root, which no rule here can bind. `warnings` weigh nothing and are told.
    """

    rules: tuple[JudgedRule, ...]
    reviewed: Reviewed
    standard: Standard = field(default=Standard())
    gates: GateReport | None = None
    edited: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    doubts: tuple[ReviewProblem, ...] = ()
    questions: tuple[str, ...] = ()
    warnings: tuple[ReviewProblem, ...] = ()
    base: str | None = None
    head: str | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """One review, read and checked; `places` has the first place cited for each rule."""

    brief: ReviewBrief
    review: Review | None
    problems: tuple[ReviewProblem, ...]
    notes: tuple[str, ...]
    places: Mapping[str, Citation]
    warnings: tuple[ReviewProblem, ...] = ()


def gates_stop(gates: GateReport | None) -> bool:
    """Whether gates were run and did not pass, whatever they say they add up to."""
    return gates is not None and not gates.holds
