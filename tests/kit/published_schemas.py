"""Schemas as their authors published them, from the package `schemastore`, without a network."""

import json
import sqlite3
from functools import cache
from importlib.metadata import distribution
from typing import Any

SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
GITHUB_ACTION = "https://json.schemastore.org/github-action.json"
GITHUB_WORKFLOW = "https://json.schemastore.org/github-workflow.json"


@cache
def published_schema(address: str) -> dict[str, Any]:
    """The schema that was fetched from an address.

    The package is not imported: it would open its file for writing and ask the network when
    what it holds is old. An answer is stored with its body first and its address last.
    """
    store = distribution("schemastore").locate_file("schemastore/cache.sqlite")
    connection = sqlite3.connect(f"file:{store}?mode=ro&immutable=1", uri=True)
    try:
        answers = [value for (value,) in connection.execute("SELECT value FROM responses")]
    finally:
        connection.close()
    (found,) = (value for value in answers if value.rpartition(b"http")[2].startswith(address.encode()[4:] + b"\x94"))  # fmt: skip
    text = found[found.index(b"{") :].decode("utf-8", "replace")
    schema: dict[str, Any] = json.JSONDecoder().raw_decode(text)[0]
    return schema
