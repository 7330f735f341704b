"""What the REST interface takes, and how it puts its answers: as the command line's `--json`.

Keys that exclude or need each other are described, so that whatever is valid by `/openapi.json` is
understood: as `if`, `then` and `else` beside the properties, where generators of clients do not
trip over them. The validator of a body refuses just what these say.
"""

from dataclasses import asdict, dataclass, fields
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)
from pydantic.config import JsonDict, JsonValue

from hornbook.graph.catalog_view import FileAnswer
from hornbook.loop.runs.overview import RunRow
from hornbook.serve.answers import MOST_REVIEWS, WholePlan
from hornbook.serve.paths import MOST_FILES

LAST, MOST_REPLAYED = 50, 1000

# Characters that no path, revision or name has; a lone surrogate cannot even be sent.
_PLAIN = r"^[^\x00-\x1f\x7f]*$"
Path = Annotated[str, StringConstraints(min_length=1, max_length=4096, pattern=_PLAIN)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=_PLAIN)]
_START, _REST = r"[^\s\x00-\x1f\x7f.]", r"[^\x00-\x1f\x7f]*"
Diff = Annotated[str, StringConstraints(max_length=200, pattern=rf"^{_START}{_REST}$")]
"""A change BASE..HEAD, where HEAD may be left out; whether there are such commits, git says."""
Range = Annotated[str, StringConstraints(max_length=200, pattern=rf"^{_START}{_REST}\.\.{_REST}$")]
"""The changes after A up to B, A..B."""
Text = Annotated[str, StringConstraints(max_length=100_000)]
_PRINTED = r"[^\x00-\x1f\x7f-\x9f]"
Title = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=200, pattern=rf"^{_PRINTED}*[^\s\x00-\x1f\x7f-\x9f]{_PRINTED}*$"
    ),
]
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


# Parts of descriptions; a key that is null says as little as one that is not there.
_NULL: JsonDict = {"type": "null"}
_WORDS: JsonDict = {"type": "string", "pattern": r"[^\s\x1c-\x1f]"}


def _given(name: str, **said: JsonValue) -> JsonDict:
    """The description of a body that has a key."""
    return {"required": [name], "properties": {name: said or {"not": _NULL}}}


def _described(condition: JsonValue, then: JsonValue, otherwise: JsonValue = True) -> ConfigDict:
    return ConfigDict(json_schema_extra={"if": condition, "then": then, "else": otherwise})


class IngestBody(RequestBody):
    """What to ingest; everything that is configured without paths."""

    paths: Annotated[list[Path], Field(max_length=MOST_FILES)] = []


class WhyBody(RequestBody):
    """The files whose rules are asked for, at a commit if one is named; or a change."""

    model_config = _described(
        _given("diff"),
        {"properties": {"files": _NULL, "at": _NULL}},
        _given("files"),
    )
    files: Files | None = None
    diff: Diff | None = None
    at: Name | None = None

    @model_validator(mode="after")
    def _asks_one_thing(self) -> Self:
        if (self.diff is None) == (self.files is None):
            raise ValueError("name what is asked about: either files, or a diff BASE..HEAD")
        if self.diff is not None and self.at is not None:
            raise ValueError("a diff takes the rules of BASE: leave `at` out, or name files")
        return self


class SizeBody(RequestBody):
    """A task to be sized."""

    files: Files
    description: Text = ""
    criteria: Annotated[list[Text], Field(max_length=100)] = []
    model: Name | None = None
    window: Window | None = None


class ReviewBody(RequestBody):
    """What is reviewed: files, or a change `BASE..HEAD`; and what it is for."""

    model_config = _described(
        _given("diff"),
        {"properties": {"files": {"maxItems": 0}}},
        _given("files", minItems=1),
    )
    files: Annotated[list[Path], Field(max_length=MOST_FILES)] = []
    diff: Diff | None = None
    model: Name | None = None
    plan: Name | None = None
    task: Name | None = None

    @model_validator(mode="after")
    def _names_one_thing(self) -> Self:
        if bool(self.files) == (self.diff is not None):
            raise ValueError("name what is reviewed: either files, or a diff BASE..HEAD")
        return self


class DevelopBody(RequestBody):
    """A task to be developed; one of a plan brings its own description, criteria and files."""

    model_config = _described(
        {"anyOf": [_given("plan"), _given("task")]}, True, _given("description", **_WORDS)
    )
    files: Annotated[list[Path], Field(max_length=MOST_FILES)] = []
    description: Text = ""
    criteria: Annotated[list[Text], Field(max_length=100)] = []
    model: Name | None = None
    plan: Name | None = None
    task: Name | None = None

    @model_validator(mode="after")
    def _names_a_task(self) -> Self:
        if self.plan is None and self.task is None and not self.description.strip():
            raise ValueError("no task: say it in `description`, or name one of a plan's tasks")
        return self


