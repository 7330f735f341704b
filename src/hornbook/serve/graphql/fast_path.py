"""A second way to the answers of queries that only list entities or rules, twenty times as fast.

The reference executor calls a resolver for each field of each statement: four thousand calls for a
page of a hundred entities. Here such a query is compiled to shapes: what it wants of each entity.
An entity in a shape is the same bytes for every query of that shape, so it is rendered once and
kept, and a page is those bytes one after the other. Whatever is not understood, and whatever is
wrong, is left to the reference executor; a test holds that both answer the same, byte for byte.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLObjectType,
    GraphQLSchema,
)
from graphql.execution import get_argument_values, get_variable_values
from graphql.execution.collect_fields import FragmentDetails, collect_fields, collect_subfields
from graphql.execution.values import VariableValues

from hornbook.errors import HornbookError
from hornbook.graph.selection import Filter
from hornbook.graph.snapshot import EntityTriples, Snapshot
from hornbook.rules.catalog import Entry
from hornbook.serve.graphql.connections import PageAsked
from hornbook.serve.graphql.context import ResolverContext
from hornbook.serve.graphql.executor import ReadyOperation
from hornbook.serve.graphql.queries import page
from hornbook.serve.graphql.rule_pages import (
    PATTERNS,
    PLAIN_FIELDS,
    TYPENAME,
    Keyed,
    PagePart,
    RulePage,
    RulePart,
    RuleShape,
    render_info,
    render_rule,
)
from hornbook.serve.graphql.types import typed
from hornbook.serve.http.response import as_json
from hornbook.vocabulary.names import within

# What Python needs to keep an entity beside its bytes.
OVERHEAD = 150
_LISTINGS = frozenset({"entities", "entitiesByPredicate", "entitiesByPrefix"})
_FILTER = {
    "predicatePrefix": "predicate_prefix",
    "idPrefix": "id_prefix",
    "category": "category",
    "severity": "severity",
    "appliesTo": "applies_to",
    "text": "text",
    "derivedFrom": "derived_from",
    "includeChunks": "include_chunks",
    "includeRevisions": "include_revisions",
}


class NotPlain(Exception):  # it leads to another way, which is no error
    """The query is not one that only lists entities."""


@dataclass(frozen=True, slots=True)
class ShapePart:
    """One key of an entity: which field, and for its statements which of them and what of each."""

    key: str
    field: str
    prefix: str | None = None
    of_each: tuple[tuple[str, str], ...] = ()


Shape = tuple[ShapePart, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """A page that is asked for, and the shape of its entities."""

    asked: Filter
    first: int
    after: str | None
    shape: Shape


# A whole query: each key with a listing or a page, or with the name of a simple field.
PlainQuery = tuple[tuple[str, Listing | RulePage | str], ...]


def render(shape: Shape, thing: EntityTriples) -> bytes:
    """An entity in a shape, as it is sent."""
    found: dict[str, object] = {}
    for part in shape:
        if part.field == "id":
            found[part.key] = thing.id
        elif part.field == "__typename":
            found[part.key] = "Entity"
        else:
            found[part.key] = _statements(part, thing.triples)
    return as_json(found)


_OF_STATEMENT: Mapping[str, Callable[[tuple[str, str]], object]] = {
    "predicate": lambda pair: pair[0],
    "object": lambda pair: pair[1],
    "value": lambda pair: typed(*pair),
    "__typename": lambda _pair: "Triple",
}


def _statements(part: ShapePart, pairs: Sequence[tuple[str, str]]) -> list[dict[str, object]]:
    if part.prefix is not None:
        prefix = part.prefix
        pairs = [pair for pair in pairs if within(pair[0], prefix)]
    # A directive may leave nothing of each statement: an empty object then stands for it.
    if [field for _, field in part.of_each] == ["predicate", "object"]:
        return _plain_statements(part.of_each[0][0], part.of_each[1][0], pairs)
    return [{key: _OF_STATEMENT[field](pair) for key, field in part.of_each} for pair in pairs]


def _plain_statements(
    predicate: str, value: str, pairs: Sequence[tuple[str, str]]
) -> list[dict[str, object]]:
    """What nearly everybody asks for, without a call for each statement."""
    return [{predicate: name, value: text} for name, text in pairs]


class _Compiler:
    """Compiles one operation with its variables."""

    def __init__(self, schema: GraphQLSchema, ready: ReadyOperation) -> None:
        document = ready.prepared.document
        if document is None or ready.kind != "query":
            raise NotPlain
        values = get_variable_values(
            schema, ready.operation.variable_definitions or (), dict(ready.asked.variables)
        )
        if not isinstance(values, VariableValues):
            raise NotPlain
        self._schema = schema
        self._operation = ready.operation
        self._values = values
        self._fragments = {
            each.name.value: FragmentDetails(each)
            for each in document.definitions
            if isinstance(each, FragmentDefinitionNode)
        }
        self._query, self._entity, self._triple = (
            _object_type(schema, name) for name in ("Query", "Entity", "Triple")
        )
        self._page, self._info, self._edge, self._rule, self._pattern = (
            _object_type(schema, name)
            for name in ("RuleConnection", "PageInfo", "RuleEdge", "Rule", "RulePattern")
        )

    def compile(self) -> PlainQuery:
        """The query as listings."""
        collected = collect_fields(
            self._schema, self._fragments, self._values, self._query, self._operation
        )
        if collected.new_defer_usages:
            raise NotPlain
        fields = collected.grouped_field_set
        return tuple((key, self._root(details)) for key, details in fields.items())

    def _root(self, details: Any) -> Listing | RulePage | str:  # graphql-core's own field details
        node: FieldNode = details[0].node
        name = node.name.value
        if name in {"__typename", "version"}:
            return name
        if name == "rules":
            return self._rule_page(details)
        if name not in _LISTINGS:
            raise NotPlain
        given = get_argument_values(self._query.fields[name], node, self._values)
        shape = tuple(
            self._part(key, below) for key, below in self._below(self._entity, details).items()
        )
        return Listing(_filter(name, given), given["first"], given.get("after"), shape)

    def _part(self, key: str, details: Any) -> ShapePart:  # as above
        node: FieldNode = details[0].node
        field = node.name.value
        if field in {"id", "__typename"}:
            return ShapePart(key, field)
        given = get_argument_values(self._entity.fields[field], node, self._values)
        of_each = tuple(
            (inner, each[0].node.name.value)
            for inner, each in self._below(self._triple, details).items()
        )
        return ShapePart(key, field, given.get("predicatePrefix"), of_each)

    def _rule_page(self, details: Any) -> RulePage:  # as above
        """A page of rules; one with a filter has to look at them all."""
        given = get_argument_values(self._query.fields["rules"], details[0].node, self._values)
        if given.pop("filter", None) is not None:
            raise NotPlain
        below = self._below(self._page, details)
        return RulePage(
            PageAsked(**given), tuple(self._page_part(key, each) for key, each in below.items())
        )

    def _page_part(self, key: str, details: Any) -> PagePart:  # as above
        field = details[0].node.name.value
        if field == "pageInfo":
            return PagePart(key, field, info=self._keyed(self._info, details))
        if field == "nodes":
            return PagePart(key, field, RuleShape(self._rule_parts(details)))
        if field == "edges":
            edge = self._below(self._edge, details)
            names = tuple((inner, each[0].node.name.value) for inner, each in edge.items())
            nodes = [each for each in edge.values() if each[0].node.name.value == "node"]
            if len(nodes) > 1:  # two aliases of it may want different things
                raise NotPlain
            parts = self._rule_parts(nodes[0]) if nodes else ()
            return PagePart(key, field, RuleShape(parts, names))
        return PagePart(key, field)

    def _rule_parts(self, details: Any) -> tuple[RulePart, ...]:  # as above
        return tuple(
            self._rule_part(key, each) for key, each in self._below(self._rule, details).items()
        )

    def _rule_part(self, key: str, details: Any) -> RulePart:  # as above
        field = details[0].node.name.value
        if field not in PLAIN_FIELDS:
            raise NotPlain
        of_each = self._keyed(self._pattern, details) if field == PATTERNS else ()
        return RulePart(key, field, of_each)

    def _keyed(self, kind: GraphQLObjectType, details: Any) -> Keyed:  # as above
        below = self._below(kind, details)
        return tuple((key, each[0].node.name.value) for key, each in below.items())

    def _below(self, kind: GraphQLObjectType, details: Any) -> Mapping[str, Any]:  # as above
        collected = collect_subfields(
            self._schema, self._fragments, self._values, self._operation, kind, details
        )
        if collected.new_defer_usages:
            raise NotPlain
        return collected.grouped_field_set


def _object_type(schema: GraphQLSchema, name: str) -> GraphQLObjectType:
    found = schema.get_type(name)
    if not isinstance(found, GraphQLObjectType):
        raise TypeError(f"the schema has no type {name}")
    return found


def _filter(name: str, given: Mapping[str, Any]) -> Filter:
    if name == "entitiesByPredicate":
        return Filter(carries=given["predicate"])
    if name == "entitiesByPrefix":
        return Filter(id_prefix=given["prefix"])
    wanted = given.get("filter") or {}
    return Filter(**{_FILTER[key]: value for key, value in wanted.items()})


class Rows:
    """The entities of one version, as far as they were asked for and fit."""

    def __init__(self, version: str, most_bytes: int) -> None:
        self.version = version
        self._most = most_bytes
        self._kept: dict[Shape | RuleShape, dict[str, bytes]] = {}
        self._sizes: dict[Shape | RuleShape, int] = {}
        self._lock = Lock()

    def known(self, shape: Shape | RuleShape, ids: Sequence[str]) -> list[bytes] | None:
        """The entities, if all of them are ready."""
        kept = self._kept.get(shape, {})
        try:
            return [kept[each] for each in ids]
        except KeyError:
            return None

    def all(self, snapshot: Snapshot, shape: Shape, ids: Sequence[str]) -> list[bytes]:
        """The entities; those that are not ready are rendered."""
        kept = self._kept.get(shape, {})
        missing = [each for each in ids if each not in kept]
        made = {thing.id: render(shape, thing) for thing in snapshot.describe(missing)}
        self._keep(shape, made)
        return [made[each] if each in made else kept[each] for each in ids]

    def rules(self, shape: RuleShape, rules: Sequence[Entry]) -> list[bytes]:
        """The rules; those that are not ready are rendered."""
        kept = self._kept.get(shape, {})
        made = {rule.id: render_rule(shape, rule) for rule in rules if rule.id not in kept}
        if made:
            self._keep(shape, made)
        return [made[rule.id] if rule.id in made else kept[rule.id] for rule in rules]

    def _keep(self, shape: Shape | RuleShape, made: dict[str, bytes]) -> None:
        size = sum(map(len, made.values())) + len(made) * OVERHEAD
        with self._lock:
            self._make_room(shape, size)
            if size <= self._most:
                # Nothing is ever taken out of it: readers without the lock lose no entity they saw.
                self._kept.setdefault(shape, {}).update(made)
                self._sizes[shape] = self._sizes.pop(shape, 0) + size

    def _make_room(self, shape: Shape | RuleShape, size: int) -> None:
        """Forget whole shapes, first what was added to longest ago, and this one last."""
        oldest = [each for each in self._sizes if each != shape]
        for each in (*oldest, shape):
            if sum(self._sizes.values()) + size <= self._most:
                return
            self._kept.pop(each, None)
            self._sizes.pop(each, None)


class RowCache:
    """The rows of the version that is served now."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._rows = Rows("", most_bytes)

    def of(self, version: str) -> Rows:
        """The rows of a version; those of another one are forgotten."""
        rows = self._rows
        if rows.version != version:
            rows = Rows(version, self._most)
            self._rows = rows
        return rows


