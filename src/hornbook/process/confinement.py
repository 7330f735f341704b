"""How a command is confined: by bubblewrap, else by Landlock, else not, which is said.

A confinement says what a command may do, not how it is held to that. bubblewrap gives it a file
system of its own: the machine's, read-only, with other mounts laid over what is writable, hidden or
kept, a home and a `/run` of its own, and namespaces for processes, users and network. Landlock lets
it see the same files and takes rights away; it cannot keep a file inside of a writable folder, nor
shut the sockets that lie in folders, and then it warns. Both leave it no capability, whoever it
runs as: root without one is an ordinary user that owns many files. Each means is tried for real
once, because a kernel that has it may still forbid it.

The network is the machine's, or one of its own with nothing but loopback. From there a `Route`
leads to listed hosts: a unix socket at which `egress` answers. A filter of system calls
(`call_filter`) takes away what no namespace and no right does.
"""

import json
import os
import shlex
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path

from hornbook.disk import temporary_folder
from hornbook.process.call_filter import call_filter
from hornbook.process.shell_command import UseLimits, run_command
from hornbook.settings.surroundings import LimitSettings

LANDLOCK = Path(__file__).with_name("landlock.py")
INNER_NETWORK = Path(__file__).with_name("inner_network.py")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
TMP = "/tmp"  # noqa: S108  # inside it is the command's own
RUN = "/run"
# What lies below /run and is no server: names of hosts, and where some systems keep programs.
_NEEDED_OF_RUN = ("/run/current-system", "/run/opengl-driver", "/run/wrappers")
# Settings of the kernel that the files' owner may write: root, whatever namespace it is in.
_KERNEL = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi")
CONFINED = "HORNBOOK_CONFINED"
"""Is set for every confined command, so that Hornbook inside of it knows that no person acts."""
_CUTTING_FROM, _TCP_FROM, _SIGNALS_FROM = 3, 4, 6
_PROBE_SECONDS = 120
_USERS = ("--unshare-user", "--disable-userns")
_NETWORK = "--unshare-net"
# What bubblewrap can do here is the first of these that works: older ones cannot forbid further
# user namespaces, some kernels allow none, some containers no network of one's own.
_LADDER = (
    (*_USERS, _NETWORK),
    (_USERS[0], _NETWORK),
    (_NETWORK,),
    _USERS,
    _USERS[:1],
    (),
)


@cache
def _filter_file(process: int) -> str:
    """The filter as a file that our children can open, in no folder; empty where there is none."""
    filtering = call_filter(os.uname().machine)
    if not filtering:
        return ""
    held = os.memfd_create("hornbook-filter")
    os.write(held, filtering)
    return f"/proc/{process}/fd/{held}"


def _filtered(wrapped: Sequence[str]) -> tuple[str, ...]:
    """The command of bubblewrap, with the filter in a file that is opened for it."""
    file = _filter_file(os.getpid())
    if not file:
        return tuple(wrapped)
    opened = f'exec "$0" --seccomp 9 "$@" 9<{file}'
    return ("/bin/sh", "-c", opened, *wrapped)


class Means(StrEnum):
    """What confines a command."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    NOTHING = "nothing"


class Reach(StrEnum):
    """Which network a command has."""

    NONE = "none"
    LISTED = "listed"
    OPEN = "open"
    HOST = "host"
    """The machine's, although it should have another: no namespace is possible here."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What this machine can do: `landlock` is its version, 0 for none.

    `apart` is whether a process can have a network of its own; `users` are bubblewrap's options
    for users of its own, as far as they work.
    """

    bubblewrap: str | None
    landlock: int
    apart: bool
    users: tuple[str, ...] = _USERS

    @property
    def means(self) -> Means:
        """The best of them."""
        if self.bubblewrap is not None:
            return Means.BUBBLEWRAP
        return Means.LANDLOCK if self.landlock else Means.NOTHING

    def reach(self, *, network: bool, routed: bool) -> Reach:
        """Which network a command gets here that may have one, or a route to listed hosts."""
        if network:
            return Reach.OPEN
        if self.means is Means.NOTHING or not self.apart:
            return Reach.HOST
        return Reach.LISTED if routed else Reach.NONE


@dataclass(frozen=True, slots=True)
class Route:
    """The way from a network of one's own to listed hosts.

    `socket` is where the proxy answers; `direct` are ports of the real loopback that are reached
    under their own numbers.
    """

    socket: Path
    direct: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class OwnHome:
    """A folder in the place of the user's home: of the real one `shown` alone can be read."""

    place: Path
    folder: Path
    shown: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a command may do: it reads everything but `hidden`, and writes `writable` alone.

    `kept` are paths that stay readable and must not be written, wherever they lie. `/tmp` is its
    own and empty, but for paths that are named here; `temporary` is a folder that takes its place.
    `seen` are paths that it would hide, and that may be gone by now. Without `network` it has
    loopback, and what a `route` leads to. Without a `home` it reads the user's. `variables` are
    set for it, whatever its environment says.
    """

    folder: Path
    writable: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    network: bool = True
    route: Route | None = None
    home: OwnHome | None = None
    temporary: Path | None = None
    seen: tuple[Path, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Confined:
    """A command with its confinement before it, and what the confinement cannot hold."""

    command: tuple[str, ...]
    means: Means
    reach: Reach
    warnings: tuple[str, ...] = ()


def use_limits(settings: LimitSettings, writable: Sequence[Path]) -> UseLimits:
    """What a command may use by the settings; `writable` is what it fills."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return UseLimits(
        memory=memory * settings.memory_percent // 100,
        processes=settings.processes,
        disk=settings.disk_megabytes * 1024 * 1024,
        cpu_seconds=settings.cpu_minutes * 60,
        folders=tuple(writable),
    )


