"""What is known while a shell program is played through."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tree_sitter import Node

from hornbook.gates.shell_tree import NotShell
from hornbook.gates.shell_words import Kind

DEEPEST = 40
FIRST_JOB = 100_000


@dataclass(frozen=True, slots=True)
class Site:
    """A command in the text whose status decides something; `usual` is it when no plan says."""

    text: str
    place: int
    script: str
    words: tuple[str, ...] = field(compare=False)
    kind: Kind = field(compare=False)
    node: Node = field(compare=False, repr=False)
    variables: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    usual: int = field(default=0, compare=False)


class Ended(Exception):
    """The shell ended, with a status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Returned(Ended):
    """A function ended, with a status."""


class LeftLoop(Ended):
    """`break`."""


class NextRound(Ended):
    """`continue`."""


@dataclass(slots=True)
class Shell:
    """What one shell process knows."""

    errexit: bool = False
    pipefail: bool = False
    last: int = 0
    job: int = 0
    loops: int = 0
    calls: int = 0
    values: dict[str, str | None] = field(default_factory=dict)
    functions: dict[str, Node] = field(default_factory=dict)
    traps: dict[str, str] = field(default_factory=dict)
    jobs: dict[str, int] = field(default_factory=dict)

    def started(self, status: int) -> None:
        """A job in the background, with the status that it will end with."""
        self.job = status
        self.values["!"] = str(FIRST_JOB + len(self.jobs))
        self.jobs[str(FIRST_JOB + len(self.jobs))] = status

    def known(self) -> dict[str, str | None]:
        """Every variable, with the status of the last command as `?`."""
        self.values["?"] = str(self.last)
        return self.values

    def copy(self) -> Shell:
        """The state of a subshell, which has no traps of its own."""
        return replace(self, values=dict(self.values), functions=dict(self.functions), traps={})


@dataclass(frozen=True, slots=True)
class Where:
    """What stands around a command.

    `tested`: its status is looked at, so that `set -e` does not end the shell; `negated`: it stands
    after `!`; `quiet`: only a judge can say no here; `mild`: only a known checker is a judge here;
    `failed`: the commands whose failure led here, after `||`: only another try of them can say no.
    """

    tested: bool = False
    negated: bool = False
    quiet: bool = False
    mild: bool = False
    failed: tuple[tuple[str, ...], ...] = ()
    depth: int = 0

    def deeper(self) -> Where:
        """One level further in.

        Raises:
            NotShell: That is deeper than anybody can follow.
        """
        if self.depth > DEEPEST:
            raise NotShell("commands inside commands inside commands")
        return replace(self, depth=self.depth + 1)
