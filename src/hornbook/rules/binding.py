"""Which rules bind a file, and why; and which rules nobody can enforce."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hornbook.rules.catalog import Entry
from hornbook.rules.document import Pattern
from hornbook.text.glob_index import GlobIndex
from hornbook.text.globs import Glob, GlobSet, parse_set
from hornbook.vocabulary.terms import Activation, Category, Scope

NOT_ENFORCED_BECAUSE = {
    Activation.MODEL: "its tool lets a model decide when it applies: give it patterns",
    Activation.MANUAL: "it applies only when a person names it: give it patterns",
    Activation.NEVER: "it binds no file as it is written",
    Activation.UNKNOWN: "it cannot be understood: see the problems that ingest reports",
}


EVERYTHING = frozenset({"*", "**", "**/*", "/**", "/**/*"})


@dataclass(frozen=True, slots=True)
class Binding:
    """A rule that binds a file, and the pattern that made it so."""

    rule: Entry
    pattern: str
    line: int | None


class RuleBook:
    """Every rule, indexed so that a file's rules are found without trying them all.

    With `nearest`, of several AGENTS.md files above a file only the closest one binds.
    """

    def __init__(self, entries: Iterable[Entry], *, nearest: bool = False) -> None:
        rules = [entry for entry in entries if entry.category is Category.SOP or _imported(entry)]
        self._nearest = nearest
        self.not_enforced = tuple(rule for rule in rules if not rule.activation.enforced)
        self.enforced = tuple(rule for rule in rules if rule.activation.enforced)
        self.for_plans = tuple(rule for rule in self.enforced if rule.scope is Scope.PLAN)
        for_code = [rule for rule in self.enforced if rule.scope is not Scope.PLAN]
        self._always = [rule for rule in for_code if rule.activation is Activation.ALWAYS]
        by_pattern = [rule for rule in for_code if rule.activation is not Activation.ALWAYS]
        self._index = GlobIndex((rule, globs_of(rule)) for rule in by_pattern)

    def bind(self, path: str) -> list[Binding]:
        """The rules that bind a file, in id order."""
        bound = [Binding(rule, "**", _first_line(rule.patterns)) for rule in self._always]
        bound += [_because(rule, glob) for rule, glob in self._index.match(path)]
        if self._nearest:
            bound = _nearest_only(bound)
        return sorted(bound, key=lambda binding: binding.rule.id)

    def bind_plan(self, paths: Sequence[str]) -> list[Entry]:
        """The rules of scope plan or all for a plan about these files, in id order."""
        rules = [rule for rule in self.enforced if rule.scope is not Scope.CODE]
        return [rule for rule in rules if _concerns(rule, paths)]

    def everywhere(self, rule: Entry) -> bool:
        """Whether a rule binds every file there could be."""
        if rule.activation is Activation.ALWAYS:
            return True
        patterns = {pattern.glob for pattern in rule.patterns}
        return not patterns.isdisjoint(EVERYTHING) and not any(
            glob.startswith("!") for glob in patterns
        )


def _concerns(rule: Entry, paths: Sequence[str]) -> bool:
    if rule.activation is Activation.ALWAYS:
        return True
    globs = globs_of(rule)
    return any(globs.match(path) is not None for path in paths)


def globs_of(rule: Entry) -> GlobSet:
    """The compiled patterns of a rule."""
    return parse_set(pattern.glob for pattern in rule.patterns)


def _imported(entry: Entry) -> bool:
    return entry.tool not in {"hornbook", "decision", "plain", "record", "code", "plan"}


def _because(rule: Entry, glob: Glob) -> Binding:
    line = next((each.line for each in rule.patterns if each.glob == glob.pattern), None)
    return Binding(rule, glob.pattern, line)


def _first_line(patterns: Sequence[Pattern]) -> int | None:
    return patterns[0].line if patterns else None


def _nearest_only(bound: list[Binding]) -> list[Binding]:
    nested = [binding for binding in bound if binding.rule.tool == "agents"]
    depth = max((binding.rule.path.count("/") for binding in nested), default=0)
    return [
        binding
        for binding in bound
        if binding.rule.tool != "agents" or binding.rule.path.count("/") == depth
    ]


MOST_LISTED = 20

Subject = tuple[str, str]


def subjects(rule: Entry) -> set[Subject]:
    """The domains and keywords of a rule."""
    domains = {("domain", word.casefold()) for word in rule.domains}
    return domains | {("keyword", word.casefold()) for word in rule.keywords}


def by_subject(rules: Iterable[Entry]) -> dict[Subject, list[Entry]]:
    """Rules by each of their domains and keywords."""
    found: dict[Subject, list[Entry]] = {}
    for rule in rules:
        for subject in subjects(rule):
            found.setdefault(subject, []).append(rule)
    return found


def related(
    bound: Sequence[Entry], index: Mapping[Subject, Sequence[Entry]]
) -> list[tuple[str, str]]:
    """The rules that share a domain or keyword with those that bind, and the reason for each.

    Beyond the first twenty only their number is told.
    """
    taken = {rule.id for rule in bound}
    shared: dict[str, list[str]] = {}
    for kind, word in sorted({subject for rule in bound for subject in subjects(rule)}):
        for rule in index.get((kind, word), ()):
            if rule.id not in taken:
                shared.setdefault(rule.id, []).append(f"{kind} {word}")
    listed = [
        (rule_id, f"related, not binding: it shares {', '.join(shared[rule_id])}")
        for rule_id in sorted(shared)[:MOST_LISTED]
    ]
    if len(shared) > MOST_LISTED:
        more = f"{len(shared) - MOST_LISTED} more rules are related and not binding"
        listed.append(("…", more))
    return listed
