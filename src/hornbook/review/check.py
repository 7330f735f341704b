"""Judges reviews: everything but the review itself is recomputed from git.

The change, the rules that bind it at its base, the texts that evidence must stand in, the prompt
that its reviewers were given and the definitions of its gates are all made again from commits. A
receipt only says which change is meant, and gate results are held against the base's definitions.
What cannot be made again, or comes out differently, is a doubt, and a doubt makes a review invalid.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hornbook.commits import git
from hornbook.commits.change import Change, change
from hornbook.commits.commit import commit_at
from hornbook.commits.content import Content, FileChange, Hidden, content_of
from hornbook.context.edited_judges import edited_judges
from hornbook.context.prompt import Context, ReviewerBrief
from hornbook.context.receipt import NO_UNITS, SCHEMA, asked_in
from hornbook.context.review_packet import Contexts, Packet, bound_rules, unread
from hornbook.context.reviewer_context import Rule
from hornbook.errors import UsageError
from hornbook.gates.gate import GateReport
from hornbook.graph.commit_graph import graph_at, settings_of
from hornbook.graph.snapshot import Snapshot
from hornbook.review.canary_files import planted
from hornbook.review.evidence.bearing import MOST_LISTED
from hornbook.review.evidence.changed_files import ChangedFile, Reviewed, changed_files
from hornbook.review.evidence.resolution import lines_of
from hornbook.review.gate_check import base_test_doubts, gate_doubts, gate_warnings
from hornbook.review.integrity import LEAST, Standard
from hornbook.review.judge import Case, ReviewBrief, judge, judge_gates
from hornbook.review.judgement import (
    JudgedRule,
    JudgedUnit,
    Judgement,
    ReviewProblem,
    Route,
    Ruling,
)
from hornbook.review.opinions import OpinionsAsked, refutes
from hornbook.review.printed_review import PrintedReview
from hornbook.review.receipt_against_git import (
    PROMPT_AGAIN,
    Expected,
    Receipt,
    differences,
    items_of,
    prompt_differences,
    prompt_warnings,
)
from hornbook.rules.binding import is_broken_link
from hornbook.rules.code.generated import PATTERNS, is_generated
from hornbook.rules.document import Unread
from hornbook.rules.document_reader import is_rule_file
from hornbook.rules.rendering import header
from hornbook.settings.places import Places
from hornbook.settings.reserve import AUTO, ReserveFrom
from hornbook.text.visible import as_text, visible
from hornbook.vocabulary.terms import Activation, Severity

if TYPE_CHECKING:
    from hornbook.review.calibration import Threshold

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
PROTECTED = ("origin/HEAD", "main", "master")
"""The branches that changes are judged by, the first that is there, unless `review.base` says."""
MOST_EDITED = 5
"""How many of the files that judge changes are named in the problem; each is a finding too."""
MOST_HIDDEN = 5
"""How much of what is hidden in a file is told."""


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
        """Those of the paths that are text files of the commit, as a prompt shows them."""
        wanted = {path: self._blobs[path] for path in paths if path in self._blobs}
        held = git.blobs(self._root, wanted.values())
        return {
            path: as_text(held[blob])
            for path, blob in wanted.items()
            if content_of(path, held[blob]) is Content.TEXT
        }


def check_reviews(  # noqa: PLR0913  # each is a fact that only the caller knows
    root: Path,
    reviews: Sequence[PrintedReview],
    receipts: Sequence[Receipt],
    gates: GateReport | None = None,
    span: str | None = None,
    *,
    today: date,
    bound: bool = False,
    chained: bool = False,
    confidence: float = 0.0,
) -> Judgement:
    """The judgement of a change: reviews of the whole, or of the passes that together cover it.

    `today` decides which rules may still stay unread.
    With a span, the receipts must be for just that change; with `bound` there must be gate
    results, and they must name the tree, base and head. `chained` receipts are those that a run's
    events have the hashes of. Of the setting and `confidence` the stricter decides below which
    confidence a person is asked.

    Raises:
        UsageError: The receipts are for different changes, or git does not have the commits.
    """
    with git.operation(root):
        # What was planted can be approved by nobody, whichever change is said to be meant.
        canary = planted(Places(root), receipts)
        strange = _strange(root, receipts, span if canary is None else None)
        if strange:
            return _without_context(strange)
        case = recompute_case(root, receipts, gates, today=today, bound=bound, chained=chained)
        least = max(case.standard.confidence, confidence)
        case = replace(case, canary=canary, standard=replace(case.standard, confidence=least))
        said = "\n".join(each.data.decode("utf-8", "replace") for each in reviews)
        found = change(root, f"{case.base}..{case.head}")
        old = base_test_doubts(root, found, gates, said)
        case = replace(case, doubts=(*case.doubts, *old))
        if canary is None:
            case = replace(case, opinions=_opinions(root, case, receipts))
        case = replace(case, thresholds=_thresholds(root, case, reviews, receipts, in_run=chained))
        if not chained:
            case = replace(case, warnings=(*case.warnings, *prompt_warnings(receipts)))
            unsaid = span is None and canary is None
            unnamed = _unnamed(root, str(case.base)) if unsaid else ()
            case = replace(case, doubts=(*case.doubts, *unnamed))
        return judge(case, list(briefs(reviews, receipts, case.rules)))


def judge_without_review(
    root: Path, receipts: Sequence[Receipt], gates: GateReport, *, today: date
) -> Judgement:
    """The judgement of a change whose gates did not pass, so that no reviewer was asked.

    Raises:
        UsageError: Git does not have the commits.
    """
    with git.operation(root):
        return judge_gates(recompute_case(root, receipts, gates, today=today))


def recompute_case(
    root: Path,
    receipts: Sequence[Receipt],
    gates: GateReport | None = None,
    *,
    today: date,
    bound: bool = False,
    chained: bool = False,
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
    tree, old = CommitTree(root, head), CommitTree(root, found.merge_base)
    binding = bound_rules(snapshot, found.paths)
    rules = _rules(binding, snapshot, found, tree)
    changed = tree.texts(found.paths)
    wanted = snapshot.settings.review.gates == "bound"
    edited = tuple(edited_judges(root, found, snapshot))
    expected = Expected(
        found,
        {piece.id: piece for rule in binding for piece in rule.pieces},
        frozenset(unit.id for rule in rules for unit in rule.judged),
    )
    doubts = [
        *(said for receipt in receipts for said in differences(receipt, expected)),
        *_prompt_doubts(root, found, snapshot, receipts),
        *gate_doubts(root, found, gates, bound=bound or wanted, chained=chained),
    ]
    files = changed_files(found, changed, generated_by(snapshot, old))
    return Case(
        rules=rules,
        reviewed=Reviewed(
            tree, changed, _words(snapshot, binding), old, files, _told_by_words(binding)
        ),
        standard=_standard(snapshot),
        gates=gates,
        edited=edited,
        doubts=(
            *(ReviewProblem("no_context", None, said) for said in doubts),
            *_unseen(snapshot, found),
            *_not_read(snapshot, found, today),
            *_judged_by_itself(edited),
        ),
        questions=tuple(_questions(snapshot, found)),
        warnings=(*gate_warnings(gates), *_not_understood(snapshot), *_unlooked(rules, files)),
        outside=found.outside,
        base=base,
        head=head,
    )


def _unlooked(
    rules: Iterable[JudgedRule], files: Mapping[str, ChangedFile]
) -> Iterator[ReviewProblem]:
    """New code that rules of severity error bind, and that nobody looks at, by its own word."""
    bound = {path for rule in rules if rule.severity == "error" for path in rule.files}
    said = sorted(path for path, file in files.items() if file.only_said and path in bound)
    if said:
        message = (
            f"{', '.join(said[:MOST_LISTED])} says itself that it is generated, so that no review "
            "has to look at what is new in it: is it?"
        )
        yield ReviewProblem("unseen_generated", None, message)


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
    if not _lists_rules(receipt):
        yield "The receipt lists no rules: make it with `review prepare --diff BASE..HEAD`."
    elif "units" not in receipt:
        yield f"{NO_UNITS[0].upper()}{NO_UNITS[1:]}."


def _lists_rules(receipt: Receipt) -> bool:
    try:
        asked_in({"units": [], **receipt})
    except (KeyError, TypeError):
        return False
    return isinstance(receipt.get("sections"), list)


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


def _rules(
    binding: Sequence[Rule], snapshot: Snapshot, found: Change, tree: CommitTree
) -> tuple[JudgedRule, ...]:
    """The rules that bind the change, each with the files of HEAD that it binds.

    What bound a file that was renamed is about the file by its new name.
    """
    now = {each.before: each.path for each in found.files if each.before is not None}
    judged = []
    for rule in binding:
        entry = snapshot.by_id[rule.unit.id]
        names = {name for path in rule.files for name in (path, now.get(path, path))}
        whole = JudgedRule(
            id=entry.id,
            severity=str(rule.unit.severity),
            revision=rule.unit.revision,
            title=entry.title,
            path=entry.path,
            files=tuple(sorted(filter(tree.has, names))),
            gone=tuple(sorted(name for name in names if not tree.has(name))),
        )
        units = (
            JudgedUnit(
                id=each.unit.id,
                sop_id=whole.id,
                severity=str(each.unit.severity),
                title=each.title,
                path=each.path,
                files=whole.files,
                gone=whole.gone,
            )
            for each in rule.sections
        )
        judged.append(replace(whole, units=tuple(units)))
    return tuple(judged)


def _not_read(snapshot: Snapshot, found: Change, today: date) -> Iterator[ReviewProblem]:
    """The rules of the base that should bind the change, could not be read and are not accepted."""
    accepted: dict[str | None, str] = {}
    for entry in snapshot.settings.review.unread:
        accepted[entry.path] = max(entry.until, accepted.get(entry.path, ""))
    for each in unread(snapshot, found.paths):
        until = accepted.get(each.path, "")
        if Unread(each.reason).is_meant or until >= today.isoformat():
            continue
        past = f"; that was accepted until {until}" if until else ""
        said = f"{each.path} should bind the change and cannot be read ({each.reason}){past}."
        yield ReviewProblem("rule_not_read", each.id, said)


def _not_understood(snapshot: Snapshot) -> Iterator[ReviewProblem]:
    """The rules of the base that nobody could be held to."""
    for rule in snapshot.rules.not_enforced:
        if rule.activation is Activation.UNKNOWN and not is_broken_link(rule):
            said = f"{rule.path} of the base cannot be understood, so that nobody judged by it."
            yield ReviewProblem("rule_not_understood", rule.id, said)


def _words(snapshot: Snapshot, binding: Sequence[Rule]) -> dict[str, str]:
    """What each rule, or section of a large one, says, without what is said about it."""
    found = {}
    for rule in binding:
        document = snapshot.document(rule.unit.id)
        texts = [f"# {document.title}", document.body, *(each.text for each in rule.included)]
        found[document.id] = "\n".join(texts)
        for each in rule.sections:
            text = each.unit.text.removeprefix(header(document))
            found[each.unit.id] = f"# {each.title}\n{text}"
    return found


def _told_by_words(binding: Sequence[Rule]) -> frozenset[str]:
    """The ids of rules and sections whose severity is inferred."""
    rules = {rule.unit.id for rule in binding if rule.inferred}
    return frozenset(rules | {s.unit.id for rule in binding for s in rule.sections if s.inferred})


def _standard(snapshot: Snapshot) -> Standard:
    settings = snapshot.settings.review
    return Standard(
        Severity(settings.block_on),
        LEAST if settings.confidence_percent == AUTO else int(settings.confidence_percent) / 100,
        frozenset(settings.escalate_on),
    )


def generated_by(snapshot: Snapshot, old: CommitTree) -> Callable[[FileChange, str], bool]:
    """Whether a file is one that nobody wrote by hand, by the base's settings.

    A change cannot call a file generated that was none before.
    """
    patterns = (*PATTERNS, *snapshot.settings.generated)

    def generated(each: FileChange, text: str) -> bool:
        if is_generated(each.path, text.encode(), patterns) is None:
            return False
        before = "\n".join(old.lines(each.before or each.path)) if each.status != "A" else ""
        return not before or is_generated(each.path, before.encode(), patterns) is not None

    return generated


def _questions(snapshot: Snapshot, found: Change) -> Iterator[str]:
    """What only a person can judge."""
    if not found.files:
        yield "the change is empty: there was nothing to review"
    if not snapshot.rules.enforced:
        added = [path for path in found.paths if is_rule_file(path) and not _is_record(path)]
        if added:
            yield f"the base has no rules and the change brings some ({', '.join(added)})"


def _unseen(snapshot: Snapshot, found: Change) -> Iterator[ReviewProblem]:
    """What no reviewer of the patches could see: a person has to look."""
    if len(found.merge_bases) > 1:
        names = ", ".join(name[:12] for name in found.merge_bases)
        said = (
            f"The two sides have {len(found.merge_bases)} merge bases ({names}), so that no patch "
            "shows everything that merging would change: merge or rebase on the base, then prepare "
            "the review again."
        )
        yield ReviewProblem("several_merge_bases", None, said)
    if found.incomplete:
        said = f"{found.incomplete[:1].upper()}{found.incomplete[1:]}, so that nobody knows what"
        said += " the change is made of: fetch the whole history and prepare the review again."
        yield ReviewProblem("incomplete_history", None, said)
    for path, several in groupby(found.hidden, key=lambda each: each.path):
        if snapshot.rules.bind(path):
            yield _hidden_content(path, list(several))


def _judged_by_itself(edited: Sequence[str]) -> Iterator[ReviewProblem]:
    """A change of what judges changes: nobody whom it judges can say whether that is right."""
    if edited:
        more = f" and {len(edited) - MOST_EDITED} more" if len(edited) > MOST_EDITED else ""
        told = ", ".join(visible(path) for path in edited[:MOST_EDITED])
        said = f"The change edits what judges changes ({told}{more}): a person decides."
        yield ReviewProblem("edited_judges", None, said)


def _hidden_content(path: str, hidden: Sequence[Hidden]) -> ReviewProblem:
    told = [f"line {each.line}: {each.what}" if each.line else each.what for each in hidden]
    more = f" and {len(told) - MOST_HIDDEN} more" if len(told) > MOST_HIDDEN else ""
    said = f"{visible(path)} is not what is seen of it: {'; '.join(told[:MOST_HIDDEN])}{more}."
    return ReviewProblem("hidden_content", None, said)


def _unnamed(root: Path, base: str) -> Iterator[ReviewProblem]:
    """Why nobody said which change is meant: a branch's own commit is no base to judge by."""
    branch = _protected(root)
    if branch is None:
        said = f"no branch {', '.join(PROTECTED)} is there to hold its base against"
    elif not git.is_ancestor(root, base, branch):
        said = f"its base {base[:12]} is not on {branch}"
    else:
        return
    yield ReviewProblem(
        "unnamed_change", None, f"The receipt alone names the change, and {said}: give the diff."
    )


