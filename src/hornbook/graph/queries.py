"""Named SPARQL queries: one question a file in `queries/sparql`, `$name` marks a parameter."""

import re
from functools import cache

from hornbook import resources
from hornbook.vocabulary.prefixes import PREFIXES

_PARAMETER = re.compile(r"\$(\w+)")
_COMMENT = re.compile(r"^\s*#.*\n?", re.MULTILINE)


@cache
def text(name: str) -> str:
    """The text of a named query without its comments."""
    return _COMMENT.sub("", resources.text("queries", "sparql", f"{name}.rq")).strip()


def parameters(name: str) -> frozenset[str]:
    """The names of the parameters that a named query takes."""
    return frozenset(_PARAMETER.findall(text(name)))


def fill(name: str, terms: dict[str, str]) -> str:
    """A named query with its parameters replaced by N-Triples terms.

    Raises:
        KeyError: A parameter is missing or not one of the query's.
    """
    if parameters(name) != terms.keys():
        raise KeyError(f"query {name!r} takes {sorted(parameters(name))}, not {sorted(terms)}")
    return _PARAMETER.sub(lambda match: terms[match.group(1)], text(name))


def prologue() -> str:
    """The prefix declarations that make a named query complete for any SPARQL processor."""
    return "".join(f"PREFIX {label}: <{base}>\n" for label, base in PREFIXES.items())
