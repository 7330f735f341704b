"""Commands about gates: what they are, whether they can fail, and what they say."""

import sys
from typing import TYPE_CHECKING

import click

from hornbook.cli.gate_run import run_command
from hornbook.cli.output import Styled, columns, harmless, print_json, write
from hornbook.cli.read import json_option, root_of
from hornbook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hornbook.gates.proving import Proof
    from hornbook.model.gates import Gate
    from hornbook.workspace.gating import GateList, ListedGate

SHOWN = (
    *("command", "required", "threshold", "timeout", "folder", "environment", "after", "creates"),
    "network",
)
PROOF_STYLE = {"proven": "green", "unproven": "red", "broken": "yellow"}
STATE_STYLE = {"ready": "green", "refused": "red", "disabled": "yellow"}

diff_option = click.option(
    "--diff", "span", metavar="BASE..HEAD", help="A change, judged by the gates of BASE."
)


@click.group()
def gates() -> None:
    """List and run the checks that come before a review."""


gates.add_command(run_command)


@gates.command("list")
@diff_option
@click.option("--prove", is_flag=True, help="Run each required gate with a failure injected.")
@json_option
@root_of
def list_gates(root: str | None, span: str | None, *, prove: bool, as_json: bool) -> None:
    """Show the effective gates and where each value comes from.

    Exit 1 if one is refused because it cannot fail, or if none is configured.
    """
    from hornbook.workspace.workspace import Workspace

    if prove and span is not None:
        raise UsageError("--prove tries the gates on the files here: leave --diff out.")
    with Workspace.open(root) as work:
        found = work.gates(diff=span)
        proofs = work.prove_gates() if prove else ()
    if as_json:
        proven = {"proofs": proofs} if prove else {}
        print_json({**answer(found), **proven})
    else:
        _print(found)
        _print_proofs(proofs)
    survived = any(each.verdict != "proven" for each in proofs)
    sys.exit(0 if found.sound and not survived else 1)


def _print_proofs(proofs: "Sequence[Proof]") -> None:
    rows = []
    for each in proofs:
        verdict = Styled(each.verdict)
        verdict.style = PROOF_STYLE[each.verdict]
        rows.append((each.gate, verdict, each.message))
    if rows:
        columns(rows, heads=("gate", "proof", "what was tried"))


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
