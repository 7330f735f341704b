"""Plans and what is derived from them: tasks, decisions and risks, as Hornbook writes them."""

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

import yaml

from hornbook.rules import inference
from hornbook.rules.chunks.outline import Outline, outline
from hornbook.rules.document import DecisionFacts, Link, Problems
from hornbook.rules.readers.protocol import Reading, SourceFile
from hornbook.text.plan_syntax import GUIDANCE, is_guidance, read_bullet, references
from hornbook.vocabulary import predicates as p
from hornbook.vocabulary.terms import Activation, Category, Scope, Severity

PLANS = (".hornbook", "plans")
DECISIONS = PurePosixPath(".hornbook/records/decisions")
RISKS = PurePosixPath(".hornbook/records/risks")

_TEXTS = ("situation", "mission", "execution", "coordination")
_KINDS = {"IN": p.PLAN_IN, "OUT": p.PLAN_OUT, "DO NOT TOUCH": p.PLAN_DO_NOT_TOUCH}
_SEVERITY = {
    "low": Severity.INFO,
    "medium": Severity.WARNING,
    "high": Severity.ERROR,
    "critical": Severity.ERROR,
}
_TITLE_LENGTH = 100
_LINE = re.compile(r"(\r\n|\n|\r)")

Fact = tuple[str, str]
# A record is JSON or YAML: what it holds is looked at key by key.
Said = Mapping[str, Any]


class PlanFileReader:
    """Reads `.hornbook/plans/<slug>/plan.md`."""

    tool = "plan"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a plan's file."""
        return path.parts[:2] == PLANS and len(path.parts) == 4 and path.name == "plan.md"

    def read(self, file: SourceFile) -> Reading:
        """Return the plan: whether it is committed, and how far it reaches."""
        problems = Problems(file.parts.path)
        problems.extend(file.parts.problems)
        slug = file.path.parts[2]
        body = _without_guidance(file.parts.body)
        shape = outline(body)
        title = inference.title(shape, file.path).removeprefix("Plan:").strip()
        return Reading(
            path=file.parts.path,
            tool=self.tool,
            desired_id=f"plan.{slug}",
            title=title or slug,
            category=Category.PLAN,
            activation=Activation.MANUAL,
            severity=Severity.INFO,
            scope=Scope.PLAN,
            mime_type="text/markdown",
            head=file.parts.head,
            body=body,
            body_line=file.parts.body_line,
            summary=_mission(shape),
            facts=tuple(_plan_facts(file.parts.metadata, shape)),
            links=tuple(_references(shape, f"plan.{slug}", file.parts.body_line)),
            problems=problems.told(),
        )


class TaskReader:
    """Reads `.hornbook/plans/<slug>/tasks/<n>/task.yaml`."""

    tool = "record"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a task's definition."""
        parts = path.parts
        return (
            parts[:2] == PLANS
            and len(parts) == 6
            and parts[3] == "tasks"
            and path.name == "task.yaml"
        )

    def read(self, file: SourceFile) -> Reading:
        """Return the task and what it depends on."""
        return _record(
            file, Category.TASK, f"task.{file.path.parts[2]}.{file.path.parts[4]}", _task
        )


class DecisionRecordReader:
    """Reads the decisions that plans led to."""

    tool = "record"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is such a record."""
        return path.parent == DECISIONS and path.suffix == ".json"

    def read(self, file: SourceFile) -> Reading:
        """Return the decision and the plan it is derived from."""
        return _record(file, Category.DECISION, file.path.stem, _decision)


class RiskReader:
    """Reads the risks of plans."""

    tool = "record"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is such a record."""
        return path.parent == RISKS and path.suffix == ".json"

    def read(self, file: SourceFile) -> Reading:
        """Return the risk and the plan it threatens."""
        return _record(file, Category.RISK, file.path.stem, _risk)


def _plan_facts(head: Mapping[str, object], shape: Outline) -> Iterator[Fact]:
    yield p.PLAN_COMMITTED.name, str(head.get("committed", False)).lower()
    for predicate, key in (
        (p.PLAN_CREATED_AT, "created_at"),
        (p.PLAN_COMMITTED_AT, "committed_at"),
    ):
        if head.get(key):
            yield predicate.name, _time(head[key])
    if head.get("supersedes"):
        yield p.PLAN_SUPERSEDES.name, f"plan.{head['supersedes']}"
    for section in shape.sections({"constraints"}):
        for index in section:
            kind, globs = read_bullet(shape.lines[index].rstrip("\r\n")) or ("", [])
            for glob in globs:
                yield _KINDS[kind].name, glob


