"""The command that tries to break out of our own confinement."""

import sys

import click

from hornbook.cli.options import json_option
from hornbook.cli.output import Styled, columns, note, print_json, write

_STYLE = {"held": "green", "open": "red", "not_tried": "dim"}


@click.group()
def confine() -> None:
    """What holds agents and gates on this machine."""


@confine.command("check")
@json_option
def check(*, as_json: bool) -> None:
    """Try to break out by every means that is here, and print what holds.

    Exit 1 if the means that runs would use leaves something open.
    """
    from hornbook.process.confine_check import PROBES, confine_check
    from hornbook.process.confinement import Means

    found = confine_check()
    cells = [
        {"probe": row.probe, **{means: getattr(row, means) for means in Means}}
        for row in found.rows
    ]
    if as_json:
        print_json(
            {"user": found.user, "rows": cells, "network": found.network, "limits": found.limits}
        )
    else:
        held = {"kernel": "the kernel", "measured": "our own measure, each second"}[found.limits]
        write(f"as {found.user}; runs are confined by {found.means}\n")
        write(f"limits of memory and processes are held by {held}\n")
        columns(
            [
                (PROBES[row["probe"]], *(Styled(row[m], _STYLE[row[m]]) for m in Means))
                for row in cells
            ],
            heads=("a way out", *Means),
        )
    if not found.holds:
        if not as_json:
            note("something is open: install bubblewrap, and let users make namespaces.")
        sys.exit(1)


COMMANDS = (confine,)
