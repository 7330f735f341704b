"""What a view of the console costs the server: against the query it stands on, and as rules grow.

CPU time of the server's process, rounds interleaved in one run. The same views are asked of two
servers, one with ten times the documents of the other; and two hundred viewers follow one run.
"""

import json
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from hornbook import Workspace
from hornbook.serve.console.views import changes, files, plans, rules
from tests.benchmarks.serving import Server, _each
from tests.kit.fakes import reviews, writes
from tests.kit.git import git
from tests.kit.loops import BROKEN, CONFIG, GREET, Stage, repository
from tests.kit.serve_process import serving

PLACE = ".hornbook/sources/docs/sops"
RULE = "source.doc.sops.rule-000007"
FILE = "area7/module.py"
RUN = "run-1"
VIEWERS = 200
HTML = {"accept": "text/html,*/*;q=0.8", "accept-encoding": "gzip"}
VIEWS = {
    "inbox": "/",
    "rule": f"/rules/{RULE}",
    "file": f"/files/{FILE}",
    "run": f"/runs/{RUN}",
    "a page of rules": "/rules?first=100",
    "a page of runs": "/runs",
    "map": "/map",
    "doctor": "/doctor",
}
"""The views whose cost is told as documents grow."""
LARGE = ("map", "doctor")
RUNS = "{ runs { id plan task status tokens cost { amount currency } } }"


@dataclass
class Browser(Server):
    """A server that is asked as browsers do."""

    def view(self, path: str) -> bytes:
        """A page as it goes over the wire."""
        self.connection.request("GET", path, headers=HTML)
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise AssertionError(f"{path}: {answer.status} {body[:300]!r}")
        return body


def large_repository(root: Path, documents: int) -> Path:
    """A run that was approved at its second attempt, among many rules and files."""
    repository(root, config=f"{CONFIG}serve: {{log: errors, deadline_seconds: 600}}\n")
    moves = (writes({"src/greet.py": BROKEN}), writes({"src/greet.py": GREET}))
    status = Stage(root, developer=moves, reviewer=(reviews(),)).go().status
    if status != "approved":
        raise AssertionError(status)
    for number in range(documents):
        text = f"---\napplies_to: 'area{number}/**'\n---\n# Rule {number}\n\nIt MUST be {number}.\n"
        (root / PLACE / f"rule-{number:06}.md").write_text(text, encoding="utf-8")
        folder = root / f"area{number}"
        folder.mkdir()
        (folder / "module.py").write_text(f"x = {number}\n", encoding="utf-8")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Many rules")
    (root / FILE).write_text("x = 70\n", encoding="utf-8")
    git(root, "commit", "-qam", "A change")
    with Workspace.open(root) as work:
        work.ingest()
    return root


@contextmanager
def browser_of(root: Path) -> Iterator[Browser]:
    """A server of a repository, in which every view was looked at once."""
    with serving(root, "--watch") as (address, process):
        found = Browser(address, process)
        found.connection.timeout = 600
        for path in VIEWS.values():
            found.view(path)
        yield found


BUDGET = "budget(diff: $diff) { window reserve rules diff tokens outcome fits reasons { message } }"


def queries() -> Mapping[str, tuple[str, Mapping[str, object]]]:
    """What each of some views asks the schema, all of it in one document, with its variables."""
    return {
        "rule": (rules._RULE, {"id": RULE}),
        "file": (files._WHY, {"path": FILE}),
        "a page of rules": (rules._RULES, {"first": rules.ROWS}),
        "a page of runs": (RUNS, {}),
        "plan": (plans._PLAN.rstrip()[:-1] + RUNS[1:], {"slug": "hello"}),
        "change": (changes._WHY.rstrip()[:-1] + BUDGET + "}", {"diff": "HEAD~1..HEAD"}),
    }


def _against_queries(server: Browser, root: Path, requests: int) -> dict[str, float]:
    """CPU of each view by that of its query."""
    span = f"{git(root, 'rev-parse', 'HEAD~1')}..{git(root, 'rev-parse', 'HEAD')}"
    paths = {**VIEWS, "plan": "/plans/hello", "change": f"/changes/{span}"}
    rounds: dict[str, object] = {}
    for name, (text, variables) in queries().items():
        rounds[name] = (server, requests, lambda path=paths[name]: server.view(path))
        rounds[f"{name}'s query"] = (
            server,
            requests,
            lambda text=text, variables=variables: server.ask(text, **variables),
        )
    costs = _each(rounds)  # type: ignore[arg-type]  # each holds a call without arguments
    return {name: costs[name] / costs[f"{name}'s query"] for name in queries()}


def viewers_cost(server: Browser, viewers: int, seconds: float) -> float:
    """CPU seconds of so many who follow a run for a while."""
    host = urlsplit(server.address)
    with ExitStack() as held:
        for _ in range(viewers):
            followed = socket.create_connection((str(host.hostname), int(host.port or 0)))
            held.enter_context(closing(followed))
            followed.sendall(f"GET /live HTTP/1.1\r\nHost: {host.netloc}\r\n\r\n".encode())
            followed.recv(100)
        before = server.cpu()
        time.sleep(seconds)
        return server.cpu() - before


def measure(few: int = 1_000, many: int = 10_000, requests: int = 20) -> dict[str, float]:
    """Every ratio of one run."""
    folder = Path(tempfile.mkdtemp(prefix="hornbook-bench-"))
    figures: dict[str, float] = {}
    try:
        small, large = (large_repository(folder / str(n), n) for n in (few, many))
        with browser_of(small) as one, browser_of(large) as other:
            for name, ratio in _against_queries(one, small, requests).items():
                figures[f"{name}: view / its query"] = ratio
            costs = _each(
                {
                    f"{name} {kind}": (server, requests, lambda s=server, p=path: s.view(p))  # type: ignore[misc]
                    for name, path in VIEWS.items()
                    for kind, server in (("few", one), ("many", other))
                }
            )
            for name, path in VIEWS.items():
                figures[f"{name}: {many} / {few} documents"] = (
                    costs[f"{name} many"] / costs[f"{name} few"]
                )
                if name in LARGE:
                    figures[f"{name}: CPU seconds at {many}"] = costs[f"{name} many"]
                figures[f"{name}: kB at {many}"] = len(other.view(path)) / 1000
            alone = viewers_cost(one, 1, 20)
            figures[f"{VIEWERS} viewers of a run / one"] = viewers_cost(one, VIEWERS, 20) / alone
    finally:
        shutil.rmtree(folder)
    return figures


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
