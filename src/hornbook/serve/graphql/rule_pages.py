"""Pages of rules for the fast path: what a query wants of each, and how that is rendered.

A rule in a shape is the same bytes for every query of that shape, as an entity is. Only fields
that the catalog itself answers are known here; a query that asks for more, such as the text or the
files of a rule, is left to the reference executor.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hornbook.rules.binding import not_enforced_because
from hornbook.rules.catalog import Entry
from hornbook.rules.document import Pattern
from hornbook.serve.graphql.connections import PageAsked, PageInfo, cursor
from hornbook.serve.http.response import as_json

TYPENAME = "__typename"
PATTERNS = "patterns"

_OF_RULE: Mapping[str, Callable[[Entry], object]] = {
    TYPENAME: lambda _rule: "Rule",
    "id": lambda rule: rule.id,
    "title": lambda rule: rule.title,
    "path": lambda rule: rule.path,
    "category": lambda rule: rule.category.name,
    "severity": lambda rule: rule.severity.name,
    "activation": lambda rule: rule.activation.name,
    "tool": lambda rule: rule.tool,
    "summary": lambda rule: rule.summary,
    "tokens": lambda rule: rule.tokens,
    "domains": lambda rule: rule.domains,
    "keywords": lambda rule: rule.keywords,
    "inferred": lambda rule: rule.inferred,
    "formerly": lambda rule: rule.formerly,
    "enforced": lambda rule: rule.activation.enforced,
    "notEnforcedReason": lambda rule: (
        None if rule.activation.enforced else not_enforced_because(rule)
    ),
}
_OF_PATTERN: Mapping[str, Callable[[Pattern], object]] = {
    TYPENAME: lambda _pattern: "RulePattern",
    "raw": lambda pattern: pattern.raw,
    "pattern": lambda pattern: pattern.glob,
    "line": lambda pattern: pattern.line,
}
_OF_PAGE_INFO: Mapping[str, Callable[[PageInfo], object]] = {
    TYPENAME: lambda _info: "PageInfo",
    "hasNextPage": lambda info: info.has_next_page,
    "hasPreviousPage": lambda info: info.has_previous_page,
    "startCursor": lambda info: info.start_cursor,
    "endCursor": lambda info: info.end_cursor,
}
PLAIN_FIELDS = frozenset({*_OF_RULE, PATTERNS})
Keyed = tuple[tuple[str, str], ...]
"""Each key of an answer, and the field that it is."""


@dataclass(frozen=True, slots=True)
class RulePart:
    """One key of a rule: which field, and for its patterns what of each."""

    key: str
    field: str
    of_each: Keyed = ()


@dataclass(frozen=True, slots=True)
class RuleShape:
    """What is wanted of each rule; `edge` are the keys around it where it stands in an edge."""

    parts: tuple[RulePart, ...]
    edge: Keyed | None = None


@dataclass(frozen=True, slots=True)
class PagePart:
    """One key of a page: which field, with the shape of its rules or the keys of its page info."""

    key: str
    field: str
    shape: RuleShape | None = None
    info: Keyed = ()


@dataclass(frozen=True, slots=True)
class RulePage:
    """A page of rules that is asked for."""

    asked: PageAsked
    parts: tuple[PagePart, ...]


def render_rule(shape: RuleShape, rule: Entry) -> bytes:
    """A rule in a shape, as it is sent."""
    node: dict[str, object] = {}
    for part in shape.parts:
        if part.field == PATTERNS:
            node[part.key] = [
                {key: _OF_PATTERN[field](each) for key, field in part.of_each}
                for each in rule.patterns
            ]
        else:
            node[part.key] = _OF_RULE[part.field](rule)
    if shape.edge is None:
        return as_json(node)
    around = {"node": node, "cursor": cursor(rule.id), TYPENAME: "RuleEdge"}
    return as_json({key: around[field] for key, field in shape.edge})


def render_info(keys: Keyed, info: PageInfo) -> bytes:
    """The page information, as it is sent."""
    return as_json({key: _OF_PAGE_INFO[field](info) for key, field in keys})
