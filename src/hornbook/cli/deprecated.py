"""Commands of an older pipeline that still work: propose, design, spec."""

import click

from hornbook.cli.options import json_option, opened, root_of, slug_argument
from hornbook.cli.output import note, print_json, write
from hornbook.cli.plans import facts, from_option, tell_change, tell_problems, text_from

reason_option = click.option(
    "--reason", metavar="T", default="", help="Why a committed plan changes."
)


@click.command()
@click.argument("topic")
@from_option
@json_option
@root_of
def propose(root: str | None, topic: str, source: str | None, *, as_json: bool) -> None:
    """Deprecated: begin an exploration, as `explore` does."""
    note("Use /explore or /plan instead")
    with opened(root) as work:
        book = work.plan_book()
        view = book.explore(topic, text_from(source), path=source or "")
        tell_change(book, view, "exploring", as_json=as_json)


@click.command()
@slug_argument
@from_option
@reason_option
@json_option
@root_of
def design(
    root: str | None, slug: str | None, source: str | None, reason: str, *, as_json: bool
) -> None:
    """Deprecated: show or take a plan's execution section."""
    note("Design is now part of /plan")
    _section(root, slug, source, reason, ("Execution",), as_json=as_json)


@click.command()
@slug_argument
@from_option
@reason_option
@json_option
@root_of
def spec(
    root: str | None, slug: str | None, source: str | None, reason: str, *, as_json: bool
) -> None:
    """Deprecated: show or take a plan's mission and constraints."""
    note("Specs are now part of /plan")
    _section(root, slug, source, reason, ("Mission", "Constraints"), as_json=as_json)


def _section(  # what both commands take
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
        text = text_from(source)
        if text is None:
            view = book.view(slug)
        else:
            view = book.rewrite(slug, text, names, path=source or "", reason=reason)
        active = book.active()
    if as_json:
        print_json(facts(view, active))
        return
    tell_problems(view)
    write("\n".join(section_text(view.plan, name) for name in names))


COMMANDS = (propose, design, spec)
