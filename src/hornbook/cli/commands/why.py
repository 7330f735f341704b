"""The command that says which rules bind a file or a change: why."""

import click

from hornbook.cli.options import FILE_NAME, inside, json_option, opened, reserve_option, root_of
from hornbook.cli.output import print_json, screen, write_lines
from hornbook.errors import UsageError


@click.command()
@click.argument("files", metavar="[FILE]...", nargs=-1, type=FILE_NAME)
@click.option("--diff", "span", metavar="BASE..HEAD", help="A whole change, by BASE's rules.")
@click.option("--at", metavar="REV", help="Judge by the rules of a commit.")
@reserve_option
@click.option("--ids", "with_ids", is_flag=True, help="Show the ids of the rules too.")
@json_option
@root_of
def why(
    root: str | None,
    files: tuple[str, ...],
    span: str | None,
    at: str | None,
    reserve: str | None,
    *,
    with_ids: bool,
    as_json: bool,
) -> None:
    """Say which rules bind each file, or a change, and why."""
    if bool(files) == bool(span):
        raise UsageError("name what is asked about: either FILEs, or --diff BASE..HEAD.")
    if span and at:
        raise UsageError("--diff takes the rules of BASE: leave --at out, or name FILEs.")
    with opened(root) as work:
        if span:
            change = work.why_change(span, reserve=reserve)
            said = "" if as_json else work.reserve(at=change.base, reserve=reserve).said
        else:
            answers = work.why(inside(work.root, files), at=at, reserve=reserve)
    if as_json:
        print_json(change if span else {"files": answers})
    elif span:
        from hornbook.cli.change_matrix import change_lines

        write_lines(change_lines(change, said, screen(), with_ids=with_ids))
    else:
        from hornbook.cli.rule_lines import why_lines

        write_lines(why_lines(answers, screen(), with_ids=with_ids))


COMMANDS = (why,)
