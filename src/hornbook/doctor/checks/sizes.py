"""Rules that are too long: for the room that a review has, for their tool, for every file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hornbook.doctor.finding import Finding
from hornbook.doctor.rule_set import Rule, RuleSet
from hornbook.vocabulary.terms import Scope

HEAVY_SHARE = 10
"""The percentage of the reserve from which on a rule that binds every file is called heavy."""
CODEX_BYTES = 32 * 1024


@dataclass(frozen=True, slots=True)
class ToolLimit:
    """What a tool's documentation says about the length of a rule file."""

    most: int
    unit: str
    said: str


LIMITS = {
    "windsurf": ToolLimit(
        12_000, "characters", "Windsurf reads at most 12000 characters of a file"
    ),
    "copilot": ToolLimit(1000, "lines", "GitHub's documentation asks for at most 1000 lines"),
    "cursor": ToolLimit(500, "lines", "Cursor's documentation asks for less than 500 lines"),
}


def over_reserve(rules: RuleSet, reserve: int) -> Iterator[Finding]:
    """The rules that alone are larger than the room for all rules of a review."""
    for rule in rules.rules:
        entry = rule.entry
        binds = entry.activation.enforced and entry.scope is not Scope.PLAN
        if binds and entry.tokens > reserve:
            message = (
                f"The rule has {entry.tokens} tokens, more than the {reserve} that a review has "
                "for all rules together."
            )
            remedy = "Split it into rules with narrower scopes, or raise `reserve`."
            yield Finding("over_reserve", rule.path, None, rule.id, message, remedy)


def over_tool_limit(rules: RuleSet) -> Iterator[Finding]:
    """The rules that are longer than their own tool reads or asks for."""
    for rule in rules.rules:
        limit = LIMITS.get(rule.document.tool)
        if limit is None:
            continue
        text = rule.document.head + rule.document.body
        size = len(text) if limit.unit == "characters" else text.count("\n") + 1
        if size > limit.most:
            message = f"The file has {size} {limit.unit}; {limit.said}."
            remedy = "Move parts of it into rules of their own."
            yield Finding("over_tool_limit", rule.path, None, rule.id, message, remedy)
    yield from _codex_chains(rules)


def _codex_chains(rules: RuleSet) -> Iterator[Finding]:
    """Codex joins the AGENTS.md files from the root down and stops at 32 KiB."""
    sizes = {
        rule.document.path.rpartition("/")[0]: (
            rule,
            len((rule.document.head + rule.document.body).encode()),
        )
        for rule in rules.rules
        if rule.document.path.rpartition("/")[2] == "AGENTS.md"
        and "/." not in f"/{rule.document.path}"
    }
    for folder, (rule, size) in sorted(sizes.items()):
        above = sum(sizes[each][1] for each in _folders_above(folder) if each in sizes)
        if above <= CODEX_BYTES < above + size:
            message = (
                f"AGENTS.md files from the root to here have {above + size} bytes; "
                f"Codex reads {CODEX_BYTES} by default and leaves the rest out."
            )
            remedy = "Shorten them, or raise `project_doc_max_bytes` in Codex."
            yield Finding("over_tool_limit", rule.path, None, rule.id, message, remedy)


def _folders_above(folder: str) -> Iterator[str]:
    while folder:
        folder = folder.rpartition("/")[0]
        yield folder


def always_on_weight(rules: RuleSet, reserve: int) -> Iterator[Finding]:
    """The rules that bind every file and take a good part of the room that each file has."""
    everywhere = _each_text_once([rule for rule in rules.rules if _everywhere(rule, rules)])
    total = sum(rule.entry.tokens for rule in everywhere)
    for rule in everywhere:
        share = rule.entry.tokens * 100 // max(reserve, 1)
        if share >= HEAVY_SHARE:
            message = (
                f"The rule goes with every file: {rule.entry.tokens} tokens, {share} % of the "
                f"reserve; all rules that bind every file have {total}."
            )
            remedy = "Move what is for some files only into rules with patterns."
            yield Finding("always_on_weight", rule.path, None, rule.id, message, remedy)


def _everywhere(rule: Rule, rules: RuleSet) -> bool:
    entry = rule.entry
    return (
        entry.activation.enforced and entry.scope is not Scope.PLAN and rules.book.everywhere(entry)
    )


def _each_text_once(rules: Sequence[Rule]) -> list[Rule]:
    """One rule for each text, as a review gets it: links and copies add nothing."""
    found: dict[tuple[str, str, str], Rule] = {}
    for rule in sorted(rules, key=lambda each: each.document.path != each.path):
        entry = rule.entry
        found.setdefault((entry.sha256, entry.severity, entry.scope), rule)
    return list(found.values())
