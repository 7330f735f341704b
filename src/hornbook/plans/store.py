"""Plans: begun, edited, committed and amended by events; their files follow."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path

from hornbook.errors import ConfigError, NotFound, PlanIncomplete, UsageError
from hornbook.plans import event_keys
from hornbook.plans.events import Data, Event, SchemaViolation
from hornbook.plans.files import PLAN_FILE, edited_files, write_files, write_if_changed
from hornbook.plans.log import EXPORT, EventLog
from hornbook.plans.plan import RISK_SEVERITIES, Plan, PlanTask
from hornbook.plans.principal import Principal, agent, require_human
from hornbook.plans.run_records import write_run_records
from hornbook.plans.state import (
    PlanState,
    PlanStatus,
    changes_between,
    plan_data,
    project,
    task_data,
)
from hornbook.plans.tasks import read_tasks
from hornbook.plans.text import (
    HEAD_KEYS,
    SECTIONS,
    PlanText,
    empty_sections,
    parse,
    render,
    section_text,
)
from hornbook.rules.document import Problem
from hornbook.rules.ids import slug as slug_of
from hornbook.rules.ids import title_slug
from hornbook.vocabulary.terms import Level

LENIENT = frozenset({"missing_section"})
"""What may be wrong with an exploration's text: it is a scratchpad."""


@dataclass(frozen=True, slots=True)
class PlanView:
    """A plan's state, and what is wrong with its files: they say something else than its events."""

    state: PlanState
    problems: tuple[Problem, ...] = ()

    @property
    def plan(self) -> Plan:
        """The plan itself."""
        return self.state.plan


