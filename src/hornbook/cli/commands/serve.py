"""The commands that serve the graph, over HTTP and over MCP, and that say who may come in."""

import gc
import json
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from hornbook.cli.options import FILE_NAME, json_option, opened, root_of
from hornbook.cli.output import (
    counted,
    harmless,
    note,
    print_json,
    progress_bar,
    screen,
    write,
    write_lines,
)
from hornbook.disk import write_whole
from hornbook.errors import UsageError

if TYPE_CHECKING:
    from hornbook.plans.audit.dropped_logs import DroppedLog
    from hornbook.serve.access.tokens import Token
    from hornbook.settings.places import Places


class _Terminated(BaseException):  # nothing on the way may take it for an error
    """SIGTERM came."""


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Unwind what is being done when SIGTERM comes, then end the process by it."""

    def unwind(_signal: int, _frame: FrameType | None) -> None:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, unwind)
    try:
        yield
    except _Terminated:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


@click.command()
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on; beyond loopback tokens are needed.",
)
@click.option(
    "--port",
    default=8765,
    show_default=True,
    type=click.IntRange(1, 65535),
    help="The port to listen on.",
)
@click.option("--ingest", is_flag=True, help="Ingest before serving.")
@click.option("--watch", is_flag=True, help="Ingest whenever a source changes.")
@root_of
def serve(root: str | None, host: str, port: int, *, ingest: bool, watch: bool) -> None:
    """Serve GraphQL, REST, SPARQL and MCP over HTTP until stopped."""
    with ended_by_sigterm():
        from hornbook.serve.service import run
        from hornbook.workspace import Workspace

        with Workspace.open(root) as work:
            place = work.root
            _refuse_taken(host, port)
            if ingest:
                with progress_bar() as progress:
                    report = work.ingest(progress=progress)
                note(f"ingested {counted(report.documents, 'document')}")
        shown = f"[{host}]" if ":" in host else host
        said = f"serving {place} on http://{shown}:{port}"
        _collect_as_a_server()
        run(place, host, port, watch=watch, ready=lambda: note(said))


def _collect_as_a_server() -> None:
    """Look for cycles as often as Python does by itself, but never among what was imported."""
    gc.freeze()
    gc.set_threshold(700, 10, 10)


def _refuse_taken(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as problem:
            raise UsageError(
                f"{host}:{port}: {problem.strerror}: choose another --port."
            ) from problem


@click.command()
@click.option("--ingest", is_flag=True, help="Read what changed into the graph first.")
@root_of
def mcp(root: str | None, *, ingest: bool) -> None:
    """Answer an agent over MCP on stdin and stdout.

    It ends when stdin ends.
    """
    from hornbook.serve.mcp.stdio import serve_stdio
    from hornbook.workspace import Workspace

    with Workspace.open(root) as work:
        place = str(work.root)

    def prepare() -> None:
        with Workspace.open(place) as work:
            report = work.ingest()
        problems = counted(len(report.problems), "problem")
        note(f"{counted(report.documents, 'document')}, {problems}")

    _collect_as_a_server()
    serve_stdio(place, prepare if ingest else None)


@click.command()
@click.option("--print", "only_print", is_flag=True, help="Print the address; open nothing.")
@click.option(
    "--url",
    default="http://127.0.0.1:8765",
    show_default=True,
    help="Where the server of this repository answers.",
)
@root_of
def login(root: str | None, url: str, *, only_print: bool) -> None:
    """Open a session in the browser, as whoever you are here.

    The address is good for a minute, and once.
    """
    with opened(root) as work:
        address = _login_address(work.places, url)
    if only_print:
        write(f"{address}\n")
        return
    import webbrowser

    if not webbrowser.open(address):
        raise UsageError("no browser can be opened here: use `hornbook login --print`.")
    note(f"opened {url} in a browser")


def _login_address(places: "Places", url: str) -> str:
    """An address that opens a session, once.

    Raises:
        UsageError: No server was ever started here.
    """
    import time

    from hornbook.plans.principal import at_command_line
    from hornbook.serve.access.secret import read_secret
    from hornbook.serve.access.sessions import make_code

    secret = read_secret(places)
    if secret is None:
        raise UsageError("there is no .hornbook/secret yet: start `hornbook serve` first.")
    code = make_code(secret, at_command_line(places.state), time.time())
    return f"{url.rstrip('/')}/login?once={code}"


@click.group()
def token() -> None:
    """Make, list and revoke tokens for those who come in over HTTP."""


@token.command("new")
@click.argument("name")
@click.option(
    "--for",
    "made_for",
    metavar="PRINCIPAL",
    default="",
    help="Whom it acts as: human:NAME, ci:NAME or agent:NAME.",
)
@click.option(
    "--scopes",
    metavar="SCOPE,…",
    multiple=True,
    help="What it may do: read, ingest, plan, execute, answer, admin; read by default.",
)
@click.option(
    "--repositories",
    metavar="GLOB,…",
    multiple=True,
    help="The repositories that it is good for; all by default.",
)
@click.option(
    "--expires", metavar="90d", default="90d", show_default=True, help="When it ends; or `never`."
)
@json_option
@root_of
def new_command(
    root: str | None,
    name: str,
    *,
    made_for: str,
    scopes: tuple[str, ...],
    repositories: tuple[str, ...],
    expires: str,
    as_json: bool,
) -> None:
    """Make a token and print it, once: only its hash is kept.

    A token for a person needs a person at the command line. A server that runs knows it within a
    second.
    """
    from datetime import UTC, datetime

    from hornbook.plans.principal import Via, at_command_line, named, require_human
    from hornbook.serve.access.tokens import Token, expiry, make_token, read_globs, scopes_for

    moment = datetime.now(UTC)
    in_one_word = len(made_for.split()) == 1
    if made_for and not (in_one_word and named(made_for, Via.TOKEN)):
        raise UsageError(
            f"--for {made_for}: write human:NAME, ci:NAME or agent:NAME, without spaces."
        )
    try:
        allowed = scopes_for(",".join(scopes) or "read", made_for)
        globs = read_globs(",".join(repositories)) if repositories else ()
    except ValueError as problem:
        raise UsageError(f"{problem}.") from problem
    ends = None if expires == "never" else expiry(expires, moment)
    with opened(root) as work:
        state = work.places.state
        if made_for.startswith("human:"):
            require_human(at_command_line(state), "make a token for a person", state)
        work.places.ignore_secrets()
        wanted = Token(name, allowed, b"", made_for, globs, ends)
        made = make_token(work.root / work.settings.serve.tokens, wanted)
    if as_json:
        print_json({"token": made, **_told(wanted, None)})
        return
    write(f"{made}\n")
    until = f"until {ends}" if ends else "for ever"
    note(f"{wanted.principal} may {', '.join(shown_scopes(wanted))} {until}; it is not shown again")


@token.command("list")
@json_option
@root_of
def list_command(root: str | None, *, as_json: bool) -> None:
    """List the tokens of this repository, without what is secret of them."""
    from hornbook.serve.access.tokens import last_uses, load_tokens

    with opened(root) as work:
        path = work.root / work.settings.serve.tokens
        found, uses = load_tokens(path, {}), last_uses(path)
    rows = [_told(each, uses.get(each.name)) for each in found]
    if as_json:
        print_json({"tokens": rows})
        return
    cells = [
        (
            str(each["name"]),
            str(each["principal"]),
            " ".join(shown_scopes(token)),
            ",".join(token.repositories) or "all repositories",
            f"until {each['expires_at']}" if each["expires_at"] else "for ever",
            f"used {each['last_used_at']}" if each["last_used_at"] else "never used",
        )
        for each, token in zip(rows, found, strict=True)
    ]
    heads = ("token", "acts as", "scopes", "repositories", "expires", "last used")
    write_lines(screen().records(cells, heads))


@token.command("revoke")
@click.argument("name")
@root_of
def revoke_command(root: str | None, name: str) -> None:
    """Take a token back: within a second it opens nothing.

    Streams that it opened end.

    Runs that it began go on.
    """
    from hornbook.serve.access.tokens import revoke_token

    with opened(root) as work:
        revoke_token(work.root / work.settings.serve.tokens, name)
    note(f"token {name} is revoked")


@click.group(invoke_without_command=True)
@click.option("--since", metavar="T", default="", help="A time, a day, or a span such as 7d.")
@click.option("--principal", metavar="P", default="", help="Whose: an id, or a kind as `human`.")
@click.option("--kind", metavar="K", default="", help="A kind of event, or what it begins with.")
@click.option("--plan", metavar="SLUG", default="", help="Of one plan.")
@click.option("--csv", "as_csv", is_flag=True, help="Print a table with commas.")
@json_option
@click.pass_context
def audit(
    here: click.Context,
    *,
    since: str,
    principal: str,
    kind: str,
    plan: str,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Show who did what, from the logs of all plans.

    It exits 1 if a log is not whole: `audit verify` says where.
    """
    if here.invoked_subcommand is not None:
        return
    from datetime import UTC, datetime

    from hornbook.plans.audit.audit_log import AuditFilter, AuditLog, since_of

    if as_csv and as_json:
        raise UsageError("--json and --csv are two forms: choose one.")
    wanted = AuditFilter(since_of(since, datetime.now(UTC)), principal, kind, plan)
    with opened(here.obj) as work:
        found = AuditLog(work.places, work.settings).events(wanted)
    if as_json:
        print_json(found)
    else:
        rows = [
            (each.at, each.principal.id, str(each.principal.via), each.kind, each.plan)
            for each in found.events
        ]
        _show_audit(rows, as_csv=as_csv)
    if found.dropped:
        note(
            f"{counted(found.dropped, 'log')} not kept any more: `hornbook audit verify` lists them"
        )
    if not found.verified:
        note("a log is not whole: `hornbook audit verify` says where")
        sys.exit(1)


