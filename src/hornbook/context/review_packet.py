"""Gathers what a context is made from: rules, decisions, the change, and the room for them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from hornbook.commits import git
from hornbook.commits.change import Change, change
from hornbook.context.budget import ReviewRoom, endpoint, review_room
from hornbook.context.named_files import expanded
from hornbook.context.plan_brief import Brief
from hornbook.context.prompt import (
    Context,
    LeftOut,
    Pressure,
    ReviewerBrief,
    Unit,
    fenced,
    with_left_out,
)
from hornbook.context.receipt import Circumstances
from hornbook.context.reviewer_context import Extra, ReviewMaterial, Rule, assemble
from hornbook.context.templates.roles import instructions
from hornbook.context.tier_sources import core_tier
from hornbook.context.tiers import Tier
from hornbook.errors import UsageError
from hornbook.graph.commit_graph import graph_at
from hornbook.graph.snapshot import Snapshot
from hornbook.rules.binding import related
from hornbook.rules.catalog import Entry
from hornbook.rules.code.file import code_id
from hornbook.rules.code.generated import PATTERNS, is_generated
from hornbook.rules.code.summary import summarise
from hornbook.rules.document_reader import is_rule_file
from hornbook.rules.rendering import render, render_summary
from hornbook.settings.settings import Settings
from hornbook.text.globs import parse_set
from hornbook.text.tokens import counter
from hornbook.vocabulary.terms import Activation, Category

SUPERSEDED = ("superseded", "superceded", "deprecated", "rejected")


def decisions_about(
    snapshot: Snapshot, paths: Sequence[str], planned: Sequence[Unit]
) -> tuple[tuple[Unit, ...], tuple[LeftOut, ...]]:
    """The decisions of the plan and about these files that stand, and those that do not."""
    later = snapshot.superseded
    current, past = [], []
    for unit in planned:
        if unit.id in later:
            past.append(LeftOut(unit.id, f"it is superseded by {later[unit.id]}"))
        else:
            current.append(unit)
    for entry in _about(snapshot, Category.DECISION, paths):
        document = snapshot.document(entry.id)
        status = document.decision.status if document.decision is not None else ""
        gone = _superseded(status, later.get(entry.id))
        if gone:
            past.append(LeftOut(entry.id, gone))
            continue
        text = f"## {document.title}\n\n- Decision: {entry.id}\n- Status: {status}\n\n"
        current.append(Unit(entry.id, document.revision, text + document.body))
    return tuple(current), tuple(past)


def _superseded(status: str, by: str | None) -> str:
    """Why a decision does not stand any more; empty if it does."""
    says_so = status.lower().startswith(SUPERSEDED)
    if not says_so and not by:
        return ""
    return f"it is {status if says_so else 'superseded'}{f' by {by}' if by else ''}"


def conventions_about(
    snapshot: Snapshot, paths: Sequence[str]
) -> tuple[tuple[Unit, ...], tuple[LeftOut, ...]]:
    """The conventions about these files, and those that no review stands behind any more."""
    found, doubted = [], []
    about = _about(snapshot, Category.CONVENTION, paths)
    taught: dict[str, set[str | None]] = {}
    for convention, _review, outcome in snapshot.store.rows("convention_reviews") if about else ():
        taught.setdefault(convention, set()).add(outcome)
    for entry in about:
        if "approved" not in taught.get(entry.id, {"approved"}):
            reason = "the records of the reviews that it was learned from were altered"
            doubted.append(LeftOut(entry.id, reason))
            continue
        document = snapshot.document(entry.id)
        said = document.summary if document.tool == "record" else document.body
        text = f"## {document.title}\n\n- Convention: {entry.id}\n\n{said}"
        found.append(Unit(entry.id, document.revision, text))
    return tuple(found), tuple(doubted)


def _about(snapshot: Snapshot, category: Category, paths: Sequence[str]) -> list[Entry]:
    """The documents of a category whose patterns fit one of the files."""
    found = []
    for entry in snapshot.catalog.entries:
        if entry.category is category and entry.activation is Activation.GLOB:
            globs = parse_set(pattern.glob for pattern in entry.patterns)
            if any(globs.match(path) is not None for path in paths):
                found.append(entry)
    return found


JUDGING_NOTHING = (
    ".hornbook/.gitignore",
    ".hornbook/records/receipts/",
    ".hornbook/records/reviews/",
    ".hornbook/records/runs/",
    ".hornbook/records/escalations/",
)


@dataclass(frozen=True, slots=True)
class Packet:
    """A context with what it was made for and from."""

    context: Context
    made_for: Circumstances
    review: ReviewMaterial
    room: ReviewRoom

    def passes(self) -> "list[Packet]":
        """The packets that together hold every rule of one that overflowed.

        Raises:
            UsageError: There are none: it did not overflow, or one rule alone is too large.
        """
        if not self.context.passes:
            why = "; ".join(reason.message for reason in self.context.reasons)
            raise UsageError(f"there are no passes to make: {why or self.context.outcome}")
        return [self._one_pass(set(ids)) for ids in self.context.passes]

    def _one_pass(self, ids: set[str]) -> "Packet":
        rules = tuple(rule for rule in self.review.rules if rule.unit.id in ids)
        review = replace(self.review, rules=rules)
        context = assemble(review, self.room, counter(self.context.counter))
        made_for = replace(self.made_for, whole_set=self.context.sop_ids)
        return Packet(context, made_for, review, self.room)


class Contexts:
    """Makes reviewers' contexts for one workspace.

    `earlier` is what reviewers said of the task before, told with what is reviewed. `told` is all
    of that as a receipt carries it, to make its prompt again.
    """

    def __init__(
        self,
        root: Path,
        snapshot: Snapshot,
        pressure: Pressure | None = None,
        brief: Brief | None = None,
        *,
        earlier: str = "",
        told: ReviewerBrief | None = None,
    ) -> None:
        self._root = root
        self._told = told or _reviewer_brief(pressure, brief, earlier)
        self._superseded = brief.superseded if brief else ()
        self._snapshot = snapshot

    def for_files(self, paths: Sequence[str], model: str | None = None) -> Packet:
        """The context for files as they are, judged by the rules as they are ingested.

        Raises:
            UsageError: A rule file that binds them changed since it was ingested.
        """
        made_for = Circumstances(
            files=tuple(expanded(self._root, paths)), graph=self._snapshot.version
        )
        self._refuse_stale(made_for.files)
        contents = {
            path: (self._root / path).read_bytes()
            for path in made_for.files
            if (self._root / path).is_file()
        }
        shown = tuple(
            _file_unit(path, contents[path], self._snapshot.settings) for path in contents
        )
        return self._packet(self._snapshot, made_for, _Seen(shown, contents, "files"), model)

    def at_commit(self, revision: str, paths: Sequence[str], model: str | None = None) -> Packet:
        """The context for files as a commit holds them, judged by that commit's rules.

        Raises:
            UsageError: The revision names no commit.
        """
        snapshot = graph_at(self._root, revision)
        held = git.files_at(self._root, revision)
        wanted = {path: held[path] for path in sorted(set(paths)) if path in held}
        blobs = git.blobs(self._root, wanted.values()) if wanted else {}
        contents = {path: blobs[blob] for path, blob in wanted.items()}
        shown = tuple(_file_unit(path, data, snapshot.settings) for path, data in contents.items())
        made_for = Circumstances(files=tuple(sorted(set(paths))), graph=snapshot.version)
        return self._packet(snapshot, made_for, _Seen(shown, contents, "files"), model)

    def _refuse_stale(self, paths: Sequence[str]) -> None:
        bound = {
            b.rule.path: b.rule.sha256 for path in paths for b in self._snapshot.rules.bind(path)
        }
        changed = [path for path in sorted(bound) if _digest(self._root / path) != bound[path]]
        if changed:
            raise UsageError(
                f"{', '.join(changed)} changed since it was ingested: run `hornbook ingest` first."
            )

    def for_change(self, span: str, model: str | None = None) -> Packet:
        """The context for a change, judged by the rules and settings of its base.

        Raises:
            UsageError: The span does not name a change.
        """
        with git.operation(self._root):
            found = change(self._root, span)
            return self.of_change(found, graph_at(self._root, found.base), model)

    def of_change(self, found: Change, snapshot: Snapshot, model: str | None = None) -> Packet:
        """The same for a change that is known already, with the graph of its base."""
        made_for = Circumstances(
            files=found.paths,
            base=found.base,
            head=found.head,
            merge_base=found.merge_base,
            tree=found.tree,
            findings=tuple(edited_rules(found)),
            told=self._told if self._told != ReviewerBrief() else None,
        )
        diffs = tuple(
            Unit(each.path, found.head[:12], fenced(found.patches[each.path], "diff"))
            for each in found.files
        )
        return self._packet(snapshot, made_for, _Seen(diffs, self._contents(found)), model)

    def _contents(self, found: Change) -> dict[str, bytes]:
        """What the changed files hold at HEAD."""
        held = git.files_at(self._root, found.head)
        wanted = {path: held[path] for path in found.paths if path in held}
        blobs = git.blobs(self._root, wanted.values())
        return {path: blobs[blob] for path, blob in wanted.items()}

    def _packet(
        self,
        snapshot: Snapshot,
        made_for: Circumstances,
        seen: "_Seen",
        model: str | None,
    ) -> Packet:
        settings = snapshot.settings
        name, chosen = endpoint(settings, model)
        rules = bound_rules(snapshot, made_for.files)
        told = self._told
        decisions, left_out = decisions_about(snapshot, made_for.files, told.decisions)
        core = core_tier(
            self._root,
            at=made_for.base,
            rules={snapshot.by_id[rule.unit.id].path for rule in rules},
        )
        conventions, doubted = conventions_about(snapshot, made_for.files)
        left_out = (
            *self._superseded,
            *left_out,
            *doubted,
            *_related(snapshot, rules),
            *core.left_out,
        )
        review = ReviewMaterial(
            files=made_for.files,
            instructions=instructions("reviewer", self._root, at=made_for.base),
            rules=rules,
            extras=(
                Extra("decisions", "Decisions that stand", decisions),
                Extra(
                    "signatures",
                    "The files and what they declare",
                    _signatures(snapshot, seen.contents),
                ),
                Extra("conventions", "Conventions", conventions),
            ),
            diffs=seen.diffs,
            situation=_situation(made_for) + told.situation,
            subject=seen.subject,
            plan=told.plan,
            task=told.task,
            core=core.units,
        )
        space = review_room(settings, chosen, planned=told.plan is not None)
        count = counter(settings.counter)
        core_tokens = sum(count(unit.text) for unit in core.units)
        space = replace(space, core=settings.budget.core, diff=max(0, space.diff - core_tokens))
        context = assemble(review, space, count)
        tiers = with_left_out(context.tiers, Tier.CORE, core.left_out)
        context = replace(context, left_out=(*context.left_out, *left_out), tiers=tiers)
        return Packet(context, replace(made_for, model=name), review, space)


@dataclass(frozen=True, slots=True)
class _Seen:
    """The files under review: their patches, and what they hold."""

    diffs: tuple[Unit, ...]
    contents: dict[str, bytes]
    subject: str = "diff"


def bound_rules(snapshot: Snapshot, paths: Iterable[str]) -> tuple[Rule, ...]:
    """Every rule that binds one of the files, whole, in id order."""
    bound: dict[str, set[str]] = {}
    for path in paths:
        for binding in snapshot.rules.bind(path):
            bound.setdefault(binding.rule.id, set()).add(path)
    found = []
    for rule_id in sorted(bound):
        document = snapshot.document(rule_id)
        unit = Unit(rule_id, document.revision, render(document), document.severity)
        found.append(Rule(unit, frozenset(bound[rule_id])))
    return tuple(found)


def _related(snapshot: Snapshot, rules: Sequence[Rule]) -> list[LeftOut]:
    """The rules about the same subject that do not bind these files."""
    bound = [snapshot.by_id[rule.unit.id] for rule in rules]
    return [LeftOut(*each) for each in related(bound, snapshot.rules_by_subject)]


def _digest(path: Path) -> str | None:
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _file_unit(path: str, data: bytes, settings: Settings) -> Unit:
    """A file under review as text; a generated or binary one only by name."""
    reason = is_generated(path, data, (*PATTERNS, *settings.generated))
    text = f"Not shown: {reason}.\n" if reason else fenced(data.decode("utf-8", "replace"), "")
    return Unit(path, sha256(data).hexdigest()[:12], f"## {path}\n\n{text}")


def _signatures(snapshot: Snapshot, contents: dict[str, bytes]) -> tuple[Unit, ...]:
    """What each file in a language that we know declares; the graph knows it of unchanged ones."""
    found = []
    for path in sorted(contents):
        summary = snapshot.code(path, contents[path]) or summarise(path, contents[path])
        if summary.signatures or summary.problem:
            found.append(Unit(code_id(path), summary.sha256, render_summary(summary)))
    return tuple(found)


def edited_rules(found: Change) -> Iterable[str]:
    """The rule files, and the settings, that a change edits: they are findings."""
    for path in found.paths:
        if path.startswith(JUDGING_NOTHING):
            continue
        if is_rule_file(path) or path.startswith((".hornbook/", ".semspec/")):
            yield path


def _reviewer_brief(pressure: Pressure | None, brief: Brief | None, earlier: str) -> ReviewerBrief:
    """What is said beside what the commits hold."""
    situation = (_pressed(pressure) if pressure is not None else "") + earlier
    if brief is None:
        return ReviewerBrief(situation)
    return ReviewerBrief(situation, brief.intent, brief.work, brief.decisions)


def _pressed(pressure: Pressure) -> str:
    """What a reviewer should know about how the change came about."""
    said = (
        f"The developer's context was {pressure.utilisation_percent} % full, after "
        f"{pressure.steps} steps and {pressure.attempts} attempts."
    )
    warnings = (f"- Gate warning: {warning}" for warning in pressure.gate_warnings)
    return "\n".join(["", said, *warnings, ""])


def _situation(made_for: Circumstances) -> str:
    lines = []
    if made_for.base is not None:
        lines.append(f"- Change: {made_for.merge_base} to {made_for.head}")
        lines.append(f"- Rules and settings: as of {made_for.base}")
    lines += [f"- File: {path}" for path in made_for.files]
    if made_for.findings:
        lines += ["", "The change edits these rule files; say whether that is right:"]
        lines += [f"- {path}" for path in made_for.findings]
    return "\n".join([*lines, ""])
