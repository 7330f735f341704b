"""One store that somebody else runs for all tests of this folder, each with its own repository."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from hornbook.graph.remote import books
from tests.kit.graph_stores import OxigraphServer, Proxy, oxigraph_server, proxy_before


@pytest.fixture(scope="session")
def server() -> Iterator[OxigraphServer]:
    """Oxigraph's own server, in memory."""
    with oxigraph_server() as found:
        yield found


@pytest.fixture
def proxy(server: OxigraphServer) -> Iterator[Proxy]:
    """What stands before it, and can answer wrongly."""
    with proxy_before(server.url) as found:
        yield found


@pytest.fixture
def no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is kept for minutes is past its time at once."""
    monkeypatch.setattr(books, "MINUTE", timedelta(0))
