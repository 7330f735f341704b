"""Loads a workflow: JSON in, a checked frozen value or every problem out."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from hornbook.context.templates.context_settings import remedy
from hornbook.errors import ConfigError
from hornbook.located import JsonDocument, JsonKind, Node, Refusal, read_json
from hornbook.loop.workflow.definition import SHIPPED, Key, Notebook, Workflow, WorkflowFinding
from hornbook.loop.workflow.flow import check_flow, check_references
from hornbook.loop.workflow.parts import NAME, PlacedStep, StepReader, duration
from hornbook.loop.workflow.payloads import check_payloads
from hornbook.plans.run_kinds import TRIGGER
from hornbook.resources import PACKAGE

MAX_ITERATIONS = 100
MAX_STEPS = 200
VERSION_PATTERN = "[0-9]{1,9}[.][0-9]{1,9}[.][0-9]{1,9}"
_VERSION = re.compile(VERSION_PATTERN)

WORKFLOW_KEYS = {
    "id": Key(JsonKind.STRING, required=True),
    "name": Key(JsonKind.STRING),
    "description": Key(JsonKind.STRING),
    "version": Key(JsonKind.STRING, required=True),
    "enabled": Key(JsonKind.BOOLEAN),
    "trigger": Key(JsonKind.OBJECT, required=True),
    "steps": Key(JsonKind.ARRAY, required=True),
    "timeout": Key(JsonKind.STRING, required=True),
    "max_iterations": Key(JsonKind.NUMBER, required=True),
}
TRIGGER_KEYS = {"subject": Key(JsonKind.STRING, required=True)}


@dataclass(frozen=True, slots=True)
class LoadedWorkflow:
    """A workflow with its warnings; or none, and every error. Id and step names are told if known.

    Findings follow their lines.
    """

    workflow: Workflow | None
    id: str | None
    steps: tuple[str, ...]
    errors: tuple[WorkflowFinding, ...]
    warnings: tuple[WorkflowFinding, ...]


def load_workflow(data: bytes | str) -> LoadedWorkflow:
    """What a definition says; never raises. One error anywhere rejects it whole.

    How runs can move is judged as soon as every step is known and every target exists.
    """
    read = read_json(data)
    notes = Notebook()
    if isinstance(read, Refusal):
        notes.wrong(read.code, "", read.line, read.message)
    elif notes.of_kind(read.root, "", "workflow", JsonKind.OBJECT):
        return _Definition(read, notes).loaded()
    return LoadedWorkflow(None, None, (), tuple(notes.errors), ())


def require_workflow(data: bytes | str, origin: str) -> Workflow:
    """The workflow in a text that was read from `origin`.

    Raises:
        ConfigError: It has errors; carries all of them, each with its line.
    """
    loaded = load_workflow(data)
    if loaded.workflow is None:
        raise ConfigError(
            [
                f"{origin}, line {each.line}: {f'{each.path}: ' if each.path else ''}{each.message}"
                for each in loaded.errors
            ]
        )
    return loaded.workflow


class _Definition:
    def __init__(self, document: JsonDocument, notes: Notebook) -> None:
        self._notes = notes
        for each in document.duplicates:
            message = f"`{each.key}` stands on line {each.first_line} already: remove one."
            path = f"{each.path}.{each.key}" if each.path else each.key
            notes.wrong(f"duplicate_key:{each.key}", path, each.line, message)
        self._root = document.root
        self._given = notes.members(document.root, "", WORKFLOW_KEYS)

    def loaded(self) -> LoadedWorkflow:
        notes, given = self._notes, self._given
        workflow_id = self._id()
        self._trigger(workflow_id)
        self._version()
        timeout = duration(notes, given["timeout"], "timeout") if "timeout" in given else None
        iterations = self._iterations()
        placed, names = self._steps()
        self._doubts(placed, timeout, iterations)
        errors, warnings = _by_line(notes.errors), _by_line(notes.warnings)
        workflow = None
        if not errors and workflow_id and timeout and iterations:
            workflow = Workflow(
                id=workflow_id,
                version=self._text("version"),
                steps=tuple(each.step for each in placed),
                timeout=timeout,
                max_iterations=iterations,
                name=self._text("name"),
                description=self._text("description"),
                enabled="enabled" not in given or given["enabled"].scalar is True,
            )
        return LoadedWorkflow(workflow, workflow_id, names, errors, warnings)

    def _text(self, key: str) -> str:
        return str(self._given[key].scalar) if key in self._given else ""

    def _wrong(self, key: str, message: str) -> None:
        self._notes.wrong(f"bad_value:{key}", key, self._given[key].line, message)

    def _id(self) -> str | None:
        if "id" not in self._given:
            return None
        if not NAME.fullmatch(self._text("id")):
            self._wrong(
                "id",
                f"`id` is {self._text('id')[:40]!r}: write a lower-case letter, then letters, "
                "digits, `_` and `-`.",
            )
        return self._text("id")

    def _trigger(self, workflow_id: str | None) -> None:
        if "trigger" not in self._given:
            return
        members = self._notes.members(self._given["trigger"], "trigger", TRIGGER_KEYS)
        if "subject" in members and workflow_id is not None:
            wanted = f"{TRIGGER}{workflow_id}"
            node = members["subject"]
            if node.scalar != wanted:
                message = f"the subject of the trigger follows from the id: write `{wanted}`."
                self._notes.wrong("bad_value:subject", "trigger.subject", node.line, message)

    def _version(self) -> None:
        if "version" in self._given and not _VERSION.fullmatch(self._text("version")):
            self._wrong(
                "version",
                f"`version` is {self._text('version')[:40]!r}: write three numbers such as "
                "`1.0.0`.",
            )

    def _iterations(self) -> int | None:
        if "max_iterations" not in self._given:
            return None
        value = self._given["max_iterations"].scalar
        if isinstance(value, int | float) and value == int(value) and 1 <= value <= MAX_ITERATIONS:
            return int(value)
        message = f"`max_iterations` is {value}: write a whole number from 1 to {MAX_ITERATIONS}."
        self._wrong("max_iterations", message)
        return None

    # Steps

    def _step_nodes(self) -> Sequence[Node]:
        """The steps as they are written, no more than a workflow may have."""
        if "steps" not in self._given:
            return ()
        nodes = self._given["steps"].items
        if not nodes:
            self._wrong("steps", "there is no step: add one.")
        if len(nodes) > MAX_STEPS:
            self._wrong("steps", f"there are more than {MAX_STEPS} steps: split the workflow.")
        return nodes[:MAX_STEPS]

    def _steps(self) -> tuple[list[PlacedStep], tuple[str, ...]]:
        nodes = self._step_nodes()
        read = [
            StepReader(self._notes, f"steps[{place}]").step(node)
            for place, node in enumerate(nodes)
        ]
        placed = [each for each in read if each is not None]
        names = _names(nodes)
        known = {**names, **dict.fromkeys(name for each in placed for name in each.step.names)}
        sound = self._unique(nodes) and len(placed) == len(nodes)
        sound = self._targets(nodes, tuple(names)) and sound
        self._aliases(placed)
        check_references(placed, self._notes, tuple(known))
        if len(placed) == len(nodes) and not self._unknown_names():
            check_payloads(placed, self._notes)
        if sound and placed and not self._unknown_names():
            check_flow(placed, self._notes)
        return placed, tuple(names)

    def _unknown_names(self) -> bool:
        """Whether an expression names no step, so that nothing can be said of what it reads."""
        return any(
            each.code.startswith(("unknown_step:", "unknown_field:")) for each in self._notes.errors
        )

    def _unique(self, nodes: Sequence[Node]) -> bool:
        lines: dict[str, int] = {}
        unique = True
        for place, node in enumerate(nodes):
            name = _name(node)
            if name in lines:
                unique = False
                line = node.members["name"].line
                message = (
                    f"`{name}` is the name of the step on line {lines[name]} already: rename one."
                )
                self._notes.wrong(f"duplicate_step:{name}", f"steps[{place}].name", line, message)
            elif name is not None:
                lines[name] = node.members["name"].line
        return unique

    def _targets(self, nodes: Sequence[Node], names: Sequence[str]) -> bool:
        found = True
        for place, node in enumerate(nodes):
            for key in ("on_success", "on_fail"):
                target = node.members.get(key)
                if target is None or target.kind is not JsonKind.STRING or target.scalar in names:
                    continue
                found = False
                name = str(target.scalar)
                message = f"`{key}` names no step: {remedy(name, names)}"
                path = f"steps[{place}].{key}"
                self._notes.wrong(f"unknown_step:{name}", path, target.line, message)
        return found

    def _aliases(self, placed: Sequence[PlacedStep]) -> None:
        """A result may stand in for a step's own only if it answers the same."""
        own = {each.step.name: each.step for each in placed}
        for each in placed:
            alias = each.step.output_as
            meant = own.get(alias) if alias else None
            if meant is None or meant.action.subject == each.step.action.subject:
                continue
            message = (
                f"`{alias}` is a step of another subject ({meant.action.subject}): name one of "
                "the same, or choose a new name."
            )
            line = each.line("output_as")
            self._notes.wrong("bad_value:output_as", f"{each.path}.output_as", line, message)

    # Doubts

    def _doubts(
        self, placed: Sequence[PlacedStep], timeout: int | None, iterations: int | None
    ) -> None:
        for each in placed:
            step, condition = each.step, each.step.condition
            if timeout and step.timeout and step.timeout > timeout:
                message = (
                    f"`{step.name}` may take longer than the whole workflow: the workflow's "
                    "`timeout` ends it."
                )
                path, line = f"{each.path}.timeout", each.line("timeout")
                self._notes.doubtful(f"beyond_limit:{step.name}", path, line, message)
            if condition and iterations and _allowed(each) > iterations:
                message = (
                    f"`{step.name}` would allow more iterations than `max_iterations`: the run "
                    "escalates before."
                )
                path, line = f"{each.path}.condition", each.line("condition")
                self._notes.doubtful(f"beyond_limit:{step.name}", path, line, message)


