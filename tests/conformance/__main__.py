"""Asks a server with every suite: `python -m tests.conformance`; Node packages go to .venv."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.kit.servers import ServedAddress, on_a_port, workspace

HERE = Path(__file__).parent
MODULES = Path(sys.prefix) / "conformance"
PACKAGES = ("graphql@16", "graphql-http@1", "graphql-ws@6", "graphql-sse@2", "ws@8")
SEEDS = (1, 2, 3)
EXAMPLES = "30"  # of each operation and seed; `make test` has fewer
SCHEMATHESIS = (
    *("--checks", "all"),
    *("--max-examples", EXAMPLES, "--phases", "coverage,fuzzing"),
    *("--suppress-health-check", "too_slow"),  # which says that the machine is
)


def node_suites(address: str) -> Iterator[list[str]]:
    """The command lines of the suites that need Node."""
    if shutil.which("npm") is None:
        sys.exit("npm is not on PATH: install Node to run the suites for it.")
    MODULES.mkdir(exist_ok=True)
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(MODULES)]
    subprocess.run([*install, *PACKAGES], check=True)
    for script in sorted(HERE.glob("*.mjs")):
        copy = MODULES / script.name  # Node finds packages beside the script
        shutil.copyfile(script, copy)
        yield ["node", str(copy), f"{address}/graphql"]


def python_suites(address: ServedAddress) -> Iterator[list[str]]:
    """The command lines of the suites that need only Python."""
    command = str(Path(sys.executable).with_name("schemathesis"))
    run = [command, "--config-file", str(HERE / "schemathesis.toml"), "run"]
    for seed in SEEDS:
        # The events of a plan are a stream without an end, which no suite waits for.
        chosen = [*SCHEMATHESIS, "--seed", str(seed), "--exclude-path-regex", "/events$"]
        # Under its usual name: by that the suite knows what to leave out when it tries without.
        shown = [f"{name.title()}: {value}" for name, value in address.headers.items()]
        yield [*run, f"{address}/openapi.json", *chosen, "--header", *shown]
    yield [sys.executable, "-m", "pytest", "-n", "0", "tests/serve/test_clients.py"]


def main() -> None:
    """Run everything; exit 1 if any suite fails."""
    failed = []
    with tempfile.TemporaryDirectory(prefix="hornbook-conformance-") as folder:
        root = workspace(Path(folder).resolve())
        with on_a_port(root) as address:
            for command in (*node_suites(address), *python_suites(address)):
                # Schemathesis keeps what it found where it runs: not in the repository.
                place = MODULES if "schemathesis" in command[0] else None
                environment = {
                    **os.environ,
                    "HORNBOOK_EXAMPLES": EXAMPLES,
                    "SCHEMATHESIS_HOOKS": "tests.conformance.schemathesis_checks",
                    "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), *sys.path]),
                }
                done = subprocess.run(command, check=False, cwd=place, env=environment)
                if done.returncode:
                    failed.append(" ".join(command))
    sys.exit("\n".join(f"failed: {each}" for each in failed) or 0)


if __name__ == "__main__":
    main()
