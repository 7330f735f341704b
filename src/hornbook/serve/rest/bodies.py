"""What the REST interface takes, and how it puts its answers: as the command line's `--json`."""

from dataclasses import asdict, dataclass, fields
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from hornbook.graph.catalog_view import FileAnswer
from hornbook.loop.runs.overview import RunRow
from hornbook.serve.answers import WholePlan
from hornbook.serve.paths import MOST_FILES

# Characters that no path, revision or name has; a lone surrogate cannot even be sent.
_PLAIN = r"^[^\x00-\x1f\x7f]*$"
Path = Annotated[str, StringConstraints(min_length=1, max_length=4096, pattern=_PLAIN)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=_PLAIN)]
Text = Annotated[str, StringConstraints(max_length=100_000)]
Title = Annotated[str, StringConstraints(min_length=1, max_length=200)]
# What stands in a review and its receipt is judged there, key by key.
Json = dict[str, Any]
Files = Annotated[list[Path], Field(min_length=1, max_length=MOST_FILES)]


def _whole(value: object) -> object:
    """The integer that a number is: to JSON Schema 4.0 is one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


# The bounds come first: behind the validator they would not be described.
Window = Annotated[int, Field(ge=1, le=1_000_000_000), BeforeValidator(_whole)]


class RequestBody(BaseModel):
    """A body that takes what it names and nothing else."""

    model_config = ConfigDict(extra="forbid", strict=True)


class IngestBody(RequestBody):
    """What to ingest; everything that is configured without paths."""

    paths: Annotated[list[Path], Field(max_length=MOST_FILES)] = []


class WhyBody(RequestBody):
    """The files whose rules are asked for, at a commit if one is named; or a change."""

    files: Files | None = None
    diff: Name | None = None
    at: Name | None = None


class SizeBody(RequestBody):
    """A task to be sized."""

    files: Files
    description: Text = ""
    criteria: Annotated[list[Text], Field(max_length=100)] = []
    model: Name | None = None
    window: Window | None = None


class ReviewBody(RequestBody):
    """What is reviewed: files, or a change `BASE..HEAD`; and what it is for."""

    files: Annotated[list[Path], Field(max_length=MOST_FILES)] = []
    diff: Name | None = None
    model: Name | None = None
    plan: Name | None = None
    task: Name | None = None


class DevelopBody(RequestBody):
    """A task to be developed; one of a plan brings its own description, criteria and files."""

    files: Annotated[list[Path], Field(max_length=MOST_FILES)] = []
    description: Text = ""
    criteria: Annotated[list[Text], Field(max_length=100)] = []
    model: Name | None = None
    plan: Name | None = None
    task: Name | None = None


class CheckBody(RequestBody):
    """A review with its receipt and gate results; several reviews or receipts as lists.

    `diff` names the change, `BASE..HEAD`; without it the receipt's base must be on the protected
    branch.
    """

    review: Json | str | list[Json | str]
    receipt: Json | list[Json]
    gates: Json | None = None
    diff: Name | None = None


class PlanBody(RequestBody):
    """A plan to begin; `text` is Markdown with its sections. With `active` it becomes that."""

    title: Title
    text: Text | None = None
    committed: bool = False
    supersedes: Name | None = None
    active: bool = False


class ExecuteBody(RequestBody):
    """What to execute: the whole plan, or one task, by a named agent if one is."""

    task: Name | None = None
    agent: Name | None = None


class AnswerBody(RequestBody):
    """What a person says to a run that asks; `text` of `amend` are the plan's new sections."""

    action: Literal["accept", "return", "overrule", "split", "amend", "stop", "text"]
    text: Annotated[str, StringConstraints(max_length=100_000)] = ""
    reason: Annotated[str, StringConstraints(max_length=10_000)] = ""


@dataclass(frozen=True, slots=True)
class WhyAnswer:
    """The rules of each file."""

    files: tuple[FileAnswer, ...]


@dataclass(frozen=True, slots=True)
class ConstraintsAnswer:
    """How far the work on a plan may reach."""

    inside: Annotated[tuple[str, ...], Field(serialization_alias="in")]
    outside: Annotated[tuple[str, ...], Field(serialization_alias="out")]
    do_not_touch: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanAnswer(WholePlan):
    """A plan as its events leave it."""

    constraints: ConstraintsAnswer  # type: ignore[assignment]  # the same under the names of JSON


def plan_answer(plan: WholePlan) -> PlanAnswer:
    """A plan under the names of JSON."""
    facts = {field.name: getattr(plan, field.name) for field in fields(plan)}
    return PlanAnswer(**{**facts, "constraints": ConstraintsAnswer(**asdict(plan.constraints))})


@dataclass(frozen=True, slots=True)
class PlansAnswer:
    """Every plan."""

    plans: tuple[PlanAnswer, ...]


@dataclass(frozen=True, slots=True)
class RunsAnswer:
    """Some runs, newest first."""

    runs: tuple[RunRow, ...]


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the server runs, and what it serves."""

    status: str
    version: str
    documents: int
