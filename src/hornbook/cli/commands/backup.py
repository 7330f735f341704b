"""Commands about what must not be lost: verify, backup, restore."""

import sys
from pathlib import Path

import click

from hornbook.cli.options import FILE_NAME, json_option, opened, root_of
from hornbook.cli.output import columns, counted, note, print_json, write


@click.command()
@json_option
@root_of
def verify(root: str | None, *, as_json: bool) -> None:
    """Is everything below `.hornbook/` as it was written?

    Exit 1 if a file is damaged, missing, or older than what cites it.
    """
    from hornbook.loop.verification import verify_state

    with opened(root) as work:
        found = verify_state(work.places, work.settings)
    if as_json:
        print_json({"ok": found.ok, "checked": found.checked, "problems": found.problems})
    elif found.ok:
        write(f"{counted(found.checked, 'file')} checked: all as they were written\n")
    else:
        rows = [(each.path, f"{each.message}: {each.remedy}", each.code) for each in found.problems]
        columns(rows, heads=("file", "what is wrong", "code"))
        note(f"{counted(len(found.problems), 'problem')} in {counted(found.checked, 'file')}")
    sys.exit(0 if found.ok else 1)


@click.command()
@click.argument("file", type=FILE_NAME)
@json_option
@root_of
def backup(root: str | None, file: str, *, as_json: bool) -> None:
    """Write one archive of all that Hornbook keeps.

    Others may work meanwhile.
    """
    from hornbook.loop.backup import backup as make

    with opened(root) as work:
        made = make(work.places, work.settings, Path(file))
    if as_json:
        print_json(made)
    else:
        write(f"{counted(made.files, 'file')} in {made.file}, {made.size} bytes\n")


@click.command()
@click.argument("file", type=FILE_NAME)
@click.option("--into", metavar="DIR", required=True, type=FILE_NAME, help="An empty folder.")
@json_option
def restore(file: str, into: str, *, as_json: bool) -> None:
    """Make a folder from an archive, and verify it.

    Exit 1 if something in it is not as it was written.
    """
    from hornbook.loop.backup import restore as unpack

    done = unpack(Path(file), Path(into))
    found = done.verification
    if as_json:
        facts = {"ok": found.ok, "checked": found.checked, "problems": found.problems}
        print_json({"folder": done.folder, "made_at": done.made_at, "files": done.files, **facts})
    else:
        write(f"{counted(done.files, 'file')} of {done.made_at} in {done.folder}\n")
        for each in found.problems:
            note(f"{each.path}: {each.message}: {each.remedy}")
    sys.exit(0 if found.ok else 1)


COMMANDS = (verify, backup, restore)
