"""What the REST interface takes and gives; the answers are those of the command line's `--json`."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from hornbook.context.prompt import Context
from hornbook.context.receipt import Circumstances
from hornbook.graph.catalog_view import FileAnswer
from hornbook.serve.paths import MOST_FILES

# Characters that no path, revision or name has; a lone surrogate cannot even be sent.
_PLAIN = r"^[^\x00-\x1f\x7f]*$"
Path = Annotated[str, StringConstraints(min_length=1, max_length=4096, pattern=_PLAIN)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=_PLAIN)]
Text = Annotated[str, StringConstraints(max_length=100_000)]
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
    """The files whose rules are asked for, at a commit if one is named."""

    files: Files
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


@dataclass(frozen=True, slots=True)
class WhyAnswer:
    """The rules of each file."""

    files: tuple[FileAnswer, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement about an entity."""

    predicate: str
    object: str


@dataclass(frozen=True, slots=True)
class EntityAnswer:
    """An entity with its statements, sorted."""

    id: str
    triples: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class ReviewAnswer(Context):
    """A reviewer's context, and what it was made for."""

    files: tuple[str, ...] = ()
    base: str | None = None
    head: str | None = None
    model: str | None = None
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the server runs, and what it serves."""

    status: str
    version: str
    documents: int


def review_answer(context: Context, made_for: Circumstances) -> ReviewAnswer:
    """A reviewer's context as it is answered."""
    facts = {name: getattr(context, name) for name in Context.__dataclass_fields__}
    return ReviewAnswer(
        **facts,
        files=made_for.files,
        base=made_for.base,
        head=made_for.head,
        model=made_for.model,
        findings=made_for.findings,
    )
