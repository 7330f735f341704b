"""What rules did, or would have done, to past changes: each change's packet, without its text.

A change is a step of a branch. It is judged as `context review --diff PARENT..COMMIT` would judge
it; what several steps share is made once. That is: what a commit holds follows from what its
parent holds and how they differ, one git reads the patches of several steps, and steps whose rule
files are the same have one rule graph.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path

from hornbook.commits import git
from hornbook.commits.change import Change, change_from_nothing, changes
from hornbook.commits.history import Step, carry_entries, steps, tip_of
from hornbook.context.prompt import Outcome, Reason
from hornbook.context.review_packet import Contexts, Packet
from hornbook.errors import HornbookError, UsageError
from hornbook.graph.commit_graph import graph_at, rules_key
from hornbook.graph.snapshot import Snapshot
from hornbook.graph.work_tree_graph import work_tree_graph
from hornbook.rules.catalog import Entry
from hornbook.settings.settings import Settings
from hornbook.text.tokens import RememberingCounter
from hornbook.vocabulary.terms import Scope

NOT_JUDGED = "not_judged"
TOGETHER = 16
"""How many changes are read by one git: more take more memory, fewer more processes."""
GRAPHS_HELD = 8
"""How many rule graphs are held; a branch rarely goes back to rules that it left long ago."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class ReplayedPacket:
    """What became of a change's packet: the outcome of its context, or `not_judged`."""

    outcome: str
    rules: tuple[str, ...] = ()
    tokens: int = 0
    passes: int = 0
    reasons: tuple[Reason, ...] = ()
    revisions: frozenset[str] = frozenset()

    @property
    def kind(self) -> str:
        """The count of the summary that it belongs to."""
        if self.outcome == Outcome.SOP_OVERFLOW and self.passes:
            return "passes"
        refused = self.outcome in {Outcome.SOP_OVERFLOW, Outcome.FAILED}
        return "refused" if refused else self.outcome

    @property
    def essence(self) -> "ReplayedPacket":
        """The same without words that name where the room for rules was set."""
        return replace(self, reasons=tuple(Reason(each.code, "") for each in self.reasons))

    @property
    def fits(self) -> bool:
        """Whether a reviewer can be given it, whole or in passes."""
        return self.kind in {"complete", "passes"}


@dataclass(frozen=True, slots=True)
class ReplayedChange:
    """One step of the branch and its packet; `against` is the packet by the other rules."""

    step: Step
    files: tuple[str, ...]
    packet: ReplayedPacket
    against: ReplayedPacket | None = None

    @property
    def changed(self) -> bool:
        """Whether the other rules judge it differently: other rules or texts, room or outcome."""
        return self.against is not None and self.against.essence != self.packet.essence


@dataclass(frozen=True, slots=True)
class Replay:
    """The changes, oldest first, and the rules that bound none of them, with where they stand.

    `notes` say what could not be told.
    """

    changes: tuple[ReplayedChange, ...]
    never_bound: tuple[str, ...]
    notes: tuple[str, ...] = ()
    never_bound_at: tuple[str, ...] = ()

    def counts(self) -> dict[str, int]:
        """How many changes came to each end."""
        kinds = [each.packet.kind for each in self.changes]
        ends = ("complete", "passes", "refused", "too_big", NOT_JUDGED)
        return {"changes": len(kinds), **{end: kinds.count(end) for end in ends}}


@dataclass(frozen=True, slots=True)
class JudgingRules:
    """Rules that judge changes: those of a commit, or of the work tree if it names none."""

    commit: str | None
    snapshot: Snapshot


