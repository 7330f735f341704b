"""Commands about plans: explore, plan, promote, plans, decide, risk, tasks.

At the end stand those of an older pipeline that still work: propose, design, spec.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hornbook.cli.options import FILE_NAME, json_option, opened, root_of, slug_argument
from hornbook.cli.output import (
    Styled,
    coloured,
    columns,
    console,
    counted,
    harmless,
    note,
    place,
    print_json,
    write,
)
from hornbook.errors import NotFound, UsageError

if TYPE_CHECKING:
    from hornbook.loop.plan_book import PlanBook, PlanCheck, SizedTask
    from hornbook.plans.store import PlanView

ROUTES = {"start": "fits", "split": "is split", "passes": "in passes", "refused": "too large"}
STATUS_STYLE = {"exploring": "bold yellow", "committed": "green", "superseded": "dim"}

_from_option = click.option(
    "--from",
    "source",
    metavar="FILE",
    type=FILE_NAME,
    help="A plan as Markdown; - is standard input.",
)


def _text_from(source: str | None) -> str | None:
    """The text of the file that `--from` names.

    Raises:
        NotFound: It cannot be read.
        UsageError: It is not UTF-8.
    """
    if source is None:
        return None
    try:
        data = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as problem:
        raise NotFound(f"{source} cannot be read ({problem.strerror}).") from problem
    except UnicodeDecodeError as problem:
        raise UsageError(f"{source} is not UTF-8 ({problem}): save it as UTF-8.") from problem


@click.command()
@click.argument("topic")
@_from_option
@click.option("--supersedes", metavar="SLUG", help="The plan that it replaces once committed.")
@json_option
@root_of
def explore(
    root: str | None, topic: str, source: str | None, supersedes: str | None, *, as_json: bool
) -> None:
    """Begin an exploration: a plan to edit, not yet committed.

    Its empty sections say what belongs there. Nothing executes an exploration;
    `promote` commits to it.
    """
    with opened(root) as work:
        book = work.plan_book()
        view = book.explore(topic, _text_from(source), path=source or "", supersedes=supersedes)
        _tell_change(book, view, "exploring", as_json=as_json)


@click.command()
@click.argument("title")
@_from_option
@json_option
@root_of
def plan(root: str | None, title: str, source: str | None, *, as_json: bool) -> None:
    """Make a plan and commit to it at once.

    Where situation, mission or execution are empty, it stays an exploration: exit 1.
    """
    with opened(root) as work:
        book = work.plan_book()
        view = book.commit(title, _text_from(source), path=source or "")
        _tell_change(book, view, view.state.status, as_json=as_json)
    sys.exit(0 if view.plan.committed else 1)


@click.command()
@slug_argument
@json_option
@root_of
def promote(root: str | None, slug: str | None, *, as_json: bool) -> None:
    """Commit to an exploration; its text is frozen.

    Only a person can. Exit 1 if situation, mission or execution are empty.
    """
    with opened(root) as work:
        book = work.plan_book()
        _tell_change(book, book.promote(slug), "committed", as_json=as_json)


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def plans(here: click.Context, *, as_json: bool) -> None:
    """List, show, choose and check plans."""
    if here.invoked_subcommand is not None:
        return
    from hornbook.plans.active import active_plan

    with opened(here.obj) as work:
        views, active = work.plans(), active_plan(work.places.state)
    if as_json:
        print_json({"plans": [_facts(view, active) for view in views]})
        return
    if not views:
        note("no plan yet: begin one with `hornbook explore TOPIC`")
        return
    _print_plans(views, active)


def _print_plans(views: "list[PlanView]", active: str | None) -> None:
    rows = [_plan_row(view, active) for view in views]
    columns(rows, heads=("status", "", "plan", "title", "tasks", "since"), whole=2)
    open_ones = [view.plan.slug for view in views if not view.plan.committed]
    if open_ones:
        note(f"{counted(len(open_ones), 'plan')} not committed: {', '.join(open_ones)}")


def _plan_row(view: "PlanView", active: str | None) -> tuple[str, ...]:
    plan, status = view.plan, view.state.status
    return (
        Styled(status, STATUS_STYLE[status]),
        "*" if plan.slug == active else "",
        plan.slug,
        plan.title,
        counted(len(view.state.tasks), "task"),
        (plan.committed_at or plan.created_at)[:10],
    )


@plans.command("show")
@slug_argument
@json_option
@root_of
def show(root: str | None, slug: str | None, *, as_json: bool) -> None:
    """Show a plan with its decisions, risks and tasks."""
    from hornbook.plans.text import render

    with opened(root) as work:
        book = work.plan_book()
        view, active = book.view(slug), book.active()
        references = book.references(view.plan.slug)
    if as_json:
        print_json({**_facts(view, active), "references": references})
        return
    _tell_problems(view)
    write(render(view.plan))
    _print_notes(view)
    for each in references:
        write(f"\nrefers to {each}\n")


@plans.command("use")
@click.argument("slug")
@json_option
@root_of
def use(root: str | None, slug: str, *, as_json: bool) -> None:
    """Make a plan the active one."""
    with opened(root) as work:
        book = work.plan_book()
        _tell_change(book, book.use(slug), "active", as_json=as_json)


_reason_option = click.option(
    "--reason", metavar="T", default="", help="Why a committed plan changes."
)


@plans.command("amend")
@slug_argument
@_from_option
@_reason_option
@json_option
@root_of
def amend(
    root: str | None, slug: str | None, source: str | None, reason: str, *, as_json: bool
) -> None:
    """Take sections of a plan from a text; the others stay.

    A committed plan changes only with a reason, and only for a person.
    """
    text = _text_from(source)
    if text is None:
        raise UsageError("nothing is amended: name the text with --from FILE, - is stdin.")
    with opened(root) as work:
        book = work.plan_book()
        view = book.rewrite(slug, text, path=source or "", reason=reason)
        _tell_change(book, view, "amended", as_json=as_json)


@plans.command("check")
@slug_argument
@json_option
@root_of
def check(root: str | None, slug: str | None, *, as_json: bool) -> None:
    """Say whether a plan can be carried out. Exit 1 if not."""
    with opened(root) as work:
        found = work.plan_book().check(slug)
    if as_json:
        print_json(
            {
                "plan": found.view.plan.slug,
                "passed": found.passed,
                "problems": found.problems,
                "rules": [
                    {"id": each.id, "title": each.title, "scope": each.scope, "path": each.path}
                    for each in found.rules
                ],
            }
        )
    else:
        print_check(found)
    sys.exit(0 if found.passed else 1)


@click.command()
@slug_argument
@click.option("--decision", metavar="T", required=True, help="What was decided.")
@click.option("--reason", metavar="T", required=True, help="Why.")
@click.option("--impact", metavar="T", required=True, help="What follows from it.")
@click.option("--supersedes", metavar="ID", help="The decision that it replaces.")
@json_option
@root_of
def decide(  # noqa: PLR0917  # click passes every argument by name
    root: str | None,
    slug: str | None,
    decision: str,
    reason: str,
    impact: str,
    supersedes: str | None,
    *,
    as_json: bool,
) -> None:
    """Record a decision that a plan led to."""
    with opened(root) as work:
        made = work.plan_book().decide(
            slug, decision=decision, reason=reason, impact=impact, supersedes=supersedes
        )
    if as_json:
        print_json(made)
    else:
        write(f"{made.id}\n")


@click.command()
@slug_argument
@click.option("--id", "name", metavar="ID", required=True, help="A short name, such as R1.")
@click.option(
    "--severity", metavar="S", required=True, help="One of low, medium, high and critical."
)
@click.option("--text", metavar="T", required=True, help="What may go wrong.")
@json_option
@root_of
def risk(  # click passes every argument by name
    root: str | None, slug: str | None, name: str, severity: str, text: str, *, as_json: bool
) -> None:
    """Record a risk of a plan.

    The newest text and severity of an id count.
    """
    with opened(root) as work:
        view = work.plan_book().risk(slug, name=name, severity=severity, text=text)
    if as_json:
        print_json(next(each for each in view.state.risks if each.id == name))
    else:
        write(f"{view.plan.slug}: {name} is {severity}\n")


@click.command()
@slug_argument
@json_option
@root_of
def tasks(root: str | None, slug: str | None, *, as_json: bool) -> None:
    """List the tasks of a plan with their sizes.

    They are read from its execution section. Exit 1 if one cannot be worked on, not even split.
    """
    with opened(root) as work:
        view, sized = work.plan_book().tasks(slug)
    if as_json:
        print_json(
            {
                "plan": view.plan.slug,
                "fixed": bool(view.state.tasks),
                "tasks": [_task_facts(view.plan.slug, each) for each in sized],
            }
        )
    else:
        _print_tasks(sized)
    if not view.state.tasks:
        note(f"only shown: plan {view.plan.slug} is {view.state.status}, tasks need a commitment")
    from hornbook.context.task_route import Route

    sys.exit(int(any(each.route.route is Route.REFUSED for each in sized)))


def _facts(view: "PlanView", active: str | None) -> dict[str, object]:
    """A plan as JSON, with the names that the source documents give its parts."""
    from dataclasses import asdict

    from hornbook.plans.state import constraints_data, task_data

    state, said = view.state, asdict(view.plan)
    return {
        "id": view.plan.id,
        **said,
        "constraints": constraints_data(view.plan.constraints),
        "status": state.status,
        "active": view.plan.slug == active,
        "superseded_by": state.superseded_by,
        "decisions": state.decisions,
        "risks": state.risks,
        "tasks": [
            {
                "id": task.id_in(view.plan.slug),
                **task_data(task),
                "type": task.type,
                "finding": task.finding,
            }
            for task in state.tasks
        ],
        "amendments": state.amendments,
        "invariants": state.invariants,
        "problems": view.problems,
        "references": None,
    }


def _tell_change(book: "PlanBook", view: "PlanView", done: str, *, as_json: bool) -> None:
    """Say what became of a plan."""
    if as_json:
        print_json(_facts(view, book.active()))
        return
    _tell_problems(view)
    write(f"{done}: {view.plan.slug} (.hornbook/plans/{view.plan.slug}/plan.md)\n")


def _tell_problems(view: "PlanView") -> None:
    """Say what is wrong with a plan's files."""
    for each in view.problems:
        line = "" if each.line is None else f":{each.line}"
        note(f"{each.level} {each.code} {each.path}{line} {each.message}")


