"""Gates that a workflow adds to those of the base: it may ask for more, and never for less."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hornbook.commits.commit import Commit
from hornbook.errors import ConfigError
from hornbook.gates.definitions import PRESETS, preset_gates
from hornbook.gates.gate import Gate
from hornbook.gates.gate_list import GateList, GateState, gate_settings, listed_gate

ORIGIN = "the workflow"
DEFAULT_SECONDS = 300
OVERRIDES = frozenset({"name", "required", "threshold", "timeout", "command"})
"""What an override in a workflow may say."""


@dataclass(frozen=True, slots=True)
class AskedGates:
    """The presets and overrides that the step of a workflow names, as its run resolves them."""

    presets: tuple[str, ...] = ()
    overrides: tuple[Mapping[str, object], ...] = ()


def with_asked(listed: GateList, asked: AskedGates, base: Commit, head: Commit) -> GateList:
    """The base's gates with what a workflow adds: presets that are not among them, and overrides.

    An override of one of the base's gates makes it required or raises its threshold; one with a
    command is a gate of its own.

    Raises:
        ConfigError: An override names no gate, or a command one that is there; tells all of them.
    """
    own = {choice.preset for choice in gate_settings(base.text)[0].preset}
    more = [
        _prefixed(preset, gate)
        for preset in dict.fromkeys(asked.presets)
        if preset not in own
        for gate in preset_gates(preset)
    ]
    found = {each.gate.name: each for each in listed.gates}
    found |= {gate.name: listed_gate(gate, base, head) for gate in more}
    problems: list[str] = []
    for override in asked.overrides:
        name = str(override["name"])
        known = found.get(name)
        if "command" in override and known is not None:
            problems.append(
                f"the workflow adds a gate `{name}`, which is there: name it otherwise."
            )
        elif "command" in override:
            found[name] = listed_gate(_added(name, override), base, head)
        elif known is None or known.state is GateState.DISABLED:
            listing = ", ".join(found) or "none"
            problems.append(f"the workflow overrides `{name}`, which is no gate of {listing}.")
        else:
            found[name] = replace(known, gate=_tightened(known.gate, override))
    if problems:
        raise ConfigError(problems)
    return replace(listed, gates=tuple(found.values()))


def _prefixed(preset: str, gate: Gate) -> Gate:
    return replace(
        gate,
        name=f"{preset}-{gate.name}",
        after=tuple(f"{preset}-{other}" for other in gate.after),
        origins=tuple((key, f"preset {preset} ({ORIGIN})") for key, _ in gate.origins),
    )


def _added(name: str, override: Mapping[str, object]) -> Gate:
    threshold, timeout = override.get("threshold"), override.get("timeout")
    return Gate(
        name=name,
        command=str(override["command"]),
        required=True,
        threshold=threshold if isinstance(threshold, int) else None,
        timeout=timeout if isinstance(timeout, int) else DEFAULT_SECONDS,
        origins=tuple((key, ORIGIN) for key in override),
    )


def _tightened(gate: Gate, override: Mapping[str, object]) -> Gate:
    """The gate, as strict as it was or stricter."""
    origins = dict(gate.origins)
    threshold = override.get("threshold")
    if isinstance(threshold, int) and threshold > (gate.threshold or 0):
        gate = replace(gate, threshold=threshold)
        origins["threshold"] = ORIGIN
    if override.get("required") is True and not gate.required:
        gate = replace(gate, required=True)
        origins["required"] = ORIGIN
    return replace(gate, origins=tuple(origins.items()))


def asked_gates(presets: object, overrides: object) -> AskedGates:
    """What a payload of a run asks for.

    Raises:
        ConfigError: It is neither names of presets nor a list of overrides.
    """
    named = presets if isinstance(presets, list) else [presets] if presets else []
    listed = overrides if isinstance(overrides, list) else [overrides] if overrides else []
    problems = [
        f"the workflow's preset {each!r} is none: there are {', '.join(PRESETS)}."
        for each in named
        if each not in PRESETS
    ]
    problems += [
        f"the workflow's override {each!r} would not only add to the base's gates."
        for each in listed
        if not _adds(each)
    ]
    if problems:
        raise ConfigError(problems)
    return AskedGates(
        tuple(map(str, named)), tuple(each for each in listed if isinstance(each, Mapping))
    )


def _adds(override: object) -> bool:
    return (
        isinstance(override, Mapping)
        and isinstance(override.get("name"), str)
        and OVERRIDES.issuperset(override)
        and override.get("required", True) is True
    )


def presets_of(base: Commit) -> Sequence[str]:
    """The presets that a commit's settings name."""
    return tuple(choice.preset for choice in gate_settings(base.text)[0].preset if choice.preset)
