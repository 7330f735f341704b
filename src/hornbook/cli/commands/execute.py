"""Commands that run the loop: execute, resume, worker, auto."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from hornbook.cli.options import json_option, opened, root_of
from hornbook.cli.output import (
    Styled,
    columns,
    console,
    counted,
    harmless,
    note,
    note_text,
    print_json,
    print_line,
    write,
)
from hornbook.cli.run_table import STYLES, GlancedRun, live_runs, run_table

if TYPE_CHECKING:
    from hornbook.loop.engine.plan_engine import Execution, Look, ObservedRun, PlanEngine
    from hornbook.loop.runs.overview import Fleet

agent_option = click.option("--agent", metavar="NAME", help="Who develops, by name.")


@click.command()
@click.argument("slug")
@click.option("--task", metavar="ID", help="Only this task of the plan.")
@agent_option
@click.option(
    "--priority",
    type=click.IntRange(-100, 100),
    metavar="N",
    help="Of all plans, those with the highest number come first; 0 by default.",
)
@click.option("--queue", is_flag=True, help="Leave it to the workers, and return at once.")
@json_option
@root_of
def execute(
    root: str | None,
    slug: str,
    task: str | None,
    agent: str | None,
    priority: int | None,
    *,
    queue: bool,
    as_json: bool,
) -> None:
    """Carry out a plan: develop, gate and review each task.

    What was begun before is continued. Independent tasks run side by side. Exit 0 if all tasks
    are approved.
    """
    if queue:
        _leave_to_workers(root, slug, task, agent, priority, as_json=as_json)
        return
    with _engine(root) as engine, _interruptible(f"hornbook execute {slug}"), _shown() as look:
        ended = engine.execute(slug, task=task, agent=agent, priority=priority, look=look)
    _finish(ended, as_json=as_json)


def _leave_to_workers(
    root: str | None,
    slug: str,
    task: str | None,
    agent: str | None,
    priority: int | None,
    *,
    as_json: bool,
) -> None:
    from hornbook.loop.engine.background_runs import leave_to_workers

    with opened(root) as work:
        run = leave_to_workers(work, slug, task=task, agent=agent, priority=priority)
    if as_json:
        print_json({"plan": slug, "run": run, "status": "queued"})
    else:
        write(f"{run} waits for a worker: `hornbook fleet` shows who works\n")


@click.command()
@click.argument("run_id", metavar="ID")
@json_option
@root_of
def resume(root: str | None, run_id: str, *, as_json: bool) -> None:
    """Continue a run that was interrupted, failed or answered."""
    with _engine(root) as engine, _interruptible(f"hornbook resume {run_id}"), _shown() as look:
        ended = engine.resume(run_id, look=look)
    _finish(ended, as_json=as_json)


@click.command()
@click.argument("topic")
@agent_option
@json_option
@root_of
def auto(root: str | None, topic: str, agent: str | None, *, as_json: bool) -> None:
    """Plan a topic, check the plan and carry it out."""
    from hornbook.cli.commands.plans import print_check
    from hornbook.loop.plan_book import PlanCheck

    with _engine(root) as engine, _interruptible("hornbook execute SLUG"), _shown() as look:
        ended = engine.auto(topic, agent=agent, look=look)
    if not isinstance(ended, PlanCheck):
        _finish(ended, as_json=as_json)
    slug = ended.view.plan.slug
    if as_json:
        print_json({"plan": slug, "approved": False, "problems": ended.problems, "runs": []})
    else:
        print_check(ended)
    note(f"edit .hornbook/plans/{slug}/plan.md, then `hornbook promote {slug}`")
    sys.exit(1)


@click.command()
@click.argument("finding", metavar="REVIEW[:SOP]")
@agent_option
@json_option
@root_of
def fix(root: str | None, finding: str, agent: str | None, *, as_json: bool) -> None:
    """Mend a violation that a recorded review found.

    A plan with one task is made from the finding, and carried out. Where a review found several
    violations, name the rule behind a colon. Exit 0 if the work is approved.
    """
    with _engine(root) as engine, _interruptible(f"hornbook fix {finding}"), _shown() as look:
        ended = engine.fix(finding, agent=agent, look=look)
    _finish(ended, as_json=as_json)


@click.command()
@click.argument("folders", metavar="[FOLDER]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--repository",
    metavar="GLOB",
    help="Work for all repositories of such names that have a checkout in FOLDER.",
)
@click.option("--until-stdin-ends", is_flag=True, help="Come to an end also when stdin does.")
@root_of
def worker(
    root: str | None, folders: tuple[Path, ...], repository: str | None, *, until_stdin_ends: bool
) -> None:
    """Work on the runs of all plans, beside other workers.

    It works until it is stopped. SIGTERM or ^C lets the steps that were begun come to their end;
    a second one does not. With --repository there is a process for each checkout that FOLDER is
    or has directly in it; without a FOLDER that is the current one.
    """
    if repository is not None or folders:
        _work_for_many(folders or (Path(root or "."),), repository or "*")
        return
    until = _told_to_end(lambda: None)
    if until_stdin_ends:
        threading.Thread(target=_set_at_end_of_stdin, args=(until,), daemon=True).start()
    with _engine(root) as engine:
        engine.work(until, only_changes(note))
    _leave(0)


def _work_for_many(folders: Sequence[Path], pattern: str) -> None:
    from hornbook.errors import UsageError
    from hornbook.loop.engine.many_repositories import Workers, checkouts

    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"{folder} is no folder: name one that checkouts lie in.")
    workers = Workers(checkouts(folders, pattern, note), note)
    workers.work(_told_to_end(workers.kill))


def _told_to_end(at_once: Callable[[], None]) -> threading.Event:
    """What is set by the first signal to end; the second ends this process."""
    until = threading.Event()

    def ends(_number: int, _frame: object) -> None:
        if until.is_set():
            at_once()
            _leave(1)
        until.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, ends)
    return until


def _set_at_end_of_stdin(until: threading.Event) -> None:
    while os.read(0, 512):
        pass
    until.set()


FLEET_SECONDS = 2.0


@click.command()
@click.option("--watch", is_flag=True, help="Show it until you end it; a JSON line a change.")
@json_option
@root_of
def fleet(root: str | None, *, watch: bool, as_json: bool) -> None:
    """Show who works on runs, and what waits and why."""
    from hornbook.loop.engine.fleet import fleet_of
    from hornbook.workspace import Workspace

    shown = None
    pause = threading.Event()
    with Workspace.open(root) as work, suppress(KeyboardInterrupt):
        while True:
            found = fleet_of(work.places, work.settings)
            if found != shown:
                if as_json and watch:
                    print_line(found)
                elif as_json:
                    print_json(found)
                else:
                    _show_fleet(found)
            shown = found
            if not watch:
                return
            pause.wait(FLEET_SECONDS)


def _show_fleet(found: "Fleet") -> None:
    from hornbook.plans.run_costs import CostSum

    rows = [
        (
            "alive" if each.alive else "silent",
            each.place,
            each.repository or "this one",
            each.version,
            ", ".join(each.runs) or "nothing",
        )
        for each in found.machines
    ]
    if rows:
        columns(rows, heads=("state", "machine", "repository", "version", "works on"), whole=1)
    else:
        note("no machine works on runs: `hornbook worker` joins this one")
    waiting = [(each.phase, each.run, each.since, each.reason) for each in found.waiting]
    if waiting:
        columns(waiting, heads=("waits", "run", "since", "why"), whole=1)
    for each in found.untold:
        again = "is not tried any more" if each.failed else "is tried again"
        tried = counted(each.attempts, "attempt")
        write(
            f"{each.run} asks, and `notify.url` was not told ({tried}, {again}): {each.problem}\n"
        )
    write(
        f"{found.per_minute:g} tasks a minute over the last ten minutes; "
        f"{CostSum(found.costs, told=True)} was told as cost in the last day\n"
    )


def only_changes(tell: Callable[[str], None]) -> Callable[[str, str], None]:
    """Tell what changed of runs: one that is looked at time and again while it waits is no news."""
    told: dict[str, str] = {}

    def hear(run: str, what: str) -> None:
        # it is taken anew after each wait: only the first time says something
        if what.startswith(("waits ", "continued")) or (what == "taken" and run in told):
            return
        if told.get(run) != what:
            told[run] = what
            tell(f"{run}: {what}")

    return hear


@contextmanager
def _engine(root: str | None) -> "Iterator[PlanEngine]":
    from sqlalchemy.exc import DBAPIError

    from hornbook.errors import DatabaseFailed, EngineError
    from hornbook.loop.engine.plan_engine import PlanEngine

    with opened(root) as work:
        try:
            yield PlanEngine(work, warn=note)
        except (DBAPIError, DatabaseFailed) as problem:
            said = problem.orig if isinstance(problem, DBAPIError) else problem
            raise EngineError(
                f"the engine's database failed ({said}): look at its disk or server. What "
                "is recorded is kept; the same command goes on."
            ) from problem


@contextmanager
def _interruptible(again: str) -> Iterator[None]:
    """Have ^C and SIGTERM end the process at once: what is recorded is all there is to keep."""

    kept = f"stopped. What was done is kept; go on with `{again}`, unless a worker does."
    said = note_text(f"\n{kept}")

    def ends(_number: int, _frame: object) -> None:
        # The line that was just being printed has the stream's buffer: we go past it.
        os.write(2, said.encode())
        _leave(1)

    before = [(number, signal.signal(number, ends)) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _leave(code: int) -> NoReturn:
    """End now, with whatever agents still do: they end with us."""
    for stream in (sys.stdout, sys.stderr):
        # A signal that came within a write of this very stream finds it in use.
        with suppress(RuntimeError, OSError):
            stream.flush()
    os._exit(code)


@contextmanager
def _shown() -> "Iterator[Look]":
    """Runs as a table that lives on a terminal, and as lines elsewhere."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console

    with live_runs(Console(stderr=True), transient=True) as redraw:
        yield lambda runs: redraw([_glanced(each) for each in runs])


