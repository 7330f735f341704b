"""How long commands take to start, against importing typer; and what an install weighs.

A hook is measured against Python itself, which a host starts for every call of a tool.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hornbook.hooks.compiler import compile_guard
from tests.kit.hook_calls import guarded, payload
from tests.kit.paths import ROOT
from tests.kit.workspaces import with_the_example_sop


def best(arguments: list[str], folder: Path, rounds: int = 7, stdin: bytes = b"") -> float:
    """The best time of several runs of a Python process."""
    found = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, *arguments],
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
            input=stdin,
        )
        found = min(found, time.perf_counter() - start)
    return found


def installed_size() -> float:
    """Megabytes of the core install, dependencies included."""
    with tempfile.TemporaryDirectory() as folder:
        install = ["-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation"]
        wheels = ROOT / ".venv" / "wheelhouse"
        target = ["--target", folder, "--find-links", str(wheels), "--no-compile", str(ROOT)]
        subprocess.run([sys.executable, *install, *target], check=True, capture_output=True)
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        return sum(path.stat().st_size for path in files) / 1e6


def hooks() -> dict[str, float]:
    """Calls of the guard as ratios to `python -c pass`, with an active plan."""
    with tempfile.TemporaryDirectory() as name:
        folder = guarded(Path(name))
        compile_guard(folder)
        calls = {
            "a write": payload(folder, "Write", file_path=str(folder / "src/a.py")),
            "a command": payload(folder, "Bash", command="pytest -q 2>&1 | tail -5"),
            "a denied command": payload(folder, "Bash", command="sed -i s/a/b/ README.md"),
        }
        guard = ["-m", "hornbook", "hook", "pre-tool-use"]
        yardstick = best(["-c", "pass"], folder, 15)
        return {
            f"hook pre-tool-use, {label} / python -c pass": best(
                guard, folder, 15, json.dumps(call).encode()
            )
            / yardstick
            for label, call in calls.items()
        }


def measure() -> dict[str, float]:
    """Start-up times as ratios to `python -c "import typer"`."""
    with tempfile.TemporaryDirectory() as name:
        folder = with_the_example_sop(Path(name))
        hornbook = ["-m", "hornbook"]
        best([*hornbook, "ingest"], folder, rounds=1)
        yardstick = best(["-c", "import typer"], folder)
        commands = {
            "--help": ["--help"],
            "match": ["match", "*.go", "a.go"],
            "why": ["why", "a.go", "--json"],
            "ingest without changes": ["ingest", "--json"],
        }
        found = {
            f"{label} / import typer": best([*hornbook, *arguments], folder) / yardstick
            for label, arguments in commands.items()
        }
    weight = {"core install, MB": installed_size()}
    return {"import typer, ms": yardstick * 1000, **found, **hooks(), **weight}
