"""A review as a reviewer wrote it, and the judgement that was derived from it."""

from dataclasses import dataclass, field
from enum import StrEnum


class Verdict(StrEnum):
    """What a reviewer says of a change."""

    APPROVED = "approved"
    REJECTED = "rejected"


class RejectionType(StrEnum):
    """Why a change was rejected; it decides who works on it next."""

    FIXABLE = "fixable"
    MISSCOPED = "misscoped"
    ARCHITECTURAL = "architectural"
    TOO_BIG = "too_big"


class Status(StrEnum):
    """What a reviewer says of one rule."""

    PASSED = "passed"
    VIOLATED = "violated"
    NOT_APPLICABLE = "not_applicable"


class Ruling(StrEnum):
    """What Hornbook makes of a review; the first one that holds counts, from the bottom up."""

    APPROVED = "approved"
    REJECTED = "rejected"
    ESCALATE = "escalate"
    INVALID = "invalid"


class Route(StrEnum):
    """Where a change goes next."""

    DEVELOPER = "developer"
    PLAN_REFINEMENT = "plan-refinement"
    DESIGN_REFINEMENT = "design-refinement"
    TASK_DECOMPOSITION = "task-decomposition"
    HUMAN = "human"


@dataclass(frozen=True, slots=True)
class Citation:
    """Lines of a file in the reviewed tree, from 1, and the text that is said to stand on them."""

    path: str
    start: int
    end: int
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Search:
    """A regular expression that must find nothing in the changed files that the globs name."""

    pattern: str
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SopEntry:
    """What a review says of one rule."""

    sop_id: str
    status: Status
    evidence: str
    violations: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()
    search: Search | None = None


@dataclass(frozen=True, slots=True)
class LearnedPattern:
    """A habit of the code that a reviewer thinks worth keeping."""

    name: str
    pattern: str
    applies_to: str


@dataclass(frozen=True, slots=True)
class Review:
    """One review, read."""

    verdict: Verdict
    rejection_type: RejectionType | None
    entries: tuple[SopEntry, ...]
    confidence: float | None
    feedback: str
    patterns: tuple[LearnedPattern, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviewProblem:
    """Why a review is not accepted as it is: a code, the rule if there is one, and the remedy."""

    code: str
    sop_id: str | None
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that the judgement rests on: a rule's state, with the first place cited for it.

    `sop_id` is empty for findings that are no rule's: an edited rule file, a failed gate.
    """

    sop_id: str
    severity: str
    status: str
    path: str | None
    line: int | None
    message: str


@dataclass(frozen=True, slots=True)
class JudgedRule:
    """A rule that a review had to answer, as it stood when the change was judged.

    `files` are the changed files that it binds.
    """

    id: str
    severity: str
    revision: str
    title: str = ""
    path: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome of a review, derived; `explanation` says in words what it rests on.

    `warnings` keep nothing from being approved and are for a person to look at: each has the
    form of a problem. `rules` are the rules that bind the change, recomputed; `base` and `head`
    the commits.
    """

    outcome: Ruling
    rejection_type: RejectionType | None
    route: Route | None
    problems: tuple[ReviewProblem, ...] = ()
    findings: tuple[Finding, ...] = ()
    explanation: tuple[str, ...] = ()
    feedback: str = ""
    patterns: tuple[LearnedPattern, ...] = field(default=())
    disagreements: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    rules: tuple[JudgedRule, ...] = ()
    base: str | None = None
    head: str | None = None
    warnings: tuple[ReviewProblem, ...] = ()


def counted(number: int, noun: str) -> str:
    """A number with its noun, as people write it: `1 rule`, `2 rules`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
