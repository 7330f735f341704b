"""The `gates:` block of a configuration file for the presets that fit, with comments."""

import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from hornbook.gates.definitions import name_prefixes, preset_gates
from hornbook.gates.detection.signs import PresetDifference, off

_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Stack:
    """A preset that fits a folder, and what is different there."""

    preset: str
    folder: str = "."
    changes: tuple[PresetDifference, ...] = ()
    untried: str = ""

    def off(self, gate: str) -> PresetDifference | None:
        """Why a gate does not run here; none if it does."""
        found = (each for each in self.changes if each.gate == gate and each.switches_off)
        return next(found, None)

    def runs(self) -> set[str]:
        """The gates that run here, with those that the preset does not have."""
        preset = {gate.name for gate in preset_gates(self.preset) if self.off(gate.name) is None}
        return preset | {each.gate for each in self.changes if not each.switches_off}

    def with_change(self, change: PresetDifference) -> "Stack":
        """The stack with one gate changed, whatever was different in it before."""
        kept = tuple(each for each in self.changes if each.gate != change.gate)
        return replace(self, changes=(*kept, change))

    def without(self, gates: Iterable[str], why: str) -> "Stack":
        """The stack with gates switched off that others do the work of."""
        found = self
        for gate in gates:
            found = found.with_change(off(gate, why, elsewhere=True))
        return found


def block(stacks: Iterable[Stack]) -> str:
    """The block for these stacks; those of a preset with the same differences are one entry."""
    chosen = list(stacks)
    if not chosen:
        return ""
    lines = [
        "# `hornbook gates list` shows every gate and where each of its values comes from.",
        "gates:",
    ]
    if len(chosen) == 1 and chosen[0].folder == "." and not _differences(chosen[0]):
        lines.append(f"  preset: {chosen[0].preset}{_marked(chosen[0])}")
    else:
        lines.append("  preset:")
        for group in _groups(chosen):
            lines += _entry(group)
    more = list(_additional(chosen))
    if more:
        lines += ["  additional:", *more]
    return "\n".join([*lines, ""])


def _differences(stack: Stack) -> tuple[PresetDifference, ...]:
    """What is different in the gates that the preset has."""
    preset = {gate.name for gate in preset_gates(stack.preset)}
    return tuple(each for each in stack.changes if each.gate in preset)


def _groups(stacks: Sequence[Stack]) -> list[list[Stack]]:
    found: dict[object, list[Stack]] = {}
    for each in stacks:
        same = (each.preset, each.untried, frozenset(_differences(each)))
        found.setdefault(same, []).append(each)
    return list(found.values())


def _entry(group: Sequence[Stack]) -> Iterator[str]:
    """A preset with its folders, what it leaves out there, and other commands."""
    first = group[0]
    yield f"    - preset: {first.preset}{_marked(first)}"
    yield from _folders([each.folder for each in group])
    gone = [each for each in _differences(first) if each.switches_off]
    other = [each for each in _differences(first) if not each.switches_off]
    if gone:
        yield "      without:"
        yield from (f"        - {each.gate}  # {each.why}" for each in gone)
    if other:
        yield "      commands:"
        yield from (f"        {each.gate}: {_quoted(each.command)}  # {each.why}" for each in other)


def _folders(folders: Sequence[str]) -> Iterator[str]:
    if len(folders) == 1:
        yield f"      folder: {_quoted(folders[0])}"
        return
    listed = ", ".join(map(_quoted, folders))
    start = "      folder: ["
    whole = textwrap.wrap(
        f"{listed}]",
        _WIDTH,
        initial_indent=start,
        subsequent_indent=" " * 8,
        break_long_words=False,
        break_on_hyphens=False,
    )
    yield from whole


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _marked(stack: Stack) -> str:
    return f"  # untried: {stack.untried}" if stack.untried else ""


def _additional(stacks: Sequence[Stack]) -> Iterator[str]:
    """The gates that the presets do not have."""
    prefixes = name_prefixes([(each.preset, each.folder) for each in stacks])
    for stack, prefix in zip(stacks, prefixes, strict=True):
        usual = _differences(stack)
        for change in (each for each in stack.changes if each not in usual):
            yield f"    - name: {prefix}{change.gate}"
            yield f"      command: {_quoted(change.command)}  # {change.why}"
            yield f"      timeout: {_SECONDS}"
            if stack.folder != ".":
                yield f"      folder: {_quoted(stack.folder)}"


_SECONDS = 600
