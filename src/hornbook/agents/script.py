"""Scripts for scripted agents: what each role does, by task and attempt, as YAML or JSON."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

import yaml

from hornbook.agents.assignment import Role
from hornbook.errors import ConfigError

OPERATIONS = {
    "write": ("path", "text"),
    "append": ("path", "text"),
    "delete": ("path",),
    "rename": ("path", "to"),
    "symlink": ("path", "to"),
    "mode": ("path", "mode"),
}
DEATHS = ("raise", "exit", "kill")
DEFECTS = (
    "missing_sop",
    "unknown_sop",
    "duplicate_sop",
    "no_evidence",
    "unresolved_evidence",
    "rubber_stamp",
    "violated_but_approved",
    "low_confidence",
    "missing_feedback",
    "unparsable",
    "empty",
)
_MODE = re.compile(r"[0-7]{3}")
VERDICTS = ("approved", "fixable", "misscoped", "architectural", "too_big")


@dataclass(frozen=True, slots=True)
class Act:
    """What an agent does when it is asked for a task and attempt that fit.

    `times` limits `die` and `rate_limit` to the first calls with the same key, so that a run can
    go on afterwards. Without operations and without an answer a developer does its default work.
    """

    task: str = "*"
    attempts: tuple[int, ...] = ()
    do: tuple[tuple[str, Mapping[str, str]], ...] | None = None
    answer: str | None = None
    claims: tuple[str, ...] | None = None
    die: str | None = None
    after_work: bool = False
    hang: bool = False
    rate_limit: float | None = None
    times: int = 1
    verdict: str = "approved"
    feedback: str | None = None
    confidence: float = 0.9
    violated: tuple[str, ...] = ()
    defect: str | None = None
    cost: float | None = None
    prints: tuple[str, ...] = ()

    def fits(self, task: str, attempt: int) -> bool:
        """Whether it is for this task and attempt."""
        names = (task, task.rpartition(".")[2])
        by_name = any(fnmatchcase(name, self.task) for name in names)
        return by_name and (not self.attempts or attempt in self.attempts)


@dataclass(frozen=True, slots=True)
class Script:
    """The acts of each role; the first that fits counts, and without one the default does."""

    acts: Mapping[Role, tuple[Act, ...]] | None = None

    def act(self, role: Role, task: str, attempt: int) -> Act:
        """What a role does at an attempt of a task."""
        for act in (self.acts or {}).get(role, ()):
            if act.fits(task, attempt):
                return act
        return Act()


def parse_script(text: str, name: str) -> Script:
    """The script that a file holds.

    Raises:
        ConfigError: With every problem of the file and its remedy.
    """
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as problem:
        raise ConfigError([f"{name}: not readable as YAML: {problem}."]) from problem
    problems: list[str] = []
    acts: dict[Role, tuple[Act, ...]] = {}
    if not isinstance(found, dict):
        problems.append(f"{name}: found no roles: write `developer:` with a list below it.")
        found = {}
    for key, entries in found.items():
        if key not in list(Role):
            problems.append(f"{name}: unknown role `{key}`: {_hint(str(key), tuple(Role))}")
        elif not isinstance(entries, list):
            problems.append(f"{name}: `{key}` is no list: write `- task: …` lines below it.")
        else:
            role = Role(key)
            acts[role] = tuple(
                _act(entry, f"{name}: {key}[{place}]", problems)
                for place, entry in enumerate(entries)
            )
    if problems:
        raise ConfigError(problems)
    return Script(acts)


def _hint(name: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(name, known, 1)
    return f"did you mean `{near[0]}`?" if near else f"known are {', '.join(known)}."


KEYS = (
    "task",
    "attempt",
    "do",
    "answer",
    "claims",
    "die",
    "after_work",
    "hang",
    "rate_limit",
    "times",
    "verdict",
    "feedback",
    "confidence",
    "violated",
    "defect",
    "cost",
    "prints",
)


def _unknown_keys(entry: dict[object, object], where: str) -> list[str]:
    unknown = (key for key in entry if key not in KEYS)
    return [f"{where}: unknown key `{key}`: {_hint(str(key), KEYS)}" for key in unknown]


def _act(entry: object, where: str, problems: list[str]) -> Act:
    if not isinstance(entry, dict):
        problems.append(f"{where} is no mapping: write `task: …`.")
        return Act()
    problems += _unknown_keys(entry, where)
    values = _Values(entry, where, problems)
    operations = entry.get("do")
    return Act(
        task=str(entry.get("task", "*")),
        attempts=values.numbers("attempt"),
        do=None if operations is None else tuple(_operations(operations, where, problems)),
        answer=values.text("answer"),
        claims=values.texts("claims") if "claims" in entry else None,
        die=values.one_of("die", DEATHS),
        after_work=values.flag("after_work"),
        hang=values.flag("hang"),
        rate_limit=values.number("rate_limit") if "rate_limit" in entry else None,
        times=int(values.number("times") or 1),
        verdict=values.one_of("verdict", VERDICTS) or "approved",
        feedback=values.text("feedback"),
        confidence=values.number("confidence") if "confidence" in entry else 0.9,
        violated=values.texts("violated"),
        defect=values.one_of("defect", DEFECTS),
        cost=values.number("cost") if "cost" in entry else None,
        prints=values.texts("prints"),
    )


@dataclass(frozen=True, slots=True)
class _Values:
    """The values of one act, each of its kind or a problem."""

    entry: Mapping[str, Any]  # what YAML gave
    where: str
    problems: list[str]

    def _wrong(self, key: str, wanted: str) -> None:
        self.problems.append(f"{self.where}: `{key}` is {self.entry[key]!r}: write {wanted}.")

    def text(self, key: str) -> str | None:
        value = self.entry.get(key)
        if value is not None and not isinstance(value, str):
            self._wrong(key, "a text")
            return None
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.entry.get(key, [])
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return tuple(value)
        self._wrong(key, "a list of texts")
        return ()

    def flag(self, key: str) -> bool:
        value = self.entry.get(key, False)
        if not isinstance(value, bool):
            self._wrong(key, "true or false")
        return value is True

    def number(self, key: str) -> float:
        value = self.entry.get(key, 0)
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            self._wrong(key, "a number")
            return 0.0
        return float(value)

    def numbers(self, key: str) -> tuple[int, ...]:
        value = self.entry.get(key, [])
        many = value if isinstance(value, list) else [value]
        if all(isinstance(each, int) and not isinstance(each, bool) and each > 0 for each in many):
            return tuple(many)
        self._wrong(key, "an attempt, from 1, or a list of them")
        return ()

    def one_of(self, key: str, known: tuple[str, ...]) -> str | None:
        value = self.entry.get(key)
        if value is not None and value not in known:
            self.problems.append(f"{self.where}: `{key}` is {value!r}: {_hint(str(value), known)}")
            return None
        return value


def _operations(
    value: object, where: str, problems: list[str]
) -> Iterator[tuple[str, Mapping[str, str]]]:
    if not isinstance(value, list):
        problems.append(f"{where}: `do` is no list: write `- write: {{path: …, text: …}}`.")
        return
    for place, entry in enumerate(value):
        wrong = _wrong_operation(entry)
        if wrong:
            problems.append(f"{where}.do[{place}]{wrong}")
            continue
        ((name, details),) = entry.items()
        yield name, {key: str(details[key]) for key in OPERATIONS[name]}


def _wrong_operation(entry: object) -> str:
    """Why an entry of `do` is no operation; empty if it is one."""
    if not isinstance(entry, dict) or len(entry) != 1:
        return f" is no single operation: write one of {', '.join(OPERATIONS)}."
    ((name, details),) = entry.items()
    if name not in OPERATIONS:
        return f": unknown `{name}`: {_hint(str(name), tuple(OPERATIONS))}"
    keys = OPERATIONS[name]
    if not isinstance(details, dict) or set(details) != set(keys):
        return f": `{name}` needs exactly {', '.join(keys)}."
    if name == "mode" and not _MODE.fullmatch(str(details["mode"])):
        return f": `mode` is {details['mode']!r}: write three digits, '755'."
    return ""
