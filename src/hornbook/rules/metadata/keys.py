"""The metadata keys that some rule format gives a meaning to, and how to spot a misspelt one."""

import re
from collections.abc import Iterable

OWN_KEYS: dict[str, str] = {
    "id": "id",
    "title": "title",
    "category": "category",
    "applies_to": "applies_to",
    "globs": "applies_to",
    "applyTo": "applies_to",
    "paths": "applies_to",
    "fileMatchPattern": "applies_to",
    "severity": "severity",
    "scope": "scope",
    "domain": "domain",
    "domains": "domain",
    "related_domains": "related_domains",
    "keywords": "keywords",
    "tags": "tags",
    "summary": "summary",
    "description": "description",
    "requirements": "requirements",
    "project": "project",
    "authority": "authority",
    "added_by": "added_by",
    "added_at": "added_at",
    "date": "date",
    "activation": "activation",
}
"""Each key that our own documents may carry, and the name we would have it written with."""

_TOOL_KEYS = (
    "name",
    "alwaysApply",
    "excludeAgent",
    "inclusion",
    "trigger",
    "patterns",
    "type",
    "regex",
    "invokable",
    "status",
    "deciders",
    "decision-makers",
    "decision_makers",
    "consulted",
    "informed",
    "version",
    "author",
    "layout",
)


def plain_key(key: str) -> str:
    """Return a key without case and separators, for comparison."""
    return re.sub(r"[\W_]+", "", key.lower())


KNOWN_KEYS = frozenset((*OWN_KEYS, *_TOOL_KEYS))
"""Every key of every format: a block with one of them is metadata, not prose."""


def nearest(word: str, names: Iterable[str]) -> str | None:
    """Return the name that `word` most likely stands for, or None if none is close."""
    found = plain_key(word)
    allowed = 2 if len(found) > 5 else 1 if len(found) > 3 else 0
    best: tuple[int, str] | None = None
    for name in names:
        distance = _distance(found, plain_key(name), allowed)
        if distance <= allowed and (best is None or distance < best[0]):
            best = (distance, name)
    return best[1] if best else None


def _distance(left: str, right: str, allowed: int) -> int:
    """Return the edit distance (a swap of neighbours is one edit), or more than `allowed`."""
    if abs(len(left) - len(right)) > allowed:
        return allowed + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        older, before, row = before, row, [i]
        for j, b in enumerate(right, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]
