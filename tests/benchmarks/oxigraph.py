"""Oxigraph's own HTTP server over the same graph; its binary comes from the package `oxigraph`."""

import http.client
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hornbook.vocabulary.names import Namespace

PACKAGE = "oxigraph"
FOLDER = Path(sys.prefix) / "oxigraph"
HEADERS = {
    "content-type": "application/sparql-query",
    "accept": "application/sparql-results+json",
}


def binary() -> str:
    """Where the server's binary lies: on the path, or where it is installed on first use."""
    found = FOLDER / "bin" / PACKAGE
    if (installed := shutil.which(PACKAGE)) is not None:
        return installed
    if not found.exists():
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        target = ["--no-deps", "--target", str(FOLDER), PACKAGE]
        subprocess.run([sys.executable, *install, *target], check=True)
    return str(found)


@contextmanager
def oxigraph(nquads: bytes, port: int) -> Iterator["subprocess.Popen[bytes]"]:
    """The process of a server that has these statements, listening on the port."""
    command = binary()
    with tempfile.TemporaryDirectory(prefix="oxigraph-bench-") as name:
        file, place = Path(name, "all.nq"), str(Path(name, "store"))
        file.write_bytes(nquads)
        load = [command, "load", "--location", place, "--file", str(file)]
        subprocess.run(load, check=True, capture_output=True)
        subprocess.run([command, "optimize", "--location", place], check=True, capture_output=True)
        serve = [command, "serve-read-only", "--location", place, "--bind", f"127.0.0.1:{port}"]
        process = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _wait(port)
            yield process
        finally:
            process.kill()
            process.wait()


def _wait(port: int) -> None:
    for _ in range(200):
        try:
            http.client.HTTPConnection("127.0.0.1", port, timeout=5).connect()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError("Oxigraph's server did not begin to listen")


def page_query(ids: Sequence[str], names: Namespace) -> str:
    """The question for everything that the graph says of some entities."""
    subjects = " ".join(map(names.term, ids))
    return f"SELECT ?s ?p ?o {{ VALUES ?s {{ {subjects} }} GRAPH ?g {{ ?s ?p ?o }} }}"
