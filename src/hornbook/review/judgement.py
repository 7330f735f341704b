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
    """Lines of a file in the reviewed tree, from 1, and the text that is said to stand on them.

    `old` lines are those of the file before the change.
    """

    path: str
    start: int
    end: int
    quote: str = ""
    old: bool = False


@dataclass(frozen=True, slots=True)
class Search:
    """A regular expression that must find nothing in the changed files that the globs name."""

    pattern: str
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Excuse:
    """Why some of the files that a rule binds need no look of their own."""

    paths: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class SopEntry:
    """What a review says of one rule."""

    sop_id: str
    status: Status
    evidence: str
    violations: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()
    search: Search | None = None
    excused: tuple[Excuse, ...] = ()


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

    `sop_id` is empty for findings that are no rule's: an edited rule file, a failed gate. `unit` is
    the section of a large rule that was judged, and none where the rule was judged as a whole.
    `old_side` is whether the line is one of the file before the change, and none without a line.
    """

    sop_id: str
    severity: str
    status: str
    path: str | None
    line: int | None
    message: str
    unit: str | None = None
    old_side: bool | None = None

    @property
    def about(self) -> str:
        """What was judged: the section if it was one, else the rule."""
        return self.unit or self.sop_id

    @property
    def line_after(self) -> int | None:
        """The line in the file as the change leaves it; none where it is one of before."""
        return None if self.old_side else self.line


@dataclass(frozen=True, slots=True)
class JudgedUnit:
    """What one entry of a review answers: a whole rule, or a section of a large one.

    `id` is what the entry names, `sop_id` the rule's document, `files` are the changed files that
    it binds, `gone` those that the change takes away, `path` is the file that its text stands in.
    """

    id: str
    sop_id: str
    severity: str
    title: str = ""
    path: str = ""
    files: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def bound(self) -> tuple[str, ...]:
        """Every path of the change that it binds, those that are gone included."""
        return (*self.files, *self.gone)

    @property
    def unit(self) -> str | None:
        """The section's id; none for a rule that is judged as a whole."""
        return self.id if self.id != self.sop_id else None


@dataclass(frozen=True, slots=True)
class JudgedRule:
    """A rule that a review had to answer, as it stood when the change was judged.

    `files` are the changed files that it binds; `units` the sections that it is answered by, if
    it is large.
    """

    id: str
    severity: str
    revision: str
    title: str = ""
    path: str = ""
    files: tuple[str, ...] = ()
    units: tuple[JudgedUnit, ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def judged(self) -> tuple[JudgedUnit, ...]:
        """What a review has one entry for each: the sections, else the rule itself."""
        whole = JudgedUnit(
            self.id, self.id, self.severity, self.title, self.path, self.files, self.gone
        )
        return self.units or (whole,)


@dataclass(frozen=True, slots=True)
class CanaryResult:
    """Whether the reviews found what was planted into a change."""

    id: str
    found: bool


@dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome of a review, derived; `explanation` says in words what it rests on.

    `warnings` keep nothing from being approved and are for a person to look at: each has the
    form of a problem. `rules` are the rules that bind the change, recomputed; `base` and `head`
    the commits. `canary` is there where a violation was planted into the change.
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
    canary: CanaryResult | None = None


def counted(number: int, noun: str) -> str:
    """A number with its noun, as people write it: `1 rule`, `2 rules`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