@cache
def this_machine() -> Machine:
    """What can be used here, each tried once for real."""
    bubblewrap = shutil.which("bwrap")
    for options in _LADDER if bubblewrap is not None else ():
        users = tuple(each for each in options if each != _NETWORK)
        found = Machine(bubblewrap, 0, apart=_NETWORK in options, users=users)
        if _works(found):
            return replace(found, landlock=_landlock_here()[0])
    abi, apart = _landlock_here()
    return Machine(None, abi, apart=apart)


def _landlock_here() -> tuple[int, bool]:
    """The version of Landlock, and whether a process can have a network of its own."""
    if sys.platform != "linux":
        return 0, False
    told = _output_of([sys.executable, "-I", "-S", str(LANDLOCK), "--probe"])
    try:
        found = json.loads(told)
    except ValueError:
        return 0, False
    return int(found["abi"]), bool(found["network"])


def confine(
    command: Sequence[str], confinement: Confinement, *, scratch: Path, machine: Machine
) -> Confined:
    """The command that runs `command` confined, by the best means of the machine.

    `scratch` is an empty folder of its own, for where `/tmp` cannot be.
    """
    reach = machine.reach(network=confinement.network, routed=confinement.route is not None)
    if reach is not Reach.LISTED and confinement.route is not None:
        confinement = replace(confinement, route=None, network=True)
    inner = (*_through(confinement.route), *command)
    if machine.bubblewrap is not None:
        wrapped = _filtered((*bubblewrap(machine, confinement), *inner))
        return Confined(wrapped, Means.BUBBLEWRAP, reach, tuple(_host_warning(reach)))
    if machine.landlock:
        order = landlock(confinement, scratch, apart=machine.apart)
        order["filter"] = call_filter(os.uname().machine).hex()
        launcher = (sys.executable, "-I", "-S", str(LANDLOCK), json.dumps(order, sort_keys=True))
        own = (
            (CONFINED, "1"),
            ("TMPDIR", str(scratch)),
            *_home_variable(confinement),
            *confinement.variables,
        )
        tmp = ("env", *(f"{name}={value}" for name, value in own))
        warnings = tuple(_landlock_lacks(confinement, machine, reach))
        return Confined((*tmp, *launcher, *inner), Means.LANDLOCK, reach, warnings)
    warning = (
        "nothing confines commands on this machine: they can write anywhere and use the network; "
        "install bubblewrap, or use a Linux with Landlock (5.13 or newer)."
    )
    return Confined(tuple(command), Means.NOTHING, reach, (warning,))


def _through(route: Route | None) -> tuple[str, ...]:
    """What stands before a command that reaches listed hosts."""
    if route is None:
        return ()
    order = json.dumps({"socket": str(route.socket), "direct": list(route.direct)})
    return (sys.executable, "-I", "-S", str(INNER_NETWORK), order)


def _needs_of(route: Route | None) -> tuple[Path, ...]:
    """What must be readable for that: the socket, and the interpreter with our script."""
    if route is None:
        return ()
    places = {Path(each) for each in (sys.prefix, sys.base_prefix)}
    return (route.socket, INNER_NETWORK, Path(sys.executable).parent, *sorted(places))


