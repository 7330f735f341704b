"""The embedded developer: one stateless step after another, until complete or stuck.

A step is two messages to a model and one action in its answer. What the action does is done here,
and what came of it is one record in `actions.jsonl`. Everything else, the next context, whether the
work is complete, whether it is stuck, follows from the records and the worktree: a process that
dies between two steps goes on after the last record, and one that dies inside a step undoes it.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Final

from hornbook.agents.assignment import Answer, Assignment, Role, Usage
from hornbook.agents.embedded.actions import Misread, StepAction, load_item, read_action
from hornbook.agents.embedded.fitting import Count, one_line
from hornbook.agents.embedded.model_call import Ask
from hornbook.agents.embedded.progress import (
    LoopRules,
    Verification,
    changed_paths,
    obstacles,
    progress_steps,
    stuck,
    verified,
)
from hornbook.agents.embedded.scoped_worktree import (
    EditRefused,
    LoadedFiles,
    ProposedEdit,
    Related,
    ScopedWorktree,
)
from hornbook.agents.embedded.step import (
    Result,
    Schema,
    StepRecord,
    StepTask,
    has_room,
    loaded_items,
    task_of,
)
from hornbook.agents.embedded.step_context import MOST_TOKENS, View, build
from hornbook.agents.embedded.step_store import StepStore
from hornbook.errors import BadGlob, UsageError
from hornbook.gates.gate import GateReport, GateStatus
from hornbook.gates.test_files import is_named_test, is_test, same_kind

Check = Callable[[Sequence[str]], GateReport]
"""Runs the gates of these names over the worktree, all of them when none is named."""

MOST_OUTPUT: Final = 20_000


@dataclass(frozen=True, slots=True)
class StepSituation:
    """Where an action is done: the task, what was done so far, and the means.

    `keep` is told of an edit before it is made, so that it can be undone.
    """

    task: StepTask
    records: tuple[StepRecord, ...]
    loaded: LoadedFiles
    check: Check
    keep: Callable[[ProposedEdit], None]


def perform(action: StepAction, at: StepSituation, step: int) -> StepRecord:
    """What the action did; what cannot be done is an error that the model sees."""
    record = StepRecord(step, action.name, action.parameters, target=_target(action))
    try:
        return _PERFORMERS[action.name](record, at)
    except (EditRefused, Misread, BadGlob) as problem:
        return replace(
            record, result=Result.ERROR, error=str(problem), summary=one_line(str(problem))
        )


def baseline(check: Check) -> StepRecord:
    """The record of step 0: what the gates say before anything is done."""
    record = StepRecord(0, "run_check", target="all", summary="before the first step")
    return _judged(record, check(()))


def _target(action: StepAction) -> str:
    given = action.given
    names = ("path", "pattern", "name", "item")
    found = next((given[name] for name in names if name in given), "")
    return one_line(found or ("all" if action.name in {"run_check", "clear_context"} else ""))


def _judged(record: StepRecord, report: GateReport, said: str = "") -> StepRecord:
    """The record with the results of gates, and what they come to."""
    gates = tuple(replace(gate, output=gate.output[-MOST_OUTPUT:]) for gate in report.gates)
    now = Verification(gates)
    told = f"{now.passing} of {len(gates)} checks passing" if gates else "no checks are configured"
    failing = ", ".join(gate.name for gate in now.failing)
    known = ", ".join(gate.name for gate in now.known_red)
    told += f" (failing: {failing})" if failing else ""
    told += f" (known to be red: {known})" if known else ""
    result = Result.FAILING if now.failing or not gates else Result.SUCCESS
    return replace(record, gates=gates, result=result, summary=one_line(said + told))


def _look(record: StepRecord, at: StepSituation) -> StepRecord:
    """Reads, searches and loads: what is found stands in the next context under a key."""
    key = _key(record)
    content = at.loaded.content(record, at.records)
    if not has_room(loaded_items(at.records, record.step), key):
        raise EditRefused("every slot for loaded items is pinned: clear_context one of them.")
    lines = content.count("\n") + 1
    return replace(record, loads=key, summary=f"{lines} lines, shown as {one_line(key, 100)}")


def _key(record: StepRecord) -> str:
    given = record.given
    if record.action == "load_context":
        return ":".join(part for part in load_item(given["item"]) if part)
    if record.action == "read_file":
        span = (
            f":{given.get('start', '1')}-{given.get('end', '')}"
            if {"start", "end"} & given.keys()
            else ""
        )
        return f"read_file:{given['path']}{span}"
    return f"search:{given['pattern']}" + (f" in {given['paths']}" if "paths" in given else "")


def _edit(record: StepRecord, at: StepSituation) -> StepRecord:
    given = {key: value for key, value in record.parameters if key != "path"}
    edit = at.loaded.worktree.edit(record.given["path"], given)
    at.keep(edit)
    at.loaded.worktree.apply(edit)
    verb = "created" if edit.before is None else "changed"
    said = f"{verb} {edit.path} ({_size(edit)}), "
    return _judged(replace(record, change=edit.change), at.check(()), said)


def _size(edit: ProposedEdit) -> str:
    grown = edit.after.count(b"\n") - (edit.before or b"").count(b"\n")
    return f"{grown:+d} lines"


def _refusal(report: GateReport) -> str | None:
    refused = (gate.message for gate in report.gates if gate.status is GateStatus.REFUSED)
    return next(refused, None) or None


def _run(record: StepRecord, at: StepSituation) -> StepRecord:
    name = record.given.get("name", "all").strip()
    wanted = () if name == "all" else (name,)
    report = at.check(wanted)
    if not {gate.name for gate in report.gates}.issuperset(wanted):
        known = ", ".join(gate.name for gate in verified(at.records).gates)
        raise EditRefused(f"no check {name!r}; there are: {known or 'none'}.")
    return replace(_judged(record, report), error=_refusal(report))


def _clear(record: StepRecord, at: StepSituation) -> StepRecord:
    items = loaded_items(at.records, record.step)
    wanted = record.given.get("item")
    if wanted is not None and wanted not in {item.key for item in items}:
        keys = ", ".join(item.key for item in items)
        raise EditRefused(f"no loaded item {wanted!r}; there are: {keys or 'none'}.")
    dropped = len(items) if wanted is None else 1
    return replace(record, summary=f"{dropped} loaded items dropped")


def _complete(record: StepRecord, at: StepSituation) -> StepRecord:
    reasons = obstacles(at.task, verified(at.records), changed_paths(at.records))
    if reasons:
        raise EditRefused(f"not complete: {'; '.join(reasons).removesuffix('.')}.")
    return replace(record, summary=one_line(record.given["summary"]))


def _escalate(record: StepRecord, at: StepSituation) -> StepRecord:
    del at
    return replace(record, summary=one_line(record.given["reason"]))


_PERFORMERS: Final[dict[str, Callable[[StepRecord, StepSituation], StepRecord]]] = {
    "read_file": _look,
    "search": _look,
    "load_context": _look,
    "edit_file": _edit,
    "run_check": _run,
    "clear_context": _clear,
    "complete": _complete,
    "escalate": _escalate,
}


Record = Callable[[Mapping[str, object]], None]
"""Is told what each step did; the `key` of an event is the same if it is told again."""

CALL_SECONDS: Final = 120.0


def _utc() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True)
class EmbeddedDeveloper:
    """Works on a task with a model that is asked one step at a time.

    `folder` gives the place for the state of an assignment, which outlives a crash: the same
    assignment goes on after the last recorded step. `describe` makes the task of its steps,
    `related` tells the neighbours of files, `window` is the model's context in tokens, `room` what
    a prompt may have of it; `price` says what a call cost, if that is known.
    """

    ask: Ask
    check: Check
    folder: Callable[[Assignment], Path]
    count: Count
    rules: LoopRules = field(default=LoopRules())
    describe: Callable[[Assignment], StepTask] = task_of
    related: Related | None = None
    window: int = 8000
    room: int = MOST_TOKENS
    call_seconds: float = CALL_SECONDS
    price: Callable[[Usage], Usage] = lambda usage: usage
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], str] = _utc

    def work(self, assignment: Assignment, record: Record) -> Answer:
        """What came of the assignment: complete, an escalation, an error, or a time to wait.

        Raises:
            UsageError: The role is not the developer's, or the phase is not known.
            StoreError: The log of an earlier run is damaged.
        """
        if assignment.role is not Role.DEVELOPER:
            raise UsageError(f"the embedded agent is a developer, not a {assignment.role}.")
        run = _Run(self, assignment, record)
        run.resume()
        deadline, advanced = self.clock() + assignment.limits.seconds, run.advanced
        while True:
            ended = run.ended()
            if ended is not None:
                return ended
            if assignment.is_over():
                return run.answer(error="its run was ended, and no further step is taken.")
            over = assignment.pause() if assignment.pause is not None else None
            if over is not None:  # asked again, it goes on with the same step
                return run.answer(error=over, retry_after=0.0)
            left = deadline - self.clock()
            if left <= 0:
                spent = f"the {assignment.limits.seconds} seconds of this attempt are spent"
                # Work that advances goes on with the same step: that is no new attempt.
                again = 0.0 if run.advanced > advanced else None
                return run.answer(error=f"{spent}; step {run.step} was next", retry_after=again)
            asked = run.one_step(min(left, self.call_seconds))
            if asked.error is not None or asked.retry_after is not None:
                return run.answer(error=asked.error, retry_after=asked.retry_after)


class _Run:
    """One run over an assignment: the records so far, and what they come to."""

    def __init__(self, developer: EmbeddedDeveloper, assignment: Assignment, tell: Record) -> None:
        self._developer = developer
        self._assignment = assignment
        self._tell = tell
        self._task = developer.describe(assignment)
        self._worktree = ScopedWorktree(Path(assignment.folder), assignment.constraints)
        self._loaded = LoadedFiles(self._worktree, self._task, developer.related)
        self._store = StepStore(developer.folder(assignment))
        self._records: tuple[StepRecord, ...] = ()
        self._current = View(self._task)
        self._example_path: str | None = None
        most = min(developer.rules.most_steps, assignment.limits.steps)
        self._rules = replace(developer.rules, most_steps=most)

    @property
    def step(self) -> int:
        """The number of the next step."""
        return self._records[-1].step + 1 if self._records else 0

    @property
    def advanced(self) -> int:
        """How many steps left less to do than all before them."""
        return len(progress_steps(self._records, self._task))

    def resume(self) -> None:
        """Take up what is on disk; a worktree that differs from the log is put right."""
        self._store.begin(self._task)
        self._records, torn = self._store.records()
        put_right = self._store.restore(self._worktree, self._records)
        if torn is not None:
            self._recovered(f"dropped {torn}")
        if put_right:
            self._recovered(f"put right {', '.join(put_right)}")
        if not self._records:
            self._add(baseline(self._developer.check))
        else:
            self._current = self._view()
            # the only event that a crash can have kept from its reader
            self._tell(self._step_facts(self._records[-1]))

    def ended(self) -> Answer | None:
        """The final answer, once there is one."""
        last = self._records[-1]
        if last.error is None and last.action == "complete":
            return self.answer(text=last.given["summary"])
        if last.error is None and last.action == "escalate":
            return self.answer(escalation=last.given["reason"])
        reason = stuck(self._records, self._task, self._rules) or self._over_tokens()
        if reason is None:
            return None
        self._store.project(self._current, "escalated")
        return self.answer(escalation=reason)

    def answer(
        self,
        *,
        text: str = "",
        error: str | None = None,
        retry_after: float | None = None,
        escalation: str | None = None,
    ) -> Answer:
        """An answer with what all steps cost and changed."""
        costs = [record.cost for record in self._records if record.cost is not None]
        return Answer(
            text=text,
            error=error,
            retry_after=retry_after,
            escalation=escalation,
            claimed_files=changed_paths(self._records),
            usage=Usage(
                input_tokens=sum(record.input_tokens for record in self._records),
                output_tokens=sum(record.output_tokens for record in self._records),
                steps=self._records[-1].step,
                cost=sum(costs) if costs else None,
                currency=next((each.currency for each in self._records if each.currency), None),
            ),
            log=str(self._store.folder / "actions.jsonl"),
        )

    def one_step(self, seconds: float) -> Answer:
        """Ask once and do what was asked for; an answer with an error left no trace."""
        step = self.step
        room = self._developer.room
        context = build(self._current, self._developer.count, room)
        if context.tokens > room:
            told = f"a step needs {context.tokens} tokens and may have {room}"
            return Answer(error=f"{told}: use a model with a larger window")
        answer = self._developer.ask(context.system, context.context, seconds)
        if answer.error is not None or answer.retry_after is not None:
            return answer
        done = self._done(answer, step)
        usage = replace(
            answer.usage,
            input_tokens=answer.usage.input_tokens or context.tokens,
            output_tokens=answer.usage.output_tokens or self._developer.count(answer.text),
        )
        usage = self._developer.price(usage)
        done = replace(
            done,
            tokens=context.tokens,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost=usage.cost,
            currency=usage.currency,
        )
        self._add(done)
        return answer

    def _done(self, answer: Answer, step: int) -> StepRecord:
        text = answer.text.encode("utf-8", "replace").decode()
        try:
            action = _whole_action(answer, text)
        except Misread as problem:
            digest = sha256(text.encode()).hexdigest()[:12]
            return StepRecord(
                step,
                "unreadable",
                (("answer", digest),),
                target=one_line(text, 80),
                result=Result.ERROR,
                summary=one_line(str(problem)),
                error=str(problem),
            )
        at = StepSituation(
            self._task,
            self._records,
            self._loaded,
            self._developer.check,
            lambda edit: self._store.keep(step, edit),
        )
        return perform(action, at, step)

    def _add(self, record: StepRecord) -> None:
        stamped = replace(record, at=self._developer.now())
        self._store.append(stamped)
        self._records = (*self._records, stamped)
        self._current = self._view()
        finished = stamped.error is None and stamped.action in _STATUS
        self._store.project(self._current, _STATUS[stamped.action] if finished else "running")
        self._tell(self._step_facts(stamped))

    def _view(self) -> View:
        paths = dict.fromkeys((*self._task.files, *changed_paths(self._records)))
        return View(
            task=self._task,
            records=self._records,
            files={path: self._shown_text(path) for path in paths},
            loaded=tuple(
                (item.key, self._content(item.record))
                for item in loaded_items(self._records, self.step)
            ),
            example=self._example(),
        )

    def _shown_text(self, path: str) -> str | None:
        """A file's text; of one that cannot be shown, why."""
        if not self._worktree.exists(path):
            return None
        try:
            return self._worktree.read(path)
        except EditRefused as problem:
            return str(problem)

    def _content(self, record: StepRecord) -> str:
        try:
            return self._loaded.content(record, self._records)
        except EditRefused as problem:
            return str(problem)

    def _example(self) -> str | None:
        """The text of a test that shows the project's style, where tests are to be written."""
        if self._task.phase.schema is not Schema.WRITE_TESTS:
            return None
        if self._example_path is None:
            ours = (*self._task.files, *changed_paths(self._records))
            self._example_path = example_test(self._worktree.files(), ours) or ""
        return self._shown_text(self._example_path) if self._example_path else None

    def _over_tokens(self) -> str | None:
        most = self._assignment.limits.tokens
        spent = sum(record.input_tokens + record.output_tokens for record in self._records)
        if most <= 0 or spent < most:
            return None
        return f"{spent} tokens were spent and {most} are allowed"

    def _step_facts(self, record: StepRecord) -> dict[str, object]:
        now = verified(self._records)
        return {
            "key": f"{self._assignment.key}:{record.step}",
            "step": record.step,
            "action": record.action,
            "target": record.target,
            "result": str(record.result),
            "summary": record.summary,
            "error": record.error,
            "changed": record.change.path if record.change else None,
            "snapshot": str(self._store.snapshot(record.step)) if record.change else None,
            "tokens": record.tokens,
            "utilisation": round(record.tokens / self._developer.window, 4),
            "input_tokens": record.input_tokens,
            "output_tokens": record.output_tokens,
            "cost": record.cost,
            "currency": record.currency,
            "checks_passing": now.passing,
            "checks_failing": len(now.failing),
        }

    def _recovered(self, what: str) -> None:
        key = f"{self._assignment.key}:recover:{sha256(what.encode()).hexdigest()[:12]}:{self.step}"
        self._tell({"key": key, "step": self.step, "action": "recover", "summary": what})


