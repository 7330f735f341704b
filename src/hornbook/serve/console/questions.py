"""What a view asks: the schema that everybody asks, in process, as whoever looks at the view."""

from typing import Any

from hornbook.serve.access.callers import NOBODY
from hornbook.serve.graph_updates import GraphUpdates
from hornbook.serve.graphql.context import Deadline, ResolverContext
from hornbook.serve.graphql.executor import (
    Answer,
    GraphQLExecutor,
    OperationRequest,
    ReadyOperation,
)
from hornbook.serve.http.problems import HttpRefusal
from hornbook.serve.http.request import RequestContext
from hornbook.workspace import Workspace

_STATUS = {
    "BAD_USER_INPUT": (422, "refused"),
    "BUSY": (409, "busy"),
    "DEADLINE": (504, "deadline"),
    "FORBIDDEN": (403, "not-a-person"),
    "NOT_FOUND": (404, "not-found"),
    "PLAN_INCOMPLETE": (409, "plan-incomplete"),
    "REFUSED": (422, "refused"),
}


class Questions:
    """Asks the schema for one request, from one version of the graph, within its time."""

    def __init__(
        self,
        executor: GraphQLExecutor,
        work: Workspace,
        updates: GraphUpdates,
        asked_by: RequestContext,
    ) -> None:
        self._executor = executor
        self.deadline = Deadline(until=asked_by.ends_at, has_left=asked_by.has_left)
        self._context = ResolverContext(
            work, work.snapshot(), updates, self.deadline, principal=asked_by.principal
        )
        self._caller = asked_by.caller or NOBODY

    def ask(self, document: str, **variables: object) -> Any:  # as the document asks
        """The data of an answer that has no error.

        Raises:
            HttpRefusal: The caller may not ask this, or it is refused.
        """
        ready = self._executor.ready(OperationRequest(document, variables))
        if not isinstance(ready, ReadyOperation):
            raise _refusal(ready)
        for scope in sorted(self._executor.scopes(ready)):
            refusal = self._caller.refusal(scope)
            if refusal is not None:
                raise refusal
        answer = self._executor.run(ready, self._context)
        if "errors" in answer:
            raise _refusal(answer)
        return answer["data"]


def _refusal(answer: Answer) -> HttpRefusal:
    """The first error of an answer as a refusal."""
    errors: Any = answer["errors"]  # as `formatted` makes them
    status, code = _STATUS.get(errors[0]["extensions"]["code"], (503, "internal"))
    return HttpRefusal(status, code, errors[0]["message"])