def _protected(root: Path) -> str | None:
    """The branch whose commits may be bases; its own settings may name another one."""
    branch = next((name for name in PROTECTED if git.is_commit(root, name)), None)
    if branch is None:
        return None
    named = settings_of(commit_at(root, branch)).review.base or branch
    return named if git.is_commit(root, named) else None


def _is_record(path: str) -> bool:
    return path.startswith(".hornbook/records/")


def briefs(
    reviews: Sequence[PrintedReview],
    receipts: Sequence[Receipt],
    rules: Sequence[JudgedRule],
) -> Iterator[ReviewBrief]:
    """What each review had to answer: what the receipt that it fits best asks for."""
    everything = frozenset(unit.id for rule in rules for unit in rule.judged)
    packets = [_asked(receipt, everything) for receipt in receipts]
    for printed in reviews:
        best = max(range(len(packets)), key=lambda place: (*_fit(printed, *packets[place]), -place))
        asked, shown = packets[best]
        yield ReviewBrief(printed.name, asked, printed.data, shown)


def _opinions(root: Path, case: Case, receipts: Sequence[Receipt]) -> OpinionsAsked:
    """How many opinions the base asks for, and whether the receipts have the second one."""
    wanted = settings_of(commit_at(root, str(case.base))).review.reviewers
    asked = [_asked(receipt, frozenset(case.units))[0] for receipt in receipts]
    return OpinionsAsked(wanted, refutes(receipts, asked))


