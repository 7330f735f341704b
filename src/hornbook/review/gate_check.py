"""Whether gate results can be counted for a change: recomputed from the base where they can be."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from hornbook.commits import git
from hornbook.commits.change import Change
from hornbook.commits.commit import commit_at
from hornbook.gates.base_tests import unanswered
from hornbook.gates.gate import GateReport, GateResult, GateStatus
from hornbook.gates.gate_list import GateList, GateState, ListedGate, gates_for_change
from hornbook.gates.gate_run import judge, old_tests
from hornbook.review.judgement import ReviewProblem
from hornbook.settings.load import CONFIG, FOREIGN_CONFIG

DEFINING = frozenset({CONFIG.as_posix(), FOREIGN_CONFIG.as_posix()})
MOST_NAMED = 5
"""How many of the edited tests are named in a problem."""
AGAIN = "run `gates run --diff BASE..HEAD --json` again."
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


def gate_doubts(
    root: Path,
    change: Change,
    report: GateReport | None,
    *,
    bound: bool = False,
    chained: bool = False,
) -> Iterator[str]:
    """Why gate results cannot be counted for the change; `bound` ones must say that they are its.

    Results that name no tree, base or head were made by somebody else. What they tell is held
    against the definitions of the base all the same. `chained` results are those of a run's
    events, whose definitions are of the commit that its plan began with.
    """
    if report is None:
        if bound:
            yield f"Gate results are wanted here and there are none: {AGAIN}"
        return
    if bound and None in {report.tree, report.base, report.head}:
        yield f"The gate results do not name the tree, base and head that they are of: {AGAIN}"
    if not _is_loose(report):
        yield from _of_another(root, change, report, chained=chained)
    elif not report.holds:
        return  # what stops a change needs no proof that it is whole
    yield from _contradictions(report)
    yield from () if chained else _said_to_be_known(report)
    yield from _not_run(gates_for_change(root, change), report)
    if chained and report.base is not None and _is_before(root, report.base, change.base):
        change = replace(change, base=report.base)
    yield from _floors_differ(root, change, report)


def base_test_doubts(
    root: Path, change: Change, report: GateReport | None, said: str
) -> Iterator[ReviewProblem]:
    """What BASE's tests leave open where a change edits tests: `said` is what the reviews say.

    Results that name no tree are warned of already, and those that did not pass stop the change.
    """
    if report is None or not report.holds or _is_loose(report):
        return
    listed = gates_for_change(root, change)
    edited, chosen = old_tests(root, change, listed.ready) if listed.base_tests else ((), ())
    if not edited or not chosen:
        return
    old = report.base_tests
    names = sorted(file.path for file in edited)
    what = f"The change edits tests or what configures them ({', '.join(names[:MOST_NAMED])})"
    if old is None:
        yield _edited(f"{what}, and BASE's tests were not run over HEAD's code: {AGAIN}")
    elif old.status is not GateStatus.PASSED:
        left = unanswered(old.named, said)
        if left or not old.failed:
            failing = ", ".join(left) or old.message
            yield _edited(f"{what}. BASE's tests over HEAD's code: {failing}. Answer each by name.")


def _edited(said: str) -> ReviewProblem:
    return ReviewProblem("edited_judges", None, said)


def gate_warnings(report: GateReport | None) -> Iterator[ReviewProblem]:
    """What a person should know of gate results that count."""
    if report is not None and _is_loose(report):
        said = (
            "The gate results name no tree, base and head: that they are of this change is only "
            "said. Give what `gates run --diff BASE..HEAD --json` prints."
        )
        yield ReviewProblem("unbound_gates", None, said)


def _is_loose(report: GateReport) -> bool:
    return report.tree is None and report.base is None and report.head is None


def _of_another(root: Path, change: Change, report: GateReport, *, chained: bool) -> Iterator[str]:
    if report.tree != change.tree:
        yield f"The gates ran on tree {_short(report.tree)}, not on the change's: {AGAIN}"
    if report.base is None:
        if _defined_otherwise(root, change):
            yield f"The gates ran without --diff, and the base defines them otherwise: {AGAIN}"
    elif report.head != change.head or not _is_before(root, report.base, change.base):
        yield f"The gates ran for {_short(report.base)}..{_short(report.head)}: {AGAIN}"
    elif report.base != change.base and not chained:
        yield (
            f"The gates ran as {_short(report.base)} defines them, which is older than the "
            f"change's base {_short(change.base)}: {AGAIN}"
        )


def _defined_otherwise(root: Path, change: Change) -> bool:
    """Whether HEAD has another definition than the base's tip, which may be newer."""
    base, head = commit_at(root, change.base), commit_at(root, change.head)
    return any(base.text(path) != head.text(path) for path in DEFINING)


def _is_before(root: Path, commit: str, base: str) -> bool:
    """Whether a commit is the base, or one before it."""
    return bool(_COMMIT.fullmatch(commit)) and git.is_ancestor(root, commit, base)


def _contradictions(report: GateReport) -> Iterator[str]:
    """Where the results cannot all be true."""
    for name, times in sorted(Counter(result.name for result in report.gates).items()):
        if times > 1:
            yield f"The gate {name} has {times} results: {AGAIN}"
    for result in report.gates:
        if result.status is GateStatus.PASSED and result.exit_code:
            yield f"The gate {result.name} passed with exit code {result.exit_code}: {AGAIN}"


def _said_to_be_known(report: GateReport) -> Iterator[str]:
    for result in (each for each in report.gates if each.known_red):
        yield (
            f"The gate {result.name} is said to be known as red, which only the events of a run "
            f"can tell: {AGAIN}"
        )


def _not_run(listed: GateList, report: GateReport) -> Iterator[str]:
    """The required gates of the base that the results lack, or do not count as required."""
    results = {result.name: result for result in report.gates}
    for each in listed.gates:
        if each.gate.required and each.state is not GateState.DISABLED:
            yield from _not_passed(each, results.get(each.gate.name))


def _not_passed(each: ListedGate, result: GateResult | None) -> Iterator[str]:
    name = each.gate.name
    if result is None:
        yield f"The gate {name} is required at the base and was not run."
    elif not result.required and result.status is not GateStatus.PASSED:
        yield f"The gate {name} is required at the base and was run as an optional one."
    elif each.state is GateState.REFUSED and result.status is GateStatus.PASSED:
        yield f"The gate {name} is refused, so it cannot have passed: {'; '.join(each.reasons)}"


def _floors_differ(root: Path, change: Change, report: GateReport) -> Iterator[str]:
    """The floors that the results lack, or say to have passed though they do not."""
    results = {result.name: result for result in report.gates}
    for floor in _floors(root, change):
        result = results.get(floor.name)
        if result is None:
            if report.base is not None:
                yield f"The results lack {floor.name}, which every change is held to: {AGAIN}"
        elif floor.status is GateStatus.FAILED and result.status is GateStatus.PASSED:
            yield f"{floor.name} did not pass, whatever the results say: {floor.message}"


def _floors(root: Path, change: Change) -> list[GateResult]:
    """What the floors say without a plan, by the definitions of the change's base."""
    listed = gates_for_change(root, change)
    return judge(root, change.merge_base, change.head, listed.ready, None, tests=listed.tests)


def _short(commit: str | None) -> str:
    return commit[:12] if commit is not None else "none"
