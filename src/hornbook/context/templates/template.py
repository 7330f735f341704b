"""Task templates: XML in, a validated frozen value or every problem out.

A template is data. It says what a task is told and what it may know; it has no condition, no
loop, no command and no reference to another file.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from textwrap import dedent

from hornbook.context.templates.context_settings import (
    KEYS,
    SUBTYPES,
    ContextSettings,
    EffectiveSettings,
    Operator,
    SettingFinding,
    bad_values,
    effective,
    operator_for,
    remedy,
)
from hornbook.context.templates.structure import CHILD_TASKS, TemplateFinding, structure_findings
from hornbook.context.templates.xml import WHITESPACE, Element, read_xml
from hornbook.errors import ConfigError
from hornbook.located import Refusal

_CHILD_OPERATORS = {
    "inner_task": Operator.INNER_TASK,
    "reduction_task": Operator.REDUCTION_TASK,
}


@dataclass(frozen=True, slots=True)
class TaskInput:
    """A value that a task is given by name."""

    name: str
    required: bool
    description: str


@dataclass(frozen=True, slots=True)
class PromptPart:
    """A named piece of what the task is told."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class TaskTemplate:
    """A loaded task; `name` is its place in its parent: `steps[0]`, `inner_task`, or `task`."""

    name: str
    operator: Operator
    description: str
    settings: ContextSettings
    role: str | None = None
    inputs: tuple[TaskInput, ...] = ()
    prompt: tuple[PromptPart, ...] = ()
    output_schema: str | None = None
    children: tuple["TaskTemplate", ...] = ()

    def descendants(self, prefix: str = "") -> Iterator[tuple[str, "TaskTemplate"]]:
        """Every task below this one with its path, such as `steps[1]/inner_task`."""
        for child in self.children:
            yield f"{prefix}{child.name}", child
            yield from child.descendants(f"{prefix}{child.name}/")


@dataclass(frozen=True, slots=True)
class LoadedTemplate:
    """A template with its warnings; or none, and every error. The operator is told if known."""

    template: TaskTemplate | None
    operator: Operator | None
    errors: tuple[TemplateFinding, ...]
    warnings: tuple[TemplateFinding, ...]


def load_template(data: bytes | str, *, continuation: bool = False) -> LoadedTemplate:
    """What a template's text says; never raises. One error anywhere rejects it whole.

    Findings follow the tasks in document order, those of one task their codes.
    """
    root = read_xml(data)
    if isinstance(root, Refusal):
        return _refused(TemplateFinding(root.code, "", root.line, root.message))
    if root.name != "task":
        message = f"the root is <{root.name}>: {remedy(root.name, ['task'])}"
        return _refused(TemplateFinding(f"unknown_element:{root.name}", "", root.line, message))
    task = _typed_task(root, "task", _kind(root) or "task", continuation=continuation)
    tasks = [task, *task.descendants()]
    errors = tuple(chain.from_iterable(each.errors() for each in tasks))
    warnings = tuple(chain.from_iterable(each.warnings() for each in tasks))
    return LoadedTemplate(None if errors else _built(task), task.operator, errors, warnings)


def require_template(data: bytes | str, origin: str) -> TaskTemplate:
    """The template in a text that was read from `origin`.

    Raises:
        ConfigError: It has errors; carries all of them, each with its line.
    """
    loaded = load_template(data)
    if loaded.template is None:
        raise ConfigError([f"{origin}, line {each.line}: {each.message}" for each in loaded.errors])
    return loaded.template


def _refused(error: TemplateFinding) -> LoadedTemplate:
    return LoadedTemplate(None, None, (error,), ())


@dataclass(frozen=True, slots=True)
class _Task:
    """A task element at its place, with the settings that it asks for."""

    element: Element
    name: str
    path: str
    kind: str | None
    operator: Operator | None
    outcome: EffectiveSettings
    children: tuple["_Task", ...]

    def descendants(self) -> Iterator["_Task"]:
        for child in self.children:
            yield child
            yield from child.descendants()

    def errors(self) -> list[TemplateFinding]:
        found = structure_findings(self.element, self.path, self.kind)
        found += [self._located_finding(error) for error in self.outcome.errors]
        if self.operator is None and self.element.attribute("type") is not None:
            found.append(_unknown_operator(self.element, self.path))
        return sorted(found, key=lambda finding: (finding.code, finding.line))

    def warnings(self) -> list[TemplateFinding]:
        return [self._located_finding(warning) for warning in self.outcome.warnings]

    def _located_finding(self, finding: SettingFinding) -> TemplateFinding:
        line = finding.line or self.element.line
        return TemplateFinding(finding.code, self.path, line, finding.message)


