"""Gathers what a context is made from: rules, decisions, the change, and the room for them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from hornbook.commits import git
from hornbook.commits.change import Change, change
from hornbook.commits.content import Hidden
from hornbook.context.budget import ReviewRoom, RoomAsked, endpoint, review_room
from hornbook.context.developer_packet import require_inputs
from hornbook.context.edited_judges import edited_judges
from hornbook.context.named_files import expanded
from hornbook.context.plan_brief import Brief
from hornbook.context.prompt import (
    Context,
    LeftOut,
    Outcome,
    Pressure,
    Reason,
    ReviewerBrief,
    Unit,
    fenced,
    patch_shown,
    quoted_name,
    with_left_out,
)
from hornbook.context.prompt_secrets import without_secrets
from hornbook.context.receipt import Circumstances
from hornbook.context.reviewer_context import (
    Extra,
    ReviewMaterial,
    Rule,
    RuleSection,
    assemble,
)
from hornbook.context.step_parts import FRAME
from hornbook.context.templates.roles import StepTemplate, reviewer_instructions, step_templates
from hornbook.context.tier_sources import core_tier
from hornbook.context.tiers import Tier
from hornbook.errors import UsageError
from hornbook.graph.commit_graph import graph_at, settings_of_base
from hornbook.graph.snapshot import Snapshot
from hornbook.graph.store import AskedQuery
from hornbook.rules.binding import related
from hornbook.rules.catalog import Entry
from hornbook.rules.code.file import code_id
from hornbook.rules.code.generated import PATTERNS, is_generated
from hornbook.rules.code.summary import summarise
from hornbook.rules.document import Document, Include, Unread
from hornbook.rules.rendering import header, render, render_summary
from hornbook.rules.units import HEAD, RulePart, RuleUnit, highest, severity_of, unit_id
from hornbook.settings.reserve import reserve_for
from hornbook.settings.settings import Settings
from hornbook.text.globs import parse_set
from hornbook.text.tokens import TokenCounter, counter
from hornbook.text.visible import as_text
from hornbook.vocabulary.terms import Severity

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
    for entry in _about(snapshot.decisions_by_pattern(paths), paths):
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
    about = _about(snapshot.conventions_by_pattern(paths), paths)
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


def _about(entries: Iterable[Entry], paths: Sequence[str]) -> list[Entry]:
    """Documents that a pattern leads to, without those that exclude all of the files."""
    found = []
    for entry in entries:
        globs = parse_set(pattern.glob for pattern in entry.patterns)
        if any(globs.match(path) is not None for path in paths):
            found.append(entry)
    return found


BASE = ""
"""In the place of a commit: the change's own base judges it."""


@dataclass(frozen=True, slots=True)
class Packet:
    """A context with what it was made for and from, and what the graph was asked for it."""

    context: Context
    made_for: Circumstances
    review: ReviewMaterial
    room: ReviewRoom
    queries: tuple[AskedQuery, ...] = ()

    def parts(self) -> "list[Packet]":
        """What reviewers are given: the packet itself, or its passes where the rules overflow."""
        return self.passes() if self.context.passes else [self]

    def passes(self) -> "list[Packet]":
        """The packets that together hold every rule of one that overflowed.

        Raises:
            UsageError: There are none: it did not overflow, or one section alone is too large.
        """
        if not self.context.passes:
            why = "; ".join(reason.message for reason in self.context.reasons)
            raise UsageError(f"there are no passes to make: {why or self.context.outcome}")
        return [self._one_pass(set(ids)) for ids in self.context.passes]

    def _one_pass(self, ids: set[str]) -> "Packet":
        rules = tuple(
            rule if rule.unit.id in ids else rule.part(ids)
            for rule in self.review.rules
            if rule.unit.id in ids or any(each.unit.id in ids for each in rule.sections)
        )
        review = replace(self.review, rules=rules)
        context = assemble(review, self.room, counter(self.context.counter))
        made_for = replace(self.made_for, whole_set=self.context.sop_ids)
        return Packet(without_secrets(context), made_for, review, self.room, self.queries)


