"""What an examination of the rules finds, how bad that is, and the grade that follows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hornbook.vocabulary.terms import Level


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of finding: how bad it is, and what it says in general."""

    level: Level
    meaning: str


CODES = {
    "broken_link": Code(Level.ERROR, "A rule file is a link that leads nowhere or outside."),
    "broken_include": Code(Level.ERROR, "A rule includes a file that is not there."),
    "unreadable_rule": Code(Level.ERROR, "A rule cannot be read as it was meant."),
    "bad_pattern": Code(Level.ERROR, "A pattern is not in the dialect, so the rule binds nothing."),
    "over_reserve": Code(Level.ERROR, "A rule alone is larger than the room for all rules."),
    "no_rules": Code(Level.WARNING, "There is no rule that binds a file."),
    "missing_rule": Code(Level.WARNING, "A rule names another rule that is not there."),
    "ignored_key": Code(Level.WARNING, "A rule says by a key what its tool does not read there."),
    "empty_rule": Code(Level.WARNING, "A rule binds files and says nothing."),
    "dead_scope": Code(Level.WARNING, "A pattern of a rule matches no file."),
    "always_violated": Code(Level.WARNING, "Every recorded review says that the rule is violated."),
    "over_tool_limit": Code(Level.WARNING, "A rule is longer than its tool reads or asks for."),
    "missing_command": Code(Level.WARNING, "A rule names a script or target that is not defined."),
    "missing_path": Code(Level.WARNING, "A rule names a path that is not in the repository."),
    "missing_document": Code(Level.WARNING, "A rule links a document that is not there."),
    "duplicate": Code(Level.WARNING, "Two rule files hold the same text and may drift apart."),
    "stale": Code(Level.INFO, "A name has left the file that a rule cites for it."),
    "contradiction_candidate": Code(Level.INFO, "Two rules may demand opposite things."),
    "near_duplicate": Code(Level.INFO, "Two rule files hold nearly the same text."),
    "always_on_weight": Code(Level.INFO, "A rule that binds every file is heavy."),
    "unowned": Code(Level.INFO, "CODEOWNERS names nobody for a rule."),
    "uncovered": Code(Level.INFO, "No rule binds the files of a folder."),
    "never_cited": Code(Level.INFO, "No recorded review answers a rule."),
}
"""Every code, the ones that matter most first."""

_RANK = {code: rank for rank, code in enumerate(CODES)}
# A rule that is not in force, or only partly, is worse than one that says something wrong.
_NOT_IN_FORCE = frozenset({"broken_link", "broken_include", "unreadable_rule", "bad_pattern"})
_HARDLY_IN_FORCE = frozenset(
    {
        *("no_rules", "missing_rule", "ignored_key", "empty_rule", "dead_scope"),
        *("always_violated", "over_tool_limit"),
    }
)


@dataclass(frozen=True, slots=True)
class Edit:
    """A change that heals a finding: in one line of a file, `old` becomes `new`.

    Without a line it is the whole file that is written anew, as UTF-8 and from its first text on.
    """

    line: int | None
    old: str = ""
    new: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: where, with which rule, why, and what to do about it."""

    code: str
    path: str
    line: int | None
    rule: str | None
    message: str
    remedy: str
    edit: Edit | None = None
    accepted_until: str | None = None

    @property
    def level(self) -> Level:
        """How bad it is."""
        return CODES[self.code].level

    def answer(self) -> dict[str, object]:
        """The finding as JSON has it."""
        return {
            "code": self.code,
            "level": self.level.value,
            "path": self.path,
            "line": self.line,
            "rule": self.rule,
            "message": self.message,
            "remedy": self.remedy,
            "fixable": self.edit is not None,
            "accepted_until": self.accepted_until,
        }


@dataclass(frozen=True, slots=True)
class NotJudged:
    """A code about which nothing, or not everything, could be said; and why."""

    code: str
    reason: str


@dataclass(frozen=True)
class Health:
    """All that an examination found, the worst first."""

    rules: int
    findings: tuple[Finding, ...]
    not_judged: tuple[NotJudged, ...]

    @cached_property
    def open(self) -> tuple[Finding, ...]:
        """The findings that nobody accepted."""
        return tuple(each for each in self.findings if each.accepted_until is None)

    @property
    def counts(self) -> dict[str, int]:
        """How many findings that nobody accepted there are of each level."""
        counted = Counter(each.level for each in self.open)
        return {level.value: counted[level] for level in Level}

    @property
    def grade(self) -> str:
        """A letter for the worst thing that nobody accepted.

        F: a rule is not in force; D: one is too large to be handed to anybody; C: one is hardly in
        force, or there is none at all; B: one says something that is not so; A: none of this.
        """
        return max((cost_of(each.code) for each in self.open), default="A")

    def among(self, paths: Sequence[str]) -> "Health":
        """The same about some files and folders only."""
        wanted = tuple(f"{path}/" for path in paths)
        kept = (f for f in self.findings if f"{f.path}/".startswith(wanted) or "" in paths)
        return replace(self, findings=tuple(kept))

    def answer(self, seconds: float) -> dict[str, object]:
        """The answer as JSON has it."""
        return {
            "grade": self.grade,
            "counts": self.counts,
            "findings": [each.answer() for each in self.findings],
            "not_judged": [{"code": n.code, "reason": n.reason} for n in self.not_judged],
            "seconds": seconds,
        }


def cost_of(code: str) -> str:
    """The grade that a rule set with a finding of this kind has at best, as `grade` says it."""
    if code in _NOT_IN_FORCE:
        return "F"
    if CODES[code].level is Level.ERROR:
        return "D"
    if code in _HARDLY_IN_FORCE:
        return "C"
    return "B" if CODES[code].level is Level.WARNING else "A"


def in_order(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Each finding once, the worst first."""
    return tuple(sorted(dict.fromkeys(findings), key=order))


def order(finding: Finding) -> tuple[int, int, str, int, str]:
    """What findings are ordered by, the worst first."""
    depth = finding.path.count("/")
    return _RANK[finding.code], depth, finding.path, finding.line or 0, finding.message
