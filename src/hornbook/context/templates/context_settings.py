"""What a task may know: the context settings of its operator, overridden key by key."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from types import MappingProxyType

NOT_APPLICABLE = "N/A"
NO_LINES: Mapping[str, int] = MappingProxyType({})


class Operator(StrEnum):
    """The kinds of task that have context settings."""

    ATOMIC = "atomic.standard"
    SUBTASK = "atomic.subtask"
    SEQUENTIAL = "sequential"
    REDUCE = "reduce"
    INNER_TASK = "reduce.inner_task"
    REDUCTION_TASK = "reduce.reduction_task"
    SCRIPT = "script"


class InheritContext(StrEnum):
    """What a task takes over from its parent."""

    FULL = "full"
    NONE = "none"
    SUBSET = "subset"


class AccumulationFormat(StrEnum):
    """What a step passes on to the next one."""

    NOTES_ONLY = "notes_only"
    FULL_OUTPUT = "full_output"


class FreshContext(StrEnum):
    """Whether a task asks the graph anew."""

    ENABLED = "enabled"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """The settings that hold for a task when it runs."""

    inherit_context: InheritContext
    accumulate_data: bool
    accumulation_format: AccumulationFormat | None
    fresh_context: FreshContext


@dataclass(frozen=True, slots=True)
class SettingFinding:
    """Something wrong with settings, and the template's line where there is one."""

    code: str
    message: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class EffectiveSettings:
    """Settings with warnings, or the errors that refuse them; both ordered by code."""

    effective: ContextSettings | None
    errors: tuple[SettingFinding, ...]
    warnings: tuple[SettingFinding, ...]


VALUES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "inherit_context": tuple(InheritContext),
        "accumulate_data": ("true", "false"),
        "accumulation_format": tuple(AccumulationFormat),
        "fresh_context": tuple(FreshContext),
    }
)
KEYS = tuple(VALUES)

_TABLE = """
atomic.standard        full  N/A   N/A         disabled
atomic.subtask         none  N/A   N/A         enabled
sequential             full  true  notes_only  disabled
reduce                 none  N/A   N/A         enabled
reduce.inner_task      full  N/A   N/A         disabled
reduce.reduction_task  full  N/A   N/A         disabled
script                 full  N/A   N/A         disabled
"""
DEFAULTS: Mapping[Operator, Mapping[str, str]] = MappingProxyType(
    {
        Operator(operator): MappingProxyType(dict(zip(KEYS, values, strict=True)))
        for operator, *values in map(str.split, _TABLE.strip().splitlines())
    }
)

SUBTYPES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"atomic": ("standard", "subtask"), "sequential": (), "reduce": (), "script": ()}
)


def operator_for(
    kind: str, subtype: str | None = None, *, continuation: bool = False
) -> Operator | None:
    """The operator of a task of this type and subtype; None where there is none.

    An atomic task is `standard` unless it says otherwise, and always a `subtask` when a
    `continuation` of another task spawned it. What has no subtypes is itself, whatever is said.
    """
    if subtype is not None and SUBTYPES.get(kind) and subtype not in SUBTYPES[kind]:
        return None
    if kind == "atomic":
        spawned = continuation or subtype == "subtask"
        return Operator.SUBTASK if spawned else Operator.ATOMIC
    return Operator(kind) if kind in SUBTYPES else None


def effective(
    operator: str, given: Mapping[str, str], *, lines: Mapping[str, int] = NO_LINES
) -> EffectiveSettings:
    """The settings of a task: its operator's defaults, with each given key in its place.

    `lines` says where in a template each given key stands, for the messages.
    """
    if operator not in DEFAULTS:
        errors = [_unknown_operator(operator), *bad_values(given, lines=lines)]
        return EffectiveSettings(None, _by_code(errors), ())
    asked = _Asked(Operator(operator), given, lines)
    errors = [*bad_values(given, lines=lines), *asked.not_applicable(), *asked.exclusive()]
    if errors:
        return EffectiveSettings(None, _by_code(errors), ())
    return EffectiveSettings(asked.settings(), (), _by_code(asked.warnings()))


