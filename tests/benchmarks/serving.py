"""What a request costs the server, in its own CPU time, against bare servers of the same kind.

Every server is a process of its own; rounds of requests go to one after the other, so that all of
them meet the same machine. The yardstick for JSON is msgspec's encoder.
"""

import http.client
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import quote

from hornbook import Workspace
from tests.benchmarks.oxigraph import HEADERS, oxigraph, page_query
from tests.test_serve_running import free_port, serving

TICK = os.sysconf("SC_CLK_TCK")
ROUNDS = 5
PAGE = 100
TRIPLES = "id triples { predicate object }"
OTHERS = {
    "aliases": "a: id t: triples { p: predicate o: object }",
    "fragment": "...E } } fragment E on Entity { id triples { ...T } } fragment T on Triple { ... on Triple { predicate object value",
    "fewer fields": "id triples { object }",
}
HEAVY = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f }"
BARE = """
import sys, msgspec, uvicorn
rows = msgspec.json.decode(open(sys.argv[1], "rb").read())
encode = msgspec.json.Encoder().encode
async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    await receive()
    body = encode(rows) if scope["path"] == "/page" else b"hello"
    await send({"type": "http.response.start", "status": 200,
                "headers": [(b"content-length", str(len(body)).encode())]})
    await send({"type": "http.response.body", "body": body})
print("serving", file=sys.stderr, flush=True)
uvicorn.run(app, port=int(sys.argv[2]), http="h11", access_log=False, log_level="error", lifespan="off")
"""


