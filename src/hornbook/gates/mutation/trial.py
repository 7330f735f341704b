"""Runs the gates of tests over each mutant: one that no gate stops has survived.

A mutant is made in a fresh copy of HEAD, never in the work tree, and runs as gates do, confined if
they are. Before the first one the gates are run over a copy without a fault: where they do not pass
there, what they say of a mutant means nothing, and none is judged. The time for all of it is
limited; what there is no time for is not judged either, and is told.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from hornbook.gates.gate import Gate, GateReport, Mutant
from hornbook.gates.mutation.operators import Mutation

Copies = Callable[[], AbstractContextManager[Path]]
Run = Callable[[Path, Sequence[Gate]], GateReport]
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Trial:
    """The mutants that were judged, and what is to be known besides."""

    mutants: tuple[Mutant, ...] = ()
    note: str = ""


def try_mutants(
    mutations: Sequence[Mutation],
    gates: Sequence[Gate],
    copies: Copies,
    run: Run,
    *,
    seconds: int,
    clock: Clock = time.monotonic,
) -> Trial:
    """What the gates say to each mutant, within so many seconds."""
    if not mutations:
        return Trial(note="no mutant: no added line of code has anything to change")
    if not gates:
        return Trial(note="no mutant is judged: no required gate runs tests")
    until = clock() + seconds
    with copies() as copy:
        sound = run(copy, _within(gates, until - clock()))
    if clock() >= until:
        return Trial(note=f"no mutant is judged: the tests alone take the {seconds} s there are")
    if not sound.passed:
        failed = ", ".join(each.name for each in sound.gates if each.status != "passed")
        return Trial(note=f"no mutant is judged: without a fault the tests fail ({failed})")
    judged: list[Mutant] = []
    for each in mutations:
        with copies() as copy:
            file = copy / each.path
            data = file.read_bytes()
            file.write_bytes(each.applied(data))
            report = run(copy, _within(gates, until - clock()))
        if clock() >= until:  # it may have been ended by our limit, which is none of the gate's
            break
        judged.append(
            Mutant(each.path, each.line, each.operator, not report.passed, each.told(data))
        )
    left = len(mutations) - len(judged)
    note = f"{left} of {len(mutations)} mutants were not judged within {seconds} s" if left else ""
    return Trial(tuple(judged), note)


def _within(gates: Sequence[Gate], seconds: float) -> list[Gate]:
    """The gates, none with more time than there is."""
    most = max(1, int(seconds) + 1)
    return [replace(gate, timeout=min(gate.timeout, most)) for gate in gates]
