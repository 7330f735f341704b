"""Which rules bind a file, and why; and which rules nobody can enforce."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hornbook.rules.catalog import Entry
from hornbook.rules.document import Include, Unread
from hornbook.text.glob_index import GlobIndex
from hornbook.text.globs import Glob, GlobSet, parse_set
from hornbook.vocabulary.terms import Activation, Category, Scope

NOT_ENFORCED_BECAUSE = {
    Activation.MODEL: "its tool lets a model decide when it applies: give it patterns",
    Activation.MANUAL: "it applies only when a person names it: give it patterns",
    Activation.NEVER: "it binds no file as it is written",
    Activation.UNKNOWN: "it cannot be understood: see the problems that ingest reports",
}


_NO_RULE_FORMATS = frozenset(
    {"hornbook", "decision", "plain", "record", "code", "plan", "included"}
)
EVERYTHING = frozenset({"*", "**", "**/*", "/**", "/**/*"})


# Problems whose message says why a rule binds nothing.
_REASONS = frozenset(
    {
        "broken_link", "excluded_from_review", "ignored_by_tool", "lfs_pointer", "mode_only",
        "not_a_rule", "not_written", "other_case", "passed_over", "regex_not_read", "root_only",
        "rules_not_read", "tool_not_shown", "unreadable_file", "unreadable_folder",
    }
)  # fmt: skip
# Problems whose message says how tools differ about a rule that binds.
_NOTES = frozenset({"codex_only", "read_otherwise"})
_NO_RULES = "no_rules"
_WHOLLY_UNREAD = (
    Unread.BROKEN_LINK,
    Unread.LFS_POINTER,
    Unread.NOT_WRITTEN,
    Unread.UNREADABLE_FILE,
    Unread.UNREADABLE_FOLDER,
)


def not_enforced_because(rule: Entry) -> str:
    """Why a rule binds nothing: what its reader said, else what its activation means."""
    said = (problem.message for problem in rule.problems if problem.code in _REASONS)
    return next(said, NOT_ENFORCED_BECAUSE[rule.activation])


def of_no_tool(rule: Entry) -> bool:
    """Whether a file has only the name of a rule: nothing shows the tool that would read it."""
    return any(problem.code == "tool_not_shown" for problem in rule.problems)


@dataclass(frozen=True, slots=True)
class Binding:
    """A rule that binds a file, and the pattern that made it so.

    `pattern` is the text in the rule's file, `glob` the same in our dialect. `also` are the other
    paths that bind the same text to the file, `includes` the files whose text is part of the rule
    and does not bind the file anyway.
    """

    rule: Entry
    pattern: str
    glob: str
    line: int | None
    also: tuple[str, ...] = ()
    includes: tuple[Include, ...] = ()

    @property
    def tokens(self) -> int:
        """How many tokens the rule has with all that is part of it."""
        return self.rule.tokens + sum(each.tokens for each in self.includes)


@dataclass(frozen=True, slots=True)
class UnreadRule:
    """Something that should bind a file and could not be read: the rule, the path, the reason."""

    id: str
    path: str
    reason: Unread


class RuleBook:
    """Every rule, indexed so that a file's rules are found without trying them all.

    With `nearest`, of several AGENTS.md files above a file only the closest one binds.
    """

    def __init__(self, entries: Iterable[Entry], *, nearest: bool = False) -> None:
        rules = [
            entry
            for entry in entries
            if is_rule(entry.category, entry.tool)
            and all(problem.code != _NO_RULES for problem in entry.problems)
        ]
        self._overrides = {
            entry.path.rpartition("/")[0]: entry.path
            for entry in rules
            if entry.path.rpartition("/")[2] == "AGENTS.override.md"
        }
        self._nearest = nearest
        self.not_enforced = tuple(rule for rule in rules if not rule.activation.enforced)
        self.enforced = tuple(rule for rule in rules if rule.activation.enforced)
        self.for_plans = tuple(rule for rule in self.enforced if rule.scope is Scope.PLAN)
        for_code = [rule for rule in self.enforced if rule.scope is not Scope.PLAN]
        self._always = [rule for rule in for_code if rule.activation is Activation.ALWAYS]
        by_pattern = [rule for rule in for_code if rule.activation is not Activation.ALWAYS]
        self._index = GlobIndex((rule, globs_of(rule)) for rule in by_pattern)
        lost = ((rule, _lost_because(rule)) for rule in self.not_enforced)
        self._lost = [(rule, why) for rule, why in lost if why is not None]

    def bind(self, path: str) -> list[Binding]:
        """The rules that bind a file, in id order, each text once."""
        return _with_includes(_each_text_once(self._bound(path)), path)

    def bind_all(self, paths: Iterable[str]) -> list[tuple[Binding, frozenset[str]]]:
        """The rules that bind some of the files, in id order, each once and with those files.

        What is part of a rule for one of its files is part of it here.
        """
        bound: dict[str, Binding] = {}
        files: dict[str, set[str]] = {}
        for path in paths:
            for each in self.bind(path):
                name = each.rule.id
                bound[name] = _united(bound[name], each) if name in bound else each
                files.setdefault(name, set()).add(path)
        return [(bound[name], frozenset(files[name])) for name in sorted(bound)]

    def unread(self, path: str) -> list[UnreadRule]:
        """What should bind a file, or be part of what does, and could not be read."""
        found = {
            UnreadRule(binding.rule.id, include.path, include.unread)
            for binding in self._bound(path)
            for include in binding.rule.includes
            if include.unread is not None
        }
        found |= {
            UnreadRule(rule.id, rule.path, why)
            for rule, why in self._lost
            if not rule.patterns or globs_of(rule).match(path) is not None
        }
        return sorted(found, key=lambda each: (each.id, each.path, each.reason))

    def _bound(self, path: str) -> list[Binding]:
        bound = [_always(rule) for rule in self._always]
        bound += [_because(rule, glob) for rule, glob in self._index.match(path)]
        if self._nearest:
            bound = _nearest_only(bound)
        return sorted(bound, key=lambda binding: binding.rule.id)

    def notes(self, rule: Entry) -> tuple[str, ...]:
        """What tools differ about: who loads the rule, and how its patterns are read elsewhere."""
        said = [problem.message for problem in rule.problems if problem.code in _NOTES]
        folder, _, name = rule.path.rpartition("/")
        if name == "AGENTS.md" and folder in self._overrides:
            said.append(f"Codex reads {self._overrides[folder]} in its place; other tools read it.")
        return tuple(dict.fromkeys(said))

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


def is_rule(category: Category, tool: str) -> bool:
    """Whether a document is a rule: an SOP, or a file in another tool's rule format."""
    return category is Category.SOP or tool not in _NO_RULE_FORMATS