class PlanStore:
    """The plans of one workspace; `state` is its `.hornbook` folder."""

    def __init__(self, state: Path, log: EventLog) -> None:
        self._folder = state
        self._log = log

    def slugs(self) -> list[str]:
        """The slugs of all plans, sorted."""
        return self._log.plans()

    def has(self, slug: str) -> bool:
        """Whether there is such a plan; no other one is looked at."""
        here = self._folder / "plans" / slug / EXPORT
        if slug_of(slug) == slug and here.is_file():
            return True
        if not self._log.events(slug):
            return False
        from hornbook.plans.audit.dropped_logs import dropped_logs  # noqa: PLC0415  # rare

        return slug not in dropped_logs(self._folder) or slug in self._log.plans()

    def events(self, slug: str) -> list[Event]:
        """The whole log of a plan.

        Raises:
            NotFound: There is no such plan.
        """
        self.view(slug)
        return self._log.events(slug)

    def view(self, slug: str) -> PlanView:
        """A plan as it is now; what was edited in an exploration's file is taken up.

        Raises:
            NotFound: There is no such plan.
            EventLogError: Its log is damaged.
        """
        if not self.has(slug):
            raise self._unknown(slug)
        with self._log.alone():
            self._log.sync(slug)
            state = self._log.state(slug)
            if state is None:
                raise self._unknown(slug)
            return self._reconciled(state)

    def begin(
        self, title: str, text: str | None = None, *, path: str = "", supersedes: str | None = None
    ) -> PlanView:
        """An uncommitted plan with the sections of a text, or with none.

        Raises:
            UsageError: The title is empty, or a plan has its slug already.
            ConfigError: The text is no plan; carries every problem.
        """
        plan = self._titled(title)
        if text is not None:
            plan = _filled(plan, parse(text, path), lenient=True)
        if supersedes is not None:
            self.view(supersedes)
        data = plan_data(plan)
        if supersedes is not None:
            data["supersedes"] = supersedes
        return self._append(plan.slug, "plan.explored", data, event_keys.EXPLORED)

    def commit(self, title: str, text: str | None = None, *, path: str = "") -> PlanView:
        """A plan with the sections of a text, committed unless it lacks some.

        One that lacks some stays an exploration, and its problems say which they are.

        Raises:
            UsageError: The title is empty, or a plan has its slug already.
            ConfigError: The text is no plan; carries every problem.
            NotAPerson: Whoever asks is none; nothing was done.
        """
        require_human(self._log.principal, "commit to a plan", self._folder)
        if text is not None:
            _filled(self._titled(title), parse(text, path), lenient=False)
        view = self.begin(title, text, path=path)
        lacking = _lacking(view.plan)
        if lacking:
            return replace(view, problems=(*view.problems, *lacking))
        return self.promote(view.plan.slug)

    def promote(self, slug: str, *, by: Principal | None = None) -> PlanView:
        """The plan, committed: its text is frozen, and the plan that it replaces is superseded.

        Raises:
            ConfigError: Its file cannot be read as a plan.
            PlanIncomplete: It lacks sections; it stays an exploration.
            NotAPerson: Whoever asks is none; nothing was done.
        """
        view = self.view(slug)
        if view.state.status is PlanStatus.EXPLORING:
            require_human(by or self._log.principal, "commit to a plan", self._folder)
            _refuse(view.problems)
            lacking = _lacking(view.plan)
            if lacking:
                raise PlanIncomplete([_with_place(each) for each in lacking])
            view = self._append(slug, "plan.promoted", {}, event_keys.PROMOTED, by=by)
        old = view.plan.supersedes
        if old is not None:  # also where a crash came between the two
            self._append(old, "plan.superseded", {"by": slug}, event_keys.SUPERSEDED, by=by)
        return view

    def change(
        self, slug: str, changed: Plan, *, reason: str = "", by: Principal | None = None
    ) -> PlanView:
        """The plan with another text: an edit of an exploration, an amendment of a commitment.

        Raises:
            UsageError: The plan is committed and there is no reason, it is superseded, or a task
                that was fixed would be another one.
            NotAPerson: The plan is committed, and whoever asks is none.
        """
        view = self.view(slug)
        state = view.state
        changes = changes_between(state.plan, changed)
        if not changes:
            return view
        _refuse(view.problems if not self._says(state, changed) else _without_file(view.problems))
        if state.status is PlanStatus.EXPLORING:
            return self._append(
                slug, "plan.edited", changes, event_keys.edited(changes, state.head)
            )
        if state.status is PlanStatus.SUPERSEDED:
            raise UsageError(
                f"plan {slug} is superseded by {state.superseded_by}: change that one."
            )
        if not reason.strip():
            raise UsageError(
                f"plan {slug} is committed, its text is frozen: give a --reason to amend it, or "
                "explore a plan that supersedes it."
            )
        require_human(by or self._log.principal, "change what is committed to", self._folder)
        _refuse_changed_tasks(state, changed)
        data = {"changes": changes, "reason": reason}
        key = event_keys.amended(changes, state.head)
        return self._append(slug, "plan.amended", data, key, by=by)

    def amend(
        self, slug: str, text: str, *, reason: str, by: Principal | None = None, path: str = ""
    ) -> PlanView:
        """The plan with the sections of a text in the place of its own; fixed tasks stay.

        Raises:
            ConfigError: The text has no section of a plan, or is wrong otherwise.
            UsageError: It changes a task that was fixed, or the plan is superseded.
        """
        plan = self.view(slug).plan
        changed = with_sections(plan, text, SECTIONS, path or "the amendment")
        return self.change(slug, changed, reason=reason, by=by)

    def decide(
        self,
        slug: str,
        *,
        decision: str,
        reason: str,
        impact: str,
        supersedes: str | None = None,
        by: Principal | None = None,
    ) -> PlanView:
        """The plan with one more decision; the same decision twice is one.

        Raises:
            UsageError: One of the texts is blank.
        """
        texts = {"decision": decision, "reason": reason, "impact": impact}
        blank = [name for name, text in texts.items() if not text.strip()]
        if blank:
            raise UsageError(f"a decision needs its {', '.join(blank)}: say it in words.")
        self.view(slug)
        data = texts if supersedes is None else {**texts, "supersedes": supersedes}
        key = event_keys.decision(data)
        return self._append(slug, "decision.recorded", data, key, by=by)

    def risk(
        self, slug: str, *, name: str, severity: str, text: str, by: Principal | None = None
    ) -> PlanView:
        """The plan with a risk, as it is seen now.

        Raises:
            UsageError: The name or the text is blank, or there is no such severity.
        """
        if severity not in RISK_SEVERITIES:
            known = ", ".join(RISK_SEVERITIES)
            raise UsageError(f"severity {severity!r} is none: write one of {known}.")
        if not name.strip() or not text.strip():
            raise UsageError("a risk needs an id and a text: give --id and --text.")
        view = self.view(slug)
        known_risk = next((each for each in view.state.risks if each.id == name), None)
        if known_risk is not None and (known_risk.severity, known_risk.text) == (severity, text):
            return view
        data = {"id": name, "severity": severity, "text": text}
        key = event_keys.risk(data, view.state.head)
        return self._append(slug, "risk.recorded", data, key, by=by)

    def fix_tasks(self, slug: str, tasks: Sequence[PlanTask]) -> PlanView:
        """The committed plan with its tasks; further ones may follow, none may change.

        Raises:
            UsageError: The plan is not committed, or a task was fixed in another form.
        """
        view = self.view(slug)
        fixed = view.state.tasks
        if view.state.status is not PlanStatus.COMMITTED:
            raise UsageError(f"plan {slug} is {view.state.status}: only a committed one has tasks.")
        if tuple(tasks) == fixed:
            return view
        changed = _first_changed(fixed, tasks)
        if changed is not None:
            raise _fixed_already(slug, changed)
        data = {"tasks": [task_data(task) for task in tasks]}
        return self._append(slug, "tasks.generated", data, event_keys.tasks(data))

    def tried(self, slug: str, number: int, answer: str, findings: Sequence[str]) -> PlanView:
        """The plan, with one more try of a planner to write it recorded."""
        data = {"try": number, "answer": answer, "findings": list(findings)}
        return self._append(slug, "plan.tried", data, event_keys.tried(number), by=agent("planner"))

    def add_tasks(self, slug: str, tasks: Sequence[PlanTask]) -> None:
        """Fix further tasks of a committed plan, unless they are; others may do so at once.

        Raises:
            UsageError: The plan is not committed, or a task has the number of another one.
        """
        wanted = {task.number: task for task in tasks}

        def choice(events: list[Event]) -> tuple[str, Data] | None:
            state = project(events)
            if state is None or state.status is not PlanStatus.COMMITTED:
                raise UsageError(f"plan {slug} is not committed: only a committed one has tasks.")
            for each in state.tasks:
                if each != wanted.get(each.number, each):
                    raise UsageError(f"task {each.number} of plan {slug} is another one already.")
            tasks = {**{each.number: each for each in state.tasks}, **wanted}
            if len(tasks) == len(state.tasks):
                return None
            data: Data = {"tasks": [task_data(task) for task in tasks.values()]}
            return event_keys.tasks(data), data

        with self._log.alone():
            self._log.choose(slug, "tasks.generated", choice)
            self.view(slug)

    def _append(
        self, slug: str, kind: str, data: Data, key: str, *, by: Principal | None = None
    ) -> PlanView:
        with self._log.alone():
            self._log.append(slug, kind, data, key=key, by=by)
            return self.view(slug)

    def _titled(self, title: str) -> Plan:
        clean = " ".join(title.split())
        if not clean or not clean.isprintable():
            raise UsageError(f"the title {title!r} is none: give a few printable words.")
        slug = title_slug(clean)
        if self.has(slug):
            known = self.view(slug).plan
            raise UsageError(
                f"the plan {slug} is there already ({known.title!r}): choose another title, or go "
                f"on with it (`hornbook plans use {slug}`)."
            )
        if self._log.events(slug):
            raise UsageError(
                f"the log of plan {slug} is listed in .hornbook/dropped.jsonl and still in the "
                "database: choose another title, or let go of it with `hornbook audit drop`."
            )
        return Plan(slug, clean)

    def _unknown(self, slug: str) -> NotFound:
        listed = ", ".join(self._log.plans()) or "none yet: begin one with `hornbook explore TOPIC`"
        return NotFound(f"there is no plan {slug!r}: there are {listed}.")

    def _reconciled(self, state: PlanState) -> PlanView:
        """Bring files and events together: edits become events, what is stale is written anew."""
        slug = state.plan.slug
        written = self._log.projected(slug)
        before: PlanState | None = state
        if written != state.seq:
            before = project(self._log.events(slug)[:written])
        problems: tuple[Problem, ...] = ()
        edit = self._edit(state, before)
        if edit is not None:
            problems = _untaken(edit, state)
            state = state if problems else self._with_edit(state, edit)
        write_files(self._folder, before, state)
        if written != state.seq:
            write_run_records(self._folder, self._log.events(slug), after=written)
            self._log.set_projected(slug, state.seq)
        taken = {problem.path for problem in problems}
        left = [f".hornbook/{path}" for path in edited_files(self._folder, state)]
        differing = (_differs(path) for path in left if path not in taken)
        return PlanView(state, (*problems, *differing, *map(_set_aside, state.set_aside)))

    def _with_edit(self, state: PlanState, edit: PlanText) -> PlanState:
        """The plan after what a person wrote into its file became an event, if it says more."""
        slug = state.plan.slug
        changes = changes_between(state.plan, edit.plan)
        if not changes:
            return state
        key = event_keys.edited(changes, state.head)
        self._log.append(slug, "plan.edited", changes, key=key)
        state = self._log.state(slug) or state
        write_if_changed(self._folder / "plans" / slug / PLAN_FILE, render(state.plan))
        return state

    def _says(self, state: PlanState, changed: Plan) -> bool:
        """Whether the plan's file says what a committed plan is amended to."""
        edit = self._edit(state, None) if state.status is PlanStatus.COMMITTED else None
        return edit is not None and edit.plan == changed and not edit.problems

    def _edit(self, state: PlanState, before: PlanState | None) -> PlanText | None:
        """What somebody wrote into the plan's file; None if it is ours or laid out differently."""
        path = self._folder / "plans" / state.plan.slug / PLAN_FILE
        if not path.exists():
            return None
        name = f".hornbook/plans/{state.plan.slug}/{PLAN_FILE}"
        read = parse(path.read_bytes().decode("utf-8", "replace"), name)
        stale = before is not None and before.seq < state.seq and read.plan == before.plan
        ours = read.plan == state.plan or stale
        return None if ours and not read.problems else read