def _allowed(placed: PlacedStep) -> float:
    """The number of the last iteration that a step's condition lets begin."""
    condition = placed.step.condition
    if condition is None or not condition.limits_iterations:
        return 0
    limit = condition.value if isinstance(condition.value, int | float) else 0
    return limit if condition.operator == "lt" else limit + 1


def _name(node: Node) -> str | None:
    name = node.members.get("name")
    return str(name.scalar) if name is not None and name.kind is JsonKind.STRING else None


def _names(nodes: Sequence[Node]) -> Mapping[str, None]:
    return dict.fromkeys(name for node in nodes if (name := _name(node)) is not None)


def _by_line(findings: Sequence[WorkflowFinding]) -> tuple[WorkflowFinding, ...]:
    return tuple(sorted(findings, key=lambda each: (each.line, each.path, each.code, each.message)))


@cache
def shipped_workflow(workflow_id: str) -> Workflow:
    """One of the `SHIPPED` workflows.

    Raises:
        FileNotFoundError: None has that id.
    """
    file = PACKAGE / "loop/workflow/workflows" / f"{workflow_id}.json"
    return require_workflow(file.read_bytes(), f"{workflow_id}.json")


def shipped_workflows() -> tuple[Workflow, ...]:
    """All of them."""
    return tuple(map(shipped_workflow, SHIPPED))