class FastPath:
    """Answers queries that only list entities or rules, from rows that are ready."""

    def __init__(self, schema: GraphQLSchema, cache_bytes: int) -> None:
        self._schema = schema
        self._cache = RowCache(cache_bytes)

    def plan(self, ready: ReadyOperation) -> PlainQuery | None:
        """The query as listings, or None if the reference executor has to answer."""
        try:
            return _Compiler(self._schema, ready).compile()
        except (NotPlain, GraphQLError):
            return None

    def at_once(self, plan: PlainQuery, context: ResolverContext) -> bytes | None:
        """The answer, if it takes no work: every page is cheap to find and its rows are ready."""
        return self._answer(plan, context, work=False)

    def answer(self, plan: PlainQuery, context: ResolverContext) -> bytes | None:
        """The answer, or None where an argument is wrong: the reference executor says what."""
        return self._answer(plan, context, work=True)

    def _answer(self, plan: PlainQuery, context: ResolverContext, *, work: bool) -> bytes | None:
        pieces = []
        for key, wanted in plan:
            context.deadline.check()
            value = self._value(wanted, context, work=work)
            if value is None:
                return None
            pieces.append(as_json(key) + b":" + value)
        return b'{"data":{' + b",".join(pieces) + b"}}"

    def _value(
        self, wanted: Listing | RulePage | str, context: ResolverContext, *, work: bool
    ) -> bytes | None:
        if isinstance(wanted, str):
            return _simple(wanted, context)
        if isinstance(wanted, RulePage):
            return self._rule_page(wanted, context, work=work)
        return self._listing(wanted, context, work=work)

    def _rule_page(self, wanted: RulePage, context: ResolverContext, *, work: bool) -> bytes | None:
        rows = self._cache.of(context.snapshot.version)
        try:
            page = wanted.asked.of(context.snapshot.all_rules, lambda rule: rule.id)
        except GraphQLError:
            return None
        pieces = []
        for part in wanted.parts:
            value = as_json("RuleConnection" if part.field == TYPENAME else page.total_count)
            if part.shape is not None:
                found = (
                    rows.rules(part.shape, page.nodes)
                    if work
                    else rows.known(part.shape, page.keys)
                )
                if found is None:
                    return None
                value = b"[" + b",".join(found) + b"]"
            elif part.field == "pageInfo":
                value = render_info(part.info, page.page_info)
            pieces.append(as_json(part.key) + b":" + value)
        return b"{" + b",".join(pieces) + b"}"

    def _listing(self, wanted: Listing, context: ResolverContext, *, work: bool) -> bytes | None:
        if not work and not _is_cheap(wanted.asked):
            return None
        rows, shape = self._cache.of(context.snapshot.version), wanted.shape
        try:
            ids = page(context, wanted.asked, wanted.first, wanted.after).ids
            found = rows.all(context.snapshot, shape, ids) if work else rows.known(shape, ids)
        except (GraphQLError, HornbookError):
            return None
        return None if found is None else b"[" + b",".join(found) + b"]"


def _simple(name: str, context: ResolverContext) -> bytes:
    return b'"Query"' if name == "__typename" else as_json(context.snapshot.version)


def _is_cheap(asked: Filter) -> bool:
    """Whether a page is found by looking at no more documents than it shows."""
    return asked == Filter(
        predicate_prefix=asked.predicate_prefix, id_prefix=asked.id_prefix, carries=asked.carries
    )
