"""The mutations and subscriptions of the GraphQL schema."""

from collections.abc import AsyncIterator

import strawberry
from strawberry.types import Info

from hornbook.errors import UsageError
from hornbook.serve.answer_types import GraphVersion, IngestReport, graph_version, ingest_report
from hornbook.serve.context import Asking, Context, Following, refuse
from hornbook.serve.desk import ingest
from hornbook.serve.documents import coded


def needs_write(context: Context) -> None:
    """Go on only if the caller may change something.

    Raises:
        GraphQLError: It may not.
    """
    if not context.may_write:
        raise coded("this token may only read: use one with the scope write.", "FORBIDDEN")


@strawberry.type
class Mutation:
    """What can be changed."""

    @strawberry.mutation(description="Read documents into the graph; all sources without paths.")
    def ingest(self, info: Asking, paths: list[str] | None = None) -> IngestReport:
        """Read documents into the graph."""
        context = info.context
        needs_write(context)
        try:
            if context.desk is None:
                return ingest_report(ingest(context.workspace.root, paths or ()))
            return ingest_report(context.desk.ingest(paths or ()))
        except UsageError as problem:
            found, _, remedy = str(problem).rpartition(": ")
            raise refuse("paths", found, remedy) from problem


@strawberry.type
class Subscription:
    """What can be followed."""

    @strawberry.subscription(description="The version of the graph, and every one that follows.")
    async def graph_versions(self, info: Info[Following, None]) -> AsyncIterator[GraphVersion]:
        """The version of the graph, and every one that follows."""
        async for version in info.context.desk.versions():
            yield graph_version(version)
