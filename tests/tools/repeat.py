"""All tests again and again, every second time beside a load: `python -m tests.tools.repeat`.

A test that depends on how fast the machine is, on an order or on luck fails in one of them.
"""

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.kit.paths import ROOT

BUSY = "while True: pass"


@contextmanager
def load(number: int) -> Iterator[None]:
    """So many processes that want a core each."""
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(number)]
    try:
        yield
    finally:
        for each in busy:
            each.kill()
        for each in busy:
            each.wait()


def run(arguments: Sequence[str], beside: int) -> tuple[bool, str]:
    """Whether the tests pass, and what they took."""
    command = [sys.executable, "-m", "pytest", "-n", "auto", "--dist", "worksteal", *arguments]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    with load(beside):
        done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
        wall = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    lines = done.stdout.splitlines() or ["nothing was told"]
    told = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return done.returncode == 0, "\n".join(
        [f"{lines[-1]} (load {beside}, {wall:.0f} s, {used:.0f} s of processor time)", *told]
    )


def main() -> None:
    """Run them; exit 1 if one run was red."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.repeat", description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--load", type=int, default=20, help="busy processes beside every second")
    parser.add_argument("tests", nargs="*", help="what pytest is given; all tests if nothing")
    given = parser.parse_args()
    red = 0
    for number in range(given.runs):
        passed, told = run(given.tests, given.load if number % 2 else 0)
        red += not passed
        print(f"run {number + 1}: {'green' if passed else 'RED'}: {told}", flush=True)
    sys.exit(1 if red else 0)


if __name__ == "__main__":
    main()
