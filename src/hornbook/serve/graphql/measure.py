"""How large a GraphQL document really is, with every fragment spread out, in linear time.

Each fragment is measured once and its measure used wherever it is spread, so that a document of
sixty fragments that each spread the next one twice costs no more than any other document.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    IntValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    VariableNode,
)

Variables = Mapping[str, object]

# How many things a field is taken to give for each of its pages.
PAGE = 100
_PAGED = {
    "entities": "first",
    "entitiesConnection": "first",
    "entitiesByPredicate": "first",
    "entitiesByPrefix": "first",
}
_LISTS = frozenset(
    {
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
        argument = _PAGED.get(field.name.value)
        if argument is None:
            return PAGE if field.name.value in _LISTS else 1
        for each in field.arguments or ():
            if each.name.value == argument:
                return self._number(each.value)
        return PAGE

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
