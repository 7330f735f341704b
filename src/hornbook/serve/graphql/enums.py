"""The fixed sets of values as GraphQL has them, and times.

Where a field was a text before, it stays one, and the enum stands beside it as `…Kind`. Sets that
teams can add to, as workflows add ends of runs, have a value OTHER; the text beside it says which.
"""

from enum import Enum, StrEnum
from typing import NewType

import strawberry

from hornbook.context.prompt import Outcome
from hornbook.gates.gate import GateStatus
from hornbook.plans.plan import TaskType
from hornbook.plans.principal import PrincipalKind, Via
from hornbook.plans.state import PlanStatus
from hornbook.review.judgement import RejectionType, Route, Ruling
from hornbook.settings.reserve import ReserveFrom
from hornbook.vocabulary.terms import Activation, Category, Level, Severity

Moment = NewType("Moment", str)
"""A time as files and events have it: RFC 3339, in UTC."""

DATE_TIME = strawberry.scalar(
    name="DateTime",
    description="A time as RFC 3339 writes it, in UTC: `2026-11-18T07:00:00Z`.",
    specified_by_url="https://scalars.graphql.org/andimarek/date-time",
    serialize=str,
    parse_value=str,
)


class RunStatus(StrEnum):
    """How a run stands, or ended."""

    RUNNING = "running"
    WAITING = "waiting"
    ASKING = "asking"
    APPROVED = "approved"
    DECOMPOSED = "decomposed"
    REFUSED = "refused"
    STOPPED = "stopped"
    UNREADABLE = "unreadable"
    OTHER = "other"

    @classmethod
    def _missing_(cls, _value: object) -> "RunStatus":
        return cls.OTHER


class FindingStatus(StrEnum):
    """What a finding says: of a rule, of a gate, or of the change itself."""

    PASSED = "passed"
    VIOLATED = "violated"
    NOT_APPLICABLE = "not_applicable"
    FAILED = "failed"
    WARNED = "warned"
    SKIPPED = "skipped"
    REFUSED = "refused"
    SURVIVED = "survived"
    EDITED = "edited"
    OUTSIDE = "outside"
    OTHER = "other"

    @classmethod
    def _missing_(cls, _value: object) -> "FindingStatus":
        return cls.OTHER


class AnswerAction(StrEnum):
    """What a person says to a run that asks."""

    ACCEPT = "accept"
    RETURN = "return"
    OVERRULE = "overrule"
    SPLIT = "split"
    AMEND = "amend"
    STOP = "stop"
    TEXT = "text"


_ENUMS: tuple[tuple[type[Enum], str, str], ...] = (
    (Severity, "Severity", "What a violation of a rule does to a review."),
    (Level, "Level", "How bad a problem is."),
    (Category, "Category", "What kind of document a source is."),
    (Activation, "Activation", "How a rule comes to bind a file."),
    (ReserveFrom, "ReserveSource", "Who said how much room the rules have."),
    (Outcome, "ContextOutcome", "How the assembly of a context ended."),
    (Ruling, "ReviewOutcome", "What is made of a review."),
    (RejectionType, "RejectionType", "Why a change was rejected."),
    (Route, "Route", "Who works on a change next."),
    (FindingStatus, "FindingStatus", "What a finding says of a rule, a gate or the change."),
    (GateStatus, "GateStatus", "How a gate ended."),
    (TaskType, "TaskType", "What kind of work a task is."),
    (PlanStatus, "PlanStatus", "How far a plan is."),
    (RunStatus, "RunStatus", "How a run stands, or ended."),
    (PrincipalKind, "PrincipalKind", "What somebody is."),
    (Via, "PrincipalVia", "How it is known who somebody is."),
)
for _enum, _name, _told in _ENUMS:
    strawberry.enum(_enum, name=_name, description=_told)
