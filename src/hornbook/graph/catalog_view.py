"""What the catalog of a graph answers by itself: which rules bind a file, and how they fit.

Most commands need no more than this; it loads neither a parser nor the store.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from hornbook.rules.binding import Binding, RuleBook, UnreadRule, by_subject, not_enforced_because
from hornbook.rules.catalog import Catalog, Entry
from hornbook.rules.document import revision_id
from hornbook.settings.reserve import Reserve, ReserveFrom, reserve_for
from hornbook.settings.settings import Settings
from hornbook.vocabulary.terms import Activation, Category, Scope

SHARE_OVER = 5
"""The percentage of files whose rules may be over a reserve that is called enough."""
ANY = "any-file"
"""A path that no rule names: only what binds every file binds it."""


@dataclass(frozen=True, slots=True)
class BoundRule:
    """A rule that binds a file: which, and the pattern and line that make it so.

    `inferred` says that the severity is told from the words of the rule, not stated by it.
    `pattern` is what stands in the rule's file, `glob` the same in our dialect; `notes` say what
    tools differ about. `path` is where it binds, for a link the link's place; `also` are other
    paths with the same text, `includes` the files that are part of the rule, counted in its tokens.
    """

    id: str
    path: str
    title: str
    category: str
    severity: str
    inferred: bool
    activation: str
    pattern: str
    pattern_line: int | None
    glob: str
    revision: str
    tokens: int
    also: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotEnforced:
    """A rule that is known but cannot bind, and the reason."""

    id: str
    path: str
    activation: Activation
    reason: str


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """The rules of one file and how they sit with the room that a review has for them."""

    path: str
    rules: tuple[BoundRule, ...]
    tokens: int
    reserve: int
    reserve_from: ReserveFrom
    over_planned: bool
    fits: bool
    not_enforced: tuple[NotEnforced, ...]
    left_out: tuple[UnreadRule, ...] = ()
    """What should bind the file, or be part of a rule that does, and could not be read."""


@dataclass(frozen=True, slots=True)
class ReserveReport:
    """How the repository's rules sit with the reserve, file by file and rule by rule.

    `enough` is the reserve that all but a twentieth of the files would fit, `heaviest` the file
    with the most tokens of rules.
    """

    reserve: int
    reserve_from: ReserveFrom
    rules: int
    always: int
    always_tokens: int
    files: int
    files_over: int
    examples: tuple[tuple[str, int], ...]
    too_large: tuple[Entry, ...]
    largest: tuple[Entry, ...]
    enough: int
    heaviest: tuple[str, int] | None


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
    def all_rules(self) -> tuple[Entry, ...]:
        """Every rule, also those that bind nothing, in id order."""
        rules = (*self.rules.enforced, *self.rules.not_enforced)
        return tuple(sorted(rules, key=lambda rule: rule.id))

    @cached_property
    def rules_by_subject(self) -> dict[tuple[str, str], list[Entry]]:
        """Every rule by its domains and keywords."""
        return by_subject((*self.rules.enforced, *self.rules.not_enforced))

    @cached_property
    def rules_by_id(self) -> dict[str, Entry]:
        """The same by id."""
        return {rule.id: rule for rule in self.all_rules}

    @cached_property
    def replacing(self) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
        """What each document supersedes, and what each is superseded by."""
        supersedes: dict[str, list[str]] = {}
        superseded_by: dict[str, list[str]] = {}
        for old, new in _replaced(self.catalog.entries):
            supersedes.setdefault(new, []).append(old)
            superseded_by.setdefault(old, []).append(new)
        return supersedes, superseded_by

    @cached_property
    def superseded(self) -> dict[str, str]:
        """The decisions that are replaced, each with the one that replaces it."""
        entries = self.catalog.entries
        return dict(_replaced(e for e in entries if e.category is Category.DECISION))

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of all current documents, sorted."""
        return tuple(entry.id for entry in self.catalog.entries)

    @cached_property
    def _not_enforced(self) -> tuple[NotEnforced, ...]:
        listed = [
            NotEnforced(rule.id, rule.path, rule.activation, not_enforced_because(rule))
            for rule in self.rules.not_enforced
        ]
        listed += [
            NotEnforced(
                rule.id, rule.path, rule.activation, "scope is plan: it judges plans, not code"
            )
            for rule in self.rules.for_plans
        ]
        return tuple(sorted(listed, key=lambda each: each.id))

    def why(self, paths: Iterable[str], reserve: Reserve | None = None) -> list[FileAnswer]:
        """The rules that bind each file, and why; the files need not exist.

        Without a reserve it is that of the settings, taken for those of the work tree.
        """
        room = reserve or reserve_for(self.settings)
        answers = []
        for path in paths:
            rules = tuple(self._bound(binding) for binding in self.rules.bind(path))
            tokens = sum(rule.tokens for rule in rules)
            answers.append(
                FileAnswer(
                    path=path,
                    rules=rules,
                    tokens=tokens,
                    reserve=room.tokens,
                    reserve_from=room.source,
                    over_planned=tokens > room.planned,
                    fits=tokens <= room.tokens,
                    not_enforced=self._not_enforced,
                    left_out=tuple(self.rules.unread(path)),
                )
            )
        return answers

    def _bound(self, binding: Binding) -> BoundRule:
        return bound_rule(binding, self.rules.notes(binding.rule))

    def reserve_report(self, paths: Iterable[str]) -> ReserveReport:
        """How the rules of some files, and each rule alone, sit with the reserve."""
        room = reserve_for(self.settings)
        reserve = room.tokens
        enforced = [rule for rule in self.rules.enforced if rule.scope is not Scope.PLAN]
        largest = sorted(enforced, key=lambda rule: (-rule.tokens, rule.id))
        everywhere = [each for each in self.rules.bind(ANY) if self.rules.everywhere(each.rule)]
        sizes = {path: sum(binding.tokens for binding in self.rules.bind(path)) for path in paths}
        heaviest = sorted(sizes.items(), key=lambda pair: (-pair[1], pair[0]))
        over = [pair for pair in heaviest if pair[1] > reserve]
        return ReserveReport(
            reserve=reserve,
            reserve_from=room.source,
            rules=len(enforced),
            always=len(everywhere),
            always_tokens=sum(each.tokens for each in everywhere),
            files=len(sizes),
            files_over=len(over),
            examples=tuple(over[:5]),
            too_large=tuple(rule for rule in largest if rule.tokens > reserve),
            largest=tuple(largest[:5]),
            enough=heaviest[len(heaviest) * SHARE_OVER // 100][1] if heaviest else 0,
            heaviest=heaviest[0] if heaviest else None,
        )


def bound_rule(binding: Binding, notes: tuple[str, ...] = ()) -> BoundRule:
    """A binding as an answer."""
    rule = binding.rule
    return BoundRule(
        id=rule.id,
        path=rule.path,
        title=rule.title,
        category=rule.category,
        severity=rule.severity,
        inferred="severity" in rule.inferred,
        activation=rule.activation,
        pattern=binding.pattern,
        pattern_line=binding.line,
        glob=binding.glob,
        revision=revision_id(rule.id, rule.sha256),
        tokens=binding.tokens,
        also=binding.also,
        includes=tuple(include.path for include in binding.includes),
        notes=notes,
    )


def _replaced(entries: Iterable[Entry]) -> Iterable[tuple[str, str]]:
    """What some documents say replaces what: the old and the new, each pair once."""
    found: dict[tuple[str, str], None] = {}
    for entry in entries:
        for link in entry.links:
            if link.target is not None and link.relation == "supersedes":
                found[link.target, entry.id] = None
            elif link.target is not None and link.relation == "superseded_by":
                found[entry.id, link.target] = None
    return list(found)