def bad_values(
    given: Mapping[str, str], *, lines: Mapping[str, int] = NO_LINES
) -> list[SettingFinding]:
    """The errors of settings that hold whatever the operator is: unknown keys and values."""
    errors = []
    for key, value in given.items():
        line = lines.get(key)
        if key not in VALUES:
            message = f"`{key}` is no context setting: {remedy(key, KEYS)}"
            errors.append(SettingFinding(f"unknown_element:{key}", message, line))
        elif value not in VALUES[key]:
            message = f"{key} is {value[:40]!r}: {remedy(value, VALUES[key])}"
            errors.append(SettingFinding(f"bad_value:{key}", message, line))
    return errors


def remedy(written: str, known: Iterable[str]) -> str:
    """What to write instead of a name that is not known: the nearest one, else all there are."""
    names = list(known)
    near = get_close_matches(written.strip().lower(), names, n=1)
    if near:
        return f"did you mean `{near[0]}`?"
    listed = ", ".join(f"`{name}`" for name in names)
    return f"write {'one of ' if len(names) > 1 else ''}{listed}." if names else "remove it."


@dataclass(frozen=True, slots=True)
class _Asked:
    """What one template asks of one operator."""

    operator: Operator
    given: Mapping[str, str]
    lines: Mapping[str, int]

    def value(self, key: str) -> str:
        return self.given.get(key, DEFAULTS[self.operator][key])

    def origin(self, key: str) -> str:
        if key not in self.given:
            return f"default for {self.operator}"
        return f"line {self.lines[key]}" if key in self.lines else "given"

    def last_line(self, *keys: str) -> int | None:
        return max((self.lines[key] for key in keys if key in self.lines), default=None)

    def not_applicable(self) -> Iterator[SettingFinding]:
        # `accumulate_data` may say false: that is what not applicable amounts to.
        allowed = {"accumulate_data": "false"}
        for key in KEYS:
            value = self.given.get(key)
            applies = DEFAULTS[self.operator][key] != NOT_APPLICABLE
            if applies or value == allowed.get(key) or value not in VALUES[key]:
                continue
            message = (
                f"{key} does not apply to {self.operator}, which has no steps to pass "
                "data between: remove it."
            )
            yield SettingFinding(f"not_applicable:{key}", message, self.lines.get(key))

    def exclusive(self) -> Iterator[SettingFinding]:
        inherit, fresh = self.value("inherit_context"), self.value("fresh_context")
        if fresh != FreshContext.ENABLED or inherit not in {"full", "subset"}:
            return
        message = (
            f"fresh_context is `{fresh}` ({self.origin('fresh_context')}) and inherit_context is "
            f"`{inherit}` ({self.origin('inherit_context')}): a task either continues or looks "
            f"anew; set inherit_context to `none`, or fresh_context to `disabled`."
        )
        line = self.last_line("fresh_context", "inherit_context")
        yield SettingFinding("exclusive:fresh_context/inherit_context", message, line)

    def settings(self) -> ContextSettings:
        accumulates = self.value("accumulate_data") == "true"
        passed_on = self.value("accumulation_format")
        return ContextSettings(
            inherit_context=InheritContext(self.value("inherit_context")),
            accumulate_data=accumulates,
            accumulation_format=AccumulationFormat(passed_on) if accumulates else None,
            fresh_context=FreshContext(self.value("fresh_context")),
        )

    def warnings(self) -> Iterator[SettingFinding]:
        settings = self.settings()
        if (
            settings.inherit_context is InheritContext.NONE
            and not settings.accumulate_data
            and settings.fresh_context is FreshContext.DISABLED
        ):
            message = "the task has no context at all: let it inherit, accumulate or look anew."
            yield SettingFinding("no_context", message, self.last_line(*KEYS))
        if "accumulation_format" in self.given and not settings.accumulate_data:
            message = "accumulation_format has no effect while accumulate_data is false: remove it."
            yield SettingFinding(
                "unused:accumulation_format", message, self.last_line("accumulation_format")
            )


def _unknown_operator(operator: str) -> SettingFinding:
    message = f"`{operator}` is no operator: {remedy(operator, DEFAULTS)}"
    return SettingFinding(f"unknown_operator:{operator}", message)


def _by_code(findings: Iterable[SettingFinding]) -> tuple[SettingFinding, ...]:
    return tuple(sorted(findings, key=lambda finding: finding.code))
