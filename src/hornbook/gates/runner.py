"""Runs gates: independent ones side by side, each with a result that says what to do."""

import itertools
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from hornbook.disk import draft_of
from hornbook.errors import ConfigError, RunEnded
from hornbook.gates.coverage import Coverage, measured, named_places, places, stamps
from hornbook.gates.gate import OWN_GATES, Gate, GateReport, GateResult, GateStatus
from hornbook.gates.test_output import plain, problem_with_tests
from hornbook.process.secret_mask import SecretMask, secret_beside, secrets_among
from hornbook.process.shell_command import (
    Finished,
    UseLimits,
    ended_by,
    environment,
    run_command,
)

NO_NETWORK = (
    " It has no network, and its output tells of a failed connection: if it needs one, set "
    "`network: true` for the gate."
)
NO_WRITING = (
    " It writes only the tree and temporary files, and its output tells of a write that was "
    "refused: if it needs a folder elsewhere, name it in `writable` under `gates`."
)
NO_READING = (
    " Of your home it reads installed tools alone, and its output names {names}: what it needs of "
    "that, name in `readable` under `gates`, or in `writable` if it writes there."
)

# As resolvers and clients of C, Python, Node, Go, Rust, Java, curl and git say it.
_CONNECTION = re.compile(
    r"could not resolve|couldn't resolve|name resolution|name or service not known"
    r"|no such host|nodename nor servname|unknownhostexception|getaddrinfo|eai_again|\benotfound\b"
    r"|network is unreachable|enetunreach|no route to host|ehostunreach"
    r"|connection refused|econnrefused|connectionrefusederror|failed to connect"
    r"|failed to establish a new connection|max retries exceeded|dial tcp"
    r"|error sending request for url|dns error|network is down"
    r"|--offline was specified|enotcached|only-if-cached|disabled by goproxy=off"
    r"|network connectivity is disabled"
    r"|\bconnect\b[^\n]{0,80}(?:eacces|permission denied)|(?:\.connect|create_connection)\(",
    re.IGNORECASE,
)
_WRITE = re.compile(r"read-only file system|erofs|permission denied|eacces", re.IGNORECASE)


def why_confined(output: str, *, network: bool, unseen: Sequence[str] = ()) -> str:
    """What to add to the message of a gate that failed while it was confined; often nothing.

    `unseen` is what of the user's home the output names and the gate could not read.
    """
    told = NO_NETWORK if not network and _CONNECTION.search(output) else ""
    if unseen:
        return told + NO_READING.format(names=", ".join(unseen))
    return told + (NO_WRITING if _WRITE.search(output) else "")


BUDGET = 6000
MOST_FAILING = 1000
"""So many tests that failed are named; who compares names of more compares these."""
_LINE = 400
_BEFORE = 2
_AFTER = 8
_HEAD = 8
_END = 8

_MATTERS = re.compile(
    r"""
      ^E\s{2,}\S | ^(?:FAILED|ERROR)\ \S | ^_{4,}\ .*\ _{4,}$              # pytest
    | ^\s*---\ FAIL: | ^FAIL\t | ^panic: | ^\S+\.go:\d+(?::\d+)?:          # go
    | ^error(?:\[E\d+\])?: | ^----\ .*\ stdout\ ----$ | \bpanicked\ at\b   # cargo
    | ^\s*●\ \S | ^\s*[✕✖×]\ \S | ^\s*FAIL\ \S | ^not\ ok\ \d+             # jest, vitest, node
    | ^[^\s:]+:\d+:\d+:\ [A-Z]+\d+\b | ^[A-Z]+\d+\ (?:\[\*\]\ )?\S         # ruff
    | ^[^\s:]+:\d+:(?:\d+:)?\ error: | ^\S+\(\d+,\d+\):\ error\ TS\d+      # mypy, tsc
    | ^\S+:\d+:\d+\ -\ error\ TS\d+
    | ^(?:\w+\.)*\w*(?:Error|Exception)\b: | ^Traceback\ \(most            # a program of its own
    | (?:command\ )?not\ found$
    """,
    re.VERBOSE,
)


def trim(output: str, *, log: str, budget: int = BUDGET) -> str:
    """The lines of an output that matter, with context, in at most `budget` characters.

    What is left out is counted where it stood, and the last line names the log that has it all.
    An output that fits is given whole.
    """
    text = plain(output).strip("\n")
    if len(text) <= budget:
        return text
    lines = [_shortened(line) for line in text.split("\n")]
    closing = f"[the whole output, {len(lines)} lines: {log}]"
    kept = _kept(lines, budget - len(closing) - 1)
    return "\n".join([*_told(lines, kept), closing])


