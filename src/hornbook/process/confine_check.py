"""What holds agents on this machine, tried: one cell for each way out and each means."""

import ctypes
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from hornbook.disk import temporary_folder
from hornbook.process.confinement import (
    Confinement,
    Machine,
    Means,
    OwnHome,
    Reach,
    confine,
    this_machine,
)
from hornbook.process.keeper import ControlGroup, Limits
from hornbook.process.shell_command import run_command

BREAK_OUT = Path(__file__).with_name("break_out.py")
_SECONDS = 300
_MAKE, _REMOVE = 0o1000, 0
_ADD_KEY = {"x86_64": 248, "aarch64": 217}
_KEYCTL = {"x86_64": 250, "aarch64": 219}
_USER, _REVOKE, _SET_RIGHTS, _FOR_THE_USER = -4, 3, 5, 0x3F3F0000
PROBES = {
    "remount": "make the file system writable",
    "write_etc": "write in /etc",
    "kernel_settings": "change a setting of the kernel",
    "read_home": "read your home",
    "host_loopback": "reach a server on loopback",
    "unix_socket": "reach a socket in a folder",
    "abstract_socket": "reach an abstract socket",
    "ptrace": "look into another process",
    "kill_outside": "end another process",
    "change_limits": "change the limits of another process",
    "user_program": "make a program that runs as you, whoever starts it",
    "shared_memory": "reach memory that others share",
    "read_key": "read a key that the kernel keeps for you",
    "vm_socket": "make a socket to the host of a virtual machine",
    "terminal": "read your terminals",
    "other_calls": "read the prompts and log-ins of other agents",
    "change_mode": "change the mode of a file that it only reads",
    "git_write": "write the worktree's .git",
}


class Cell(StrEnum):
    """What became of an attempt."""

    HELD = "held"
    OPEN = "open"
    NOT_TRIED = "not_tried"


@dataclass(frozen=True, slots=True)
class ProbeRow:
    """One way out, and whether each means holds it."""

    probe: str
    bubblewrap: Cell
    landlock: Cell
    nothing: Cell


@dataclass(frozen=True, slots=True)
class ConfineCheck:
    """What was found: `means` is the best that this machine has, `network` what it can hold.

    `limits` says who holds those of memory and processes: the kernel, or our own measure.
    """

    user: str
    rows: tuple[ProbeRow, ...]
    means: Means
    network: Reach
    limits: str

    @property
    def holds(self) -> bool:
        """Whether the best means held everything."""
        return all(getattr(row, self.means) is Cell.HELD for row in self.rows)


Alter = Callable[[Sequence[str]], Sequence[str]]
"""Changes the command line of a confinement, to see what a part of it is good for."""


def confine_check(machine: Machine | None = None) -> ConfineCheck:
    """Try to break out by every means that the machine has."""
    here = machine or this_machine()
    machines = {
        Means.BUBBLEWRAP: here if here.bubblewrap is not None else None,
        Means.LANDLOCK: replace(here, bubblewrap=None) if here.landlock else None,
        Means.NOTHING: Machine(None, 0, apart=False),
    }
    found = {means: {} if each is None else tried(each) for means, each in machines.items()}
    rows = tuple(
        ProbeRow(probe, *(found[means].get(probe, Cell.NOT_TRIED) for means in machines))
        for probe in PROBES
    )
    reach = Reach.NONE if here.apart and here.means is not Means.NOTHING else Reach.HOST
    return ConfineCheck(_user(), rows, here.means, reach, _limits())


