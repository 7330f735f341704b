"""The gates of a plan's memory: each is tried on the plan as it is, and can fail."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hornbook.context.recovery import read_export
from hornbook.disk import temporary_folder
from hornbook.errors import HornbookError
from hornbook.hooks import spool
from hornbook.hooks.active_file import POINTER
from hornbook.hooks.compiler import compile_guard
from hornbook.hooks.entry import HookEnvironment, respond
from hornbook.loop.memory import Memory
from hornbook.loop.plan_book import PlanBook
from hornbook.plans.checkpoint import compact
from hornbook.plans.events import Event
from hornbook.plans.files import PLAN_FILE, parse_decisions, parse_risks
from hornbook.plans.log import EXPORT
from hornbook.plans.state import PlanState, advance
from hornbook.plans.text import parse

SESSION = "memory-gates"


@dataclass(frozen=True, slots=True)
class MemoryGate:
    """What one of the gates found."""

    name: str
    passed: bool
    message: str


def check_memory(memory: Memory, book: PlanBook, root: Path, given: str | None) -> list[MemoryGate]:
    """Every gate of a plan's memory, in order.

    Raises:
        UsageError: No plan is named and the pointer is missing or damaged.
    """
    slug = memory.slug(given)
    gates: tuple[tuple[str, Callable[[], str | None]], ...] = (
        ("compaction", lambda: _compaction(memory, slug)),
        ("recovery", lambda: _recovery(memory, root, slug)),
        ("guardrail", lambda: _guardrail(root, slug)),
        ("evaluator", lambda: _evaluator(book, slug)),
    )
    return [_tried(name, gate) for name, gate in gates]


def _tried(name: str, gate: Callable[[], str | None]) -> MemoryGate:
    try:
        wrong = gate()
    except HornbookError as problem:
        wrong = str(problem)
    return MemoryGate(name, wrong is None, wrong or _MEANING[name])


def _compaction(memory: Memory, slug: str) -> str | None:
    """The same events give the same bytes: event by event, read back, and as checkpointed."""
    with memory.log() as log:
        events = log.events(slug)
    made = compact(events)
    if made.files != compact(_one_by_one(events)).files:
        return "compacting the same events twice gave other files"
    state = _state(events)
    by_name = {Path(path).name: text for path, text in made.files.items()}
    if parse(by_name[PLAN_FILE]).plan != state.plan:
        return "plan.md is not read back as the plan that was written"
    if parse_decisions(by_name.get("decisions.md", "\n")) != state.decisions:
        return "decisions.md is not read back as it was written"
    if parse_risks(by_name.get("risks.md", "\n")) != state.risks:
        return "risks.md is not read back as it was written"
    found = memory.recover(slug)
    if found.checkpoint is None:
        return "there is no checkpoint yet: run `hornbook checkpoint`"
    return None if found.checkpoint.matches else "; ".join(found.notes)


def _recovery(memory: Memory, root: Path, slug: str) -> str | None:
    """The export alone restores the plan that lies on disk, and nothing on disk differs."""
    folder = root / ".hornbook" / "plans" / slug
    name = f".hornbook/plans/{slug}"
    data = (folder / EXPORT).read_bytes() if (folder / EXPORT).is_file() else b""
    restored = compact(read_export(data, slug, f"{name}/{EXPORT}").events)
    text = (folder / PLAN_FILE).read_bytes() if (folder / PLAN_FILE).is_file() else b""
    if restored.files[f"{name}/{PLAN_FILE}"].encode() != text:
        return f"{name}/{PLAN_FILE} is not what {EXPORT} restores"
    differing = memory.recover(slug).differing
    return f"{', '.join(each.path for each in differing)}: not as recovered" if differing else None


def _guardrail(root: Path, slug: str) -> str | None:
    """A write that is forbidden is denied and logged; tried on a copy of the plan."""
    with temporary_folder("guard") as copy:
        state = copy / ".hornbook"
        (state / "plans" / slug).mkdir(parents=True)
        text = (root / ".hornbook" / "plans" / slug / PLAN_FILE).read_bytes()
        (state / "plans" / slug / PLAN_FILE).write_bytes(text)
        (state / POINTER).write_text(f"{slug}\n", encoding="utf-8")
        around = HookEnvironment({}, str(copy), str(copy), lambda at: compile_guard(Path(at)))
        sent = {
            "session_id": SESSION,
            "cwd": str(copy),
            "tool_name": "Write",
            "tool_input": {"file_path": f".hornbook/plans/{slug}/{PLAN_FILE}", "content": "x"},
        }
        answer = respond("pre-tool-use", json.dumps(sent).encode(), around)
        if '"deny"' not in answer.out:
            return f"a write to the plan's own file was not denied {answer.err}".strip()
        logged = spool.last_event(spool.path_of(str(copy), spool.SPOOL, SESSION))
    return None if logged.get("kind") == "guard_denied" else "the denial was not logged"


def _evaluator(book: PlanBook, slug: str) -> str | None:
    """The plan passes `plans check`."""
    found = book.check(slug)
    codes = ", ".join(each.code for each in found.problems if each.level == "error")
    return None if found.passed else f"`hornbook plans check {slug}` fails: {codes}"


def _one_by_one(events: list[Event]) -> list[Event]:
    """The events as a reader of the export has them."""
    lines = "".join(event.line for event in events).encode()
    return list(read_export(lines, events[0].plan, EXPORT).events)


def _state(events: list[Event]) -> PlanState:
    state: PlanState | None = None
    for event in events:
        state = advance(state, event)
    if state is None:
        raise HornbookError("there is no event to check.")
    return state


_MEANING = {
    "compaction": "the same events give the same bytes",
    "recovery": "the log restores the plan byte for byte",
    "guardrail": "a forbidden write is denied and logged",
    "evaluator": "the plan is fit to be carried out",
}
GATES = tuple(_MEANING)
