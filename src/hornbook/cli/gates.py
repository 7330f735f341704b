"""Commands about gates: gates list."""

import sys
from typing import TYPE_CHECKING

import click

from hornbook.cli.output import Styled, columns, harmless, print_json, write
from hornbook.cli.read import json_option, root_of

if TYPE_CHECKING:
    from hornbook.model.gates import Gate
    from hornbook.workspace.gating import GateList, ListedGate

SHOWN = ("command", "required", "threshold", "timeout", "folder", "environment", "after", "creates")
STATE_STYLE = {"ready": "green", "refused": "red", "disabled": "yellow"}

diff_option = click.option(
    "--diff", "span", metavar="BASE..HEAD", help="A change, judged by the gates of BASE."
)


@click.group()
def gates() -> None:
    """Checks that run before a reviewer looks, and that can fail."""


@gates.command("list")
@diff_option
@json_option
@root_of
def list_gates(root: str | None, span: str | None, *, as_json: bool) -> None:
    """Show the effective gates and where each value comes from.

    Exit 1 if one is refused because it cannot fail, or if none is configured.
    """
    from hornbook.workspace.workspace import Workspace

    with Workspace.open(root) as work:
        found = work.gates(diff=span)
    if as_json:
        print_json(answer(found))
    else:
        _print(found)
    sys.exit(0 if found.sound else 1)


def answer(found: "GateList") -> dict[str, object]:
    """The answer of `gates list`, as `structural-gates.v1.json` has it."""
    return {
        "gates": [_listed(each) for each in found.gates],
        "file": found.file,
        "base": found.base,
        "head": found.head,
        "message": found.message,
    }


def _listed(each: "ListedGate") -> dict[str, object]:
    gate = each.gate
    values = {key: getattr(gate, key) for key in ("name", *SHOWN)}
    return {
        **values,
        "environment": dict(gate.environment),
        "status": each.state,
        "reasons": each.reasons,
        "origins": dict(gate.origins),
    }


def _print(found: "GateList") -> None:
    if found.base is not None:
        write(f"as defined at {found.base}, for the change to {found.head}\n")
    if not found.gates:
        write(f"{found.message}\n")
        return
    rows = [row for each in found.gates for row in _rows(each)]
    columns(rows, heads=("gate", "status", "setting", "value", "from"))
    for each in found.gates:
        for reason in each.reasons:
            write(f"{each.gate.name} is {each.state}: {harmless(reason)}\n")


def _rows(each: "ListedGate") -> list[tuple[str, ...]]:
    origins = dict(each.gate.origins)
    stated = [key for key in SHOWN if key in {"command", "required"} or _is_said(each.gate, key)]
    state = Styled(each.state)
    state.style = STATE_STYLE[each.state]
    return [
        (
            each.gate.name if not place else "",
            state if not place else "",
            key,
            _shown(each.gate, key),
            origins.get(key, "default"),
        )
        for place, key in enumerate(stated)
    ]


def _is_said(gate: "Gate", key: str) -> bool:
    """Whether a value is worth a line: somebody set it to something."""
    return getattr(gate, key) not in {None, (), "."} and dict(gate.origins).get(key) != "default"


def _shown(gate: "Gate", key: str) -> str:
    value = getattr(gate, key)
    if key == "environment":
        return ", ".join(f"{name}={text}" for name, text in value)
    if key == "threshold":
        return f"{value} %"
    if key == "timeout":
        return f"{value} s"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, tuple) else str(value)


COMMANDS = (gates,)