def _glanced(seen: "ObservedRun") -> GlancedRun:
    run, at = seen.run, seen.progress
    gates = f"gates: {at.gates}" if at.gates else ""
    return GlancedRun(
        status=_state(seen),
        run=run.run,
        phase=at.step,
        attempt=at.attempt,
        seconds=seen.seconds,
        tokens=at.tokens,
        cost=str(at.cost),
        # what an agent does is news while it works; the message is the step that it is in
        said=at.last_action
        if _state(seen) == "running"
        else ", ".join(filter(None, (gates, run.message))),
    )


def _lines() -> "Callable[[Sequence[ObservedRun]], None]":
    """A line for each run whenever it says something new."""
    told: dict[str, str] = {}

    def look(runs: "Sequence[ObservedRun]") -> None:
        for each in runs:
            line = _line(each)
            # A plan's run looks at its tasks time and again: only what changed of them is news.
            news = each.run.message or line if not each.progress.step else line
            if told.get(each.run.run) != news:
                told[each.run.run] = news
                note(f"{each.run.run}: {line}")

    return look


def _line(seen: "ObservedRun") -> str:
    parts = [_state(seen), *_details(seen)]
    if seen.run.message:
        parts.append(harmless(seen.run.message.splitlines()[0]))
    return ", ".join(filter(None, parts))


