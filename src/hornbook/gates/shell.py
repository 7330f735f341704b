"""Refuses gate commands that cannot fail, by playing them through with every check failing once."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tree_sitter import Node

from hornbook.gates.scripts import hollow_script
from hornbook.gates.shell_flags import empty_run
from hornbook.gates.shell_run import Played
from hornbook.gates.shell_state import Site
from hornbook.gates.shell_tree import LONGEST, NotShell, source
from hornbook.gates.shell_values import Unknown
from hornbook.gates.shell_words import Kind

Read = Callable[[str], bytes | None]
"""The bytes of a file of the repository, by its path from the gate's folder; none if none is."""

MOST_PAIRS = 24
"""With more commands than this, they are not tried in pairs."""

MOST_SITES = 100
"""With more commands than this, a text is not followed: time grows with their square."""

_LITERAL = re.compile(r"(?<![\w.])([1-9]\d{0,2})(?![\w.])")
_FAILS = re.compile(r"(exit|return)\s+[1-9$\"]|\bfalse\b")
_ITSELF = "name the command whose failure must stop a change, and let it end the line"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a command is refused: the piece of it, what that does, and what to write instead."""

    piece: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"`{self.piece}` {self.reason}: {self.remedy}."


class _Plan(NamedTuple):
    """A passing run: the status of each site, and those that run in it."""

    statuses: dict[Site, int]
    passing: bool
    sites: list[Site]


def refusals(
    command: str,
    *,
    name: str = "",
    environment: Mapping[str, str] | None = None,
    read: Read | None = None,
) -> list[Refusal]:
    """Every reason why a gate's command cannot be trusted to fail; none for one that can.

    `name` is the gate's: one called test has to run tests. `read` gives the scripts, Makefile and
    package.json that the command names; without it they are taken at their word.
    """
    values = dict(environment or {})
    if not command.strip():
        return [Refusal(command.strip(), "is no command", "write one")]
    if len(command.encode("utf-8", "surrogateescape")) > LONGEST:
        return [Refusal(command[:40], f"is longer than {LONGEST} bytes", "put it into a script")]
    try:
        return _Analysis(command, name, values, read).reasons()
    except NotShell as problem:
        reason = "does not read as a shell command"
        return [
            Refusal(
                problem.piece.strip()[:80],
                reason,
                "close quotes and brackets, or put it into a script",
            )
        ]
    except RecursionError:
        return [Refusal(command[:80], "is nested too deeply to follow", "put it into a script")]
    except Unknown as problem:
        reason = "is an exit status that cannot be known"
        return [Refusal(str(problem), reason, "end with the check itself, or with `exit $status`")]


def can_fail(script: str) -> bool:
    """Whether at least one command of a script is heard; true where that cannot be told."""
    try:
        return _Analysis(script, "", {}, None).anything_heard()
    except (NotShell, Unknown, RecursionError):
        return True


class _Analysis:
    """Plays one command often enough to know which failures are heard."""

    def __init__(self, command: str, name: str, values: dict[str, str], read: Read | None) -> None:
        self._command = command
        self._name = name
        self._values = values
        self._read = read
        self._nominal = self._passing_plan()

    def reasons(self) -> list[Refusal]:
        """Every reason to refuse the command, in the order of the text."""
        if not self._nominal.passing:
            return []
        if len(self._nominal.sites) > MOST_SITES:
            raise NotShell(f"{self._command[:40]}…")
        found: list[Refusal] = []
        heard = False
        for site in self._reached():
            variants = self._heard_in(site)
            heard = heard or (bool(variants) and site.kind is not Kind.STEP)
            if site.kind is Kind.QUESTION:
                continue
            if not variants:
                found.append(_lost(site))
            else:
                found += self._hollow(site) or self._forgiven(site, variants)
        if not found and not heard:
            piece = self._command.strip()
            found.append(Refusal(piece, "always ends with 0", _ITSELF))
        return list(dict.fromkeys(found))

    def anything_heard(self) -> bool:
        """Whether the failure of any command changes how the script ends."""
        if not self._nominal.passing or len(self._nominal.sites) > MOST_SITES:
            return True
        sites = (site for site in self._reached() if site.kind is not Kind.STEP)
        return any(self._heard_in(site) for site in sites)

    def _play(self, plan: dict[Site, int], once: dict[Site, int] | None = None) -> Played:
        return Played(self._command, plan, once or {}, self._values)

    def _passing_plan(self) -> _Plan:
        """The statuses with which the command passes: what must not be found fails to find it."""
        plan: dict[Site, int] = {}
        while True:
            played = self._play(plan)
            if played.status == 0 or not played.sites:
                return _Plan(plan, played.status == 0, played.sites)
            last = played.sites[-1]
            if last in plan:
                return _Plan(plan, passing=False, sites=played.sites)
            plan[last] = int(not last.usual)

    def _reached(self) -> list[Site]:
        """Every site that runs in the passing run or in one where a single site does otherwise."""
        found = dict.fromkeys(self._nominal.sites)
        for site in list(found):
            found |= dict.fromkeys(self._play(self._flipped(site)).sites)
        return list(found)

    def _flipped(self, *sites: Site) -> dict[Site, int]:
        plan = dict(self._nominal.statuses)
        for site in sites:
            plan[site] = int(not plan.get(site, site.usual))
        return plan

    def _heard_in(self, site: Site) -> list[dict[Site, int]]:
        """The circumstances in which the command passes, but not when this site does otherwise."""
        found = []
        other = int(not self._nominal.statuses.get(site, site.usual))
        for plan in self._circumstances(site):
            passed = self._play(plan)
            passes = passed.status == 0 and site in passed.sites
            if passes and self._play(plan, {site: other}).status != 0:
                found.append(plan)
        return found

    def _circumstances(self, site: Site) -> list[dict[Site, int]]:
        others = [each for each in self._nominal.sites if each != site]
        failing = [each for each in self._play(self._flipped(site)).sites if each != site]
        others = list(dict.fromkeys([*others, *failing]))
        plans = [dict(self._nominal.statuses)]
        if len(others) <= MOST_PAIRS:
            plans += [self._flipped(each) for each in others]
        return [*plans, self._flipped(*others)]

    def _forgiven(self, site: Site, variants: list[dict[Site, int]]) -> list[Refusal]:
        """A status by number that the command turns into a pass."""
        if self._nominal.statuses.get(site, site.usual):
            return []
        for literal in dict.fromkeys(_LITERAL.findall(self._command)):
            status = int(literal)
            if status < 256 and all(
                self._play(plan, {site: status}).status == 0 for plan in variants
            ):
                reason = f"passes when `{site.text}` ends with {status}"
                return [
                    Refusal(self._command.strip(), reason, "let every other status than 0 fail")
                ]
        return []

    def _hollow(self, site: Site) -> list[Refusal]:
        """A check that runs nothing: by its options, or by the script that it names."""
        given = {**self._values, **dict(site.variables)}
        told = empty_run(site.words, self._name, given)
        if told is None and self._read is not None:
            told = hollow_script(site.words, self._read, _judged)
        return [Refusal(told.piece, told.reason, told.remedy)] if told is not None else []


def _judged(script: str, *, line: bool) -> str | None:
    """Why a script cannot fail: of a single line every lost failure counts, else all of them."""
    if not line:
        return None if can_fail(script) else "no command in it can make it fail"
    found = refusals(script)
    return str(found[0]).rstrip(".") if found else None


def _lost(site: Site) -> Refusal:
    """Where the failure of a site gets lost."""
    node: Node = site.node
    while (parent := node.parent) is not None:
        told = _lost_in(parent, node, site.text)
        if told is not None:
            return told
        node = parent
    return Refusal(site.text, "fails without being heard", _ITSELF)


def _lost_in(parent: Node, node: Node, text: str) -> Refusal | None:
    after = _after(parent, node)
    if parent.type == "list" and parent.children[1].type == "||" and node == parent.children[0]:
        right = source(parent.children[-1])
        if not _FAILS.search(right):
            return Refusal(f"|| {right}", f"turns the failure of `{text}` into a pass", "remove it")
    if parent.type == "pipeline" and after:
        reason = f"hides the failure of `{text}`"
        piece = f"| {source(after[-1])}"
        return Refusal(piece, reason, "write `set -o pipefail` before it, or leave the pipe out")
    if parent.type in {"if_statement", "elif_clause", "while_statement"} and _asks(parent, node):
        remedy = "write the command itself, or `|| exit 1` after it"
        return Refusal(source(parent), f"swallows the failure of `{text}`", remedy)
    if parent.type == "command_substitution":
        return Refusal(source(parent), "is only used for what it prints", "run it as a command")
    return _lost_in_sequence(parent, node, text)


def _lost_in_sequence(parent: Node, node: Node, text: str) -> Refusal | None:
    if parent.type not in {
        "program", "subshell", "compound_statement", "do_group", "if_statement", "else_clause",
        "elif_clause", "case_item",
    }:  # fmt: skip
        return None
    sibling = node.next_sibling
    if sibling is not None and sibling.type == "&":
        return Refusal(f"{source(node)} &", "is not waited for", "leave the `&` out")
    after = _after(parent, node)
    if after and parent.type != "if_statement":
        piece = f"{source(node)}; {source(after[0])}"
        remedy = "join them with `&&`, or write `set -e` first"
        return Refusal(piece, f"goes on when `{text}` fails", remedy)
    if parent.type == "do_group":
        reason = f"loses the failure of `{text}` in all rounds but the last"
        return Refusal(source(parent), reason, "write `|| exit 1` after it")
    return None


def _after(parent: Node, node: Node) -> list[Node]:
    """What follows a node in its parent."""
    return [
        child
        for child in parent.children
        if child.is_named and child.type != "comment" and child.start_byte >= node.end_byte
    ]


def _asks(parent: Node, node: Node) -> bool:
    """Whether a node stands in the condition."""
    marks = [child for child in parent.children if child.type in {"then", "do_group"}]
    return bool(marks) and node.end_byte <= marks[0].start_byte
