"""What a payload may say: every value of a workflow is used in a run, or refused at load.

Some members are there for the reader of a definition: what they stand for is fixed by the run, as
the task that it is about, the change that git has, the rules that bind it. Any other value there
would be ignored, so only the one expression that says just that is accepted.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from hornbook.context.templates.context_settings import remedy
from hornbook.gates.definitions import PRESETS
from hornbook.located import below
from hornbook.loop.workflow.definition import Notebook
from hornbook.loop.workflow.expressions import ExpressionTemplate, Templated, written_out
from hornbook.loop.workflow.parts import PlacedStep
from hornbook.loop.workflow.subjects import ASSEMBLE, COMPLETE, GATES, VALIDATE
from hornbook.plans.run_kinds import DEVELOP, REVIEW


@dataclass(frozen=True, slots=True)
class Fixed:
    """A member whose value the run decides: what may be written, and why nothing else.

    `trigger` are names of the trigger's payload; `output` is a subject and one of its outputs, all
    of them where it is empty.
    """

    why: str
    trigger: tuple[str, ...] = ()
    output: tuple[str, str] | None = None


_TASK = Fixed("a run is about the task that it was begun for", ("task_id", "original_task_id"))
_PLAN = Fixed("a run belongs to the plan that it was begun for", ("slug", "plan_slug"))
FIXED: Mapping[tuple[str, str], Fixed] = MappingProxyType(
    {
        (GATES, "slug"): _PLAN,
        (ASSEMBLE, "task_id"): _TASK,
        (ASSEMBLE, "files"): Fixed(
            "the files under review are those that git says were changed",
            output=(DEVELOP, "files_modified"),
        ),
        (VALIDATE, "task_id"): _TASK,
        (VALIDATE, "review_output"): Fixed(
            "what is checked is what the reviewer answered", output=(REVIEW, "")
        ),
        (VALIDATE, "expected_sops"): Fixed(
            "the rules that bind the change are recomputed from git", output=(ASSEMBLE, "sop_ids")
        ),
        (COMPLETE, "task_id"): _TASK,
        (COMPLETE, "patterns"): Fixed(
            "patterns are learned from the review that was recorded", output=(REVIEW, "patterns")
        ),
        ("workflow.plan.pause", "plan_slug"): _PLAN,
        ("workflow.plan.pause", "task_id"): _TASK,
        ("workflow.task.read", "task_id"): _TASK,
        ("workflow.task.split", "task_id"): _TASK,
        ("workflow.task.cover", "task_id"): _TASK,
        ("workflow.task.create", "task_id"): _TASK,
    }
)
OVERRIDES = ("name", "required", "threshold", "timeout", "command")
LONGEST = 86_400


def check_payloads(placed: Sequence[PlacedStep], notes: Notebook) -> None:
    """Note every value of a payload that no run would use, and reviewers asked differently."""
    subjects = {name: each.step.action.subject for each in placed for name in each.step.names}
    for each in placed:
        action = each.step.action
        for key, value in action.payload.items():
            wrong = _wrong(action.subject, key, value, subjects)
            if wrong:
                notes.wrong(f"bad_value:{key}", *_place(each, key), wrong)
    _one_packet(placed, notes)


def _place(each: PlacedStep, key: str) -> tuple[str, int]:
    payload = each.node.members["action"].members["payload"]
    return f"{each.path}.action.payload.{key}", payload.members[key].line


def _wrong(subject: str, key: str, value: Templated, subjects: Mapping[str, str]) -> str | None:
    fixed = FIXED.get((subject, key))
    if fixed is not None and not _says(fixed, value, subjects):
        return f"{fixed.why}: write {_wanted(fixed, subjects)}."
    literal = _LITERALS.get((subject, key))
    return next(literal(value), None) if literal is not None else None


def _says(fixed: Fixed, value: Templated, subjects: Mapping[str, str]) -> bool:
    """Whether a value is just the expression that stands for what the run decides."""
    reference = value.single if isinstance(value, ExpressionTemplate) else None
    if reference is None or reference.default is not None:
        return False
    if fixed.output is None:
        return reference.path in [("trigger", "payload", name) for name in fixed.trigger]
    subject, field = fixed.output
    wanted = ("output", field) if field else ("output",)
    path = reference.path
    return path[0] == "steps" and path[2:] == wanted and subjects.get(path[1]) == subject


def _wanted(fixed: Fixed, subjects: Mapping[str, str]) -> str:
    if fixed.output is None:
        return " or ".join(f"`${{trigger.payload.{name}}}`" for name in fixed.trigger)
    subject, field = fixed.output
    step = next((name for name, each in subjects.items() if each == subject), "STEP")
    return f"`${{steps.{step}.output{'.' + field if field else ''}}}`"


# Values that may be written out


def _preset(value: Templated) -> Iterator[str]:
    if _is_expression(value):
        return
    named = value if isinstance(value, tuple) else (value,)
    for each in map(_text, named):
        if each is None:
            yield "a preset is a name, or several in an array."
        elif each not in PRESETS:
            yield f"no preset is called `{each[:40]}`: {remedy(each, PRESETS)}"


def _overrides(value: Templated) -> Iterator[str]:
    if _is_expression(value):
        return
    if not isinstance(value, tuple) or not all(isinstance(each, Mapping) for each in value):
        yield "overrides are an array of objects, each with the `name` of a gate."
        return
    for each in value:
        if isinstance(each, Mapping):
            yield from _override(each)


def _override(given: Mapping[str, Templated]) -> Iterator[str]:
    name = _text(given.get("name"))
    if not name:
        yield "an override has no `name`: name the gate."
        return
    for key in given:
        if key not in OVERRIDES:
            yield f"`{key}` of the override of `{name}` is not known: {remedy(key, OVERRIDES)}"
    checks: tuple[tuple[str, Callable[[Templated], bool], str], ...] = (
        (
            "required",
            lambda each: each is True,
            "an override adds and never takes away: write true",
        ),
        ("threshold", lambda each: _number_in(each, 0, 100), "write a percentage, 0 to 100"),
        ("timeout", lambda each: _number_in(each, 1, LONGEST), f"write seconds, 1 to {LONGEST}"),
        ("command", lambda each: bool((_text(each) or "").strip()), "write a command"),
    )
    if "timeout" in given and "command" not in given:
        yield f"`timeout` of the override of `{name}` is for a gate with a `command`: remove it."
    for key, is_good, hint in checks:
        if key in given and not is_good(given[key]):
            yield f"`{key}` of the override of `{name}`: {hint}."


def _threshold(value: Templated) -> Iterator[str]:
    if not _is_expression(value) and not _number_in(value, 0, 1):
        yield "a confidence is a number from 0 to 1: write one."


_LITERALS: Mapping[tuple[str, str], Callable[[Templated], Iterator[str]]] = MappingProxyType(
    {
        (GATES, "preset"): _preset,
        (GATES, "overrides"): _overrides,
        (VALIDATE, "confidence_threshold"): _threshold,
    }
)


def _is_expression(value: Templated) -> bool:
    return isinstance(value, ExpressionTemplate) and value.single is not None


def _text(value: Templated) -> str | None:
    """A text without any expression in it."""
    return written_out(value) if isinstance(value, ExpressionTemplate) else None


def _number_in(value: Templated, least: float, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def _one_packet(placed: Sequence[PlacedStep], notes: Notebook) -> None:
    """Note reviewers who are asked differently: they are all given one packet."""
    reviewers = [each for each in placed if each.step.action.subject == REVIEW]
    for each in reviewers[1:]:
        first, action = reviewers[0].step.action, each.step.action
        for key in ("prompt", "model"):
            if getattr(first, key) != getattr(action, key):
                node = each.node.members["action"].members[key]
                message = (
                    f"`{each.step.name}` and `{reviewers[0].step.name}` are given one packet: "
                    f"write the same `{key}` in both."
                )
                path = below(below(each.path, "action"), key)
                notes.wrong(f"bad_value:{key}", path, node.line, message)