def _shortened(line: str) -> str:
    if len(line) <= _LINE:
        return line
    half = _LINE // 2
    return f"{line[:half]} [{len(line) - 2 * half} characters omitted] {line[-half:]}"


def _kept(lines: list[str], budget: int) -> set[int]:
    """The places of the lines to keep: the end, then what matters from the top, then the head."""
    kept: set[int] = set()
    for span in _wanted(lines):
        # Each gap may cost a marker of its own.
        cost = sum(len(lines[place]) + 1 for place in span if place not in kept) + 32
        if cost > budget:
            break
        budget -= cost if not kept.issuperset(span) else 0
        kept.update(span)
    return kept


def _wanted(lines: list[str]) -> list[range]:
    count = len(lines)
    end = range(max(0, count - _END), count)
    matter = (place for place, line in enumerate(lines) if _MATTERS.search(line))
    around = [range(max(0, each - _BEFORE), min(count, each + _AFTER + 1)) for each in matter]
    return [end, *(around or (range(min(_HEAD, count)), *_alternating(count)))]


def _alternating(count: int) -> list[range]:
    """Pieces from the head and from the end in turn, towards the middle."""
    pieces = []
    for start in range(_HEAD, count // 2, _HEAD):
        pieces.append(range(start, start + _HEAD))
        pieces.append(range(count - start - _HEAD, count - start))
    return pieces


def _told(lines: list[str], kept: set[int]) -> list[str]:
    told: list[str] = []
    omitted = 0
    for place, line in enumerate(lines):
        if place not in kept:
            omitted += 1
            continue
        if omitted:
            told.append(f"[{omitted} lines omitted]")
            omitted = 0
        told.append(line)
    if omitted:
        told.append(f"[{omitted} lines omitted]")
    return told


Progress = Callable[[str, GateStatus | None], None]
"""Told a gate's name when it starts, with how it ended when it ends."""


Judge = Callable[[GateResult], GateResult]
"""Given how a gate ended, tells how that counts."""


class Wrap(Protocol):
    """Confines gates."""

    def __call__(self, gate: Gate, folder: Path, environment: Mapping[str, str]) -> str:
        """A confined command of a gate, its folder and its environment."""

    def has_network(self, gate: Gate) -> bool:
        """Whether a gate has the network of this machine."""

    def unseen(self, output: str) -> Sequence[str]:
        """What of the user's home an output names that is there, and not for a gate."""

    @property
    def limits(self) -> UseLimits:
        """What a gate may use."""


LOOK_SECONDS = 1.0
"""Between two questions whether the results of gates still matter."""
NO_GATES = GateResult(
    "gates",
    required=True,
    status=GateStatus.REFUSED,
    message=f"no gate is configured: a missing configuration is not a pass; {OWN_GATES}",
)
_MISSING = re.compile(r"^\S*sh: (?:line )?\d+: (\S+?): (?:command )?not found$", re.MULTILINE)
_STOPS = frozenset({GateStatus.FAILED, GateStatus.REFUSED, GateStatus.SKIPPED})
_NO_WORD = frozenset({GateStatus.REFUSED, GateStatus.SKIPPED})


def silent(_name: str, _ended: GateStatus | None) -> None:
    """Progress that nobody sees."""


def never() -> bool:
    """Whether nobody wants a result any more, where somebody always does."""
    return False


def unchanged(result: GateResult) -> GateResult:
    """The judge to whom a gate counts as it ended."""
    return result


def run_gates(  # noqa: PLR0913  # each is a choice of the caller, by keyword
    gates: Sequence[Gate],
    root: Path,
    *,
    logs: Path,
    parallel: int = 1,
    progress: Progress = silent,
    wrap: Wrap | None = None,
    judge: Judge = unchanged,
    past_red: bool = False,
    is_over: Callable[[], bool] = never,
) -> GateReport:
    """Run the gates over the files below the root; results come in the order of the gates.

    A gate waits for those that it names in `after`, and is skipped when one of them stopped, as
    `judge` has it; with `past_red` only when one of them has nothing to say. No gate at all has not
    passed. `wrap` confines their commands. Once `is_over` says that nobody wants results, they are
    ended.

    Raises:
        ConfigError: Two gates have the same name.
        RunEnded: It said so.
    """
    if not gates:
        return GateReport(passed=False, gates=(NO_GATES,))
    _check_names(gates)

    def watched(gate: Gate, stop: int) -> GateResult:
        progress(gate.name, None)
        result = judge(run_gate(gate, root, logs, stop, wrap=wrap))
        progress(gate.name, result.status)
        return result

    results = _unrunnable(gates)
    waiting = [gate for gate in gates if gate.name not in results]
    running: dict[Future[GateResult], Gate] = {}
    with _stoppable(parallel) as (pool, stop):
        while waiting or running:
            for gate in _startable(waiting, results):
                waiting.remove(gate)
                skipped = _skipped(gate, results, _NO_WORD if past_red else _STOPS)
                if skipped is not None:
                    results[gate.name] = skipped
                    progress(gate.name, GateStatus.SKIPPED)
                else:
                    running[pool.submit(watched, gate, stop)] = gate
            done, _ = wait(running, LOOK_SECONDS, return_when=FIRST_COMPLETED)
            if is_over():
                raise RunEnded("the run was ended, and so were its gates.")
            for future in done:
                results[running.pop(future).name] = future.result()
    ordered = tuple(results[gate.name] for gate in gates)
    return GateReport(passed=has_passed(ordered), gates=ordered)


def _check_names(gates: Sequence[Gate]) -> None:
    names = [gate.name for gate in gates]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError([f"two gates are named {name}: rename one." for name in twice])


def _startable(waiting: Sequence[Gate], results: Mapping[str, GateResult]) -> list[Gate]:
    """The gates that wait for none any more."""
    return [gate for gate in waiting if results.keys() >= set(gate.after)]


@contextmanager
def _stoppable(parallel: int) -> Iterator[tuple[ThreadPoolExecutor, int]]:
    """Threads for gates and a pipe that ends what they run when the block is left by an error."""
    stop, stopping = os.pipe()
    try:
        with ThreadPoolExecutor(max(1, parallel), thread_name_prefix="gate") as pool:
            try:
                yield pool, stop
            finally:
                os.close(stopping)
                pool.shutdown(wait=False, cancel_futures=True)
    finally:
        os.close(stop)


def has_passed(results: Sequence[GateResult]) -> bool:
    """Whether there is a result, and every required one passed."""
    return bool(results) and all(
        result.status in {GateStatus.PASSED, GateStatus.WARNED}
        for result in results
        if result.required
    )


def _unrunnable(gates: Sequence[Gate]) -> dict[str, GateResult]:
    """Gates that could never start: they wait for no gate, or for each other."""
    names = {gate.name for gate in gates}
    refused = {}
    for gate in gates:
        unknown = ", ".join(sorted(set(gate.after) - names))
        if unknown:
            words = f"`after` names {unknown}, which is no gate: see `gates list`."
            refused[gate.name] = _refused(gate, words)
    for gate in _in_circles(gates, set(refused)):
        words = f"`after` waits for itself through {', '.join(gate.after)}: break the circle."
        refused[gate.name] = _refused(gate, words)
    return refused


def _in_circles(gates: Sequence[Gate], ended: set[str]) -> list[Gate]:
    """The gates that never start, however many others end."""
    while more := {each.name for each in gates if ended.issuperset(each.after)} - ended:
        ended |= more
    return [gate for gate in gates if gate.name not in ended]


def _refused(gate: Gate, words: str) -> GateResult:
    return GateResult(gate.name, gate.required, GateStatus.REFUSED, message=words)


def _skipped(
    gate: Gate, results: Mapping[str, GateResult], stops: Collection[GateStatus]
) -> GateResult | None:
    """The result of a gate that comes after one that stopped; none for one that can run."""
    stopped = [name for name in gate.after if results[name].status in stops]
    if not stopped:
        return None
    words = f"not run: {', '.join(stopped)} did not pass"
    return GateResult(gate.name, gate.required, GateStatus.SKIPPED, message=words)


def _run_logged(
    gate: Gate, folder: Path, log: Path, stop: int | None, wrap: Wrap | None
) -> tuple[Finished, str]:
    """How the command of a gate ended, and its output, which is kept in the log."""
    # Another run may write at the same time: each writes a file of its own, the last one stays.
    own = draft_of(log)
    given = environment(os.environ, dict(gate.environment))
    try:
        finished = run_command(
            gate.command if wrap is None else wrap(gate, folder, given),
            folder=folder,
            environment=given,
            timeout=gate.timeout,
            log=own,
            stop=stop,
            limits=None if wrap is None else wrap.limits,
            mask=SecretMask(secrets_among(given) | secret_beside(log)),
        )
        output = own.read_text(encoding="utf-8", errors="replace")
        own.replace(log)
    finally:
        own.unlink(missing_ok=True)
    return finished, output


def run_gate(
    gate: Gate, root: Path, logs: Path, stop: int | None = None, *, wrap: Wrap | None = None
) -> GateResult:
    """Run one gate and judge how it ended."""
    folder = (root / gate.folder).resolve()
    if not folder.is_dir() or not folder.is_relative_to(root.resolve()):
        return _failed(gate, f"its folder {gate.folder} is no folder below {root}")
    candidates = places(gate.command, gate.creates) if gate.threshold is not None else ()
    before = stamps(folder, candidates)
    log = logs / f"{_file_name(gate.name)}.log"
    finished, output = _run_logged(gate, folder, log, stop, wrap)
    problem, told = _problem(gate, folder, finished, output), ""
    if problem and not output.strip():
        problem += f" (`{gate.command}` printed nothing)"
    if problem is None and gate.threshold is not None:
        named = named_places(gate.command, gate.creates)
        found = measured(folder, candidates, before, output, named)
        problem, told = _below(found, gate.threshold)
    if problem and wrap is not None:
        network, unseen = wrap.has_network(gate), wrap.unseen(output)
        problem += why_confined(output, network=network, unseen=unseen)
    result = _failed(gate, problem) if problem else _passed(gate, told or _left(finished))
    if finished.over and gate.required:
        result = replace(result, status=GateStatus.REFUSED)
    return replace(
        result,
        failing=_failing(output) if problem else (),
        exit_code=finished.code,
        seconds=round(finished.seconds, 3),
        output=trim(output, log=str(log)),
        log=str(log),
    )


def _failing(output: str) -> tuple[str, ...]:
    from hornbook.gates.test_names import failed_tests  # noqa: PLC0415  # only where a gate fails

    return tuple(itertools.islice(failed_tests(output), MOST_FAILING))


def _below(found: Coverage | str, threshold: int) -> tuple[str | None, str]:
    """Why a coverage is not enough, if it is not, and the coverage in words."""
    if isinstance(found, str):
        return found, ""
    told = f"coverage {found.told()} by {found.source}"
    enough = found.reaches(threshold)
    return None if enough else f"{told}, at least {threshold} % is wanted.", told


def _problem(gate: Gate, folder: Path, finished: Finished, output: str) -> str | None:
    """Why the gate did not pass, or none."""
    if finished.over:
        return (
            f"ended, since it passed a limit ({finished.over}): it says nothing of the change. "
            "Raise it under `limits` in .hornbook/config.yaml if the gate needs that."
        )
    if finished.timed_out:
        return f"not done after {gate.timeout} s: it was ended with all that it had started."
    if finished.code is None:
        return "the process that watches over it was killed: how it ended is not known."
    if finished.code == 127:
        missing = _MISSING.findall(output)
        tool = missing[-1] if missing else "a command"
        return f"{tool} is not installed or not on PATH."
    if finished.code in {0, 4, 5}:
        problem = problem_with_tests(gate.command, finished.code, output, partial(_held, folder))
        if problem is not None:
            return problem
    shell = finished.shell.partition(" ")[0]
    return f"{ended_by(finished.code)} ({shell})." if finished.code else None


def _held(folder: Path, path: str) -> bytes | None:
    """The bytes of a file below the folder; none if there is none."""
    target = folder / path
    try:
        inside = target.resolve().is_relative_to(folder)
        return target.read_bytes() if inside and target.is_file() else None
    except (OSError, ValueError):  # a command can name what no path can be
        return None


def _left(finished: Finished) -> str:
    if not finished.left:
        return ""
    if finished.left == 1:
        return "1 process that it left running was ended"
    return f"{finished.left} processes that it left running were ended"


def _passed(gate: Gate, told: str) -> GateResult:
    return GateResult(gate.name, gate.required, GateStatus.PASSED, message=told)


def _failed(gate: Gate, problem: str) -> GateResult:
    status = GateStatus.FAILED if gate.required else GateStatus.WARNED
    return GateResult(gate.name, gate.required, status, message=problem)


def _file_name(name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", name)
    same = plain == name and not name.startswith(".")
    return name if same else f"{plain.lstrip('.')}-{sha256(name.encode()).hexdigest()[:6]}"