class Contexts:
    """Makes reviewers' contexts for one workspace.

    `earlier` is what reviewers said of the task before, told with what is reviewed; `asked` is what
    the workflow asks of them, and who is to `refute` an approval gives the second opinion. `told`
    is all of that as a receipt carries it, to make its prompt again.
    """

    def __init__(  # noqa: PLR0913  # each is told by somebody else
        self,
        root: Path,
        snapshot: Snapshot,
        pressure: Pressure | None = None,
        brief: Brief | None = None,
        *,
        earlier: str = "",
        asked: str = "",
        refute: bool = False,
        told: ReviewerBrief | None = None,
        counters: Callable[[str], TokenCounter] = counter,
    ) -> None:
        self._root = root
        self._counters = counters
        brief_of_run = _reviewer_brief(pressure, brief, earlier, asked)
        self._told = told or replace(brief_of_run, refute=refute)
        self._superseded = brief.superseded if brief else ()
        self._asked_of_plan = brief.queries if brief else ()
        self._snapshot = snapshot

    def for_files(
        self, paths: Sequence[str], model: str | None = None, reserve: str | int | None = None
    ) -> Packet:
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
        seen = _Seen(shown, contents, "files")
        packet = self._packet(self._snapshot, made_for, seen, RoomAsked(model, reserve=reserve))
        missing = [path for path in made_for.files if path not in contents]
        return replace(packet, context=without(packet.context, missing)) if missing else packet

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
        seen = _Seen(shown, contents, "files")
        return self._packet(snapshot, made_for, seen, self._asked(revision, model))

    def _refuse_stale(self, paths: Sequence[str]) -> None:
        bound: dict[str, str] = {}
        for binding, _ in self._snapshot.rules.bind_all(paths):
            bound[binding.rule.path] = binding.rule.sha256
            bound |= {each.path: each.sha256 for each in binding.includes}
        changed = [path for path in sorted(bound) if _digest(self._root / path) != bound[path]]
        if changed:
            raise UsageError(
                f"{', '.join(changed)} changed since it was ingested: run `hornbook ingest` first."
            )

    def for_change(
        self, span: str, model: str | None = None, reserve: str | int | None = None
    ) -> Packet:
        """The context for a change, judged by the rules and settings of its base.

        Raises:
            UsageError: The span does not name a change.
        """
        with git.operation(self._root):
            found = change(self._root, span)
            return self.of_change(found, graph_at(self._root, found.base), model, reserve)

    def of_change(
        self,
        found: Change,
        snapshot: Snapshot,
        model: str | None = None,
        reserve: str | int | None = None,
        *,
        judge: str | None = BASE,
    ) -> Packet:
        """The same for a change that is known already, with the graph of its base.

        Another commit's graph, or with None that of the work tree, may judge it: `judge` names it.
        """
        made_for = Circumstances(
            files=found.paths,
            base=found.base,
            head=found.head,
            merge_base=found.merge_base,
            tree=found.tree,
            findings=tuple(edited_judges(self._root, found, snapshot)),
            hidden=tuple(map(_hidden_line, found.hidden)),
            told=self._told if self._told != ReviewerBrief() else None,
        )
        diffs = tuple(
            Unit(each.path, found.head[:12], patch_shown(found.patches[each.path]))
            for each in found.files
        )
        at = found.base if judge == BASE else judge
        seen = _Seen(diffs, self._contents(found), at=at)
        return self._packet(snapshot, made_for, seen, self._asked(at, model, reserve))

    def _asked(
        self, judge: str | None, model: str | None, reserve: str | int | None = None
    ) -> RoomAsked:
        """The room by the settings of a commit, or of the work tree."""
        base = settings_of_base(self._root, judge) if judge is not None else None
        return RoomAsked(model, reserve=reserve, base=base)

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
        asked: RoomAsked,
    ) -> Packet:
        snapshot, queries = snapshot.recording()
        settings = snapshot.settings
        template = step_templates(self._root, at=seen.at)["reviewer"]
        name, chosen = endpoint(settings, asked.model)
        rules = bound_rules(snapshot, made_for.files)
        told = self._told
        decisions, left_out = decisions_about(snapshot, made_for.files, told.decisions)
        core = core_tier(
            self._root,
            at=seen.at,
            rules={snapshot.by_id[rule.unit.id].path for rule in rules},
        )
        conventions, doubted = conventions_about(snapshot, made_for.files)
        missing = unread(snapshot, made_for.files)
        left_out = (
            *missing,
            *self._superseded,
            *left_out,
            *doubted,
            *_related(snapshot, rules),
            *core.left_out,
        )
        review = ReviewMaterial(
            files=made_for.files,
            instructions=reviewer_instructions(template, told.instructions, refute=told.refute),
            asked=bool(told.instructions),
            rules=rules,
            extras=(
                Extra("decisions", "Decisions that stand", decisions),
                Extra(
                    "signatures",
                    "The files and what they declare",
                    signatures(snapshot, seen.contents),
                ),
                Extra("conventions", "Conventions", conventions),
            ),
            diffs=seen.diffs,
            situation=_situation(made_for) + _not_read(missing) + told.situation,
            subject=seen.subject,
            task=told.task,
            core=core.units,
            because=_because(template, asked=bool(told.instructions)),
        )
        reserve = reserve_for(settings, chosen.max_tokens, option=asked.reserve, base=asked.base)
        space = review_room(settings, chosen.max_tokens, reserve, planned=told.task is not None)
        count = self._counters(settings.counter)
        core_tokens = sum(count(unit.text) for unit in core.units)
        space = replace(space, core=settings.budget.core, diff=max(0, space.diff - core_tokens))
        context = assemble(review, space, count)
        tiers = with_left_out(context.tiers, Tier.CORE, core.left_out)
        context = replace(context, left_out=(*context.left_out, *left_out), tiers=tiers)
        made_for = replace(made_for, model=name, step=template.facts)
        shown = {*_INPUTS_ALWAYS, *(each.name for each in context.sections if each.items)}
        if context.text is not None:
            context = require_inputs(context, template, shown)
        every = (*self._asked_of_plan, *queries)
        return Packet(without_secrets(context), made_for, review, space, every)


