"""What a team says about its gates: the `gates:` block of a configuration file."""

from dataclasses import dataclass, field
from enum import StrEnum

Places = tuple[tuple[str, str], ...]
"""Where each key of an entry stands, as `file, line N`; the entry itself has the key ""."""


class Confine(StrEnum):
    """Which gates are confined: those of runs, those that are run by hand too, or none."""

    RUNS = "runs"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class PresetChoice:
    """A preset, and the folder that its gates run in."""

    preset: str = field(metadata={"bare": True})
    folder: str = "."
    places: Places = field(default=(), metadata={"places": True}, compare=False)


@dataclass(frozen=True, slots=True)
class Override:
    """What is different in a gate of a preset; none keeps what the preset says."""

    name: str
    command: str | None = None
    required: bool | None = None
    threshold: int | None = None
    timeout: int | None = None
    folder: str | None = None
    environment: dict[str, str] | None = None
    after: tuple[str, ...] | None = None
    creates: tuple[str, ...] | None = None
    network: bool | None = None
    enabled: bool | None = None
    places: Places = field(default=(), metadata={"places": True}, compare=False)


@dataclass(frozen=True, slots=True)
class Additional:
    """A gate of the team's own."""

    name: str
    command: str
    required: bool = True
    threshold: int | None = None
    timeout: int = 300
    folder: str = "."
    environment: dict[str, str] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    creates: tuple[str, ...] = ()
    network: bool | None = None
    places: Places = field(default=(), metadata={"places": True}, compare=False)


@dataclass(frozen=True, slots=True)
class GateSettings:
    """The gates of a repository: presets, what is different in them, and what is added."""

    preset: tuple[PresetChoice, ...] = field(
        default=(),
        metadata={"meaning": "Shipped gates: go, python, typescript, rust, each for a folder."},
    )
    overrides: tuple[Override, ...] = field(
        default=(), metadata={"meaning": "What is different in a preset's gate, by its name."}
    )
    additional: tuple[Additional, ...] = field(
        default=(), metadata={"meaning": "Gates of your own: name, command and what else it needs."}
    )
    tests: str = field(
        default="warn",
        metadata={
            "meaning": "Changed code without tests: `off`, `warn`, or `required` to stop it."
        },
    )
    confine: str = field(
        default="runs",
        metadata={
            "meaning": "Which gates are confined: those of `runs`, `always`, or `never` any."
        },
    )
    network: bool = field(
        default=False,
        metadata={"meaning": "Whether confined gates have the network; a gate may say otherwise."},
    )
    writable: tuple[str, ...] = field(
        default=(),
        metadata={"meaning": "Folders beside the tree that confined gates may write to."},
    )


def place_of(places: Places, key: str = "") -> str:
    """Where a key stands; the entry's own place where that is not known."""
    known = dict(places)
    return known.get(key) or known.get("") or "settings"
