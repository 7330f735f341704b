"""What the tools take and answer: the source of their JSON schemas."""

from typing import (  # a review, a receipt and gate results are checked, not typed
    Annotated,
    Any,
    get_type_hints,
)

import msgspec
from msgspec import Meta, Struct

from hornbook.context.prompt import Context
from hornbook.context.receipt import Circumstances
from hornbook.graph.catalog_view import FileAnswer
from hornbook.plans.plan import Constraints, PlanDecision, PlanTask, Risk
from hornbook.serve.answers import Statement
from hornbook.vocabulary.terms import Category, Severity

MOST_FILES = 200
PAGE = 50
LARGEST_PAGE = 500

Text = Annotated[str, Meta(min_length=1, max_length=4096)]
Files = Annotated[
    list[Text],
    Meta(
        min_length=1,
        max_length=MOST_FILES,
        description="Paths relative to the repository's root; they need not exist.",
    ),
]
Model = Annotated[
    Text | None,
    Meta(description="A model of the registry or a capability; its window sets the budgets."),
]


class _Arguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of a tool: unknown ones are refused."""


class FilesAsked(_Arguments, frozen=True, kw_only=True):
    """What `rules_for_files` takes."""

    files: Files


class FileAnswers(Struct, frozen=True):
    """What `rules_for_files` answers."""

    files: list[FileAnswer]


class RulesAsked(_Arguments, frozen=True, kw_only=True):
    """What `read_rules` takes."""

    ids: Annotated[
        Annotated[list[Text], Meta(max_length=MOST_FILES)] | None,
        Meta(description="Ids of rules. Not with files."),
    ] = None
    files: Annotated[
        Annotated[list[Text], Meta(max_length=MOST_FILES)] | None,
        Meta(description="Paths; all rules that bind one. Not with ids."),
    ] = None
    cursor: Annotated[Text | None, Meta(description="next_cursor of the answer before.")] = None


class RuleTextPart(Struct, frozen=True, omit_defaults=True):
    """A file that is part of a rule; one that could not be read has the reason in `unread`."""

    path: str
    text: str | None = None
    unread: str | None = None


class RuleText(Struct, frozen=True):
    """One rule, whole."""

    id: str
    path: str
    title: str
    severity: str
    revision: str
    text: str
    includes: list[RuleTextPart]


class RuleTexts(Struct, frozen=True, omit_defaults=True):
    """What `read_rules` answers; `left` are rules that the next answer has."""

    rules: list[RuleText]
    tokens: int
    left: list[str] = msgspec.field(default_factory=list)
    next_cursor: str | None = None


class ReviewAsked(_Arguments, frozen=True, kw_only=True):
    """What `review_context` takes."""

    files: Annotated[
        list[Text] | None,
        Meta(description="Paths or globs of files to review as they are. Not with diff."),
    ] = None
    diff: Annotated[
        Text | None,
        Meta(description="A change as BASE..HEAD, judged by BASE's rules. Not with files."),
    ] = None
    model: Model = None
    pass_number: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Only after sop_overflow: which of its passes to make, from 1."),
    ] = None


# All that a context has, and what it was made for: what a receipt holds, with the text.
_RECEIPT = "What `review_context` answers: without `text`, the receipt of a complete context."
ReviewReceipt = msgspec.defstruct(
    "ReviewReceipt",
    [
        *((name, kind) for name, kind in get_type_hints(Context).items() if name != "tiers"),
        *((name, kind) for name, kind in get_type_hints(Circumstances).items() if name != "told"),
        ("prompt_sha256", str | None, None),
        ("schema", str | None, None),
        ("receipt_sha256", str | None, None),
    ],
    namespace={"__doc__": _RECEIPT},
    frozen=True,
)


class EntityAsked(_Arguments, frozen=True, kw_only=True):
    """What `get_entity` takes."""

    id: Annotated[str, Meta(min_length=1, max_length=4096, description="The entity's id.")]
    predicate_prefix: Annotated[
        Text | None, Meta(description="Only statements whose predicate lies below this.")
    ] = None


class SearchAsked(_Arguments, frozen=True, kw_only=True):
    """What `search_entities` takes."""

    text: Annotated[
        Text | None,
        Meta(description="Words, in any order, of title, summary, id, keywords or domains."),
    ] = None
    category: Annotated[Category | None, Meta(description="Only documents of this kind.")] = None
    severity: Annotated[Severity | None, Meta(description="Only rules this severe.")] = None
    applies_to: Annotated[Text | None, Meta(description="A path; only the rules that bind it.")] = (
        None
    )
    id_prefix: Annotated[
        Text | None, Meta(description="The id equals this or lies below it at a dot.")
    ] = None
    predicate_prefix: Annotated[
        Text | None,
        Meta(description="The id, or a predicate of the entity, equals this or lies below it."),
    ] = None
    derived_from: Annotated[
        Text | None, Meta(description="The id of what it was derived from.")
    ] = None
    include_chunks: Annotated[bool, Meta(description="Also the pieces of documents.")] = False
    include_revisions: Annotated[bool, Meta(description="Also past texts of documents.")] = False
    include_triples: Annotated[bool, Meta(description="Also every statement of each.")] = False
    first: Annotated[
        int, Meta(ge=1, le=LARGEST_PAGE, description="How many entities a page has at most.")
    ] = PAGE
    cursor: Annotated[
        Text | None, Meta(description="next_cursor of the page before; none for the first page.")
    ] = None


class FoundEntity(Struct, frozen=True, omit_defaults=True):
    """One entity of a page; chunks and revisions have an id only, and their triples."""

    id: str
    title: str = ""
    category: str = ""
    severity: str = ""
    path: str = ""
    summary: str = ""
    triples: tuple[Statement, ...] | None = None


class SearchAnswer(Struct, frozen=True, omit_defaults=True):
    """What `search_entities` answers: a page in id order; no cursor after the last."""

    entities: list[FoundEntity]
    next_cursor: str | None = None


class SizeAsked(_Arguments, frozen=True, kw_only=True):
    """What `size_task` takes."""

    files: Annotated[
        list[Text],
        Meta(
            min_length=1,
            max_length=MOST_FILES,
            description="Paths or globs of the files that the task reads or writes.",
        ),
    ]
    description: Annotated[str, Meta(max_length=1_000_000, description="The task in words.")] = ""
    criteria: Annotated[
        list[str], Meta(max_length=MOST_FILES, description="Acceptance criteria, one each.")
    ] = msgspec.field(default_factory=list)
    model: Model = None
    window: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="A window in tokens, instead of a model's."),
    ] = None


class CheckAsked(_Arguments, frozen=True, kw_only=True):
    """What `check_review` takes."""

    review: Annotated[
        str | dict[str, Any],
        Meta(description="The review: the object, or the text as the reviewer printed it."),
    ]
    receipt: Annotated[
        dict[str, Any],
        Meta(description="The receipt that review_context gave for the diff, unchanged."),
    ]
    gates: Annotated[
        dict[str, Any] | None,
        Meta(description="What `hornbook gates run --json` printed; without it none count."),
    ] = None
    diff: Annotated[
        str | None,
        Meta(description="The change that is meant, BASE..HEAD; the receipt must be for it."),
    ] = None


class PlanAsked(_Arguments, frozen=True, kw_only=True):
    """What `plan_status` takes."""

    slug: Annotated[
        Text | None, Meta(description="The plan; without it the active one, if there is one.")
    ] = None


class PlanLine(Struct, frozen=True):
    """A plan in a list."""

    slug: str
    title: str
    status: str


class PlanDetails(Struct, frozen=True):
    """One plan as it stands."""

    id: str
    slug: str
    title: str
    status: str
    situation: str
    mission: str
    execution: str
    constraints: Constraints
    coordination: str
    decisions: list[PlanDecision]
    risks: list[Risk]
    tasks: list[PlanTask]
    problems: list[str]


class PlanStatusAnswer(Struct, frozen=True):
    """What `plan_status` answers."""

    active: str | None
    plans: list[PlanLine]
    plan: PlanDetails | None = None
