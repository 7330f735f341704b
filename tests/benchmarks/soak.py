"""Many clients at once while documents are rewritten and ingested: `make soak`.

A real `hornbook serve --watch` over a generated folder, asked over every interface at once. Every
answer is judged (`soak_ground` says how); the server's memory, files and processes are watched; at
the end it has to go without leaving anything behind.
"""

import argparse
import http.client
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from hornbook import Workspace
from tests.benchmarks.soak_clients import JSON, Client, clients
from tests.benchmarks.soak_workspace import FOLDER, Ground, Seen
from tests.kit.serve_process import serving
from tests.kit.servers import secret_header

AT_ONCE = 5
# The server, two that answer SPARQL, and the one with which Python keeps track of them.
PROCESSES = 4
# Connections that the server has not yet seen end.
FEW = 12
SETTLING = 60.0
LEAST_VERSIONS = 3


@dataclass(frozen=True)
class Sample:
    """What the server uses at one moment; memory in MB.

    A generation has few files or many, by whether somebody asked for its store: `files` are those
    outside of the generations, and `held` counts the generations of which any file is open.
    """

    memory: float
    own_memory: float
    files: int
    held: int
    threads: int
    processes: int
    generations: int


@dataclass
class Outcome:
    """What a soak found."""

    seen: Seen
    samples: list[Sample]
    ingests: dict[str, int]
    seconds: float
    problems: list[str] = field(default_factory=list)
    exit_code: int | None = None


def _family(process: int) -> list[int]:
    """A process and all that descend from it."""
    found = [process]
    for each in found:
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            with suppress(OSError):  # threads come and go
                found += map(int, task.read_text().split())
    return found


def _resident(process: int) -> float:
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0.0
    line = next((each for each in status.splitlines() if each.startswith("VmRSS")), "VmRSS: 0 kB")
    return int(line.split()[1]) / 1024


def _count(folder: Path) -> int:
    return sum(1 for _ in folder.iterdir())


def _open_files(process: int) -> Iterator[Path]:
    for each in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):  # it may be closed by now
            yield each.readlink()


def sample(process: int, root: Path) -> Sample:
    """What the server uses now."""
    family = _family(process)
    generations, files = root / ".hornbook/store/generations", list(_open_files(process))
    # The folder itself is open for a moment when what is new in it is made durable.
    inside = [each for each in files if generations in each.parents]
    return Sample(
        memory=sum(map(_resident, family)),
        own_memory=_resident(process),
        files=len(files) - len(inside),
        held=len({each.relative_to(generations).parts[0] for each in inside}),
        threads=_count(Path(f"/proc/{process}/task")),
        processes=len(family),
        generations=_count(generations),
    )


class Writers:
    """Rewrite rules until told to stop: some are ingested by request, others by the watch."""

    def __init__(self, address: str, ground: Ground, seen: Seen) -> None:
        self._host = address.removeprefix("http://")
        self._ground = ground
        self._seen = seen
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=each, name=each.__name__)
            for each in (self._by_request, self._by_watch, self._by_command)
        ]
        self.ingests = {"by request": 0, "busy": 0, "by command": 0, "rewritten": 0}

    @contextmanager
    def running(self) -> Iterator[None]:
        """Write as long as this lasts."""
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in self._threads:
                thread.join(SETTLING)

    def _rewrite(self, chance: random.Random, half: int) -> list[int]:
        """Rewrite some rules of one half: each file has one writer."""
        rules = chance.sample(range(half, self._ground.rules, 2), AT_ONCE)
        for rule in rules:
            self._ground.rewrite(rule)
        self.ingests["rewritten"] += len(rules)
        return rules

    def _by_request(self) -> None:
        """Ingest over REST; what was written must be answered from then on."""
        chance = random.Random("by request")
        connection = http.client.HTTPConnection(self._host, timeout=120)
        headers = JSON | secret_header(self._ground.root)
        while not self._stop.wait(0.2):
            rules = self._rewrite(chance, 0)
            while not self._stop.is_set():
                connection.request(
                    "POST", "/api/v1/ingest", json.dumps({"paths": [FOLDER]}), headers
                )
                answer = connection.getresponse()
                data = answer.read()
                if answer.status != 409:
                    break
                self.ingests["busy"] += 1
                self._stop.wait(0.1)
            if answer.status == 200:
                self.ingests["by request"] += 1
                self._check(connection, rules)
            elif answer.status != 409:
                self._seen.fail(f"ingest: {answer.status} {data[:300]!r}")
        connection.close()

    def _check(self, connection: http.client.HTTPConnection, rules: Sequence[int]) -> None:
        for rule in rules:
            connection.request("GET", f"/api/v1/entities/source.doc.sops.rule-{rule:04}")
            found = connection.getresponse().read().decode()
            wanted = f"Rule {rule} number {self._ground.written[rule]}"
            if f'"{wanted}"' not in found:
                self._seen.fail(f"ingest: {wanted} was ingested and is not answered: {found[:300]}")

    def _by_watch(self) -> None:
        chance = random.Random("by watch")
        while not self._stop.wait(0.5):
            self._rewrite(chance, 1)

    def _by_command(self) -> None:
        """Another process that writes to the same store, now and then."""
        command = [sys.executable, "-m", "hornbook", "--root", str(self._ground.root), "ingest"]
        while not self._stop.wait(5):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.ingests["by command"] += 1
            if done.returncode:
                self._seen.fail(f"hornbook ingest: {done.returncode} {done.stderr[-300:]}")


