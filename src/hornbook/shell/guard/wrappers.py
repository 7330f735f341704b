"""Programs that only run another one: `sudo`, `env`, `timeout`, `uv run` and the like."""

import re
from collections.abc import Sequence

from hornbook.shell.guard.options import arguments
from hornbook.shell.guard.values import NamedTuple
from hornbook.shell.guard.words import WordText

_WRAPPERS = {
    "sudo": "-u -g -h -p -C -r -t -T -U --user --group",
    "doas": "-u -C",
    "env": "-u -C -S --unset --chdir --split-string",
    "nohup": "",
    "nice": "-n --adjustment",
    "ionice": "-c -n -p",
    "time": "-f -o --format --output",
    "timeout": "-k -s --kill-after --signal",
    "stdbuf": "-i -o -e --input --output --error",
    "setsid": "",
    "command": "",
    "builtin": "",
    "exec": "-a",
    "busybox": "",
    "chronic": "",
    "caffeinate": "-t -w",
    "flock": "-w -E --timeout",
    "uvx": "--from --with --python -p",
    "npx": "-p --package",
    "bunx": "",
}
_RUNNERS = {
    "uv": ("run", "--with --python -p --extra --group --project --directory --env-file"),
    "poetry": ("run", "-C --directory"),
    "pdm": ("run", "-p"),
    "pipx": ("run", "--spec"),
    "hatch": ("run", "-e"),
    "rye": ("run", ""),
    "bundle": ("exec", ""),
    "pnpm": ("exec", ""),
}
_OPERANDS_FIRST = {"timeout": 1, "flock": 1}
_ASSIGNMENT = r"[A-Za-z_]\w*="
_MOST = 12


class Unwrapped(NamedTuple):
    """The command that really runs, where it runs if that is said, and a script to run with it."""

    words: list[WordText]
    folder: str | None = None
    script: str | None = None


def unwrapped(words: Sequence[WordText]) -> Unwrapped:
    """The command without what stands around it."""
    rest = list(words)
    folder = script = None
    for _ in range(_MOST):
        name = rest[0].text.rpartition("/")[2] if rest else ""
        if name in _RUNNERS:
            verb, takes = _RUNNERS[name]
            found = arguments(rest[1:], takes, until_operand=True)
            if [each.text for each in found.operands[:1]] != [verb]:
                break
            rest = arguments(found.operands[1:], takes, until_operand=True).operands
        elif name in _WRAPPERS:
            found = arguments(rest[1:], _WRAPPERS[name], until_operand=True)
            if name == "command" and found.has("-v", "-V"):
                return Unwrapped([])
            rest = found.operands[_OPERANDS_FIRST.get(name, 0) :]
            while rest and re.match(_ASSIGNMENT, rest[0].text):
                rest.pop(0)
            if name == "env":
                folder = next((e.text for e in found.values("-C", "--chdir")), folder)
                script = next((e.text for e in found.values("-S", "--split-string")), script)
        else:
            break
    return Unwrapped(rest, folder, script)
