"""Confines the commands of gates: they write the tree that they judge, and a scratch folder.

`GateBounds` says what the gates of a workspace may do on this machine, `GateShell` makes confined
commands of them for one tree. What a tool must write elsewhere, a cache above all, is led into the
scratch folder by the variable that the tool asks; what it only reads stays where it is.
"""

import itertools
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from hornbook.disk import is_temporary, temporary_folder
from hornbook.errors import UsageError
from hornbook.gates.gate import Gate, GateReport, GateStatus
from hornbook.gates.gate_list import GateList
from hornbook.process.confinement import (
    TMP,
    Confined,
    Confinement,
    Machine,
    Means,
    OwnHome,
    confine,
    listening_sockets,
    this_machine,
    use_limits,
)
from hornbook.process.own_home import own_home, tools_below
from hornbook.process.shell_command import UseLimits, run_command, shell_of
from hornbook.settings.places import Places
from hornbook.settings.settings import Confine
from hornbook.settings.surroundings import HomeSettings, LimitSettings

# Where tools keep what they must be able to write, by the variable that says so. What they only
# read, such as fetched modules and crates, stays where it is.
_WRITTEN = {
    "GOCACHE": ".cache/go-build",
    "GOLANGCI_LINT_CACHE": ".cache/golangci-lint",
    "UV_CACHE_DIR": ".cache/uv",
    "npm_config_cache": ".npm",
}
# The same where the user says so, and nowhere else by default.
_WHERE_SAID = ("CARGO_TARGET_DIR",)
# Said to tools without a network, they do not wait for one and name what they lack.
_OFFLINE = {
    "CARGO_NET_OFFLINE": "true",
    "GOPROXY": "off",
    "UV_OFFLINE": "1",
    "npm_config_offline": "true",
}
_TEMPORARY = ("TMPDIR", "TEMP", "TMP")
# What a process needs for shared memory and terminals, and has of its own under bubblewrap.
_SHARED = ("/dev/shm", "/dev/pts", "/dev/ptmx")  # noqa: S108  # no file of ours
_MOST_SEEN = 64
_MOST_NAMED = 5
_TRIAL_SECONDS = 120