def _state(seen: "ObservedRun") -> str:
    """One word on where a run stands."""
    from hornbook.loop.engine.engine_runs import RunPhase

    run = seen.run
    return run.status or run.phase if run.phase is RunPhase.ENDED else str(run.phase)


def _details(seen: "ObservedRun") -> list[str]:
    at = seen.progress
    attempt = f"attempt {at.attempt}" if at.attempt else ""
    tokens = f"{at.tokens} tokens" if at.tokens else ""
    return [at.step, attempt, tokens, f"gates: {at.gates}" if at.gates else ""]


HEADS = ("state", "run", "about", "phase", "attempt", "tokens", "gates", "says")


def _row(seen: "ObservedRun") -> tuple[str, ...]:
    run, at = seen.run, seen.progress
    state = _state(seen)
    styled = Styled(state, STYLES.get(state, ""))
    said = run.message.splitlines()[0] if run.message else ""
    about = run.task or at.task or ("" if run.parent else f"plan.{run.plan}")
    return styled, run.run, about, at.step, _count(at.attempt), _count(at.tokens), at.gates, said


def _count(number: int) -> str:
    return str(number) if number else ""


def _finish(ended: "Execution", *, as_json: bool) -> NoReturn:
    """Print what an execution came to, and exit by it."""
    if as_json:
        print_json(
            {
                "plan": ended.plan,
                "run": ended.root.run,
                "approved": ended.approved,
                "status": ended.root.status,
                "message": ended.root.message,
                "runs": [_facts(each) for each in ended.runs],
            }
        )
    else:
        _print_runs(ended.runs)
        _print_end(ended)
    for run in ended.asking:
        note(f"{run.run} asks: `hornbook runs show {run.run}` says what, and how to answer")
    sys.exit(0 if ended.approved else 1)


def _print_runs(runs: "Sequence[ObservedRun]") -> None:
    """The runs as they ended: on a terminal in the table that it has just seen."""
    if sys.stdout.isatty():
        console().print(run_table([_glanced(each) for each in runs]))
    else:
        columns([_row(each) for each in runs], heads=HEADS, whole=1)


def _facts(seen: "ObservedRun") -> dict[str, object]:
    run, at = seen.run, seen.progress
    return {
        "id": run.run,
        "task": run.task or at.task or None,
        "parent": run.parent,
        "phase": run.phase,
        "status": run.status,
        "message": run.message,
        "steps": run.steps,
        "seconds": round(run.spent, 3),
        "step": at.step,
        "attempt": at.attempt,
        "tokens": at.tokens,
        "gates": at.gates,
    }


def _print_end(ended: "Execution") -> None:
    verdict = "approved" if ended.approved else "not approved"
    said = f": {harmless(ended.root.message)}" if ended.root.message else ""
    write(f"{ended.root.run}: {verdict}{said} ({_cost(ended)})\n")


def _cost(ended: "Execution") -> str:
    steps = sum(each.run.steps for each in ended.runs)
    tokens = sum(each.progress.tokens for each in ended.runs)
    # the run of the plan only waits for those of its tasks
    working = [each for each in ended.runs if each.run.parent] or ended.runs
    spent = sum(each.run.spent for each in working)
    return f"{counted(steps, 'step')}, {tokens} tokens, {spent:.1f} seconds"


COMMANDS = (execute, resume, auto, fix, worker, fleet)