def amendment(slug: str) -> str:
    """The command that takes what a person wrote into the file of a committed plan."""
    path = f".hornbook/plans/{slug}/{PLAN_FILE}"
    return f"`hornbook plans amend {slug} --from {path} --reason …`"


def _untaken(edit: PlanText, state: PlanState) -> tuple[Problem, ...]:
    """Why an edit is not taken up: the plan is frozen, or the text is no plan."""
    path = f".hornbook/plans/{state.plan.slug}/{PLAN_FILE}"
    if state.status is PlanStatus.COMMITTED:
        return (_differs(path, f"{amendment(state.plan.slug)} takes it; else "),)
    if state.status is not PlanStatus.EXPLORING:
        return (_differs(path),)
    wrong = [each for each in edit.problems if each.code not in LENIENT]
    for name in HEAD_KEYS:
        if name in edit.stated and getattr(edit.plan, name) != getattr(state.plan, name):
            message = (
                f"`{name}` is {getattr(edit.plan, name)!r} here, {getattr(state.plan, name)!r} in "
                "the plan's events: restore it; `hornbook promote` commits a plan."
            )
            wrong.append(Problem(path, 1, "plan_head_edited", Level.ERROR, message))
    return tuple(wrong)


def _lacking(plan: Plan) -> tuple[Problem, ...]:
    """What a plan still has to say before anybody can commit to it."""
    path = f".hornbook/plans/{plan.slug}/{PLAN_FILE}"
    lines = parse(render(plan)).lines
    return tuple(
        Problem(
            path,
            lines.get(name),
            "empty_section",
            Level.ERROR,
            f"`## {name}` is empty: write it there (or `hornbook plans amend {plan.slug} --from "
            f"FILE`), then `hornbook promote {plan.slug}`.",
        )
        for name in empty_sections(plan)
    )