def is_broken_link(rule: Entry) -> bool:
    """Whether a rule is a link that leads to nothing, so that nobody knows what it says."""
    return any(problem.code == Unread.BROKEN_LINK for problem in rule.problems)


def _lost_because(rule: Entry) -> Unread | None:
    """Why nobody knows what a rule says, if nobody does."""
    codes = {problem.code for problem in rule.problems}
    return next((why for why in _WHOLLY_UNREAD if why in codes), None)


def _each_text_once(bound: list[Binding]) -> list[Binding]:
    """The bindings with one for each text: that of the widest reach, then the regular file's."""
    groups: dict[tuple[str, str, str], list[Binding]] = {}
    for each in bound:
        rule = each.rule
        groups.setdefault((rule.sha256, rule.severity, rule.scope), []).append(each)
    if len(groups) == len(bound):
        return bound
    kept = []
    for group in groups.values():
        first, *others = sorted(group, key=_precedence)
        every = [i for each in (first, *others) for i in each.rule.includes]
        # What one tool reads only for some files and another for all is read for all.
        includes = {i.path: i for i in sorted(every, key=lambda i: not i.globs)}
        kept.append(
            replace(
                first,
                rule=replace(first.rule, includes=tuple(includes.values())),
                also=tuple(sorted(each.rule.path for each in others)),
            )
            if others
            else first
        )
    return sorted(kept, key=lambda binding: binding.rule.id)


def _united(one: Binding, other: Binding) -> Binding:
    """A binding of a rule to several files: with all that is part of it for any of them."""
    if (one.also, one.includes) == (other.also, other.includes):
        return one
    includes = {each.path: each for each in (*one.includes, *other.includes)}
    also = tuple(sorted({*one.also, *other.also}))
    return replace(one, also=also, includes=tuple(includes.values()))


def _precedence(binding: Binding) -> tuple[int, bool, str]:
    rule = binding.rule
    folders = 0 if binding.glob in EVERYTHING else binding.glob.count("/")
    return (folders, bool(rule.link), rule.path)


def _with_includes(bound: list[Binding], path: str) -> list[Binding]:
    """The bindings with what is part of each, every text once.

    A file that holds nothing but includes is no rule where all of them bind anyway.
    """
    if not any(each.rule.includes for each in bound):
        return bound
    told = {each.rule.sha256 for each in bound}
    kept = []
    for each in bound:
        more = [i for i in each.rule.includes if _is_part(i, path) and i.sha256 not in told]
        told.update(include.sha256 for include in more)
        if more or not each.rule.only_includes:
            kept.append(replace(each, includes=tuple(more)))
    return kept


def _is_part(include: Include, path: str) -> bool:
    """Whether an included file that could be read is part of its rule for a file."""
    if include.unread is not None:
        return False
    return not include.globs or parse_set(include.globs).match(path) is not None


def _because(rule: Entry, glob: Glob) -> Binding:
    written = next((each for each in rule.patterns if each.glob == glob.pattern), None)
    if written is None:
        return Binding(rule, glob.pattern, glob.pattern, None)
    return Binding(rule, written.raw, written.glob, written.line)


def _always(rule: Entry) -> Binding:
    if not rule.patterns:
        return Binding(rule, "**", "**", None)
    first = rule.patterns[0]
    return Binding(rule, first.raw if first.glob == "**" else "**", "**", first.line)


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
