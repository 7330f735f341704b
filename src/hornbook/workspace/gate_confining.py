"""How the gates of a workspace are confined, and what a report says about it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from hornbook.gates.settings import Confine
from hornbook.model.gates import Gate, GateReport
from hornbook.process.confinement import Machine, Means, this_machine
from hornbook.process.gate_shell import GateShell, gate_shell
from hornbook.workspace.gating import GateList


@dataclass(frozen=True, slots=True)
class Bounds:
    """What confined gates may do beside writing their tree.

    `hidden` they cannot read; `writable` they may write.
    """

    machine: Machine
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()

    @contextmanager
    def shell(self, folder: Path, root: Path, *, ours: bool) -> Iterator[GateShell]:
        """The shell for gates in a folder; `ours` is a tree that nobody keeps.

        Of any other tree git's own files are not to be written.

        Raises:
            UsageError: The means of this machine do not work here.
        """
        tree, top = _tree(folder), _tree(root)
        with gate_shell(
            tree,
            self.machine,
            writable=self.writable,
            shown=() if top == tree else (top,),
            kept=() if ours else (tree / ".git",),
            hidden=self.hidden,
        ) as shell:
            yield shell


def bounds_in_run(listed: GateList, *, hidden: Sequence[Path] = ()) -> Bounds | None:
    """How the gates of a run are confined; None if the settings say that they are not."""
    return None if listed.confine is Confine.NEVER else bounds_of(listed, hidden=hidden)


def bounds_by_hand(listed: GateList, *, confined: bool | None) -> Bounds | None:
    """How gates that somebody runs are confined: as they say, else as the settings do."""
    wanted = listed.confine is Confine.ALWAYS if confined is None else confined
    return bounds_of(listed) if wanted else None


def bounds_of(listed: GateList, *, hidden: Sequence[Path] = ()) -> Bounds:
    """How gates are confined on this machine."""
    writable = tuple(Path(each).expanduser() for each in listed.writable)
    return Bounds(this_machine(), writable, tuple(hidden))


def told(report: GateReport, shell: GateShell, gates: Sequence[Gate]) -> GateReport:
    """The report with what confined its gates, and what did not."""
    notes = list(shell.warnings({}))
    free = [gate.name for gate in gates if gate.network]
    if free and shell.means is not Means.NOTHING:
        notes.append(f"with the network, as the settings say: {', '.join(free)}")
    return replace(report, notes=(*report.notes, *notes), confined_by=shell.means.value)


def _tree(folder: Path) -> Path:
    """The top of the files that a folder belongs to: where git's file or folder lies."""
    here = folder.resolve()
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), here)
