"""What the catalog of a graph answers by itself: which rules bind a file, and how they fit.

Most commands need no more than this; it loads neither a parser nor the store.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from hornbook.rules.binding import NOT_ENFORCED_BECAUSE, Binding, RuleBook, by_subject
from hornbook.rules.catalog import Catalog, Entry
from hornbook.rules.document import revision_id
from hornbook.settings.settings import Settings
from hornbook.vocabulary.terms import Activation, Category, Scope


@dataclass(frozen=True, slots=True)
class BoundRule:
    """A rule that binds a file: which, and the pattern and line that make it so."""

    id: str
    path: str
    title: str
    category: str
    severity: str
    activation: str
    pattern: str
    pattern_line: int | None
    revision: str
    tokens: int


@dataclass(frozen=True, slots=True)
class NotEnforced:
    """A rule that is known but cannot bind, and the reason."""

    id: str
    activation: Activation
    reason: str


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """The rules of one file and how they sit with the room that a review has for them."""

    path: str
    rules: tuple[BoundRule, ...]
    tokens: int
    reserve: int
    fits: bool
    not_enforced: tuple[NotEnforced, ...]


@dataclass(frozen=True, slots=True)
class ReserveReport:
    """How the repository's rules sit with the reserve, file by file and rule by rule."""

    reserve: int
    rules: int
    always: int
    always_tokens: int
    files: int
    files_over: int
    examples: tuple[tuple[str, int], ...]
    too_large: tuple[Entry, ...]
    largest: tuple[Entry, ...]


class CatalogView:
    """Answers questions about the rules of one version of the graph; it never changes."""

    def __init__(self, catalog: Catalog, settings: Settings) -> None:
        self.catalog = catalog
        self.settings = settings

    @property
    def version(self) -> str:
        """The version of the graph."""
        return self.catalog.version

    @cached_property
    def by_id(self) -> dict[str, Entry]:
        """The current documents by id."""
        return {entry.id: entry for entry in self.catalog.entries}

    @cached_property
    def rules(self) -> RuleBook:
        """The rules, compiled."""
        nearest = self.settings.agents_merge == "nearest"
        return RuleBook(self.catalog.entries, nearest=nearest)

    @cached_property
    def rules_by_subject(self) -> dict[tuple[str, str], list[Entry]]:
        """Every rule by its domains and keywords."""
        return by_subject((*self.rules.enforced, *self.rules.not_enforced))

    @cached_property
    def superseded(self) -> dict[str, str]:
        """The decisions that are replaced, each with the one that replaces it."""
        found: dict[str, str] = {}
        for entry in self.catalog.entries:
            for link in entry.links if entry.category is Category.DECISION else ():
                if link.target is not None and link.relation == "supersedes":
                    found[link.target] = entry.id
                elif link.target is not None and link.relation == "superseded_by":
                    found[entry.id] = link.target
        return found

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of all current documents, sorted."""
        return tuple(entry.id for entry in self.catalog.entries)

    @cached_property
    def _not_enforced(self) -> tuple[NotEnforced, ...]:
        listed = [
            NotEnforced(rule.id, rule.activation, NOT_ENFORCED_BECAUSE[rule.activation])
            for rule in self.rules.not_enforced
        ]
        listed += [
            NotEnforced(rule.id, rule.activation, "scope is plan: it judges plans, not code")
            for rule in self.rules.for_plans
        ]
        return tuple(sorted(listed, key=lambda each: each.id))

    def why(self, paths: Iterable[str]) -> list[FileAnswer]:
        """The rules that bind each file, and why; the files need not exist."""
        reserve = self.settings.reserve_tokens
        answers = []
        for path in paths:
            rules = tuple(map(bound_rule, self.rules.bind(path)))
            tokens = sum(rule.tokens for rule in rules)
            answers.append(
                FileAnswer(path, rules, tokens, reserve, tokens <= reserve, self._not_enforced)
            )
        return answers

    def reserve_report(self, paths: Iterable[str]) -> ReserveReport:
        """How the rules of some files, and each rule alone, sit with the reserve."""
        reserve = self.settings.reserve_tokens
        enforced = [rule for rule in self.rules.enforced if rule.scope is not Scope.PLAN]
        largest = sorted(enforced, key=lambda rule: (-rule.tokens, rule.id))
        everywhere = [rule for rule in enforced if self.rules.everywhere(rule)]
        sizes = {
            path: sum(binding.rule.tokens for binding in self.rules.bind(path)) for path in paths
        }
        over = sorted(
            ((path, size) for path, size in sizes.items() if size > reserve),
            key=lambda pair: (-pair[1], pair[0]),
        )
        return ReserveReport(
            reserve=reserve,
            rules=len(enforced),
            always=len(everywhere),
            always_tokens=sum(rule.tokens for rule in everywhere),
            files=len(sizes),
            files_over=len(over),
            examples=tuple(over[:5]),
            too_large=tuple(rule for rule in largest if rule.tokens > reserve),
            largest=tuple(largest[:5]),
        )


def bound_rule(binding: Binding) -> BoundRule:
    """A binding as an answer."""
    rule = binding.rule
    return BoundRule(
        id=rule.id,
        path=rule.path,
        title=rule.title,
        category=rule.category,
        severity=rule.severity,
        activation=rule.activation,
        pattern=binding.pattern,
        pattern_line=binding.line,
        revision=revision_id(rule.id, rule.sha256),
        tokens=rule.tokens,
    )
