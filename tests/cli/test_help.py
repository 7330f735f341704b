"""What `hornbook --help` shows, and what shells complete."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from hornbook.cli.app import GROUPS, app

WANTED = ["Rules", "Changes", "Plans", "Memory", "Graph", "Service"]


def shown_help(command: click.Command, name: str) -> str:
    return command.get_help(click.Context(command, info_name=name, terminal_width=80))


def listed(text: str) -> dict[str, list[str]]:
    """The commands below each title of a help text."""
    found: dict[str, list[str]] = {}
    title = ""
    for line in text.split("\n"):
        if line[:1].strip() and line.endswith(":"):
            title = line.removesuffix(":")
        elif re.match(r"  [a-z]+  +\S", line) and title not in {"", "Options"}:
            found.setdefault(title, []).append(line.split()[0])
    return found


def test_help_groups_every_command_once_by_what_people_want() -> None:
    shown = listed(shown_help(app, "hornbook"))
    assert list(shown) == list(GROUPS) == [*WANTED, "Deprecated"]
    assert shown == {title: list(names) for title, names in GROUPS.items()}
    assert sorted(name for names in shown.values() for name in names) == sorted(app.commands)


def groups(command: click.Command, name: str = "hornbook") -> Iterator[tuple[str, click.Group]]:
    if isinstance(command, click.Group):
        yield name, command
        for below, each in command.commands.items():
            yield from groups(each, f"{name} {below}")


@pytest.mark.parametrize(("name", "group"), list(groups(app)), ids=str)
def test_no_short_help_is_cut_at_eighty_columns(name: str, group: click.Group) -> None:
    text = shown_help(group, name)
    assert [line for line in text.split("\n")[1:] if line.endswith("...")] == []
    assert max(map(len, text.split("\n"))) <= 80


def test_bash_completes_commands_options_and_files(tmp_path: Path) -> None:
    script = """
        eval "$(_HORNBOOK_COMPLETE=bash_source hornbook)"
        complete() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
            _hornbook_completion hornbook; echo "${COMPREPLY[@]}"; }
        compopt() { echo "shell completes:" "$@"; }
        complete hornbook rec; complete hornbook review c; complete hornbook why --a
        complete hornbook why sr; complete hornbook hook pre-t
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert done.stdout.split("\n") == [
        "recover",
        "canary check",
        "--at",
        "shell completes: -o default",
        "",
        "pre-tool-use",
        "",
    ]
