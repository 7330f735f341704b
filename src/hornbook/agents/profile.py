"""How a coding agent's command line is called and read, as data."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import yaml

from hornbook.agents.assignment import Role
from hornbook.resources import PACKAGE
from hornbook.settings.settings import JSON_PATHS, Output, OwnCommand, PromptBy


@dataclass(frozen=True, slots=True)
class JsonReading:
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
    text: tuple[JsonReading, ...] = ()
    error: tuple[JsonReading, ...] = ()
    input_tokens: tuple[JsonReading, ...] = ()
    output_tokens: tuple[JsonReading, ...] = ()
    cost: tuple[JsonReading, ...] = ()
    steps: tuple[JsonReading, ...] = ()
    files: tuple[JsonReading, ...] = ()
    input_pattern: str = ""
    output_pattern: str = ""
    cost_pattern: str = ""
    failure: str = ""

    def arguments(self, role: Role) -> tuple[str, ...]:
        """What a role is called with; a planner reads, as a reviewer does."""
        return self.developer if role is Role.DEVELOPER else self.reviewer


@cache
def shipped(name: str) -> Profile:
    """One of the `SHIPPED` profiles."""
    text = (PACKAGE / "agents/profiles" / f"{name}.yaml").read_text(encoding="utf-8")
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


def _reading(entry: dict[str, Any]) -> JsonReading:
    return JsonReading(
        entry["path"], tuple(entry.get("where", {}).items()), entry.get("take", "last")
    )


def own_profile(name: str, own: OwnCommand) -> Profile:
    """The profile of a team's own command, which was checked before."""
    program, *rest = shlex.split(own.command)
    reviewing = shlex.split(own.reviewer) if own.reviewer else [program, *rest]
    values: dict[str, Any] = {
        key: (JsonReading(path),) for key in JSON_PATHS if (path := getattr(own, key)) is not None
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
