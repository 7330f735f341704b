"""The command that examines the rules themselves: doctor."""

import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hornbook.cli.options import FILE_NAME, inside, json_option, root_of
from hornbook.cli.output import harmless, note, print_json, screen, write, write_lines
from hornbook.errors import UsageError

if TYPE_CHECKING:
    from hornbook.doctor.finding import Health


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=FILE_NAME)
@click.option("--fix", "healing", is_flag=True, help="Carry out the edits that are safe.")
@click.option(
    "--baseline",
    metavar="FILE",
    type=FILE_NAME,
    help="Findings that are accepted; else .hornbook/doctor.yaml where it is.",
)
@click.option(
    "--write-baseline",
    "written",
    metavar="FILE",
    type=FILE_NAME,
    help="Write the errors and warnings of now as accepted for 90 days.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "sarif"]),
    default="text",
    help="How to print the answer.",
)
@json_option
@root_of
def doctor(
    root: str | None,
    paths: tuple[str, ...],
    *,
    healing: bool,
    baseline: str | None,
    written: str | None,
    form: str,
    as_json: bool,
) -> None:
    """Examine the rules: what in them does not hold here.

    Needs no model and no `init`; without --fix and --write-baseline nothing is written. Exit 1
    on errors that the baseline does not accept.
    """
    from hornbook.workspace import Workspace

    started = time.perf_counter()
    with Workspace.open(root) as work:
        wanted = inside(work.root, paths)
        for path in wanted:
            if not os.path.lexists(work.root / path):
                raise UsageError(f"{path} does not exist in {work.root}: check the path.")
        accepted = Path(baseline) if baseline else None
        health = work.doctor(wanted, baseline=accepted)
        if healing:
            from hornbook.doctor.fixes import fix

            for finding in fix(work.root, health.open):
                note(f"fixed {finding.path}: {finding.message}")
            health = work.doctor(wanted, baseline=accepted)
        if written:
            from hornbook.doctor.baseline import baseline_text

            today = datetime.now(UTC).date()
            Path(written).write_text(baseline_text(health.findings, today), encoding="utf-8")
            health = work.doctor(wanted, baseline=Path(written))
    seconds = round(time.perf_counter() - started, 3)
    _print(health, "json" if as_json else form, seconds)
    if health.counts["error"]:
        sys.exit(1)


def _print(health: "Health", form: str, seconds: float) -> None:
    if form == "json":
        print_json(health.answer(seconds))
    elif form == "sarif":
        from hornbook.doctor.sarif import render
        from hornbook.version import __version__

        write(render(health, version=__version__))
    else:
        from hornbook.doctor.text_report import screen as report

        write_lines(harmless(line) for line in report(health, screen().width))


COMMANDS = (doctor,)