@dataclass(frozen=True, slots=True)
class _Seen:
    """The files under review: their patches, and what they hold.

    `at` is the commit whose instructions and core files are told; None is the work tree.
    """

    diffs: tuple[Unit, ...]
    contents: dict[str, bytes]
    subject: str = "diff"
    at: str | None = None


def without(context: Context, missing: Sequence[str]) -> Context:
    """The refusal of a context for files that are not there: nobody can review them."""
    said = f"{', '.join(missing)}: no such file; name files that are there, or a change."
    return replace(
        context,
        outcome=Outcome.FAILED,
        text=None,
        sha256=None,
        sections=(),
        tiers=(),
        split=(),
        passes=(),
        reasons=(*context.reasons, Reason("missing_file", said)),
    )


def bound_rules(snapshot: Snapshot, paths: Sequence[str]) -> tuple[Rule, ...]:
    """Every rule that binds one of the files, whole, in id order: as the graph answers."""
    found = []
    for binding, files in snapshot.applicable(paths):
        document = snapshot.document(binding.rule.id)
        included = tuple(_part(snapshot, each) for each in binding.includes)
        units = snapshot.units(document, included)
        found.append(rule_of(document, units, files, included, binding.also))
    return tuple(found)


def rule_of(
    document: Document,
    units: Sequence[RuleUnit],
    files: frozenset[str],
    included: Sequence[RulePart] = (),
    also: tuple[str, ...] = (),
) -> Rule:
    """A rule as a reviewer gets it: whole, and where it has units, by these."""
    inferred = "severity" in document.inferred
    parts = tuple(
        Unit(
            id=f"{document.id}.include.{number}",
            revision=part.revision,
            text=part.text,
            severity=severity_of(part.text) if inferred else document.severity,
            path=part.path,
            included_by=part.included_by,
        )
        for number, part in enumerate(included, 1)
    )
    severities = [document.severity, *(Severity(str(part.severity)) for part in parts)]
    whole = Unit(
        id=document.id,
        revision=document.revision,
        text=render(document),
        severity=highest(severities),
        path=document.path,
        also=also,
    )
    rule = Rule(whole, files, included=parts, inferred=inferred)
    return _by_sections(rule, document, units) if units else rule


def _by_sections(rule: Rule, document: Document, units: Sequence[RuleUnit]) -> Rule:
    """A rule with the sections that it is answered by; each stands in one of its files."""
    sections = [
        RuleSection(
            unit=Unit(
                id=each.id,
                revision=each.revision,
                text=each.text,
                severity=each.severity,
                path=each.path,
                also=() if each.included_by else rule.unit.also,
                included_by=each.included_by or None,
            ),
            title=each.title,
            inferred=each.inferred,
            path=each.path,
        )
        for each in units
    ]
    if units[0].id == unit_id(document.id, HEAD):
        head = replace(sections[0].unit, text=header(document) + units[0].text)
        sections[0] = replace(sections[0], unit=head)
    elif units[0].included_by:
        # Its own text only includes: it is shown, and there is nothing to answer.
        head = rule.unit
    else:
        head = replace(rule.unit, text=header(document))
    return replace(rule, head=head, sections=tuple(sections))


