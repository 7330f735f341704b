"""SPARQL from outside: read-only, without SERVICE, in every result format of the standard."""

import io
import re
from collections.abc import Iterable

import pyoxigraph as ox

from hornbook.errors import BadQuery
from hornbook.graph.store import OxigraphStore, sound
from hornbook.vocabulary.prefixes import PREFIXES

RESULTS = {
    "json": ox.QueryResultsFormat.JSON,
    "csv": ox.QueryResultsFormat.CSV,
    "tsv": ox.QueryResultsFormat.TSV,
    "xml": ox.QueryResultsFormat.XML,
}
GRAPHS = {"turtle": ox.RdfFormat.TURTLE, "ntriples": ox.RdfFormat.N_TRIPLES}
FORMATS = (*RESULTS, *GRAPHS)

_SUSPECT = re.compile(r"service", re.IGNORECASE)
_ESCAPE = re.compile(r"\\[uU]")
_FROM = re.compile(r"\bFROM\s+(?:NAMED\s+)?(?:<|[\w.-]*:)", re.IGNORECASE)
LONGEST = 100_000
DEEPEST = 200
_UPDATE = re.compile(
    r"\s*(?:(?:PREFIX|BASE)\s[^>]*>\s*)*(?:WITH|INSERT|DELETE|LOAD|CLEAR|CREATE|DROP|COPY|MOVE|ADD)\b",
    re.IGNORECASE,
)


def answer(store: OxigraphStore, text: str, result_format: str | None) -> bytes:
    """The answer to a SPARQL query over all graphs as one, serialised.

    Without a format, tables come as JSON and graphs as Turtle.

    Raises:
        BadQuery: The text does not parse, is an update, reaches out, or the format does not fit.
    """
    _refuse_bombs(text)
    if _SUSPECT.search(text) and _reaches_out(text):
        raise BadQuery("SERVICE asks another server, which Hornbook never does: remove it.")
    try:
        results = store.query(text, PREFIXES, union=_FROM.search(text) is None)
    except SyntaxError as problem:
        if _UPDATE.match(text):
            raise BadQuery(
                "the graph is read-only here: only SELECT, ASK, CONSTRUCT and DESCRIBE."
            ) from problem
        raise BadQuery(f"the query does not parse: {problem}") from problem
    with sound():
        return _serialise(results, result_format)


def _refuse_bombs(text: str) -> None:
    """Refuse what would overflow the parser's stack, or mean one thing to one parser and
    another thing to the other.
    """
    if len(text) > LONGEST:
        raise BadQuery(f"the query has {len(text)} characters, {LONGEST} are allowed.")
    if _ESCAPE.search(text):
        raise BadQuery("write characters themselves, not as \\u escapes.")
    depth = deepest = 0
    for character in text:
        if character in "{([":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "})]":
            depth -= 1
    if deepest > DEEPEST or text.count("!") > DEEPEST:
        raise BadQuery(f"the query is nested more than {DEEPEST} deep: make it flatter.")


def _reaches_out(text: str) -> bool:
    """Whether a query that speaks of a service really calls one, by a full parse.

    Oxigraph would follow SERVICE over the network and cannot be told not to. What the second
    parser does not understand is refused.
    """
    from rdflib.plugins.sparql.parser import parseQuery  # noqa: PLC0415  # a quarter of a second

    try:
        return _calls_service(parseQuery(text))
    except Exception as problem:  # pyparsing raises many kinds; all mean refused
        raise BadQuery(
            f"the query speaks of SERVICE and could not be checked to be free of it: {problem}"
        ) from problem


def _calls_service(node: object) -> bool:
    if getattr(node, "name", "") == "ServiceGraphPattern":
        return True
    if isinstance(node, dict):
        return any(_calls_service(value) for value in node.values())
    if isinstance(node, Iterable) and not isinstance(node, str):
        return any(_calls_service(value) for value in node)
    return False


def _serialise(
    results: "ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples", result_format: str | None
) -> bytes:
    target = io.BytesIO()
    if isinstance(results, ox.QueryTriples):
        chosen = GRAPHS.get(result_format or "turtle")
        if chosen is None:
            raise BadQuery(
                f"CONSTRUCT and DESCRIBE answer as {' or '.join(GRAPHS)}, not {result_format}."
            )
        triples = sorted(results, key=str)
        prefixes = PREFIXES if chosen == ox.RdfFormat.TURTLE else None
        ox.serialize(triples, target, format=chosen, prefixes=prefixes)
        return target.getvalue()
    table = RESULTS.get(result_format or "json")
    if table is None:
        raise BadQuery(f"SELECT and ASK answer as {', '.join(RESULTS)}, not {result_format}.")
    if isinstance(results, ox.QueryBoolean) and table in {RESULTS["csv"], RESULTS["tsv"]}:
        return b"true\n" if results else b"false\n"
    results.serialize(target, format=table)
    return target.getvalue()
