"""The files that a plan's events are projected to: for people, and for the graph."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from hornbook.disk import write_whole
from hornbook.plans.plan import Plan, PlanDecision, PlanTask, Risk
from hornbook.plans.state import PlanState, task_data
from hornbook.plans.text import parse, render
from hornbook.rules.ids import slug as slug_of

DECISIONS = "# Decisions\n"
RISKS = "# Risks\n"

Entry = Sequence[tuple[str, str]]


def render_decisions(decisions: Iterable[PlanDecision]) -> str:
    """The decisions, oldest first; a later one only adds to the text."""
    return _rendered(DECISIONS, (_decision_entry(each) for each in decisions))


def parse_decisions(text: str) -> tuple[PlanDecision, ...]:
    """The decisions that `render_decisions` wrote.

    Raises:
        ValueError: The text is not as it writes; the message names the line.
    """
    found: list[PlanDecision] = []
    for entry in _entries(text, "Decision", {"Reason", "Impact", "At", "Id"}, {"Supersedes"}):
        made = PlanDecision(
            id=entry["Id"],
            decision=entry["Decision"],
            reason=entry["Reason"],
            impact=entry["Impact"],
            at=entry["At"],
            supersedes=entry.get("Supersedes"),
        )
        found = [
            replace(each, superseded_by=made.id) if each.id == made.supersedes else each
            for each in found
        ]
        found.append(made)
    return tuple(found)


def render_risks(risks: Iterable[Risk]) -> str:
    """The risks, one entry for each id."""
    return _rendered(
        RISKS,
        (
            (("Risk", risk.text), ("Severity", risk.severity), ("At", risk.at), ("Id", risk.id))
            for risk in risks
        ),
    )


def parse_risks(text: str) -> tuple[Risk, ...]:
    """The risks that `render_risks` wrote.

    Raises:
        ValueError: The text is not as it writes; the message names the line.
    """
    return tuple(
        Risk(entry["Id"], entry["Severity"], entry["Risk"], entry["At"])
        for entry in _entries(text, "Risk", {"Severity", "At", "Id"}, set())
    )


def _decision_entry(each: PlanDecision) -> Entry:
    entry = [
        ("Decision", each.decision),
        ("Reason", each.reason),
        ("Impact", each.impact),
        ("At", each.at),
        ("Id", each.id),
    ]
    return entry if each.supersedes is None else [*entry, ("Supersedes", each.supersedes)]


def _rendered(heading: str, entries: Iterable[Entry]) -> str:
    texts = [heading]
    for entry in entries:
        bullets = [f"- {name}: {_indented(value)}\n" for name, value in entry]
        texts.append("\n" + "".join(bullets))
    return "".join(texts)


def _indented(value: str) -> str:
    return value.replace("\n", "\n  ")


def _entries(text: str, first: str, required: set[str], optional: set[str]) -> list[dict[str, str]]:
    entries: list[dict[str, str]] = []
    name = ""
    for number, line in enumerate(text.split("\n")[1:], 2):
        if line.startswith("  ") and name:
            entries[-1][name] += f"\n{line[2:]}"
        elif line.startswith("- "):
            name, _, value = line[2:].partition(":")
            if name == first:
                entries.append({})
            known = name in {first, *required, *optional}
            if not entries or not known or name in entries[-1]:
                raise ValueError(f"line {number}: `{name}` does not belong here")
            entries[-1][name] = value.removeprefix(" ")
        elif line:
            raise ValueError(f"line {number}: no entry: write `- {first}: …`")
        else:
            name = ""
    lacking = [entry for entry in entries if not required <= entry.keys()]
    if lacking:
        missing = ", ".join(sorted(required - lacking[0].keys()))
        raise ValueError(f"the entry `{first}: {lacking[0][first]}` lacks {missing}")
    return entries


PLAN_FILE = "plan.md"


def notes_of(state: PlanState) -> dict[str, str]:
    """The files of a plan that people read, by their path below the state folder."""
    folder = f"plans/{state.plan.slug}"
    files = {f"{folder}/{PLAN_FILE}": render(state.plan)}
    if state.decisions:
        files[f"{folder}/decisions.md"] = render_decisions(state.decisions)
    if state.risks:
        files[f"{folder}/risks.md"] = render_risks(state.risks)
    return files


def records_of(state: PlanState) -> dict[str, str]:
    """A plan's decisions and risks one by one, as records that the graph is made from."""
    plan = state.plan.id
    files = {}
    for each in state.decisions:
        facts = {
            "id": each.id,
            "plan": plan,
            "decision": each.decision,
            "reason": each.reason,
            "impact": each.impact,
            "at": each.at,
            "supersedes": each.supersedes,
            "superseded_by": each.superseded_by,
        }
        files[f"records/decisions/{each.id}.json"] = _json(facts)
    for risk in state.risks:
        name = risk_id(state.plan, risk.id)
        facts = {
            "id": name,
            "plan": plan,
            "name": risk.id,
            "severity": risk.severity,
            "text": risk.text,
            "at": risk.at,
        }
        files[f"records/risks/{name}.json"] = _json(facts)
    return files