def _part(snapshot: Snapshot, include: Include) -> RulePart:
    """The text of a file that is part of a rule, as it stands."""
    document = snapshot.document(include.id)
    return RulePart(include.path, document.revision, document.head + document.body, include.by)


def unread(snapshot: Snapshot, paths: Iterable[str]) -> tuple[LeftOut, ...]:
    """What should bind one of the files, or be part of a rule that does, and could not be read."""
    found = {each for path in paths for each in snapshot.rules.unread(path)}
    ordered = sorted(found, key=lambda each: (each.id, each.path, each.reason))
    return tuple(LeftOut(each.id, each.reason.value, each.path) for each in ordered)


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
    text = f"Not shown: {reason}.\n" if reason else fenced(as_text(data), "")
    return Unit(path, sha256(data).hexdigest()[:12], f"## {quoted_name(path)}\n\n{text}")


def signatures(snapshot: Snapshot, contents: dict[str, bytes]) -> tuple[Unit, ...]:
    """What each file in a language that we know declares; the graph knows it of unchanged ones."""
    found = []
    for path in sorted(contents):
        summary = snapshot.code(path, contents[path]) or summarise(path, contents[path])
        if summary.signatures or summary.problem:
            found.append(Unit(code_id(path), summary.sha256, render_summary(summary)))
    return tuple(found)


def _hidden_line(each: Hidden) -> str:
    where = f", line {each.line}" if each.line else ""
    return f"{quoted_name(each.path)}{where}: {each.what}"


def _because(template: StepTemplate, *, asked: bool) -> dict[str, str]:
    """By which setting each section is there; what the parent has is never among them."""
    fresh = template.because("fresh_context")
    return {
        **dict.fromkeys(("core", "situation", "task", "diff", "files"), FRAME),
        **dict.fromkeys(("sops", "decisions", "signatures", "conventions"), fresh),
        "instructions": template.prompt_because + ", then the workflow's" * asked,
    }


_INPUTS_ALWAYS = frozenset({"rules", "diff"})
"""What a reviewer is given in any case: that no rule binds is told too, and files are a change."""


def _reviewer_brief(
    pressure: Pressure | None, brief: Brief | None, earlier: str, asked: str
) -> ReviewerBrief:
    """What is said beside what the commits hold."""
    situation = (_pressed(pressure) if pressure is not None else "") + earlier
    if brief is None:
        return ReviewerBrief(situation, asked)
    return ReviewerBrief(situation, asked, brief.work, brief.decisions)


def _pressed(pressure: Pressure) -> str:
    """What a reviewer should know about how the change came about."""
    said = (
        f"The developer's context was {pressure.utilisation_percent} % full, after "
        f"{pressure.steps} steps and {pressure.attempts} attempts."
    )
    gates = (f"- Gate {name}: {status}" for name, status in pressure.gates)
    warnings = (f"- Gate warning: {warning}" for warning in pressure.gate_warnings)
    return "\n".join(["", said, *gates, *warnings, ""])


def _not_read(missing: Sequence[LeftOut]) -> str:
    """What the reviewer is told of rules that nobody could read."""
    said = (
        ("These should bind the change and could not be read:", False),
        ("Rules name these, which are no texts and no part of them:", True),
    )
    told = ""
    for sentence, no_text in said:
        some = [each for each in missing if (each.reason == Unread.NOT_PROSE) is no_text]
        lines = [f"- {each.path} ({each.reason}, {each.id})" for each in some]
        told += "\n".join(["", sentence, *lines, ""]) if lines else ""
    return told


def _situation(made_for: Circumstances) -> str:
    lines = []
    if made_for.base is not None:
        lines.append(f"- Change: {made_for.merge_base} to {made_for.head}")
        lines.append(f"- Rules and settings: as of {made_for.base}")
    lines += [f"- File: {quoted_name(path)}" for path in made_for.files]
    if made_for.findings:
        lines += ["", "The change edits these rule files; say whether that is right:"]
        lines += [f"- {quoted_name(path)}" for path in made_for.findings]
    if made_for.hidden:
        lines += ["", "These files are not what is seen of them; a person will look too:"]
        lines += [f"- {each}" for each in made_for.hidden]
    return "\n".join([*lines, ""])
