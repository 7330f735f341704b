"""The commands that a repository defines itself: scripts, targets, recipes, sessions.

A manifest is read when a rule first names a command of its kind. What it cannot tell (a target
whose name is computed, an include that is not here) makes the whole kind unknown: `None`.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import yaml

from hornbook.doctor.repository_files import RepositoryFiles

_TARGET = re.compile(
    r"^(?![\t#.\s])((?:[^\s:=#$]|\\ )+(?:[ \t]+[^\s:=#$]+)*)[ \t]*::?(?!=)", re.MULTILINE
)
_PHONY = re.compile(r"^\.PHONY[ \t]*:[ \t]*((?:.*\\\n)*.*)$", re.MULTILINE)
_COMPUTED = re.compile(
    r"^\$[({][^:=\n]*[)}][^:=\n]*::?(?!=)|^\s*-?include\s+.*\$|^\$\(eval", re.MULTILINE
)
_RECIPE = re.compile(
    # A name, its parameters (whose defaults may hold a colon), and the colon that is no `:=`.
    r"^@?([A-Za-z_][\w-]*)(?:[ \t]+(?:'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`|[^:'\"`\n])*)?:(?!=)"
    r"|^alias[ \t]+([\w-]+)[ \t]*:=",
    re.MULTILINE,
)
_IMPORTS = re.compile(r"^(?:import|mod)\??[ \t]", re.MULTILINE)
_SESSION = re.compile(
    r"@(?:nox\.)?session\b[^\n]*(?:\n(?![ \t]*def\b)[^\n]*)*\n[ \t]*(?:async )?def (\w+)"
)
_SESSION_NAME = re.compile(r"""session\([^)]*\bname\s*=\s*["']([\w-]+)""")


@dataclass(frozen=True, slots=True)
class NodePackage:
    """A `package.json`: where it lies, what it is called, what it can run."""

    folder: str
    name: str
    scripts: frozenset[str]
    binaries: frozenset[str] = field(default=frozenset())


