"""`python -m tests.benchmarks.counts [--against DIR]`: what commands do, in counts and CPU ratios.

With another checkout, which has a `.venv` of its own, one scripted task, a plan of nine tasks and one
review are executed and checked in turns by this one and by that one, and the CPU time of all processes
is compared. `why`, `plans` and `runs` are compared with `import typer` in the same run.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from tests.frozen import repositories as given
from tests.frozen.counting import counted, repository, table
from tests.frozen.stories import environment
from tests.frozen.test_budgets import BUDGETS
from tests.kit import review_cases
from tests.kit.git import commit, start
from tests.kit.reviews import GOOD

EXECUTE = ("execute", "add-tax", "--task", "1", "--agent", "scripted", "--json")
TASKS = 9
STARTED = {"why": ("why", "shop/price.py"), "plans": ("plans",), "runs": ("runs",)}


def cpu(command: Sequence[str], folder: Path) -> float:
    """The seconds of processor time of a command and all processes that it waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environment(), check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def in_turns(rounds: int, **measured: Callable[[], float]) -> dict[str, float]:
    """The median of each, measured by turns, so that a busy machine is busy for all."""
    found: dict[str, list[float]] = {name: [] for name in measured}
    for _ in range(rounds):
        for name, measure in measured.items():
            found[name].append(measure())
    return {name: median(times) for name, times in found.items()}


def executed(python: str) -> float:
    """The processor time of one scripted task, on a new repository with events of its own form."""
    with tempfile.TemporaryDirectory(prefix="hornbook-execute-") as name:
        root = Path(name) / "repo"
        repository(root, python)
        return cpu([python, "-m", "hornbook", *EXECUTE], root)


def plan_of(tasks: int) -> str:
    """The plan of the budgets with so many tasks, each with files of its own."""
    told = "".join(
        f"{n}. Add tax {n}\n   - Files: `shop/tax{n}.py` (new), `tests/test_tax{n}.py` (new)\n"
        f"   - Criteria: tax {n} of 100 is 19\n"
        for n in range(1, tasks + 1)
    )
    before, _, rest = given.TAX_PLAN.partition("1. Add a tax function")
    return f"{before}{told}\n## Constraints{rest.partition('## Constraints')[2]}"


def planned(python: str, tasks: int) -> float:
    """The processor time of a whole plan of so many scripted tasks."""
    with tempfile.TemporaryDirectory(prefix="hornbook-plan-") as name:
        root = Path(name) / "repo"
        repository(root, python, plan_of(tasks))
        whole = ("execute", "add-tax", "--agent", "scripted", "--json")
        return cpu([python, "-m", "hornbook", *whole], root)


def python_of(checkout: Path) -> str:
    """The interpreter of a checkout."""
    found = checkout / ".venv" / "bin" / "python"
    if not found.exists():
        sys.exit(f"{found} is not there: run `make setup` in {checkout}.")
    return str(found)


def show_counts() -> None:
    """Print all counts, with the limit and the goal of each that has them."""
    print("| command | what | count | limit | goal |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="hornbook-counts-") as name:
        for command, what, number in table(counted(Path(name))):
            budget = BUDGETS.get((command, what))
            held = (budget.limit, budget.goal) if budget else ("", "")
            print(f"| {command} | {what} | {number} | {held[0]} | {held[1]} |", flush=True)


def show_start_up(rounds: int) -> None:
    """Print commands that only read as ratios to `import typer`."""
    print("\n| command | CPU / `import typer` |\n|---|---|")
    with tempfile.TemporaryDirectory(prefix="hornbook-start-") as name:
        root = Path(name) / "repo"
        repository(root)
        measured: dict[str, Callable[[], float]] = {
            "typer": lambda: cpu([sys.executable, "-c", "import typer"], root)
        }
        for label, arguments in STARTED.items():
            command = [sys.executable, "-m", "hornbook", *arguments]
            measured[label] = lambda command=command: cpu(command, root)  # type: ignore[misc]  # bound now
        found = in_turns(rounds, **measured)
    for label in STARTED:
        print(f"| {label} | {found[label] / found['typer']:.2f} |", flush=True)


def show_execution(against: Path, rounds: int) -> None:
    """Print what one scripted task costs here and there."""
    other = python_of(against.resolve())
    found = in_turns(rounds, here=lambda: executed(sys.executable), there=lambda: executed(other))
    print(f"\n| `execute` of one task | CPU s |\n|---|---|\n| here | {found['here']:.2f} |")
    print(f"| {against} | {found['there']:.2f} |\n| ratio | {found['here'] / found['there']:.2f} |")


def show_plan(against: Path, rounds: int) -> None:
    """Print what each further task of a plan costs here and there."""
    sides = {"here": sys.executable, "there": python_of(against.resolve())}
    measured = {
        f"{side} {tasks}": partial(planned, python, tasks)
        for side, python in sides.items()
        for tasks in (1, TASKS)
    }
    found = in_turns(rounds, **measured)
    each = {s: (found[f"{s} {TASKS}"] - found[f"{s} 1"]) / (TASKS - 1) for s in sides}
    whole = found[f"here {TASKS}"] / found[f"there {TASKS}"]
    print(
        f"\n| `execute` of a plan | CPU s |\n|---|---|\n| a further task, here | {each['here']:.2f} |"
    )
    print(f"| a further task, {against} | {each['there']:.2f} |")
    print(f"| ratio | {each['here'] / each['there']:.2f} |\n| {TASKS} tasks, ratio | {whole:.2f} |")


def show_check(against: Path, rounds: int) -> None:
    """Print what checking one review costs here and there, each with a packet of its own."""
    with tempfile.TemporaryDirectory(prefix="hornbook-check-") as name:
        root = Path(name) / "repo"
        root.mkdir()
        start(root, {**review_cases.RULES, "README.md": "# It\n"})
        commit(root, review_cases.CHANGED)
        (root.parent / "review.json").write_bytes(GOOD)
        pythons = {"here": sys.executable, "there": python_of(against.resolve())}
        measured: dict[str, Callable[[], float]] = {}
        for side, python in pythons.items():
            packet = root.parent / side
            prepare = ("review", "prepare", "--diff", "main..work", "--output", str(packet))
            cpu([python, "-m", "hornbook", *prepare], root)
            given = ("review", "check", "../review.json", "--receipt", f"{packet}/receipt.json")
            command = [python, "-m", "hornbook", *given]
            measured[side] = lambda command=command: cpu(command, root)  # type: ignore[misc]  # bound now
        found = in_turns(rounds, **measured)
    print(f"\n| `review check` | CPU s |\n|---|---|\n| here | {found['here']:.2f} |")
    print(f"| {against} | {found['there']:.2f} |\n| ratio | {found['here'] / found['there']:.2f} |")


def main() -> None:
    """Print everything that was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.counts", description=__doc__)
    parser.add_argument("--against", type=Path, metavar="DIR", help="another checkout")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured")
    options = parser.parse_args()
    show_counts()
    show_start_up(options.rounds)
    if options.against is not None:
        show_execution(options.against, options.rounds)
        show_plan(options.against, options.rounds)
        show_check(options.against, options.rounds)


if __name__ == "__main__":
    main()
