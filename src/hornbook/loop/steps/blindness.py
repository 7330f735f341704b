"""Looks before each attempt for what a blind developer could read of the rules."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from hornbook.agents.assignment import Agent, Assignment
from hornbook.agents.command import StartsProgram
from hornbook.agents.rule_leaks import Leak, RuleTexts, in_files
from hornbook.commits.change import changed_names
from hornbook.errors import UsageError
from hornbook.graph.commit_graph import graph_at
from hornbook.loop.steps.services import StepRun
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Data
from hornbook.rules.document_reader import is_rule_file
from hornbook.settings.settings import Sight

MOST_TOLD = 200
"""How many files of each kind an event names; beyond that the next look begins anew."""
_SHOWN = 120


@dataclass(frozen=True, slots=True)
class HiddenRules:
    """The rules that a developer must not read, and the file of each."""

    texts: RuleTexts
    paths: Mapping[str, str]


class ExposedRules:
    """The files of a worktree that show rules; a passage that they show is no secret any more."""

    def __init__(self, top: Path, files: Mapping[str, list[Any]]) -> None:
        self._top = top
        self.files = files

    @cached_property
    def _texts(self) -> RuleTexts:
        quoting = {leak["where"] for leak in self.files["leaks"]}
        paths = sorted({*quoting, *self.files["host_files"]})
        return RuleTexts({path: _text(self._top / path) for path in paths})

    def shows(self, passage: str) -> bool:
        """Whether some file shows a passage of a rule."""
        return self._texts.covers(passage)


@dataclass(frozen=True, slots=True)
class DeveloperFeedback:
    """What a developer is told beside the task; `left_out` are rules that the feedback quoted.

    Without a veil it may see rules.
    """

    feedback: str
    veil: HiddenRules | None = None
    seen: ExposedRules | None = None
    left_out: tuple[str, ...] = ()

    def hidden(self, text: str) -> str:
        """A text as the developer may read it: where it is blind, without passages of rules."""
        if self.veil is None or self.seen is None:
            return text
        return self.veil.texts.without(text, self.seen.shows)[0]


def told_to(
    step: StepRun, feedback: str, *, base: str, commit: str, folder: Path
) -> DeveloperFeedback:
    """The feedback for a developer, without passages of rules if it is blind.

    `base` has the rules, `commit` the files of the worktree. Files are looked at once for a plan;
    later only those that git says are others by now.
    """
    services = step.services
    if services.settings.developer_sees != Sight.BLIND:
        return DeveloperFeedback(feedback)
    veil = _rules_at(str(services.root), base)
    top = _top(folder)
    seen = ExposedRules(top, _files(step, veil.texts, commit, top))
    shown, left_out = veil.texts.without(feedback, seen.shows)
    return DeveloperFeedback(shown, veil, seen, left_out)


def blind(
    step: StepRun,
    name: str,
    assignment: Assignment,
    told: DeveloperFeedback,
    *,
    commit: str,
    worker: Agent,
) -> Assignment | str:
    """The assignment, looked through where the developer is blind; or why it is not sent.

    What was found is noted under the name. What a file of the worktree shows anyway is no leak of
    the prompt that shows it too. What the worker's network shows cannot be looked through.
    """
    data = looked_through(assignment, told, commit)
    if told.veil is None or data is None:
        return assignment
    reach = worker.reach if isinstance(worker, StartsProgram) else None
    if reach is not None:
        data = {**data, "network": reach.value}
    step.note(kinds.SIGHTED, f"sight-{name}", data)
    return refusal_to_send(data) or replace(assignment, withheld=_withheld(data, told.veil))


def looked_through(assignment: Assignment, told: DeveloperFeedback, commit: str) -> Data | None:
    """What an assignment and the files of its worktree show of rules; None if it may show them."""
    if told.veil is None or told.seen is None:
        return None
    prompts = {"the prompt": assignment.prompt, "a criterion": "\n".join(assignment.criteria)}
    if assignment.violation is not None:
        prompts["the violation"] = "\n".join(map(str, astuple(assignment.violation)))
    files = told.seen.files
    return {
        "rules": told.veil.texts.digest,
        "commit": commit,
        **{kind: each[:MOST_TOLD] for kind, each in files.items()},
        "whole": all(len(each) <= MOST_TOLD for each in files.values()),
        "prompt": [_leak_facts(leak) for leak in _in_prompts(told.veil.texts, prompts, told.seen)],
        "left_out": list(told.left_out),
    }


@lru_cache(maxsize=2)
def _rules_at(root: str, commit: str) -> HiddenRules:
    """All rules of a commit, which never change."""
    snapshot = graph_at(Path(root), commit)
    every = (*snapshot.rules.enforced, *snapshot.rules.not_enforced)
    texts = {entry.id: snapshot.document(entry.id).body for entry in every}
    return HiddenRules(RuleTexts(texts), {entry.id: entry.path for entry in every})


def _files(step: StepRun, rules: RuleTexts, commit: str, top: Path) -> dict[str, list[Any]]:
    """The files that quote rules, those that a host loads, and those that could not be read."""
    known = _newest(step, rules)
    names: tuple[str, ...] | None = None
    if known is not None:
        try:
            names = changed_names(step.services.root, known["commit"], commit)
        except UsageError:
            known = None  # git has removed that attempt: everything is looked at again
    found = in_files(rules, top, names, is_host_file=is_rule_file)
    changed = frozenset(names or ())
    kept = {
        name: [each for each in (known or {}).get(name, ()) if not _is_below(each, changed)]
        for name in ("leaks", "host_files", "unread")
    }
    leaks = [*kept["leaks"], *map(_leak_facts, found.leaks)]
    return {
        "leaks": sorted(leaks, key=lambda each: (each["where"], each["rule"])),
        "host_files": sorted({*kept["host_files"], *found.host_files}),
        "unread": sorted({*kept["unread"], *found.unread}),
    }


def _newest(step: StepRun, rules: RuleTexts) -> Data | None:
    """The last look for the same rules in this plan, if it named all that it found."""
    for event in reversed(step.services.events(step.run.plan)):
        if event.kind == kinds.SIGHTED and event.data["rules"] == rules.digest:
            return event.data if event.data["whole"] else None
    return None


def _is_below(told: Any, changed: frozenset[str]) -> bool:  # a path, or what was found in one
    path = PurePosixPath(told["where"] if isinstance(told, Mapping) else told)
    return any(each.as_posix() in changed for each in (path, *path.parents))


def _leak_facts(leak: Leak) -> dict[str, str]:
    return {"where": leak.where, "rule": leak.rule_id, "text": leak.text[:_SHOWN]}


def _in_prompts(rules: RuleTexts, prompts: Mapping[str, str], seen: ExposedRules) -> list[Leak]:
    """What prompts quote that no file of the worktree shows."""
    return [
        Leak(name, each.rule_id, text[each.start : each.end])
        for name, text in sorted(prompts.items())
        for each in rules.runs(text)
        if not seen.shows(text[each.start : each.end])
    ]


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def _top(folder: Path) -> Path:
    """The top of the worktree that a folder lies in: a linked one has a file named `.git`."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").is_file()), folder)


def refusal_to_send(found: Data) -> str | None:
    """Why a prompt is not sent; None if it may be."""
    if not found["prompt"]:
        return None
    told = "; ".join(f"{e['where']} quotes {e['rule']}: {e['text']!r}" for e in found["prompt"])
    return (
        f"the developer is blind, and its prompt would show rules: {told}. It was not sent: say it "
        "in other words in the plan, or let developers see rules (`developer_sees`)."
    )


def _withheld(found: Data, veil: HiddenRules) -> dict[str, str]:
    """The rules that stand in no file of the worktree: nothing may show them later either."""
    seen = {each["rule"] for each in found["leaks"]}
    hosts = set(found["host_files"])
    seen |= {rule_id for rule_id, path in veil.paths.items() if path in hosts}
    return {rule_id: text for rule_id, text in veil.texts.rules.items() if rule_id not in seen}
