"""Our own records of runs, and of what they asked people."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from hornbook.rules.document import Fact
from hornbook.rules.own_files.records import RecordKind, Said, read_record
from hornbook.rules.readers.protocol import Reading, SourceFile
from hornbook.vocabulary import predicates as p
from hornbook.vocabulary.terms import Category, Scope

RUNS = PurePosixPath(".hornbook/records/runs")
ESCALATIONS = PurePosixPath(".hornbook/records/escalations")


class RunReader:
    """Reads recorded runs: what each is about, how it stands, and what it cost."""

    tool = "record"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a recorded run."""
        return path.parent == RUNS and path.suffix == ".json"

    def read(self, file: SourceFile) -> Reading:
        """Return what the record says; one that is damaged is kept, with a problem."""
        return read_record(file, RecordKind("run", Category.RUN, Scope.PLAN, _run))


class EscalationReader:
    """Reads what runs asked people."""

    tool = "record"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is the record of an escalation."""
        return path.parent == ESCALATIONS and path.suffix == ".json"

    def read(self, file: SourceFile) -> Reading:
        """Return what the record says; one that is damaged is kept, with a problem."""
        kind = RecordKind("escalation", Category.ESCALATION, Scope.PLAN, _escalation)
        return read_record(file, kind)


def _run(said: Said) -> Iterator[Fact]:
    spent, answers, asks = said["spent"], said["answers"], said["asks"]
    if not isinstance(spent, dict) or not isinstance(answers, list):
        raise TypeError("`spent` and `answers` are an object and a list")
    yield p.RUN_STATUS.name, str(said["status"])
    yield p.RUN_WORKFLOW.name, str(said["workflow"])
    yield p.RUN_ATTEMPTS.name, str(_whole(said["attempts"]))
    yield p.RUN_TOKENS.name, str(_whole(spent["tokens"]))
    if spent["cost"] is not None:  # amounts of several currencies are not one
        yield p.RUN_COST.name, f"{float(spent['cost']):.6f}".rstrip("0").rstrip(".")
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
