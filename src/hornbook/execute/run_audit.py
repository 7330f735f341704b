"""What every log must show: no review without gates, no approval without a review."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hornbook.execute import run_kinds as kinds
from hornbook.execute.events import Event
from hornbook.execute.workflow.subjects import DEVELOP, REVIEW


@dataclass(slots=True)
class _Seen:
    """What a run showed since the developer last changed something."""

    passed: str | None = None
    approved: str | None = None


def breaches(events: Iterable[Event]) -> list[str]:
    """Every event of a log that should not be there, with the reason; none in an honest log.

    A reviewer is asked only about a tree that all required gates passed since it was made. A task
    is approved only for the tree of an accepted review.
    """
    seen: dict[str, _Seen] = {}
    return [
        f"event {event.seq} ({event.kind}): {reason}"
        for event in events
        for reason in _looked_at(event, seen.setdefault(str(event.data.get("run")), _Seen()))
    ]


def _looked_at(event: Event, seen: _Seen) -> Iterator[str]:
    data = event.data
    if event.kind == DEVELOP:
        seen.passed = seen.approved = None
    elif event.kind == kinds.GATED:
        honest = _all_passed(event)
        seen.passed = data["tree"] if data["passed"] and honest else None
        if data["passed"] and not honest:
            yield "it says passed, but a required gate did not pass, or there was none"
    elif event.kind == kinds.CHECKED:
        seen.approved = data["tree"] if data["outcome"] == "approved" else None
    elif event.kind == REVIEW and seen.passed != data["tree"]:
        yield f"the gates have not passed for the tree {data['tree'][:12]} that it is about"
    elif event.kind == kinds.APPROVED and seen.approved != data["tree"] and not _carried(event):
        yield f"no accepted review approved the tree {data['tree'][:12]}"


def _carried(event: Event) -> bool:
    """Whether the task was approved in the plan that this one took the place of."""
    return bool(event.data.get("carried_from"))


def _all_passed(event: Event) -> bool:
    required = [gate for gate in event.data["gates"] if gate["required"]]
    return bool(required) and all(gate["status"] in {"passed", "warned"} for gate in required)
