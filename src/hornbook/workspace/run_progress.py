"""How far a run is, read from its plan's events for somebody who looks on."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from hornbook.execute.events import Event


@dataclass(frozen=True, slots=True)
class Progress:
    """What a run is at: the task, the step, the attempt, the tokens told of, the gates."""

    task: str = ""
    step: str = ""
    attempt: int = 0
    tokens: int = 0
    gates: str = ""


def progress_of(events: Iterable[Event], run: str) -> Progress:
    """What a run is at, as far as its events tell."""
    task, step, attempt, tokens, gates = "", "", 0, 0, ""
    for event in events:
        data = event.data
        if data.get("run") != run:
            continue
        task = task or str(data.get("task") or "")
        step = str(data.get("step") or step)
        attempt = max(attempt, _number(data.get("attempt")))
        usage = data.get("usage")
        if isinstance(usage, dict):
            tokens += _number(usage.get("input_tokens")) + _number(usage.get("output_tokens"))
        listed = data.get("gates")
        if isinstance(listed, list) and listed:
            gates = _gates(listed)
    return Progress(task, step, attempt, tokens, gates)


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _gates(listed: list[object]) -> str:
    """Gates in a few words: those that failed by name, else how many ended how."""
    facts = [each for each in listed if isinstance(each, dict)]
    failed = [str(each.get("name")) for each in facts if each.get("status") in _FAILED]
    if failed:
        return f"{', '.join(failed)} failed"
    ends = Counter(str(each.get("status")) for each in facts)
    return ", ".join(
        f"{ends[name]} {name}" for name in ("passed", "warned", "skipped") if ends[name]
    )


_FAILED = frozenset({"failed", "refused"})
