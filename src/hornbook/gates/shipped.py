"""The gates that ship with Hornbook, by language."""

from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from hornbook.model.gates import Gate

PRESETS = ("go", "python", "typescript", "rust")


@cache
def preset_gates(name: str) -> tuple[Gate, ...]:
    """The gates of one of the `PRESETS`, each value with its origin."""
    text = (files(__package__) / "presets" / f"{name}.yaml").read_text(encoding="utf-8")
    entries: list[dict[str, Any]] = yaml.safe_load(text)  # our own file, tested
    return tuple(_gate(name, entry) for entry in entries)


def _gate(preset: str, entry: dict[str, Any]) -> Gate:
    values: dict[str, Any] = {  # a test holds them against Gate's fields
        key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()
    }
    return Gate(**values, origins=tuple((key, f"preset {preset}") for key in entry))
