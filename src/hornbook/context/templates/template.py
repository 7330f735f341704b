"""Task templates: XML in, a validated frozen value or every problem out.

A template is data. It says what a task is told and what it may know; it has no condition, no
loop, no command and no reference to another file. Each task of it is compared with the table of
shapes, `SHAPES`, and every difference is told.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain
from textwrap import dedent
from types import MappingProxyType

from hornbook.context.templates.context_settings import (
    KEYS,
    SUBTYPES,
    VALUES,
    ContextSettings,
    EffectiveSettings,
    Operator,
    SettingFinding,
    bad_values,
    effective,
    operator_for,
    remedy,
)
from hornbook.context.templates.safe_xml import WHITESPACE, Element, read_xml
from hornbook.located import Refusal

NAME_PATTERN = "[a-z][a-z0-9_-]*"


class TextShape(Enum):
    """Whether an element may or must have a text of its own."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute: one of `values`, or a name where there are none."""

    required: bool = False
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """What one kind of element may hold; a child stands once, `repeated` ones any number."""

    children: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    repeated: bool = False
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    text: TextShape = TextShape.NONE
    values: tuple[str, ...] = ()


_LEAF = ("description", "role", "inputs", "context_management", "prompt", "output_schema")
_NAMED = {"name": Attribute(required=True)}
_SUBTYPES = tuple(subtype for subtypes in SUBTYPES.values() for subtype in subtypes)

CHILD_TASKS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "atomic": (),
        "sequential": ("steps",),
        "reduce": ("inner_task", "reduction_task"),
        "script": (),
    }
)
_CHILD_TASKS = tuple(name for names in CHILD_TASKS.values() for name in names)

SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        "task": Shape(
            children=(*_LEAF, *_CHILD_TASKS),
            required=("description",),
            attributes={
                "type": Attribute(required=True, values=tuple(SUBTYPES)),
                "subtype": Attribute(values=_SUBTYPES),
            },
        ),
        "steps": Shape(children=("task",), repeated=True),
        "inner_task": Shape(children=_LEAF, required=("description",)),
        "reduction_task": Shape(children=_LEAF, required=("description",)),
        "description": Shape(text=TextShape.REQUIRED),
        "role": Shape(text=TextShape.REQUIRED),
        "output_schema": Shape(text=TextShape.REQUIRED),
        "inputs": Shape(children=("input",), repeated=True),
        "input": Shape(
            attributes={**_NAMED, "required": Attribute(values=("true", "false"))},
            text=TextShape.OPTIONAL,
        ),
        "prompt": Shape(children=("part",), repeated=True),
        "part": Shape(attributes=_NAMED, text=TextShape.REQUIRED),
        "context_management": Shape(children=KEYS),
        **{key: Shape(text=TextShape.REQUIRED, values=values) for key, values in VALUES.items()},
    }
)
TASKS = frozenset({"task", "inner_task", "reduction_task"})


_NAME = re.compile(NAME_PATTERN)


@dataclass(frozen=True, slots=True)
class TemplateFinding:
    """Something wrong with a template: `path` names the task, `line` the place in the file."""

    code: str
    path: str
    line: int
    message: str


def structure_findings(task: Element, path: str, kind: str | None) -> list[TemplateFinding]:
    """What is wrong with a task's elements, attributes and texts; its child tasks aside.

    `kind` is the task's type, None where it is not known: then any child task may stand.
    """
    return [
        TemplateFinding(code, path, line, message) for code, line, message in _Walk(kind).task(task)
    ]


_Told = tuple[str, int, str]


@dataclass(frozen=True, slots=True)
class _Walk:
    kind: str | None

    def task(self, task: Element) -> Iterator[_Told]:
        shape = SHAPES[task.name]
        allowed = [name for name in shape.children if self._may_stand(name)]
        yield from self._element(task, shape, allowed)

    def _may_stand(self, name: str) -> bool:
        children_of_tasks = {child for names in CHILD_TASKS.values() for child in names}
        if self.kind is None or name not in children_of_tasks:
            return True
        return name in CHILD_TASKS.get(self.kind, ())

    def _element(self, element: Element, shape: Shape, allowed: Sequence[str]) -> Iterator[_Told]:
        yield from _attribute_findings(element, shape)
        yield from _text_findings(element, shape)
        yield from _missing_children(element, shape)
        yield from _duplicate_children(element, shape, allowed)
        for child in element.children:
            if child.name not in allowed:
                yield self._unknown(child, element, allowed)
            elif child.name not in TASKS:
                inner = SHAPES[child.name]
                yield from self._element(child, inner, inner.children)

    def _unknown(self, child: Element, parent: Element, allowed: Sequence[str]) -> _Told:
        owners = [kind for kind, names in CHILD_TASKS.items() if child.name in names]
        homes = _homes(child)
        if parent.name == "task" and owners:
            message = f"<{child.name}> belongs to a task of type {owners[0]}, not {self.kind}."
        elif homes and parent.name not in homes:
            message = f"<{child.name}> does not belong in <{parent.name}> but in <{homes[0]}>."
        else:
            hint = remedy(child.name, allowed)
            message = f"<{child.name}> is not known in <{parent.name}>: {hint}"
        return f"unknown_element:{child.name}", child.line, message


def _homes(element: Element) -> list[str]:
    """The elements that this one may stand in."""
    return [name for name, shape in SHAPES.items() if element.name in shape.children]