def replay(
    root: Path,
    *,
    last: int | None = None,
    span: str | None = None,
    against: str | Snapshot | None = None,
    progress: Progress,
) -> Replay:
    """The last changes of the branch, or those of a range `A..B`, each by the rules of its base.

    With `against`, a revision or the graph of the work tree, all are judged twice: by the rules
    of the range's tip, and by those.

    Raises:
        UsageError: The range or the revision names no commit.
        ConfigError: The settings of the tip or of the revision are wrong, and both are needed.
    """
    with git.operation(root) as held:
        chain = steps(root, last=last, span=span)
        tip = tip_of(root, span)
        sets = () if against is None else _rule_sets(root, tip, against)
        judge = _Judge(root, sets)
        found = []
        for done, (step, change) in enumerate(_with_changes(root, chain)):
            progress("Changes", done, len(chain))
            found.append(judge.replayed(step, change))
            if step.base is not None:
                held.forget(step.base)
        never, notes = _never_bound(root, found, sets, tip)
        places = tuple(each.path for each in never)
        return Replay(tuple(found), tuple(each.id for each in never), notes, places)


def replay_here(
    root: Path,
    settings: Settings,
    *,
    last: int | None,
    span: str | None,
    against: str | None,
    worktree: bool,
    progress: Progress,
) -> Replay:
    """The same, against a revision or with `worktree` against the rules of the files here.

    Raises:
        UsageError: Both are asked for; or as `replay` does.
    """
    if not worktree:
        return replay(root, last=last, span=span, against=against, progress=progress)
    if against is not None:
        raise UsageError("judge against a revision or against the work tree, not both.")
    with work_tree_graph(root, settings) as here:
        return replay(root, last=last, span=span, against=here, progress=progress)


def _rule_sets(root: Path, tip: str, against: str | Snapshot) -> tuple[JudgingRules, ...]:
    if isinstance(against, Snapshot):
        other = JudgingRules(None, against)
    else:
        name = git.commit(root, against)
        other = JudgingRules(name, graph_at(root, name))
    return JudgingRules(tip, graph_at(root, tip)), other


def _with_changes(
    root: Path, chain: Sequence[Step]
) -> Iterator[tuple[Step, Change | HornbookError | None]]:
    """Each step with its change, or why it cannot be read; None where there is no parent."""
    carried = carry_entries(root, chain)
    while together := tuple(islice(carried, TOGETHER)):
        found = _read(root, together)
        for step in together:
            yield step, found.get(step.commit)


def _read(root: Path, together: Iterable[Step]) -> Mapping[str, Change | HornbookError]:
    pairs = [(step.base, step.commit) for step in together if step.base is not None]
    try:
        return {change.head: change for change in changes(root, pairs)}
    except UsageError as problem:
        if len(pairs) == 1:
            return {pairs[0][1]: problem}
    # One of them cannot be read: the others are.
    found: dict[str, Change | HornbookError] = {}
    for step in together:
        found.update(_read(root, [step]))
    return found


class _Judge:
    """Makes the packets of steps: by the rules of each one's base, or by the given rule sets."""

    def __init__(self, root: Path, sets: Sequence[JudgingRules]) -> None:
        self._root = root
        self._sets = sets
        self._graphs: OrderedDict[str, Snapshot] = OrderedDict()
        self._counters = cache(RememberingCounter)

    def replayed(self, step: Step, change: Change | HornbookError | None) -> ReplayedChange:
        """The step with what became of its change."""
        if change is None and self._sets and step.missing is None:
            change = self._from_nothing(step)
        if not isinstance(change, Change):
            packet = _not_judged(*_why_not(step, change))
            return ReplayedChange(step, (), packet, packet if self._sets else None)
        if not self._sets:
            return ReplayedChange(step, change.paths, self._by_base(change))
        first, second = (self._by(change, rules) for rules in self._sets)
        return ReplayedChange(step, change.paths, first, second)

    def _from_nothing(self, step: Step) -> Change | HornbookError:
        try:
            found = change_from_nothing(self._root, step.commit)
            return replace(found, base=step.commit)  # the prompt names a commit, whoever judges
        except UsageError as problem:
            return problem

    def _by_base(self, change: Change) -> ReplayedPacket:
        try:
            snapshot = self._graph_of(change.base)
        except HornbookError as problem:
            return _not_judged("unreadable_rules", f"the rules of its parent: {problem}")
        return self._by(change, JudgingRules(change.base, snapshot))

    def _graph_of(self, base: str) -> Snapshot:
        """The rule graph of a commit; one with the same rule files has the same."""
        key = rules_key(self._root, base)
        if key not in self._graphs:
            self._graphs[key] = graph_at(self._root, base)
            if len(self._graphs) > GRAPHS_HELD:
                self._graphs.popitem(last=False)
        self._graphs.move_to_end(key)
        return self._graphs[key]

    def _by(self, change: Change, rules: JudgingRules) -> ReplayedPacket:
        contexts = Contexts(self._root, rules.snapshot, counters=self._counters)
        try:
            packet = contexts.of_change(change, rules.snapshot, judge=rules.commit)
        except HornbookError as problem:
            return _not_judged("unreadable_change", str(problem))
        return _replayed_packet(packet)


