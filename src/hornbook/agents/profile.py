"""How a coding agent's command line is called and read, as data."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import yaml

from hornbook.agents.assignment import Role
from hornbook.resources import PACKAGE
from hornbook.settings.settings import JSON_PATHS, Output, OwnCommand, PromptBy
from hornbook.settings.surroundings import HomeSettings


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

    `inherits` are globs of environment variables that it gets from ours; `home` is what it finds of
    the user's home, its log-in above all; `network` are the hosts that it may reach, with ports.
    Where we confine it, its own sandbox would only get in the way: then `developer_confined` and
    `reviewer_confined` are its arguments, if there are any. `answer` finds, in plain text, what of
    it is the answer, by default all; `failure` what of an answer's text is an error. `untried` says
    that nobody has driven the program with it yet. `provider_names` is what it calls a provider,
    where that is another name than ours; `model_environment` are variables for a provider's models,
    with `{url}`, `{key}` and `{model}` of the one that is asked for.
    """

    name: str
    program: str
    install: str = "install it, or name another agent"
    providers: tuple[str, ...] = ()
    prompt: PromptBy = PromptBy.STDIN
    output: Output = Output.TEXT
    developer: tuple[str, ...] = ()
    reviewer: tuple[str, ...] = ()
    developer_confined: tuple[str, ...] = ()
    reviewer_confined: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    schema: tuple[str, ...] = ()
    provider_names: Mapping[str, str] = field(default_factory=dict)
    model_environment: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    reviewer_environment: Mapping[str, str] = field(default_factory=dict)
    inherits: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    home: HomeSettings = field(default_factory=HomeSettings)
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
    answer: str = ""
    failure: str = ""
    untried: bool = False

    def arguments(self, role: Role, *, confined: bool = False) -> tuple[str, ...]:
        """What a role is called with; a planner reads, as a reviewer does."""
        if role is Role.DEVELOPER:
            return (self.developer_confined if confined else ()) or self.developer
        return (self.reviewer_confined if confined else ()) or self.reviewer


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
    if key == "home":
        return HomeSettings(**{name: tuple(paths) for name, paths in value.items()})
    if not isinstance(value, list):
        return value
    return tuple(_reading(each) if isinstance(each, dict) else each for each in value)


def _reading(entry: dict[str, Any]) -> JsonReading:
    return JsonReading(
        entry["path"], tuple(entry.get("where", {}).items()), entry.get("take", "last")
    )


_PROVIDER_HOSTS = {
    "anthropic": "api.anthropic.com:443",
    "openai": "api.openai.com:443",
    "google": "generativelanguage.googleapis.com:443",
    "openrouter": "openrouter.ai:443",
}


def own_profile(name: str, own: OwnCommand) -> Profile:
    """The profile of a team's own command, or of a shipped one with what the team changed.

    Both were checked before.
    """
    if not own.command:
        return _surrounded(shipped(name), own)
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
        network=(*own.network, *_hosts_of(own.provider)),
        home=own.home,
        **values,
    )


def _hosts_of(providers: tuple[str, ...]) -> tuple[str, ...]:
    """Where the models of providers are, as far as that is one place for everybody."""
    return tuple(_PROVIDER_HOSTS[each] for each in providers if each in _PROVIDER_HOSTS)


def _surrounded(profile: Profile, own: OwnCommand) -> Profile:
    """A shipped profile with what a team lets it reach and find beside its own."""
    home = HomeSettings(
        read=(*profile.home.read, *own.home.read),
        copy=(*profile.home.copy, *own.home.copy),
        back=(*profile.home.back, *own.home.back),
    )
    return replace(
        profile,
        environment={**profile.environment, **own.environment},
        inherits=(*profile.inherits, *own.inherits),
        network=(*profile.network, *own.network),
        home=home,
    )
