"""Proves that gates can fail: each is run on a copy, clean and with a failure injected."""

import os
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from hornbook.gates.injecting import Injection, injections
from hornbook.gates.running import Progress, run_gate, run_gates, silent
from hornbook.model.gates import Gate, GateStatus

_LATER = 2_000_000_000


class Verdict(StrEnum):
    """What a proof found: the gate said no as it must, survived, or fails even without it."""

    PROVEN = "proven"
    UNPROVEN = "unproven"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether one gate can fail, with the failure that it was given."""

    gate: str
    verdict: Verdict
    message: str
    injected: tuple[str, ...] = ()


class Copies(Protocol):
    """Where a fresh copy of the tree comes from."""

    def __call__(self) -> AbstractContextManager[Path]:
        """A folder with the files of the tree, gone when the block is left."""


def prove(
    gates: Sequence[Gate],
    copies: Copies,
    files: Collection[str],
    *,
    logs: Path,
    progress: Progress = silent,
) -> tuple[Proof, ...]:
    """A proof for each required gate, in their order; `files` are the paths of the tree.

    Each gets a copy of its own, in which the gates that it comes after are run first.
    """
    found = []
    for gate in gates:
        if gate.required:
            progress(gate.name, None)
            with copies() as root:
                found.append(_proof(gate, gates, root, files, logs))
            fine = found[-1].verdict is Verdict.PROVEN
            progress(gate.name, GateStatus.PASSED if fine else GateStatus.FAILED)
    return tuple(found)


def _proof(
    gate: Gate, gates: Sequence[Gate], root: Path, files: Collection[str], logs: Path
) -> Proof:
    needed = _needed(gate, gates)
    clean = run_gates([each for each in gates if each.name in needed], root, logs=logs / "clean")
    stopped = [
        each for each in clean.gates if each.status is not GateStatus.PASSED and each.required
    ]
    if stopped:
        words = f"{stopped[-1].name} fails without any injected failure: {stopped[-1].message}"
        return Proof(gate.name, Verdict.BROKEN, words)
    wanted = injections(gate, files, lambda path: _text(root / path))
    if not wanted:
        words = f"nothing in {gate.folder} to break that `{gate.command}` would look at"
        return Proof(gate.name, Verdict.UNPROVEN, words)
    for each in wanted:
        _write(root, each)
    told = tuple(each.what for each in wanted)
    result = run_gate(gate, root, logs / "injected")
    if result.status is GateStatus.PASSED:
        words = f"it passes although {'; '.join(told)}: it may not be able to fail"
        return Proof(gate.name, Verdict.UNPROVEN, words, told)
    return Proof(gate.name, Verdict.PROVEN, result.message, told)


def _needed(gate: Gate, gates: Sequence[Gate]) -> set[str]:
    """The gate and all that it comes after, however far."""
    after = {each.name: each.after for each in gates}
    found: set[str] = set()
    waiting = [gate.name]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(after.get(name, ()))
    return found


def _write(root: Path, injection: Injection) -> None:
    path = root / injection.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(injection.text, encoding="utf-8", errors="surrogateescape")
    # Tools that compare times in whole seconds must see that it changed since the clean run.
    later = path.stat().st_mtime_ns + _LATER
    os.utime(path, ns=(later, later))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="surrogateescape") if path.is_file() else ""
