"""Our own records of runs, and of what they asked people."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath

from hornbook.ingest.problems import Problems
from hornbook.ingest.readers.protocol import Reading, SourceFile
from hornbook.model import Activation, Category, Scope, Severity
from hornbook.vocabulary import predicates as p

RUNS = PurePosixPath(".hornbook/records/runs")
ESCALATIONS = PurePosixPath(".hornbook/records/escalations")
Said = Mapping[str, object]
Fact = tuple[str, str]


class RunReader:
    """Reads recorded runs: what each is about, how it stands, and what it cost."""

    tool = "record"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a recorded run."""
        return path.parent == RUNS and path.suffix == ".json"

    def read(self, file: SourceFile) -> Reading:
        """Return what the record says; one that is damaged is kept, with a problem."""
        return _reading(file, Category.RUN, "run", _run)


class EscalationReader:
    """Reads what runs asked people."""

    tool = "record"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is the record of an escalation."""
        return path.parent == ESCALATIONS and path.suffix == ".json"

    def read(self, file: SourceFile) -> Reading:
        """Return what the record says; one that is damaged is kept, with a problem."""
        return _reading(file, Category.ESCALATION, "escalation", _escalation)


def _reading(
    file: SourceFile, category: Category, family: str, facts_of: Callable[[Said], Iterator[Fact]]
) -> Reading:
    problems = Problems(file.parts.path)
    problems.extend(file.parts.problems)
    facts: tuple[Fact, ...] = ()
    try:
        said = json.loads(file.parts.head + file.parts.body)
        facts = tuple(dict.fromkeys(facts_of(said)))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
        message = f"It is not a record as Hornbook writes it ({problem!r}): delete it."
        problems.error(1, "bad_record", message)
    return Reading(
        path=file.parts.path,
        tool="record",
        desired_id=f"{family}.{file.path.stem}",
        title=f"{family.capitalize()} {file.path.stem}",
        category=category,
        activation=Activation.MANUAL,
        severity=Severity.INFO,
        scope=Scope.PLAN,
        mime_type="application/json",
        head=file.parts.head,
        body=file.parts.body,
        body_line=1,
        facts=facts,
        problems=problems.told(),
    )


def _run(said: Said) -> Iterator[Fact]:
    spent, answers, asks = said["spent"], said["answers"], said["asks"]
    if not isinstance(spent, dict) or not isinstance(answers, list):
        raise TypeError("`spent` and `answers` are an object and a list")
    yield p.RUN_STATUS.name, str(said["status"])
    yield p.RUN_WORKFLOW.name, str(said["workflow"])
    yield p.RUN_ATTEMPTS.name, str(_whole(said["attempts"]))
    yield p.RUN_TOKENS.name, str(_whole(spent["tokens"]))
    yield p.RUN_COST.name, f"{float(spent['cost']):.6f}"
    yield p.GENERATED_AT.name, str(said["started_at"])
    yield p.DERIVED_FROM.name, str(said["plan"])
    optional = (
        (p.DERIVED_FROM, "task"),
        (p.RUN_PARENT, "parent"),
        (p.RUN_AGENT, "agent"),
        (p.RUN_ENDED_AT, "ended_at"),
        (p.RUN_COMMIT, "commit"),
    )
    for predicate, key in optional:
        if said[key] is not None:
            yield predicate.name, str(said[key])
    if isinstance(asks, dict):
        yield p.RUN_ASKS.name, str(asks["escalation"])
        yield p.RUN_QUESTION.name, str(asks["question"])
    for each in answers:
        yield p.RUN_ANSWERED_BY.name, str(each["by"])


def _escalation(said: Said) -> Iterator[Fact]:
    yield p.ESCALATION_KIND.name, str(said["kind"]).rpartition(".")[2]
    yield p.DERIVED_FROM.name, f"run.{said['run']}"
    yield p.GENERATED_AT.name, str(said["at"])


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r} is no whole number")
    return value
