"""Runs GraphQL documents: one way for HTTP, streams, WebSockets and the command line."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphql import (
    ExecutionResult,
    GraphQLError,
    GraphQLField,
    GraphQLSchema,
    OperationDefinitionNode,
    execute_sync,
    get_operation_ast,
    subscribe,
)
from graphql.execution.executor import Executor
from strawberry.schema.schema_converter import GraphQLCoreConverter

from hornbook.errors import (
    Busy,
    DiskFailed,
    EngineError,
    EventLogError,
    HornbookError,
    NotAPerson,
    NotFound,
    PlanHeld,
    PlanIncomplete,
    RemoteStoreFailed,
    StoreError,
    TooSlow,
    UsageError,
)
from hornbook.serve.graphql.context import SCOPE, ResolverContext
from hornbook.serve.graphql.documents import DocumentLimits, Documents, PreparedDocument, coded
from hornbook.serve.http.logs import log
from hornbook.serve.http.problems import HttpRefusal, Redact, redact_in, unchanged

if TYPE_CHECKING:
    from hornbook.serve.access.scopes import AccessScope

Answer = dict[str, object]
_CODES: tuple[tuple[type[HornbookError], str], ...] = (
    (Busy, "BUSY"),
    (NotFound, "NOT_FOUND"),
    (NotAPerson, "FORBIDDEN"),
    (PlanIncomplete, "PLAN_INCOMPLETE"),
    (UsageError, "BAD_USER_INPUT"),
    (StoreError, "STORE_DAMAGED"),
    (DiskFailed, "DISK"),
    (RemoteStoreFailed, "STORE_AWAY"),
    (EventLogError, "EVENTS_DAMAGED"),
    (TooSlow, "DEADLINE"),
    (PlanHeld, "BUSY"),
    (EngineError, "ENGINE"),
)


@dataclass(frozen=True, slots=True)
class OperationRequest:
    """One operation that is asked for."""

    text: str
    variables: Mapping[str, object] = field(default_factory=dict)
    operation_name: str | None = None


@dataclass(frozen=True, slots=True)
class ReadyOperation:
    """An operation that may be run."""

    prepared: PreparedDocument
    operation: OperationDefinitionNode
    asked: OperationRequest

    @property
    def kind(self) -> str:
        """query, mutation or subscription."""
        return self.operation.operation.value


class _DeadlineExecutor(Executor[Any]):  # what it hands on is graphql-core's own
    """Looks before each field whether anybody still waits."""

    def execute_field(self, *args: Any, **kwargs: Any) -> Any:  # as above
        self.context_value.deadline.next_field()
        return super().execute_field(*args, **kwargs)


class GraphQLExecutor:
    """Runs documents against one schema, within limits."""

    def __init__(
        self,
        schema: GraphQLSchema,
        limits: DocumentLimits | None = None,
        redact: Redact = unchanged,
    ) -> None:
        self.schema = schema
        self._redact = redact
        self.documents = Documents(schema, limits)

    def ready(self, asked: OperationRequest) -> ReadyOperation | Answer:
        """What is asked for, ready to be run, or the errors for which it is not."""
        if not asked.text.strip():
            return error_answer(
                [coded("the document is empty: write a query.", "GRAPHQL_PARSE_FAILED")]
            )
        prepared = self.documents.prepare(asked.text)
        if prepared.errors or prepared.document is None:
            return error_answer(prepared.errors)
        operation = get_operation_ast(prepared.document, asked.operation_name)
        if operation is None:
            return error_answer([_no_operation(asked.operation_name)])
        error = self.documents.over_limit(prepared, operation, asked.variables)
        return (
            error_answer([error])
            if error is not None
            else ReadyOperation(prepared, operation, asked)
        )

    def scopes(self, ready: ReadyOperation) -> frozenset["AccessScope"]:
        """What a caller must be allowed for the operation that is asked for, and no other.

        A query or subscription reads. Of a mutation each field says what it needs, also one in a
        fragment and one that a directive leaves out; what says nothing needs `admin`.
        """
        from hornbook.serve.access.scopes import READ_ONLY  # noqa: PLC0415  # a query in process does without

        if ready.kind != "mutation" or self.schema.mutation_type is None:
            return READ_ONLY
        fields = self.schema.mutation_type.fields
        names = ready.prepared.root_fields(ready.operation)
        return frozenset(scope_of_field(fields.get(name)) for name in names)

    def run(self, ready: ReadyOperation, context: ResolverContext) -> Answer:
        """The answer to a query or mutation; a query stops soon if nobody waits for it."""
        document = ready.prepared.document
        if document is None:
            raise TypeError("a document with errors is never ready")
        result = execute_sync(
            self.schema,
            document,
            context_value=context,
            variable_values=dict(ready.asked.variables),
            operation_name=ready.asked.operation_name,
            executor_class=_DeadlineExecutor if ready.kind == "query" else None,
        )
        return answer_of(result, self._redact)

    async def events(
        self, ready: ReadyOperation, context: object
    ) -> AsyncIterator[Answer] | Answer:
        """The answers of a subscription, or the errors for which there are none."""
        document = ready.prepared.document
        if document is None:
            raise TypeError("a document with errors is never ready")
        found: Any = subscribe(  # graphql-core gives a value or something to await
            self.schema,
            document,
            context_value=context,
            variable_values=dict(ready.asked.variables),
            operation_name=ready.asked.operation_name,
        )
        if hasattr(found, "__await__"):
            found = await found
        if isinstance(found, ExecutionResult):
            return answer_of(found, self._redact)
        return _answers(found, self._redact)


async def _answers(
    results: AsyncIterator[ExecutionResult], redact: Redact
) -> AsyncIterator[Answer]:
    try:
        async for result in results:
            yield answer_of(result, redact)
    except HornbookError as problem:
        yield error_answer([GraphQLError(str(problem), original_error=problem)], redact)
    finally:
        close = getattr(results, "aclose", None)
        if close is not None:
            await close()


def answer_of(result: ExecutionResult, redact: Redact) -> Answer:
    """A result as the object that is sent; without `data` when nothing was executed."""
    if not result.errors:
        return {"data": result.data}
    errors = [formatted(error, redact) for error in result.errors]
    if result.data is None and all(error.path is None for error in result.errors):
        return {"errors": errors}
    return {"data": result.data, "errors": errors}


def scope_of_field(field: GraphQLField | None) -> "AccessScope":
    """The scope that a mutation says it needs; `admin` if it says nothing."""
    from hornbook.serve.access.scopes import AccessScope  # noqa: PLC0415  # the same

    if field is None:  # `__typename`, which every type has
        return AccessScope.READ
    definition = field.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    known = getattr(definition, "metadata", {})
    return AccessScope(known.get(SCOPE, AccessScope.ADMIN))


def error_answer(
    errors: "list[GraphQLError] | tuple[GraphQLError, ...]", redact: Redact = unchanged
) -> Answer:
    """Errors for which nothing was executed."""
    return {"errors": [formatted(error, redact) for error in errors]}


def formatted(error: GraphQLError, redact: Redact) -> dict[str, Any]:
    """An error as it is sent: with a code, and without the insides of the server."""
    cause = error.original_error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error
    shown: dict[str, Any] = dict(error.formatted)
    extensions = dict(shown.get("extensions") or {})
    if isinstance(cause, HornbookError):
        extensions.setdefault("code", _code_of(cause))
    elif isinstance(cause, HttpRefusal):
        extensions["code"] = cause.code.upper()
        shown["message"] = cause.detail
    elif cause is not None and "code" not in extensions:
        log.error("a field failed", exc_info=cause, extra={"facts": {"path": error.path}})
        shown["message"] = "the server failed; its log tells why."
        extensions["code"] = "INTERNAL_SERVER_ERROR"
    extensions.setdefault("code", "BAD_USER_INPUT")
    shown["message"] = redact(shown["message"])
    shown["extensions"] = redact_in(extensions, redact)
    return shown


def _code_of(error: HornbookError) -> str:
    return next((code for kind, code in _CODES if isinstance(error, kind)), "REFUSED")


def _no_operation(name: str | None) -> GraphQLError:
    if name is None:
        return coded(
            "the document has no single operation: name one in `operationName`.",
            "OPERATION_RESOLUTION_FAILURE",
        )
    return coded(
        f"the document has no operation {name!r}: name one that it has.",
        "OPERATION_RESOLUTION_FAILURE",
    )
