"""Commands about what outlives a session: checkpoint, recover, invariants, plans import."""

import sys
from typing import TYPE_CHECKING

import click

from hornbook.cli.options import json_option, opened, root_of, slug_argument
from hornbook.cli.output import columns, console, counted, note, plain_facts, print_json, write
from hornbook.errors import UsageError

if TYPE_CHECKING:
    from hornbook.context.recovery import FileFound, Recovery
    from hornbook.workspace import Workspace


@click.command()
@slug_argument
@click.option(
    "--automatic", is_flag=True, help="Put faulty events into quarantine, do not refuse them."
)
@json_option
@root_of
def checkpoint(root: str | None, slug: str | None, *, automatic: bool, as_json: bool) -> None:
    """Write a plan's files from its events, with their hashes."""
    with opened(root) as work:
        done = work.memory().checkpoint(slug, automatic=automatic)
    if as_json:
        print_json(done)
        return
    for each in done.violations:
        note(f"warning: {each}")
    for path in done.left:
        note(f"warning: {path} was edited and left as it is")
    changed = f"{counted(len(done.written), 'file')} written" if done.written else "nothing changed"
    write(f"{done.plan} at event {done.seq} ({done.event_hash[:12]}): {changed}\n")
    for path in (*done.written, *done.quarantined):
        write(f"  {path}\n")


@click.command()
@slug_argument
@click.option("--repair", "mend", is_flag=True, help="Write anew what differs from the log.")
@click.option("--check", is_flag=True, help="Run the gates of the plan's memory.")
@json_option
@root_of
def recover(root: str | None, slug: str | None, *, mend: bool, check: bool, as_json: bool) -> None:
    """Restore a plan from its log and compare hashes.

    Exit 1 if a file differs from what the events say.
    """
    if mend and check:
        raise UsageError("--repair writes and --check only looks: give one of them.")
    with opened(root) as work:
        if check:
            _check(work, slug, as_json=as_json)
        found = work.memory().recover(slug, mend=mend)
    if as_json:
        print_json({**plain_facts(found), "passed": found.passed})
    else:
        _print_recovery(found)
    sys.exit(0 if found.passed else 1)


def _check(work: "Workspace", slug: str | None, *, as_json: bool) -> None:
    from hornbook.loop.memory_gates import check_memory

    gates = check_memory(work.memory(), work.plan_book(), work.root, slug)
    passed = all(gate.passed for gate in gates)
    if as_json:
        print_json({"passed": passed, "gates": gates})
    else:
        rows = [("passed" if gate.passed else "failed", gate.name, gate.message) for gate in gates]
        columns(rows, heads=("", "gate", "message"))
    sys.exit(0 if passed else 1)


def _difference(file: "FileFound") -> str:
    if file.state == "same":
        return f" {file.expected}"
    return f": expected {file.expected}, found {file.found or 'nothing'}"


def _print_recovery(found: "Recovery") -> None:
    write(f"{found.plan} at event {found.seq} ({found.event_hash}), from the {found.source}\n")
    for each in found.core:
        if each.sha256 is not None:
            write(f"  core {each.path} {each.sha256}\n")
    for file in (*found.files, *found.artifacts):
        write(f"  {file.state} {file.path}{_difference(file)}\n")
    for told in found.notes:
        note(told)
    if not found.passed:
        note("`hornbook recover --repair` writes anew what the log can restore")
    console().print("[green]restored[/]" if found.passed else "[red]differs[/]")


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def invariants(here: click.Context, *, as_json: bool) -> None:
    """List, propose and promote what always holds."""
    if here.invoked_subcommand is not None:
        return
    with opened(here.obj) as work:
        found = work.memory().invariants()
    if as_json:
        print_json({"invariants": [{"plan": e.plan, **plain_facts(e.invariant)} for e in found]})
        return
    rows = [
        (
            each.invariant.id,
            "core" if each.invariant.promoted_at else "proposed",
            each.invariant.text,
        )
        for each in found
    ]
    columns(rows, heads=("invariant", "", "text"), whole=0)


@invariants.command("propose")
@slug_argument
@click.option("--text", metavar="T", required=True, help="What holds always.")
@click.option("--reason", metavar="T", required=True, help="Why.")
@json_option
@root_of
def propose_invariant(
    root: str | None, slug: str | None, text: str, reason: str, *, as_json: bool
) -> None:
    """Propose that something always holds. It binds nobody yet."""
    with opened(root) as work:
        made = work.memory().propose(slug, text=text, reason=reason)
    if as_json:
        print_json({"id": made})
    else:
        write(f"{made}\n")


@invariants.command("promote")
@click.argument("invariant_id", metavar="ID")
@json_option
@root_of
def promote_invariant(root: str | None, invariant_id: str, *, as_json: bool) -> None:
    """Write a proposed invariant into the core. For people only."""
    from hornbook.context.tiers import CONTEXT_CORE

    with opened(root) as work:
        made = work.memory().promote(invariant_id)
    if as_json:
        print_json(made)
    else:
        write(f"{made.id} stands in {CONTEXT_CORE}\n")


COMMANDS = (checkpoint, recover, invariants)