class Manifests:
    """The manifests of one repository."""

    def __init__(self, files: RepositoryFiles) -> None:
        self._files = files

    def _named(self, *names: str) -> list[str]:
        found = (path for name in names for path in self._files.by_name.get(name, ()))
        return sorted(path for path in found if path in self._files.files)

    def _text(self, path: str) -> str:
        try:
            return (self._files.root / path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    @cached_property
    def packages(self) -> tuple[NodePackage, ...]:
        """Every package of npm's kind."""
        found = []
        for path in self._named("package.json"):
            facts = _mapping(_json(self._text(path)))
            scripts = frozenset(map(str, _mapping(facts.get("scripts"))))
            folder = path.rpartition("/")[0]
            binaries = _binaries(facts)
            found.append(NodePackage(folder, str(facts.get("name", "")), scripts, binaries))
        return tuple(found)

    @cached_property
    def make_targets(self) -> frozenset[str] | None:
        """The targets of every makefile, with what they include."""
        paths = self._named("Makefile", "makefile", "GNUmakefile")
        paths += [path for path in sorted(self._files.files) if path.endswith(".mk")]
        texts = [self._text(path).replace("\\\n", " ") for path in paths]
        if any(_COMPUTED.search(text) for text in texts):
            return None
        found = {name for text in texts for line in _TARGET.findall(text) for name in line.split()}
        found |= {name for text in texts for line in _PHONY.findall(text) for name in line.split()}
        return None if any("%" in name for name in found) else frozenset(found)

    @property
    def has_makefile(self) -> bool:
        """Whether `make` has anything to read."""
        return bool(self._named("Makefile", "makefile", "GNUmakefile"))

    @cached_property
    def recipes(self) -> frozenset[str] | None:
        """The recipes of every justfile."""
        texts = list(map(self._text, self._named("justfile", "Justfile", ".justfile")))
        texts += [self._text(path) for path in sorted(self._files.files) if path.endswith(".just")]
        if not texts or any(_IMPORTS.search(text) for text in texts):
            return None
        return frozenset(
            name for text in texts for pair in _RECIPE.findall(text) for name in pair if name
        )

    @cached_property
    def go_tasks(self) -> frozenset[str] | None:
        """The tasks of every Taskfile."""
        paths = self._named("Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml")
        facts = [_mapping(_yaml(self._text(path))) for path in paths]
        if not facts or any("includes" in each for each in facts):
            return None
        return frozenset(str(name) for each in facts for name in _mapping(each.get("tasks")))

    @cached_property
    def poe_tasks(self) -> frozenset[str] | None:
        """The tasks that poethepoet finds in a `pyproject.toml`."""
        tables = [_inside(each, "tool", "poe") for each in self._projects]
        if not any(tables) or any("include" in table for table in tables):
            return None
        return frozenset(str(name) for table in tables for name in _mapping(table.get("tasks")))

    @cached_property
    def tox_environments(self) -> frozenset[str] | None:
        """The environments that `tox` is told of, if all of them are written out."""
        texts = [self._text(path) for path in self._named("tox.ini")]
        if not texts or any(
            re.search(r"^\[testenv:[^\]]*\{|^env_?list\s*=.*\{", t, re.MULTILINE) for t in texts
        ):
            return None
        found = {
            name
            for text in texts
            for name in re.findall(r"^\[testenv:([^\]]+)\]", text, re.MULTILINE)
        }
        listed = (
            re.search(r"^env_?list\s*=((?:.*\n)(?:[ \t]+.*\n)*)", text, re.MULTILINE)
            for text in texts
        )
        found |= {name for each in listed if each for name in re.split(r"[\s,]+", each[1]) if name}
        return frozenset(found)

    @cached_property
    def nox_sessions(self) -> frozenset[str] | None:
        """The sessions of every `noxfile.py`."""
        texts = list(map(self._text, self._named("noxfile.py")))
        if not texts:
            return None
        return frozenset(
            n for t in texts for n in (*_SESSION.findall(t), *_SESSION_NAME.findall(t))
        )

    @cached_property
    def composer_scripts(self) -> frozenset[str] | None:
        """The scripts of every `composer.json`."""
        facts = [_mapping(_json(self._text(path))) for path in self._named("composer.json")]
        return (
            frozenset(str(name) for each in facts for name in _mapping(each.get("scripts")))
            if facts
            else None
        )

    @cached_property
    def deno_tasks(self) -> frozenset[str] | None:
        """The tasks of every `deno.json`."""
        facts = [
            _mapping(_json(self._text(path))) for path in self._named("deno.json", "deno.jsonc")
        ]
        return (
            frozenset(str(name) for each in facts for name in _mapping(each.get("tasks")))
            if all(facts) and facts
            else None
        )

    @cached_property
    def hatch_scripts(self) -> frozenset[str] | None:
        """`environment:script` for every script of hatch's environments."""
        tables = [_inside(each, "tool", "hatch", "envs") for each in self._projects]
        tables += [_inside(_toml(self._text(path)), "envs") for path in self._named("hatch.toml")]
        return (
            frozenset(
                f"{name}:{script}"
                for table in tables
                for name, facts in table.items()
                for script in _mapping(_mapping(facts).get("scripts"))
            )
            if any(tables)
            else None
        )

    @cached_property
    def cargo_packages(self) -> frozenset[str] | None:
        """The crates of the repository, by name."""
        facts = [_toml(self._text(path)) for path in self._named("Cargo.toml")]
        names = {str(_mapping(each.get("package")).get("name", "")) for each in facts}
        return frozenset(names) if facts else None

    @cached_property
    def _projects(self) -> list[dict[str, Any]]:
        return [_toml(self._text(path)) for path in self._named("pyproject.toml")]


def _binaries(facts: Mapping[str, Any]) -> frozenset[str]:
    listed = facts.get("bin")
    named = [str(facts.get("name", "")).rpartition("/")[2]] if isinstance(listed, str) else []
    return frozenset([*map(str, _mapping(listed)), *named])


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


@lru_cache(maxsize=256)
def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def _yaml(text: str) -> object:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return None


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _inside(value: Mapping[str, Any], *keys: Iterable[str]) -> dict[str, Any]:
    found: object = value
    for key in keys:
        found = _mapping(found).get(str(key))
    return _mapping(found)
