"""What a request costs the server, in its own CPU time, against bare servers of the same kind.

Every server is a process of its own; rounds of requests go to one after the other, so that all of
them meet the same machine. The yardstick for JSON is msgspec's encoder.
"""

import http.client
import json
import random
import re
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
from typing import Self
from urllib.parse import quote

from hornbook import Workspace
from hornbook.vocabulary.names import Namespace
from tests.benchmarks.oxigraph import HEADERS, oxigraph, page_query
from tests.kit.serve_process import free_port, serving

ROUNDS = 5
PAGE = 100
TRIPLES = "id triples { predicate object }"
OTHERS = {
    "aliases": "a: id t: triples { p: predicate o: object }",
    "fragment": "...E } } fragment E on Entity { id triples { ...T } } fragment T on Triple { ... on Triple { predicate object value",
    "fewer fields": "id triples { object }",
}
# One that ends by itself after a while, and one that is ended by its deadline.
HEAVY = (
    "SELECT ?p (COUNT(DISTINCT ?o) AS ?n) { ?s ?p ?o } GROUP BY ?p",
    "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f }",
)
BUSY_SECONDS = 25
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
        """The CPU seconds that the process has used.

        By the clock that Linux has for each process: `/proc` counts in hundredths of a second, and a
        page from memory takes three tenths of a thousandth.
        """
        return time.clock_gettime((~self.process.pid << 3) | 2)

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


@dataclass
class Busy:
    """Another client that asks heavy questions all the time, and how long each took."""

    address: str

    def __post_init__(self) -> None:
        self.asked: list[tuple[float, float, int]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop)

    def __enter__(self) -> Self:
        self._ask("ASK { ?s ?p ?o }")  # the processes that answer are there now
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _ask(self, query: str) -> int:
        other = http.client.HTTPConnection(self.address.removeprefix("http://"), timeout=60)
        other.request("GET", f"/sparql?query={quote(query)}")
        answer = other.getresponse()
        answer.read()
        other.close()
        return answer.status

    def _loop(self) -> None:
        while not self._stop.is_set():
            for query in HEAVY:
                began = time.perf_counter()
                status = self._ask(query)
                self.asked.append((began, time.perf_counter(), status))

    def ran_at(self, moment: float) -> bool:
        """Whether a question was being answered at a moment, and had been for a while."""
        return any(began + 0.1 < moment < ended - 0.1 for began, ended, _ in self.asked)


def _times(ours: Server, seconds: float) -> list[tuple[float, float]]:
    """When trivial queries were asked, and how long each took."""
    found, end = [], time.perf_counter() + seconds
    while (began := time.perf_counter()) < end:
        ours.ask("{ __typename }")
        found.append((began, time.perf_counter() - began))
        time.sleep(0.002)
    return found


def _while_busy(ours: Server, address: str) -> dict[str, float]:
    """The median time of a trivial query while idle, and while another client asks heavy ones."""
    ours.connection.close()
    idle = _times(ours, 3)
    with Busy(address) as busy:
        times = _times(ours, BUSY_SECONDS)
    idle += _times(ours, 3)
    met = [took for began, took in times if busy.ran_at(began)]
    ended = [ended - began for began, ended, status in busy.asked if status == 200]
    stopped = [ended - began for began, ended, status in busy.asked if status == 504]
    if not met or len(ended) + len(stopped) != len(busy.asked):
        raise AssertionError(f"the heavy queries did not run as they should: {busy.asked}")
    typical = median(took for _, took in idle)
    return {
        "trivial field while SPARQL runs / idle": median(met) / typical,
        "trivial field while idle, p50 ms": typical * 1000,
        "trivial queries that met a heavy one": len(met),
        "heavy queries that were answered": len(ended),
        "how long they took, median s": median(ended) if ended else 0.0,
        "heavy queries that were ended by their deadline": len(stopped),
        "how long they took until then, median s": median(stopped) if stopped else 0.0,
    }


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


class _NeverAsked:
    """Pages that were not asked for before: each round has a shape of its own, each page is new."""

    def __init__(self, ours: Server, ids: Sequence[str]) -> None:
        self._ours = ours
        self._ids = ids
        self._round = 0
        self._left: list[int] = []

    def __call__(self) -> object:
        if not self._left:
            self._round += 1
            self._left = list(range(0, len(self._ids) - PAGE - 1, PAGE))
            random.Random(self._round).shuffle(self._left)
        fields = f"id r{self._round}: triples {{ predicate object }}"
        return self._ours.ask(_pages(fields), after=self._ids[self._left.pop()])


def _ask_for_all(ours: Server, ids: Sequence[str]) -> None:
    """Have every page of every kind known."""
    for fields in (TRIPLES, *OTHERS.values()):
        for start in range(0, len(ids) - PAGE, PAGE):
            ours.ask(_pages(fields), after=ids[start])


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
            _ask_for_all(ours, ids)
            memory = _memory(process.pid)
            cost = _costs(ours, ids, statements, requests)
            busy = _while_busy(ours, address)
    finally:
        shutil.rmtree(root)
    return {
        "page of 100 / the same from memory": cost["same page"] / cost["page from memory"],
        **{
            f"page, {name} / the same from memory": cost[name] / cost["page from memory"]
            for name in OTHERS
        },
        "page of 100 / the same from Oxigraph": cost["same page"] / cost["from Oxigraph"],
        "page of 100 not asked before / the same from Oxigraph": cost["never asked"],
        "trivial field / bare hello": cost["trivial"] / cost["hello"],
        **busy,
        "bare hello, CPU ms": cost["hello"] * 1000,
        "page from memory, CPU ms": cost["page from memory"] * 1000,
        "page from Oxigraph, CPU ms": cost["from Oxigraph"] * 1000,
        **started,
        "memory after every page was asked for, MB": memory,
    }


def _costs(ours: Server, ids: Sequence[str], statements: bytes, requests: int) -> dict[str, float]:
    chance = random.Random(7)
    found = re.search(rb"hornbook/id/([^/]+)/", statements)
    names = Namespace(found[1].decode() if found else "")

    def place() -> int:
        return chance.randrange(len(ids) - PAGE - 1)

    def page(fields: str) -> Callable[[], object]:
        return lambda: ours.ask(_pages(fields), after=ids[place()])

    def theirs() -> object:
        start = place() + 1
        text = page_query(ids[start : start + PAGE], names)
        other.connection.request("POST", "/query", text, HEADERS)
        answer = other.connection.getresponse()
        if answer.status != 200:
            raise AssertionError(answer.read())
        return answer.read()

    pages = len(range(0, len(ids) - PAGE - 1, PAGE))
    sample = ours.ask(f"{{ entities(first: {PAGE}) {{ {TRIPLES} }} }}")
    with (
        _bare(sample, free_port()) as bare,
        oxigraph(statements, port := free_port()) as process,
    ):
        other = Server(f"http://127.0.0.1:{port}", process)
        known = _each(
            {
                "hello": (bare, requests * 5, lambda: bare.get("/hello")),
                "page from memory": (bare, requests, lambda: bare.get("/page")),
                "trivial": (ours, requests * 5, lambda: ours.ask("{ __typename }")),
                "same page": (ours, requests, page(TRIPLES)),
                "from Oxigraph": (other, requests, theirs),
                **{name: (ours, requests, page(fields)) for name, fields in OTHERS.items()},
            }
        )
        # These make the server forget what it knows, so they come last.
        new = _each(
            {"never asked": (ours, pages, _NeverAsked(ours, ids)), "again": (other, pages, theirs)}
        )
        return known | {"never asked": new["never asked"] / new["again"]}
