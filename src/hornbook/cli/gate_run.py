"""The command `gates run`: run gates and floors, and say what stops a change."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from hornbook.cli.output import Styled, columns, console, counted, harmless, note, print_json, write
from hornbook.cli.read import json_option, root_of
from hornbook.errors import UsageError

if TYPE_CHECKING:
    from hornbook.gates.running import Progress
    from hornbook.model.gates import GateReport, GateResult, GateStatus

_STYLE = {"passed": "green", "warned": "yellow", "skipped": "dim"}


@click.command("run")
@click.option("--diff", "span", metavar="BASE..HEAD", help="Run on HEAD, and judge the change.")
@click.option("--plan", "slug", metavar="SLUG", help="The plan whose scope the change keeps to.")
@click.option(
    "--in-place", is_flag=True, help="With --diff: run where HEAD's files lie, not in a copy."
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
    confine: bool | None,
    as_json: bool,
) -> None:
    """Run the gates, and with --diff the floors.

    Exit 1 unless everything that is required passed.
    """
    from hornbook.workspace.workspace import Workspace

    if in_place and span is None:
        raise UsageError("--in-place says where a change is run: add --diff BASE..HEAD.")
    with Workspace.open(root) as work, _live() as progress:
        report = work.run_gates(
            diff=span, plan=slug, in_place=in_place, confined=confine, progress=progress
        )
    show(report, "json" if as_json else form)
    sys.exit(0 if report.passed else 1)


def show(report: "GateReport", form: str) -> None:
    """Print a report on stdout in one of the forms."""
    if form == "json":
        print_json(report)
    elif form == "junit":
        from hornbook.gates.junit import junit

        write(junit(report))
    else:
        _print(report)


def _print(report: "GateReport") -> None:
    columns(
        [
            (
                _styled(gate.status),
                gate.name,
                "required" if gate.required else "optional",
                f"{gate.seconds:.1f} s" if gate.log else "",
                gate.message,
            )
            for gate in report.gates
        ],
        heads=("status", "gate", "", "time", "what"),
        whole=1,
    )
    for gate in report.gates:
        if gate.output and gate.status not in {"passed", "skipped"}:
            console().print(harmless(f"{gate.name}:"), style="bold", markup=False)
            write("".join(f"  {harmless(line)}\n" for line in gate.output.split("\n")))
    if report.confined_by not in {None, "nothing"}:
        note(f"the gates were confined by {report.confined_by}")
    for words in report.notes:
        note(words)
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
    cell = Styled(status.value)
    cell.style = _STYLE.get(status.value, "red")
    return cell


@contextmanager
def _live() -> Iterator["Progress"]:
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
