"""The command that makes a repository a workspace: init."""

import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click

from hornbook.cli.options import json_option, root_of
from hornbook.cli.output import print_json, progress_bar, write
from hornbook.cli.rules import print_problems, print_reserve, reserve_answer

if TYPE_CHECKING:
    from hornbook.workspace import Workspace


CONFIG_PATH = ".hornbook/config.yaml"


class HooksAnswer(TypedDict):
    """Where hooks were added, and for which events of the host."""

    path: str
    added: list[str]


def _print_made(made: list[str], hooked: "HooksAnswer | None") -> None:
    for path in made:
        write(f"created {path}\n")
    if not made:
        write("nothing to create: this is a workspace already\n")
    if hooked is not None:
        events = ", ".join(hooked["added"]) or "nothing: they are there already"
        write(f"added hooks to {hooked['path']}: {events}\n")


@click.command()
@click.option(
    "--gates",
    "stack",
    type=click.Choice(["auto", "go", "python", "typescript", "rust", "none"]),
    default="none",
    help="Configure the gates of a language, or of those that are found here.",
)
@click.option("--examples", is_flag=True, help="Copy example SOPs for Go, Python and TypeScript.")
@click.option(
    "--hooks",
    type=click.Choice(["claude"]),
    help="Add our hooks to the settings of an agent host.",
)
@json_option
@root_of
def init(root: str | None, stack: str, *, examples: bool, hooks: str | None, as_json: bool) -> None:
    """Create .hornbook/ and report the rule files already there.

    Nothing that exists is overwritten.
    """
    from hornbook.workspace import Workspace

    with Workspace.open(root) as work:
        hooked = _hook_up(work) if hooks else None
        gates = _gates_block(work, stack)
        made = _make(work, gates, examples=examples)
        with progress_bar() as progress:
            report = work.ingest(progress=progress)
        reserve = work.reserve_report()
        formats = dict(Counter(entry.tool for entry in work.snapshot().catalog.entries))
    written = CONFIG_PATH in made
    if as_json:
        answer = {"created": made, "formats": formats, "problems": report.problems}
        told = {"block": gates, "written": bool(gates) and written} if stack != "none" else None
        more = {} if hooked is None else {"hooks": hooked}
        print_json({**answer, "reserve": reserve_answer(reserve), "gates": told, **more})
        return
    _print_made(made, hooked)
    found = ", ".join(f"{count} {tool}" for tool, count in sorted(formats.items()))
    write(f"found {report.documents} documents ({found or 'no rule files yet'})\n")
    print_problems(report.problems)
    print_reserve(reserve)
    if stack != "none":
        _print_gates(stack, gates, written=written)
    write("next: `hornbook why FILE` says which rules bind a file\n")


def _hook_up(work: "Workspace") -> "HooksAnswer":
    from hornbook.hooks.claude_settings import SETTINGS, install

    return {"path": SETTINGS.as_posix(), "added": install(work.root)}


def _gates_block(work: "Workspace", stack: str) -> str:
    if stack == "none":
        return ""
    from hornbook.gates.gate_list import gates_block

    return gates_block(work.root, stack)


def _print_gates(stack: str, gates: str, *, written: bool) -> None:
    if not gates:
        looked = "go.mod, pyproject.toml, package.json and Cargo.toml"
        write(f"no gates configured: found none of {looked}; see docs/gates.md\n")
    elif written:
        write(f"configured gates ({stack}): `hornbook gates list` shows them\n")
    else:
        write(f"{CONFIG_PATH} is there already and stays as it is; to use these gates, add:\n\n")
        write(f"{gates}\n")


def _make(work: "Workspace", gates: str, *, examples: bool) -> list[str]:
    from hornbook import resources
    from hornbook.settings.load import CONFIG, template

    made: list[str] = []
    work.places.prepare()
    sops = work.places.state / "sources" / "docs" / "sops"
    if not sops.is_dir():
        sops.mkdir(parents=True)
        made.append(f"{sops.relative_to(work.root).as_posix()}/")
    config = work.root / CONFIG
    if not config.exists():
        config.write_text(template(gates), encoding="utf-8")
        made.append(CONFIG.as_posix())
    if examples:
        for source in sorted((resources.folder("sources") / "examples").rglob("*.md")):
            made += _copy(source, sops / source.name, work.root)
    return made


def _copy(source: Path, target: Path, root: Path) -> list[str]:
    if target.exists():
        return []
    shutil.copyfile(source, target)
    return [target.relative_to(root).as_posix()]


COMMANDS = (init,)
