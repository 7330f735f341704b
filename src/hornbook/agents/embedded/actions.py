"""The actions that a model may ask for, one a step, and how its answer is read."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

import yaml

from hornbook.agents.embedded.step import Phase


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an action; `kind` is text, number or flag."""

    name: str
    meaning: str
    required: bool = True
    kind: str = "text"


@dataclass(frozen=True, slots=True)
class ActionKind:
    """One action: what it does, as the model is told, and what it takes."""

    name: str
    description: str
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class StepAction:
    """What a model asked for, its parameters as texts."""

    name: str
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def given(self) -> dict[str, str]:
        """The parameters by name."""
        return dict(self.parameters)


class Misread(Exception):
    """An answer that holds no action that can be done; the model is told why in its next step."""


_PINNED: Final = Parameter("pinned", "true keeps it until clear_context", False, "flag")

ACTIONS: Final[dict[str, ActionKind]] = {
    kind.name: kind
    for kind in (
        ActionKind(
            "read_file",
            "Show lines of a file in the next steps",
            (
                Parameter("path", "relative to the root"),
                Parameter("start", "first line", False, "number"),
                Parameter("end", "last line", False, "number"),
            ),
        ),
        ActionKind(
            "search",
            "Show the lines that a regular expression finds",
            (
                Parameter("pattern", "regular expression"),
                Parameter("paths", "glob of files", False),
            ),
        ),
        ActionKind(
            "edit_file",
            "Replace the one place where `search` stands, or write the whole file with `content`; "
            "the checks run afterwards",
            (
                Parameter("path", "relative to the root"),
                Parameter("search", "exact text, without line numbers", False),
                Parameter("replace", "what stands there instead", False),
                Parameter("content", "whole new file", False),
            ),
        ),
        ActionKind(
            "run_check",
            "Run one check, or all of them",
            (Parameter("name", "of the check", False),),
        ),
        ActionKind(
            "load_context",
            "Show more in the next 3 steps: full_file:{path}, related_files, test_output, "
            "spec_section:{id} or error_details. Two items at most, the oldest goes",
            (Parameter("item", "one of these"), _PINNED),
        ),
        ActionKind(
            "clear_context",
            "Drop a loaded item, or all of them",
            (Parameter("item", "its key", False),),
        ),
        ActionKind(
            "complete",
            "Mark the task complete, only when ready_for_completion is true",
            (Parameter("summary", "what was done"),),
        ),
        ActionKind(
            "escalate",
            "Ask a person for help when stuck",
            (Parameter("reason", "what is needed"),),
        ),
    )
}

LOADABLE: Final = ("full_file", "related_files", "test_output", "spec_section", "error_details")
_WITH_ARGUMENT: Final = {"full_file", "spec_section"}
_RED: Final = (
    "Mark the tests complete: new ones are collected and fail because the feature is missing"
)

