"""Judges reviews: everything but the review itself is recomputed from git."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from hornbook.assemble.receipt import SCHEMA, own_hash
from hornbook.errors import UsageError
from hornbook.git.change import Change, change
from hornbook.ingest.reading import is_rule_file
from hornbook.model.context import Outcome
from hornbook.model.gates import GateReport, GateStatus
from hornbook.model.review import JudgedRule, Judgement, ReviewProblem, Route, Ruling
from hornbook.model.terms import Severity
from hornbook.review.case import Brief, Case
from hornbook.review.integrity import Reviewed, Standard
from hornbook.review.judging import judge
from hornbook.workspace.contexts import edited_rules
from hornbook.workspace.judging import graph_at
from hornbook.workspace.reviewed_tree import CommitTree
from hornbook.workspace.snapshot import Snapshot

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class Printed:
    """What one reviewer answered, and a name to tell it from others."""

    name: str
    data: bytes


def check_reviews(
    root: Path,
    reviews: Sequence[Printed],
    receipts: Sequence[Mapping[str, object]],
    gates: GateReport | None = None,
) -> Judgement:
    """The judgement of a change: reviews of the whole, or of the passes that together cover it.

    Raises:
        UsageError: The receipts are for different changes, or git does not have the commits.
    """
    strange = [problem for receipt in receipts for problem in _not_ours(receipt)]
    if strange or not receipts:
        return _without_context(strange or ["There is no receipt: give the one of the packet."])
    case = recomputed(root, receipts, gates)
    return judge(case, list(briefs(reviews, receipts, case.rules)))


def recomputed(
    root: Path, receipts: Sequence[Mapping[str, object]], gates: GateReport | None = None
) -> Case:
    """The change that receipts are for, with the rules and settings that git has for it.

    Raises:
        UsageError: The receipts are for different changes, or git does not have the commits.
    """
    spans = {(str(receipt["base"]), str(receipt["head"])) for receipt in receipts}
    if len(spans) > 1:
        raise UsageError("the receipts are for different changes: check them one by one.")
    ((base, head),) = spans
    found = change(root, f"{base}..{head}")
    snapshot = graph_at(root, base)
    rules = _rules(snapshot, found.paths)
    tree = CommitTree(root, head)
    return Case(
        rules=rules,
        reviewed=Reviewed(tree, tree.texts(found.paths)),
        standard=_standard(snapshot),
        gates=gates,
        edited=tuple(edited_rules(found)),
        doubts=tuple(_doubts(receipts, found, rules, gates)),
        questions=tuple(_questions(snapshot, found)),
        base=base,
        head=head,
    )


def read_gates(data: bytes) -> GateReport:
    """The gate results that `gates run --json` printed; what they add up to is derived again.

    Raises:
        UsageError: They are not in that form.
    """
    try:
        report = msgspec.json.decode(data, type=GateReport)
    except msgspec.DecodeError as problem:
        raise UsageError(
            f"the gate results cannot be read ({problem}): give what `gates run --json` prints."
        ) from problem
    stopped = [
        gate for gate in report.gates if gate.required and gate.status is not GateStatus.PASSED
    ]
    return replace(report, passed=report.passed and bool(report.gates) and not stopped)


def _not_ours(receipt: Mapping[str, object]) -> Iterator[str]:
    """Why a receipt is none for a change."""
    if receipt.get("schema") != SCHEMA:
        yield f"The receipt's schema is {receipt.get('schema')!r}, not {SCHEMA!r}."
        return
    commits = (receipt.get("base"), receipt.get("head"))
    if not all(isinstance(each, str) and _COMMIT.fullmatch(each) for each in commits):
        yield "The receipt is not for a change: make it with `review prepare --diff BASE..HEAD`."
    if not isinstance(receipt.get("sop_ids"), list) or not isinstance(
        receipt.get("sections"), list
    ):
        yield "The receipt lists no rules: make it with `review prepare --diff BASE..HEAD`."


def _without_context(reasons: Sequence[str]) -> Judgement:
    problems = tuple(ReviewProblem("no_context", None, reason) for reason in reasons)
    said = ("without a receipt for the change there is nothing to judge a review by",)
    return Judgement(Ruling.INVALID, None, Route.HUMAN, problems, explanation=said)


def _rules(snapshot: Snapshot, paths: Sequence[str]) -> tuple[JudgedRule, ...]:
    found = {
        rule.id: JudgedRule(rule.id, rule.severity, rule.revision, rule.title, rule.path)
        for answer in snapshot.why(paths)
        for rule in answer.rules
    }
    return tuple(found[rule_id] for rule_id in sorted(found))


def _standard(snapshot: Snapshot) -> Standard:
    settings = snapshot.settings.review
    return Standard(Severity(settings.block_on), settings.confidence_percent / 100)


def _doubts(
    receipts: Sequence[Mapping[str, object]],
    found: Change,
    rules: Sequence[JudgedRule],
    gates: GateReport | None,
) -> Iterator[ReviewProblem]:
    """What no review can mend: a receipt that is not what git says, gates of another tree."""
    revisions = {rule.id: rule.revision for rule in rules}
    for receipt in receipts:
        for said in _differences(receipt, found, revisions):
            yield ReviewProblem("no_context", None, said)
    if gates is not None and gates.tree is not None and gates.tree != found.tree:
        yield ReviewProblem(
            "no_context",
            None,
            f"The gates ran on tree {gates.tree[:12]}, the change's tree is {found.tree[:12]}: "
            "run them again.",
        )


def _differences(
    receipt: Mapping[str, object], found: Change, revisions: Mapping[str, str]
) -> Iterator[str]:
    if receipt.get("receipt_sha256") != own_hash(receipt):
        yield "The receipt was edited: its own hash is another one. Prepare the review again."
    if receipt.get("outcome") != Outcome.COMPLETE:
        yield f"The receipt's context is {receipt.get('outcome')!r}, not complete."
    for key, actual in (
        ("tree", found.tree),
        ("merge_base", found.merge_base),
        ("files", list(found.paths)),
    ):
        if receipt.get(key) != actual:
            yield f"The receipt's {key} is not the change's: prepare the review again."
    yield from _rules_differ(receipt, revisions)


def _rules_differ(receipt: Mapping[str, object], revisions: Mapping[str, str]) -> Iterator[str]:
    shown = dict(_shown(receipt))
    for rule_id in sorted(shown.keys() | set(_listed(receipt))):
        if rule_id not in revisions:
            yield f"The receipt holds {rule_id}, which does not bind this change."
        elif shown.get(rule_id) != revisions[rule_id]:
            yield f"The receipt does not hold {rule_id} as it stood at the base."
    missing = sorted(revisions.keys() - shown.keys())
    if missing and not receipt.get("whole_set"):
        yield f"The receipt lacks {', '.join(missing)}, which bind this change."


def _shown(receipt: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """The rules in the prompt that the receipt is for, each with its revision."""
    sections = receipt["sections"]
    for section in sections if isinstance(sections, list) else ():
        if isinstance(section, dict) and section.get("name") == "sops":
            items = section.get("items")
            for item in items if isinstance(items, list) else ():
                if isinstance(item, dict):
                    yield str(item.get("id")), item.get("revision")


def _listed(receipt: Mapping[str, object]) -> tuple[str, ...]:
    listed = receipt["sop_ids"]
    return tuple(map(str, listed)) if isinstance(listed, list) else ()


def _questions(snapshot: Snapshot, found: Change) -> Iterator[str]:
    """What only a person can judge."""
    if not found.files:
        yield "the change is empty: there was nothing to review"
    ours = ".hornbook/records/"
    added = [path for path in found.paths if is_rule_file(path) and not path.startswith(ours)]
    if added and not snapshot.rules.enforced:
        yield f"the base has no rules and the change brings some ({', '.join(added)})"


def briefs(
    reviews: Sequence[Printed],
    receipts: Sequence[Mapping[str, object]],
    rules: Sequence[JudgedRule],
) -> Iterator[Brief]:
    """Which rules each review had to answer: those of the receipt that it fits best."""
    everything = frozenset(rule.id for rule in rules)
    sets = [
        frozenset(_listed(receipt)) & everything if receipt.get("whole_set") else everything
        for receipt in receipts
    ]
    for printed in reviews:
        mentioned = [sum(f'"{each}"'.encode() in printed.data for each in ids) for ids in sets]
        best = max(range(len(sets)), key=lambda place: (mentioned[place], -place))
        yield Brief(printed.name, sets[best], printed.data)