def tried(machine: Machine, alter: Alter = tuple) -> dict[str, Cell]:
    """What became of each attempt under one machine's best means."""
    with temporary_folder("confine") as place, _targets(place) as targets:
        folder = place / "work"
        home = OwnHome(place / "home", place / "own")
        scratch = place / "scratch"
        for each in (folder, home.folder, scratch):
            each.mkdir()
        git = folder / ".git"
        git.write_text("gitdir: elsewhere\n", encoding="utf-8")
        confinement = Confinement(
            folder,
            writable=(folder,),
            kept=(place, git, BREAK_OUT, Path(sys.base_prefix), Path(sys.prefix)),
            network=False,
            home=home,
        )
        python = str(Path(sys.executable).resolve())
        order = json.dumps({**targets, "git": str(git), "program": str(folder / "program")})
        attempt = (python, "-I", "-S", str(BREAK_OUT), order)
        confined = confine(attempt, confinement, scratch=scratch, machine=machine)
        ended = run_command(
            shlex.join(alter(confined.command)),
            folder=folder,
            environment={"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home.place)},
            timeout=_SECONDS,
            log=place / "log",
        )
    try:
        found = json.loads(ended.output.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return {}
    return {probe: Cell.OPEN if found[probe] else Cell.HELD for probe in PROBES}


@contextmanager
def _targets(place: Path) -> Iterator[dict[str, object]]:
    """What can be attacked without harm, there as long as the block."""
    secret = place / "home" / "secret"
    secret.parent.mkdir()
    secret.write_text("a rule\n", encoding="utf-8")
    abstract = f"hornbook-probe-{os.getpid()}-{place.name}"
    mode = place / "mode"
    mode.write_text("read me\n", encoding="utf-8")
    sleeper = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"])
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as in_folder,
        socket.socket(socket.AF_UNIX) as nameless,
        _shared_memory() as memory,
        _key() as key,
        _terminal() as terminal,
        temporary_folder("other") as elsewhere,
    ):
        (elsewhere / "prompt").write_text("a rule\n", encoding="utf-8")
        for listener, name in ((in_folder, str(place / "s")), (nameless, f"\0{abstract}")):
            listener.bind(name)
            listener.listen()
        try:
            yield {
                "etc": f"/etc/.{abstract}",
                "home": str(secret),
                "port": server.getsockname()[1],
                "socket": str(place / "s"),
                "abstract": abstract,
                "process": sleeper.pid,
                "mode": str(mode),
                "memory": memory,
                "key": key,
                "terminal": terminal,
                "other": str(elsewhere / "prompt"),
            }
        finally:
            sleeper.send_signal(signal.SIGKILL)
            sleeper.wait()


@contextmanager
def _shared_memory() -> Iterator[int]:
    """The number of a piece of memory that everybody may read."""
    library = ctypes.CDLL(None)
    number = os.getpid()
    piece = library.shmget(number, 4096, _MAKE | 0o666)
    try:
        yield number
    finally:
        library.shmctl(piece, _REMOVE, None)


@contextmanager
def _key() -> Iterator[int]:
    """The number of a key that all processes of this user may read; negative if there are none."""
    library, machine = ctypes.CDLL(None), os.uname().machine
    if machine not in _KEYCTL:
        yield -1
        return
    name = f"hornbook-probe-{os.getpid()}".encode()
    ring = ctypes.c_long(_USER)
    found = int(library.syscall(_ADD_KEY[machine], b"user", name, b"a rule", 6, ring))
    library.syscall(_KEYCTL[machine], _SET_RIGHTS, found, _FOR_THE_USER)
    try:
        yield found
    finally:
        library.syscall(_KEYCTL[machine], _REVOKE, found)


@contextmanager
def _terminal() -> Iterator[str]:
    """The name of a terminal of ours."""
    here, there = os.openpty()
    try:
        yield os.ttyname(there)
    finally:
        os.close(here)
        os.close(there)


def _user() -> str:
    return "root" if os.getuid() == 0 else f"uid {os.getuid()}"


def _limits() -> str:
    """Whether a control group can be made here."""
    group = ControlGroup(Limits(["1000000000", "1000", "0", "0"]))
    made = bool(group.folders)
    group.close()
    return "kernel" if made else "measured"