def _print_notes(view: "PlanView") -> None:
    state = view.state
    for decision in state.decisions:
        gone = f" (superseded by {decision.superseded_by})" if decision.superseded_by else ""
        write(f"\n{decision.id}{gone}: {harmless(decision.decision)}\n")
    for each in state.risks:
        write(f"\nrisk {each.id}, {each.severity}: {harmless(each.text)}\n")
    for amendment in state.amendments:
        changed = ", ".join(amendment.changed)
        write(f"\namended {changed} on {amendment.at[:10]}: {harmless(amendment.reason)}\n")
    for task in state.tasks:
        write(f"\n{task.id_in(view.plan.slug)}: {harmless(task.title)}\n")


def print_check(found: "PlanCheck") -> None:
    """Say what a check of a plan found."""
    if found.problems:
        columns(
            [
                (coloured(each.level), each.code, place(each.path, each.line), each.message)
                for each in found.problems
            ],
            heads=("level", "code", "where", "message"),
        )
    for rule in found.rules:
        write(f"judge the plan by {rule.id}: {harmless(rule.title)} ({rule.path})\n")
    verdict = "[green]fit to start[/]" if found.passed else "[red]must not start[/]"
    console().print(f"{found.view.plan.slug}: {verdict}")
    if found.view.plan.committed and not found.passed:
        from hornbook.plans.store import amendment

        note(f"what is mended in its file, {amendment(found.view.plan.slug)} takes")


