"""Commands about agents: who can work here, and whether one is ready."""

import sys

import click

from hornbook.cli.options import json_option, opened, root_of
from hornbook.cli.output import Styled, columns, harmless, note, print_json, write

_STYLES = {"passed": "green", "failed": "red", "skipped": "dim"}


@click.group()
def agents() -> None:
    """List who can work here; check that one is ready."""


@agents.command("list")
@json_option
@root_of
def list_command(root: str | None, *, as_json: bool) -> None:
    """List the agents that can be named."""
    from hornbook.loop.agent_readiness import list_agents

    with opened(root) as work:
        found = list_agents(work.settings)
    if as_json:
        print_json({"agents": found})
        return
    rows = [
        (
            Styled("here", "green") if each.found else Styled("missing", "dim"),
            each.name,
            each.program or each.kind,
            ", ".join(each.providers) + (" (untried)" if each.untried else ""),
        )
        for each in found
    ]
    columns(rows, heads=("status", "agent", "program", "models of"), whole=1)


@agents.command("check")
@click.argument("name")
@click.option("--no-call", is_flag=True, help="Ask nobody: look at what is here only.")
@json_option
@root_of
def check_command(root: str | None, name: str, *, no_call: bool, as_json: bool) -> None:
    """Check that an agent can work here.

    Program, version, log-in, schema, confinement, and one tiny call. Exit 0 only if it is ready.
    """
    from hornbook.loop.agent_readiness import check_agent

    with opened(root) as work:
        found = check_agent(work.places, work.settings, name, call=not no_call)
    if as_json:
        print_json(found)
    else:
        rows = [
            (Styled(str(each.status), _STYLES[each.status]), each.name, harmless(each.message))
            for each in found.checks
        ]
        columns(rows, heads=("status", "check", "what"), whole=1)
        write(f"{name} is {'ready' if found.ready else 'not ready'}\n")
        for each in found.checks:
            if each.remedy and each.status == "failed":
                note(f"{each.name}: {each.remedy}")
    sys.exit(0 if found.ready else 1)


COMMANDS = (agents,)
