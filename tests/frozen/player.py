"""Runs `hornbook` again and again, each time in a fork of one process that has loaded everything.

A fork costs a tenth of a fresh interpreter. What a fresh one loads is counted in `test_budgets`.
Requests are lines of JSON on stdin, answers lines of JSON on stdout.
"""

import atexit
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.frozen import clock

CHECKOUT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Played:
    """How a command ended."""

    code: int
    out: str
    err: str


class Player:
    """A process to run commands in, each at its own fixed minute."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.frozen.player"],
            cwd=CHECKOUT,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def play(
        self, arguments: list[str], folder: Path, minute: int, stdin: str = "", **more: str
    ) -> Played:
        """Run `hornbook` with these arguments in a folder."""
        request = {
            "arguments": arguments,
            "folder": str(folder),
            "minute": minute,
            "stdin": stdin,
            "environment": more,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return Played(**json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """Let the process end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def _load_everything() -> None:
    """All modules and the table of exact counts; what is frozen no fork looks through for cycles."""
    import hornbook
    from hornbook.text import tokens

    for module in pkgutil.walk_packages(hornbook.__path__, "hornbook."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    tokens.counter(tokens.DEFAULT_COUNTER)
    gc.collect()
    gc.freeze()


def _run(request: dict[str, Any]) -> None:
    """Be the command, in a fork; never returns."""
    clock.stand(request["minute"])
    os.chdir(request["folder"])
    os.environ.update(request["environment"])
    sys.argv = ["hornbook", *request["arguments"]]
    # The module runs a second time, as a fresh interpreter would run it.
    sys.modules.pop("hornbook.__main__", None)
    code = 0
    try:
        runpy.run_module("hornbook", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    threading._shutdown()  # type: ignore[attr-defined]  # as the interpreter does at its end
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def _play(request: dict[str, Any]) -> Played:
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(request["stdin"].encode())
        given.seek(0)
        child = os.fork()
        if not child:
            for number, file in enumerate((given, out, err)):
                os.dup2(file.fileno(), number)
            sys.stdin, sys.stdout, sys.stderr = (
                io.TextIOWrapper(open(number, mode, closefd=False))  # noqa: SIM115  # a descriptor
                for number, mode in ((0, "rb"), (1, "wb"), (2, "wb"))
            )
            _run(request)
        _, status = os.waitpid(child, 0)
        for file in (out, err):
            file.seek(0)
        return Played(
            os.waitstatus_to_exitcode(status),
            out.read().decode(errors="backslashreplace"),
            err.read().decode(errors="backslashreplace"),
        )


def main() -> None:
    """Play what is asked for until stdin ends."""
    clock.stand(0)
    _load_everything()
    for line in sys.stdin:
        played = _play(json.loads(line))
        print(json.dumps({"code": played.code, "out": played.out, "err": played.err}), flush=True)


if __name__ == "__main__":
    main()
