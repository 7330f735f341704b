"""What the server counts, for Prometheus."""

from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

_PATHS = "/ /graphql /sparql /mcp /healthz /readyz /metrics /docs /openapi.json"
ROUTES = frozenset(_PATHS.split())
API = "/api/v1/"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


def route_of(path: str) -> str:
    """A path as a label: one of a fixed set, whatever is asked for."""
    if path in ROUTES:
        return path
    if path.startswith(API):
        first = path[len(API) :].partition("/")[0]
        return API + first if first in _RESOURCES else API + "other"
    return "other"


_RESOURCES = frozenset({"ingest", "why", "size", "context", "reviews", "entities", "plans", "runs"})


class Metrics:
    """The counters of one server."""

    media_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry)
        self.requests = counter(
            "hornbook_requests", "Requests that were answered.", ("route", "method", "status")
        )
        self.seconds = Histogram(
            "hornbook_request_seconds",
            "Time from the first byte of a request to the last of its answer.",
            ("route",),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.refused = counter("hornbook_refused", "Requests that were refused.", ("reason",))
        self.in_flight = gauge("hornbook_requests_present", "Requests being worked on or waiting.")
        self.streams = gauge("hornbook_streams", "Open subscriptions and event streams.")
        self.documents = gauge("hornbook_documents", "Documents in the graph that is served.")
        self.triples = gauge("hornbook_triples", "Triples of current documents.")
        self.versions = counter("hornbook_versions", "Versions of the graph that were opened.")
        self.ingests = counter("hornbook_ingests", "Ingests by this server.", ("outcome",))

    def text(self) -> bytes:
        """All counters as text."""
        return generate_latest(self.registry)
