"""Counts what a command does, not how long it takes: modules, git processes, calls of functions.

The command runs in a fresh interpreter. A `sitecustomize` that is found first wraps the functions
of `doors.COUNTED` as soon as their module is loaded, and writes down at the end which modules there
are; a `git` that is first on PATH writes a line and becomes the real git.

Whoever watches a run looks at its log as often as there is time to: calls that are not made within
a step of the loop are counted by themselves, and held to nothing in `execute`.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.frozen import doors
from tests.frozen import repositories as given
from tests.frozen.stories import environment, git

CHECKOUT = Path(__file__).parents[2]
GIT = "git processes"
STEPS = "steps"
WATCHING = ", outside of steps"
_SITE = """\
import atexit, os, sys
from _thread import _local
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import PathFinder

PLACE = os.environ["HORNBOOK_COUNTING"]
WRAPPED = {wrapped!r}


def write(line):
    file = os.open(os.path.join(PLACE, "calls"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, (line + "\\n").encode())
    os.close(file)


inside = _local()


def wrapped(function, label):
    def counted(*arguments, **named):
        depth = getattr(inside, "depth", 0)
        write(label if depth or label == {steps!r} else label + {watching!r})
        inside.depth = depth + (label == {steps!r})
        try:
            return function(*arguments, **named)
        finally:
            inside.depth = depth

    counted.__wrapped__ = function
    return counted


class Wrapping(Loader):
    def __init__(self, loader):
        self.loader = loader

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        for path, label in WRAPPED[module.__name__]:
            *owners, name = path.split(".")
            owner = module
            for each in owners:
                owner = getattr(owner, each)
            setattr(owner, name, wrapped(owner.__dict__[name], label))
            write("found " + module.__name__ + ":" + path)


class Finder(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name not in WRAPPED:
            return None
        spec = PathFinder.find_spec(name, path, target)
        spec.loader = Wrapping(spec.loader)
        return spec


sys.meta_path.insert(0, Finder())
before = set(sys.modules) | {{"sitecustomize"}}


@atexit.register
def told():
    with open(os.path.join(PLACE, f"modules-{{os.getpid()}}"), "w") as file:
        file.write("\\n".join(sorted(set(sys.modules) - before)))
"""
_SHIM = """\
#!/bin/sh
echo '{label}' >> "$HORNBOOK_COUNTING/calls"
exec {git} "$@"
"""


@dataclass(frozen=True, slots=True)
class Counts:
    """What one command loaded and did."""

    ours: tuple[str, ...]
    others: tuple[str, ...]
    calls: Mapping[str, int]
    out: str

    @property
    def packages(self) -> tuple[str, ...]:
        """The third-party packages that were loaded."""
        return tuple(sorted({name.partition(".")[0] for name in self.others}))


class Counting:
    """A place in which commands are counted."""

    def __init__(self, place: Path) -> None:
        self._place = place
        wrapped: dict[str, list[tuple[str, str]]] = {}
        for label, functions in (*doors.COUNTED.items(), (STEPS, (doors.LOOP_STEP,))):
            for function in functions:
                module, _, path = function.partition(":")
                wrapped.setdefault(module, []).append((path, label))
        (place / "site").mkdir(parents=True)
        (place / "site" / "sitecustomize.py").write_text(
            _SITE.format(wrapped=wrapped, steps=STEPS, watching=WATCHING)
        )
        (place / "bin").mkdir()
        shim = place / "bin" / "git"
        shim.write_text(_SHIM.format(label=GIT, git=shutil.which("git")))
        shim.chmod(0o755)

    def count(self, root: Path, *arguments: str, stdin: str = "") -> Counts:
        """Run `hornbook` in a repository, and count."""
        for left in self._place.glob("modules-*"):
            left.unlink()
        calls = self._place / "calls"
        calls.write_text("")
        ours = {
            "HORNBOOK_COUNTING": str(self._place),
            "PYTHONPATH": str(self._place / "site"),
            "PATH": f"{self._place / 'bin'}{os.pathsep}{os.environ['PATH']}",
        }
        with subprocess.Popen(
            [sys.executable, "-m", "hornbook", *arguments],
            cwd=root,
            env={**environment(), **ours},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            out, err = process.communicate(stdin)
        assert process.returncode == 0, err
        loaded = (self._place / f"modules-{process.pid}").read_text().splitlines()
        return Counts(
            tuple(name for name in loaded if _top(name) == "hornbook"),
            tuple(name for name in loaded if _is_third_party(_top(name))),
            Counter(line for line in calls.read_text().splitlines()),
            out,
        )


def _top(name: str) -> str:
    return name.partition(".")[0]


def _is_third_party(top: str) -> bool:
    ours = {"hornbook", "__main__", "__mp_main__", "tests"}
    unnamed = ("__editable", "_editable", "_sysconfigdata")  # of the interpreter and our install
    return top not in sys.stdlib_module_names | ours and not top.startswith(unnamed)


def counted(place: Path) -> dict[str, Counts]:
    """Every command of the budgets, counted on one fixed repository."""
    root = place / "repo"
    repository(root)
    counting = Counting(place / "counting")
    call = {"tool_name": "Write", "tool_input": {"file_path": "shop/price.py"}, "cwd": str(root)}
    hook = json.dumps({"session_id": "s", "hook_event_name": "PreToolUse", **call})
    counting.count(root, "hook", "pre-tool-use", stdin=hook)  # the first one compiles the plan
    listing = "{ entities { id triples { predicate object } } }"
    commands: dict[str, Sequence[str]] = {
        "hook": ("hook", "pre-tool-use"),
        "match": ("match", "*.py", "a.py"),
        "why": ("why", "shop/price.py", "--json"),
        "plans": ("plans", "--json"),
        "runs": ("runs", "--json"),
        "query": ("query", "--text", listing),
        "execute": ("execute", "add-tax", "--task", "1", "--agent", "scripted", "--json"),
    }
    return {
        name: counting.count(root, *arguments, stdin=hook if name == "hook" else "")
        for name, arguments in commands.items()
    }


def repository(root: Path, python: str = sys.executable, plan_text: str = given.TAX_PLAN) -> None:
    """A repository with a rule, a gate and a committed plan, of two tasks if not said, ingested."""
    for path, text in {**given.TAX, "plan.md": plan_text}.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "begin")
    git(root, "checkout", "-q", "-b", "work")
    plan = ["plan", "Add tax", "--from", "plan.md"]
    for arguments in (["ingest"], plan, ["tasks", "add-tax"], ["ingest"]):
        subprocess.run(
            [python, "-m", "hornbook", *arguments],
            cwd=root,
            env=environment(),
            check=True,
            capture_output=True,
        )


def table(found: Mapping[str, Counts]) -> list[tuple[str, str, int]]:
    """All counts as rows of command, what, number."""
    rows = []
    for name, counts in found.items():
        rows += [(name, "our modules", len(counts.ours)), (name, "third-party modules", len(counts.others))]  # fmt: skip
        outside = [f"{what}{WATCHING}" for what in doors.COUNTED]
        every = (GIT, STEPS, *doors.COUNTED, *outside)
        rows += [(name, what, counts.calls[what]) for what in every if what in counts.calls]
    return rows


def main() -> None:
    """Print everything once."""
    with tempfile.TemporaryDirectory(prefix="hornbook-counts-") as folder:
        found = counted(Path(folder))
        for row in table(found):
            print("| {} | {} | {} |".format(*row))
        for name, counts in found.items():
            print(name, dict(counts.calls), counts.packages)


if __name__ == "__main__":
    main()
