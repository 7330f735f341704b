"""The `agents:` block of the settings: a team's own commands, and what a developer may see."""

import shlex
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from string import Formatter

SHIPPED = ("claude", "codex", "opencode", "gemini", "aider")
SCRIPTED, EMBEDDED = "scripted", "embedded"
RESERVED = (*SHIPPED, SCRIPTED, EMBEDDED)
PLACEHOLDERS = (
    "prompt",
    "prompt_file",
    "model",
    "provider",
    "system",
    "schema",
    "schema_file",
    "scratch",
    "files",
    "role",
)
JSON_PATHS = ("text", "error", "input_tokens", "output_tokens", "cost", "files")


class PromptBy(StrEnum):
    """How the prompt reaches the command."""

    STDIN = "stdin"
    FILE = "file"
    ARGUMENT = "argument"


class Output(StrEnum):
    """What the command prints: plain text, one JSON document, or one JSON object a line."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"


class Sight(StrEnum):
    """What a developer sees of the rules: nothing, what they require, or all of them."""

    BLIND = "blind"
    REQUIREMENTS = "requirements"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class OwnCommand:
    """An agent of the team's own, as settings state it."""

    command: str
    reviewer: str | None = None
    prompt: str = "stdin"
    output: str = "text"
    text: str | None = None
    error: str | None = None
    input_tokens: str | None = None
    output_tokens: str | None = None
    cost: str | None = None
    files: str | None = None
    provider: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    inherits: tuple[str, ...] = ()
    home: tuple[str, ...] = ()


def problems_of(name: str, own: OwnCommand, reserved: tuple[str, ...]) -> list[tuple[str, str]]:
    """What is wrong with a team's own command: the key, and what was found with its remedy."""
    found: list[tuple[str, str]] = []
    if name in reserved:
        found.append(("", f"`{name}` is shipped with Hornbook: give yours another name."))
    kinds: tuple[tuple[str, type[StrEnum]], ...] = (("prompt", PromptBy), ("output", Output))
    for key, kind in kinds:
        value = getattr(own, key)
        if value not in list(kind):
            found.append((key, f"`agents.{name}.{key}` is {value!r}: write {', '.join(kind)}."))
    for key in ("command", "reviewer"):
        template = getattr(own, key)
        if template is not None:
            found += ((key, said) for said in _template(f"agents.{name}.{key}", template, own))
    return [*found, *_paths(name, own)]


def _paths(name: str, own: OwnCommand) -> list[tuple[str, str]]:
    """Paths in JSON are for output that is JSON, and then the answer's is needed."""
    if own.output == Output.TEXT:
        return [
            (key, f"`agents.{name}.{key}` is a path in JSON: set `output` to json.")
            for key in JSON_PATHS
            if getattr(own, key) is not None
        ]
    if own.text is None:
        said = f"`agents.{name}` prints {own.output}: say with `text` where the answer stands."
        return [("output", said)]
    return []


def _template(key: str, template: str, own: OwnCommand) -> list[str]:
    try:
        parts = shlex.split(template)
    except ValueError as problem:
        return [f"`{key}` cannot be split into words: {problem}."]
    if not parts:
        return [f"`{key}` is empty: write the program and its arguments."]
    try:
        used = {name for part in parts for _, name, _, _ in Formatter().parse(part) if name}
    except ValueError as problem:
        return [f"`{key}`: {problem}: write a brace that is none of ours as `{{{{`."]
    found = []
    for name in sorted(used - set(PLACEHOLDERS)):
        near = get_close_matches(name, PLACEHOLDERS, 1)
        hint = f"did you mean `{{{near[0]}}}`?" if near else f"known are {', '.join(PLACEHOLDERS)}."
        found.append(f"`{key}` holds `{{{name}}}`: {hint}")
    wanted = {"file": "prompt_file", "argument": "prompt"}.get(own.prompt)
    if wanted is not None and wanted not in used:
        found.append(f"`{key}` lacks `{{{wanted}}}`, which carries the prompt.")
    return found