def tasks_of(state: PlanState) -> dict[str, str]:
    """The definition of each task."""
    folder = f"plans/{state.plan.slug}/tasks"
    return {
        f"{folder}/{task.number}/task.yaml": render_task(state.plan, task) for task in state.tasks
    }


def render_task(plan: Plan, task: PlanTask) -> str:
    """A task's definition as YAML, without what an amendment of the plan may change: its scope."""
    return _task_yaml(plan.slug, plan.id, task)


@lru_cache(maxsize=256)  # to write YAML takes longer than all else about a plan's files
def _task_yaml(slug: str, plan_id: str, task: PlanTask) -> str:
    said = task_data(task)
    facts: dict[str, object] = {
        "id": task.id_in(slug),
        "plan": plan_id,
        "title": said["title"],
        "description": said["description"],
        "files": said["files"],
        "creates": said["creates"],
        "criteria": said["criteria"],
        "depends_on": [f"task.{slug}.{number}" for number in task.depends_on],
        **{name: said[name] for name in ("type", "finding") if name in said},
    }
    return yaml_text(facts)


def yaml_text(facts: Mapping[str, object]) -> str:
    """Facts as a file of YAML says them to people: in their order, every character as it is."""
    import yaml  # noqa: PLC0415  # start-up: plans are listed without their files

    # libyaml is thirty times as fast where it is. In double quotes it breaks lines elsewhere and
    # escapes what lies beyond the first plane: such a text is written as it is without libyaml.
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(facts, None, dumper, sort_keys=False, allow_unicode=True, width=100)
    if '"' in text:
        text = yaml.safe_dump(facts, sort_keys=False, allow_unicode=True, width=100)
    return text


def risk_id(plan: Plan, name: str) -> str:
    """The id of the entity of a risk that a plan calls by some name."""
    return f"risk.{plan.slug}-{slug_of(name)}"


def write_files(root: Path, before: PlanState | None, after: PlanState) -> list[str]:
    """Bring a plan's files up to date; the paths of those that somebody else changed.

    `before` is the state that the files were last written for. A file that is neither as it was
    then nor as it should be now is somebody's work and stays as it is.
    """
    old = notes_of(before) if before is not None else {}
    for path, text in records_of(after).items():
        write_if_changed(root / path, text)
    left = [path for path, text in notes_of(after).items() if not _brought(root, path, old, text)]
    for path, text in tasks_of(after).items():
        found = _read(root / path)
        if found is None:
            write_if_changed(root / path, text)
        elif found != text:
            left.append(path)
    return left


def edited_files(root: Path, state: PlanState) -> Iterator[str]:
    """The files of a plan that do not say what its events say."""
    for path, text in {**notes_of(state), **tasks_of(state)}.items():
        found = _read(root / path)
        if found is not None and not _same(path, found, text):
            yield path


def write_if_changed(path: Path, text: str) -> None:
    """Write a file in one go, unless it says the same already."""
    if _read(path) == text:
        return
    write_whole(path, text.encode(), durable=False)


def _brought(root: Path, path: str, old: Mapping[str, str], text: str) -> bool:
    found = _read(root / path)
    if found is not None and not _same(path, found, text) and not _same(path, found, old.get(path)):
        return False
    write_if_changed(root / path, text)
    return True


def _same(path: str, found: str, text: str | None) -> bool:
    """Whether a file says what a text says; a plan may be laid out in another way."""
    if text is None or found == text:
        return found == text
    if not path.endswith(f"/{PLAN_FILE}"):
        return False
    read = parse(found)
    return not read.problems and read.plan == parse(text).plan


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None


def _json(facts: Mapping[str, object]) -> str:
    return json.dumps(facts, ensure_ascii=False, indent=2) + "\n"
