"""SPARQL from outside: read-only, without SERVICE, in every result format of the standard."""

import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import pyoxigraph as ox

from hornbook.errors import BadQuery, NoForm, TooLarge
from hornbook.graph.oxigraph import OxigraphStore
from hornbook.graph.store import translate_store_errors
from hornbook.vocabulary.names import Namespace

RESULTS = {
    "json": ox.QueryResultsFormat.JSON,
    "csv": ox.QueryResultsFormat.CSV,
    "tsv": ox.QueryResultsFormat.TSV,
    "xml": ox.QueryResultsFormat.XML,
}
GRAPHS = {
    "turtle": ox.RdfFormat.TURTLE,
    "ntriples": ox.RdfFormat.N_TRIPLES,
    "rdfxml": ox.RdfFormat.RDF_XML,
    "jsonld": ox.RdfFormat.JSON_LD,
    "nquads": ox.RdfFormat.N_QUADS,
    "trig": ox.RdfFormat.TRIG,
}
_WITH_PREFIXES = frozenset({ox.RdfFormat.TURTLE, ox.RdfFormat.TRIG})
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


# A query that ends so gives no more rows than it says.
_LIMIT = re.compile(r"\blimit\s+(\d{1,9})(?:\s+offset\s+\d+)?\s*\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Dataset:
    """The graphs that a request names beside the query; None means all of them."""

    default: tuple[str, ...] | None = None
    named: tuple[str, ...] | None = None

    @property
    def given(self) -> bool:
        """Whether the request names any graph."""
        return self.default is not None or self.named is not None


@dataclass(frozen=True, slots=True)
class SparqlLimits:
    """How large an answer may be; a larger one is refused, never cut."""

    rows: int
    size: int


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms that will do: one for tables, one for graphs, either may be missing."""

    table: str | None = "json"
    graph: str | None = "turtle"

    @classmethod
    def of(cls, result_format: str | None) -> "Forms":
        """The one form that is asked for, or the usual ones."""
        if result_format is None:
            return cls()
        is_table = result_format in RESULTS
        return cls(result_format if is_table else None, None if is_table else result_format)


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer and the form that it has."""

    data: bytes
    form: str


def answer(store: OxigraphStore, text: str, result_format: str | None) -> bytes:
    """The answer to a SPARQL query over all graphs as one, serialised.

    Without a format, tables come as JSON and graphs as Turtle.

    Raises:
        BadQuery: The text does not parse, is an update, reaches out, or the format does not fit.
    """
    return respond(store, text, Forms.of(result_format)).data


def respond(
    store: OxigraphStore,
    text: str,
    forms: Forms,
    *,
    dataset: Dataset = Dataset(),  # noqa: B008  # frozen
    bounds: SparqlLimits | None = None,
) -> Answered:
    """The answer in one of the forms; the graphs of a request go before those of the query.

    Raises:
        BadQuery: The text does not parse, is an update, or reaches out.
        NoForm: No form fits what is asked.
        TooLarge: The answer is larger than `bounds`.
    """
    _refuse_bombs(text)
    if _SUSPECT.search(text) and _reaches_out(text):
        raise BadQuery("SERVICE asks another server, which Hornbook never does: remove it.")
    results = _results(store, text, dataset)
    with translate_store_errors():
        if bounds is None:
            return _serialise(results, forms, io.BytesIO(), store.names)
        if isinstance(results, ox.QuerySolutions) and not _is_short(text, bounds):
            if sum(1 for _ in islice(results, bounds.rows + 1)) > bounds.rows:
                raise _too_many(bounds)
            results = _results(store, text, dataset)
        return _serialise(results, forms, _Bounded(bounds), store.names, bounds)


def _is_short(text: str, bounds: SparqlLimits) -> bool:
    """Whether the query itself says that it gives few rows, so that they need not be counted."""
    found = _LIMIT.search(text)
    if found is None or "#" in text:  # a comment could say it too
        return False
    return int(found[1]) <= bounds.rows


def _too_many(bounds: SparqlLimits) -> "TooLarge":
    return TooLarge(f"the answer has more than {bounds.rows} rows: add a LIMIT, and an OFFSET.")


class _Bounded(io.BytesIO):
    """Takes so many bytes and no more."""

    def __init__(self, bounds: SparqlLimits) -> None:
        super().__init__()
        self._most = bounds.size

    def write(self, data: "bytes | bytearray | memoryview", /) -> int:  # type: ignore[override]  # narrower than any buffer
        if self.tell() + len(data) > self._most:
            raise TooLarge(f"the answer has more than {self._most} bytes: add a LIMIT.")
        return super().write(data)


def _results(
    store: OxigraphStore, text: str, dataset: Dataset
) -> "ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples":
    union = _FROM.search(text) is None and not dataset.given
    try:
        return store.query(text, union=union, default=dataset.default, named=dataset.named)
    except ValueError as problem:
        raise BadQuery(f"a graph is not named by an IRI: {problem}") from problem
    except SyntaxError as problem:
        if _UPDATE.match(text):
            raise BadQuery(
                "the graph is read-only here: only SELECT, ASK, CONSTRUCT and DESCRIBE."
            ) from problem
        raise BadQuery(f"the query does not parse: {problem}") from problem


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
    results: "ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples",
    forms: Forms,
    target: io.BytesIO,
    names: Namespace,
    bounds: SparqlLimits | None = None,
) -> Answered:
    if isinstance(results, ox.QueryTriples):
        return _graph(results, forms, target, names, bounds)
    table = RESULTS.get(forms.table or "")
    if table is None or forms.table is None:
        raise NoForm(f"SELECT and ASK answer as {', '.join(RESULTS)}, not {forms.graph}.")
    if isinstance(results, ox.QueryBoolean) and forms.table in {"csv", "tsv"}:
        return Answered(b"true\n" if results else b"false\n", forms.table)
    results.serialize(target, format=table)
    return Answered(target.getvalue(), forms.table)


