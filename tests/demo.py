"""A workspace with the shipped rules, served until Ctrl-C: `python -m tests.demo --port 8765`."""

import argparse
import json
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "sources"
QUERY = (
    '{ entities(filter: { predicatePrefix: "source.doc.sops" }) '
    "{ id triples { predicate object } } }"
)
FILE = "handlers/user_test.go"
PATIENCE = 30.0
FIRST_LINES = 12


def make_workspace(root: Path) -> None:
    """Copy the shipped SOPs and all examples to where Hornbook looks for SOPs."""
    target = root / ".hornbook" / "sources" / "docs" / "sops"
    target.mkdir(parents=True)
    for source in (*SOURCES.glob("sops/*.md"), *SOURCES.glob("examples/*/sops/*.md")):
        shutil.copyfile(source, target / source.name)


def hornbook(root: Path, *arguments: str) -> list[str]:
    """The command line that runs Hornbook on a workspace."""
    return [sys.executable, "-m", "hornbook", "--root", str(root), *arguments]


def refuse_taken(port: int) -> None:
    """Stop with a remedy if something listens on the port already."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            sys.exit(f"port {port} is taken: name another one, as in `make demo PORT={port + 1}`.")


@contextmanager
def served(root: Path, port: int) -> Iterator[str]:
    """The address of a server over the workspace, which is stopped in the end."""
    address = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(hornbook(root, "serve", "--port", str(port)))
    try:
        _wait_until_it_answers(server, address)
        yield address
    finally:
        if server.poll() is None:
            server.terminate()
        try:
            server.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait_until_it_answers(server: "subprocess.Popen[bytes]", address: str) -> None:
    pause = 0.1
    for _ in range(int(PATIENCE / pause)):
        try:
            with urllib.request.urlopen(f"{address}/healthz", timeout=PATIENCE):
                return
        except OSError:
            pass
        try:
            code = server.wait(timeout=pause)
        except subprocess.TimeoutExpired:
            continue
        sys.exit(f"the server ended with exit code {code} before it answered.")
    sys.exit(f"the server did not answer within {PATIENCE:.0f} seconds.")


def ask(address: str) -> str:
    """The answer to the first documented query, over HTTP."""
    request = urllib.request.Request(
        f"{address}/graphql",
        data=json.dumps({"query": QUERY}).encode(),
        headers={"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.dumps(json.load(answer), indent=2)


def introduce(root: Path, address: str) -> None:
    """Say where to look, what to ask, and what `why` answers."""
    body = shlex.quote(json.dumps({"query": QUERY}))
    header = "'content-type: application/json'"
    print(f"\nStatus page: {address}/\n")
    print(f"For agents, over MCP: {address}/mcp\n")
    print(f"Ask in GraphQL, here or on {address}/graphql:\n")
    print(f"  curl -s {address}/graphql -H {header} -d {body}\n")
    print(
        f"Which rules bind a file:\n\n  .venv/bin/hornbook --root {root} why {FILE}\n", flush=True
    )
    subprocess.run(hornbook(root, "why", FILE), check=True)


def run(port: int, *, once: bool) -> None:
    """Make the workspace, serve it, and stay until Ctrl-C, or ask once and end."""
    refuse_taken(port)
    with tempfile.TemporaryDirectory(prefix="hornbook-demo-") as folder:
        root = Path(folder).resolve()
        make_workspace(root)
        subprocess.run(hornbook(root, "ingest"), check=True)
        with served(root, port) as address:
            introduce(root, address)
            if once:
                print("\n".join(ask(address).splitlines()[:FIRST_LINES]))
                return
            print("Ctrl-C stops the demo.", flush=True)
            signal.pause()


def main() -> None:
    """Read the command line; a stop by signal is the normal end."""
    parser = argparse.ArgumentParser(prog="python -m tests.demo", description=__doc__)
    parser.add_argument("--port", type=int, default=8765, help="the port to serve on")
    parser.add_argument("--once", action="store_true", help="ask one query, print it, end")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))
    try:
        run(given.port, once=given.once)
    except KeyboardInterrupt:
        print("\nstopped", flush=True)


if __name__ == "__main__":
    main()
