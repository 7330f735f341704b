"""The part of a shared configuration file that decides how a change is judged."""

import configparser
import json
import tomllib
from collections.abc import Mapping

_CHECKERS = "black coverage flake8 hatch mypy nox pdm poe pylint pyright pytest ruff tox ty"
_PYPROJECT = frozenset(_CHECKERS.split())
_PACKAGE = frozenset(
    ("scripts", "jest", "vitest", "mocha", "ava", "c8", "nyc", "eslintConfig", "prettier", "babel")
)


def judging_part(path: str, text: str) -> object:
    """What in `pyproject.toml`, `package.json` or `setup.cfg` configures tests and checks.

    Two texts with the same answer judge alike. A text that cannot be read is its own answer, so
    that any change of it counts.
    """
    name = path.rsplit("/", 1)[-1]
    try:
        if name == "pyproject.toml":
            return _chosen(tomllib.loads(text).get("tool"), _PYPROJECT)
        if name == "package.json":
            return _chosen(json.loads(text), _PACKAGE)
        read = configparser.RawConfigParser(strict=False)
        read.read_string(text)
    except (ValueError, configparser.Error):
        return text
    return {
        section: dict(read[section])
        for section in read.sections()
        if section not in {"metadata", "options"} and not section.startswith("options.")
    }


def _chosen(table: object, names: frozenset[str]) -> object:
    if not isinstance(table, Mapping):
        return table
    return {key: value for key, value in table.items() if key in names}
