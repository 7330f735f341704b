"""The command that makes a repository a workspace: init."""

import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click

from hornbook.cli.commands.rules import print_problems, print_reserve, reserve_answer
from hornbook.cli.options import json_option, root_of
from hornbook.cli.output import counted, harmless, print_json, progress_bar, write
from hornbook.errors import UsageError

if TYPE_CHECKING:
    from hornbook.doctor.finding import Health
    from hornbook.graph.catalog_view import ReserveReport
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
    type=click.Choice(
        [
            *("auto", "go", "python", "typescript", "rust"),
            *("maven", "gradle", "php", "ruby", "cmake", "dotnet", "none"),
        ]
    ),
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

    Nothing that exists is overwritten; gates are added behind settings that state none.
    """
    from hornbook.workspace import Workspace

    with Workspace.open(root) as work:
        hooked = _hook_up(work) if hooks else None
        gates = _chosen_gates(work, stack)
        made = _make(work, examples=examples)
        with progress_bar() as progress:
            report = work.ingest(progress=progress)
        reserve = work.reserve_report()
        made += _configure(work, gates.block, reserve)
        if CONFIG_PATH in made:
            gates.written = bool(gates.block)
        elif gates.block:
            gates.add_to(work.root / CONFIG_PATH)
        formats = dict(Counter(entry.tool for entry in work.snapshot().catalog.entries))
        health = work.doctor()
    if as_json:
        answer = {"created": made, "formats": formats, "problems": report.problems}
        told = gates.answer() if stack != "none" else None
        more = {} if hooked is None else {"hooks": hooked}
        shown = {"doctor": {"grade": health.grade, "counts": health.counts}, **more}
        print_json({**answer, "reserve": reserve_answer(reserve), "gates": told, **shown})
        return
    _print_made(made, hooked)
    found = ", ".join(f"{count} {tool}" for tool, count in sorted(formats.items()))
    write(f"found {counted(report.documents, 'document')} ({found or 'no rule files yet'})\n")
    print_problems(report.problems)
    print_reserve(reserve)
    if stack != "none":
        _print_gates(stack, gates)
    _print_end(health)


def _print_end(health: "Health") -> None:
    """What to do next; the grade of the rules and the two findings that matter most."""
    from hornbook.doctor.text_report import headline, one_line, the_telling

    write("next: `hornbook why FILE` says which rules bind a file\n")
    write(f"`hornbook doctor`: {headline(health)}\n")
    for finding in the_telling(health, 2):
        write(f"{harmless(one_line(finding))}\n")


def _hook_up(work: "Workspace") -> "HooksAnswer":
    from hornbook.hooks.claude_settings import SETTINGS, install

    return {"path": SETTINGS.as_posix(), "added": install(work.root)}


@dataclass(slots=True)
class _Gates:
    """The block of gates that was asked for, and what became of it."""

    block: str = ""
    notes: tuple[str, ...] = ()
    written: bool = False
    line: int = 0

    def add_to(self, config: Path) -> None:
        """Add the block behind settings that state no gates."""
        from hornbook.disk import write_whole
        from hornbook.settings.load import with_gates

        before = config.read_bytes()
        after, self.line = with_gates(before, self.block)
        if after != before:
            write_whole(config, after)
            self.written = True

    def answer(self) -> dict[str, object]:
        """What `--json` tells of it."""
        return {"block": self.block, "written": self.written, "notes": list(self.notes)}


def _chosen_gates(work: "Workspace", stack: str) -> _Gates:
    if stack == "none":
        return _Gates()
    from hornbook.gates.detection.detect import chosen_gates

    return _Gates(*chosen_gates(work.root, stack))


def _print_gates(stack: str, gates: _Gates) -> None:
    for note in gates.notes:
        write(f"{note}\n")
    if not gates.block:
        looked = "no folder has the manifest of a language with tools that can say no"
        write(f"no gates configured: {looked}. Write your own into {CONFIG_PATH}:\n\n")
        write("gates:\n  additional:\n    - {name: test, command: make test}\n\n")
    elif gates.written:
        place = f", added in {CONFIG_PATH}, line {gates.line}" if gates.line else ""
        write(f"configured gates ({stack}){place}: `hornbook gates list` shows them\n")
    elif gates.line:
        write(f"{CONFIG_PATH}, line {gates.line}, has a `gates:` block, which stays as it is. ")
        write("To use these gates, replace it with:\n\n" + gates.block + "\n")
    else:
        write(f"{CONFIG_PATH} stays as it is: nothing can be added at its end. ")
        write("To use these gates, write into it:\n\n" + gates.block + "\n")


def _make(work: "Workspace", *, examples: bool) -> list[str]:
    from hornbook import resources

    made: list[str] = []
    work.places.prepare()
    sops = work.places.state / "sources" / "docs" / "sops"
    if not sops.is_dir():
        sops.mkdir(parents=True)
        made.append(f"{sops.relative_to(work.root).as_posix()}/")
    if examples:
        for source in sorted((resources.folder("sources") / "examples").rglob("*.md")):
            made += _copy(source, sops / source.name, work.root)
    return made


def _configure(work: "Workspace", gates: str, report: "ReserveReport") -> list[str]:
    """Write the settings, with how the rules sit with the reserve, unless there are some."""
    from hornbook.settings.load import CONFIG, template

    config = work.root / CONFIG
    if config.exists():
        return []
    measured, needed = _measured(work, report)
    text = template(gates, measured, needed, _name_of(work))
    config.write_text(text, encoding="utf-8")
    return [CONFIG.as_posix()]


def _name_of(work: "Workspace") -> str:
    """The repository's name, to be written down; empty where there is nothing to take it from."""
    from hornbook.commits.repository_name import repository_name

    try:
        return repository_name(work.root)
    except UsageError:
        return ""


def _measured(work: "Workspace", report: "ReserveReport") -> tuple[list[str], int | None]:
    """What was found of the rules' sizes, and the reserve that they need if `auto` is too small."""
    window = work.settings.window
    within = report.files - report.files_over
    rules = counted(report.rules, "rule")
    said = [
        f"Measured by init: {rules}; those of {within} of {report.files} files are",
        f"within `auto`, {report.reserve} tokens in a window of {window}.",
    ]
    if report.heaviest is not None:
        path, tokens = report.heaviest
        said.append(f"The most for one file: {tokens} tokens ({harmless(path)}).")
    if report.enough <= report.reserve:
        return said, None
    needed = -(-report.enough // 1000) * 1000
    if needed * 2 > window:
        said.append(f"All but 5 % would need {needed}, too much of the window: narrow the rules.")
        return said, None
    return said, needed


def _copy(source: Path, target: Path, root: Path) -> list[str]:
    if target.exists():
        return []
    shutil.copyfile(source, target)
    return [target.relative_to(root).as_posix()]


COMMANDS = (init,)
