"""Structured logs: one JSON object a line on stderr, without bodies, queries or tokens."""

import json
import logging
import sys
from datetime import UTC, datetime

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
