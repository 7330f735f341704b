"""Gates over tests that are to fail: a task that writes tests is done when these are red.

Such a change adds tests for a feature that is not there. The gates that run tests then have to
fail, with new tests, for the right reason, and with nothing else; every other gate has to pass as
ever. What the tests said before the change is found by running the same gates over its base.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from hornbook.agents.embedded.progress import Verification, new_failures, red_obstacles
from hornbook.commits.change import change
from hornbook.commits.commit import commit_at
from hornbook.gates.base_tests import BaseResults, gates_of_tests, skipped_in, told
from hornbook.gates.gate import Gate, GateReport, GateResult, GateStatus
from hornbook.gates.gate_confinement import GateBounds
from hornbook.gates.gate_list import below
from hornbook.gates.gate_run import old_tests, run_for
from hornbook.gates.runner import has_passed
from hornbook.loop.steps.gates import RED

_FLOOR = "floor:"
MOST_NAMED = 5


def judged_red(
    root: Path,
    report: GateReport,
    gates: Sequence[Gate],
    *,
    span: str,
    files: Sequence[str],
    bounds: GateBounds | None,
    known: BaseResults,
    is_over: Callable[[], bool],
) -> GateReport:
    """The report on a change that is to add failing tests, judged by that.

    `files` are those of the task: a module among them may be missing. Once `is_over` says so, gates
    that are run for it are ended.
    """
    found = change(root, span)
    head = commit_at(root, found.head)
    tests = gates_of_tests(gates, lambda gate: below(gate, head.text))
    unchanged = f"{found.merge_base}..{found.merge_base}"
    before = run_for(root, tests, span=unchanged, bounds=bounds, known=known, is_over=is_over)
    results = tuple(each for each in report.gates if not each.name.startswith(_FLOOR))
    now = Verification(results, _without_floors(before.gates))
    changed = tuple(found.paths)
    wrong = red_obstacles(files, now, changed)
    if wrong:
        told_wrong = GateResult(
            RED, required=True, status=GateStatus.FAILED, message="; ".join(wrong)
        )
        return replace(report, gates=(*report.gates, told_wrong), passed=False)
    names = [test.id for test in new_failures(files, now, changed)]
    said = f"red as the task asks: {len(names)} new tests fail ({_some(names)})"
    red = {test.name for test in tests}
    turned = tuple(_as_asked(each, said) if each.name in red else each for each in report.gates)
    every = (*turned, GateResult(RED, required=True, status=GateStatus.PASSED, message=said))
    edited, chosen = old_tests(root, found, gates)
    return replace(
        report,
        gates=every,
        passed=has_passed(every),
        notes=(*report.notes, f"the task writes tests: {said}"),
        # only tests were changed, so that the base's over this code are those over its own
        base_tests=told(edited, before, skipped_in(results)) if edited and chosen else None,
    )


def _without_floors(results: Sequence[GateResult]) -> tuple[GateResult, ...]:
    return tuple(each for each in results if not each.name.startswith(_FLOOR))


def _as_asked(result: GateResult, said: str) -> GateResult:
    """The result of a gate that was to fail and did; its output stays what it printed."""
    if result.status is not GateStatus.FAILED:
        return result
    return replace(result, status=GateStatus.PASSED, exit_code=None, message=said)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