def _thresholds(
    root: Path,
    case: Case,
    reviews: Sequence[PrintedReview],
    receipts: Sequence[Receipt],
    *,
    in_run: bool,
) -> "dict[str, Threshold]":
    """How sure each review has to be, by the base's records of its reviewer, if that is `auto`."""
    if settings_of(commit_at(root, str(case.base))).review.confidence_percent != AUTO:
        return {}
    from hornbook.review.calibration import threshold  # noqa: PLC0415  # rarely asked for
    from hornbook.review.review_history import receipt_facts, reviewers_at  # noqa: PLC0415  # the same
    from hornbook.review.reviewers import model_of, reviewer_name  # noqa: PLC0415  # the same

    known = {
        (each.reviewer, each.model): each.threshold
        for each in reviewers_at(root, str(case.base)).reviewers
    }
    packets = [receipt_facts(each) for each in receipts]
    found = {}
    for printed in reviews:
        who = reviewer_name(printed.name, in_run=in_run)
        found[printed.name] = known.get((who, model_of(who, packets)), threshold(()))
    return found


def _fit(printed: PrintedReview, asked: frozenset[str], shown: frozenset[str]) -> tuple[int, int]:
    """How well a review fits a packet: what of it is mentioned, and what of it is not missed."""
    mentioned = {each for each in asked | shown if f'"{each}"'.encode() in printed.data}
    return len(mentioned), -len(asked - mentioned)