def load_workflows(shipped: Iterable[Workflow], own: Mapping[str, bytes]) -> Mapping[str, Workflow]:
    """Every workflow by its id; one of a repository's `own` files wins over a shipped one.

    `own` are the texts by the name of their file.

    Raises:
        ConfigError: A file has errors, two have one id, or a workflow hands on to none that there
            is; carries all of that.
    """
    problems: list[str] = []
    origins: dict[str, str] = {}
    found = {workflow.id: workflow for workflow in shipped}
    for name, data in sorted(own.items()):
        try:
            workflow = require_workflow(data, name)
        except ConfigError as error:
            problems += error.problems
            continue
        if workflow.id in origins:
            problems.append(
                f"{name}: `{workflow.id}` is the id of {origins[workflow.id]} too: change one."
            )
        origins[workflow.id] = name
        found[workflow.id] = workflow
    if not problems:
        problems = [
            f"{origins.get(workflow.id, 'shipped')}: {problem}"
            for workflow in found.values()
            for problem in _handed_to_none(workflow, found)
        ]
    if problems:
        raise ConfigError(problems)
    return dict(sorted(found.items()))


def _handed_to_none(workflow: Workflow, known: Mapping[str, Workflow]) -> Iterator[str]:
    for step in workflow.steps:
        if not step.action.subject.startswith(TRIGGER):
            continue
        target = step.action.subject.removeprefix(TRIGGER)
        if target not in known:
            yield (
                f"`{step.name}` of `{workflow.id}` hands on to `{target}`, which is no workflow: "
                f"{remedy(target, known)}"
            )
        elif workflow.enabled and not known[target].enabled:
            yield (
                f"`{step.name}` of `{workflow.id}` hands on to `{target}`, which is not enabled: "
                f"enable it or disable `{workflow.id}`."
            )
