"""Compiles what binds an agent into `.hornbook/active.json`, from the active plan and settings."""

import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from hornbook.errors import BadGlob, UsageError
from hornbook.execute.hooks.active import (
    ACTIVE,
    STATE,
    Active,
    Pattern,
    PatternSet,
    active_slug,
    plan_path,
    sources_of,
)
from hornbook.execute.hooks.constraints import read_constraints
from hornbook.execute.hooks.tools import DEFAULT_TOOLS
from hornbook.text.globs import Glob, parse_set


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


def _compiled(patterns: Iterable[str], where: str) -> PatternSet:
    try:
        globs = parse_set(patterns).globs
    except BadGlob as problem:
        raise UsageError(f"{where}: {problem}") from problem
    return PatternSet(
        tuple(_pattern(each) for each in globs if not each.negated),
        tuple(_pattern(each) for each in globs if each.negated),
    )


def _pattern(glob: Glob) -> Pattern:
    return Pattern(glob.pattern, glob.matcher.regex, glob.matcher.weight)


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
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".active-", suffix=".json")
    except OSError:
        return  # a folder that cannot be written is compiled anew each time: slower, as strict
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(name).replace(path)