def _graph(
    results: "ox.QueryTriples",
    forms: Forms,
    target: io.BytesIO,
    names: Namespace,
    bounds: SparqlLimits | None,
) -> Answered:
    chosen = GRAPHS.get(forms.graph or "")
    if chosen is None or forms.graph is None:
        raise NoForm(f"CONSTRUCT and DESCRIBE answer as {' or '.join(GRAPHS)}, not {forms.table}.")
    triples = sorted(results if bounds is None else islice(results, bounds.rows + 1), key=str)
    if bounds is not None and len(triples) > bounds.rows:
        raise _too_many(bounds)
    prefixes = names.prefixes if chosen in _WITH_PREFIXES else None
    ox.serialize(triples, target, format=chosen, prefixes=prefixes)
    return Answered(target.getvalue(), forms.graph)


SD = "http://www.w3.org/ns/sparql-service-description#"
_FORMATS = "http://www.w3.org/ns/formats/"
_RDF_TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_RESULTS = (
    *("SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV"),
    *("Turtle", "N-Triples", "RDF_XML", "JSON-LD", "N-Quads", "TriG"),
)


def service_description(endpoint: str, form: str) -> bytes:
    """What the endpoint at an address is, in one of the forms that graphs have.

    Its default graph is the union of all named graphs, and it is only asked.
    """
    service, dataset, graph = (ox.BlankNode(name) for name in ("service", "dataset", "graph"))
    said: list[tuple[ox.BlankNode, ox.NamedNode, ox.NamedNode | ox.BlankNode]] = [
        (service, _RDF_TYPE, _sd("Service")),
        (service, _sd("endpoint"), ox.NamedNode(endpoint)),
        (service, _sd("supportedLanguage"), _sd("SPARQL11Query")),
        (service, _sd("feature"), _sd("UnionDefaultGraph")),
        *((service, _sd("resultFormat"), ox.NamedNode(_FORMATS + each)) for each in _RESULTS),
        (service, _sd("defaultDataset"), dataset),
        (dataset, _RDF_TYPE, _sd("Dataset")),
        (dataset, _sd("defaultGraph"), graph),
        (graph, _RDF_TYPE, _sd("Graph")),
    ]
    target = io.BytesIO()
    chosen = GRAPHS[form]
    named = chosen in {ox.RdfFormat.TURTLE, ox.RdfFormat.TRIG, ox.RdfFormat.RDF_XML}
    prefixes = {"sd": SD, "format": _FORMATS} if named else None
    ox.serialize([ox.Triple(*each) for each in said], target, format=chosen, prefixes=prefixes)
    return target.getvalue()


def _sd(name: str) -> ox.NamedNode:
    return ox.NamedNode(SD + name)