def _home_variable(confinement: Confinement) -> tuple[tuple[str, str], ...]:
    """Where Landlock is the means, a home of its own lies elsewhere."""
    return () if confinement.home is None else (("HOME", str(confinement.home.folder)),)


def bubblewrap(machine: Machine, confinement: Confinement) -> list[str]:
    """The arguments of bubblewrap; deeper paths come later, so that they win."""
    found = [str(machine.bubblewrap), *machine.users, "--cap-drop", "ALL"]
    found += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent"]
    found += [] if confinement.network or not machine.apart else [_NETWORK]
    found += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for setting in _KERNEL:
        found += ["--ro-bind-try", setting, setting]
    found += ["--tmpfs", RUN] if Path(RUN).is_dir() else []
    for needed in (*_NEEDED_OF_RUN, *_resolver()):
        found += ["--ro-bind-try", needed, needed]
    own = confinement.temporary
    found += ["--tmpfs", TMP] if own is None else ["--bind", str(own.resolve()), TMP]
    for seen in confinement.seen:
        found += ["--ro-bind-try", str(seen), str(seen)]
    for path, (kind, source) in _mounts(confinement):
        found += _mount(path, kind, source)
    variables = (
        (CONFINED, "1"),
        ("TMPDIR", TMP),
        *_moved_home(confinement.home),
        *confinement.variables,
    )
    for name, value in variables:
        found += ["--setenv", name, value]
    return [*found, "--chdir", str(confinement.folder), "--"]


def _resolver() -> list[str]:
    """The file that names the name servers, where it lies below /run."""
    real = Path("/etc/resolv.conf").resolve()
    return [str(real)] if real.is_relative_to(RUN) else []


def _can_lie_over(home: OwnHome) -> bool:
    """Whether a home can be laid over the user's: it must be there, and be no root."""
    return home.place.is_dir() and home.place.resolve() != Path("/")


def _moved_home(home: OwnHome | None) -> tuple[tuple[str, str], ...]:
    if home is None or _can_lie_over(home):
        return ()
    return (("HOME", str(home.folder.resolve())),)


def _mount(path: str, kind: str, source: str) -> list[str]:
    if kind != "hidden":
        return ["--bind" if kind == "writable" else "--ro-bind", source, path]
    return ["--tmpfs", path] if Path(path).is_dir() else ["--ro-bind", "/dev/null", path]


def _mounts(confinement: Confinement) -> list[tuple[str, tuple[str, str]]]:
    """Every path that differs from a root that is read-only, parents first."""
    writable = {path.resolve() for path in confinement.writable}
    folder = confinement.folder.resolve()
    # The folder to work in may lie inside of what is writable, and then is as writable as that.
    shown = () if writable.intersection(folder.parents) else (folder,)
    home = confinement.home
    seen = (*confinement.kept, folder, *(home.shown if home else ()))
    kinds = (
        ("hidden", (*_temporary_elsewhere(), *_sockets(seen), *confinement.hidden)),
        ("kept", () if home is None else home.shown),
        ("kept", (*shown, *_needs_of(confinement.route), *confinement.kept)),
        ("writable", confinement.writable),
    )
    found: dict[str, tuple[str, str]] = {}
    if home is not None and _can_lie_over(home):
        found[str(home.place.resolve())] = ("writable", str(home.folder.resolve()))
    elif home is not None:
        found[str(home.folder.resolve())] = ("writable", str(home.folder.resolve()))
    for kind, paths in kinds:
        for path in paths:
            real = path.resolve()
            if real.exists():
                found[str(real)] = (kind, str(real))
    # A file that is kept inside of a writable folder is deeper than that folder.
    return sorted(found.items(), key=lambda each: (len(Path(each[0]).parts), each[0]))


def _temporary_elsewhere() -> Iterator[Path]:
    """Where temporary files lie if not in /tmp: other calls have their prompts and homes there."""
    from tempfile import gettempdir  # noqa: PLC0415  # start-up: most commands confine nothing

    place = Path(gettempdir()).resolve()
    if not place.is_relative_to(TMP) and place != Path("/"):
        yield place


