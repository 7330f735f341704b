"""The second way to an answer gives the same bytes as the reference executor."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from graphql import print_schema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis_graphql import queries

from hornbook import Workspace
from hornbook.serve.graphql.context import ResolverContext
from hornbook.serve.graphql.executor import GraphQLExecutor, OperationRequest, ReadyOperation
from hornbook.serve.graphql.fast_path import OVERHEAD, FastPath, RowCache, Rows, ShapePart, render
from hornbook.serve.graphql.schema import graphql_schema
from hornbook.serve.http.response import as_json
from tests.kit.servers import workspace
from tests.kit.workspaces import SOPS, write

QUIETLY = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
ENGINE = GraphQLExecutor(graphql_schema)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace.open(workspace(tmp_path_factory.mktemp("fast_path"))) as found:
        yield found


def compare(work: Workspace, fast_path: FastPath, text: str, variables: dict[str, Any]) -> bool:
    """Whether the second way answered; where it did, both gave the same bytes."""
    ready = ENGINE.ready(OperationRequest(text, variables))
    if not isinstance(ready, ReadyOperation) or ready.kind != "query":
        return False
    context = ResolverContext(work, work.snapshot())
    plan = fast_path.plan(ready)
    expected = as_json(ENGINE.run(ready, context))
    if plan is None:
        return False
    found = fast_path.answer(plan, context)
    again = fast_path.at_once(plan, context)
    assert found in {None, expected}
    assert again in {None, expected}
    if found is None:
        assert b'"errors"' in expected
    return found is not None


@st.composite
def statement_fields(draw: st.DrawFn) -> str:
    fields = draw(
        st.lists(st.sampled_from(["predicate", "object", "value", "__typename", "p: predicate", "...on Triple { object }", "...T"]), min_size=1, max_size=4)
    )  # fmt: skip
    return " ".join(fields)


@st.composite
def entity_fields(draw: st.DrawFn) -> str:
    simple = st.sampled_from(["id", "__typename", "x: id", "...E", "... on Entity { y: id }", "id @skip(if: $no)", "z: id @include(if: $no)"])  # fmt: skip
    prefix = st.sampled_from(["", '(predicatePrefix: "source.doc")', "(predicatePrefix: $p)", "(predicatePrefix: null)"])  # fmt: skip
    key = st.sampled_from(["", "s: ", "t: "])
    triples = st.builds("{}triples{} {{ {} }}".format, key, prefix, statement_fields())
    return " ".join(draw(st.lists(st.one_of(simple, triples), min_size=1, max_size=4)))


@st.composite
def documents(draw: st.DrawFn) -> str:
    arguments = st.sampled_from([
        "", "(first: 2)", "(first: $n)", "(first: 0)", "(after: $after)", '(filter: {predicatePrefix: "source.doc.sops"})',
        '(filter: {idPrefix: "decision", includeChunks: true})', '(filter: {severity: "warning"})', '(filter: {category: "none"})',
        "(filter: {includeRevisions: true}, first: 3)", "(filter: null)", '(filter: {text: "go", appliesTo: "a.go"})',
    ])  # fmt: skip
    fields = []
    for number in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(["entities", 'entitiesByPrefix(prefix: "source")', 'entitiesByPredicate(predicate: "decision.status")', "version", "__typename"]))  # fmt: skip
        alias = draw(st.sampled_from(["", f"k{number}: "]))
        if name == "entities":
            name += draw(arguments)
        below = "" if name in {"version", "__typename"} else f" {{ {draw(entity_fields())} }}"
        fields.append(f"{alias}{name}{below}")
    return (
        "query ($n: Int! = 2, $no: Boolean! = false, $p: String, $after: String) {"
        + " ".join(fields)
        + " u: entities(first: 1) { id @skip(if: $no) triples(predicatePrefix: $p) { ...T } ...E }"
        + " v: entities(first: $n, after: $after) { id }"
        + " } fragment E on Entity { id triples { ...T } } fragment T on Triple { predicate value }"
    )


@QUIETLY
@given(
    text=documents(),
    variables=st.fixed_dictionaries(
        {},
        optional={
            "n": st.integers(-1, 5),
            "no": st.booleans(),
            "p": st.sampled_from([None, "source.meta", "decision", ""]),
            "after": st.sampled_from([None, "decision.0001-use-go", "nonsense"]),
        },
    ),
)
def test_listings_are_byte_equal_to_the_reference(
    work: Workspace, text: str, variables: dict[str, Any]
) -> None:
    ready = ENGINE.ready(OperationRequest(text, variables))
    if isinstance(ready, ReadyOperation):
        fast_path = FastPath(graphql_schema, 1_000_000)
        assert fast_path.plan(ready) is not None
        compare(work, fast_path, text, variables)
    else:
        # Two fields of one key that differ, or the same one with other arguments.
        assert "conflict" in str(ready)


@QUIETLY
@given(text=queries(print_schema(graphql_schema)))
def test_any_query_of_the_schema_is_byte_equal_or_left_alone(work: Workspace, text: str) -> None:
    compare(work, FastPath(graphql_schema, 1_000_000), text, {})


@pytest.mark.parametrize(
    "text",
    [
        '{ entities(filter: { predicatePrefix: "source.doc.sops" }) { id triples { predicate object } } }',
        "{ __typename version }",
        "{ a: entities { id } b: entities(first: 1) { triples { value } ...F } } fragment F on Entity { __typename }",
        "query ($n: Int!) { entities(first: $n) { id } }",
        "{ entities(first: 2) { triples { predicate @skip(if: true) } } }",
    ],
)  # fmt: skip
def test_the_usual_queries_take_the_second_way(work: Workspace, text: str) -> None:
    assert compare(work, FastPath(graphql_schema, 1_000_000), text, {"n": 3})


def test_rows_equal_the_store_in_every_version(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    cache = RowCache(1_000_000)
    shape = (
        ShapePart("id", "id"),
        ShapePart("t", "triples", None, (("p", "predicate"), ("o", "object"))),
    )
    for number in range(3):
        write(
            root, {f"{SOPS}/error-handling.md": f"---\napplies_to: '*.go'\n---\n# New {number}\n"}
        )
        with Workspace.open(root) as work:
            work.ingest()
            snapshot = work.snapshot()
            for _ in range(2):
                rows = cache.of(snapshot.version)
                found = rows.all(snapshot, shape, snapshot.ids)
                assert found == [render(shape, snapshot.thing(each)) for each in snapshot.ids]
                assert rows.known(shape, snapshot.ids) == found


def test_rows_keep_no_more_than_they_may(work: Workspace) -> None:
    snapshot = work.snapshot()
    shape = (ShapePart("id", "id"),)
    rows = Rows(snapshot.version, 50 + OVERHEAD)
    expected = [render(shape, snapshot.thing(each)) for each in snapshot.ids]
    for _ in range(3):
        assert rows.all(snapshot, shape, snapshot.ids) == expected
    assert rows.known(shape, snapshot.ids) is None
    assert rows.all(snapshot, shape, snapshot.ids[:1]) == expected[:1]
    assert rows.known(shape, snapshot.ids[:1]) == expected[:1]


def test_the_shape_that_was_added_to_longest_ago_is_forgotten_first(work: Workspace) -> None:
    snapshot = work.snapshot()
    shapes = [(ShapePart(key, "__typename"),) for key in "abc"]
    one = snapshot.ids[:1]
    size = len(render(shapes[0], snapshot.thing(one[0]))) + OVERHEAD
    rows = Rows(snapshot.version, 2 * size)
    for shape in shapes:
        rows.all(snapshot, shape, one)
    assert [rows.known(shape, one) is not None for shape in shapes] == [False, True, True]


RULE_FIELDS = [
    *("id", "title", "path", "category", "severity", "activation", "tool", "summary", "tokens"),
    *("domains", "keywords", "inferred", "formerly", "enforced", "notEnforcedReason", "__typename"),
    *("x: id", "...R", "patterns { raw pattern line __typename }", "p: patterns { r: raw }"),
    "id @skip(if: $no)",
]


@st.composite
def rule_pages(draw: st.DrawFn) -> str:
    node = " ".join(draw(st.lists(st.sampled_from(RULE_FIELDS), min_size=1, max_size=6)))
    parts = ["totalCount", "__typename", "n: totalCount", f"nodes {{ {node} }}", f"edges {{ cursor node {{ {node} }} }}", f"e: edges {{ c: cursor __typename n: node {{ {node} }} }}", "edges { cursor }", "pageInfo { hasNextPage hasPreviousPage startCursor endCursor }", "pageInfo { e: endCursor __typename }"]  # fmt: skip
    below = " ".join(draw(st.lists(st.sampled_from(parts), min_size=1, max_size=4)))
    given = draw(st.sampled_from(["", "(first: 1)", "(last: $n)", "(first: $n, after: $after)", "(first: 1, before: $after)", "(first: 0)", "(filter: null)"]))  # fmt: skip
    return (
        "query ($n: Int = 2, $no: Boolean! = false, $after: String) { "
        f"rules{given} {{ {below} ...P }} k: rules(first: $n, after: $after) {{ nodes {{ id @include(if: $no) ...R }} }} }} "
        "fragment R on Rule { title severity } fragment P on RuleConnection { totalCount nodes { ...R } }"
    )


AFTER = "aWQ6c291cmNlLmRvYy5zb3BzLmVycm9yLWhhbmRsaW5n"


@QUIETLY
@given(
    text=rule_pages(),
    variables=st.fixed_dictionaries(
        {},
        optional={
            "n": st.sampled_from([None, -1, 1, 5]),
            "no": st.booleans(),
            "after": st.sampled_from([None, AFTER, "nonsense"]),
        },
    ),
)
def test_pages_of_rules_are_byte_equal_to_the_reference(
    work: Workspace, text: str, variables: dict[str, Any]
) -> None:
    compare(work, FastPath(graphql_schema, 1_000_000), text, variables)


def test_a_plain_page_of_rules_goes_the_second_way_and_others_do_not(work: Workspace) -> None:
    def plain(text: str) -> bool:
        return compare(work, FastPath(graphql_schema, 1_000_000), text, {})

    assert plain("{ rules(first: 100) { totalCount edges { cursor node { id title } } } }")
    assert not plain("{ rules { nodes { id text } } }")
    assert not plain('{ rules(filter: {text: "error"}) { nodes { id } } }')
