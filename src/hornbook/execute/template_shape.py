"""Which elements, attributes and texts a task template may have, as one table.

`templates/task.xsd` says the same for editors; a test keeps the two equal.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from hornbook.assemble.settings import KEYS, SUBTYPES, VALUES

NAME_PATTERN = "[a-z][a-z0-9_-]*"


class Text(Enum):
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
    text: Text = Text.NONE
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
        "description": Shape(text=Text.REQUIRED),
        "role": Shape(text=Text.REQUIRED),
        "output_schema": Shape(text=Text.REQUIRED),
        "inputs": Shape(children=("input",), repeated=True),
        "input": Shape(
            attributes={**_NAMED, "required": Attribute(values=("true", "false"))},
            text=Text.OPTIONAL,
        ),
        "prompt": Shape(children=("part",), repeated=True),
        "part": Shape(attributes=_NAMED, text=Text.REQUIRED),
        "context_management": Shape(children=KEYS),
        **{key: Shape(text=Text.REQUIRED, values=values) for key, values in VALUES.items()},
    }
)
TASKS = frozenset({"task", "inner_task", "reduction_task"})
