"""Commands about gates: what they are, whether they can fail, and what they say."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from hornbook.cli.options import json_option, root_of
from hornbook.cli.output import Styled, columns, console, counted, harmless, note, print_json, write
from hornbook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hornbook.gates.gate import Gate, GateReport, GateResult, GateStatus
    from hornbook.gates.gate_list import GateList, ListedGate
    from hornbook.gates.proof import GateProof
    from hornbook.gates.runner import Progress

_STYLE = {"passed": "green", "warned": "yellow", "skipped": "dim"}


@click.command("run")
@click.option("--diff", "span", metavar="BASE..HEAD", help="Run on HEAD, and judge the change.")
@click.option("--plan", "slug", metavar="SLUG", help="The plan whose scope the change keeps to.")
@click.option(
    "--in-place", is_flag=True, help="With --diff: run where HEAD's files lie, not in a copy."
)
@click.option(
    "--mutate", is_flag=True, help="With --diff: does a test notice faults in added lines?"
)
@click.option(
    "--confine/--no-confine",
    default=None,
    help="Confine the gates as a run does: no network, no writing beside the tree.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "junit"]),
    default="text",
    help="How the result is printed.",
)
@json_option
@root_of
def run_command(
    root: str | None,
    span: str | None,
    slug: str | None,
    form: str,
    *,
    in_place: bool,
    mutate: bool,
    confine: bool | None,
    as_json: bool,
) -> None:
    """Run the gates, and with --diff the floors.

    Exit 1 unless everything that is required passed.
    """
    from hornbook.workspace import Workspace

    if in_place and span is None:
        raise UsageError("--in-place says where a change is run: add --diff BASE..HEAD.")
    with Workspace.open(root) as work, live_gates() as progress:
        report = work.run_gates(
            diff=span,
            plan=slug,
            in_place=in_place,
            mutate=mutate,
            confined=confine,
            progress=progress,
        )
    show(report, "json" if as_json else form)
    sys.exit(0 if report.passed else 1)


def show(report: "GateReport", form: str) -> None:
    """Print a report on stdout in one of the forms."""
    from hornbook.gates.gate import without_unasked

    if form == "json":
        print_json(without_unasked(report))
    elif form == "junit":
        from hornbook.gates.reports import junit

        write(junit(report))
    else:
        _print_report(report)


def _result_row(gate: "GateResult") -> tuple[str, ...]:
    required = "required" if gate.required else "optional"
    seconds = f"{gate.seconds:.1f} s" if gate.log else ""
    return _styled(gate.status), gate.name, required, seconds, gate.message


def _print_report(report: "GateReport") -> None:
    rows = [_result_row(gate) for gate in report.gates]
    columns(rows, heads=("status", "gate", "", "time", "what"), whole=1)
    for gate in report.gates:
        if gate.output and gate.status not in {"passed", "skipped"}:
            console().print(harmless(f"{gate.name}:"), style="bold", markup=False)
            write("".join(f"  {harmless(line)}\n" for line in gate.output.split("\n")))
    if report.confined_by not in {None, "nothing"}:
        note(f"the gates were confined by {report.confined_by}")
    for words in report.notes:
        note(words)
    if report.mutants:
        killed = len(report.mutants) - len(report.survivors)
        write(f"{killed} of {counted(len(report.mutants), 'mutant')} killed\n")
    for each in report.survivors:
        write(f"  survived {harmless(each.told)}\n")
    write(_verdict(report) + "\n")


def _verdict(report: "GateReport") -> str:
    stopped = [gate.name for gate in report.gates if _stops(gate)]
    warned = counted(len(report.warnings), "warning")
    if report.passed:
        ran = [gate for gate in report.gates if gate.status != "skipped"]
        skipped = len(report.gates) - len(ran)
        left_out = f", {skipped} not run" if skipped else ""
        return f"passed: {counted(len(ran), 'result')}, {warned}{left_out}"
    return f"not passed: {', '.join(stopped)} ({warned})"


def _stops(gate: "GateResult") -> bool:
    return gate.required and gate.status not in {"passed", "warned"}


def _styled(status: "GateStatus") -> Styled:
    return Styled(status.value, _STYLE.get(status.value, "red"))


@contextmanager
def live_gates() -> Iterator["Progress"]:
    """The gates that run and how the others ended, on a terminal; silence elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _name, _ended: None
        return
    from rich.console import Console

    console = Console(stderr=True)
    running: list[str] = []
    with console.status("") as status:

        def report(name: str, ended: "GateStatus | None") -> None:
            if ended is None:
                running.append(name)
            else:
                running[:] = [each for each in running if each != name]
                console.print(f"[{_STYLE.get(ended.value, 'red')}]{ended.value:<8}[/] {name}")
            status.update("running " + ", ".join(running) if running else "")

        yield report


SHOWN = (
    *("command", "required", "threshold", "timeout", "folder", "environment", "after", "creates"),
    "network",
)
MOST_NAMED = 5
"""Gates that one sentence names; of more the rest is counted."""
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
    from hornbook.workspace import Workspace

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


def _print_proofs(proofs: "Sequence[GateProof]") -> None:
    rows = []
    for each in proofs:
        verdict = Styled(each.verdict, PROOF_STYLE[each.verdict])
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
    for (state, reason), names in _by_reason(found).items():
        verb = "is" if len(names) == 1 else "are"
        write(f"{_few(names)} {verb} {state}: {harmless(reason)}\n")
    write(f"where it is confined, each may use {_limits(found)}\n")


def _by_reason(found: "GateList") -> "dict[tuple[str, str], list[str]]":
    """The gates that do not run, those with the same reason together."""
    names: dict[tuple[str, str], list[str]] = {}
    for each in found.gates:
        for reason in each.reasons:
            names.setdefault((each.state, reason), []).append(each.gate.name)
    return names


def _few(names: "Sequence[str]") -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _limits(found: "GateList") -> str:
    held = found.limits
    parts = (
        (held.memory_percent, "% of the memory"),
        (held.processes, "processes"),
        (held.disk_megabytes, "MB more of disk"),
        (held.cpu_minutes, "minutes of CPU"),
    )
    return ", ".join(f"{number} {what}" for number, what in parts if number) or "all there is"


def _rows(each: "ListedGate") -> list[tuple[str, ...]]:
    origins = dict(each.gate.origins)
    stated = [key for key in SHOWN if key in {"command", "required"} or _is_said(each.gate, key)]
    if each.state == "disabled":
        stated = ["command"]
    state = Styled(each.state, STATE_STYLE[each.state])
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
