"""The commands that serve the graph: over HTTP, and to an agent over MCP on stdin and stdout."""

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click

from hornbook.cli.options import root_of
from hornbook.cli.output import counted, note, progress_bar
from hornbook.errors import UsageError


class _Terminated(BaseException):  # nothing on the way may take it for an error
    """SIGTERM came."""


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Unwind what is being done when SIGTERM comes, then end the process by it."""

    def unwind(_signal: int, _frame: FrameType | None) -> None:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, unwind)
    try:
        yield
    except _Terminated:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


@click.command()
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on; beyond loopback tokens are needed.",
)
@click.option(
    "--port",
    default=8765,
    show_default=True,
    type=click.IntRange(1, 65535),
    help="The port to listen on.",
)
@click.option("--ingest", is_flag=True, help="Ingest before serving.")
@click.option("--watch", is_flag=True, help="Ingest whenever a source changes.")
@root_of
def serve(root: str | None, host: str, port: int, *, ingest: bool, watch: bool) -> None:
    """Serve GraphQL, REST, SPARQL and MCP over HTTP until stopped."""
    with ended_by_sigterm():
        from hornbook.serve.service import run
        from hornbook.workspace import Workspace

        with Workspace.open(root) as work:
            place = work.root
            _refuse_taken(host, port)
            if ingest:
                with progress_bar() as progress:
                    report = work.ingest(progress=progress)
                note(f"ingested {counted(report.documents, 'document')}")
        shown = f"[{host}]" if ":" in host else host
        note(f"serving {place} on http://{shown}:{port}")
        run(place, host, port, watch=watch)


def _refuse_taken(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as problem:
            raise UsageError(
                f"{host}:{port}: {problem.strerror}: choose another --port."
            ) from problem


@click.command()
@click.option("--ingest", is_flag=True, help="Read what changed into the graph first.")
@root_of
def mcp(root: str | None, *, ingest: bool) -> None:
    """Answer an agent over MCP on stdin and stdout.

    It ends when stdin ends.
    """
    from hornbook.serve.mcp.stdio import serve_stdio
    from hornbook.workspace import Workspace

    with Workspace.open(root) as work:
        place = str(work.root)

    def prepare() -> None:
        with Workspace.open(place) as work:
            report = work.ingest()
        note(f"{report.documents} documents, {len(report.problems)} problems")

    serve_stdio(place, prepare if ingest else None)


COMMANDS = (serve, mcp)
