"""Reads what a command printed: an answer, what it cost, or why there is none."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from hornbook.agents.profile import Output, Profile, Reading
from hornbook.model.agents import Usage

_SHOWN = 2000
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_SCALE = {"k": 1_000, "m": 1_000_000}


@dataclass(frozen=True, slots=True)
class Printed:
    """What was read: `text` or `error` may be missing, never filled with a guess."""

    text: str
    error: str | None
    usage: Usage
    files: tuple[str, ...] | None


def read(profile: Profile, printed: str, folder: str) -> Printed:
    """What a command's output says, by its profile; paths are made relative to the folder."""
    if profile.output is Output.TEXT:
        return _plain(profile, printed)
    objects = list(_objects(printed, profile.output))
    if not objects:
        return Printed("", f"it printed no JSON: {tail(printed)}", Usage(), None)
    costs = _numbers(objects, profile.cost)
    usage = Usage(
        int(sum(_numbers(objects, profile.input_tokens))),
        int(sum(_numbers(objects, profile.output_tokens))),
        int(sum(_numbers(objects, profile.steps))),
        sum(costs) if costs else None,
    )
    named = [str(each) for reading in profile.files for each in _found(objects, reading)]
    files = tuple(sorted({_relative(path, folder) for path in named})) if profile.files else None
    return Printed(
        _first(objects, profile.text), _first(objects, profile.error) or None, usage, files
    )


def tail(text: str) -> str:
    """The end of what was printed, for a message."""
    plain = _ANSI.sub("", text).strip()
    return "…" + plain[-_SHOWN:] if len(plain) > _SHOWN else plain or "nothing"


def _plain(profile: Profile, printed: str) -> Printed:
    text = _ANSI.sub("", printed).strip()
    cost = _matched(profile.cost_pattern, text)
    usage = Usage(
        int(sum(_matched(profile.input_pattern, text))),
        int(sum(_matched(profile.output_pattern, text))),
        cost=sum(cost) if cost else None,
    )
    failed = re.findall(profile.failure, text, re.MULTILINE) if profile.failure else []
    return Printed(text, "\n".join(failed) or None, usage, None)


def _matched(pattern: str, text: str) -> list[float]:
    return [_number(found) for found in re.findall(pattern, text)] if pattern else []


def _number(text: str) -> float:
    scale = _SCALE.get(text[-1:].lower(), 1)
    return float(text.rstrip("kKmM").replace(",", "")) * scale


def _objects(printed: str, output: Output) -> Iterator[dict[str, object]]:
    """Every JSON object of the output; lines that are none are progress or warnings."""
    if output is Output.JSON:
        whole = _parsed(printed)
        if whole is None:
            whole = _after_noise(printed)
        for each in whole if isinstance(whole, list) else [whole]:
            if isinstance(each, dict):
                yield each
        return
    for line in printed.splitlines():
        found = _parsed(line)
        if isinstance(found, dict):
            yield found


def _after_noise(printed: str) -> object:
    """The last JSON document that begins a line and runs to the end of the output."""
    for begin in re.finditer(r"^[\[{]", printed, re.MULTILINE):
        found = _parsed(printed[begin.start() :])
        if found is not None:
            return found
    return None


def _parsed(text: str) -> object:
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found


def _first(objects: Sequence[dict[str, object]], readings: Iterable[Reading]) -> str:
    """The first reading that finds something, as text."""
    for reading in readings:
        found = [_text(each) for each in _found(objects, reading)]
        found = [each for each in found if each.strip()]
        if found:
            return "".join(found) if reading.take == "join" else found[-1]
    return ""


def _text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _numbers(objects: Sequence[dict[str, object]], readings: Iterable[Reading]) -> list[float]:
    found = (each for reading in readings for each in _found(objects, reading))
    return [
        float(each)
        for each in found
        if isinstance(each, int | float) and not isinstance(each, bool) and each >= 0
    ]


def _found(objects: Sequence[dict[str, object]], reading: Reading) -> Iterator[object]:
    steps = reading.path.split(".")
    for each in objects:
        if all(list(_at(each, path.split("."))) == [value] for path, value in reading.where):
            yield from _at(each, steps)


def _at(value: object, steps: Sequence[str]) -> Iterator[object]:
    if not steps:
        yield value
        return
    step, *rest = steps
    if step == "*":
        inside = value.values() if isinstance(value, dict) else value
        for each in inside if isinstance(inside, Iterable) and not isinstance(inside, str) else ():
            yield from _at(each, rest)
    elif isinstance(value, dict) and step in value:
        yield from _at(value[step], rest)


def _relative(path: str, folder: str) -> str:
    pure = PurePath(path)
    return pure.relative_to(folder).as_posix() if pure.is_relative_to(folder) else pure.as_posix()
