"""What the steps did, one record each: the truth from which every other state is folded."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from hornbook.gates.values import GateResult, GateStatus


class Result(StrEnum):
    """How an action ended: `failing` says that it was done and required gates still fail."""

    SUCCESS = "success"
    FAILING = "failing"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A file that a step changed: hashes of its bytes; without `before` it was created."""

    path: str
    before: str | None
    after: str


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step: the action that was asked for, what came of it, and what it cost.

    `gates` are the results of the gates that ran in it; `loads` is the key under which what it
    found is shown in the next steps. Step 0 holds the gates before anything was done.
    """

    step: int
    action: str
    parameters: tuple[tuple[str, str], ...] = ()
    target: str = ""
    result: Result = Result.SUCCESS
    summary: str = ""
    error: str | None = None
    change: FileEdit | None = None
    gates: tuple[GateResult, ...] = field(default=())
    loads: str | None = None
    tokens: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    at: str = ""

    @property
    def given(self) -> dict[str, str]:
        """The parameters by name."""
        return dict(self.parameters)


def as_json(record: StepRecord) -> dict[str, Any]:  # a JSON object
    """The record as a line of `actions.jsonl` holds it."""
    return {**asdict(record), "parameters": record.given}


def from_json(data: Mapping[str, Any]) -> StepRecord:  # a JSON object
    """The record that a line of `actions.jsonl` holds.

    Raises:
        KeyError, TypeError, ValueError: It is not such an object.
    """
    change = data.get("change")
    gates = tuple(
        GateResult(**{**gate, "status": GateStatus(gate["status"])}) for gate in data["gates"]
    )
    return StepRecord(
        **{
            **data,
            "parameters": tuple((str(key), str(item)) for key, item in data["parameters"].items()),
            "result": Result(data["result"]),
            "change": None if change is None else FileEdit(**change),
            "gates": gates,
        }
    )
