"""The effective gates: presets, with what a team says laid over them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import PurePosixPath
from typing import Any

import yaml

from hornbook.errors import BadGlob
from hornbook.gates.gate import Gate
from hornbook.resources import PACKAGE
from hornbook.settings.settings import Additional, GateSettings, Override, PresetChoice, place_of
from hornbook.text.globs import parse

PRESETS = (
    *("go", "python", "typescript", "rust"),
    *("maven", "gradle", "php", "ruby", "cmake", "dotnet"),
)


@cache
def preset_gates(name: str) -> tuple[Gate, ...]:
    """The gates of one of the `PRESETS`, each value with its origin."""
    text = (PACKAGE / "gates/presets" / f"{name}.yaml").read_text(encoding="utf-8")
    entries: list[dict[str, Any]] = yaml.safe_load(text)  # our own file, tested
    return tuple(_gate(name, entry) for entry in entries)


def _gate(preset: str, entry: dict[str, Any]) -> Gate:
    values: dict[str, Any] = {  # a test holds them against Gate's fields
        key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()
    }
    return Gate(**values, origins=tuple((key, f"preset {preset}") for key in entry))


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SETTLED = ("command", "required", "threshold", "timeout", "folder", "after", "creates")
LONGEST_TIMEOUT = 86_400


@dataclass(frozen=True, slots=True)
class Definitions:
    """The gates that run, those that are switched off, and everything that is wrong."""

    gates: tuple[Gate, ...] = ()
    disabled: tuple[Gate, ...] = ()
    problems: tuple[str, ...] = ()


def check_gates(settings: GateSettings) -> tuple[str, ...]:
    """Everything that is wrong with what a team says about its gates."""
    return define(settings).problems


def define(settings: GateSettings) -> Definitions:
    """The effective gates in their order: presets first, then what is added.

    Each value has its origin. What is wrong is told whole, and then no gate is defined.
    """
    merge = _Merge()
    without = merge.take_presets(settings.preset)
    off = merge.override(settings.overrides, without)
    merge.add(settings.additional)
    merge.check(off)
    merge.let_out(network=settings.network)
    if merge.problems:
        return Definitions(problems=tuple(merge.problems))
    gates = tuple(_settled(gate, off) for gate in merge.gates.values())
    return Definitions(
        gates=tuple(gate for gate in gates if gate.name not in off),
        disabled=tuple(gate for gate in gates if gate.name in off),
    )


class _Merge:
    """Gates by name while they are put together, and what is wrong with them."""

    def __init__(self) -> None:
        self.gates: dict[str, Gate] = {}
        self.problems: list[str] = []

    def _complain(self, place: str, text: str) -> None:
        self.problems.append(f"{place}: {text}")

    def take_presets(self, choices: tuple[PresetChoice, ...]) -> frozenset[str]:
        """Take the gates of the presets; the answer names those that they are taken without.

        Of several presets, or folders, the names begin with the preset's.
        """
        known = list(filter(self._is_known, choices))
        taken = [(choice, folder) for choice in known for folder in choice.folder]
        prefixes = name_prefixes([(choice.preset, folder) for choice, folder in taken])
        off: set[str] = set()
        for (choice, folder), prefix in zip(taken, prefixes, strict=True):
            for gate in preset_gates(choice.preset):
                name = prefix + gate.name
                if name in self.gates:
                    place = place_of(choice.places, "folder")
                    self._complain(place, f"preset `{choice.preset}` stands twice for that folder.")
                    break
                self.gates[name] = _taken(gate, choice, folder, prefix)
                off |= {name} & {prefix + each for each in choice.without}
        return frozenset(off)

    def _is_known(self, choice: PresetChoice) -> bool:
        if choice.preset in PRESETS:
            self._check_choice(choice)
            return True
        if not choice.preset:
            return False
        place = place_of(choice.places, "preset")
        self._complain(place, f"no preset `{choice.preset}`: {_nearest(choice.preset, PRESETS)}")
        return False

    def _check_choice(self, choice: PresetChoice) -> None:
        """Look at what is different in the gates of a preset: it must name some of them."""
        names = tuple(gate.name for gate in preset_gates(choice.preset))
        if not choice.folder:
            text = f"preset `{choice.preset}` has no folder: name one, or leave the key out."
            self._complain(place_of(choice.places, "folder"), text)
        for key, stated in (("without", choice.without), ("commands", tuple(choice.commands))):
            for name in (each for each in stated if each not in names):
                text = f"preset `{choice.preset}` has no gate `{name}`: {_nearest(name, names)}"
                self._complain(place_of(choice.places, key), text)
        for name in (each for each in choice.commands if each in choice.without):
            text = f"`{name}` has a command and is left out: decide for one."
            self._complain(place_of(choice.places, "without"), text)

    def override(self, overrides: tuple[Override, ...], without: frozenset[str]) -> frozenset[str]:
        """Lay the overrides over the presets; the answer names what is switched off."""
        seen: dict[str, str] = {}
        off = set(without)
        for each in overrides:
            place = place_of(each.places, "name")
            if each.name in seen:
                self._complain(
                    place, f"`{each.name}` is overridden twice (first {seen[each.name]})."
                )
            elif each.name in self.gates:
                self.gates[each.name] = _overridden(self.gates[each.name], each)
            elif each.name:
                hint = _nearest(each.name, self.gates) if self.gates else "no preset is chosen."
                text = f"no gate `{each.name}` to override: {hint}"
                self._complain(place, f"{text} A new gate belongs under `additional`.")
            seen.setdefault(each.name, place)
            if each.enabled is not None:
                (off.discard if each.enabled else off.add)(each.name)
        return frozenset(off)

    def add(self, additional: tuple[Additional, ...]) -> None:
        """Add the team's own gates."""
        for each in additional:
            if each.name in self.gates:
                text = f"there is a gate `{each.name}` already: rename this one, or override it."
                self._complain(place_of(each.places, "name"), text)
            elif each.name:
                self.gates[each.name] = _added(each)

    def let_out(self, *, network: bool) -> None:
        """Give every gate that says nothing of the network what holds for all."""
        for name, gate in self.gates.items():
            if network and "network" not in dict(gate.origins):
                origins = (*gate.origins, ("network", "gates.network"))
                self.gates[name] = replace(gate, network=True, origins=origins)

    def check(self, off: frozenset[str]) -> None:
        """Look at the values of every gate, and at the order that they ask for."""
        for gate in self.gates.values():
            origins = dict(gate.origins)
            for key, text in _wrong(gate):
                self._complain(_plain(origins.get(key, "")), text)
            for other in (name for name in gate.after if name not in self.gates):
                hint = _nearest(other, self.gates)
                text = f"gate `{gate.name}` comes after `{other}`, which is none: {hint}"
                self._complain(_plain(origins.get("after", "")), text)
        self._check_order()
        if self.gates and off >= self.gates.keys():
            self._complain("gates", "every gate is switched off: leave `gates` out, or keep one.")

    def _check_order(self) -> None:
        try:
            TopologicalSorter({gate.name: gate.after for gate in self.gates.values()}).prepare()
        except CycleError as problem:
            circle = " after ".join(reversed(problem.args[1]))
            origin = dict(self.gates[problem.args[1][0]].origins).get("after", "")
            self._complain(_plain(origin), f"gates wait for each other: {circle}.")


