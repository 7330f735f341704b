"""What a query wants of each entity, so that an entity is made ready for sending once.

A query that only lists entities is compiled to shapes. An entity in a shape is the same bytes for
every query of that shape, and a page is those bytes one after the other. Whatever is not understood
here is left to the reference executor, which answers the same, byte for byte.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    GraphQLObjectType,
    GraphQLSchema,
)
from graphql.execution import get_argument_values, get_variable_values
from graphql.execution.collect_fields import FragmentDetails, collect_fields, collect_subfields
from graphql.execution.values import VariableValues

from hornbook.graph.selection import Filter
from hornbook.graph.snapshot import EntityTriples
from hornbook.serve.graphql.executor import Ready
from hornbook.serve.graphql.types import typed
from hornbook.serve.http.response import as_json
from hornbook.vocabulary.names import within

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


@dataclass(frozen=True, slots=True)
class Plain:
    """A whole query: each key with a listing, or with the name of a simple field."""

    keys: tuple[tuple[str, Listing | str], ...]


def render(shape: Shape, thing: EntityTriples) -> bytes:
    """An entity in a shape, as it is sent."""
    found: dict[str, object] = {}
    for part in shape:
        if part.field == "id":
            found[part.key] = thing.id
        elif part.field == "__typename":
            found[part.key] = "Entity"
        else:
            found[part.key] = [
                {key: _of_statement(field, name, text) for key, field in part.of_each}
                for name, text in thing.triples
                if part.prefix is None or within(name, part.prefix)
            ]
    return as_json(found)


def _of_statement(field: str, name: str, text: str) -> object:
    if field == "predicate":
        return name
    if field == "object":
        return text
    return typed(name, text) if field == "value" else "Triple"


class Compiler:
    """Compiles queries of one schema."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self._schema = schema
        self._query = _object_type(schema, "Query")
        self._entity = _object_type(schema, "Entity")
        self._triple = _object_type(schema, "Triple")

    def compile(self, ready: Ready) -> Plain:
        """The query as listings.

        Raises:
            NotPlain: It asks for something else, or is wrong.
        """
        document = ready.prepared.document
        if document is None or ready.kind != "query":
            raise NotPlain
        values = get_variable_values(
            self._schema,
            ready.operation.variable_definitions or (),
            dict(ready.asked.variables),
        )
        if not isinstance(values, VariableValues):
            raise NotPlain
        fragments = {
            each.name.value: FragmentDetails(each)
            for each in document.definitions
            if isinstance(each, FragmentDefinitionNode)
        }
        reading = _Reading(self, ready, fragments, values)
        return reading.plain()

    @property
    def types(
        self,
    ) -> tuple[GraphQLSchema, GraphQLObjectType, GraphQLObjectType, GraphQLObjectType]:
        """The schema and the types that listings are made of."""
        return self._schema, self._query, self._entity, self._triple


def _object_type(schema: GraphQLSchema, name: str) -> GraphQLObjectType:
    found = schema.get_type(name)
    if not isinstance(found, GraphQLObjectType):
        raise TypeError(f"the schema has no type {name}")
    return found


class _Reading:
    """Reads one operation with its variables."""

    def __init__(
        self,
        compiler: Compiler,
        ready: Ready,
        fragments: dict[str, FragmentDetails],
        values: VariableValues,
    ) -> None:
        self._schema, self._query, self._entity, self._triple = compiler.types
        self._operation = ready.operation
        self._fragments = fragments
        self._values = values

    def plain(self) -> Plain:
        collected = collect_fields(
            self._schema, self._fragments, self._values, self._query, self._operation
        )
        if collected.new_defer_usages:
            raise NotPlain
        keys = tuple(
            (key, self._root(details)) for key, details in collected.grouped_field_set.items()
        )
        return Plain(keys)

    def _root(self, details: Any) -> Listing | str:  # graphql-core's own list of field details
        node: FieldNode = details[0].node
        name = node.name.value
        if name in {"__typename", "version"}:
            return name
        if name not in {"entities", "entitiesByPredicate", "entitiesByPrefix"}:
            raise NotPlain
        given = get_argument_values(self._query.fields[name], node, self._values)
        return Listing(
            _filter(name, given), given["first"], given.get("after"), self._shape(details)
        )

    def _shape(self, details: Any) -> Shape:  # as above
        parts = []
        for key, below in self._below(self._entity, details).items():
            node: FieldNode = below[0].node
            field = node.name.value
            if field in {"id", "__typename"}:
                parts.append(ShapePart(key, field))
                continue
            given = get_argument_values(self._entity.fields[field], node, self._values)
            of_each = tuple(
                (inner, each[0].node.name.value)
                for inner, each in self._below(self._triple, below).items()
            )
            parts.append(ShapePart(key, field, given.get("predicatePrefix"), of_each))
        return tuple(parts)

    def _below(self, kind: GraphQLObjectType, details: Any) -> Mapping[str, Any]:  # as above
        collected = collect_subfields(
            self._schema, self._fragments, self._values, self._operation, kind, details
        )
        if collected.new_defer_usages:
            raise NotPlain
        return collected.grouped_field_set


def _filter(name: str, given: Mapping[str, Any]) -> Filter:
    if name == "entitiesByPredicate":
        return Filter(carries=given["predicate"])
    if name == "entitiesByPrefix":
        return Filter(id_prefix=given["prefix"])
    wanted = given.get("filter") or {}
    return Filter(**{_FILTER[key]: value for key, value in wanted.items()})