def _attribute_findings(element: Element, shape: Shape) -> Iterator[_Told]:
    given = [name for name, _ in element.attributes]
    for name, attribute in shape.attributes.items():
        if attribute.required and name not in given:
            message = f"<{element.name}> has no attribute `{name}`: add it."
            yield f"missing_attribute:{name}", element.line, message
    for name in given:
        if name not in shape.attributes:
            hint = remedy(name, shape.attributes)
            message = f"<{element.name}> has no attribute `{name}`: {hint}"
            yield f"unknown_attribute:{name}", element.line, message
        elif element.name != "task":
            # The type and subtype of a task name its operator, which has a code of its own.
            yield from _attribute_value(element, name, shape.attributes[name])


def _attribute_value(element: Element, name: str, attribute: Attribute) -> Iterator[_Told]:
    value = element.attribute(name) or ""
    if attribute.values and value not in attribute.values:
        message = f"`{name}` is {value[:40]!r}: {remedy(value, attribute.values)}"
        yield f"bad_value:{name}", element.line, message
    elif not attribute.values and not _NAME.fullmatch(value):
        message = f"`{name}` is {value[:40]!r}: write lower-case letters, digits, `_` and `-`."
        yield f"bad_value:{name}", element.line, message


def _text_findings(element: Element, shape: Shape) -> Iterator[_Told]:
    if shape.text is TextShape.NONE and element.value:
        message = f"<{element.name}> holds elements only, found the text {element.value[:40]!r}."
        yield f"unexpected_text:{element.name}", element.line, message
    # Context settings are judged with their operator, empty ones too.
    elif shape.text is TextShape.REQUIRED and not element.value and element.name not in VALUES:
        message = f"<{element.name}> is empty: write something, or remove it if it may be missing."
        yield f"bad_value:{element.name}", element.line, message


def _missing_children(element: Element, shape: Shape) -> Iterator[_Told]:
    for name in shape.required:
        if element.child(name) is None:
            message = f"<{element.name}> has no <{name}>: add one."
            yield f"missing_element:{name}", element.line, message


def _duplicate_children(element: Element, shape: Shape, allowed: Sequence[str]) -> Iterator[_Told]:
    seen: Counter[str] = Counter()
    for child in element.children:
        if child.name not in allowed:
            continue
        name = child.attribute("name") if shape.repeated else None
        key = child.name if not shape.repeated else name
        if key is None:
            continue
        seen[key] += 1
        if seen[key] == 2:
            told = "duplicate_name" if shape.repeated else "duplicate_element"
            message = f"<{element.name}> has `{key}` more than once: remove all but one."
            yield f"{told}:{key}", child.line, message


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
    """A loaded task; `name` is its place in its parent: `steps[0]`, `inner_task`, or `task`.

    `path` names it in findings, and `lines` are those of its parts, of `task` itself among them.
    """

    name: str
    operator: Operator
    description: str
    settings: ContextSettings
    role: str | None = None
    inputs: tuple[TaskInput, ...] = ()
    prompt: tuple[PromptPart, ...] = ()
    output_schema: str | None = None
    children: tuple["TaskTemplate", ...] = ()
    path: str = ""
    given: tuple[str, ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict)

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


def load_template(
    data: bytes | str, *, continuation: bool = False, subtype: str | None = None
) -> LoadedTemplate:
    """What a template's text says; never raises. One error anywhere rejects it whole.

    `subtype` is that of an atomic task which names none; without it that is `standard`.
    Findings follow the tasks in document order, those of one task their codes.
    """
    root = read_xml(data)
    if isinstance(root, Refusal):
        return _refused(TemplateFinding(root.code, "", root.line, root.message))
    if root.name != "task":
        message = f"the root is <{root.name}>: {remedy(root.name, ['task'])}"
        return _refused(TemplateFinding(f"unknown_element:{root.name}", "", root.line, message))
    place = _kind(root) or "task"
    task = _typed_task(root, "task", place, continuation=continuation, default=subtype)
    tasks = [task, *task.descendants()]
    errors = tuple(chain.from_iterable(each.errors() for each in tasks))
    warnings = tuple(chain.from_iterable(each.warnings() for each in tasks))
    return LoadedTemplate(None if errors else _built(task), task.operator, errors, warnings)


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
        if SUBTYPES.get(self.kind or "") == () and self._says_subtype:
            message = f"`subtype` does not apply to {self.kind}, which has none: remove it."
            found.append(
                TemplateFinding("not_applicable:subtype", self.path, self.element.line, message)
            )
        return sorted(found, key=lambda finding: (finding.code, finding.line))

    @property
    def _says_subtype(self) -> bool:
        return self.element.attribute("subtype") is not None

    def warnings(self) -> list[TemplateFinding]:
        return [self._located_finding(warning) for warning in self.outcome.warnings]

    def _located_finding(self, finding: SettingFinding) -> TemplateFinding:
        line = finding.line or self.element.line
        return TemplateFinding(finding.code, self.path, line, finding.message)


def _kind(task: Element) -> str | None:
    """The type of a task, None where it is missing or not known."""
    kind = task.attribute("type")
    return kind if kind in SUBTYPES else None


def _typed_task(
    element: Element,
    name: str,
    path: str,
    *,
    continuation: bool = False,
    default: str | None = None,
) -> _Task:
    kind = _kind(element)
    subtype = element.attribute("subtype")
    if subtype is None and kind == "atomic":
        subtype = default
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
        path=task.path,
        given=tuple(key for key in KEYS if key in _settings_lines(element)),
        lines={
            **{child.name: child.line for child in element.children},
            **{each.attribute("name") or "": each.line for each in _listed(element, "inputs")},
            **_settings_lines(element),
            "task": element.line,
        },
    )


def _settings_lines(task: Element) -> dict[str, int]:
    """Where each context setting of a task stands."""
    return {child.name: child.line for child in _listed(task, "context_management")}


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