_SEVERAL = Field(min_length=1, max_length=MOST_REVIEWS)


class CheckBody(RequestBody):
    """A review with its receipt and gate results; several reviews or receipts as lists.

    `diff` names the change, `BASE..HEAD`; without it the receipt's base must be on the protected
    branch.
    """

    review: Json | str | Annotated[list[Json | str], _SEVERAL]
    receipt: Json | Annotated[list[Json], _SEVERAL]
    gates: Json | None = None
    diff: Diff | None = None


class PlanBody(RequestBody):
    """A plan to begin; `text` is Markdown with its sections. With `active` it becomes that."""

    model_config = _described(
        _given("committed", const=True), {"properties": {"supersedes": _NULL}}
    )
    title: Title
    text: Text | None = None
    committed: bool = False
    supersedes: Name | None = None
    active: bool = False

    @model_validator(mode="after")
    def _explored_first(self) -> Self:
        if self.committed and self.supersedes is not None:
            raise ValueError("a plan that replaces another is explored first: promote it then")
        return self


class AmendBody(RequestBody):
    """Sections of a plan as Markdown; a committed plan changes only with a reason."""

    text: Text
    reason: Text = ""


class ExecuteBody(RequestBody):
    """What to execute: the whole plan, or one task, by a named agent if one is."""

    task: Name | None = None
    agent: Name | None = None


class AnswerBody(RequestBody):
    """What a person says to a run that asks; `text` of `amend` are the plan's new sections."""

    model_config = _described(
        {"properties": {"action": {"enum": ["accept", "amend", "stop"]}}},
        {
            **_given("reason", **_WORDS),
            "if": {"properties": {"action": {"const": "amend"}}},
            "then": _given("text", **_WORDS),
        },
        _given("text", **_WORDS),
    )
    action: Literal["accept", "return", "overrule", "split", "amend", "stop", "text"]
    text: Annotated[str, StringConstraints(max_length=100_000)] = ""
    reason: Annotated[str, StringConstraints(max_length=10_000)] = ""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.action in {"accept", "amend", "stop"} and not self.reason.strip():
            raise ValueError(f"`{self.action}` needs a `reason`: say why")
        if self.action not in {"accept", "stop"} and not self.text.strip():
            raise ValueError(f"`{self.action}` says nothing: give it in `text`")
        return self


class StopBody(RequestBody):
    """Why a run is stopped, for the record."""

    reason: Annotated[str, StringConstraints(max_length=10_000)] = ""


class ReplayBody(RequestBody):
    """Which past changes: the `last` so many (50), or those of a `range` A..B.

    With `against` or `worktree` each is judged twice: by the rules of the range's tip, and by those
    of another commit or of the files as they are.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "not": {
                "anyOf": [
                    {
                        "required": ["last", "range"],
                        "properties": {"last": {"not": _NULL}, "range": {"not": _NULL}},
                    },
                    {
                        "required": ["against", "worktree"],
                        "properties": {"against": {"not": _NULL}, "worktree": {"const": True}},
                    },
                ]
            }
        }
    )
    last: Annotated[int, Field(ge=1, le=MOST_REPLAYED), BeforeValidator(_whole)] | None = None
    range: Range | None = None
    against: Name | None = None
    worktree: bool = False

    @model_validator(mode="after")
    def _judges_one_way(self) -> Self:
        if self.last is not None and self.range is not None:
            raise ValueError("name a `range` or the `last` changes, not both")
        if self.against is not None and self.worktree:
            raise ValueError("judge `against` a revision or the `worktree`, not both")
        return self


class ReplayReason(BaseModel):
    """Why a change could not be judged, or not at once."""

    code: str
    message: str


class ReplayedBy(BaseModel):
    """What became of a change by a rule set."""

    outcome: str
    rules: list[str]
    tokens: int
    passes: int
    reasons: list[ReplayReason]


class ReplayLine(ReplayedBy):
    """A past change; `against` and `changed` are there where it was judged twice."""

    commit: str
    base: str | None
    date: str
    subject: str
    files: list[str]
    against: ReplayedBy | None = None
    changed: bool | None = None


class ReplaySummary(BaseModel):
    """How many changes came to each end."""

    changes: int
    complete: int
    passes: int
    refused: int
    too_big: int
    not_judged: int
    never_bound: list[str]
    changed: int


class ReplayAnswer(BaseModel):
    """What `replay --json` prints."""

    changes: list[ReplayLine]
    summary: ReplaySummary
    notes: list[str]


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