def _references(shape: Outline, plan_id: str, first_line: int) -> Iterator[Link]:
    """What a plan names, each once, with the line where it is first named."""
    seen = {plan_id}
    for index in itertools.chain(*shape.sections(set(_TEXTS))):
        for name in references(shape.lines[index]):
            if name not in seen:
                seen.add(name)
                yield Link("references", name, first_line + index)


def _time(value: object) -> str:
    """A time as our files have it; YAML may have made a date of it."""
    if isinstance(value, str):
        return value
    text = value.isoformat(timespec="milliseconds") if hasattr(value, "isoformat") else str(value)
    return text.replace("+00:00", "Z")


def _mission(shape: Outline) -> str:
    for section in shape.sections({"mission"}):
        return inference.summary([shape.lines[index] for index in section])
    return ""


def _without_guidance(body: str) -> str:
    """A plan's text with blanks in the place of what only guides its author: offsets stay."""
    shape = outline(body)
    lines = _LINE.split(body)  # a line and its end in turn
    for name in GUIDANCE:
        for index in itertools.chain(*shape.sections({name})):
            if is_guidance(name, shape.lines[index]):
                lines[2 * index] = " " * len(lines[2 * index].encode())
    return "".join(lines)


def _record(
    file: SourceFile, category: Category, desired_id: str, read: Any
) -> Reading:  # one of the three below
    problems = Problems(file.parts.path)
    problems.extend(file.parts.problems)
    whole = file.parts.head + file.parts.body
    stated: dict[str, Any] = {}
    try:
        stated = read(_loaded(file.path, whole))
    except (ValueError, TypeError, KeyError, yaml.YAMLError, RecursionError) as problem:
        message = f"It is not a record as Hornbook writes it ({problem!r}): delete it."
        problems.error(1, "bad_record", message)
    return Reading(
        path=file.parts.path,
        tool="record",
        desired_id=desired_id,
        category=category,
        activation=Activation.MANUAL,
        scope=Scope.PLAN,
        mime_type="application/yaml" if file.path.suffix == ".yaml" else "application/json",
        head=file.parts.head,
        body=file.parts.body,
        body_line=file.parts.body_line,
        problems=problems.told(),
        **{"title": desired_id, "severity": Severity.INFO, **stated},
    )


def _loaded(path: PurePosixPath, text: str) -> Said:
    said = yaml.safe_load(text) if path.suffix == ".yaml" else json.loads(text)
    if not isinstance(said, dict):
        raise TypeError("it holds no keys")
    return said


def _task(said: Said) -> dict[str, Any]:
    facts = [
        (p.DERIVED_FROM.name, said["plan"]),
        *_each(p.TASK_DEPENDS_ON.name, said["depends_on"]),
        *_each(p.TASK_FILE.name, said["files"]),
        *_each(p.TASK_CRITERION.name, said["criteria"]),
    ]
    return {"title": _line(said["title"]), "facts": tuple(facts)}


def _decision(said: Said) -> dict[str, Any]:
    links = [
        Link(relation, said[relation], None)
        for relation in ("supersedes", "superseded_by")
        if said.get(relation)
    ]
    status = "superseded" if said.get("superseded_by") else "accepted"
    return {
        "title": _line(said["decision"]),
        "summary": " ".join(str(said["reason"]).split()),
        "decision": DecisionFacts(status, str(said["at"])[:10]),
        "links": tuple(links),
        "facts": ((p.DERIVED_FROM.name, said["plan"]),),
    }


def _risk(said: Said) -> dict[str, Any]:
    return {
        "title": _line(said["text"]),
        "severity": _SEVERITY[said["severity"]],
        "facts": (
            (p.DERIVED_FROM.name, said["plan"]),
            (p.RISK_SEVERITY.name, said["severity"]),
        ),
    }


def _each(name: str, values: Iterable[object]) -> Iterator[Fact]:
    return ((name, str(value)) for value in values)


def _line(text: str) -> str:
    """The first words of a text, as a title."""
    words = " ".join(str(text).split())
    return words if len(words) <= _TITLE_LENGTH else f"{words[: _TITLE_LENGTH - 1]}…"
