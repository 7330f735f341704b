"""How far a plan reaches: which files its constraints let anybody change."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hornbook.errors import BadGlob
from hornbook.plans.plan import Constraints
from hornbook.text.globs import Glob, parse
from hornbook.text.plan_syntax import KINDS

_BLANK = re.compile(r"\s")


@dataclass(frozen=True, slots=True)
class ScopeGlob:
    """One constraint: its kind, its text, the glob that it is, or why it is none."""

    kind: str
    text: str
    glob: Glob | None
    fault: str = ""

    @property
    def is_prose(self) -> bool:
        """Whether it reads like words rather than a pattern."""
        return _BLANK.search(self.text) is not None


class PlanScope:
    """The constraints of a plan, compiled. What is protected or excluded wins over what is in."""

    def __init__(self, constraints: Constraints) -> None:
        self.globs = tuple(_compiled(constraints))
        self._inside = [each.glob for each in self.of("IN") if each.glob]
        self._outside = [
            each.glob for kind in ("OUT", "DO NOT TOUCH") for each in self.of(kind) if each.glob
        ]
        self._open = not constraints.inside

    def of(self, kind: str) -> list[ScopeGlob]:
        """The constraints of one kind."""
        return [each for each in self.globs if each.kind == kind]

    def holds(self, path: str) -> bool:
        """Whether the plan may change the file."""
        if any(glob.matches(path) for glob in self._outside):
            return False
        return self._open or any(glob.matches(path) for glob in self._inside)

    def files(self, paths: Iterable[str]) -> list[str]:
        """Those of some files that the plan may change."""
        return [path for path in paths if self.holds(path)]


def _compiled(constraints: Constraints) -> Iterator[ScopeGlob]:
    groups = (constraints.inside, constraints.outside, constraints.do_not_touch)
    for kind, texts in zip(KINDS, groups, strict=True):
        for text in texts:
            try:
                glob = parse(text)
            except BadGlob as problem:
                yield ScopeGlob(kind, text, None, str(problem))
                continue
            if glob.negated:
                fault = f"`{text}` starts with `!`, which means nothing here: use OUT."
                yield ScopeGlob(kind, text, None, fault)
            else:
                yield ScopeGlob(kind, text, glob)