def _set_aside(found: SchemaViolation) -> Problem:
    message = f"{found}: it changed nothing. Find out who wrote it."
    return Problem("events.jsonl", found.seq, "event_set_aside", Level.WARNING, message)


def _without_file(problems: Sequence[Problem]) -> list[Problem]:
    return [
        each for each in problems if (each.code, each.path[-8:]) != ("plan_differs", "/plan.md")
    ]


def _differs(path: str, takes: str = "") -> Problem:
    message = (
        f"The file does not say what the plan's events say, and was left as it is: {takes}delete "
        "it and the next command writes it anew."
    )
    return Problem(path, None, "plan_differs", Level.ERROR, message)


def _filled(plan: Plan, read: PlanText, *, lenient: bool) -> Plan:
    allowed = LENIENT if lenient else frozenset()
    _refuse([each for each in read.problems if each.code not in allowed | {"no_title"}])
    return replace(
        read.plan,
        slug=plan.slug,
        title=plan.title,
        committed=False,
        committed_at=None,
        created_at="",
        supersedes=None,
    )


def _refuse(problems: Sequence[Problem]) -> None:
    wrong = [each for each in problems if each.level is Level.ERROR]
    if wrong:
        raise ConfigError([_with_place(each) for each in wrong])


def _with_place(problem: Problem) -> str:
    line = "" if problem.line is None else f", line {problem.line}"
    return f"{problem.path}{line}: {problem.message}"