def _sockets(seen: Sequence[Path]) -> Iterator[Path]:
    """Sockets that somebody listens at, which a read-only file system does not shut.

    Of those below /run and /tmp only what is `seen` inside needs it. One that its mode keeps from
    us could not be covered, and need not be: no capability is left to pass it by.
    """
    inside = [each.resolve() for each in seen if each.resolve() != Path("/")]
    for found in listening_sockets():
        own = str(found).startswith((f"{RUN}/", f"{TMP}/", "/var/run/"))
        needed = not own or any(found.is_relative_to(each) for each in inside)
        if needed and _is_socket(found) and _can_reach(found):
            yield found


def listening_sockets() -> list[Path]:
    """Every socket in a folder that a process of this machine has, as the kernel lists them."""
    try:
        lines = Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    named = {line.split(None, 7)[-1] for line in lines[1:] if " /" in line}
    return [Path(path) for path in sorted(named)]


def _can_reach(path: Path) -> bool:
    """Whether the folders above let us through by their modes alone, as for one without rights."""
    groups = {os.getgid(), *os.getgroups()}
    try:
        facts = [each.stat() for each in path.parents]
    except OSError:
        return False
    for each in facts:
        shift = 6 if each.st_uid == os.getuid() else 3 if each.st_gid in groups else 0
        if not each.st_mode >> shift & 1:
            return False
    return True


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.lstat().st_mode)
    except OSError:
        return False


def landlock(confinement: Confinement, scratch: Path, *, apart: bool) -> dict[str, object]:
    """The order for the launcher; what is hidden is left out of what may be read."""
    home = confinement.home
    # Under bubblewrap there are other ones in their place: terminals, memory and prompts of others.
    others = [Path("/dev"), Path(TMP), *_temporary_elsewhere()]
    hidden = [path.resolve() for path in (*confinement.hidden, *others) if path.exists()]
    writable = [path.resolve() for path in (*confinement.writable, scratch)]
    seen = [path for path in confinement.seen if path.exists()]
    kept = [confinement.folder, *_needs_of(confinement.route), *confinement.kept, *seen]
    if home is not None:
        writable.append(home.folder.resolve())
        hidden += [home.place.resolve()] if _can_lie_over(home) else []
        kept += home.shown
    order: dict[str, object] = {
        "write": [*map(str, writable), *_DEVICES],
        "network": confinement.network,
        "apart": apart,
    }
    if hidden:
        # What is kept inside of something hidden is read all the same, unless it is hidden itself.
        shown = {path.resolve() for path in kept} - set(hidden)
        inside = [path for path in shown if not set(hidden).isdisjoint(path.parents)]
        below = [each for path in inside for each in _around(path, hidden)]
        order["read"] = sorted(map(str, {*_without(hidden), *below}))
        order["list"] = ["/"]
    return order


def _around(path: Path, hidden: Sequence[Path]) -> Iterable[Path]:
    """A path, or the fewest below it that hold everything but what is hidden there."""
    inner = [each for each in hidden if path in each.parents]
    return [each for each in _without(inner) if path in each.parents] if inner else [path]


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


def _host_warning(reach: Reach) -> Iterator[str]:
    if reach is Reach.HOST:
        yield "network: host: no network of its own is possible here, so it has this machine's."


def _landlock_lacks(confinement: Confinement, machine: Machine, reach: Reach) -> Iterator[str]:
    writable = {path.resolve() for path in confinement.writable}
    inside = [
        path.name for path in confinement.kept if not writable.isdisjoint(path.resolve().parents)
    ]
    if inside:
        kept = ", ".join(inside)
        yield f"Landlock cannot keep {kept} from being written inside of a writable folder."
    yield "Landlock does not shut unix sockets that lie in folders: install bubblewrap."
    yield (
        "Landlock does not keep the modes, times and attributes of files that you own, nor the "
        "command lines and priorities of your processes: install bubblewrap."
    )
    if Path("/dev/pts") in confinement.writable:
        yield "Landlock does not keep your terminals and /dev/shm: install bubblewrap."
    if machine.landlock < _SIGNALS_FROM:
        yield "this kernel's Landlock does not keep your processes from being ended (Linux 6.12)."
    if machine.landlock < _CUTTING_FROM:
        yield "this kernel's Landlock does not keep files from being cut (Linux 6.2)."
    if confinement.network or machine.apart:
        yield from _host_warning(reach)
        return
    if machine.landlock >= _TCP_FROM:
        yield "Landlock takes TCP away, not UDP: install bubblewrap for no network at all."
    else:
        yield "this kernel's Landlock cannot take the network away: install bubblewrap."


def _works(machine: Machine) -> bool:
    tried = _filtered(bubblewrap(machine, Confinement(Path("/"), network=False)))
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
