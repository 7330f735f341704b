"""Gates: deterministic checks that run before a reviewer looks, and what they found."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum

COPIED = "the gates ran in a copy of"
"""How a note begins that says on which copy of a commit gates ran."""
OWN_GATES = (
    "write `gates: {additional: [{name: test, command: make test}]}` with a command of yours into "
    ".hornbook/config.yaml, or have `hornbook init --gates auto` look for tools that it knows."
)
"""What whoever has no gate can do."""


class GateStatus(StrEnum):
    """How a gate ended. Only `failed` and `refused` of a required gate stop a change."""

    PASSED = "passed"
    FAILED = "failed"
    WARNED = "warned"
    SKIPPED = "skipped"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Gate:
    """One command that can say no.

    `folder` is relative to the root, `after` names the gates that must have ended before it
    starts, `creates` are globs, from its folder, of the files that it leaves behind (they are no
    part of a change), `network` whether it has the network where it is confined, `origins` says
    for each field where its value came from.
    """

    name: str
    command: str
    required: bool = True
    threshold: int | None = None
    timeout: int = 300
    folder: str = "."
    environment: tuple[tuple[str, str], ...] = ()
    after: tuple[str, ...] = ()
    creates: tuple[str, ...] = ()
    network: bool = False
    origins: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class GateResult:
    """How one gate ended: `output` is trimmed to what matters, `log` is where the rest lies.

    `failing` are the names of the tests that it says to have failed. One that is `known_red` was
    red on the base of a run's plan, a person took that as known, and nothing else fails now.
    """

    name: str
    required: bool
    status: GateStatus
    exit_code: int | None = None
    seconds: float = 0.0
    output: str = ""
    message: str = ""
    log: str | None = None
    failing: tuple[str, ...] = ()
    known_red: bool = False

    @property
    def stops(self) -> bool:
        """Whether it keeps a change from being approved."""
        known = self.known_red and self.status is GateStatus.WARNED
        return self.required and self.status is not GateStatus.PASSED and not known


@dataclass(frozen=True, slots=True)
class BaseTests:
    """How the tests of the merge base went over HEAD's code: where a change edits tests.

    `files` are the tests and their settings that it edits, `failed` the names of the tests that
    failed in their old form, `skipped` those that only one of the forms skips. Another status than
    `passed` and `failed` says that nothing ran.
    """

    status: GateStatus
    files: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    message: str = ""
    skipped: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """The tests that a review has to answer, if it did not pass."""
        return tuple(dict.fromkeys((*self.failed, *self.skipped)))


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault that was put into an added line; `killed` if a gate of tests noticed it."""

    path: str
    line: int
    operator: str
    killed: bool
    change: str = ""

    @property
    def told(self) -> str:
        """What a reviewer should know of one that survived."""
        return f"{self.path}:{self.line}: {self.change} ({self.operator}), and no test noticed"


@dataclass(frozen=True, slots=True)
class GateReport:
    """The results of one run of the gates over one tree; `base` is where their definitions stood.

    `tree` is the hash of the files that were judged, `notes` say what a reader should know besides.
    `fingerprint` is that of the work tree as the gates left it, where they ran in it. `confined_by`
    is what confined the gates, `nothing` if this machine cannot, none if nobody asked for it.
    `base_tests` is none where no test was edited, none is run, or the gates did not pass anyway,
    and `mutants` where none were asked for.
    A report without a gate has not passed: a missing configuration is not a pass.
    """

    passed: bool
    gates: tuple[GateResult, ...] = field(default=())
    tree: str | None = None
    base: str | None = None
    head: str | None = None
    notes: tuple[str, ...] = ()
    fingerprint: str | None = None
    confined_by: str | None = None
    base_tests: BaseTests | None = None
    mutants: tuple[Mutant, ...] | None = None

    @property
    def holds(self) -> bool:
        """Whether it says that it passed, and its results say so too."""
        return self.passed and bool(self.gates) and not any(each.stops for each in self.gates)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What optional gates found, and tests in their old form, a line each."""
        found = [g for g in self.gates if g.status is GateStatus.WARNED]
        lines = [f"{gate.name}: {gate.message}" for gate in found]
        old = self.base_tests
        if old is not None and old.status is not GateStatus.PASSED:
            names = ", ".join(old.named) or old.message
            lines.append(f"BASE's tests over HEAD's code: {names}; answer each by its name")
        lines += [f"a mutant survived at {each.told}" for each in self.survivors]
        return tuple(lines)

    @property
    def survivors(self) -> tuple[Mutant, ...]:
        """The mutants that no test noticed."""
        return tuple(each for each in self.mutants or () if not each.killed)


def without_unasked(report: GateReport) -> dict[str, object]:
    """The report as JSON has it: without mutants where nobody asked for them.

    Which tests failed, and that a gate is known to be red, is there only where it is so.
    """
    facts = asdict(report)
    if report.mutants is None:
        del facts["mutants"]
    for gate in facts["gates"]:
        for name in ("failing", "known_red"):
            if not gate[name]:
                del gate[name]
    return facts


def gate_result(told: Mapping[str, object]) -> GateResult:
    """A gate's result as an event or a record tells it; older ones tell less."""
    code, seconds, log = told.get("exit_code"), told.get("seconds"), told.get("log")
    failing = told.get("failing")
    return GateResult(
        name=str(told["name"]),
        required=told.get("required") is True,
        status=GateStatus(str(told["status"])),
        exit_code=code if isinstance(code, int) else None,
        seconds=float(seconds) if isinstance(seconds, int | float) else 0.0,
        output=str(told.get("output") or ""),
        message=str(told.get("message") or ""),
        log=log if isinstance(log, str) else None,
        failing=tuple(map(str, failing)) if isinstance(failing, list | tuple) else (),
        known_red=told.get("known_red") is True,
    )
