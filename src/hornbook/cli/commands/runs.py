"""Commands about runs: list them, show one, its audit trail, and answer what it asks."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hornbook.cli.options import FILE_NAME, json_option, root_of
from hornbook.cli.output import (
    Styled,
    columns,
    console,
    counted,
    harmless,
    note,
    print_json,
    print_line,
    screen,
    write,
    write_lines,
)
from hornbook.cli.run_table import STYLES, GlancedRun, live_runs

if TYPE_CHECKING:
    from hornbook.loop.runs.overview import LogLine, RunLine, RunRow
    from hornbook.loop.runs.run_book import Attempt, RunBook, RunReport
    from hornbook.plans.events import Event
    from hornbook.plans.run_records import Spent


@contextmanager
def _book(root: str | None) -> "Iterator[RunBook]":
    from hornbook.workspace import Workspace

    with Workspace.open(root) as work, work.run_book() as book:
        yield book


def _run_row(line: "RunLine") -> tuple[str, ...]:
    status = Styled(line.status, STYLES.get(line.status, ""))
    return status, line.id, _subject(line), line.step, line.message


def _subject(line: "RunLine") -> str:
    return line.task or f"plan.{line.plan}"


@click.group(invoke_without_command=True)
@click.option("--watch", is_flag=True, help="Show them until you end it; a JSON line a change.")
@json_option
@click.pass_context
def runs(here: click.Context, *, watch: bool, as_json: bool) -> None:
    """List the runs, show one, what it printed, or its audit trail."""
    if here.invoked_subcommand is not None:
        return
    if watch:
        _watch(here.obj, as_json=as_json)
        return
    with _book(here.obj) as book:
        if as_json:
            print_json({"runs": book.rows()})
            return
        lines = book.lines()
    if not lines:
        note("no run yet: begin one with `hornbook execute SLUG`")
        return
    rows = [_run_row(line) for line in lines]
    columns(rows, heads=("status", "run", "about", "next step", "why"), whole=1)
    _note_asking(lines)


WATCH_SECONDS = 1.0


def _watch(root: str | None, *, as_json: bool) -> None:
    """Show all runs until somebody ends it: a table on a terminal, else a JSON line a change."""
    import time
    from contextlib import suppress

    from hornbook.loop.runs.overview import news, people_first

    told: dict[str, RunRow] = {}
    with _book(root) as book, suppress(KeyboardInterrupt), _redrawn(as_json=as_json) as redraw:
        while True:
            rows = people_first(book.rows())
            if redraw is not None:
                redraw(rows)
            else:
                for row in news(told, rows):
                    print_line(row)
            told = {row.id: row for row in rows}
            time.sleep(WATCH_SECONDS)


@contextmanager
def _redrawn(*, as_json: bool) -> "Iterator[Callable[[list[RunRow]], None] | None]":
    if as_json or not sys.stdout.isatty():
        yield None
        return
    with live_runs(console()) as redraw:
        yield lambda rows: redraw([_glanced(row) for row in rows])


def _glanced(row: "RunRow") -> GlancedRun:
    return GlancedRun(
        status=row.status,
        run=row.id,
        phase=row.step,
        attempt=row.attempt,
        seconds=row.elapsed_seconds,
        tokens=row.tokens,
        cost=str(row.spent),
        said=row.message or row.last_action,
    )


@runs.command("logs")
@click.argument("run_id", metavar="ID")
@click.option("--step", metavar="NAME", help="Only what was printed in this step.")
@click.option("--follow", is_flag=True, help="Go on with what is printed, until the run ends.")
@json_option
@root_of
def logs(root: str | None, run_id: str, step: str | None, *, follow: bool, as_json: bool) -> None:
    """Show what the agents of a run print, as they print it."""
    import time

    from hornbook.disk import now

    offsets: dict[Path, int] = {}
    seen: str | None = None
    with _book(root) as book:
        while True:
            over = book.line(run_id).status not in {"running", "waiting"}
            for line in _printed_since(book, run_id, offsets, seen):
                if step not in {None, line.step}:
                    continue
                if as_json:
                    print_line(line)
                else:
                    write(f"{line.step or '-'} {line.stream}: {harmless(line.text)}\n")
            if over or not follow:
                return
            time.sleep(WATCH_SECONDS)
            seen = now()


@runs.command("stop")
@click.argument("run_id", metavar="ID")
@click.option("--reason", metavar="T", default="", help="Why, for the record.")
@json_option
@root_of
def stop(root: str | None, run_id: str, reason: str, *, as_json: bool) -> None:
    """End a run, and those that it began.

    An agent or gates at work are ended, and nothing follows. Exit 1 if the run had ended.
    """
    with _book(root) as book:
        found = book.stop(run_id, reason)
    if as_json:
        print_json(asdict(found))
    elif found.ended:
        write("".join(f"{each}: stopped\n" for each in found.ended))
    else:
        write(f"{run_id} had ended: {found.status}\n")
    sys.exit(0 if found.ended else 1)


def _printed_since(
    book: "RunBook", run_id: str, offsets: dict[Path, int], seen: str | None
) -> "Iterator[LogLine]":
    """What agents printed since the last look; what was there at the first has its call's time."""
    from hornbook.loop.runs.overview import log_files, read_lines

    for file in log_files(book.events(run_id)):
        lines, offsets[file.path] = read_lines(file, offsets.get(file.path, 0), seen)
        yield from lines