def _asked(receipt: Receipt, everything: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """What a receipt's packet asks for, and what it shows beside that."""
    if not receipt.get("whole_set"):
        return everything, frozenset()
    asked = frozenset(asked_in(receipt)) & everything
    return asked, (frozenset(items_of(receipt, "sops")) & everything) - asked


def _prompt_doubts(
    root: Path, found: Change, snapshot: Snapshot, receipts: Sequence[Receipt]
) -> Iterator[str]:
    """Why receipts cannot be of prompts for the change, as this version of Hornbook makes them.

    What a prompt holds that no commit has is taken from the receipt, which carries it.
    """
    made: dict[tuple[str, str, int | None], Packet] = {}
    for receipt in receipts:
        reserve = _asked_reserve(receipt)
        key = (str(receipt.get("model")), repr(receipt.get("told")), reserve)
        try:
            if key not in made:
                contexts = Contexts(root, snapshot, told=_brief_in(receipt))
                made[key] = contexts.of_change(found, snapshot, _model(receipt), reserve)
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


def _asked_reserve(receipt: Receipt) -> int | None:
    """The reserve that was asked for with an option; no commit has it, so the receipt does."""
    reserve = receipt.get("reserve")
    asked = receipt.get("reserve_from") == ReserveFrom.OPTION
    return reserve if asked and isinstance(reserve, int) else None


def _context(packet: Packet, receipt: Receipt) -> Context:
    """The context that the receipt would be of: the whole, or that of its pass."""
    if not receipt.get("whole_set"):
        return packet.context
    for each in packet.passes():
        if each.context.answer_ids == asked_in(receipt):
            return each.context
    raise UsageError("no pass holds just its rules and sections")
