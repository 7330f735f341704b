"""A run over time, from its events: who worked when, what each step saw, and how much that was."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Event


class Lane(StrEnum):
    """Who is at work."""

    DEVELOPER = "developer"
    GATES = "gates"
    REFEREE = "referee"
    REVIEWER = "reviewer"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Somebody at work, or a person being waited for; `ended` is empty while that goes on."""

    lane: Lane
    step: str
    round: int
    number: int
    begun: str
    ended: str = ""
    result: str = ""


@dataclass(frozen=True, slots=True)
class StepTokens:
    """What one step of the embedded developer was sent, in tokens."""

    at: str
    attempt: int
    step: int
    action: str
    tokens: int


@dataclass(frozen=True, slots=True)
class SeenContext:
    """What a step saw: a text by its hash, kept below the plan's folder, and its receipt.

    `blind` is whether rules were looked for in it, so that a developer is shown none.
    """

    role: str
    agent: str
    at: str
    tokens: int
    window: int
    sha256: str
    path: str
    receipt: str = ""
    rules: tuple[str, ...] = ()
    blind: bool = False


@dataclass(frozen=True, slots=True)
class Timeline:
    """All of it, each in the order in which it happened."""

    stretches: tuple[Stretch, ...]
    tokens: tuple[StepTokens, ...]
    contexts: tuple[SeenContext, ...]


def timeline(events: Sequence[Event]) -> Timeline:
    """A run over time."""
    return Timeline(tuple(_stretches(events)), tuple(_tokens(events)), tuple(_contexts(events)))


def _stretches(events: Sequence[Event]) -> list[Stretch]:
    """Each step from its first beginning to its end, and each wait for a person."""
    found: dict[tuple[object, ...], Stretch] = {}
    asked: tuple[object, ...] | None = None
    for event in events:
        place = (event.data.get("round"), event.data.get("number"))
        if event.kind == kinds.STEP_STARTED and place not in found:
            found[place] = Stretch(
                _lane(str(event.data["subject"])),
                str(event.data["step"]),
                int(event.data["round"]),
                int(event.data["number"]),
                event.at,
            )
        elif event.kind == kinds.STEP_FINISHED and place in found:
            result = str(event.data["result"])
            found[place] = replace(found[place], ended=event.at, result=result)
        elif event.kind in kinds.SIGNALS:
            asked = (*place, event.seq)
            found[asked] = Stretch(Lane.PERSON, "asked", *_numbers(event), event.at)
        elif event.kind in {kinds.ANSWERED, kinds.ENDED} and asked is not None:
            result = str(event.data.get("action") or event.data.get("status") or "")
            found[asked] = replace(found[asked], ended=event.at, result=result)
            asked = None
        if event.kind == kinds.ENDED:
            found = {key: _over(each, event.at) for key, each in found.items()}
    return list(found.values())


def _over(stretch: Stretch, at: str) -> Stretch:
    """A stretch of a run that has ended: whatever went on was cut off then."""
    return stretch if stretch.ended else replace(stretch, ended=at, result="cut off")


def _numbers(event: Event) -> tuple[int, int]:
    return int(event.data.get("round") or 1), int(event.data.get("number") or 0)


def _lane(subject: str) -> Lane:
    if subject == kinds.DEVELOP:
        return Lane.DEVELOPER
    if subject == kinds.REVIEW:
        return Lane.REVIEWER
    return Lane.GATES if subject.startswith("workflow.gate.") else Lane.REFEREE


def _tokens(events: Sequence[Event]) -> Iterator[StepTokens]:
    """The steps of the embedded developer, each once however often it was told."""
    attempt, seen = 1, set[tuple[object, object]]()
    for event in events:
        if event.kind == kinds.DEVELOP:
            attempt = int(event.data["attempt"]) + 1
        told = event.data.get("told")
        if event.kind != kinds.TOLD or not isinstance(told, Mapping) or not told.get("tokens"):
            continue
        key = (attempt, told.get("key") or told.get("step"))
        if key not in seen:
            seen.add(key)
            step, action = int(told.get("step") or 0), str(told.get("action") or "")
            yield StepTokens(event.at, attempt, step, action, int(told["tokens"]))


def _contexts(events: Sequence[Event]) -> Iterator[SeenContext]:
    folder = "tasks/plan/artifacts/inputs"
    looked = set[tuple[object, object]]()
    for event in events:
        data = event.data
        if event.kind == kinds.STARTED and data.get("task"):
            folder = f"tasks/{str(data['task']).rpartition('.')[2]}/artifacts/inputs"
        place = (data.get("round"), data.get("number"))
        if event.kind == kinds.SIGHTED:
            looked.add(place)
        if event.kind == kinds.DEVELOP:
            name = f"{data['run']}-{data['round']}-{data['number']}-developer.md"
            yield SeenContext(
                "developer",
                str(data["agent"]),
                event.at,
                int(data["tokens"]),
                int(data["window"]),
                str(data["prompt_sha256"]),
                f"{folder}/{name}",
                blind=place in looked,
            )
        for packet in data.get("packets") or () if event.kind == kinds.ASSEMBLED else ():
            digest = str(packet["prompt_sha256"])
            yield SeenContext(
                "reviewer",
                str(data.get("model") or ""),
                event.at,
                int(packet["tokens"]),
                int(packet["window"]),
                digest,
                f"{folder}/{digest}.md",
                str(packet["receipt_sha256"]),
                tuple(packet["sop_ids"]),
            )