_FENCE: Final = re.compile(r"^```[\w-]*[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_START: Final = re.compile(r"^(?:- )?(?:action:|\{)", re.MULTILINE)
_FORM: Final = (
    "Answer with one action as YAML: `action: name`, then `parameters:` with the parameters "
    "indented below it"
)


def described(phase: Phase) -> list[dict[str, object]]:
    """The actions as the context lists them."""
    return [
        {
            "name": kind.name,
            "description": _RED
            if (kind.name, phase) == ("complete", Phase.IMPLEMENT_RED)
            else kind.description,
            "parameters": {
                each.name: each.meaning if each.required else f"{each.meaning} (optional)"
                for each in kind.parameters
            },
        }
        for kind in ACTIONS.values()
    ]


def read_action(answer: str) -> StepAction:
    """The one action of a model's answer; fences and prose around it are no matter.

    Raises:
        Misread: There is none or more than one, or it is not known, or its parameters are wrong.
    """
    found = list(_actions_in(answer))
    if not found:
        raise Misread(f"no action was found. {_FORM}.")
    if len(found) > 1:
        names = ", ".join(str(each.get("action")) for each in found)
        raise Misread(f"{len(found)} actions were found ({names}): give one a step.")
    return _checked(found[0])


def load_item(item: str) -> tuple[str, str]:
    """The kind and the argument of an item that `load_context` takes.

    Raises:
        Misread: There is no such item.
    """
    kind, _, argument = (part.strip() for part in item.partition(":"))
    if kind not in LOADABLE:
        near = _near(kind, LOADABLE)
        raise Misread(f"no item {kind!r} to load{near}; there are {', '.join(LOADABLE)}.")
    if (kind in _WITH_ARGUMENT) != bool(argument):
        form = f"{kind}:{{path}}" if kind == "full_file" else f"{kind}:{{id}}"
        raise Misread(f"write {form if kind in _WITH_ARGUMENT else kind}, not {item!r}.")
    return kind, argument


def _actions_in(answer: str) -> Iterator[dict[str, object]]:
    """Every mapping with an `action` in the answer: in its fences, else in its own text."""
    text = answer.replace("\r\n", "\n")
    fenced = [
        each for block in _FENCE.findall(text) for each in _parsed(block, strict="action" in block)
    ]
    if fenced:
        yield from fenced
        return
    starts = [found.start() for found in _START.finditer(text)]
    if starts:
        yield from _parsed(_without_epilogue(text[starts[0] :]), strict=True)


def _without_epilogue(text: str) -> str:
    """The text up to a blank line after which nothing is indented or a key: that is prose."""
    lines = text.split("\n")
    for index, line in enumerate(lines):
        after = next((each for each in lines[index:] if each.strip()), "")
        is_ours = re.match(r"[ \t\]}]|(?:- )?\w+:(?: |$)|-{3}$|\{", after) or not after
        if not line.strip() and not is_ours:
            return "\n".join(lines[:index]) + "\n"
    return text


def _parsed(text: str, *, strict: bool) -> Iterator[dict[str, object]]:
    try:
        documents = _documents(text)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as problem:
        if not strict:
            return
        raise Misread(f"the answer is not YAML: {_where(problem)}. {_FORM}.") from None
    for document in documents:
        for each in document if isinstance(document, list) else [document]:
            if isinstance(each, dict) and "action" in each:
                yield each


def _documents(text: str) -> list[object]:
    """The values of a JSON or YAML text; every scalar of YAML stays a text."""
    try:
        return [json.loads(text, parse_int=str, parse_float=str)]
    except ValueError:
        return list(yaml.load_all(text, yaml.BaseLoader))


def _where(problem: Exception) -> str:
    if isinstance(problem, yaml.MarkedYAMLError) and problem.problem_mark is not None:
        return f"line {problem.problem_mark.line + 1}: {problem.problem}"
    return str(problem)


def _checked(found: Mapping[str, object]) -> StepAction:
    name, given = found["action"], found.get("parameters") or {}
    if not isinstance(name, str) or name not in ACTIONS:
        near = _near(str(name), ACTIONS)
        raise Misread(f"no action {name!r}{near}; there are {', '.join(ACTIONS)}.")
    others = sorted(set(found) - {"action", "parameters", "reason"})
    if others:
        raise Misread(f"unknown key {others[0]!r}: parameters go below `parameters:`.")
    if not isinstance(given, dict):
        raise Misread(f"`parameters` of {name} must be a mapping, not {given!r}.")
    problems = list(_problems(ACTIONS[name], given))
    if problems:
        raise Misread(f"{name}: {'; '.join(problems)}.")
    return StepAction(name, tuple((str(key), _as_text(value)) for key, value in given.items()))


def _problems(kind: ActionKind, given: Mapping[object, object]) -> Iterator[str]:
    known = {each.name: each for each in kind.parameters}
    for key, value in given.items():
        parameter = known.get(str(key))
        if parameter is None:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            yield f"unknown parameter {key!r}{_near(str(key), known)} ({takes})"
        else:
            yield from _misfit(parameter, value)
    for each in kind.parameters:
        if each.required and not str(given.get(each.name, "")).strip():
            yield f"{each.name} is missing"


def _misfit(parameter: Parameter, value: object) -> Iterator[str]:
    """Why a value is none for a parameter."""
    if not isinstance(value, str | bool):
        yield f"{parameter.name} must be one text"
    elif any("\ud800" <= each <= "\udfff" for each in _as_text(value)):
        yield f"{parameter.name} holds half of a surrogate pair, which is no text"
    elif not _is_a(parameter.kind, _as_text(value)):
        yield f"{parameter.name} must be a {parameter.kind}, not {value!r}"


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_a(kind: str, value: str) -> bool:
    if kind == "number":
        return value.isdecimal() and int(value) > 0
    return kind == "text" or value in {"true", "false"}


def _near(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), n=1)
    return f", did you mean {near[0]!r}?" if near else ""
