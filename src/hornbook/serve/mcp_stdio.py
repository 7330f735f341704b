"""MCP over stdin and stdout: nothing but protocol on stdout, and an end when stdin ends."""

import logging
import signal
import sys
from collections.abc import Callable

import anyio
import anyio.to_thread
from mcp.server.stdio import stdio_server

from hornbook.serve.leases import Leases
from hornbook.serve.mcp_server import build_server


def serve_stdio(root: str, prepare: Callable[[], None] | None = None) -> None:
    """Answer on stdout until stdin ends.

    `prepare` is run before the first answer; what it or anything else prints goes to stderr.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    # A thread that waits for a line cannot be interrupted: let Ctrl-C end the process at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    anyio.run(_serve, root, prepare)


async def _serve(root: str, prepare: Callable[[], None] | None) -> None:
    async with stdio_server() as (incoming, outgoing):
        if prepare is not None:
            await anyio.to_thread.run_sync(prepare)
        leases = Leases(root)
        try:
            server = build_server(leases.workspace)
            await server.run(incoming, outgoing, server.create_initialization_options())
        finally:
            leases.close()