def _note_asking(lines: "list[RunLine]") -> None:
    # the run of a plan waits for those of its tasks: they are answered
    asking = [line.id for line in lines if line.status == "asking" and line.workflow != "plan"]
    if asking:
        note(f"{counted(len(asking), 'run')} asking: `hornbook runs show {asking[0]}` says how to")


@runs.command("show")
@click.argument("run_id", metavar="ID")
@json_option
@root_of
def show(root: str | None, run_id: str, *, as_json: bool) -> None:
    """Show a run: attempts, gates, reviews and status."""
    with _book(root) as book:
        report = book.report(run_id)
    if as_json:
        print_json({"run": report.line, **_facts(report)})
    else:
        _print_report(report)
    if report.breaches:
        sys.exit(1)


@runs.command("events")
@click.argument("run_id", metavar="ID")
@json_option
@root_of
def events(root: str | None, run_id: str, *, as_json: bool) -> None:
    """Show the audit trail of a run: every event in order."""
    with _book(root) as book:
        found = book.events(run_id)
    if as_json:
        print_json({"events": [_event(event) for event in found]})
        return
    from hornbook.loop.runs.files import event_summary

    rows = [
        (
            str(event.seq),
            event.at[11:19],
            event.kind,
            event.actor,
            event_summary(event) or _plain(event),
        )
        for event in found
    ]
    columns(rows, heads=("number", "at", "kind", "by", "what"))


@click.command()
@click.argument("run_id", metavar="ID")
@click.option("--accept", is_flag=True, help="Take the reviewer's own verdict; needs a reason.")
@click.option("--return", "returned", metavar="TEXT", help="Give it back to the developer.")
@click.option("--overrule", metavar="TEXT", help="Approve against what was found, and say why.")
@click.option("--split", metavar="TEXT", help="Have the task split, along these words.")
@click.option("--amend", metavar="FILE", type=FILE_NAME, help="Sections that the plan gets anew.")
@click.option("--stop", is_flag=True, help="Give up; needs a reason.")
@click.option("--text", metavar="TEXT", help="Answer a question in words.")
@click.option("--reason", metavar="TEXT", default="", help="Why; stands in the event.")
@json_option
@root_of
def answer(root: str | None, /, run_id: str, reason: str, *, as_json: bool, **said: object) -> None:
    """Say a person's word on a run that asks.

    Exactly one action is given; `runs show ID` lists those that fit. The word is an event under
    your name, and agents may not say it.
    """
    from hornbook.workspace import Workspace

    action, text = _action(said)
    with Workspace.open(root) as work:
        given = work.answer(run_id, action, text, reason)
    if as_json:
        print_json(given)
        return
    write(f"{given.run}: {given.status}, {given.action} by {given.principal.id}\n")
    if given.status == "running":
        note(f"go on with `hornbook resume {given.run}`, unless somebody executes its plan")