def _whole_action(answer: Answer, text: str) -> StepAction:
    """The action that an answer asks for; of one that was cut, no part is done.

    Raises:
        Misread: There is no action in it, or more than one, or it was cut.
    """
    if answer.cut:
        said = f"the answer was cut after {answer.usage.output_tokens} tokens"
        raise Misread(f"{said}: answer with one action and nothing else, in fewer words.")
    return read_action(text)


_STATUS: Final = {"complete": "complete", "escalate": "escalated"}
_SET_UP: Final = frozenset({"conftest.py", "__init__.py"})


def example_test(paths: Iterable[str], ours: Sequence[str]) -> str | None:
    """A test of the repository that shows how tests are written beside these files.

    Of the same language, as near as there is one; none of the files themselves.
    """
    kinds = [path for path in ours if PurePosixPath(path).suffix]
    tests = [
        path
        for path in paths
        if is_test(path)
        and is_named_test(path)
        and path not in ours
        and PurePosixPath(path).name not in _SET_UP
        and (not kinds or any(same_kind(path, each) for each in kinds))
    ]
    targets = list(filter(is_test, ours)) or list(ours)
    return min(tests, key=lambda path: (-_nearness(path, targets), path), default=None)


def _nearness(path: str, others: Sequence[str]) -> int:
    """How many folders a path has in common with the nearest of some others."""
    folders = PurePosixPath(path).parts[:-1]
    shared = 0
    for other in others:
        pairs = zip(folders, PurePosixPath(other).parts[:-1], strict=False)
        shared = max(shared, sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)))
    return shared