def _task_facts(slug: str, each: "SizedTask") -> dict[str, object]:
    from hornbook.plans.state import task_data

    return {
        "id": each.id,
        **task_data(each.task),
        "type": each.task.type,
        "depends_on": [f"task.{slug}.{number}" for number in each.task.depends_on],
        "size": each.size,
        "route": each.route.route,
    }


def _print_tasks(sized: "list[SizedTask]") -> None:
    columns(
        [
            (
                each.id,
                each.task.title,
                ", ".join(map(str, each.task.depends_on)),
                counted(len(each.size.files), "file"),
                f"{each.size.estimate}/{each.size.limit}",
                ROUTES[each.route.route],
            )
            for each in sized
        ],
        heads=("task", "title", "after", "files", "tokens", ""),
        whole=0,
    )
    for each in sized:
        if each.route.reasons:
            write(f"  {each.route.said_of(each.id)}\n")


@plans.command("import")
@click.argument("folder", metavar="DIR", type=FILE_NAME)
@json_option
@root_of
def import_tracks(root: str | None, folder: str, *, as_json: bool) -> None:
    """Take over the tracks of another layout.

    DIR holds docs/tracks, ACTIVE_TRACK and artifacts.
    """
    from hornbook.loop.track_import import import_tracks as take_over

    with opened(root) as work:
        done = take_over(work.memory(), work.plan_book(), work.root, Path(folder))
    if as_json:
        print_json(done)
        return
    rows = [(each.outcome, each.path, each.message) for each in done.files]
    columns(rows, heads=("", "file", ""), whole=1)
    for told in done.notes:
        note(told)
    write(f"{counted(len(done.plans), 'plan')}: {', '.join(done.plans) or 'none'}\n")


