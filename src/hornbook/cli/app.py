"""The commands of `hornbook` in one group, imported when they are asked for: start-up time."""

import io
import sys
from collections.abc import Iterator, MutableMapping
from importlib import import_module

import click

from hornbook.cli.options import FILE_NAME
from hornbook.cli.output import note
from hornbook.errors import ConfigError, HornbookError, UsageError
from hornbook.version import __version__

_MODULES = {
    "setup": ("init",),
    "rules": ("ingest", "match", "chunks", "tokens"),
    "why": ("why",),
    "doctor": ("doctor",),
    "replay": ("replay",),
    "context": ("size", "context"),
    "review_run": ("review",),
    "reviews": ("reviews", "conventions"),
    "gates": ("gates",),
    "plans": (
        *("explore", "plan", "promote", "plans", "decide", "risk", "tasks"),
        *("propose", "design", "spec"),
    ),
    "memory": ("checkpoint", "recover", "invariants"),
    "execute": ("execute", "resume", "auto", "fix", "worker", "fleet"),
    "runs": ("runs", "answer"),
    "agents": ("agents",),
    "definition_checks": ("template", "workflow"),
    "graph": ("show", "history", "query", "sparql", "export"),
    "serve": ("serve", "mcp", "login", "token", "audit"),
    "confine": ("confine",),
    "backup": ("verify", "backup", "restore"),
    "hook": ("hook",),
}
# Commands by what people want; `hornbook --help` and docs/index.md show them in this order.
GROUPS = {
    "Rules": ("init", "ingest", "why", "doctor", "match", "chunks", "tokens"),
    "Changes": ("context", "gates", "review", "reviews", "replay"),
    "Plans": (
        *("explore", "plan", "promote", "plans", "decide", "risk", "tasks", "size"),
        *("execute", "auto", "fix", "runs", "answer", "resume", "worker", "fleet", "agents"),
        *("template", "workflow"),
    ),
    "Memory": ("checkpoint", "recover", "verify", "backup", "restore", "invariants", "conventions"),
    "Graph": ("show", "history", "query", "sparql", "export"),
    "Service": ("serve", "login", "token", "audit", "mcp", "hook", "confine"),
    "Deprecated": ("propose", "design", "spec"),
}
COMPLETION = (
    "Completion in bash, for this shell or in ~/.bashrc (docs/commands.md has zsh and fish):"
    '\n\n\b\neval "$(_HORNBOOK_COMPLETE=bash_source hornbook)"'
)
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


class LazyCommands(MutableMapping[str, click.Command]):
    """The commands by name, each imported when it is looked up; all names are known before."""

    def __getitem__(self, name: str) -> click.Command:
        found = import_module(f"hornbook.cli.commands.{_MODULE_OF[name]}").COMMANDS
        commands: dict[str, click.Command] = {each.name: each for each in found}
        return commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULE_OF)

    def __len__(self) -> int:
        return len(_MODULE_OF)

    def __setitem__(self, name: str, command: click.Command) -> None:
        raise TypeError(f"{name}: commands are listed in hornbook.cli.app")

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"{name}: commands are listed in hornbook.cli.app")


class GroupedCommands(click.Group):
    """A group whose help lists its commands below the titles of `GROUPS`."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each title with its commands; a command without a title comes last."""
        titled = {name for names in GROUPS.values() for name in names}
        rest = {"Other": tuple(name for name in self.list_commands(ctx) if name not in titled)}
        longest = max(map(len, self.commands))
        for title, names in {**GROUPS, **rest}.items():
            rows = [
                (name.ljust(longest), self.commands[name].get_short_help_str(78 - 6 - longest))
                for name in names
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


@click.group(
    cls=GroupedCommands,
    commands=LazyCommands(),
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=COMPLETION,
)
@click.option(
    "--root",
    metavar="DIR",
    type=FILE_NAME,
    help="The repository; else HORNBOOK_ROOT, else the nearest parent with .hornbook or .git.",
)
@click.version_option(__version__, prog_name="hornbook", message="%(prog)s %(version)s")
@click.pass_context
def app(here: click.Context, root: str | None) -> None:
    """The referee for coding agents: which rules bind a change, whole, and why."""
    here.obj = root


def _write_utf8() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def run() -> None:
    """Run the command line; 0 done, 1 found something or refused, 2 usage or configuration."""
    _write_utf8()
    try:
        app(prog_name="hornbook")
    except ConfigError as error:
        for problem in error.problems:
            note(f"error: {problem}")
        sys.exit(2)
    except HornbookError as error:
        note(f"error: {error}")
        sys.exit(2 if isinstance(error, UsageError) else 1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        note(f"error: {where}{error.strerror or error}: check the path, its rights and the disk.")
        sys.exit(1)
