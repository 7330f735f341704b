"""The gates of a workspace: as it stands, or as they stood at the base of a change."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path, PurePosixPath

from hornbook.commits.change import Change, change
from hornbook.commits.commit import Commit, commit_at
from hornbook.errors import ConfigError
from hornbook.gates.cannot_fail import refusals
from hornbook.gates.definitions import Definitions, check_gates, define
from hornbook.gates.floors import Strictness
from hornbook.gates.gate import OWN_GATES, Gate
from hornbook.gates.test_output import tools_run
from hornbook.plans.files import PLAN_FILE
from hornbook.plans.plan import Constraints
from hornbook.plans.text import parse
from hornbook.settings.load import CONFIG, FOREIGN_CONFIG, parse_foreign_gates, parse_settings
from hornbook.settings.settings import Confine, GateSettings
from hornbook.settings.surroundings import LimitSettings
from hornbook.vocabulary.terms import Level

Read = Callable[[str], bytes | None]
"""The bytes of a file by its path from the root; none if there is none."""


class GateState(StrEnum):
    """Whether a gate would be run."""

    READY = "ready"
    REFUSED = "refused"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class ListedGate:
    """A gate, whether it would be run, and why not."""

    gate: Gate
    state: GateState = GateState.READY
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GateList:
    """The gates of a workspace, the file that defines them, and the change that they judge.

    With a change, the definitions are those of the commit `base`. `writable` are folders that the
    gates may write to where they are confined.
    """

    gates: tuple[ListedGate, ...] = ()
    file: str | None = None
    base: str | None = None
    head: str | None = None
    message: str = ""
    tests: Strictness = Strictness.WARN
    confine: Confine = Confine.RUNS
    writable: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    limits: LimitSettings = field(default_factory=LimitSettings)
    base_tests: bool = True
    mutate: bool = False
    mutate_seconds: int = 300

    @property
    def sound(self) -> bool:
        """Whether there is a gate, and none is refused."""
        return bool(self.ready) and all(each.state is not GateState.REFUSED for each in self.gates)

    @property
    def ready(self) -> tuple[Gate, ...]:
        """The gates that can be run."""
        return tuple(each.gate for each in self.gates if each.state is GateState.READY)


def gates_now(root: Path) -> GateList:
    """The gates that the files in the work tree define.

    Raises:
        ConfigError: With everything that is wrong in their definition.
    """
    read = read_below(root)
    settings, file = gate_settings(read)
    return _bound(_listed(define(settings), read, file), settings)


def gates_for(root: Path, span: str) -> GateList:
    """The gates that judge a change: as its base defines them, over the scripts of its head.

    Raises:
        UsageError: The span names no change.
        ConfigError: With everything that is wrong in their definition.
    """
    return gates_for_change(root, change(root, span))


def gates_for_change(root: Path, found: Change) -> GateList:
    """The same for a change that is known already."""
    return gates_between(commit_at(root, found.base), commit_at(root, found.head))


def gates_between(base: Commit, head: Commit) -> GateList:
    """The gates as one commit defines them, over the scripts of another."""
    return base.memo(("gates", head.sha), lambda: _gates_between(base, head))


def _gates_between(base: Commit, head: Commit) -> GateList:
    settings, file = gate_settings(base.text)
    listed = _listed(define(settings), head.text, file, base=base.sha, head=head.sha)
    if not listed.gates and head.text(CONFIG.as_posix()) is not None:
        listed = replace(listed, message=_first_gates(base, listed.message))
    added = head.modes.keys() - base.modes.keys()
    listed = replace(listed, gates=tuple(_unless_shadowed(e, added, head) for e in listed.gates))
    return _bound(listed, settings)


def listed_gate(gate: Gate, base: Commit, head: Commit) -> ListedGate:
    """A gate as it would judge a change, refused if it cannot fail there."""
    added = head.modes.keys() - base.modes.keys()
    return _unless_shadowed(_judged(gate, head.text), added, head)


def _first_gates(base: Commit, message: str) -> str:
    """What to do in a change that brings the gates: its base has none that could judge it."""
    return (
        f"{message} A change is judged by the gates of its base, {base.sha[:12]}: those that it "
        "brings count from the next one on. `hornbook gates run` without `--diff` tries them, and "
        "a person reviews the change."
    )


def constraints_at(root: Path, revision: str, slug: str) -> Constraints | None:
    """The constraints of a plan as a commit has it; none if it has no such plan.

    Raises:
        UsageError: The revision names no commit.
        ConfigError: With everything that is wrong in the plan's file there.
    """
    commit = commit_at(root, revision)
    path = f".hornbook/plans/{slug}/{PLAN_FILE}"
    data = commit.text(path)
    if data is None:
        return None
    read = parse(data.decode("utf-8", "replace"), path)
    wrong = [each for each in read.problems if each.level is Level.ERROR]
    if wrong:
        raise ConfigError(
            [f"{path} at {commit.sha[:12]}, line {e.line}: {e.message}" for e in wrong]
        )
    return read.plan.constraints


def gate_settings(read: Read) -> tuple[GateSettings, str | None]:
    """What is said about gates, and the file that says it; none if there is no such file.

    Another tool's configuration counts only where there is none of ours.

    Raises:
        ConfigError: With everything that is wrong in the file.
    """
    own = read(CONFIG.as_posix())
    if own is not None:
        return parse_settings(own, check_gates).gates, CONFIG.as_posix()
    foreign = read(FOREIGN_CONFIG.as_posix())
    settings = parse_foreign_gates(foreign, check_gates) if foreign is not None else None
    if settings is None:
        return GateSettings(), None
    return settings, FOREIGN_CONFIG.as_posix()


def _listed(
    definitions: Definitions,
    read: Read,
    file: str | None,
    *,
    base: str | None = None,
    head: str | None = None,
) -> GateList:
    gates = [_judged(gate, read) for gate in definitions.gates]
    gates += [_disabled(gate) for gate in definitions.disabled]
    message = "" if gates else _why_none(read, file)
    return GateList(tuple(gates), file, base, head, message)


def _bound(listed: GateList, settings: GateSettings) -> GateList:
    """The list with what the settings say of all gates."""
    return replace(
        listed,
        tests=Strictness(settings.tests),
        confine=Confine(settings.confine),
        writable=settings.writable,
        readable=settings.readable,
        limits=settings.limits,
        base_tests=settings.base_tests == "auto",
        mutate=settings.mutate,
        mutate_seconds=settings.mutate_seconds,
    )


def _judged(gate: Gate, read: Read) -> ListedGate:
    """A gate, refused if its command cannot fail."""

    given = dict(gate.environment)
    found = refusals(gate.command, name=gate.name, environment=given, read=below(gate, read))
    state = GateState.REFUSED if found else GateState.READY
    return ListedGate(gate, state, tuple(str(each) for each in found))


def below(gate: Gate, read: Read) -> Read:
    """Reads by paths from a gate's folder, and nothing outside of the root."""

    def inside(path: str) -> bytes | None:
        parts = [*PurePosixPath(gate.folder).parts, *PurePosixPath(path).parts]
        return None if path.startswith("/") or ".." in parts else read("/".join(parts))

    return inside


