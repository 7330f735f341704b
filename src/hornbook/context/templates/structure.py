"""Compares one task of a template with the table of shapes and tells every difference."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from hornbook.context.templates.context_settings import KEYS, SUBTYPES, VALUES, remedy
from hornbook.context.templates.xml import Element

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