def _action(said: "Mapping[str, object]") -> tuple[str, str]:
    """The one action that was given, and its text.

    Raises:
        UsageError: There is none, or more than one.
    """
    from hornbook.errors import UsageError

    given = [(name, value) for name, value in said.items() if value not in (None, False)]
    if len(given) != 1:
        found = ", ".join(f"--{_option(name)}" for name, _ in given) or "none"
        raise UsageError(
            f"an answer is one action, and this has {found}: give one of --accept, --return, "
            "--overrule, --split, --amend, --stop, --text."
        )
    ((name, value),) = given
    if name == "amend":
        return name, Path(str(value)).read_text(encoding="utf-8")
    return _option(name), "" if value is True else str(value)


def _option(name: str) -> str:
    return "return" if name == "returned" else name


def _facts(report: "RunReport") -> dict[str, object]:
    return {
        "attempts": report.attempts,
        "spent": report.spent.facts(),
        "commit": report.commit,
        "asks": report.asks,
        "answers": report.answers,
        "record": report.record,
        "spawned": report.spawned,
        "breaches": report.breaches,
        "warnings": report.warnings,
    }


def _cost(spent: "Spent") -> str:
    reported = f", {spent.cost} as reported" if spent.cost.amounts else ""
    return f"{counted(spent.steps, 'step')}, {spent.tokens} tokens, {spent.seconds:.1f} s{reported}"


def _print_report(report: "RunReport") -> None:
    line, out = report.line, console()
    out.print(f"[bold]{line.id}[/bold]: {_subject(line)}, {line.workflow}", highlight=False)
    write_lines(screen().prose(f"{line.status}{': ' + line.message if line.message else ''}"))
    for attempt in report.attempts:
        _print_attempt(attempt)
    write(f"\nspent: {_cost(report.spent)}\n")
    if report.commit:
        write(f"commit: {report.commit}\n")
    if report.spawned:
        write(f"started: {', '.join(report.spawned)}\n")
    if report.asks:
        write("\n")
        write_lines(part for text in report.asks.split("\n") for part in screen().prose(text))
        note(f"all that is known: .hornbook/records/escalations/{_file(report.record)}.json")
        note(f"answer with `hornbook answer {line.id}` and one of")
        for each in report.answers:
            note(f"  {harmless(each)}")
    for warning in report.warnings:
        write(f"warning: {harmless(warning)}\n")
    for breach in report.breaches:
        note(f"error: {breach}")


def _file(record: str | None) -> str:
    return str(record).removeprefix("escalation.")


def _print_attempt(attempt: "Attempt") -> None:
    share = attempt.tokens * 100 // attempt.window if attempt.window else 0
    used = f"{attempt.used} tokens, " if attempt.used else ""
    changed = ", ".join(attempt.files) or "nothing"
    who = f"attempt {attempt.number} by {attempt.agent}"
    write(f"\n{who}, {used}a prompt of {share} % of the window\n")
    write(f"  changed {harmless(changed)}\n")
    for said in (attempt.error, attempt.gates, attempt.review):
        if said:
            write(f"  {harmless(said)}\n")
    for line in attempt.feedback.splitlines():
        write(f"  | {harmless(line)}\n")


def _event(event: "Event") -> dict[str, object]:
    return {
        "seq": event.seq,
        "plan": event.plan,
        "run": event.data.get("run"),
        "kind": event.kind,
        "at": event.at,
        "actor": event.actor,
        "principal": event.principal.facts(),
        "key": event.key,
        "previous": event.previous,
        "hash": event.hash,
        "data": dict(event.data),
    }


def _plain(event: "Event") -> str:
    """The words of an event that has no line of its own."""
    data = event.data
    for name in ("reason", "error", "step", "status", "text", "task", "workflow"):
        said = data.get(name)
        if isinstance(said, str) and said:
            return said
    payload = data.get("payload")
    words = payload if isinstance(payload, dict) else {}
    return str(words.get("reason") or words.get("error") or words.get("event") or "")


COMMANDS = (runs, answer)
