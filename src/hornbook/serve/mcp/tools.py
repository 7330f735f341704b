"""The tools that an agent may call, each a thin adapter over the workspace."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar  # answers are JSON of any kind

import msgspec
from msgspec import Struct

from hornbook.context.receipt import receipt
from hornbook.context.review_packet import Packet
from hornbook.context.sizing import Sizing
from hornbook.errors import NotFound, UsageError
from hornbook.graph.selection import Filter
from hornbook.graph.snapshot import Snapshot
from hornbook.plans.store import PlanView
from hornbook.review.judgement import Judgement
from hornbook.serve import answers
from hornbook.serve.access.scopes import AccessScope
from hornbook.serve.answers import EntityAnswer, Statement, statements, why_within
from hornbook.serve.lists import whole_rule
from hornbook.serve.mcp.arguments import (
    cursor_for,
    place_of,
    read_arguments,
    schema_of,
    shallow,
)
from hornbook.serve.mcp.tool_types import (
    CheckAsked,
    EntityAsked,
    FileAnswers,
    FilesAsked,
    FoundEntity,
    PlanAsked,
    PlanDetails,
    PlanLine,
    PlanStatusAnswer,
    ReviewAsked,
    ReviewReceipt,
    RulesAsked,
    RuleText,
    RuleTextPart,
    RuleTexts,
    SearchAnswer,
    SearchAsked,
    SizeAsked,
)
from hornbook.serve.paths import inside
from hornbook.text.tokens import counter
from hornbook.workspace import Workspace

MOST_TOKENS = 20_000
"""Of texts of rules in one answer, as far as one rule alone is not larger."""

Ask = TypeVar("Ask", bound=Callable[[Workspace, Any], object])


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: what it is for, what it takes and answers, and how it asks the workspace."""

    name: str
    title: str
    description: str
    takes: type[Struct]
    answers: type
    ask: Callable[[Workspace, Any], object]  # each takes its own arguments
    scope: AccessScope = AccessScope.READ
    depth: int = 2
    """How deep its answer is described."""

    def call(self, work: Workspace, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The answer as JSON values.

        Raises:
            HornbookError: The arguments are wrong, or there is no answer.
        """
        plain: dict[str, Any] = msgspec.to_builtins(
            self.ask(work, read_arguments(self.takes, arguments))
        )
        return plain

    @property
    def read_only(self) -> bool:
        """Whether it changes nothing."""
        return self.scope is AccessScope.READ

    @property
    def input_schema(self) -> dict[str, Any]:
        """What it takes."""
        return schema_of(self.takes)

    @property
    def output_schema(self) -> dict[str, Any]:
        """What it answers, in outline."""
        return shallow(schema_of(self.answers), self.depth)


TOOLS: list[Tool] = []
"""Every tool, in the order in which they are listed."""


def _tool(title: str, takes: type[Struct], answers: type, depth: int = 2) -> Callable[[Ask], Ask]:
    """Have a function be a tool of its own name; its docstring is what agents are told."""

    def registered(ask: Ask) -> Ask:
        told = " ".join((ask.__doc__ or "").split())
        TOOLS.append(Tool(ask.__name__, title, told, takes, answers, ask, depth=depth))
        return ask

    return registered


@_tool("Rules that bind files", FilesAsked, FileAnswers, 3)
def rules_for_files(work: Workspace, asked: FilesAsked) -> FileAnswers:
    """Which of the team's rules bind each file, and the pattern and line that make it so. Call it
    before editing: the files need not exist yet. `tokens` against `reserve` says whether all
    rules of the file fit a review; `not_enforced` lists rules that are known but bind nothing,
    with the reason. read_rules gives their texts.
    """
    return FileAnswers(why_within(work.why, inside(work.root, asked.files)))


@_tool("Texts of rules", RulesAsked, RuleTexts)
def read_rules(work: Workspace, asked: RulesAsked) -> RuleTexts:
    """The texts of rules, whole and never cut: those with some ids, or all that bind some files.
    When they are more than fits one answer, `left` names the rules that are missing and
    next_cursor, passed as cursor with the same arguments, gives them.
    """
    if bool(asked.files) == bool(asked.ids):
        found = "both were given" if asked.files else "neither was given"
        raise UsageError(f"name what is read, either ids or files: {found}.")
    wanted = set(asked.ids or ())
    if asked.files:
        bound = why_within(work.why, inside(work.root, asked.files))
        wanted = {rule.id for file in bound for rule in file.rules}
    snapshot = work.ingested()  # after `why`, which reads what changed
    after = place_of(asked.cursor) or ""
    ids = sorted(each for each in wanted if each > after)
    count = counter(work.settings.counter)
    told: list[RuleText] = []
    tokens = 0
    for each in ids:
        text = _rule_text(snapshot, each)
        size = count(text.text) + sum(count(part.text or "") for part in text.includes)
        if told and tokens + size > MOST_TOKENS:
            break
        told.append(text)
        tokens += size
    left = ids[len(told) :]
    return RuleTexts(told, tokens, left, cursor_for(told[-1].id) if left else None)


def _rule_text(snapshot: Snapshot, rule_id: str) -> RuleText:
    """One rule, whole.

    Raises:
        NotFound: There is none with this id.
    """
    try:
        rule = whole_rule(snapshot, rule_id)
    except NotFound as problem:
        raise NotFound(
            f"no rule has the id {rule_id!r}: search_entities finds ids, rules_for_files those "
            "that bind a file, get_entity shows other documents."
        ) from problem
    parts = [RuleTextPart(each.path, each.text, each.unread) for each in rule.includes]
    return RuleText(rule.id, rule.path, rule.title, rule.severity, rule.revision, rule.text, parts)


def packet(work: Workspace, asked: ReviewAsked) -> Packet:
    """What a reviewer must see, or why it cannot be shown.

    Raises:
        UsageError: What is to be reviewed is not named, or is named twice.
    """
    if bool(asked.files) == bool(asked.diff):
        found = "both were given" if asked.files else "neither was given"
        raise UsageError(f"name what is reviewed, either files or diff: {found}.")
    files = inside(work.root, asked.files or ())
    whole = work.review_packet(files, diff=asked.diff, model=asked.model)
    if asked.pass_number is None:
        return whole
    passes = whole.passes()
    if asked.pass_number > len(passes):
        raise UsageError(f"there are {len(passes)} passes, not {asked.pass_number}: ask for less.")
    return passes[asked.pass_number - 1]


@_tool("Context for a review", ReviewAsked, ReviewReceipt, 1)
def review_context(work: Workspace, asked: ReviewAsked) -> dict[str, object]:
    """Everything that a reviewer of some files, or of a change, must see, in `text`: the
    instructions, every rule that binds, whole, the decisions that stand, and the diff or the
    files. It is never shortened. If it cannot be whole, `outcome` says why (too_big,
    sop_overflow, failed), `text` is null and `split` proposes groups of files to ask for one by
    one; after sop_overflow ask for each of `passes` with pass_number. The answer without `text`
    is the receipt that a review is checked against: keep it unchanged.
    """
    found = packet(work, asked)
    if found.context.text is not None:
        return {**receipt(found.context, found.made_for), "text": found.context.text}
    return {**asdict(found.context), **asdict(found.made_for)}


@_tool("One entity", EntityAsked, EntityAnswer)
def get_entity(work: Workspace, asked: EntityAsked) -> EntityAnswer:
    """Every statement about one entity of the graph: a document, a chunk (its text is
    source.doc.content), a revision, or what is left of a removed document. Ids come from
    search_entities and rules_for_files.
    """
    found = work.ingested().thing(asked.id)
    return EntityAnswer(found.id, statements(found, asked.predicate_prefix))


@_tool("Search the graph", SearchAsked, SearchAnswer)
def search_entities(work: Workspace, asked: SearchAsked) -> SearchAnswer:
    """Documents of the graph (rules, decisions, conventions, specifications, source files) in id
    order, a page at a time; all conditions must hold. Pass next_cursor as cursor, with the same
    conditions, for the next page.
    """
    snapshot = work.ingested()
    applies_to = inside(work.root, [asked.applies_to])[0] if asked.applies_to else None
    wanted = Filter(
        predicate_prefix=asked.predicate_prefix,
        id_prefix=asked.id_prefix,
        category=asked.category,
        severity=asked.severity,
        applies_to=applies_to,
        text=asked.text,
        derived_from=asked.derived_from,
        include_chunks=asked.include_chunks,
        include_revisions=asked.include_revisions,
    )
    ids, more = snapshot.select(wanted, asked.first, place_of(asked.cursor))
    triples = {}
    if asked.include_triples:
        triples = {thing.id: statements(thing) for thing in snapshot.describe(ids)}
    return SearchAnswer(
        [_found(snapshot, each, triples.get(each)) for each in ids],
        cursor_for(ids[-1]) if more else None,
    )


def _found(
    snapshot: Snapshot, entity_id: str, triples: tuple[Statement, ...] | None
) -> FoundEntity:
    entry = snapshot.by_id.get(entity_id)
    if entry is None:
        return FoundEntity(entity_id, triples=triples)
    return FoundEntity(
        entry.id,
        entry.title,
        entry.category,
        entry.severity,
        entry.path,
        entry.summary,
        triples,
    )


@_tool("Size a task", SizeAsked, Sizing)
def size_task(work: Workspace, asked: SizeAsked) -> Sizing:
    """Whether a task (its files, description and criteria) fits a model's window, the numbers, and
    every reason why not. Call it before starting a task; split the task if `fits` is false.
    """
    return work.size(
        inside(work.root, asked.files),
        description=asked.description,
        criteria=asked.criteria,
        model=asked.model,
        window=asked.window,
    )


@_tool("Check a review", CheckAsked, Judgement)
def check_review(work: Workspace, asked: CheckAsked) -> Judgement:
    """Whether a review is accepted, and what follows: `outcome` is approved, rejected, escalate or
    invalid, `problems` name every defect with its remedy, `route` says who works next. Every rule
    of the receipt must be answered with evidence that exists in the reviewed commit; the rules
    are computed again from git. Nothing is recorded.
    """
    return answers.check_review(work, asked.review, asked.receipt, asked.gates, asked.diff)


@_tool("Plans and their state", PlanAsked, PlanStatusAnswer)
def plan_status(work: Workspace, asked: PlanAsked) -> PlanStatusAnswer:
    """The plans with their status, and one of them whole: situation, mission, execution,
    constraints (what may be changed and what must not be touched), the decisions that stand,
    risks and tasks. Without a slug it is the active plan.
    """
    book = work.plan_book()
    active = book.active()
    views = book.views()
    lines = [PlanLine(each.plan.slug, each.plan.title, each.state.status) for each in views]
    slug = asked.slug or active
    return PlanStatusAnswer(active, lines, _plan(work.plan(slug)) if slug is not None else None)


def _plan(view: PlanView) -> PlanDetails:
    plan = view.plan
    return PlanDetails(
        id=plan.id,
        slug=plan.slug,
        title=plan.title,
        status=view.state.status,
        situation=plan.situation,
        mission=plan.mission,
        execution=plan.execution,
        constraints=plan.constraints,
        coordination=plan.coordination,
        decisions=list(view.state.current_decisions),
        risks=list(view.state.risks),
        tasks=list(view.state.tasks),
        problems=[problem.message for problem in view.problems],
    )
