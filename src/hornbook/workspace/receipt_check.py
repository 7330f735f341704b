"""Whether receipts and gate results are those of a change, as git has it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from hornbook.assemble.packet import fenced
from hornbook.assemble.receipt import own_hash
from hornbook.git import reader as git
from hornbook.git.change import Change
from hornbook.model.context import Outcome, Unit
from hornbook.model.gates import GateReport, GateStatus
from hornbook.workspace.gating import gates_for_change
from hornbook.workspace.settings import CONFIG, FOREIGN_CONFIG

Receipt = Mapping[str, object]
DEFINING = frozenset({CONFIG.as_posix(), FOREIGN_CONFIG.as_posix()})


@dataclass(frozen=True, slots=True)
class Expected:
    """What a packet for the change must hold: every rule as it stood at the base, every patch."""

    change: Change
    rules: Mapping[str, Unit]


def differences(receipt: Receipt, expected: Expected) -> Iterator[str]:
    """What the receipt says and git does not."""
    if receipt.get("receipt_sha256") != own_hash(receipt):
        yield "The receipt was edited: its own hash is another one. Prepare the review again."
    if receipt.get("outcome") != Outcome.COMPLETE:
        yield f"The receipt's context is {receipt.get('outcome')!r}, not complete."
    change = expected.change
    for key, actual in (
        ("tree", change.tree),
        ("merge_base", change.merge_base),
        ("files", list(change.paths)),
    ):
        if receipt.get(key) != actual:
            yield f"The receipt's {key} is not the change's: prepare the review again."
    yield from _rules_differ(receipt, expected.rules)
    yield from _patches_differ(receipt, change)


def _rules_differ(receipt: Receipt, rules: Mapping[str, Unit]) -> Iterator[str]:
    held = _items(receipt, "sops")
    for rule_id in sorted(held.keys() | set(listed(receipt))):
        if rule_id not in rules:
            yield f"The receipt holds {rule_id}, which does not bind this change."
        elif not _is(held.get(rule_id), rules[rule_id]):
            yield f"The receipt does not hold {rule_id} as it stood at the base."
    missing = sorted(rules.keys() - held.keys())
    if missing and not receipt.get("whole_set"):
        yield f"The receipt lacks {', '.join(missing)}, which bind this change."


def _patches_differ(receipt: Receipt, change: Change) -> Iterator[str]:
    """Whether the reviewer was shown the whole change, byte for byte."""
    shown = {path: str(item.get("sha256")) for path, item in _items(receipt, "diff").items()}
    actual = {
        each.path: sha256(fenced(change.patches[each.path], "diff").encode()).hexdigest()
        for each in change.files
    }
    wrong = sorted(
        path for path in shown.keys() | actual.keys() if shown.get(path) != actual.get(path)
    )
    if wrong:
        yield f"The receipt does not show the change of {', '.join(wrong)} as git has it."


def _is(item: Mapping[str, object] | None, unit: Unit) -> bool:
    return item is not None and (
        (item.get("revision"), item.get("severity"), item.get("sha256"))
        == (unit.revision, unit.severity, sha256(unit.text.encode()).hexdigest())
    )


def _items(receipt: Receipt, name: str) -> dict[str, Mapping[str, object]]:
    """What the receipt lists in a section, by id."""
    return {
        str(item.get("id")): item
        for section in _dicts(receipt.get("sections"))
        if section.get("name") == name
        for item in _dicts(section.get("items"))
    }


def _dicts(value: object) -> list[Mapping[str, object]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def listed(receipt: Receipt) -> tuple[str, ...]:
    """The rules that the receipt names."""
    named = receipt["sop_ids"]
    return tuple(map(str, named)) if isinstance(named, list) else ()


def gate_doubts(root: Path, change: Change, report: GateReport | None) -> Iterator[str]:
    """Why gate results cannot be counted for the change.

    Results that name no tree, base or head are taken at their word: somebody else made them.
    """
    if report is None or (report.tree is None and report.base is None and report.head is None):
        return
    again = "run `gates run --diff BASE..HEAD --json` again."
    if report.tree != change.tree:
        yield f"The gates ran on tree {_short(report.tree)}, not on the change's: {again}"
    named = report.base is not None
    if named and not _for_it(root, change, report):
        yield f"The gates ran for {_short(report.base)}..{_short(report.head)}: {again}"
    elif not named and not DEFINING.isdisjoint(change.paths):
        yield f"The gates ran without --diff, and the change edits their definition: {again}"
    else:
        yield from _not_run(root, change, report)


def _for_it(root: Path, change: Change, report: GateReport) -> bool:
    """Whether the gates judged HEAD by definitions of the base, or of a commit before it."""
    older = git.run(root, "merge-base", "--is-ancestor", str(report.base), change.base)
    return report.head == change.head and older.returncode == 0


def _not_run(root: Path, change: Change, report: GateReport) -> Iterator[str]:
    """The required gates of the base that the results lack, or do not count as required."""
    results = {result.name: result for result in report.gates}
    for gate in gates_for_change(root, change).ready:
        result = results.get(gate.name)
        if not gate.required:
            continue
        if result is None:
            yield f"The gate {gate.name} is required at the base and was not run."
        elif not result.required and result.status is not GateStatus.PASSED:
            yield f"The gate {gate.name} is required at the base and was run as an optional one."


def _short(commit: str | None) -> str:
    return commit[:12] if commit is not None else "none"
