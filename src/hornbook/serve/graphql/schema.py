"""The GraphQL schema, and how it is asked in process."""

import strawberry

from hornbook.serve.graphql.context import ResolverContext
from hornbook.serve.graphql.executor import GraphQLExecutor, OperationRequest, ReadyOperation
from hornbook.serve.graphql.mutations import Mutation, Subscription
from hornbook.serve.graphql.queries import EntityQuery, PlanQuery
from hornbook.workspace import Workspace


@strawberry.type
class Query(EntityQuery, PlanQuery):
    """What can be asked."""


schema = strawberry.Schema(query=Query, mutation=Mutation, subscription=Subscription)
graphql_schema = schema._schema  # noqa: SLF001  # strawberry has no other name for it

_ENGINE = GraphQLExecutor(graphql_schema)


def execute(workspace: Workspace, document: str, variables: dict[str, object]) -> dict[str, object]:
    """The answer to a GraphQL document as its `{data, errors}` object, without limits."""
    ready = _ENGINE.ready(OperationRequest(document, variables))
    if not isinstance(ready, ReadyOperation):
        return {"data": None, **ready}
    if ready.kind == "subscription":
        error = {"message": "subscriptions are followed over HTTP: start `hornbook serve`."}
        return {"data": None, "errors": [error]}
    context = ResolverContext(workspace=workspace, snapshot=workspace.snapshot())
    return {"data": None, **_ENGINE.run(ready, context)}
