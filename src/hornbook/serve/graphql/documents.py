"""GraphQL documents that were parsed, measured and validated, each once."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLSchema,
    GraphQLSyntaxError,
    InlineFragmentNode,
    IntValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    VariableNode,
    parse,
    validate,
)

from hornbook.settings.surroundings import ServeSettings

Variables = Mapping[str, object]

# How many things a field is taken to give for each of its pages.
PAGE = 100
_LENGTHS = frozenset({"first", "last"})
_CONNECTION = frozenset({"edges", "nodes"})
_LISTS = frozenset(
    {
        "entities",
        "entitiesByPredicate",
        "entitiesByPrefix",
        "audit",
        "replay",
        "traverse",
        "sops",
        "decisions",
        "predicates",
        "why",
        "plans",
        "runs",
        "reviews",
        "ruleRecords",
    }
)
_INTROSPECTION = frozenset({"__schema", "__type"})


@dataclass(frozen=True, slots=True)
class Size:
    """Levels, aliases and cost of a selection; introspection counts no levels."""

    depth: int = 0
    aliases: int = 0
    cost: int = 0

    def beside(self, other: "Size") -> "Size":
        """The size of both together."""
        return Size(
            max(self.depth, other.depth), self.aliases + other.aliases, self.cost + other.cost
        )


class Measuring:
    """Measures the operations of one document."""

    def __init__(self, document: DocumentNode, variables: Variables | None = None) -> None:
        self._fragments = {
            each.name.value: each
            for each in document.definitions
            if isinstance(each, FragmentDefinitionNode)
        }
        self._variables = variables or {}
        self._measured: dict[str, Size] = {}
        self.introspects = False
        self.depends_on_variables = False

    def operation(self, operation: OperationDefinitionNode) -> Size:
        """The size of an operation."""
        self._defaults = {
            each.variable.name.value: each.default_value
            for each in operation.variable_definitions or ()
        }
        return self._selections(operation.selection_set)

    def _selections(self, selection_set: SelectionSetNode | None) -> Size:
        size = Size()
        for each in selection_set.selections if selection_set is not None else ():
            if isinstance(each, FieldNode):
                size = size.beside(self._field(each))
            elif isinstance(each, FragmentSpreadNode):
                size = size.beside(self._fragment(each.name.value))
            elif isinstance(each, InlineFragmentNode):
                size = size.beside(self._selections(each.selection_set))
        return size

    def _fragment(self, name: str) -> Size:
        known = self._measured.get(name)
        if known is not None:
            return known
        fragment = self._fragments.get(name)
        if fragment is None:
            return Size()
        self._measured[name] = Size()  # a cycle ends here; validation refuses it
        self._measured[name] = found = self._selections(fragment.selection_set)
        return found

    def _field(self, field: FieldNode) -> Size:
        below = self._selections(field.selection_set)
        name = field.name.value
        depth = below.depth + 1
        if name in _INTROSPECTION:
            self.introspects = True
            depth = 1
        return Size(
            depth=depth,
            aliases=below.aliases + (field.alias is not None),
            cost=1 + self._page(field) * below.cost,
        )

    def _page(self, field: FieldNode) -> int:
        """How many things a field gives: as many as it asks for, else a page if it is a list."""
        asked = [each.value for each in field.arguments or () if each.name.value in _LENGTHS]
        if asked:
            return max(map(self._number, asked))
        if field.name.value in _LISTS or field.selection_set is None:
            return PAGE if field.name.value in _LISTS else 1
        return PAGE if root_fields(field.selection_set, self._fragments) & _CONNECTION else 1

    def _number(self, value: object) -> int:
        if isinstance(value, VariableNode):
            self.depends_on_variables = True
            name = value.name.value
            given = self._variables.get(name)
            if isinstance(given, int):
                return max(1, given)
            return self._number(self._defaults.get(name))
        if isinstance(value, IntValueNode) and len(value.value) < 12:
            return max(1, int(value.value))
        return PAGE


MOST_ERRORS = 20
_KEPT = 512
# A parsed document takes about 130 times the room of its text.
_KEPT_CHARACTERS = 400_000


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """How large a document may be, and whether it may ask for the schema."""

    tokens: int
    depth: int
    aliases: int
    cost: int
    introspection: bool

    @classmethod
    def of(cls, settings: ServeSettings, *, introspection: bool) -> "DocumentLimits":
        """The limits that a workspace sets."""
        return cls(
            settings.query_tokens,
            settings.query_depth,
            settings.query_aliases,
            settings.query_cost,
            introspection,
        )


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document that may be run, or the errors for which it may not."""

    document: DocumentNode | None
    errors: tuple[GraphQLError, ...] = ()
    varies: bool = False

    def root_fields(self, operation: OperationDefinitionNode) -> frozenset[str]:
        """The names of the fields that an operation asks for first, also those in fragments."""
        definitions = self.document.definitions if self.document is not None else ()
        fragments = {
            each.name.value: each
            for each in definitions
            if isinstance(each, FragmentDefinitionNode)
        }
        return root_fields(operation.selection_set, fragments)


