"""The JSON schema that answers about gates keep to."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

SCHEMA = "structural-gates.v1.json"


@cache
def schema() -> dict[str, Any]:
    """The schema of `gates run` and `gates list`, as shipped."""
    text = (files(__package__) / "schemas" / SCHEMA).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)  # JSON of any shape
    return found