def _show_audit(rows: Sequence[tuple[str, ...]], *, as_csv: bool) -> None:
    heads = ("at", "principal", "via", "kind", "plan")
    if not as_csv:
        write_lines(screen().records(rows, heads))
        return
    import csv
    import io

    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([heads, *map(_no_formula, rows)])
    write(text.getvalue())


def _no_formula(row: tuple[str, ...]) -> list[str]:
    """A row that no spreadsheet takes for something to reckon."""
    return [f"'{each}" if each.startswith(("=", "+", "-", "@", "\t")) else each for each in row]


@audit.command("verify")
@click.option(
    "--head",
    metavar="FILE",
    type=FILE_NAME,
    help="Hold the logs against a head that was written before.",
)
@click.option(
    "--write-head", metavar="FILE", type=FILE_NAME, help="Write the head of all logs, to be kept."
)
@json_option
@root_of
def verify_command(
    root: str | None, *, head: str | None, write_head: str | None, as_json: bool
) -> None:
    """Check that every log is a whole chain; exit 1 if one is not.

    That the end of a log was cut off shows only against a head that was kept elsewhere.
    """
    from hornbook.plans.audit.audit_log import AuditLog, read_head

    with opened(root) as work:
        log = AuditLog(work.places, work.settings)
        found = log.verify(read_head(Path(head)) if head is not None else None)
        if write_head is not None and found.ok:
            write_whole(Path(write_head), f"{json.dumps(log.head(), indent=2)}\n".encode())
    if as_json:
        print_json(found)
    else:
        for each in found.problems:
            write(f"{harmless(each.path)}: {harmless(each.message)}: {each.remedy}\n")
        for gone in found.dropped:
            write(_told_of(gone))
        since = f" since {found.since}" if found.since else ""
        problems = counted(len(found.problems), "problem")
        write(f"{counted(found.checked, 'event')}{since}, {problems}\n")
    sys.exit(0 if found.ok else 1)