def _replayed_packet(packet: Packet) -> ReplayedPacket:
    context = packet.context
    return ReplayedPacket(
        outcome=context.outcome,
        rules=context.sop_ids,
        tokens=context.tokens,
        passes=len(context.passes),
        reasons=context.reasons,
        revisions=frozenset(rule.unit.revision for rule in packet.review.rules),
    )


def _not_judged(code: str, message: str) -> ReplayedPacket:
    return ReplayedPacket(NOT_JUDGED, reasons=(Reason(code, message),))


def _why_not(step: Step, problem: HornbookError | Change | None) -> tuple[str, str]:
    if step.missing is not None:
        return "missing_parent", (
            f"its parent {step.missing[:12]} is not in this clone: fetch it with "
            "`git fetch --unshallow`, or `--deepen=N` for N commits more."
        )
    if problem is None:
        return "no_base", (
            "it is the first commit, before it there are no rules: `--against` judges it by "
            "those of another commit."
        )
    return "unreadable_change", str(problem)


def _never_bound(
    root: Path, found: Iterable[ReplayedChange], sets: Sequence[JudgingRules], tip: str
) -> tuple[tuple[Entry, ...], tuple[str, ...]]:
    """The rules, of the last of the rule sets or of the tip, that bound none of the changes.

    Nor did the same text from another place, which stands for it where both would bind.
    """
    try:
        snapshot = sets[-1].snapshot if sets else graph_at(root, tip)
    except HornbookError as problem:
        return (), (f"Which rules never bound cannot be told: {problem}",)
    judged = [each.against or each.packet for each in found]
    if all(packet.outcome == "not_judged" for packet in judged):
        return (), ()
    bound = {rule for packet in judged for rule in packet.rules}
    rules = [each for each in snapshot.rules.enforced if each.scope is not Scope.PLAN]
    texts = {each.sha256 for each in rules if each.id in bound}
    never = (each for each in rules if each.sha256 not in texts)
    return tuple(sorted(never, key=lambda each: each.id)), ()


def answer(found: Replay) -> dict[str, object]:
    """The replay as JSON, the newest change first."""
    changed = sum(each.changed for each in found.changes)
    never = list(found.never_bound)
    return {
        "changes": [_change_answer(each) for each in reversed(found.changes)],
        "summary": {**found.counts(), "never_bound": never, "changed": changed},
        "notes": list(found.notes),
    }


def _change_answer(each: ReplayedChange) -> dict[str, object]:
    step = each.step
    told: dict[str, object] = {
        "commit": step.commit,
        "base": step.base,
        "date": step.date,
        "subject": step.subject,
        "files": list(each.files),
        **_packet_answer(each.packet),
    }
    if each.against is not None:
        told["against"] = _packet_answer(each.against)
        told["changed"] = each.changed
    return told


def _packet_answer(packet: ReplayedPacket) -> dict[str, object]:
    return {
        "outcome": packet.outcome,
        "rules": list(packet.rules),
        "tokens": packet.tokens,
        "passes": packet.passes,
        "reasons": [{"code": each.code, "message": each.message} for each in packet.reasons],
    }