def _kind(task: Element) -> str | None:
    """The type of a task, None where it is missing or not known."""
    kind = task.attribute("type")
    return kind if kind in SUBTYPES else None


def _typed_task(element: Element, name: str, path: str, *, continuation: bool = False) -> _Task:
    kind = _kind(element)
    subtype = element.attribute("subtype")
    operator = operator_for(kind, subtype, continuation=continuation) if kind else None
    children = tuple(_child_tasks(element, path, kind))
    return _Task(element, name, path, kind, operator, _outcome(element, operator), children)


def _child_tasks(element: Element, path: str, kind: str | None) -> Iterator[_Task]:
    allowed = CHILD_TASKS[kind] if kind else ("steps", *_CHILD_OPERATORS)
    seen = set()
    for child in element.children:
        if child.name not in allowed or child.name in seen:
            continue
        seen.add(child.name)
        if child.name == "steps":
            yield from _steps(child, path)
        else:
            operator = _CHILD_OPERATORS[child.name]
            outcome = _outcome(child, operator)
            place = f"{path}/{child.name}"
            yield _Task(child, child.name, place, child.name, operator, outcome, ())


def _steps(steps: Element, path: str) -> Iterator[_Task]:
    tasks = [child for child in steps.children if child.name == "task"]
    for index, task in enumerate(tasks):
        name = f"steps[{index}]"
        yield _typed_task(task, name, f"{path}/{name}")


def _outcome(task: Element, operator: Operator | None) -> EffectiveSettings:
    block = task.child("context_management")
    asked = [child for child in (block.children if block else ()) if child.name in KEYS]
    first = {child.name: child for child in reversed(asked)}
    given = {name: child.value for name, child in first.items()}
    lines = {name: child.line for name, child in first.items()}
    if operator is None:
        return EffectiveSettings(None, tuple(bad_values(given, lines=lines)), ())
    return effective(operator, given, lines=lines)


def _unknown_operator(task: Element, path: str) -> TemplateFinding:
    kind, subtype = task.attribute("type") or "", task.attribute("subtype")
    name = kind if subtype is None or kind not in SUBTYPES else f"{kind}.{subtype}"
    if kind in SUBTYPES:
        message = f"{kind} has no subtype {subtype!r}: {remedy(subtype or '', SUBTYPES[kind])}"
    elif name in tuple(Operator):
        family, _, part = name.partition(".")
        remedied = f'type="{family}" subtype="{part}"' if SUBTYPES[family] else f"<{part}>"
        message = f"`{name}` is an operator, not a type: write {remedied}."
    else:
        message = f"no operator has the type {kind!r}: {remedy(kind, SUBTYPES)}"
    return TemplateFinding(f"unknown_operator:{name}", path, task.line, message)


def _built(task: _Task) -> TaskTemplate | None:
    settings = task.outcome.effective
    if task.operator is None or settings is None:
        return None
    element = task.element
    children = [_built(child) for child in task.children]
    return TaskTemplate(
        name=task.name,
        operator=task.operator,
        description=_child_text(element, "description") or "",
        settings=settings,
        role=_child_text(element, "role"),
        inputs=tuple(map(_input, _listed(element, "inputs"))),
        prompt=tuple(map(_part, _listed(element, "prompt"))),
        output_schema=_child_text(element, "output_schema"),
        children=tuple(child for child in children if child is not None),
    )


def _child_text(task: Element, name: str) -> str | None:
    child = task.child(name)
    return _unindented(child.text) if child else None


def _unindented(text: str) -> str:
    """A text as it is meant: the indentation of the XML around it is not part of it."""
    return dedent(text).strip(WHITESPACE)


def _listed(task: Element, name: str) -> tuple[Element, ...]:
    child = task.child(name)
    return child.children if child else ()


def _input(element: Element) -> TaskInput:
    required = element.attribute("required") != "false"
    return TaskInput(element.attribute("name") or "", required, _unindented(element.text))


def _part(element: Element) -> PromptPart:
    return PromptPart(element.attribute("name") or "", _unindented(element.text))