_MODULE = re.compile(r"\bpython[\d.]*(?:\s+-(?!m\b)\w+)*\s+-m\s+(\w+)")


def _unless_shadowed(listed: ListedGate, added: Collection[str], head: Commit) -> ListedGate:
    """The gate, refused if the change brings a module that Python runs in the place of its tool."""
    gate, folder = listed.gate, "" if listed.gate.folder == "." else f"{listed.gate.folder}/"
    tools = {*tools_run(gate.command, below(gate, head.text)), *_MODULE.findall(gate.command)}
    mine = {f"{folder}{tool}{end}" for tool in tools for end in ("", ".py")}
    brought = [each for each in sorted(added) if each in mine or _package(each, folder) in mine]
    if not brought or listed.state is not GateState.READY:
        return listed
    said = f"`{brought[0]}` of the change would run in the place of the tool: give it another name."
    return replace(listed, state=GateState.REFUSED, reasons=(said,))


def _package(path: str, folder: str) -> str | None:
    """The folder in which a module of Python lies, if it is one right below the gate's folder."""
    below = path.removeprefix(folder)
    return folder + below.split("/", 1)[0] if below.endswith(".py") and "/" in below else None


def _disabled(gate: Gate) -> ListedGate:
    origin = dict(gate.origins).get("enabled", "")
    return ListedGate(gate, GateState.DISABLED, (f"switched off in {origin}.",))


def _why_none(read: Read, file: str | None) -> str:
    if file is None:
        return f"No gate is configured: there is no {CONFIG.as_posix()}; {OWN_GATES}"
    said = f"No gate is configured in {file}; {OWN_GATES}"
    if file == CONFIG.as_posix() and read(FOREIGN_CONFIG.as_posix()) is not None:
        said += f" {FOREIGN_CONFIG.as_posix()} is read only where {file} is missing."
    return said


def read_below(root: Path) -> Read:
    """Reads files of a work tree by path, and nothing outside of it."""
    top = root.resolve()

    def read(path: str) -> bytes | None:
        target = top / path
        try:
            inside = target.resolve().is_relative_to(top)
            return target.read_bytes() if inside and target.is_file() else None
        except ValueError:  # a command can name what no path can be
            return None

    return read
