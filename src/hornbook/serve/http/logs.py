"""Structured logs: one JSON object a line on stderr, without bodies, queries or tokens."""

import json
import logging
import sys
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

LOGGER = "hornbook.serve"


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON; `extra={"facts": {…}}` adds keys."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        facts: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            facts["traceback"] = self.formatException(record.exc_info)
        return json.dumps(facts, ensure_ascii=True)


def log_to_stderr(what: str) -> None:
    """Send the server's logs to stderr: all `requests`, or `errors` only."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name, level in (
        (LOGGER, logging.INFO if what == "requests" else logging.WARNING),
        ("uvicorn.error", logging.WARNING),
    ):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False


log = logging.getLogger(LOGGER)


ROUTES = frozenset(
    {
        "/",
        "/graphql",
        "/sparql",
        "/mcp",
        "/healthz",
        "/readyz",
        "/metrics",
        "/docs",
        "/openapi.json",
    }
)
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
        self.requests = Counter(
            "hornbook_requests",
            "Requests that were answered.",
            ("route", "method", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "hornbook_request_seconds",
            "Time from the first byte of a request to the last of its answer.",
            ("route",),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.refused = Counter(
            "hornbook_refused", "Requests that were refused.", ("reason",), registry=self.registry
        )
        self.present = Gauge(
            "hornbook_requests_present",
            "Requests being worked on or waiting.",
            registry=self.registry,
        )
        self.streams = Gauge(
            "hornbook_streams", "Open subscriptions and event streams.", registry=self.registry
        )
        self.documents = Gauge(
            "hornbook_documents", "Documents in the graph that is served.", registry=self.registry
        )
        self.triples = Gauge(
            "hornbook_triples", "Triples of current documents.", registry=self.registry
        )
        self.versions = Counter(
            "hornbook_versions", "Versions of the graph that were opened.", registry=self.registry
        )
        self.ingests = Counter(
            "hornbook_ingests", "Ingests by this server.", ("outcome",), registry=self.registry
        )

    def text(self) -> bytes:
        """All counters as text."""
        return generate_latest(self.registry)