def _taken(gate: Gate, choice: PresetChoice, folder: str, prefix: str) -> Gate:
    """A preset's gate as it runs in a folder, with where each value comes from."""
    places = choice.places
    origins = dict(gate.origins)
    origins["folder"] = f"preset {choice.preset}" if folder == "." else place_of(places, "folder")
    command = choice.commands.get(gate.name)
    if command is not None:
        origins["command"] = f"{place_of(places, 'commands')} (commands)"
    if gate.name in choice.without:
        origins["enabled"] = f"{place_of(places, 'without')} (without)"
    return replace(
        gate,
        name=prefix + gate.name,
        command=gate.command if command is None else command,
        folder=folder,
        after=tuple(prefix + other for other in gate.after),
        origins=tuple(origins.items()),
    )


def name_prefixes(chosen: Sequence[tuple[str, str]]) -> list[str]:
    """What the gates' names begin with, for presets with their folders.

    Nothing if there is one preset; else the preset, and its folder where the preset stands twice.
    """
    if len(chosen) == 1:
        return [""]
    names = [preset for preset, _ in chosen]
    found = []
    for preset, folder in chosen:
        below = re.sub(r"[^A-Za-z0-9._]+", "-", folder).strip("-.")
        twice = names.count(preset) > 1 and below
        found.append(f"{preset}-{below}-" if twice else f"{preset}-")
    return found


