"""Reads the parts of a definition from their nodes: expressions, conditions, actions, steps."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from hornbook.context.templates.context_settings import remedy
from hornbook.located import JsonKind, Node, below
from hornbook.loop.workflow.definition import Action, Condition, Key, Notebook, Step, seconds_of
from hornbook.loop.workflow.expressions import (
    EXISTS,
    OPERATORS,
    BadExpression,
    ExpressionTemplate,
    Reference,
    Templated,
    parse,
    references,
)
from hornbook.loop.workflow.subjects import (
    COMPLETE,
    STATUSES,
    SUBJECTS,
    ActionType,
    Subject,
    subject_named,
)
from hornbook.plans.run_kinds import TRIGGER

NAME_PATTERN = "[a-z][a-z0-9_-]*"
NAME = re.compile(NAME_PATTERN)

STEP_KEYS = {
    "name": Key(JsonKind.STRING, required=True),
    "condition": Key(JsonKind.OBJECT),
    "action": Key(JsonKind.OBJECT, required=True),
    "on_success": Key(JsonKind.STRING),
    "on_fail": Key(JsonKind.STRING),
    "timeout": Key(JsonKind.STRING),
    "output_as": Key(JsonKind.STRING),
}
CONDITION_KEYS = {
    "field": Key(JsonKind.STRING, required=True),
    "operator": Key(JsonKind.STRING, required=True),
    "value": Key(None, required=True),
}
AGENT_KEYS = {
    name: Key(JsonKind.STRING, required=True)
    for name in ("type", "subject", "role", "model", "prompt")
}
OTHER_KEYS = {
    "type": Key(JsonKind.STRING, required=True),
    "subject": Key(JsonKind.STRING, required=True),
    "payload": Key(JsonKind.OBJECT),
}


@dataclass(frozen=True, slots=True)
class Use:
    """An expression at its place; a `tolerant` one may be missing in a run."""

    step: str
    reference: Reference
    path: str
    line: int
    tolerant: bool
    in_condition: bool = False


@dataclass(frozen=True, slots=True)
class PlacedStep:
    """A step with its node and the expressions in it."""

    step: Step
    node: Node
    path: str
    uses: tuple[Use, ...]

    def line(self, key: str) -> int:
        """The line of one of its members, else of the step itself."""
        member = self.node.members.get(key)
        return member.line if member else self.node.line


@dataclass(slots=True)
class StepReader:
    """Reads one step; whatever is wrong goes into the notebook."""

    notes: Notebook
    path: str
    name: str = ""
    uses: tuple[Use, ...] = ()

    def step(self, node: Node) -> PlacedStep | None:
        """The step, None where too little of it is right to go on with."""
        if not self.notes.of_kind(node, self.path, "steps", JsonKind.OBJECT):
            return None
        given = self.notes.members(node, self.path, STEP_KEYS)
        self.name = str(given["name"].scalar) if "name" in given else ""
        for key in ("name", "output_as"):
            if key in given:
                self._checked_name(given[key], key)
        condition = self._condition(given["condition"]) if "condition" in given else None
        action = self._action(given["action"]) if "action" in given else None
        self._together(node, action)
        timeout = self._timeout(given, action)
        complete = bool(self.name) and ("condition" in node.members) == (condition is not None)
        if action is None or not complete:
            return None
        step = Step(
            name=self.name,
            action=action,
            condition=condition,
            on_success=_text(given.get("on_success")),
            on_fail=_text(given.get("on_fail")),
            timeout=timeout,
            output_as=_text(given.get("output_as")),
        )
        return PlacedStep(step, node, self.path, self.uses)

    def _checked_name(self, node: Node, key: str) -> None:
        if not NAME.fullmatch(str(node.scalar)):
            message = (
                f"`{key}` is {str(node.scalar)[:40]!r}: write a lower-case letter, then letters, "
                "digits, `_` and `-`."
            )
            self.notes.wrong(f"bad_value:{key}", below(self.path, key), node.line, message)

    def _together(self, node: Node, action: Action | None) -> None:
        """Notes members that do not go together."""
        if "condition" not in node.members:
            return
        if "on_fail" not in node.members:
            message = (
                "a step with a condition says where the run goes when it does not hold: add "
                "`on_fail`."
            )
            self.notes.wrong("missing_key:on_fail", self.path, node.line, message)
        if action is not None and action.rule.judges:
            message = (
                f"`{action.subject}` answers yes or no, and so does the condition: put the "
                "condition into a step of its own."
            )
            self.notes.wrong(
                "bad_value:condition",
                below(self.path, "condition"),
                node.members["condition"].line,
                message,
            )

    def _timeout(self, given: Mapping[str, Node], action: Action | None) -> int | None:
        if "timeout" not in given:
            return None
        node, path = given["timeout"], below(self.path, "timeout")
        if action is not None and action.type is ActionType.ASK:
            message = "waiting for a person does not count: remove `timeout`."
            self.notes.wrong("bad_value:timeout", path, node.line, message)
            return None
        return duration(self.notes, node, path)

    # Expressions

    def _templated(self, node: Node, path: str) -> Templated:
        if node.kind is JsonKind.OBJECT:
            return {
                key: self._templated(member, below(path, key))
                for key, member in node.members.items()
            }
        if node.kind is JsonKind.ARRAY:
            return tuple(
                self._templated(item, f"{path}[{place}]") for place, item in enumerate(node.items)
            )
        if node.kind is JsonKind.STRING:
            return self._template(node, path)
        return node.scalar if not isinstance(node.scalar, str) else None

    def _template(self, node: Node, path: str, *, tolerant: bool = False) -> ExpressionTemplate:
        try:
            template = parse(str(node.scalar))
        except BadExpression as problem:
            self.notes.wrong("bad_expression", path, node.line, str(problem))
            return ExpressionTemplate(("?",))
        in_condition = path.startswith(f"{self.path}.condition.")
        self.uses += tuple(
            Use(
                self.name,
                each,
                path,
                node.line,
                tolerant or each.default is not None,
                in_condition,
            )
            for each in references(template)
        )
        return template

    # Conditions

    def _condition(self, node: Node) -> Condition | None:
        path = below(self.path, "condition")
        given = self.notes.members(node, path, CONDITION_KEYS)
        name = _text(given.get("operator"))
        if name is not None and name not in OPERATORS:
            message = f"`{name[:40]}` is no operator: {remedy(name, OPERATORS)}"
            line = given["operator"].line
            self.notes.wrong(f"unknown_operator:{name}", below(path, "operator"), line, message)
        field = self._field(given, path, tolerant=name == EXISTS)
        value = self._templated(given["value"], below(path, "value")) if "value" in given else None
        if field is None or name is None or name not in OPERATORS or "value" not in given:
            return None
        return Condition(field, name, value)

    def _field(self, given: Mapping[str, Node], path: str, *, tolerant: bool) -> Reference | None:
        if "field" not in given:
            return None
        place = below(path, "field")
        found = len(self.notes.errors)
        template = self._template(given["field"], place, tolerant=tolerant)
        if template.single is None and found == len(self.notes.errors):
            message = "`field` is not one expression: write `${…}` and nothing around it."
            self.notes.wrong("bad_value:field", place, given["field"].line, message)
        return template.single

    # Actions

    def _action(self, node: Node) -> Action | None:
        path = below(self.path, "action")
        kind = self._type(node, path)
        keys = AGENT_KEYS if kind is ActionType.PUBLISH_AGENT else OTHER_KEYS
        given = self.notes.members(node, path, keys if kind else {**AGENT_KEYS, **_ANY})
        subject = self._subject(given, path, kind)
        payload_node = given.get("payload")
        payload = self._templated(payload_node, below(path, "payload")) if payload_node else {}
        model, prompt = self._text(given, "model", path), self._text(given, "prompt", path)
        if kind is None or subject is None:
            return None
        name = str(given["subject"].scalar)
        if kind is ActionType.PUBLISH_AGENT:
            self._role(given, path, subject)
        else:
            self._inputs(node, path, name, subject)
        members = payload if isinstance(payload, Mapping) else {}
        return Action(kind, name, subject.role, model, prompt, members)

    def _type(self, node: Node, path: str) -> ActionType | None:
        given = node.members.get("type")
        if given is None or given.kind is not JsonKind.STRING:
            return None
        if given.scalar in tuple(ActionType):
            return ActionType(str(given.scalar))
        name = str(given.scalar)
        message = f"`{name[:40]}` is no type of action: {remedy(name, tuple(ActionType))}"
        self.notes.wrong(f"unknown_action:{name}", below(path, "type"), given.line, message)
        return None

    def _subject(
        self, given: Mapping[str, Node], path: str, kind: ActionType | None
    ) -> Subject | None:
        if "subject" not in given or kind is None:
            return None
        name, line = str(given["subject"].scalar), given["subject"].line
        found = subject_named(name)
        if found is not None and found.action is kind and _trigger_is_named(name):
            return found
        known = [each for each, subject in SUBJECTS.items() if subject.action is kind]
        if found is not None and found.action is not kind:
            hint = f"it belongs to an action of type `{found.action}`."
        elif name.startswith(TRIGGER):
            hint = f"write `{TRIGGER}` and the id of a workflow."
        else:
            hint = remedy(name, known)
        message = f"`{name[:60]}` is no subject of `{kind}`: {hint}"
        self.notes.wrong(f"unknown_subject:{name}", below(path, "subject"), line, message)
        return None

    def _text(self, given: Mapping[str, Node], key: str, path: str) -> ExpressionTemplate | None:
        if key not in given:
            return None
        node, place = given[key], below(path, key)
        if not str(node.scalar).strip():
            message = f"`{key}` is empty: write something."
            self.notes.wrong(f"bad_value:{key}", place, node.line, message)
        return self._template(node, place)

    def _role(self, given: Mapping[str, Node], path: str, subject: Subject) -> None:
        if "role" in given and given["role"].scalar != subject.role:
            written = str(given["role"].scalar)
            message = (
                f"the role is `{written[:40]}`, the subject is for `{subject.role}`: write that."
            )
            self.notes.wrong("bad_value:role", below(path, "role"), given["role"].line, message)

    def _inputs(self, action: Node, path: str, name: str, subject: Subject) -> None:
        payload = action.members.get("payload")
        if payload is None:
            payload = Node(action.line, JsonKind.OBJECT)
        if payload.kind is not JsonKind.OBJECT:
            return
        keys = {each: Key(None, required=True) for each in subject.required}
        keys |= {each: Key(None) for each in subject.optional}
        if subject.open:
            keys |= {each: keys.get(each, Key(None)) for each in payload.members}
        given = self.notes.members(payload, below(path, "payload"), keys)
        if name == COMPLETE and "status" in given and given["status"].scalar not in STATUSES:
            node = given["status"]
            message = (
                f"`status` is not {' or '.join(STATUSES)}, written out: no answer of an agent "
                "ends a task."
            )
            self.notes.wrong("bad_value:status", f"{path}.payload.status", node.line, message)


_ANY = {"payload": Key(None)}


def _trigger_is_named(name: str) -> bool:
    return not name.startswith(TRIGGER) or bool(NAME.fullmatch(name.removeprefix(TRIGGER)))


def _text(node: Node | None) -> str | None:
    return str(node.scalar) if node is not None else None


def duration(notes: Notebook, node: Node, path: str) -> int | None:
    """The seconds of a time-out; noted if it is none."""
    found = seconds_of(str(node.scalar))
    if found is None:
        message = (
            f"{str(node.scalar)[:40]!r} is no duration: write one such as `30s`, `5m` or `1h30m`."
        )
        notes.wrong("bad_value:timeout", path, node.line, message)
    return found
