"""A review without a plan: gates, packet, reviewers, and what follows from their answers.

Everything that judges comes from the change's base, its agents and models too. A reviewer is put
into a folder that holds the files of HEAD and nothing that an agent's program would load by itself
or take orders from: no rule file, no hidden file, nothing of ours. It is asked exactly the packet.
"""

import os
import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path

from hornbook.agents.assignment import Answer, Limits, Usage, nowhere
from hornbook.agents.review_assignment import review_assignment
from hornbook.commits.change import Change, change
from hornbook.commits.commit import commit_at
from hornbook.commits.trees import copy_of
from hornbook.context.prompt import Outcome
from hornbook.context.receipt import receipt
from hornbook.context.review_packet import Contexts, Packet
from hornbook.errors import HornbookError, UsageError
from hornbook.gates.gate import GateReport
from hornbook.graph.commit_graph import graph_at, settings_of
from hornbook.loop.configured_agents import Reviewer, WorkspaceStaff
from hornbook.review.check import check_reviews, judge_without_review, recompute_case
from hornbook.review.judgement import Judgement, ReviewProblem, Route, Ruling
from hornbook.review.opinions import REFUTING
from hornbook.review.printed_review import PrintedReview
from hornbook.review.review_record import JudgedReview
from hornbook.rules.document_reader import is_rule_file
from hornbook.settings.load import CONFIG
from hornbook.settings.places import Places
from hornbook.settings.settings import RESERVED, OwnCommand, Settings

