"""Refuses gate commands that cannot fail, by playing them through with every check failing once."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from hornbook.gates.scripts import hollow_script
from hornbook.shell.bash_tree import LONGEST, NotShell, parse
from hornbook.shell.command_kind import ProgramKind, is_checker, judges
from hornbook.shell.hollow_options import empty_run, passes_with_findings
from hornbook.shell.player.lost_failures import (
    ITSELF,
    CommandRefusal,
    disguises,
    is_retried,
    is_waived,
    lost,
)
from hornbook.shell.player.play import Played
from hornbook.shell.player.shell_state import Site, Unknown

Read = Callable[[str], bytes | None]
"""The bytes of a file of the repository, by its path from the gate's folder; none if none is."""

MOST_PAIRS = 24
"""With more commands than this, they are not tried in pairs."""

MOST_SITES = 100
"""With more commands than this, a text is not followed: time grows with their square."""

_LITERAL = re.compile(r"(?<![\w.])([1-9]\d{0,2})(?![\w.])")


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
) -> list[CommandRefusal]:
    """Every reason why a gate's command cannot be trusted to fail; none for one that can.

    `name` is the gate's: one called test has to run tests. `read` gives the scripts, Makefile and
    package.json that the command names; without it they are taken at their word.
    """
    if not command.strip():
        return _refused("", "is no command", "write one")
    if len(command.encode("utf-8", "surrogateescape")) > LONGEST:
        return _refused(command[:40], f"is longer than {LONGEST} bytes", "put it into a script")
    try:
        return _Analysis(command, name, dict(environment or {}), read).reasons()
    except NotShell as problem:
        remedy = "close quotes and brackets, or put it into a script"
        piece = problem.piece.strip()[:80]
        return _refused(piece, "does not read as a shell command", remedy)
    except RecursionError:
        return _refused(command[:80], "is nested too deeply to follow", "put it into a script")
    except Unknown as problem:
        remedy = "end with the check itself, or with `exit $status`"
        return _refused(str(problem), "is an exit status that cannot be known", remedy)


def _refused(piece: str, reason: str, remedy: str) -> list[CommandRefusal]:
    return [CommandRefusal(piece, reason, remedy)]


@lru_cache(maxsize=64)
def can_fail(script: str) -> bool:
    """Whether at least one command of a script is heard; true where that cannot be told.

    Every commit that a plan comes to has its gates judged, mostly with the same scripts.
    """
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

    def reasons(self) -> list[CommandRefusal]:
        """Every reason to refuse the command, in the order of the text."""
        if not self._nominal.passing:
            return []
        if len(self._nominal.sites) > MOST_SITES:
            raise NotShell(f"{self._command[:40]}…")
        found = [CommandRefusal(*each) for each in disguises(parse(self._command))]
        heard, blind = False, list[CommandRefusal]()
        for site in self._reached():
            variants = self._heard_in(site)
            told = passes_with_findings(site.words, self._name)
            blind += [CommandRefusal(told.piece, told.reason, told.remedy)] if told else []
            judging = told is None and judges(list(site.words), site.kind)
            heard = heard or (bool(variants) and judging)
            found += self._reasons_of(site, variants, forgiving=bool(found))
        if not found and not heard:
            if blind:
                return blind
            return _refused(self._command.strip(), "checks nothing or always ends with 0", ITSELF)
        return list(dict.fromkeys(found))

    def _reasons_of(
        self, site: Site, variants: list[dict[Site, int]], *, forgiving: bool
    ) -> list[CommandRefusal]:
        """The reasons that a site gives, heard in these variants of the passing run."""
        if site.kind is ProgramKind.QUESTION:
            return self._passed_by(site)
        if not variants:
            return [] if is_waived(site) else [lost(site)]
        found = self._inverted(site) or self._hollow(site)
        return found if found or forgiving or is_retried(site) else self._forgiven(site, variants)

    def anything_heard(self) -> bool:
        """Whether the failure of any command that checks something changes how the script ends."""
        if not self._nominal.passing or len(self._nominal.sites) > MOST_SITES:
            return True
        return any(
            judges(list(site.words), site.kind)
            and self._heard_in(site)
            and empty_run(site.words, "", dict(site.variables)) is None
            and passes_with_findings(site.words, "") is None
            for site in self._reached()
        )

    def _passed_by(self, question: Site) -> list[CommandRefusal]:
        """A question with an answer after which the command passes and checks nothing."""
        played = [self._play(plan) for plan in (self._nominal.statuses, self._flipped(question))]
        idle = [each for each in played if not _checks(each)]
        if len(idle) == len(played):
            return []
        if not any(each.status == 0 and question in each.sites for each in idle):
            return []
        reason = "decides whether anything is checked at all"
        remedy = "end with `exit 1` where nothing is checked, or check in each case"
        return _refused(question.text, reason, remedy)

    def _inverted(self, site: Site) -> list[CommandRefusal]:
        """A check whose failure is what passes."""
        failing = self._nominal.statuses.get(site, site.usual)
        if not failing or site not in self._nominal.sites or not is_checker(list(site.words)):
            return []
        return _refused(f"! {site.text}", "passes when the check fails", "leave the `!` out")

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
            fails = self._play(plan, {site: other}).status != 0
            if passes and (fails or (is_retried(site) and self._fails_always(plan, site, other))):
                found.append(plan)
        return found

    def _fails_always(self, plan: dict[Site, int], site: Site, status: int) -> bool:
        return self._play({**plan, site: status}).status != 0

    def _circumstances(self, site: Site) -> list[dict[Site, int]]:
        others = [each for each in self._nominal.sites if each != site]
        failing = [each for each in self._play(self._flipped(site)).sites if each != site]
        others = list(dict.fromkeys([*others, *failing]))
        plans = [dict(self._nominal.statuses)]
        if len(others) <= MOST_PAIRS:
            plans += [self._flipped(each) for each in others]
        return [*plans, self._flipped(*others)]

    def _forgiven(self, site: Site, variants: list[dict[Site, int]]) -> list[CommandRefusal]:
        """A status by number that the command turns into a pass."""
        if self._nominal.statuses.get(site, site.usual):
            return []
        for literal in dict.fromkeys(_LITERAL.findall(self._command)):
            status = int(literal)
            if status < 256 and all(
                self._play(plan, {site: status}).status == 0 for plan in variants
            ):
                reason = f"passes when `{site.text}` ends with {status}"
                remedy = "let every other status than 0 fail"
                return _refused(self._command.strip(), reason, remedy)
        return []

    def _hollow(self, site: Site) -> list[CommandRefusal]:
        """A check that runs nothing: by its options, or by the script that it names."""
        given = {**self._values, **dict(site.variables)}
        told = empty_run(site.words, self._name, given)
        if told is None and self._read is not None:
            told = hollow_script(site.words, self._read, _judged)
        return _refused(told.piece, told.reason, told.remedy) if told is not None else []


def _checks(played: Played) -> bool:
    return any(site.kind is ProgramKind.JUDGE for site in played.sites)


def _judged(script: str, *, line: bool) -> str | None:
    """Why a script cannot fail: of a single line every lost failure counts, else all of them."""
    if not line:
        return None if can_fail(script) else "no command in it can make it fail"
    found = refusals(script)
    return str(found[0]).rstrip(".") if found else None
