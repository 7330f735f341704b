"""Whether receipts are those of a change, as git has it."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import msgspec

from hornbook.commits import git
from hornbook.commits.change import Change
from hornbook.context.prompt import Context, Outcome, ReviewerBrief, Unit, fenced
from hornbook.context.receipt import own_hash
from hornbook.context.review_packet import Contexts, Packet
from hornbook.errors import UsageError
from hornbook.gates.change_run import judge
from hornbook.gates.effective import GateList, GateState, gates_for_change
from hornbook.gates.values import GateReport, GateResult, GateStatus
from hornbook.graph.snapshot import Snapshot
from hornbook.review.judgement import ReviewProblem
from hornbook.settings.load import CONFIG, FOREIGN_CONFIG

Receipt = Mapping[str, object]


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


DEFINING = frozenset({CONFIG.as_posix(), FOREIGN_CONFIG.as_posix()})
AGAIN = "run `gates run --diff BASE..HEAD --json` again."
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


def gate_doubts(
    root: Path, change: Change, report: GateReport | None, *, bound: bool = False
) -> Iterator[str]:
    """Why gate results cannot be counted for the change; `bound` ones must say that they are its.

    Results that name no tree, base or head were made by somebody else. What they tell is held
    against the definitions of the base all the same.
    """
    if report is None:
        if bound:
            yield f"Gate results are wanted here and there are none: {AGAIN}"
        return
    if bound and None in {report.tree, report.base, report.head}:
        yield f"The gate results do not name the tree, base and head that they are of: {AGAIN}"
    if not _is_loose(report):
        yield from _of_another(root, change, report)
    elif not report.holds:
        return  # what stops a change needs no proof that it is whole
    yield from _contradictions(report)
    yield from _not_run(gates_for_change(root, change), report)
    yield from _floors_differ(root, change, report)


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


def _of_another(root: Path, change: Change, report: GateReport) -> Iterator[str]:
    if report.tree != change.tree:
        yield f"The gates ran on tree {_short(report.tree)}, not on the change's: {AGAIN}"
    if report.base is not None:
        if not _for_it(root, change, report):
            yield f"The gates ran for {_short(report.base)}..{_short(report.head)}: {AGAIN}"
    elif not DEFINING.isdisjoint(change.paths):
        yield f"The gates ran without --diff, and the change edits their definition: {AGAIN}"


def _for_it(root: Path, change: Change, report: GateReport) -> bool:
    """Whether the gates judged HEAD by definitions of the base, or of a commit before it."""
    if report.head != change.head or not _COMMIT.fullmatch(str(report.base)):
        return False
    older = git.run(root, "merge-base", "--is-ancestor", str(report.base), change.base)
    return older.returncode == 0


def _contradictions(report: GateReport) -> Iterator[str]:
    """Where the results cannot all be true."""
    for name, times in sorted(Counter(result.name for result in report.gates).items()):
        if times > 1:
            yield f"The gate {name} has {times} results: {AGAIN}"
    for result in report.gates:
        if result.status is GateStatus.PASSED and result.exit_code:
            yield f"The gate {result.name} passed with exit code {result.exit_code}: {AGAIN}"


def _not_run(listed: GateList, report: GateReport) -> Iterator[str]:
    """The required gates of the base that the results lack, or do not count as required."""
    results = {result.name: result for result in report.gates}
    for each in listed.gates:
        name, result = each.gate.name, results.get(each.gate.name)
        if not each.gate.required or each.state is GateState.DISABLED:
            continue
        if result is None:
            yield f"The gate {name} is required at the base and was not run."
        elif not result.required and result.status is not GateStatus.PASSED:
            yield f"The gate {name} is required at the base and was run as an optional one."
        elif each.state is GateState.REFUSED and result.status is GateStatus.PASSED:
            yield f"The gate {name} is refused, so it cannot have passed: {'; '.join(each.reasons)}"


def _floors_differ(root: Path, change: Change, report: GateReport) -> Iterator[str]:
    """The floors that the results lack, or say to have passed though they do not."""
    results = {result.name: result for result in report.gates}
    for floor in _floors(root, change, report):
        result = results.get(floor.name)
        if result is None:
            if report.base is not None:
                yield f"The results lack {floor.name}, which every change is held to: {AGAIN}"
        elif floor.status is GateStatus.FAILED and result.status is GateStatus.PASSED:
            yield f"{floor.name} did not pass, whatever the results say: {floor.message}"


def _floors(root: Path, change: Change, report: GateReport) -> list[GateResult]:
    """What the floors say without a plan, by the definitions that the results are by."""
    then = change
    if report.base is not None and _for_it(root, change, report):
        then = replace(change, base=report.base)
    listed = gates_for_change(root, then)
    return judge(root, change.merge_base, change.head, listed.ready, None, tests=listed.tests)


def _short(commit: str | None) -> str:
    return commit[:12] if commit is not None else "none"


PROMPT_AGAIN = "prepare the review again, with this version of Hornbook."


def prompt_doubts(
    root: Path, found: Change, snapshot: Snapshot, receipts: Sequence[Receipt]
) -> Iterator[str]:
    """Why receipts cannot be of prompts for the change, as this version of Hornbook makes them.

    What a prompt holds that no commit has is taken from the receipt, which carries it.
    """
    made: dict[tuple[str, str], Packet] = {}
    for receipt in receipts:
        key = (str(receipt.get("model")), repr(receipt.get("told")))
        try:
            if key not in made:
                contexts = Contexts(root, snapshot, told=_told(receipt))
                made[key] = contexts.of_change(found, snapshot, _model(receipt))
            yield from _differs(receipt, _context(made[key], receipt))
        except (UsageError, msgspec.ValidationError) as problem:
            yield f"The receipt's prompt cannot be made again ({problem}): {PROMPT_AGAIN}"


def prompt_warnings(receipts: Sequence[Receipt]) -> Iterator[ReviewProblem]:
    """What reviewers were told that git cannot confirm."""
    told = [
        each for each in (receipt.get("told") for receipt in receipts) if isinstance(each, dict)
    ]
    named = sorted({str(key) for each in told for key, value in each.items() if value})
    if named:
        said = (
            f"The reviewer was also told of {', '.join(named)}, which stand in the receipt and in "
            "no commit: read them there."
        )
        yield ReviewProblem("told_besides", None, said)


def _told(receipt: Receipt) -> ReviewerBrief:
    told = receipt.get("told")
    return msgspec.convert(told, ReviewerBrief) if told is not None else ReviewerBrief()


def _model(receipt: Receipt) -> str:
    model = receipt.get("model")
    if not isinstance(model, str) or not model:
        raise UsageError(f"it names no model: {model!r}")
    return model


def _context(packet: Packet, receipt: Receipt) -> Context:
    """The context that the receipt would be of: the whole, or that of its pass."""
    if not receipt.get("whole_set"):
        return packet.context
    for each in packet.passes():
        if list(each.context.sop_ids) == receipt.get("sop_ids"):
            return each.context
    raise UsageError("no pass holds just its rules")


def _differs(receipt: Receipt, context: Context) -> Iterator[str]:
    if context.text is None:
        why = "; ".join(reason.message for reason in context.reasons)
        yield f"The change gives no whole prompt ({context.outcome}: {why}): {PROMPT_AGAIN}"
        return
    hashes = {receipt.get("prompt_sha256"), receipt.get("sha256")}
    if hashes != {context.sha256}:
        parts = _parts(receipt)
        others = [each.name for each in context.sections if parts.get(each.name) != each.sha256]
        others += sorted(parts.keys() - {each.name for each in context.sections})
        where = f" in {', '.join(others)}" if others else ""
        yield f"The prompt is not the one that the change gives: it differs{where}; {PROMPT_AGAIN}"


def _parts(receipt: Receipt) -> dict[str, object]:
    sections = receipt.get("sections")
    listed = sections if isinstance(sections, list) else []
    return {str(e.get("name")): e.get("sha256") for e in listed if isinstance(e, dict)}