def root_fields(
    selection_set: SelectionSetNode, fragments: Mapping[str, FragmentDefinitionNode]
) -> frozenset[str]:
    """The names of the fields at the top of a selection, also those in fragments."""
    names: set[str] = set()
    spread: set[str] = set()
    waiting = [selection_set]
    while waiting:
        for each in waiting.pop().selections:
            if isinstance(each, FieldNode):
                names.add(each.name.value)
            elif isinstance(each, InlineFragmentNode):
                waiting.append(each.selection_set)
            elif isinstance(each, FragmentSpreadNode) and each.name.value not in spread:
                spread.add(each.name.value)
                if each.name.value in fragments:
                    waiting.append(fragments[each.name.value].selection_set)
    return frozenset(names)


def coded(message: str, code: str, **facts: object) -> GraphQLError:
    """An error with a code that a client can act on."""
    return GraphQLError(message, extensions={"code": code, **facts})


_NESTED = coded(
    "the document is nested too deep: make it flatter.", "LIMIT_EXCEEDED", limit="depth"
)


class Documents:
    """Prepares documents for one schema and remembers the last ones."""

    def __init__(self, schema: GraphQLSchema, limits: DocumentLimits | None) -> None:
        self._schema = schema
        self._limits = limits
        self._kept: OrderedDict[str, PreparedDocument] = OrderedDict()
        self._characters = 0
        self._lock = Lock()

    def knows(self, text: str) -> bool:
        """Whether a document is prepared already, so that nobody has to wait for it."""
        return text in self._kept

    def prepare(self, text: str) -> PreparedDocument:
        """The document of a text."""
        with self._lock:
            found = self._kept.get(text)
            if found is not None:
                self._kept.move_to_end(text)
                return found
        found = self._prepared(text)
        with self._lock:
            if text not in self._kept:
                self._kept[text] = found
                self._characters += len(text)
            while len(self._kept) > _KEPT or self._characters > _KEPT_CHARACTERS:
                self._characters -= len(self._kept.popitem(last=False)[0])
        return found

    def over_limit(
        self, prepared: PreparedDocument, operation: OperationDefinitionNode, variables: Variables
    ) -> GraphQLError | None:
        """Why an operation is too large with these variables; without any it was checked before."""
        if self._limits is None or prepared.document is None or not prepared.varies:
            return None
        measuring = Measuring(prepared.document, variables)
        return _too_large(measuring.operation(operation), self._limits)

    def _prepared(self, text: str) -> PreparedDocument:
        limits = self._limits
        try:
            document = parse(text, max_tokens=limits.tokens if limits is not None else None)
            measuring = Measuring(document)
            beyond = _beyond(document, measuring, limits) if limits is not None else None
            if beyond is not None:
                return PreparedDocument(None, (beyond,))
            errors = validate(self._schema, document, max_errors=MOST_ERRORS)
        except GraphQLSyntaxError as error:
            return PreparedDocument(None, (_syntax(error, limits),))
        except RecursionError:
            return PreparedDocument(None, (_NESTED,))
        for each in errors:
            each.extensions = {**(each.extensions or {}), "code": "GRAPHQL_VALIDATION_FAILED"}
        return PreparedDocument(document, tuple(errors), measuring.depends_on_variables)


def _syntax(error: GraphQLSyntaxError, limits: DocumentLimits | None) -> GraphQLError:
    if limits is not None and "Parsing aborted" in error.message:
        return coded(
            f"the document has more than {limits.tokens} tokens: ask for less at a time.",
            "LIMIT_EXCEEDED",
            limit="tokens",
            allowed=limits.tokens,
        )
    error.extensions = {"code": "GRAPHQL_PARSE_FAILED"}
    return error


def _beyond(
    document: DocumentNode, measuring: Measuring, limits: DocumentLimits
) -> GraphQLError | None:
    """Why no operation of the document may run."""
    for each in document.definitions:
        if isinstance(each, OperationDefinitionNode):
            error = _too_large(measuring.operation(each), limits)
            if error is not None:
                return error
    if measuring.introspects and not limits.introspection:
        return coded(
            "introspection is off here: set `serve.introspection: always` to allow it.",
            "INTROSPECTION_OFF",
        )
    return None


def _too_large(size: Size, limits: DocumentLimits) -> GraphQLError | None:
    for name, found, allowed in (
        ("depth", size.depth, limits.depth),
        ("aliases", size.aliases, limits.aliases),
        ("cost", size.cost, limits.cost),
    ):
        if found > allowed:
            shown = str(found) if found < 10**12 else "over a million million"
            return coded(
                f"the {name} of the document is {shown}, {allowed} are allowed: ask for less.",
                "LIMIT_EXCEEDED",
                limit=name,
                allowed=allowed,
            )
    return None