def _overridden(gate: Gate, override: Override) -> Gate:
    origins = dict(gate.origins)
    values: dict[str, object] = {}
    stated = {key: getattr(override, key) for key in (*_SETTLED, "network")}
    if override.environment is not None:
        stated["environment"] = tuple(sorted(override.environment.items()))
    for key, value in stated.items():
        if value is not None:
            values[key] = value
            origins[key] = f"{place_of(override.places, key)} (overrides)"
    if override.enabled is not None:
        origins["enabled"] = f"{place_of(override.places, 'enabled')} (overrides)"
    return replace(gate, **values, origins=tuple(origins.items()))  # type: ignore[arg-type]  # values has Gate's fields


def _added(entry: Additional) -> Gate:
    stated = [key for key, _ in entry.places if key]
    origins = [(key, f"{place_of(entry.places, key)} (additional)") for key in stated]
    return Gate(
        name=entry.name,
        command=entry.command,
        required=entry.required,
        threshold=entry.threshold,
        timeout=entry.timeout,
        folder=entry.folder,
        environment=tuple(sorted(entry.environment.items())),
        after=entry.after,
        creates=entry.creates,
        network=bool(entry.network),
        origins=tuple(origins),
    )


def _settled(gate: Gate, off: frozenset[str]) -> Gate:
    """A gate with paths from the root, an order among those that run, and every origin."""
    folder = PurePosixPath(gate.folder).as_posix()
    known = dict(gate.origins)
    more = [key for key in ("environment", "network") if getattr(gate, key) or key in known]
    keys = ("name", *_SETTLED, *more)
    origins = {key: known.get(key, "default") for key in keys}
    if "enabled" in known:
        origins["enabled"] = known["enabled"]
    return replace(
        gate,
        command=gate.command.strip(),
        folder=folder,
        after=tuple(other for other in gate.after if other not in off),
        origins=tuple(origins.items()),
    )


def _wrong(gate: Gate) -> Iterator[tuple[str, str]]:
    """The key and the problem of every value that cannot be."""
    name = f"gate `{gate.name}`"
    stated = dict(gate.origins)
    if not _NAME.fullmatch(gate.name):
        yield "name", f"{name}: a name has letters, digits, `.`, `_` and `-`, at most 128."
    if not gate.command.strip() and (not stated or "command" in stated):
        yield "command", f"{name} has no command: write one, or switch it off (`enabled: false`)."
    yield from ((key, f"{name}: {text}") for key, text in _wrong_values(gate))


def _wrong_values(gate: Gate) -> Iterator[tuple[str, str]]:
    if gate.threshold is not None and not 0 <= gate.threshold <= 100:
        yield "threshold", f"`threshold` is {gate.threshold}: write a percentage, 0 to 100."
    if not 0 < gate.timeout <= LONGEST_TIMEOUT:
        yield "timeout", f"`timeout` is {gate.timeout}: write seconds, 1 to {LONGEST_TIMEOUT}."
    if _is_outside(gate.folder):
        yield "folder", f"`folder` is {gate.folder!r}: write a path below the root."
    yield from (("environment", text) for text in _bad_variables(gate))
    yield from (("creates", text) for text in map(_bad_glob, gate.creates) if text)


def _is_outside(folder: str) -> bool:
    path = PurePosixPath(folder)
    return path.is_absolute() or ".." in path.parts or "\\" in folder


def _bad_variables(gate: Gate) -> Iterator[str]:
    for variable, value in gate.environment:
        if not _VARIABLE.fullmatch(variable):
            yield f"{variable!r} is no name of a variable: use letters, digits and `_`."
        if "\0" in value:
            yield f"`{variable}` holds a zero character: remove it."


def _bad_glob(pattern: str) -> str | None:
    try:
        negated = parse(pattern).negated
    except BadGlob as problem:
        return str(problem)
    return f"`{pattern}` starts with `!`, which means nothing here: remove it." if negated else None


def _plain(origin: str) -> str:
    """An origin as a place: without the block that it names."""
    return re.sub(r" \((?:overrides|additional|commands|without)\)$", "", origin) or "gates"


def _nearest(name: str, known: "tuple[str, ...] | dict[str, Gate]") -> str:
    near = get_close_matches(name, known, 1)
    return f"did you mean `{near[0]}`?" if near else f"known are {', '.join(known)}."
