"""The GraphQL types of answers: rules of files, contexts, reports."""

from dataclasses import asdict

import strawberry

from hornbook.context import prompt as model
from hornbook.graph import catalog_view
from hornbook.graph.ingest import report
from hornbook.serve.graph_updates import Version


@strawberry.type(description="A rule that binds a file, and why.")
class BoundRule:
    """A rule that binds a file."""

    id: strawberry.ID
    path: str
    title: str
    category: str
    severity: str
    activation: str
    pattern: str
    pattern_line: int | None
    revision: strawberry.ID
    tokens: int


@strawberry.type(description="A rule that is known but binds nothing, and why.")
class NotEnforced:
    """A rule that is known but not enforced."""

    id: strawberry.ID
    activation: str
    reason: str


@strawberry.type(description="The rules of one file.")
class FileAnswer:
    """The rules of one file and how they sit with the reserve."""

    path: str
    rules: list[BoundRule]
    tokens: int
    reserve: int
    fits: bool
    not_enforced: list[NotEnforced]


@strawberry.type(description="Where a whole piece of text stands in a prompt.")
class ContextItem:
    """Where a unit stands in the prompt, in bytes."""

    id: strawberry.ID
    revision: str
    sha256: str
    offset: int
    length: int
    tokens: int
    severity: str | None


@strawberry.type(description="A part of a prompt.")
class ContextSection:
    """A part of a prompt with its budget."""

    name: str
    tokens: int
    budget: int
    items: list[ContextItem]


@strawberry.type(description="Something that did not fit or was not current.")
class LeftOut:
    """Something that was left out, and why."""

    id: strawberry.ID
    reason: str


@strawberry.type(description="Why something does not fit.")
class Reason:
    """A code, and a sentence with the remedy."""

    code: str
    message: str


@strawberry.type(description="What a reviewer must see: whole, or a refusal without text.")
class ReviewContext:
    """What a reviewer must see, or why it cannot be shown."""

    outcome: str
    sop_ids: list[strawberry.ID]
    text: str | None
    tokens: int
    counter: str
    sha256: str | None
    sections: list[ContextSection]
    left_out: list[LeftOut]
    split: list[list[str]]
    passes: list[list[str]]
    reasons: list[Reason]


@strawberry.type(description="Something wrong with a document.")
class Problem:
    """A problem with its place and remedy."""

    path: str
    line: int | None
    code: str
    level: str
    message: str


@strawberry.type(description="What an ingest did, and what is in the graph now.")
class IngestReport:
    """What an ingest did."""

    added: int
    changed: int
    removed: int
    unchanged: int
    documents: int
    chunks: int
    triples: int
    problems: list[Problem]
    seconds: float


@strawberry.type(description="A version of the graph.")
class GraphVersion:
    """A version of the graph that was published."""

    version: str
    documents: int


def file_answer(answer: catalog_view.FileAnswer) -> FileAnswer:
    """The rules of a file as a GraphQL answer."""
    return FileAnswer(
        path=answer.path,
        rules=[BoundRule(**asdict(rule)) for rule in answer.rules],
        tokens=answer.tokens,
        reserve=answer.reserve,
        fits=answer.fits,
        not_enforced=[NotEnforced(**asdict(rule)) for rule in answer.not_enforced],
    )


def review_context(context: model.Context) -> ReviewContext:
    """A reviewer's context as a GraphQL answer."""
    return ReviewContext(
        outcome=context.outcome,
        sop_ids=[strawberry.ID(each) for each in context.sop_ids],
        text=context.text,
        tokens=context.tokens,
        counter=context.counter,
        sha256=context.sha256,
        sections=[
            ContextSection(
                name=section.name,
                tokens=section.tokens,
                budget=section.budget,
                items=[ContextItem(**asdict(item)) for item in section.items],
            )
            for section in context.sections
        ],
        left_out=[LeftOut(**asdict(each)) for each in context.left_out],
        split=[list(group) for group in context.split],
        passes=[list(group) for group in context.passes],
        reasons=[Reason(**asdict(each)) for each in context.reasons],
    )


def ingest_report(done: report.IngestReport) -> IngestReport:
    """A report as a GraphQL answer."""
    facts = asdict(done)
    return IngestReport(**{**facts, "problems": [Problem(**each) for each in facts["problems"]]})


def graph_version(version: Version) -> GraphVersion:
    """A version as a GraphQL answer."""
    return GraphVersion(version=version.version, documents=version.documents)