@dataclass
class Server:
    """A server's address and process, asked over one connection that is kept."""

    address: str
    process: "subprocess.Popen[str] | subprocess.Popen[bytes]"

    def __post_init__(self) -> None:
        host = self.address.removeprefix("http://")
        self.connection = http.client.HTTPConnection(host, timeout=60)

    def cpu(self) -> float:
        """The CPU seconds that the process has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def get(self, path: str) -> bytes:
        self.connection.request("GET", path)
        return self.connection.getresponse().read()

    def ask(self, query: str, **variables: object) -> bytes:
        body = json.dumps({"query": query, "variables": variables})
        self.connection.request("POST", "/graphql", body, {"content-type": "application/json"})
        answer = self.connection.getresponse().read()
        if answer.startswith(b'{"errors"'):
            raise AssertionError(answer)
        return answer


@contextmanager
def _bare(page: bytes, port: int) -> Iterator[Server]:
    with tempfile.NamedTemporaryFile() as file:
        file.write(page)
        file.flush()
        command = [sys.executable, "-c", BARE, file.name, str(port)]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        server = Server(f"http://127.0.0.1:{port}", process)
        try:
            for _ in range(200):
                try:
                    server.get("/hello")
                    break
                except OSError:
                    server.connection.close()
                    time.sleep(0.05)
            yield server
        finally:
            process.kill()
            process.communicate()


def _repository(count: int) -> Path:
    root = Path(tempfile.mkdtemp(prefix="hornbook-bench-"))
    for number in range(count):
        path = root / f"docs/sops/team{number // 100}/rule-{number:06}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = f"---\napplies_to: 'area{number}/**'\n---\n# Rule {number}\n\nText {number}.\n"
        path.write_text(text, encoding="utf-8")
    (root / ".hornbook").mkdir()
    (root / ".hornbook" / "config.yaml").write_text("serve:\n  log: errors\n")
    return root


def _each(rounds: dict[str, tuple[Server, int, Callable[[], object]]]) -> dict[str, float]:
    """CPU seconds per request of each kind, the median over interleaved rounds."""
    found: dict[str, list[float]] = {name: [] for name in rounds}
    for _ in range(ROUNDS):
        for name, (server, count, call) in rounds.items():
            server.connection.close()  # it is opened anew: the other end may have let it go
            before = server.cpu()
            for _ in range(count):
                call()
            found[name].append((server.cpu() - before) / count)
    return {name: median(each) for name, each in found.items()}


def _while_busy(ours: Server, address: str) -> tuple[float, float]:
    """The median time of a trivial query while idle, and while another client loops a heavy one."""

    def typical() -> float:
        times = []
        for _ in range(200):
            began = time.perf_counter()
            ours.ask("{ __typename }")
            times.append(time.perf_counter() - began)
        return median(times)

    idle = typical()
    stop = threading.Event()

    def loop() -> None:
        other = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
        while not stop.is_set():
            other.request("GET", f"/sparql?query={quote(HEAVY)}")
            other.getresponse().read()

    thread = threading.Thread(target=loop)
    thread.start()
    busy = typical()
    stop.set()
    thread.join()
    return idle, busy


def from_the_start(root: Path) -> dict[str, float]:
    """What a server has used when it answers from the graph for the first time."""
    port = free_port()
    began = time.perf_counter()
    command = [sys.executable, "-m", "hornbook", "--root", str(root), "serve", "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    server = Server(f"http://127.0.0.1:{port}", process)
    try:
        while True:
            try:
                server.get("/readyz")
            except OSError:
                server.connection.close()
                time.sleep(0.01)
            else:
                return {
                    "start-up until it answers, s": time.perf_counter() - began,
                    "start-up until it answers, CPU s": server.cpu(),
                    "memory after start-up, MB": _memory(process.pid),
                }
    finally:
        process.terminate()
        process.wait()


def _memory(process: int) -> float:
    """The resident memory of a process in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    line = next(each for each in status.splitlines() if each.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def _pages(fields: str) -> str:
    return f"query ($after: String) {{ entities(first: {PAGE}, after: $after) {{ {fields} }} }}"


def _first_pass(ours: Server, ids: Sequence[str]) -> float:
    """CPU seconds of a page that was not asked for before; every page of every kind is then known."""
    starts = range(0, len(ids) - PAGE, PAGE)
    before = ours.cpu()
    for start in starts:
        ours.ask(_pages(TRIPLES), after=ids[start])
    first = (ours.cpu() - before) / len(starts)
    for fields in OTHERS.values():
        for start in starts:
            ours.ask(_pages(fields), after=ids[start])
    return first


def measure(documents: int = 10_000, requests: int = 200) -> dict[str, float]:
    """Every ratio of one run."""
    root = _repository(documents)
    try:
        with Workspace.open(root) as work:
            work.ingest([root / "docs"])
            ids, statements = work.snapshot().ids, work.export()
        started = from_the_start(root)
        with serving(root) as (address, process):
            ours = Server(address, process)
            first = _first_pass(ours, ids)
            cost = _costs(ours, ids, statements, requests)
            idle, busy = _while_busy(ours, address)
            memory = _memory(process.pid)
    finally:
        shutil.rmtree(root)
    return {
        "page of 100 / the same from memory": cost["same page"] / cost["page from memory"],
        **{
            f"page, {name} / the same from memory": cost[name] / cost["page from memory"]
            for name in OTHERS
        },
        "page of 100 / the same from Oxigraph": cost["same page"] / cost["from Oxigraph"],
        "page of 100 not asked before / the same from Oxigraph": first / cost["from Oxigraph"],
        "trivial field / bare hello": cost["trivial"] / cost["hello"],
        "trivial field while SPARQL runs / idle": busy / idle,
        "bare hello, CPU ms": cost["hello"] * 1000,
        "page from memory, CPU ms": cost["page from memory"] * 1000,
        "page from Oxigraph, CPU ms": cost["from Oxigraph"] * 1000,
        **started,
        "memory at the end, MB": memory,
    }


def _costs(ours: Server, ids: Sequence[str], statements: bytes, requests: int) -> dict[str, float]:
    chance = random.Random(7)

    def place() -> int:
        return chance.randrange(len(ids) - PAGE - 1)

    def page(fields: str) -> Callable[[], object]:
        return lambda: ours.ask(_pages(fields), after=ids[place()])

    def theirs() -> object:
        start = place() + 1
        text = page_query(ids[start : start + PAGE])
        other.connection.request("POST", "/query", text, HEADERS)
        answer = other.connection.getresponse()
        if answer.status != 200:
            raise AssertionError(answer.read())
        return answer.read()

    sample = ours.ask(f"{{ entities(first: {PAGE}) {{ {TRIPLES} }} }}")
    with (
        _bare(sample, free_port()) as bare,
        oxigraph(statements, port := free_port()) as process,
    ):
        other = Server(f"http://127.0.0.1:{port}", process)
        return _each(
            {
                "hello": (bare, requests * 5, lambda: bare.get("/hello")),
                "page from memory": (bare, requests, lambda: bare.get("/page")),
                "trivial": (ours, requests * 5, lambda: ours.ask("{ __typename }")),
                "same page": (ours, requests, page(TRIPLES)),
                "from Oxigraph": (other, requests, theirs),
                **{name: (ours, requests, page(fields)) for name, fields in OTHERS.items()},
            }
        )
