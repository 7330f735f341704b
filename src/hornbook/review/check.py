"""Judges reviews: everything but the review itself is recomputed from git.

The change, the rules that bind it at its base, the texts that evidence must stand in, the prompt
that its reviewers were given and the definitions of its gates are all made again from commits. A
receipt only says which change is meant, and gate results are held against the base's definitions.
What cannot be made again, or comes out differently, is a doubt, and a doubt makes a review invalid.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from hornbook.commits import git
from hornbook.commits.change import Change, change
from hornbook.context.prompt import Context, ReviewerBrief
from hornbook.context.receipt import SCHEMA
from hornbook.context.review_packet import Contexts, Packet, bound_rules, edited_rules
from hornbook.errors import UsageError
from hornbook.gates.gate import GateReport
from hornbook.graph.commit_graph import graph_at
from hornbook.graph.snapshot import Snapshot
from hornbook.review.evidence import lines_of
from hornbook.review.gate_check import gate_doubts, gate_warnings
from hornbook.review.integrity import Reviewed, Standard
from hornbook.review.judge import Case, ReviewBrief, judge
from hornbook.review.judgement import JudgedRule, Judgement, ReviewProblem, Route, Ruling
from hornbook.review.printed_review import PrintedReview
from hornbook.review.receipt_against_git import (
    PROMPT_AGAIN,
    Expected,
    Receipt,
    differences,
    listed,
    prompt_differences,
    prompt_warnings,
)
from hornbook.rules.code.parsing import grammar_of
from hornbook.rules.document_reader import is_rule_file
from hornbook.vocabulary.terms import Activation, Severity

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


_SNIFFED = 8000


class CommitTree:
    """The regular files of a commit; a binary file has no lines."""

    def __init__(self, root: Path, commit: str) -> None:
        self._root = root
        self._blobs = git.files_at(root, commit)
        self._lines: dict[str, list[str]] = {}

    def has(self, path: str) -> bool:
        """Whether the path is a regular file of the commit."""
        return path in self._blobs

    def lines(self, path: str) -> list[str]:
        """The lines of a file."""
        if path not in self._lines:
            self._lines[path] = lines_of(self.texts([path]).get(path, ""))
        return self._lines[path]

    def texts(self, paths: Iterable[str]) -> dict[str, str]:
        """Those of the paths that are text files of the commit, with what they hold."""
        wanted = {path: self._blobs[path] for path in paths if path in self._blobs}
        held = git.blobs(self._root, wanted.values())
        return {
            path: held[blob].decode("utf-8", "replace")
            for path, blob in wanted.items()
            if b"\0" not in held[blob][:_SNIFFED]
        }


def check_reviews(
    root: Path,
    reviews: Sequence[PrintedReview],
    receipts: Sequence[Receipt],
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
    with git.operation(root):
        strange = _strange(root, receipts, span)
        if strange:
            return _without_context(strange)
        case = recompute_case(root, receipts, gates, bound=bound)
        if not chained:
            case = replace(case, warnings=(*case.warnings, *prompt_warnings(receipts)))
        return judge(case, list(briefs(reviews, receipts, case.rules)))


def recompute_case(
    root: Path,
    receipts: Sequence[Receipt],
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
        *_prompt_doubts(root, found, snapshot, receipts),
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


def _strange(root: Path, receipts: Sequence[Receipt], span: str | None) -> list[str]:
    """Why the receipts are none to judge by."""
    if not receipts:
        return ["There is no receipt: give the one of the packet."]
    strange = [problem for receipt in receipts for problem in _not_ours(receipt)]
    if strange or span is None:
        return strange
    return list(_of_another_change(root, span, receipts))


def _not_ours(receipt: Receipt) -> Iterator[str]:
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


def _of_another_change(root: Path, span: str, receipts: Sequence[Receipt]) -> Iterator[str]:
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
    bound: dict[str, set[str]] = {}
    rules: dict[str, JudgedRule] = {}
    for answer in snapshot.why(found.paths):
        names = {answer.path, now.get(answer.path, answer.path)}
        for each in answer.rules:
            rules[each.id] = JudgedRule(
                each.id, each.severity, each.revision, each.title, each.path
            )
            bound.setdefault(each.id, set()).update(filter(tree.has, names))
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
    if not snapshot.rules.enforced:
        added = [path for path in found.paths if is_rule_file(path) and not _is_record(path)]
        if added:
            yield f"the base has no rules and the change brings some ({', '.join(added)})"
    unseen = _unreadable_sources(found, tree, changed)
    if unseen:
        yield f"source files that nobody can read, because they hold NUL bytes: {', '.join(unseen)}"


def _unreadable_sources(found: Change, tree: CommitTree, changed: Mapping[str, str]) -> list[str]:
    texts = filter(tree.has, found.paths)
    return [path for path in texts if path not in changed and grammar_of(path) is not None]


def _is_record(path: str) -> bool:
    return path.startswith(".hornbook/records/")


def briefs(
    reviews: Sequence[PrintedReview],
    receipts: Sequence[Receipt],
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


def _prompt_doubts(
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
                contexts = Contexts(root, snapshot, told=_brief_in(receipt))
                made[key] = contexts.of_change(found, snapshot, _model(receipt))
            yield from prompt_differences(receipt, _context(made[key], receipt))
        except (UsageError, msgspec.ValidationError) as problem:
            yield f"The receipt's prompt cannot be made again ({problem}): {PROMPT_AGAIN}"


def _brief_in(receipt: Receipt) -> ReviewerBrief:
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
