"""How a command is confined: by bubblewrap, else by Landlock, else not, which is said.

A confinement says what a command may do, not how it is held to that. bubblewrap gives it a file
system of its own: the machine's, read-only, with other mounts laid over what is writable, hidden or
kept, and namespaces for processes and network. Landlock lets it see the same files and takes rights
away; it cannot keep a file inside of a writable folder, nor take every network away, and then it
warns. Each means is tried for real once, because a kernel that has it may
still forbid it.
"""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from hornbook.disk import temporary_folder
from hornbook.process.shell_command import run_command

LANDLOCK = Path(__file__).with_name("landlock.py")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
TMP = "/tmp"  # noqa: S108  # inside it is the command's own
_TCP_FROM = 4
_PROBE_SECONDS = 120


class Means(StrEnum):
    """What confines a command."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Machine:
    """What this machine can do: `landlock` is its version, 0 for none.

    `apart` is whether a process can have a network of its own.
    """

    bubblewrap: str | None
    landlock: int
    apart: bool

    @property
    def means(self) -> Means:
        """The best of them."""
        if self.bubblewrap is not None:
            return Means.BUBBLEWRAP
        return Means.LANDLOCK if self.landlock else Means.NOTHING


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a command may do: it reads everything but `hidden`, and writes `writable` alone.

    `kept` are paths that stay readable and must not be written, wherever they lie. `/tmp` is its
    own and empty, but for paths that are named here; `temporary` is a folder that takes its place.
    `seen` are paths that it would hide, and that may be gone by now. Without `network` it has
    loopback at most. `variables` are set for it, whatever its environment says.
    """

    folder: Path
    writable: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    network: bool = True
    temporary: Path | None = None
    seen: tuple[Path, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Confined:
    """A command with its confinement before it, and what the confinement cannot hold."""

    command: tuple[str, ...]
    means: Means
    warnings: tuple[str, ...] = ()


@cache
def this_machine() -> Machine:
    """What can be used here, each tried once for real."""
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is not None and not _works(bubblewrap):
        bubblewrap = None
    if sys.platform != "linux":
        return Machine(bubblewrap, 0, apart=False)
    told = _output_of([sys.executable, "-I", "-S", str(LANDLOCK), "--probe"])
    try:
        found = json.loads(told)
    except ValueError:
        return Machine(bubblewrap, 0, apart=False)
    return Machine(bubblewrap, int(found["abi"]), apart=bool(found["network"]))


def confine(
    command: Sequence[str], confinement: Confinement, *, scratch: Path, machine: Machine
) -> Confined:
    """The command that runs `command` confined, by the best means of the machine.

    `scratch` is an empty folder of its own, for where `/tmp` cannot be.
    """
    if machine.bubblewrap is not None:
        wrapped = (*bubblewrap(machine.bubblewrap, confinement), *command)
        return Confined(wrapped, Means.BUBBLEWRAP)
    if machine.landlock:
        order = landlock(confinement, scratch, apart=machine.apart)
        launcher = (sys.executable, "-I", "-S", str(LANDLOCK), json.dumps(order, sort_keys=True))
        own = (("TMPDIR", str(scratch)), *confinement.variables)
        tmp = ("env", *(f"{name}={value}" for name, value in own))
        warnings = tuple(_landlock_lacks(confinement, machine))
        return Confined((*tmp, *launcher, *command), Means.LANDLOCK, warnings)
    warning = (
        "nothing confines commands on this machine: they can write anywhere and use the network; "
        "install bubblewrap, or use a Linux with Landlock (5.13 or newer)."
    )
    return Confined(tuple(command), Means.NOTHING, (warning,))


def bubblewrap(program: str, confinement: Confinement) -> list[str]:
    """The arguments of bubblewrap; deeper paths come later, so that they win."""
    found = [program, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    own = confinement.temporary
    found += ["--tmpfs", TMP] if own is None else ["--bind", str(own.resolve()), TMP]
    for seen in confinement.seen:
        found += ["--ro-bind-try", str(seen), str(seen)]
    for path, kind in _mounts(confinement):
        found += _mount(path, kind)
    found += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent"]
    found += [] if confinement.network else ["--unshare-net"]
    for name, value in (("TMPDIR", TMP), *confinement.variables):
        found += ["--setenv", name, value]
    return [*found, "--chdir", str(confinement.folder), "--"]


def _mount(path: str, kind: str) -> list[str]:
    if kind != "hidden":
        return ["--bind" if kind == "writable" else "--ro-bind", path, path]
    return ["--tmpfs", path] if Path(path).is_dir() else ["--ro-bind", "/dev/null", path]


def _mounts(confinement: Confinement) -> list[tuple[str, str]]:
    """Every path that differs from a root that is read-only, parents first."""
    writable = {path.resolve() for path in confinement.writable}
    folder = confinement.folder.resolve()
    # The folder to work in may lie inside of what is writable, and then is as writable as that.
    shown = () if writable.intersection(folder.parents) else (folder,)
    kinds = (
        ("hidden", confinement.hidden),
        ("kept", (*shown, *confinement.kept)),
        ("writable", confinement.writable),
    )
    found: dict[str, str] = {}
    for kind, paths in kinds:
        for path in paths:
            real = path.resolve()
            if real.exists():
                found[str(real)] = kind
    # A file that is kept inside of a writable folder is deeper than that folder.
    return sorted(found.items(), key=lambda each: (len(Path(each[0]).parts), each[0]))


def landlock(confinement: Confinement, scratch: Path, *, apart: bool) -> dict[str, object]:
    """The order for the launcher; what is hidden is left out of what may be read."""
    hidden = [path.resolve() for path in confinement.hidden if path.exists()]
    writable = [str(path.resolve()) for path in (*confinement.writable, scratch)]
    order: dict[str, object] = {
        "write": [*writable, *_DEVICES],
        "network": confinement.network,
        "apart": apart,
    }
    if hidden:
        shown = (path.resolve() for path in (confinement.folder, *confinement.kept))
        inside = (path for path in shown if not set(hidden).isdisjoint(path.parents))
        order["read"] = sorted(map(str, {*_without(hidden), *inside}))
        order["list"] = ["/"]
    return order


def _without(hidden: Iterable[Path]) -> Iterator[Path]:
    """The fewest paths that hold everything but these: Landlock can allow, never except."""
    shut = set(hidden)
    above = {parent for path in shut for parent in path.parents}
    for folder in sorted(above - shut):
        if shut.isdisjoint(folder.parents):
            for entry in os.scandir(folder):
                # A link has no right of its own; what it leads to is allowed where that lies.
                if not entry.is_symlink() and Path(entry.path) not in shut | above:
                    yield Path(entry.path)


def _landlock_lacks(confinement: Confinement, machine: Machine) -> Iterator[str]:
    writable = {path.resolve() for path in confinement.writable}
    inside = [
        path.name for path in confinement.kept if not writable.isdisjoint(path.resolve().parents)
    ]
    if inside:
        kept = ", ".join(inside)
        yield f"Landlock cannot keep {kept} from being written inside of a writable folder."
    if confinement.network or machine.apart:
        return
    if machine.landlock >= _TCP_FROM:
        yield "Landlock takes TCP away, not UDP: install bubblewrap for no network at all."
    else:
        yield "this kernel's Landlock cannot take the network away: install bubblewrap."


def _works(bubblewrap_program: str) -> bool:
    tried = bubblewrap(bubblewrap_program, Confinement(Path("/"), network=False))
    return _output_of([*tried, "echo", "confined"]).strip() == "confined"


def _output_of(command: Sequence[str]) -> str:
    """What a short command printed; nothing if it failed."""
    with temporary_folder("probe") as folder:
        log = folder / "log"
        ended = run_command(
            f"{shlex.join(command)} 2>/dev/null",
            folder=folder,
            environment={"PATH": os.environ.get("PATH", os.defpath)},
            timeout=_PROBE_SECONDS,
            log=log,
        )
        return log.read_text(encoding="utf-8", errors="replace") if ended.code == 0 else ""
