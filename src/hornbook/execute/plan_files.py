"""The files that a plan's events are projected to: for people, and for the graph."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from hornbook.execute.plan_notes import render_decisions, render_risks
from hornbook.execute.plan_state import PlanState, task_data
from hornbook.execute.plan_text import parse, render
from hornbook.ingest.identity import slug as slug_of
from hornbook.model.plan import Plan, PlanTask
from hornbook.temporary import draft_of

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
    said = task_data(task)
    facts = {
        "id": task.id_in(plan.slug),
        "plan": plan.id,
        "title": said["title"],
        "description": said["description"],
        "files": said["files"],
        "creates": said["creates"],
        "criteria": said["criteria"],
        "depends_on": [f"task.{plan.slug}.{number}" for number in task.depends_on],
    }
    text: str = yaml.safe_dump(facts, sort_keys=False, allow_unicode=True, width=100)
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
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = draft_of(path)
    draft.write_bytes(text.encode())
    draft.replace(path)


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