MOST_WAITING = 180.0
"""How many seconds a reviewer that asks to be asked later is waited for, all in all."""
MOST_TRIES = 3
"""How often one that cannot be reached is asked for an answer."""
LOADED_BY_AGENTS = frozenset({"opencode.json", "opencode.jsonc", "crush.json", "CONVENTIONS.md"})
"""Files that agents' programs load by themselves and that neither are hidden nor hold rules."""
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ReviewerBill:
    """What one reviewer was asked and what that took; `cost` is None where nobody knows it."""

    agent: str
    model: str | None
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    currency: str | None = None
    seconds: float = 0.0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ReviewPlan:
    """A review that could be asked for: the packets, whole or refused, and who is asked.

    Where the base asks for a second opinion, all but the first reviewer get the packets of the
    `second`, to refute by.
    """

    change: Change
    packets: tuple[Packet, ...]
    reviewers: tuple[Reviewer, ...]
    second: tuple[Packet, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether there is something to send."""
        return all(each.context.text is not None for each in (*self.packets, *self.second))

    @property
    def tokens(self) -> int:
        """What one reviewer is sent at most, over all passes."""
        both = (sum(e.context.tokens for e in some) for some in (self.packets, self.second))
        return max(both) if self.complete else 0

    def most_cost(self, reviewer: Reviewer) -> float | None:
        """The most that a model takes for one answer to each packet; None without its prices."""
        endpoint = reviewer.endpoint
        if endpoint is None:
            return None
        return endpoint.cost(self.tokens, endpoint.answer_tokens * len(self.packets))


@dataclass(frozen=True, slots=True)
class RunReview:
    """What came of a review: the judgement, everything that it was made from, and the bills."""

    judged: JudgedReview
    bills: tuple[ReviewerBill, ...]


@dataclass(slots=True)
class _Asked:
    """One reviewer with its newest answer to each packet."""

    reviewer: Reviewer
    name: str
    bill: ReviewerBill
    answers: list[Answer]
    packets: tuple[Packet, ...]

    @property
    def failed(self) -> str | None:
        """Why it gave no answer; None if it gave all."""
        said = [each.error or each.escalation for each in self.answers]
        return next(filter(None, said), None)

    def printed(self) -> list[PrintedReview]:
        several = len(self.answers) > 1
        return [
            PrintedReview(f"pass-{place}/{self.name}" if several else self.name, each.text.encode())
            for place, each in enumerate(self.answers, 1)
        ]


def plan_review(
    staff: "ReviewStaff", span: str, agents: Sequence[str], reserve: str | int | None
) -> ReviewPlan:
    """What would be sent to whom for a change.

    Every reviewer gets the same packet, made for the smallest of their windows.

    Raises:
        UsageError: The span names no change, nobody is named to review it, or there is no such
            agent.
    """
    found = change(staff.root, span)
    reviewers = tuple(staff.reviewers(found, agents))
    known = [each for each in reviewers if each.endpoint is not None]
    smallest = min(known, key=lambda each: each.window, default=None)
    snapshot = graph_at(staff.root, found.base)
    asked = smallest.endpoint_name if smallest is not None else None

    def packets(*, refute: bool) -> tuple[Packet, ...]:
        contexts = Contexts(staff.root, snapshot, refute=refute)
        return tuple(contexts.of_change(found, snapshot, asked, reserve).parts())

    first = packets(refute=False)
    if snapshot.settings.review.reviewers < 2:
        return ReviewPlan(found, first, reviewers)
    both = reviewers if len(reviewers) > 1 else reviewers * 2
    return ReviewPlan(found, first, both, packets(refute=True))


@dataclass(frozen=True, slots=True)
class ReviewStaff:
    """Who can review a change here: by the settings of its base, else by those of the work tree.

    A change cannot bring its own reviewer: where one edits `.hornbook/`, a person decides anyway.
    """

    places: Places
    settings: Settings
    tell: Tell

    @property
    def root(self) -> Path:
        """The folder of the repository."""
        return self.places.root

    def reviewers(self, found: Change, agents: Sequence[str]) -> Iterator[Reviewer]:
        """Those that are named, else the one whom the settings name.

        Raises:
            UsageError: Nobody is named, or there is no such agent.
        """
        commit = commit_at(self.root, found.base)
        base = settings_of(commit) if CONFIG.as_posix() in commit.files else None
        default = (base and base.engine.agent) or self.settings.engine.agent
        names = list(agents) or _reviewers_in(default)
        if not names:
            raise UsageError("nobody is named to review: use --agent, or set `engine.agent`.")
        for name in names:
            settings = base if base is not None and _knows(base, name) else self.settings
            if base is not None and settings is not base and _knows(settings, name):
                self.tell(f"{name} is not in the settings of the base: the work tree's are used")
            reviewer = WorkspaceStaff(self.places, settings).reviewer(name)
            _refuse_edited(found, name, settings.agents.get(name))
            yield reviewer


def _reviewers_in(agents: str) -> list[str]:
    """Who reviews where `engine.agent` names a developer and reviewers, or one for both."""
    names = list(filter(None, (each.strip() for each in agents.split(","))))
    return names[1:2] or names[:1]


def _refuse_edited(found: Change, name: str, own: OwnCommand | None) -> None:
    """Refuse a command that the change itself edits: it would be judged by its own words."""
    words = [] if own is None else shlex.split(own.reviewer or own.command)
    edited = {word.removeprefix("./") for word in words} & set(found.paths)
    if edited:
        named = ", ".join(sorted(edited))
        raise UsageError(f"agent {name} runs {named}, which the change edits: name another agent.")


def _knows(settings: Settings, name: str) -> bool:
    return name in {*RESERVED, *settings.agents, *settings.registry().endpoints}


def review_change(
    root: Path,
    plan: ReviewPlan,
    gates: GateReport | None,
    *,
    today: date,
    tell: Tell,
    wait: Callable[[float], None] = time.sleep,
) -> RunReview:
    """Ask every reviewer of a plan, again once where the answer is invalid, and judge.

    Nobody is asked where the packet is refused or the gates have stopped the change.

    Raises:
        UsageError: Git does not have the commits any more.
    """
    both = (*plan.packets, *plan.second)
    receipts = [receipt(each.context, each.made_for) for each in both]
    if not plan.complete:
        rules = recompute_case(root, receipts, today=today).rules
        return RunReview(JudgedReview(replace(_refused(plan), rules=rules), [], [], gates), ())
    if gates is not None and not gates.holds:
        judgement = judge_without_review(root, receipts, gates, today=today)
        return RunReview(JudgedReview(judgement, [], receipts, gates), ())
    span = f"{plan.change.base}..{plan.change.head}"

    def judge(printed: Sequence[PrintedReview]) -> Judgement:
        return check_reviews(root, printed, receipts, gates, span, today=today)

    asked = _ask_all(root, plan, judge, tell, wait)
    printed = [each for one in asked for each in one.printed()]
    judgement = _with_failures(judge(printed), asked)
    return RunReview(
        JudgedReview(judgement, printed, receipts, gates), tuple(each.bill for each in asked)
    )


def _refused(plan: ReviewPlan) -> Judgement:
    """What follows from a packet that cannot be whole: it reaches no reviewer."""
    reasons = [
        f"{each.context.outcome}: {reason.message}"
        for each in plan.packets
        for reason in each.context.reasons
    ]
    big = any(each.context.outcome is Outcome.TOO_BIG for each in plan.packets)
    return Judgement(
        Ruling.INVALID,
        None,
        Route.TASK_DECOMPOSITION if big else Route.HUMAN,
        tuple(ReviewProblem("no_context", None, said) for said in dict.fromkeys(reasons)),
        explanation=("the packet cannot be whole, so that nobody was asked",),
        base=plan.change.base,
        head=plan.change.head,
    )


def _with_failures(judgement: Judgement, asked: Sequence[_Asked]) -> Judgement:
    """The judgement, which no reviewer who could not be reached lets stand."""
    failed = [each for each in asked if each.failed is not None]
    if not failed:
        return judgement
    problems = tuple(
        ReviewProblem("reviewer_failed", None, f"{each.name} gave no review: {each.failed}")
        for each in failed
    )
    # what a missing answer does not answer is no news beside this
    others = judgement.problems if len(failed) < len(asked) else ()
    known = tuple(each for each in others if each.code not in {"unparsable", "missing_sop"})
    who = ", ".join(each.name for each in failed)
    return replace(
        judgement,
        outcome=Ruling.INVALID,
        rejection_type=None,
        route=Route.HUMAN,
        problems=(*problems, *known),
        explanation=(*judgement.explanation, f"no review of {who} could be had"),
        patterns=(),
    )


# The calls


def _ask_all(
    root: Path,
    plan: ReviewPlan,
    judge: Callable[[Sequence[PrintedReview]], Judgement],
    tell: Tell,
    wait: Callable[[float], None],
) -> list[_Asked]:
    """Every reviewer's newest answers; they work side by side and know nothing of each other."""
    asked = []
    for place, (reviewer, name) in enumerate(zip(plan.reviewers, _names(plan), strict=True)):
        packets = plan.second if place and plan.second else plan.packets
        asked.append(_Asked(reviewer, name, ReviewerBill(name, reviewer.model), [], packets))
    with _files_of(root, plan.change.head) as folder, ThreadPoolExecutor(len(asked)) as pool:
        problems: dict[str, Sequence[Mapping[str, object]]] = {each.name: () for each in asked}
        ask = 1
        while problems:
            wanted = [each for each in asked if each.name in problems]
            calls = [_Calls(folder, ask, problems[each.name], tell, wait) for each in wanted]
            list(pool.map(_Calls.ask, calls, wanted))
            problems = {}
            for each in wanted:
                said = judge(each.printed()) if each.failed is None else None
                if (
                    said is not None
                    and said.outcome is Ruling.INVALID
                    and ask <= each.reviewer.reask
                ):
                    problems[each.name] = [asdict(problem) for problem in said.problems]
                    tell(f"{each.name}: the review is not valid, so it is asked again")
            ask += 1
    return asked


def _names(plan: ReviewPlan) -> list[str]:
    """What the reviewers are called: an agent that is named twice gets a number."""
    refuting = REFUTING if plan.second else ""
    names = [f"{each.name}{refuting if n else ''}" for n, each in enumerate(plan.reviewers)]
    return [
        f"{name}-{names[: place + 1].count(name)}" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]


@dataclass(frozen=True, slots=True)
class _Calls:
    """The calls of one round: each packet once."""

    folder: Path
    number: int
    problems: Sequence[Mapping[str, object]]
    tell: Tell
    wait: Callable[[float], None]

    def ask(self, asked: _Asked) -> None:
        """Ask a reviewer for each packet, until one call fails; what it took goes on its bill."""
        asked.answers = []
        for place, packet in enumerate(asked.packets, 1):
            answer = self._answer(asked, packet, place)
            asked.answers.append(answer)
            if asked.failed is not None:
                asked.bill = replace(asked.bill, error=asked.failed)
                return

    def _answer(self, asked: _Asked, packet: Packet, place: int) -> Answer:
        waited, tries = 0.0, 0
        while True:
            assignment = review_assignment(
                key=f"review/{packet.context.sha256}/{asked.name}/{place}-{self.number}",
                task_id="review",
                attempt=self.number,
                folder=str(self.folder),
                prompt=packet.context.text or "",
                asked=packet.context.answer_ids,
                model=asked.reviewer.endpoint_name,
                limits=Limits(seconds=asked.reviewer.seconds),
                problems=self.problems,
            )
            start = time.monotonic()
            try:
                answer = asked.reviewer.agent.work(assignment, nowhere)
            except HornbookError as problem:  # a key that is not set, an extra that is missing
                answer = Answer(error=str(problem))
            asked.bill = _billed(asked.bill, answer.usage, time.monotonic() - start)
            tries += 1
            if answer.retry_after is None or tries == MOST_TRIES:
                return answer
            seconds = max(1.0, answer.retry_after)
            waited += seconds
            if waited > MOST_WAITING:
                return answer
            self.tell(f"{asked.name} asks to be asked again in {seconds:.0f} s: {answer.error}")
            self.wait(seconds)


def _billed(bill: ReviewerBill, usage: Usage, seconds: float) -> ReviewerBill:
    known = [each for each in (bill.cost, usage.cost) if each is not None]
    return replace(
        bill,
        calls=bill.calls + 1,
        input_tokens=bill.input_tokens + usage.input_tokens,
        output_tokens=bill.output_tokens + usage.output_tokens,
        cost=sum(known) if known else None,
        currency=usage.currency if usage.cost is not None else bill.currency,
        seconds=round(bill.seconds + seconds, 3),
    )


@contextmanager
def _files_of(root: Path, head: str) -> Iterator[Path]:
    """A folder with HEAD's files, without what an agent's program would take orders from."""
    with copy_of(root, commit_at(root, head).tree) as folder:
        top = next(each for each in (folder, *folder.parents) if (each / ".git").is_dir())
        for here, folders, files in os.walk(top):
            place = Path(here)
            for name in [name for name in folders if name.startswith(".")]:
                _remove(place / name)
                folders.remove(name)
            for name in files:
                if is_taken_away((place / name).relative_to(top).as_posix()):
                    (place / name).unlink()
        yield folder


def _remove(path: Path) -> None:
    if path.is_symlink():
        path.unlink()
    else:
        shutil.rmtree(path)


def is_taken_away(path: str) -> bool:
    """Whether a file is one that an agent's program may load or obey by itself."""
    name = path.rpartition("/")[2]
    return name.startswith(".") or name in LOADED_BY_AGENTS or is_rule_file(path)