@dataclass(frozen=True, slots=True)
class GateShell:
    """Makes confined shell commands for the gates of a tree: `scratch` is theirs alone.

    They also write `writable`, never `kept`, and cannot read `hidden`. `shown` must be readable
    wherever it lies; of the user's home they read what `home` shows. With `network` every gate has
    it, else those alone that say so.
    """

    tree: Path
    scratch: Path
    machine: Machine
    network: bool = False
    shown: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    home: OwnHome | None = None
    used: LimitSettings = field(default_factory=LimitSettings)

    @property
    def limits(self) -> UseLimits:
        """What a gate may use."""
        return use_limits(self.used, (self.tree, self.scratch, *self.writable))

    @property
    def means(self) -> Means:
        """What confines the gates."""
        return self.machine.means

    def __call__(self, gate: Gate, folder: Path, environment: Mapping[str, str]) -> str:
        """The command of a gate as one that `run_command` runs confined."""
        return shlex.join(self._confined(gate, folder, environment).command)

    def has_network(self, gate: Gate) -> bool:
        """Whether a gate has the network of this machine."""
        return self.network or gate.network or self.means is Means.NOTHING

    def unseen(self, output: str) -> list[str]:
        """What of the user's home an output names that is there, and not for a gate."""
        if self.home is None or self.means is Means.NOTHING:
            return []
        home, reach = self.home.place, (self.tree, *self.home.shown, *self.shown)
        homes = "|".join(re.escape(str(each)) for each in (home, self.home.folder))
        named = dict.fromkeys(re.findall(rf"(?:{homes})/([^\s\0'\"`:;,]+)", output))
        found = (
            f"~/{name}"
            for name in named
            if not any((home / name).is_relative_to(each) for each in reach)
            and os.access(home / name, os.F_OK)
        )
        return list(itertools.islice(found, _MOST_NAMED))

    def warnings(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """What this machine cannot hold gates to."""
        return self._confined(Gate("any", "true"), self.tree, environment).warnings

    def trial(self, environment: Mapping[str, str]) -> None:
        """Run nothing, confined as the gates are.

        Raises:
            UsageError: That does not work here, and no gate said anything of the tree.
        """
        ended = run_command(
            self(Gate("any", "true"), self.tree, environment),
            folder=self.tree,
            environment=environment,
            timeout=_TRIAL_SECONDS,
            log=self.scratch / "trial.log",
        )
        if ended.code != 0:
            told = " ".join(ended.output.split()) or "it printed nothing"
            raise UsageError(
                f"{self.means} does not confine gates here: {told}. Mend that, or run gates "
                "without it (`confine: never` under `gates`)."
            )

    def _confined(self, gate: Gate, folder: Path, environment: Mapping[str, str]) -> Confined:
        argv = (*shell_of(environment), gate.command)
        if self.means is Means.NOTHING:
            return confine(argv, Confinement(folder), scratch=self.scratch, machine=self.machine)
        temporary = self.scratch / "tmp"
        temporary.mkdir(exist_ok=True)
        wrapped = self.means is Means.BUBBLEWRAP
        network = self.has_network(gate)
        more = () if wrapped else tuple(Path(each) for each in _SHARED)
        confinement = Confinement(
            folder,
            writable=(self.tree, self.scratch, *self.writable, *more),
            kept=(*self.shown, *self.kept),
            hidden=self.hidden,
            network=network,
            home=self.home,
            temporary=temporary,
            seen=self._seen(environment),
            variables=self._variables(gate, environment, TMP if wrapped else str(temporary)),
        )
        return confine(argv, confinement, scratch=temporary, machine=self.machine)

    def _variables(
        self, gate: Gate, environment: Mapping[str, str], temporary: str
    ) -> tuple[tuple[str, str], ...]:
        """Where the tools of a gate write what they wrote to the user's folders before."""
        own = dict(gate.environment)
        found = dict.fromkeys(_TEMPORARY, temporary)
        for name, place in _tool_folders(environment).items():
            if name not in own and not self._is_open(Path(place).resolve()):
                found[name] = str(self.scratch / name.lower())
        if not self.has_network(gate):
            found |= {name: _OFFLINE[name] for name in _OFFLINE if name not in environment}
        return tuple(sorted(found.items()))

    def _is_open(self, path: Path) -> bool:
        """Whether gates may write there anyway."""
        return any(path.is_relative_to(each.resolve()) for each in (self.tree, *self.writable))

    def _seen(self, environment: Mapping[str, str]) -> tuple[Path, ...]:
        """What lies in the real /tmp: tools, repositories and virtualenvs may be among it.

        Where there is very much, those alone that the environment or we name. A folder in which a
        server listens is no tool, nor is one of ours: prompts and log-ins of agents lie there.
        """
        serving = {str(parent) for each in listening_sockets() for parent in each.parents}
        with os.scandir(TMP) as entries:  # as text: there may be thousands
            found = sorted(each.path for each in filter(_is_plain, entries))
        found = [each for each in found if each not in serving and not is_temporary(Path(each))]
        if len(found) > _MOST_SEEN:
            needed = _named_paths(environment)
            needed += [each.resolve() for each in (self.tree, *self.shown, *needed)]
            above = {str(parent) for path in needed for parent in (path, *path.parents)}
            found = [each for each in found if each in above]
        return tuple(map(Path, found))


@contextmanager
def gate_shell(
    tree: Path,
    machine: Machine,
    *,
    writable: Sequence[Path] = (),
    shown: Sequence[Path] = (),
    kept: Sequence[Path] = (),
    hidden: Sequence[Path] = (),
    readable: Sequence[Path] = (),
    used: LimitSettings | None = None,
) -> Iterator[GateShell]:
    """The shell for the gates of a tree; its scratch folder is gone when the block is left."""
    user = Path(os.environ.get("HOME") or Path.home())
    ours = (each for each in writable if each.is_relative_to(user))
    named = (each for each in (*readable, *ours) if each.exists())
    seen = (*tools_below(user, os.environ), *named)
    with (
        temporary_folder("gates") as place,
        own_home(user, place / "home", HomeSettings(), shown=seen, means=machine.means) as home,
    ):
        shell = GateShell(
            tree.resolve(),
            place,
            machine,
            shown=tuple(shown),
            writable=tuple(writable),
            kept=tuple(kept),
            hidden=tuple(hidden),
            home=home,
            used=used or LimitSettings(),
        )
        yield shell


def _tool_folders(environment: Mapping[str, str]) -> dict[str, str]:
    """Where tools write outside of the tree: as the environment says, or in the home folder."""
    home = Path(environment.get("HOME") or Path.home())
    said = {name: environment.get(name) for name in (*_WRITTEN, *_WHERE_SAID)}
    usual = {name: str(home / place) for name, place in _WRITTEN.items()}
    return usual | {name: place for name, place in said.items() if place}


def _named_paths(environment: Mapping[str, str]) -> list[Path]:
    named = {part for value in environment.values() for part in value.split(os.pathsep)}
    return [Path(each) for each in named if each.startswith("/")]


def _is_plain(entry: "os.DirEntry[str]") -> bool:
    """Whether an entry can be shown: a folder or a file that we may read, no socket or pipe."""
    try:
        return (entry.is_dir() or entry.is_file()) and os.access(entry.path, os.R_OK)
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class GateBounds:
    """What confined gates may do beside writing their tree.

    `hidden` they cannot read; `writable` they may write, and `readable` read, wherever it lies.
    """

    machine: Machine
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    used: LimitSettings = field(default_factory=LimitSettings)

    @contextmanager
    def shell(self, folder: Path, root: Path, *, ours: bool) -> Iterator[GateShell]:
        """The shell for gates in a folder; `ours` is a tree that nobody keeps.

        Of any other tree git's own files are not to be written.
        """
        tree, top = _tree(folder), _tree(root)
        with gate_shell(
            tree,
            self.machine,
            writable=self.writable,
            shown=() if top == tree else (top,),
            kept=() if ours else (tree / ".git",),
            hidden=(*self.hidden, *Places(root).secrets),
            readable=self.readable,
            used=self.used,
        ) as shell:
            yield shell


def bounds_in_run(listed: GateList, *, hidden: Sequence[Path] = ()) -> GateBounds | None:
    """How the gates of a run are confined; None if the settings say that they are not."""
    return None if listed.confine is Confine.NEVER else bounds_of(listed, hidden=hidden)


def bounds_by_hand(listed: GateList, *, confined: bool | None) -> GateBounds | None:
    """How gates that somebody runs are confined: as they say, else as the settings do."""
    wanted = listed.confine is Confine.ALWAYS if confined is None else confined
    return bounds_of(listed) if wanted else None


def bounds_of(listed: GateList, *, hidden: Sequence[Path] = ()) -> GateBounds:
    """How gates are confined on this machine."""
    writable = tuple(Path(each).expanduser() for each in listed.writable)
    readable = tuple(Path(each).expanduser() for each in listed.readable)
    return GateBounds(this_machine(), writable, tuple(hidden), readable, listed.limits)


def with_confinement(report: GateReport, shell: GateShell, gates: Sequence[Gate]) -> GateReport:
    """The report with what confined its gates, and what did not.

    A gate that passed was run. One that did not may have been stopped by its confinement, which is
    no word on the tree: only then is it worth a process to find out.

    Raises:
        UsageError: The means of this machine do not work with these folders.
    """
    silent = any(each.status is not GateStatus.PASSED for each in report.gates)
    if silent and shell.means is not Means.NOTHING:
        shell.trial({"PATH": os.environ.get("PATH", os.defpath)})
    notes = list(shell.warnings({}))
    free = [gate.name for gate in gates if gate.network]
    if free and shell.means is not Means.NOTHING:
        notes.append(f"with the network, as the settings say: {', '.join(free)}")
    return replace(report, notes=(*report.notes, *notes), confined_by=shell.means.value)


def _tree(folder: Path) -> Path:
    """The top of the files that a folder belongs to: where git's file or folder lies."""
    here = folder.resolve()
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), here)
