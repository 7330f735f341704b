"""The idempotency keys of events: whoever says the same thing again says it under the same key.

A plan's log has each key once, so that a step that was cut off after its event and is done again
appends nothing. A key therefore names what happened and what it was said of, never who says it or
when. Keys are part of every log on disk: one that is built differently is another event.
"""

from hornbook.plans.events import digest

EXPLORED, PROMOTED, SUPERSEDED = "plan.explored", "plan.promoted", "plan.superseded"
"""These happen to a plan once."""


def edited(changes: object, head: str) -> str:
    """An exploration's text was changed; `head` is the hash of the event before."""
    return f"edited:{digest(changes)}:{head}"


def amended(changes: object, head: str) -> str:
    """A committed plan was changed; `head` is the hash of the event before."""
    return f"amended:{digest(changes)}:{head}"


def decision(data: object) -> str:
    """A decision was taken; the same one twice is one."""
    return f"decision:{digest(data)}"


def risk(data: object, head: str) -> str:
    """A risk was named, or is seen anew; `head` is the hash of the event before."""
    return f"risk:{digest(data)}:{head}"


def tasks(data: object) -> str:
    """The plan's tasks were fixed."""
    return f"tasks:{digest(data)}"


def tried(number: int) -> str:
    """A planner answered for the nth time."""
    return f"tried:{number}"


def invariant(text: str) -> str:
    """An invariant was proposed; the same text twice is one."""
    return f"invariant:{digest(text)}"


def promoted_invariant(invariant_id: str) -> str:
    """A person let an invariant into the core."""
    return f"promoted:{invariant_id}"


def imported(kind: str, data: object) -> str:
    """Something was taken over from another layout."""
    return f"{kind}:{digest(data)}"


def run_started(run: str) -> str:
    """A run was begun."""
    return f"{run}/started"


def run_ended(run: str) -> str:
    """A run ended."""
    return f"{run}/ended"


def run_step(run: str, round_number: int, number: int, what: str) -> str:
    """Something happened at a step of a run; each round counts its steps from the first."""
    place = f"{number}" if round_number == 1 else f"r{round_number}-{number}"
    return f"{run}/{place}/{what}"


def child_started(run: str, child: str) -> str:
    """The run of a whole plan began the run of a task."""
    return f"{run}/task/{child}"


def carried_over(run: str, number: int) -> str:
    """A task of a successor was approved already, in the plan before it."""
    return f"{run}/carried/{number}"
