"""Judges reviews: everything but the review itself is recomputed from git."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from hornbook.commits.change import Change, change
from hornbook.context.receipt import SCHEMA
from hornbook.context.review_packet import bound_rules, edited_rules
from hornbook.errors import UsageError
from hornbook.gates.values import GateReport
from hornbook.graph.commit_graph import graph_at
from hornbook.graph.snapshot import Snapshot
from hornbook.review.integrity import Reviewed, Standard
from hornbook.review.judge import Case, ReviewBrief, judge
from hornbook.review.judgement import JudgedRule, Judgement, ReviewProblem, Route, Ruling
from hornbook.review.receipt_check import (
    Expected,
    differences,
    gate_doubts,
    gate_warnings,
    listed,
    prompt_doubts,
    prompt_warnings,
)
from hornbook.review.tree import CommitTree
from hornbook.rules.code.parsing import grammar_of
from hornbook.rules.reading import is_rule_file
from hornbook.vocabulary.terms import Activation, Severity

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class PrintedReview:
    """What one reviewer answered, and a name to tell it from others."""

    name: str
    data: bytes


def check_reviews(
    root: Path,
    reviews: Sequence[PrintedReview],
    receipts: Sequence[Mapping[str, object]],
    gates: GateReport | None = None,
    span: str | None = None,
    *,
    bound: bool = False,
    chained: bool = False,
) -> Judgement:
    """The judgement of a change: reviews of the whole, or of the passes that together cover it.

    With a span, the receipts must be for just that change; with `bound` there must be gate
    results, and they must name the tree, base and head. `chained` receipts are those that a run's
    events have the hashes of.

    Raises:
        UsageError: The receipts are for different changes, or git does not have the commits.
    """
    strange = [problem for receipt in receipts for problem in _not_ours(receipt)]
    if not strange and span is not None:
        strange = list(_of_another_change(root, span, receipts))
    if strange or not receipts:
        return _without_context(strange or ["There is no receipt: give the one of the packet."])
    case = recomputed(root, receipts, gates, bound=bound)
    if not chained:
        case = replace(case, warnings=(*case.warnings, *prompt_warnings(receipts)))
    return judge(case, list(briefs(reviews, receipts, case.rules)))


def recomputed(
    root: Path,
    receipts: Sequence[Mapping[str, object]],
    gates: GateReport | None = None,
    *,
    bound: bool = False,
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
    tree = CommitTree(root, head)
    rules = _rules(snapshot, found, tree)
    changed = tree.texts(found.paths)
    expected = Expected(
        found, {rule.unit.id: rule.unit for rule in bound_rules(snapshot, found.paths)}
    )
    doubts = [
        *(said for receipt in receipts for said in differences(receipt, expected)),
        *prompt_doubts(root, found, snapshot, receipts),
        *gate_doubts(root, found, gates, bound=bound or snapshot.settings.review.gates == "bound"),
    ]
    return Case(
        rules=rules,
        reviewed=Reviewed(tree, changed, _words(snapshot, rules)),
        standard=_standard(snapshot),
        gates=gates,
        edited=tuple(edited_rules(found)),
        doubts=tuple(ReviewProblem("no_context", None, said) for said in doubts),
        questions=tuple(_questions(snapshot, found, tree, changed)),
        warnings=(*gate_warnings(gates), *_not_understood(snapshot)),
        outside=found.outside,
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
    return replace(report, passed=report.holds)


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


def _of_another_change(
    root: Path, span: str, receipts: Sequence[Mapping[str, object]]
) -> Iterator[str]:
    wanted = change(root, span)
    for receipt in receipts:
        if (receipt["base"], receipt["head"]) != (wanted.base, wanted.head):
            yield (
                f"The receipt is for {str(receipt['base'])[:12]}..{str(receipt['head'])[:12]}, not "
                f"for {wanted.base[:12]}..{wanted.head[:12]}: prepare the review again."
            )


def _without_context(reasons: Sequence[str]) -> Judgement:
    problems = tuple(ReviewProblem("no_context", None, reason) for reason in reasons)
    said = ("without a receipt for the change there is nothing to judge a review by",)
    return Judgement(Ruling.INVALID, None, Route.HUMAN, problems, explanation=said)


def _rules(snapshot: Snapshot, found: Change, tree: CommitTree) -> tuple[JudgedRule, ...]:
    """The rules that bind the change, each with the files of HEAD that it binds.

    What bound a file that was renamed is about the file by its new name.
    """
    now = {each.before: each.path for each in found.files if each.before is not None}
    bound: dict[str, dict[str, None]] = {}
    rules: dict[str, JudgedRule] = {}
    for answer in snapshot.why(found.paths):
        names = [name for name in (answer.path, now.get(answer.path)) if name and tree.has(name)]
        for rule in answer.rules:
            rules[rule.id] = JudgedRule(
                rule.id, rule.severity, rule.revision, rule.title, rule.path
            )
            bound.setdefault(rule.id, {}).update(dict.fromkeys(names))
    return tuple(replace(rules[each], files=tuple(sorted(bound[each]))) for each in sorted(rules))


def _not_understood(snapshot: Snapshot) -> Iterator[ReviewProblem]:
    """The rules of the base that nobody could be held to."""
    for rule in snapshot.rules.not_enforced:
        if rule.activation is Activation.UNKNOWN:
            said = f"{rule.path} of the base cannot be understood, so that nobody judged by it."
            yield ReviewProblem("rule_not_understood", rule.id, said)


def _words(snapshot: Snapshot, rules: Sequence[JudgedRule]) -> dict[str, str]:
    """What each rule says, without what is said about it."""
    documents = {rule.id: snapshot.document(rule.id) for rule in rules}
    return {name: f"{each.title}\n{each.body}" for name, each in documents.items()}


def _standard(snapshot: Snapshot) -> Standard:
    settings = snapshot.settings.review
    return Standard(Severity(settings.block_on), settings.confidence_percent / 100)


def _questions(
    snapshot: Snapshot, found: Change, tree: CommitTree, changed: Mapping[str, str]
) -> Iterator[str]:
    """What only a person can judge."""
    if not found.files:
        yield "the change is empty: there was nothing to review"
    ours = ".hornbook/records/"
    added = [path for path in found.paths if is_rule_file(path) and not path.startswith(ours)]
    if added and not snapshot.rules.enforced:
        yield f"the base has no rules and the change brings some ({', '.join(added)})"
    unseen = [
        path
        for path in found.paths
        if tree.has(path) and path not in changed and grammar_of(path) is not None
    ]
    if unseen:
        yield f"source files that nobody can read, because they hold NUL bytes: {', '.join(unseen)}"


def briefs(
    reviews: Sequence[PrintedReview],
    receipts: Sequence[Mapping[str, object]],
    rules: Sequence[JudgedRule],
) -> Iterator[ReviewBrief]:
    """Which rules each review had to answer: those of the receipt that it fits best."""
    everything = frozenset(rule.id for rule in rules)
    sets = [
        frozenset(listed(receipt)) & everything if receipt.get("whole_set") else everything
        for receipt in receipts
    ]
    for printed in reviews:
        mentioned = [sum(f'"{each}"'.encode() in printed.data for each in ids) for ids in sets]
        best = max(range(len(sets)), key=lambda place: (mentioned[place], -place))
        yield ReviewBrief(printed.name, sets[best], printed.data)