def _fixed_already(slug: str, number: int) -> UsageError:
    return UsageError(
        f"task {number} of plan {slug} was fixed in another form and never changes: "
        f"explore a plan that supersedes it (`hornbook explore TOPIC --supersedes {slug}`)."
    )


def _refuse_changed_tasks(state: PlanState, changed: Plan) -> None:
    """Go on only if the tasks that were fixed stay; the lines that they stand on may be others."""
    if not state.tasks:
        return
    before, after = (
        [replace(task, line=1) for task in read_tasks(plan.execution).tasks]
        for plan in (state.plan, changed)
    )
    wrong = _first_changed(before, after)
    if wrong is not None:
        raise _fixed_already(state.plan.slug, wrong)


FEEDBACK = "Feedback that led to this revision:"


def _first_changed(fixed: Sequence[PlanTask], tasks: Sequence[PlanTask]) -> int | None:
    """The number of the first fixed task that is another one, or none, among some tasks."""
    for old, new in zip(fixed, tasks, strict=False):
        if old != new:
            return old.number
    return len(tasks) + 1 if len(tasks) < len(fixed) else None


def rewritten(plan: Plan, answer: str, feedback: str) -> tuple[Plan | None, list[str]]:
    """The plan with the sections of an answer and the feedback, or every reason why not."""
    read = parse(answer, "the answer")
    given = [name for name in SECTIONS if name in read.stated]
    wrong = []
    if not given:
        wrong.append(
            "The answer has no section of a plan: write `## Execution` or another heading of the "
            f"five ({', '.join(SECTIONS)}), and its text below."
        )
    wrong += [f"line {each.line}: {each.message}" for each in _section_problems(read)]
    if wrong:
        return None, wrong
    changed = _with_sections_of(plan, read, given)
    quoted = "\n".join(f"> {line}".rstrip() for line in feedback.strip().split("\n"))
    before = changed.coordination.partition(FEEDBACK)[0].rstrip()
    coordination = "\n\n".join(filter(None, (before, f"{FEEDBACK}\n\n{quoted}")))
    return replace(changed, coordination=coordination), []


def _section_problems(read: PlanText) -> list[Problem]:
    """What is wrong with a text that need not be a whole plan."""
    return [each for each in read.problems if each.code not in LENIENT | {"no_title"}]


def _with_sections_of(plan: Plan, read: PlanText, names: Sequence[str]) -> Plan:
    return replace(plan, **{name.lower(): getattr(read.plan, name.lower()) for name in names})


def section_diff(before: Plan, after: Plan) -> str:
    """How two plans differ, section by section, as a diff that people can read."""
    lines: list[str] = []
    for name in SECTIONS:
        old = section_text(before, name).splitlines()
        new = section_text(after, name).splitlines()
        lines += unified_diff(old, new, f"before: {name}", f"after: {name}", lineterm="", n=2)
    return "\n".join(lines)


def carried(
    before: Sequence[PlanTask], done: dict[int, str], after: Sequence[PlanTask]
) -> dict[int, str]:
    """The tasks of a successor that were approved already in the same words, with their commits."""
    known = {_words(task): done[task.number] for task in before if task.number in done}
    found: dict[int, str] = {}
    for task in after:
        commit = known.get(_words(task))
        if commit is not None and all(number in found for number in task.depends_on):
            found[task.number] = commit
    return found


def _words(task: PlanTask) -> tuple[object, ...]:
    return (task.title, task.description, task.files, task.criteria)


def with_sections(plan: Plan, text: str, sections: Sequence[str], path: str) -> Plan:
    """The plan with some of its sections taken from a text.

    Raises:
        ConfigError: The text has none of them, or is wrong otherwise.
    """
    read = parse(text, path)
    given = [name for name in sections if name in read.stated]
    if not given and len(sections) == 1 and read.stated.isdisjoint(SECTIONS):
        return replace(plan, **{sections[0].lower(): text.rstrip("\n")})  # type: ignore[arg-type]  # a text section
    wrong = _section_problems(read)
    problems = [f"{each.path}, line {each.line}: {each.message}" for each in wrong]
    if not given:
        problems.append(f"{path}: it has no section {' or '.join(f'`## {s}`' for s in sections)}.")
    if problems:
        raise ConfigError(problems)
    return _with_sections_of(plan, read, given)
