"""Compiles what binds an agent into `.hornbook/active.json`, from the active plan and settings."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from hornbook.disk import write_whole
from hornbook.errors import BadGlob, UsageError
from hornbook.gates.definitions import check_gates
from hornbook.hooks.active_file import (
    ACTIVE,
    STATE,
    Active,
    CompiledPattern,
    CompiledPatterns,
    active_slug,
    plan_path,
    sources_of,
)
from hornbook.hooks.host import DEFAULT_TOOLS
from hornbook.plans.active import active_plan
from hornbook.plans.plan import Constraints
from hornbook.plans.store import PlanView
from hornbook.plans.text import parse
from hornbook.rules.document import Problem
from hornbook.settings.load import load
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings
from hornbook.text.globs import Glob, parse_set
from hornbook.text.plan_syntax import KINDS, is_guidance, read_bullet
from hornbook.vocabulary.terms import Level

_UNFINISHED = frozenset({"missing_section", "no_title"})
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def read_constraints(text: str) -> Constraints:
    """What the bullets under `Constraints` say, in order; other text there says nothing.

    A text that is no plan, such as one that is just being edited, is read for what looks like
    constraints: a guard that took them for none would let everything through.
    """
    read = parse(text)
    if "Constraints" in read.stated and {each.code for each in read.problems} <= _UNFINISHED:
        return read.plan.constraints
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for line in _section(text):
        bullet = read_bullet(line)
        if bullet is not None and not is_guidance("Constraints", line):
            found[bullet[0]] += bullet[1]
    return Constraints(*(tuple(found[kind]) for kind in KINDS))


def _section(text: str) -> list[str]:
    """The lines under the heading `Constraints`, up to the next that is not below it."""
    lines: list[str] = []
    level = 0
    for line in _outside_fences(text):
        heading = _HEADING.fullmatch(line)
        if heading and (not level or len(heading[1]) <= level):
            level = len(heading[1]) if heading[2].lower() == "constraints" else 0
        elif level:
            lines.append(line)
    return lines


def _outside_fences(text: str) -> Iterator[str]:
    fence = ""
    for line in text.splitlines():
        marks = _FENCE.match(line)
        if marks and (not fence or marks[1].startswith(fence)):
            fence = "" if fence else marks[1]
        elif not fence:
            yield line


def compile_active(
    root: Path, *, tools: Mapping[str, Sequence[str]], scratch: Sequence[str] = ()
) -> Active:
    """What binds an agent now; written to `active.json` too, if that can be written.

    `tools` replaces the shipped list of each role it names; `scratch` are folders outside the
    root that may be written.

    Raises:
        UsageError: The pointer, the plan or a pattern cannot be read.
    """
    slug = active_slug(str(root))
    if slug is None:
        (root / STATE / ACTIVE).unlink(missing_ok=True)
        return Active()
    # Taken before the plan is read: a plan that changes meanwhile makes the file stale, not wrong.
    sources = sources_of(str(root), slug)
    path = Path(plan_path(str(root), slug))
    constraints = read_constraints(path.read_text(encoding="utf-8-sig"))
    where = path.relative_to(root).as_posix()
    active = Active(
        plan=slug,
        inside=_compiled(constraints.inside, where),
        outside=_compiled(constraints.outside, where),
        do_not_touch=_compiled(constraints.do_not_touch, where),
        tools={
            role: _compiled(tools.get(role, shipped), "guard.tools")
            for role, shipped in DEFAULT_TOOLS.items()
        },
        scratch=tuple(scratch),
    )
    _write(root / STATE / ACTIVE, active, sources)
    return active


def _compiled(patterns: Iterable[str], where: str) -> CompiledPatterns:
    try:
        globs = parse_set(patterns).globs
    except BadGlob as problem:
        raise UsageError(f"{where}: {problem}") from problem
    return CompiledPatterns(
        tuple(_pattern(each) for each in globs if not each.negated),
        tuple(_pattern(each) for each in globs if each.negated),
    )


def _pattern(glob: Glob) -> CompiledPattern:
    return CompiledPattern(glob.pattern, glob.matcher.regex, glob.matcher.weight)


def _write(path: Path, active: Active, sources: Mapping[str, object]) -> None:
    kept = {
        "sources": sources,
        "plan": active.plan,
        "scope": {
            "inside": active.inside._asdict(),
            "outside": active.outside._asdict(),
            "do_not_touch": active.do_not_touch._asdict(),
        },
        "tools": {role: listed._asdict() for role, listed in active.tools.items()},
        "scratch": active.scratch,
    }
    text = json.dumps(kept, indent=1, sort_keys=True) + "\n"
    if not path.parent.is_dir():
        return  # no state of ours, and none is made by looking
    with suppress(OSError):  # without it, it is compiled anew each time: slower, as strict
        write_whole(path, text.encode(), 0o600, durable=False)


def compile_guard(root: Path) -> Active:
    """What binds an agent in this workspace now; `.hornbook/active.json` is written anew.

    Call it after each change of the active plan, so that no hook has to.

    Raises:
        UsageError: The settings, the pointer or the plan cannot be read.
    """
    settings = load(root, check_gates)
    return compile_active(root, tools=settings.guard.tools, scratch=settings.guard.scratch)


def guarded(root: Path, settings: Settings, view: PlanView) -> PlanView:
    """The plan, with the guard compiled anew if it is the active one.

    A guard that cannot be compiled blocks every write, so that is a problem of the plan.
    """
    try:
        if view.plan.slug == active_plan(Places(root).state):
            compile_active(root, tools=settings.guard.tools, scratch=settings.guard.scratch)
    except UsageError as problem:
        message = f"The guard blocks every write, because it cannot be compiled: {problem}"
        path = f".hornbook/plans/{view.plan.slug}/plan.md"
        told = Problem(path, None, "guard_not_compiled", Level.WARNING, message)
        return replace(view, problems=(*view.problems, told))
    return view