def _told_of(log: "DroppedLog") -> str:
    """What is known of a log that is not kept any more, in two lines."""
    return (
        f"{harmless(log.plan)}: {counted(log.events, 'event')} to {log.last_at} not kept any more\n"
        f"  dropped {log.at} by {harmless(log.principal)}; the last hash is {log.head[:16]}\n"
    )


@audit.command("drop")
@click.option("--dry-run", is_flag=True, help="Say what would be dropped, and drop nothing.")
@json_option
@root_of
def drop_command(root: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Drop logs of plans that are over, after `audit.keep_days`.

    The plan's folder goes with its log, the records of its runs and reviews stay. A log stays
    while its plan is an exploration, a run, a task, a decision or an invariant of it is in force,
    or its costs count for a limit. What is dropped is listed in .hornbook/dropped.jsonl.
    """
    from datetime import UTC, datetime

    from hornbook.plans.audit.audit_log import AuditLog

    with (
        opened(root) as work,
        AuditLog(work.places, work.settings).retention(datetime.now(UTC)) as kept,
    ):
        old = kept.old()
        gone = {each.plan for each in old if not each.stays} if dry_run else set()
        dropped = () if dry_run else tuple(kept.drop())
    gone |= {each.plan for each in dropped}
    if as_json:
        print_json({"dropped": dropped, "old": old})
        return
    for each in old:
        word = "would go" if dry_run else "dropped"
        told = word if each.plan in gone else f"stays: {each.stays or 'it went on meanwhile'}"
        count = counted(each.events, "event")
        write(f"{harmless(each.plan)}: {count} to {each.last_at}; {harmless(told)}\n")
    if not old:
        write("no log is past its time\n")


def _told(token: "Token", used: str | None) -> dict[str, object]:
    return {
        "name": token.name,
        "principal": token.principal,
        "scopes": shown_scopes(token),
        "repositories": list(token.repositories),
        "expires_at": token.expires_at,
        "last_used_at": used,
    }


def shown_scopes(token: "Token") -> list[str]:
    """The scopes of a token by name."""
    from hornbook.serve.access.scopes import shown

    return shown(token.scopes)


COMMANDS = (serve, mcp, login, token, audit)