def _ask_all(
    asking: Sequence[Client], seconds: float, process: int, root: Path
) -> Iterator[Sample]:
    """Let all clients ask for so many seconds, and look at the server meanwhile."""
    stop = threading.Event()
    threads = [threading.Thread(target=each.run, args=(stop,)) for each in asking]
    for thread in threads:
        thread.start()
    seen, began = asking[0].seen, time.monotonic()
    try:
        # On a machine that is busy with other things an ingest may take longer than all of it.
        while (passed := time.monotonic() - began) < seconds or (
            len(seen.versions) < LEAST_VERSIONS and passed < seconds + SETTLING
        ):
            yield sample(process, root)
            time.sleep(0.5)
    finally:
        stop.set()
        for thread in threads:
            thread.join(SETTLING)


def _settled(process: int, root: Path, before: Sample) -> Sample:
    """The server when its clients are gone: it needs a moment to see that they are."""
    end = time.monotonic() + SETTLING
    while True:
        now = sample(process, root)
        if (now.files <= before.files + FEW and now.held <= 1) or time.monotonic() > end:
            return now
        time.sleep(0.25)


def soak(count: int, seconds: float, rules: int) -> Outcome:
    """Let so many clients ask for so long; the outcome has everything that was wrong."""
    with tempfile.TemporaryDirectory(prefix="hornbook-soak-") as folder:
        ground = Ground(Path(folder).resolve(), rules, streams=max(100, count))
        with Workspace.open(ground.root) as work:
            work.ingest([ground.root / FOLDER])
        seen = Seen()
        with serving(ground.root, "--watch") as (address, process):
            writers = Writers(address, ground, seen)
            asking = clients(count, address, ground, seen)
            for each in clients(8, address, ground, seen)[:6]:
                each.once(threading.Event())  # everything that is started on demand is there now
                each.connection.close()
            first = sample(process.pid, ground.root)
            began = time.monotonic()
            with writers.running():
                samples = list(_ask_all(asking, seconds, process.pid, ground.root))
            outcome = Outcome(seen, [first, *samples], writers.ingests, time.monotonic() - began)
            outcome.samples.append(_settled(process.pid, ground.root, first))
            _end(process, ground.root, outcome)
        outcome.problems += _leaks(outcome.samples)
    return outcome


def _end(process: "subprocess.Popen[str]", root: Path, outcome: Outcome) -> None:
    """Stop the server and look at what it leaves."""
    family = _family(process.pid)
    process.send_signal(signal.SIGTERM)
    _, logged = process.communicate(timeout=SETTLING)
    outcome.exit_code = process.returncode
    problems = outcome.problems
    if process.returncode != -signal.SIGTERM:
        problems.append(f"the server ended with {process.returncode}")
    wrong = [line for line in logged.splitlines() if '"level": "error"' in line or "Traceback" in line]  # fmt: skip
    problems += [f"logged: {line[:500]}" for line in wrong[:10]]
    end = time.monotonic() + 10  # they see that it is gone by a pipe that closes
    while left := [each for each in family if Path(f"/proc/{each}").exists()]:
        if time.monotonic() > end:
            break
        time.sleep(0.1)
    if left:
        problems.append(f"processes {left} were left behind")
    kept = sorted(each.name for each in (root / ".hornbook/store/generations").iterdir())
    if len(kept) != 1:
        problems.append(f"{len(kept)} generations of the store were left: {kept}")


def _leaks(samples: Sequence[Sample]) -> list[str]:
    """What grew and should not have; the first sample is before the clients, the last after."""
    first, last = samples[0], samples[-1]
    problems = []
    if last.files > first.files + FEW:
        problems.append(f"{first.files} files were open before, {last.files} after")
    if last.held > 1:
        problems.append(f"files of {last.held} generations are still open")
    if last.processes > PROCESSES:
        problems.append(f"{PROCESSES} processes are allowed, {last.processes} were there after")
    if max(each.generations for each in samples) > 8:
        problems.append(f"up to {max(each.generations for each in samples)} generations at a time")
    return problems


def report(outcome: Outcome) -> Iterator[str]:
    """What was found, as lines of text."""
    seen, samples = outcome.seen, outcome.samples
    yield f"{sum(seen.answers.values())} answers in {outcome.seconds:.0f} s: " + ", ".join(
        f"{kind} {count}" for kind, count in sorted(seen.answers.items())
    )
    yield f"{seen.documents} documents judged, from {len(seen.versions)} versions of the graph"
    yield "ingests: " + ", ".join(f"{name} {count}" for name, count in outcome.ingests.items())
    yield f"turned away with Retry-After, or stale: {dict(seen.turned_away) or 'none'}"
    for name, at in (("start", 0), ("quarter", len(samples) // 4), ("middle", len(samples) // 2), ("end", -2), ("after", -1)):  # fmt: skip
        each = samples[at]
        yield (
            f"{name}: {each.own_memory:.0f} MB server, {each.memory:.0f} MB with its processes "
            f"({each.processes}), {each.files} files, {each.threads} threads, "
            f"{each.generations} generations, {each.held} of them open"
        )
    yield f"exit code {outcome.exit_code}"
    yield from (f"PROBLEM {each}" for each in outcome.problems)
    yield f"{len(seen.failures)} failures"
    yield from (f"FAILURE {each}" for each in seen.failures[:20])


def main() -> None:
    """Soak, and say what was found; exit 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--documents", type=int, default=300)
    chosen = parser.parse_args()
    outcome = soak(chosen.clients, chosen.seconds, chosen.documents)
    print("\n".join(report(outcome)), flush=True)
    sys.exit(1 if outcome.problems or outcome.seen.failures else 0)


if __name__ == "__main__":
    main()
