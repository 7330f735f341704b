"""The workspace: one repository's rules, decisions and plans, opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hornbook.disk import to_seconds
from hornbook.errors import UsageError
from hornbook.graph.repository import Repository, silent
from hornbook.settings.places import refuse_folders, relative_to_root
from hornbook.text.globs import clean_path


def _check_gates(settings: GateSettings) -> tuple[str, ...]:
    """Only settings that somebody wrote are worth loading the room of gates for."""
    from hornbook.gates.definitions import check_gates  # noqa: PLC0415  # loads presets

    return check_gates(settings)


if TYPE_CHECKING:
    from hornbook.context.developer_packet import DevelopmentContext
    from hornbook.context.plan_brief import Brief
    from hornbook.context.prompt import Context, Pressure
    from hornbook.context.review_packet import Packet
    from hornbook.context.sizing import Sizing
    from hornbook.doctor.finding import Health
    from hornbook.doctor.replay import Replay
    from hornbook.gates.gate import GateReport
    from hornbook.gates.gate_list import GateList
    from hornbook.gates.proof import GateProof
    from hornbook.gates.runner import Progress as GateProgress
    from hornbook.graph.catalog_view import FileAnswer
    from hornbook.graph.change_answer import ChangeAnswer
    from hornbook.graph.ingest.report import Progress
    from hornbook.loop.memory import Memory
    from hornbook.loop.plan_book import PlanBook
    from hornbook.loop.review_run import ReviewPlan, RunReview
    from hornbook.loop.runs.history import PastRun
    from hornbook.loop.runs.overview import GivenAnswer
    from hornbook.loop.runs.run_book import RunBook
    from hornbook.loop.step_context import StepContext
    from hornbook.plans.plan import PlanDecision
    from hornbook.plans.principal import Principal
    from hornbook.plans.reader import PlanReader
    from hornbook.plans.store import PlanView
    from hornbook.review.canary_packet import CanaryPacket
    from hornbook.review.conventions import Conventions
    from hornbook.review.judgement import Judgement
    from hornbook.review.printed_review import PrintedReview
    from hornbook.review.review_history import BadRecord, PastReview, RuleRecord
    from hornbook.review.review_record import JudgedReview
    from hornbook.review.reviewers import ReviewersReport
    from hornbook.settings.reserve import Reserve
    from hornbook.settings.settings import GateSettings


class Workspace(Repository):
    """One repository with its graph; everything that Hornbook can answer about it.

    ```python
    with Workspace.open(".") as work:
        work.ingest()
        for answer in work.why(["handlers/user.go"]):
            print(answer.path, [rule.id for rule in answer.rules])
    ```
    """

    def __init__(self, root: Path) -> None:
        super().__init__(root, _check_gates)

    def why(
        self,
        files: Sequence[str | Path],
        *,
        at: str | None = None,
        reserve: str | int | None = None,
    ) -> list[FileAnswer]:
        """The rules that bind each file, existing or not, and why.

        What changed since the last ingest is read first. With `at`, rules and settings are those of
        that commit. `reserve` is the room for rules in tokens, or a share such as `10%`, for once.

        Raises:
            NotFound: Files are not followed and nothing is ingested yet.
            UsageError: The reserve is none, or a path is that of a folder.
        """
        paths = self._relative(files)
        refuse_folders(self.root, paths, at)
        if at is None:
            return self._catalog_view().why(paths, self.reserve(reserve=reserve))
        from hornbook.commits import git  # noqa: PLC0415  # start-up
        from hornbook.graph.commit_graph import graph_at  # noqa: PLC0415  # loads the parsers

        with git.operation(self.root):
            commit = git.commit(self.root, at)
            return graph_at(self.root, commit).why(paths, self.reserve(at=commit, reserve=reserve))

    def why_change(self, diff: str, *, reserve: str | int | None = None) -> ChangeAnswer:
        """The rules that bind a change `BASE..HEAD`, by the rules and settings of BASE.

        Nothing need be ingested for it.

        Raises:
            UsageError: The diff names no change, or the reserve is none.
            ConfigError: The settings of BASE are wrong.
        """
        from hornbook.graph.change_answer import why_change  # noqa: PLC0415  # loads the parsers

        return why_change(self.root, diff, reserve)

    def reserve(self, *, at: str | None = None, reserve: str | int | None = None) -> Reserve:
        """The room for rules in a review, and where that was said: in a commit, or here.

        Raises:
            UsageError: The reserve that is asked for is none.
        """
        from hornbook.settings.reserve import reserve_for  # noqa: PLC0415  # start-up

        if at is None:
            return reserve_for(self.settings, option=reserve)
        from hornbook.graph.commit_graph import graph_at, settings_of_base  # noqa: PLC0415  # loads the parsers

        judge = graph_at(self.root, at).settings
        return reserve_for(judge, option=reserve, base=settings_of_base(self.root, at))

    def doctor(
        self, paths: Sequence[str | Path] = (), *, baseline: str | Path | None = None
    ) -> Health:
        """What in the rules does not hold in this repository, and what nobody could judge.

        With `paths` only what concerns rules there is told; `baseline` names the file of accepted
        findings, else it is `.hornbook/doctor.yaml` where that exists. Nothing is written.

        Raises:
            ConfigError: The baseline is wrong.
        """
        from hornbook.doctor.examination import examine  # noqa: PLC0415  # loads the readers

        accepted = None if baseline is None else Path(baseline)
        today = datetime.now(UTC).date()
        health = examine(self.places, self.settings, baseline=accepted, today=today)
        wanted = self._relative(paths)
        return health.among(wanted) if wanted else health

    def size(
        self,
        files: Sequence[str | Path],
        *,
        description: str = "",
        criteria: Sequence[str] = (),
        model: str | None = None,
        window: int | None = None,
        plan: str | None = None,
        reserve: str | int | None = None,
    ) -> Sizing:
        """Whether a task fits a model's window, and every reason why not.

        Without files it is sized by all that its plan's constraints let it change.

        Raises:
            UsageError: There are neither files nor a plan.
            ConfigError: The window is too small for any task.
        """
        from hornbook.context.budget import RoomAsked  # noqa: PLC0415  # start-up
        from hornbook.context.sizing import size_task  # noqa: PLC0415  # loads the readers

        if not files and plan is None:
            raise UsageError("no files to size: name them with --files, or a plan with --plan.")
        files = files or self.plan_book().scope_files(plan)
        return size_task(
            self.root,
            self.ingested(),
            self._relative(files),
            description=description,
            criteria=criteria,
            room=RoomAsked(model, window, reserve),
        )

    def replay(
        self,
        *,
        last: int = 50,
        span: str | None = None,
        against: str | None = None,
        worktree: bool = False,
        progress: Progress = silent,
    ) -> Replay:
        """What the rules did to the last changes, or to those of a range `A..B`.

        With `against` or `worktree` each is judged twice: by the rules of the range's tip, and by
        those of another commit or of the files here.

        Raises:
            UsageError: The range or the revision names no commit, or both ways are asked for.
        """
        from hornbook.doctor.replay import replay_here  # noqa: PLC0415  # loads the readers

        return replay_here(
            self.root,
            self.settings,
            last=None if span is not None else last,
            span=span,
            against=against,
            worktree=worktree,
            progress=progress,
        )

    def review_context(
        self,
        files: Sequence[str | Path] = (),
        *,
        diff: str | None = None,
        model: str | None = None,
        pressure: Pressure | None = None,
        plan: str | None = None,
        task: str | None = None,
        reserve: str | int | None = None,
    ) -> Context:
        """What a reviewer of some files, or of a change, must see: whole, or a refusal.

        `pressure` tells the reviewer how the change came about, `plan` and `task` what it is for.
        """
        return self.review_packet(
            files,
            diff=diff,
            model=model,
            pressure=pressure,
            plan=plan,
            task=task,
            reserve=reserve,
        ).context

    def review_packet(
        self,
        files: Sequence[str | Path] = (),
        *,
        diff: str | None = None,
        model: str | None = None,
        pressure: Pressure | None = None,
        plan: str | None = None,
        task: str | None = None,
        reserve: str | int | None = None,
        refute: bool = False,
    ) -> Packet:
        """The same with what it was made for, so that a receipt can be written.

        With `refute` it is the packet of a second opinion.

        Raises:
            UsageError: The diff names no change, the model is unknown or the plan not committed.
        """
        from hornbook.context.review_packet import Contexts  # noqa: PLC0415  # loads the readers

        brief = self._brief(plan, task)
        graph = self.ingested() if diff is None else self.snapshot()
        contexts = Contexts(self.root, graph, pressure, brief, refute=refute)
        if diff is not None:
            return contexts.for_change(diff, model, reserve)
        return contexts.for_files(self._relative(files), model, reserve)

    def develop_packet(
        self,
        files: Sequence[str | Path] = (),
        *,
        description: str = "",
        criteria: Sequence[str] = (),
        model: str | None = None,
        plan: str | None = None,
        task: str | None = None,
    ) -> DevelopmentContext:
        """What a developer of a task must see, no rule's text, and what the graph was asked for it.

        A task of a plan brings its own description, criteria and files; what is given beside it
        is added to them. A plan whose tiers fill up is checkpointed by this.

        Raises:
            UsageError: There is neither a description nor a task.
        """
        from hornbook.context import developer_packet  # noqa: PLC0415  # loads a parser

        brief = self._brief(plan, task, with_files=not files)
        commands = tuple(gate.command for gate in self.gates().ready if gate.required)
        made = developer_packet.development_context(
            self.root,
            self.settings,
            self._relative(files),
            description=description,
            criteria=criteria,
            model=model,
            brief=brief,
            situation=developer_packet.Situation(gates=commands, graph=self.ingested),
        )
        if made.due and brief is not None:
            self.memory().checkpoint_at_boundary(brief.plan.slug)
        return made

    def step_context(self, name: str, task: str) -> StepContext:
        """What a step of the loop would see for a task, and by which settings; nobody is asked.

        Raises:
            UsageError: There is no such step, plan or task.
        """
        from hornbook.loop.step_context import step_context  # noqa: PLC0415  # loads the steps

        return step_context(self.places, self.settings, name, task)

    def check_review(
        self,
        reviews: Sequence[PrintedReview],
        receipts: Sequence[Mapping[str, object]],
        *,
        gates: GateReport | None = None,
        diff: str | None = None,
        bound_gates: bool = False,
        today: date | None = None,
    ) -> Judgement:
        """What follows from the reviews of a change; rules, tree and settings come from git.

        With `diff`, the receipts must be for just that change; with `bound_gates` there must be
        gate results that name its tree, base and head. `today`, else the day that it is, decides
        which rules may stay unread (`review.unread`).

        Raises:
            UsageError: The receipts are for different changes, or git does not have the commits.
        """
        from hornbook.review.check import check_reviews  # noqa: PLC0415  # loads the readers

        day = today or datetime.now(UTC).date()
        return check_reviews(
            self.root, reviews, receipts, gates, diff, today=day, bound=bound_gates
        )

    def plan_review(
        self, diff: str, *, agents: Sequence[str] = (), reserve: str | int | None = None
    ) -> ReviewPlan:
        """What would be sent to whom for a review of a change: packets and reviewers.

        `agents` are agents or models by name, else the one whom the settings name.

        Raises:
            UsageError: The diff names no change, nobody is named, or there is no such agent.
        """
        from hornbook.loop.review_run import ReviewStaff, plan_review  # noqa: PLC0415  # start-up

        staff = ReviewStaff(self.places, self.settings, self.tell)
        return plan_review(staff, diff, agents, reserve)

    def run_review(
        self, plan: ReviewPlan, *, gates: GateReport | None = None, today: date | None = None
    ) -> RunReview:
        """Ask the reviewers of a plan and judge what they answer; gates count where given.

        Raises:
            UsageError: Git does not have the commits any more, or a model cannot be asked.
        """
        from hornbook.loop.review_run import review_change  # noqa: PLC0415  # start-up

        day = today or datetime.now(UTC).date()
        return review_change(self.root, plan, gates, today=day, tell=self.tell)

    def record_review(
        self,
        judged: JudgedReview,
        *,
        at: datetime,
        run: str | None = None,
        plan: str | None = None,
        task: str | None = None,
    ) -> Path:
        """Keep a judgement as a record; patterns of an approved one become candidates."""
        from hornbook.review.review_record import Occasion, record_review  # noqa: PLC0415  # loads the readers

        return record_review(self.places, judged, Occasion(at, run, plan, task))

    def review_canary(self, diff: str, *, rule: str | None = None) -> CanaryPacket:
        """A packet for a change with one planted violation; what was planted is kept hidden.

        Raises:
            UsageError: The diff names no change, or no such rule binds it.
        """
        from hornbook.review.canary_files import keep  # noqa: PLC0415  # only this needs it
        from hornbook.review.canary_packet import make_canary  # noqa: PLC0415  # loads the readers

        made = make_canary(self.root, diff, rule)
        if made.canary is not None:
            keep(self.places, made.canary)
        return made

    def conventions(self) -> Conventions:
        """What was learned from reviews, to be listed, promoted and retired."""
        from hornbook.review.conventions import Conventions  # noqa: PLC0415  # only this needs it

        return Conventions(self.places)

    def reviews(self, revision: str | None = None) -> list[PastReview]:
        """The recorded reviews, newest first; with a revision, those that it judged.

        Raises:
            NotFound: Nothing is ingested yet.
        """
        from hornbook.review.review_history import past_reviews  # noqa: PLC0415  # only this needs it

        bad = [each.id for each in self.bad_records()]
        return past_reviews(self.ingested().store, revision, without=bad)

    def bad_records(self) -> list[BadRecord]:
        """The recorded reviews that are not as they were written, or not as their runs tell."""
        from hornbook.review.review_history import bad_records, of_runs, read_records  # noqa: PLC0415  # only this needs it

        records = read_records(self.places)
        if not of_runs(records):
            return bad_records(records)
        with self.run_book() as book:
            return bad_records(records, book.all_events())

    def past_runs(self, plan: str | None = None) -> list[PastRun]:
        """The runs that the graph knows, oldest first; with a plan's id, those of it.

        Raises:
            NotFound: Nothing is ingested yet.
        """
        from hornbook.loop.runs.history import past_runs  # noqa: PLC0415  # only this needs it

        return past_runs(self.ingested().store, plan)

    def rule_records(self, since: datetime) -> list[RuleRecord]:
        """How often each rule was violated, kept or waved away since a time.

        Raises:
            NotFound: Nothing is ingested yet.
        """
        from hornbook.review.review_history import of_canaries, read_records, rule_records  # noqa: PLC0415  # only this needs it

        bad = [each.id for each in self.bad_records()]
        planted = of_canaries(read_records(self.places))
        return rule_records(self.ingested(), to_seconds(since), without=[*bad, *planted])

    def reviewer_records(self, since: datetime) -> ReviewersReport:
        """How reviewers have done since a time, each with each model, as records and git tell it.

        Raises:
            UsageError: Git cannot tell what was reverted.
        """
        from hornbook.review.review_history import reviewers_since  # noqa: PLC0415  # only this needs it

        bad = [each.id for each in self.bad_records()]
        with self.run_book() as book:
            overruled = book.overruled()
        return reviewers_since(self.places, to_seconds(since), without=bad, overruled=overruled)

    def gates(self, *, diff: str | None = None) -> GateList:
        """The effective gates, each value with its origin, and those that are refused.

        With `diff` they are those of the change's base.

        Raises:
            ConfigError: With everything that is wrong in their definition.
        """
        from hornbook.gates.gate_list import gates_for, gates_now  # noqa: PLC0415  # loads a parser

        return gates_now(self.root) if diff is None else gates_for(self.root, diff)

    def run_gates(
        self,
        *,
        diff: str | None = None,
        plan: str | None = None,
        in_place: bool = False,
        mutate: bool = False,
        confined: bool | None = None,
        progress: GateProgress | None = None,
    ) -> GateReport:
        """What the gates say to the files here, or with a change to its HEAD, floors included.

        The scope is that of the plan as BASE has it; of a plan that is newer, as its log has it,
        which is noted. Unless `confined` says so, `gates.confine` says whether they are confined.
        With `mutate` mutants of the change's added lines are tried as well.

        Raises:
            UsageError: The diff names no change, or a plan is given without one.
            ConfigError: The definition of the gates is wrong, or the plan at BASE.
        """
        from hornbook.gates.gate_run import run_by_hand  # noqa: PLC0415  # loads a parser

        return run_by_hand(
            self.root,
            self.gates(diff=diff),
            span=diff,
            plan=plan,
            constraints_of=lambda slug: self.plan(slug).plan.constraints,
            in_place=in_place,
            mutate=mutate,
            confined=confined,
            progress=progress,
        )

    def prove_gates(self) -> tuple[GateProof, ...]:
        """Whether each required gate fails when it must, tried on copies of the files here."""
        from hornbook.gates.gate_run import prove_for  # noqa: PLC0415  # loads a parser

        return prove_for(self.root, self.gates().ready)

    def _brief(
        self, plan: str | None, task: str | None, *, with_files: bool = False
    ) -> Brief | None:
        """What a step is told of its plan and task; a task's id names its plan."""
        if plan is None and task is None:
            return None
        book = self.plan_book()
        return book.brief(plan or book.plan_of(str(task)), task, with_files=with_files)

    def plan_book(self, by: Principal | None = None) -> PlanBook:
        """The plans of the workspace: to begin, commit, check and carry them out.

        `by` is who acts, by default whoever runs this process.
        """
        from hornbook.loop.plan_book import PlanBook  # noqa: PLC0415  # start-up

        return PlanBook(self.places, self.settings, self.ingested, by=by)

    def _plan_reader(self) -> PlanReader:
        from hornbook.plans.reader import PlanReader  # noqa: PLC0415  # start-up

        return PlanReader(self.places, self.settings)

    def memory(self) -> Memory:
        """What outlives a session: checkpoints, recovery, invariants."""
        from hornbook.loop.memory import Memory  # noqa: PLC0415  # start-up

        return Memory(self.places, self.settings)

    def run_book(self, by: Principal | None = None) -> RunBook:
        """The runs of the workspace's plans, to be listed, answered and followed; to be closed.

        `by` is who answers, by default whoever runs this process.
        """
        from hornbook.loop.runs.run_book import RunBook  # noqa: PLC0415  # start-up

        return RunBook(self.places, self.settings, by=by)

    def answer(
        self,
        run_id: str,
        action: str,
        text: str = "",
        reason: str = "",
        *,
        by: Principal | None = None,
    ) -> GivenAnswer:
        """Say a person's word on a run that asks, and wake whoever works on it.

        `action` is accept, return, overrule, split, amend, stop or text.

        Raises:
            NotFound: There is no such run.
            NotAPerson: Whoever says so is none.
            UsageError: It asks nothing, or the action does not fit.
        """
        from hornbook.loop.steps.answer import word  # noqa: PLC0415  # start-up

        with self.run_book(by) as book:
            given = book.answer(run_id, word(action, text, reason))
        self.wake(given.run)
        return given

    def wake(self, run_id: str) -> bool:
        """Have whoever works go on with a run that was answered; False if the engine has none."""
        from hornbook.loop.engine.engine_runs import wake  # noqa: PLC0415  # start-up

        return wake(self.places, self.settings, run_id)

    def plans(self) -> list[PlanView]:
        """Every plan: explorations first, then the committed, then the superseded."""
        return self._plan_reader().views()

    def plan(self, slug: str) -> PlanView:
        """One plan with its decisions, risks and tasks.

        Raises:
            NotFound: There is none with this slug.
        """
        return self._plan_reader().view(slug)

    def decisions(self, plan_id: str) -> list[PlanDecision]:
        """The decisions of a plan that stand; `plan_id` is its id or slug."""
        return self._plan_reader().decisions(plan_id)

    def record_receipt(self, facts: dict[str, object]) -> Path:
        """Keep a receipt as a record: the next ingest makes it part of the graph."""
        from hornbook.review.review_record import keep_receipt  # noqa: PLC0415  # start-up

        return keep_receipt(self.places, facts)

    def _relative(self, files: Sequence[str | Path]) -> list[str]:
        """Paths relative to the root; one that lies outside is refused."""
        return [clean_path(relative_to_root(self.root, str(file))) for file in files]
