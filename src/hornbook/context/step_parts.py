"""What a step is given by its context settings: what it inherits, what earlier steps left.

A step stands in the loop, and the loop in its plan. The loop takes over from the plan what its own
`inherit_context` says, and adds what its steps left so far, if it accumulates data; of all that a
step takes what its `inherit_context` says. What it asks the graph anew is decided by
`fresh_context`. The task with its files and the step's own feedback are always there.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hornbook.context.prompt import LeftOut, Unit
from hornbook.context.templates.context_settings import (
    AccumulationFormat,
    FreshContext,
    InheritContext,
)
from hornbook.context.templates.roles import StepTemplate
from hornbook.errors import BadGlob
from hornbook.text.globs import parse

FRAME = "always there"
_WORD = re.compile(r"`([^`\n]+)`|([^\s`]+)")
_AROUND = ".,;:!?()[]<>\"'*"
_LINES = re.compile(r":\d+(?:-\d+)?\Z")
_NARROW = (InheritContext.FULL, InheritContext.SUBSET, InheritContext.NONE)


@dataclass(frozen=True, slots=True)
class StepOutput:
    """What a step left behind: how it ended, the files it is about, a line, and all it wrote."""

    name: str
    status: str
    files: tuple[str, ...]
    line: str
    whole: str

    def unit(self, form: AccumulationFormat) -> Unit:
        """What the next step is told of it."""
        about = f", {', '.join(self.files)}" if self.files else ""
        said = f": {self.line}" if self.line else ""
        if form is AccumulationFormat.NOTES_ONLY or not self.whole.strip():
            text = f"- {self.name}: {self.status}{about}{said}\n"
        else:
            text = f"## {self.name}: {self.status}{about}\n\n{self.whole.rstrip()}\n"
        return Unit.hashed(f"step.{self.name.replace(' ', '-')}", text)


@dataclass(frozen=True, slots=True)
class StepView:
    """By which settings a step sees what: those of its template, and of the loop's around it."""

    step: StepTemplate
    loop: StepTemplate
    files: tuple[str, ...] = ()

    @property
    def inherits(self) -> InheritContext:
        """How much of the plan the step takes over: the narrower of the two settings."""
        return max(self._both, key=_NARROW.index)

    @property
    def _both(self) -> tuple[InheritContext, InheritContext]:
        return (
            self.loop.template.settings.inherit_context,
            self.step.template.settings.inherit_context,
        )

    @property
    def inherits_because(self) -> str:
        """The setting that decides what is inherited, with its origin."""
        loop, own = self._both
        narrower = self.loop if _NARROW.index(loop) > _NARROW.index(own) else self.step
        which = "of the loop, " if narrower is self.loop else ""
        return which + narrower.because("inherit_context")

    @property
    def accumulates_because(self) -> str:
        """The settings that decide what is told of earlier steps, with their origins."""
        settings = self.loop.template.settings
        keys = ("accumulate_data", *(("accumulation_format",) if settings.accumulate_data else ()))
        said = ", ".join(map(self.loop.because, keys))
        return f"of the loop, {said}; {self.step.because('inherit_context')}"

    @property
    def asks_graph(self) -> bool:
        """Whether the step sees what the graph says: it asks itself, or inherits from the loop."""
        own = self.step.template.settings
        if own.fresh_context is FreshContext.ENABLED:
            return True
        loop = self.loop.template.settings.fresh_context
        return loop is FreshContext.ENABLED and own.inherit_context is not InheritContext.NONE

    @property
    def graph_because(self) -> str:
        """The setting that decides whether the graph is asked, with its origin."""
        if self.step.template.settings.fresh_context is FreshContext.DISABLED and self.asks_graph:
            return f"of the loop, {self.loop.because('fresh_context')}"
        return self.step.because("fresh_context")

    def inherited(self, units: Sequence[Unit]) -> tuple[tuple[Unit, ...], tuple[LeftOut, ...]]:
        """The units of the plan that the step takes over, and those that it does not."""
        how, because = self.inherits, self.inherits_because
        if how is InheritContext.FULL:
            return tuple(units), ()
        subset = how is InheritContext.SUBSET
        kept = [unit for unit in units if subset and concerns(unit, self.files)]
        what = "it does not concern the files" if subset else "not taken over"
        gone = [LeftOut(unit.id, f"{what} ({because})") for unit in units if unit not in kept]
        return tuple(kept), tuple(gone)

    def inherited_text(self, name: str, text: str) -> tuple[str, tuple[LeftOut, ...]]:
        """A text of the plan as far as the step takes it over: of a subset whole paragraphs."""
        if not text or self.inherits is InheritContext.FULL:
            return text, ()
        kept = "" if self.inherits is InheritContext.NONE else _paragraphs(text, self.files)
        if kept == text:
            return text, ()
        what = "parts of it do not concern the files" if kept else "it is not taken over"
        return kept, (LeftOut(name, f"{what} ({self.inherits_because})"),)

    def outputs(self, left: Sequence[StepOutput]) -> tuple[tuple[Unit, ...], tuple[LeftOut, ...]]:
        """What the step is told of earlier ones, the newest first."""
        settings, because = self.loop.template.settings, self.accumulates_because
        own, form = self.step.template.settings.inherit_context, settings.accumulation_format
        kept, gone = [], []
        for output in reversed(left if form is not None else ()):
            unit = output.unit(form or AccumulationFormat.NOTES_ONLY)
            if own is InheritContext.FULL or (
                own is InheritContext.SUBSET and self._concerns_output(output)
            ):
                kept.append(unit)
            else:
                gone.append(LeftOut(unit.id, f"not taken over ({because})"))
        return tuple(kept), tuple(gone)

    def _concerns_output(self, output: StepOutput) -> bool:
        named = set(output.files)
        return bool(named & set(self.files)) or names_one_of(output.line, self.files)


def concerns(unit: Unit, files: Sequence[str]) -> bool:
    """Whether a unit is about one of the files: it is its path, or its text names one of them."""
    return any(unit.id.endswith(file) for file in files) or names_one_of(unit.text, files)


def names_one_of(text: str, files: Sequence[str]) -> bool:
    """Whether a text names one of the files, a folder around it, or a pattern that fits it."""
    return any(_fits(word, files, quoted=quoted) for word, quoted in _words(text))


def _words(text: str) -> Iterator[tuple[str, bool]]:
    for quoted, plain in _WORD.findall(text):
        for word in quoted.split() or [plain]:
            bare = word.strip(_AROUND) if not any(sign in word for sign in "*[") else word
            yield _LINES.sub("", bare.rstrip(",;:.").removeprefix("./")), bool(quoted)


def _fits(word: str, files: Sequence[str], *, quoted: bool) -> bool:
    if not word or not (quoted or "/" in word or "." in word):
        return False
    folder = word.rstrip("/") + "/"
    if any(file == word or file.startswith(folder) for file in files):
        return True
    if not any(sign in word for sign in "*?[{"):
        return False
    try:
        pattern = parse(word)
    except BadGlob:
        return False
    return any(pattern.matches(file) for file in files)


def _paragraphs(text: str, files: Sequence[str]) -> str:
    """The paragraphs of a text that name one of the files, below their headings."""
    kept: list[str] = []
    heading = ""
    for block in re.split(r"\n{2,}", text.strip("\n")):
        if block.startswith("#"):
            heading = block
        elif names_one_of(block, files):
            kept += [heading, block] if heading else [block]
            heading = ""
    return "\n\n".join(kept) + "\n" if kept else ""
