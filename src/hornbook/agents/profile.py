"""How a coding agent's command line is called and read, as data."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Any

import yaml

from hornbook.model.agents import Role

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
_PATHS = ("text", "error", "input_tokens", "output_tokens", "cost", "files")


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


@dataclass(frozen=True, slots=True)
class Reading:
    """A value in printed JSON: a dotted path, `*` for every item, in objects that fit `where`.

    Of several the last is taken, or they are joined.
    """

    path: str
    where: tuple[tuple[str, object], ...] = ()
    take: str = "last"


@dataclass(frozen=True, slots=True)
class Profile:
    """One command line. Arguments may hold placeholders: `{model}`, `{prompt_file}` and so on.

    `inherits` are globs of environment variables that it gets from ours; `home` are the folders
    below the user's home where it keeps its log-in. `failure` finds, in plain text, what is an
    error and no answer.
    """

    name: str
    program: str
    install: str = "install it, or name another agent"
    providers: tuple[str, ...] = ()
    prompt: PromptBy = PromptBy.STDIN
    output: Output = Output.TEXT
    developer: tuple[str, ...] = ()
    reviewer: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    schema: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    reviewer_environment: Mapping[str, str] = field(default_factory=dict)
    inherits: tuple[str, ...] = ()
    home: tuple[str, ...] = ()
    text: tuple[Reading, ...] = ()
    error: tuple[Reading, ...] = ()
    input_tokens: tuple[Reading, ...] = ()
    output_tokens: tuple[Reading, ...] = ()
    cost: tuple[Reading, ...] = ()
    steps: tuple[Reading, ...] = ()
    files: tuple[Reading, ...] = ()
    input_pattern: str = ""
    output_pattern: str = ""
    cost_pattern: str = ""
    failure: str = ""

    def arguments(self, role: Role) -> tuple[str, ...]:
        """What a role is called with; a planner reads, as a reviewer does."""
        return self.developer if role is Role.DEVELOPER else self.reviewer


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


@cache
def shipped(name: str) -> Profile:
    """One of the `SHIPPED` profiles."""
    text = (files(__package__) / "profiles" / f"{name}.yaml").read_text(encoding="utf-8")
    entries: dict[str, Any] = yaml.safe_load(text)  # our own file, tested
    return Profile(name=name, **{key: _value(key, value) for key, value in entries.items()})


def _value(key: str, value: Any) -> Any:  # what YAML gives; a test holds it against the fields
    if key == "prompt":
        return PromptBy(value)
    if key == "output":
        return Output(value)
    if not isinstance(value, list):
        return value
    return tuple(_reading(each) if isinstance(each, dict) else each for each in value)


def _reading(entry: dict[str, Any]) -> Reading:
    return Reading(entry["path"], tuple(entry.get("where", {}).items()), entry.get("take", "last"))


def own_profile(name: str, own: OwnCommand) -> Profile:
    """The profile of a team's own command, which was checked before."""
    program, *rest = shlex.split(own.command)
    reviewing = shlex.split(own.reviewer) if own.reviewer else [program, *rest]
    values: dict[str, Any] = {
        key: (Reading(path),) for key in _PATHS if (path := getattr(own, key)) is not None
    }
    return Profile(
        name=name,
        program=program,
        install=f"`agents.{name}.command` in .hornbook/config.yaml names it",
        providers=own.provider,
        prompt=PromptBy(own.prompt),
        output=Output(own.output),
        developer=tuple(rest),
        # Another program for reviews stands in the place of the first one.
        reviewer=tuple(reviewing[1:]) if reviewing[0] == program else ("", *reviewing),
        environment=own.environment,
        inherits=own.inherits,
        home=own.home,
        **values,
    )


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
            for key in _PATHS
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