@click.command()
@click.argument("topic")
@_from_option
@json_option
@root_of
def propose(root: str | None, topic: str, source: str | None, *, as_json: bool) -> None:
    """Deprecated: begin an exploration, as `explore` does."""
    note("Use /explore or /plan instead")
    with opened(root) as work:
        book = work.plan_book()
        view = book.explore(topic, _text_from(source), path=source or "")
        _tell_change(book, view, "exploring", as_json=as_json)


@click.command()
@slug_argument
@_from_option
@_reason_option
@json_option
@root_of
def design(
    root: str | None, slug: str | None, source: str | None, reason: str, *, as_json: bool
) -> None:
    """Deprecated: show or take a plan's execution section."""
    note("Design is now part of /plan")
    _show_or_rewrite(root, slug, source, reason, ("Execution",), as_json=as_json)


@click.command()
@slug_argument
@_from_option
@_reason_option
@json_option
@root_of
def spec(
    root: str | None, slug: str | None, source: str | None, reason: str, *, as_json: bool
) -> None:
    """Deprecated: show or take a plan's mission and constraints."""
    note("Specs are now part of /plan")
    _show_or_rewrite(root, slug, source, reason, ("Mission", "Constraints"), as_json=as_json)


def _show_or_rewrite(  # what `design` and `spec` take
    root: str | None,
    slug: str | None,
    source: str | None,
    reason: str,
    names: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    from hornbook.plans.text import section_text

    with opened(root) as work:
        book = work.plan_book()
        text = _text_from(source)
        if text is None:
            view = book.view(slug)
        else:
            view = book.rewrite(slug, text, names, path=source or "", reason=reason)
        active = book.active()
    if as_json:
        print_json(_facts(view, active))
        return
    _tell_problems(view)
    write("\n".join(section_text(view.plan, name) for name in names))


COMMANDS = (explore, plan, promote, plans, decide, risk, tasks, propose, design, spec)
