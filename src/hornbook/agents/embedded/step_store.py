"""The state of a task on disk: a log of actions, and projections of it for people."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from hornbook.agents.embedded.fitting import RECENT, to_yaml
from hornbook.agents.embedded.scoped_worktree import ProposedEdit, ScopedWorktree
from hornbook.agents.embedded.step import (
    EXPIRES_AFTER_STEPS,
    StepRecord,
    StepTask,
    as_json,
    from_json,
    loaded_items,
)
from hornbook.agents.embedded.step_context import View
from hornbook.disk import write_whole
from hornbook.errors import StoreError, UsageError
from hornbook.gates.gate import GateStatus
from hornbook.plans.working_memory import Item, action_item, text_item, working_memory

ARTIFACTS: Final = ("inputs", "outputs", "snapshots")


@dataclass(frozen=True, slots=True)
class StepStore:
    """The folder of one attempt at a task; `actions.jsonl` is the truth, the rest follows."""

    folder: Path

    def begin(self, task: StepTask) -> None:
        """Write the task and what it was given, once.

        Raises:
            UsageError: The folder already holds another task.
        """
        text = to_yaml(_task_tree(task)).encode()
        path = self.folder / "task.yaml"
        if path.is_file():
            if path.read_bytes() != text:
                raise UsageError(f"{path} holds another task: give each attempt its own folder.")
            return
        for name in ARTIFACTS:
            (self.folder / "artifacts" / name).mkdir(parents=True, exist_ok=True)
        inputs = self.folder / "artifacts" / "inputs"
        write_whole(inputs / "specification.md", task.specification.encode())
        if task.feedback:
            write_whole(inputs / "feedback.md", task.feedback.encode())
        write_whole(path, text)

    def records(self) -> tuple[tuple[StepRecord, ...], str | None]:
        """Every recorded step, and what was dropped of a line that a crash cut off.

        Raises:
            StoreError: A line before the last one is damaged.
        """
        path = self._log
        if not path.is_file():
            return (), None
        found: list[StepRecord] = []
        lines = path.read_bytes().split(b"\n")
        for number, line in enumerate(lines, 1):
            try:
                if line:
                    found.append(from_json(json.loads(line)))
            except (ValueError, KeyError, TypeError) as problem:
                if number < len(lines):
                    raise StoreError(f"{path}:{number}: no record of a step: {problem}.") from None
                kept = b"".join(each + b"\n" for each in lines[:-1])
                write_whole(path, kept)
                return tuple(found), f"{path.name}:{number}: {len(line)} bytes of a torn line"
        if lines[-1]:
            write_whole(path, b"\n".join(lines) + b"\n")
        return tuple(found), None

    def append(self, record: StepRecord) -> None:
        """Add a step to the log; it is on disk when this returns."""
        self.folder.mkdir(parents=True, exist_ok=True)
        line = json.dumps(as_json(record), ensure_ascii=False, sort_keys=True)
        with self._log.open("ab") as file:
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        for gate in record.gates:
            name = f"{record.step:04}-{_file_name(gate.name)}.txt"
            place = self.folder / "artifacts" / "outputs" / name
            write_whole(place, gate.output.encode(), durable=False)

    def keep(self, step: int, edit: ProposedEdit) -> None:
        """Write a file's bytes before and after an edit that is about to be made."""
        place = self.snapshot(step)
        if edit.before is not None:
            write_whole(place / "before", edit.before)
        write_whole(place / "after", edit.after)
        write_whole(place / "edit.json", json.dumps(asdict(edit.change)).encode())

    def _before_edit(self, step: int) -> dict[str, bytes | None]:
        """The file that an edit of this step changed, as it was; empty if there was no edit."""
        edit = self.snapshot(step) / "edit.json"
        if not edit.is_file():
            return {}
        before = edit.parent / "before"
        path: str = json.loads(edit.read_bytes())["path"]
        return {path: before.read_bytes() if before.is_file() else None}

    def restore(self, worktree: ScopedWorktree, records: Sequence[StepRecord]) -> tuple[str, ...]:
        """Make the worktree what the log says, and return the files that were not.

        An edit whose step was not recorded is undone; edits that were recorded and are lost, as
        the worktree was reset, are made again.
        """
        last = max((record.step for record in records), default=0)
        wanted = self._before_edit(last + 1)
        for record in records:
            if record.change is not None:
                after = self.snapshot(record.step) / "after"
                wanted[record.change.path] = after.read_bytes()
        different = [path for path in wanted if _bytes(worktree.root / path) != wanted[path]]
        for path in different:
            worktree.put(path, wanted[path])
        return tuple(different)

    def project(self, view: View, status: str) -> None:
        """Write `state.yaml` and `working_memory.yaml` as the records have it."""
        state, memory = to_yaml(_state_tree(view, status)), to_yaml(_memory_tree(view))
        write_whole(self.folder / "state.yaml", state.encode(), durable=False)
        write_whole(self.folder / "working_memory.yaml", memory.encode(), durable=False)

    @property
    def _log(self) -> Path:
        return self.folder / "actions.jsonl"

    def snapshot(self, step: int) -> Path:
        """Where the file that a step edited lies, `before` and `after`."""
        return self.folder / "artifacts" / "snapshots" / f"{step:04}"


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _file_name(gate: str) -> str:
    safe = "".join(each if each.isalnum() or each in "-_." else "-" for each in gate)
    return safe if safe == gate else f"{safe}-{sha256(gate.encode()).hexdigest()[:6]}"


def _task_tree(task: StepTask) -> dict[str, object]:
    digest = sha256(task.specification.encode()).hexdigest()
    return {
        **asdict(task),
        "phase": str(task.phase),
        "specification": f"artifacts/inputs/specification.md sha256:{digest}",
    }


def _state_tree(view: View, status: str) -> dict[str, object]:
    now = view.verification
    last = view.records[-1] if view.records else None
    return {
        "phase": str(view.task.phase),
        "status": status,
        "step": last.step if last else 0,
        "updated_at": last.at if last else None,
        "verification": {
            "timestamp": last.at if last else None,
            "checks": {
                gate.name: {
                    "passing": gate.status is GateStatus.PASSED,
                    "required": gate.required,
                    "details": gate.message or str(gate.status),
                }
                for gate in now.gates
            },
            "checks_passing": now.passing,
            "checks_failing": len(now.failing),
            "tests_passing": now.tests_passing,
        },
        "ready_for_completion": not view.missing,
        "still_needed": view.missing,
    }


def _memory_tree(view: View) -> dict[str, object]:
    taken = [record for record in view.records if record.step > 0]
    contents = dict(view.loaded)
    items: list[tuple[int, Item]] = [
        (
            record.step,
            action_item(
                record.step,
                action=record.action,
                result=str(record.result),
                summary=record.summary,
                at=record.at,
            ),
        )
        for record in taken[-RECENT:]
    ]
    next_step = taken[-1].step + 1 if taken else 1
    for item in loaded_items(view.records, next_step):
        shown = text_item(
            "loaded_context",
            contents.get(item.key, ""),
            at=item.record.at,
            key=item.key,
            expires=None if item.pinned else EXPIRES_AFTER_STEPS,
        )
        items.append((item.record.step, shown))
    ordered = [tree for _, tree in sorted(items, key=lambda pair: pair[0])]
    return working_memory(ordered)
