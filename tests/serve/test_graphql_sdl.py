"""The schema as others see it: published, described, named as clients expect, never broken unseen."""

import re
from collections.abc import Iterator

from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    build_schema,
    get_named_type,
    print_schema,
)
from graphql.utilities import find_breaking_changes

from hornbook.serve.graphql.descriptions import ARGUMENTS, FIELDS, TYPES, VALUES
from hornbook.serve.graphql.schema import graphql_schema
from tests.frozen.kept import writing
from tests.kit.paths import DOCS

PUBLISHED = DOCS / "schema.graphql"
OWN = {name: kind for name, kind in graphql_schema.type_map.items() if not name.startswith("__")}
COMPOSITE = GraphQLObjectType | GraphQLInterfaceType | GraphQLInputObjectType
CAMEL, PASCAL, UPPER = (
    re.compile(form) for form in (r"[a-z][a-zA-Z0-9]*", r"[A-Z][a-zA-Z0-9]*", r"[A-Z][A-Z0-9_]*")
)


def things() -> Iterator[tuple[str, str, str | None]]:
    """Everything with a name: its place, its name, and what is said of it."""
    for name, kind in OWN.items():
        yield name, name, kind.description
        if isinstance(kind, COMPOSITE):
            for field, definition in kind.fields.items():
                yield f"{name}.{field}", field, definition.description
                for argument, given in getattr(definition, "args", {}).items():
                    yield f"{name}.{field}({argument}:)", argument, given.description
        if isinstance(kind, GraphQLEnumType):
            for value, meaning in kind.values.items():
                yield f"{name}.{value}", value, meaning.description


def test_everything_in_the_schema_is_described_in_a_sentence() -> None:
    silent = [place for place, _, told in things() if not told or not told.strip().endswith(".")]
    standard = {"Boolean", "Float", "ID", "Int", "JSON", "String"}
    assert sorted(set(silent) - standard) == []


def test_no_description_is_for_something_that_is_gone() -> None:
    places = {place for place, _, _ in things()}
    fields = {place for place in places if "." in place and "(" not in place}
    arguments = {place.partition(".")[2].rstrip(":)").replace("(", ".") for place in places if "(" in place}  # fmt: skip
    named = {each.partition(".")[2] for each in fields}
    assert set(TYPES) <= places
    assert {each for each in FIELDS if each not in fields | named} == set()
    assert {each for each in VALUES if each not in places} == set()
    known = arguments | {each.partition(".")[2] for each in arguments}
    assert {each for each in ARGUMENTS if each not in known} == set()


def test_names_are_written_as_clients_expect() -> None:
    for place, name, _ in things():
        kind = OWN.get(place.partition(".")[0])
        form = PASCAL if "." not in place else UPPER if isinstance(kind, GraphQLEnumType) else CAMEL
        assert form.fullmatch(name), place


def test_every_connection_is_read_from_both_ends() -> None:
    found = 0
    for kind in OWN.values():
        if not isinstance(kind, GraphQLObjectType):
            continue
        if kind.name.endswith("Connection"):
            assert {"edges", "nodes", "pageInfo", "totalCount"} == kind.fields.keys()
        for field in kind.fields.values():
            if get_named_type(field.type).name.endswith("Connection"):
                found += 1
                assert {"first", "after", "last", "before"} <= field.args.keys()
    assert found > 20


def test_the_published_schema_is_the_one_that_is_served() -> None:
    now = print_schema(graphql_schema) + "\n"
    if writing():
        PUBLISHED.write_text(now, encoding="utf-8")
    published = PUBLISHED.read_text(encoding="utf-8")
    broken = [each.description for each in find_breaking_changes(build_schema(published), graphql_schema)]  # fmt: skip
    assert broken == [], "clients that were generated from docs/schema.graphql break"
    assert published == now, (
        "docs/schema.graphql is not what is served: where that is meant, "
        "`HORNBOOK_FREEZE=write pytest tests/serve/test_graphql_sdl.py` publishes it anew"
    )
