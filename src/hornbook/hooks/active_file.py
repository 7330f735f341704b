"""What binds an agent now: the compiled `.hornbook/active.json`, used only if it is fresh.

It carries the very texts it was made from. If one differs it is compiled anew; if that fails, the
guard fails, and a failing guard blocks.
"""

import json
import os
import re
from collections.abc import Callable

from hornbook.errors import UsageError
from hornbook.shell.cheap_tuple import NamedTuple

TYPE_CHECKING = False  # importing typing costs start-up time
if TYPE_CHECKING:
    from typing import Any

SCHEMA = 1
STATE = ".hornbook"
POINTER = "ACTIVE_PLAN"
ACTIVE = "active.json"
CONFIG = "config.yaml"


class CompiledPattern(NamedTuple):
    """A pattern of our dialect: its text, and the regex it stands for with the steps that takes.

    `regex` is None for a pattern that is too large for one.
    """

    pattern: str
    regex: str | None
    weight: int


class CompiledPatterns(NamedTuple):
    """The patterns of one kind; any exclusion wins."""

    included: tuple[CompiledPattern, ...] = ()
    excluded: tuple[CompiledPattern, ...] = ()

    def fitting(self, path: str, *, folds_case: bool = False) -> str | None:
        """The first pattern that fits the path, none if an exclusion fits it too."""
        found = next((e for e in self.included if _fits(e, path, folds_case=folds_case)), None)
        if found is None or any(_fits(e, path, folds_case=False) for e in self.excluded):
            return None
        return found.pattern

    def names(self, text: str) -> bool:
        """Whether one of the patterns is this very text; quicker than fitting it."""
        return not self.excluded and any(each.pattern == text for each in self.included)

    def as_written(self) -> str:
        """The patterns as a person wrote them."""
        return ", ".join(each.pattern for each in self.included)


class Active(NamedTuple):
    """The active plan's slug and scope, the tools of each role, and writable folders outside."""

    plan: str | None = None
    inside: CompiledPatterns = CompiledPatterns()
    outside: CompiledPatterns = CompiledPatterns()
    do_not_touch: CompiledPatterns = CompiledPatterns()
    tools: dict[str, CompiledPatterns] = {}  # noqa: RUF012  # never changed: no plan, no lists
    scratch: tuple[str, ...] = ()


def load(root: str, compile_anew: Callable[[], Active]) -> Active:
    """What binds an agent at this root; nothing but our own folder if no plan is active.

    Raises:
        UsageError: The pointer is not readable as one slug, or its plan is not there.
        OSError: A file cannot be read.
    """
    slug = active_slug(root)
    if slug is None:
        return Active()
    sources = sources_of(root, slug)
    try:
        with open(os.path.join(root, STATE, ACTIVE), "rb") as file:  # noqa: PTH118, PTH123  # pathlib costs start-up time
            kept = json.loads(file.read())
        if kept["sources"] == sources:
            return _restored(kept)
    except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
        pass  # what is missing or damaged is compiled anew
    return compile_anew()


def active_slug(root: str) -> str | None:
    """The slug of the active plan, None if there is none.

    Raises:
        UsageError: The pointer is empty, or more than one slug.
    """
    data = _content(os.path.join(root, STATE, POINTER))  # noqa: PTH118  # start-up time
    if data is None:
        return None
    text = data.decode("utf-8", "replace").strip()
    if not _is_slug(text):
        shown = text.splitlines()[0][:60] if text else ""
        found = f"starts with {shown!r}" if text else "is empty"
        raise UsageError(
            f"{STATE}/{POINTER} {found}: it must hold one slug; run `hornbook plans use SLUG`."
        )
    return text


def sources_of(root: str, slug: str) -> dict[str, object]:
    """What tells whether a compiled file is fresh: the texts that it is made from.

    Raises:
        UsageError: The active plan has no file.
    """
    plan = _content(plan_path(root, slug))
    if plan is None:
        raise UsageError(
            f"{STATE}/{POINTER} names `{slug}`, and {STATE}/plans/{slug}/plan.md is not there: "
            "run `hornbook plans use SLUG` with a plan that is."
        )
    config = _content(os.path.join(root, STATE, CONFIG))  # noqa: PTH118  # start-up time
    return {
        "schema": SCHEMA,
        "slug": slug,
        "plan": plan.decode("latin-1"),
        "config": None if config is None else config.decode("latin-1"),
    }


def plan_path(root: str, slug: str) -> str:
    """Where the plan's text lies."""
    return os.path.join(root, STATE, "plans", slug, "plan.md")  # noqa: PTH118  # start-up time


def _is_slug(text: str) -> bool:
    plain = text.replace("-", "").replace(".", "").replace("_", "")
    return plain.isalnum() and text[0] not in ".-"


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:  # noqa: PTH123  # start-up time
            return file.read()
    except FileNotFoundError:
        return None


def _fits(pattern: CompiledPattern, path: str, *, folds_case: bool) -> bool:
    # The limit is that of the matcher, which goes another way beyond it.
    if pattern.regex is not None and pattern.weight * len(path) <= 50_000:
        flags = re.IGNORECASE if folds_case else 0
        return re.compile(pattern.regex, flags).match(path) is not None
    from hornbook.text.globs import parse  # noqa: PLC0415  # only for patterns that need it

    return parse(pattern.pattern.removeprefix("!")).matches(path)


def _restored(kept: "dict[str, Any]") -> Active:  # JSON; a damaged file is compiled anew
    """The value of a compiled file."""
    scope, tools = kept["scope"], kept["tools"]
    return Active(
        plan=str(kept["plan"]),
        inside=_patterns(scope["inside"]),
        outside=_patterns(scope["outside"]),
        do_not_touch=_patterns(scope["do_not_touch"]),
        tools={role: _patterns(listed) for role, listed in tools.items()},
        scratch=tuple(map(str, kept["scratch"])),
    )


def _patterns(kept: dict[str, list[tuple[str, str | None, int]]]) -> CompiledPatterns:
    return CompiledPatterns(
        tuple(CompiledPattern(*each) for each in kept["included"]),
        tuple(CompiledPattern(*each) for each in kept["excluded"]),
    )
