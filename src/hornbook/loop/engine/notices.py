"""Tells the team's address what waits for a person: each question once, however often it is tried.

A question is entered with the transaction that notes that its run asks. Whoever works tells what
is due: it takes a question for `TAKEN_SECONDS`, sends it, and notes that it arrived. Who is killed
in between leaves it to the next; then it may arrive a second time, under the same id. What does not
arrive is tried again after 5, 10, 20 … seconds, at most an hour, for `notify.hours`. A question
that was answered meanwhile, or that its run asks no more, is not told any more.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sql

from hornbook.disk import to_milliseconds
from hornbook.errors import HornbookError
from hornbook.loop.engine.engine_runs import ANSWERED, NoticeState, RunPhase
from hornbook.loop.engine.webhook import SECONDS, NotDelivered, SignedMessage, deliver
from hornbook.loop.engine.workers import NOTICES, RUNS, clock
from hornbook.settings.surroundings import NotifySettings

TAKEN_SECONDS = 60.0
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 3600.0
LONGEST_TEXT = 4000


@dataclass(frozen=True, slots=True)
class _Taken:
    """A question that this process is to tell."""

    plan: str
    question: int
    run: str
    text: str
    asked: float
    attempts: int
    now: float


def always() -> bool:
    """Tell all that is due."""
    return True


class Notices:
    """The questions of a repository that are to be told; `name` is what it is called to others."""

    def __init__(
        self,
        engine: sql.Engine,
        repository: str,
        settings: NotifySettings,
        environment: Mapping[str, str] = os.environ,
        *,
        name: str = "",
    ) -> None:
        self._name = name or repository or "local"
        self._engine = engine
        self._repository = repository
        self._settings = settings
        self._environment = environment
        self._now = clock(engine)

    def tell(self, going_on: Callable[[], bool] = always, seconds: float | None = None) -> None:
        """Tell what is due while it is going on; what does not arrive is due again later.

        A connection, and an answer, may take `seconds`.
        """
        if not self._settings.url:
            return
        while going_on() and (taken := self._take()) is not None:
            problem = self._sent(taken, seconds or SECONDS)
            self._note(taken, problem)

    def _take(self) -> _Taken | None:
        due = sql.and_(
            NOTICES.c.repository == self._repository,
            NOTICES.c.state == NoticeState.WAITING,
            NOTICES.c.due <= self._now,
        )
        asked = sql.select(NOTICES, self._now.label("now")).where(due).order_by(NOTICES.c.due)
        with self._engine.connect().execution_options(hornbook_reads=True) as connection:
            found = connection.execute(asked.limit(1)).first()
        if found is None:
            return None
        same = sql.and_(self._is(found.plan, found.question), due, NOTICES.c.due == found.due)
        taken = {"due": self._now + TAKEN_SECONDS, "attempts": NOTICES.c.attempts + 1}
        with self._engine.begin() as connection:
            if connection.execute(sql.update(NOTICES).where(same).values(**taken)).rowcount == 0:
                return None  # another was faster
            still = sql.select(RUNS.c.run).where(
                RUNS.c.repository == self._repository,
                RUNS.c.run == found.run,
                RUNS.c.phase == RunPhase.ASKING,
                RUNS.c.status != ANSWERED,
            )
            if connection.execute(still).first() is None:
                over = sql.update(NOTICES).where(self._is(found.plan, found.question))
                connection.execute(over.values(state=NoticeState.OVER))
                return None
        return _Taken(
            plan=found.plan,
            question=found.question,
            run=found.run,
            text=found.text,
            asked=found.asked,
            attempts=found.attempts + 1,
            now=float(found.now),
        )

    def _sent(self, taken: _Taken, seconds: float) -> str:
        """Why a question did not arrive; nothing if it did."""
        name = self._settings.secret_variable
        secret = self._environment.get(name, "")
        if not secret:
            return f"the environment variable {name} (`notify.secret_variable`) is not set"
        try:
            message = self._message(taken)
            deliver(self._settings.url, message, secret, self._settings.private, seconds)
        except (NotDelivered, HornbookError, ValueError) as problem:
            return str(problem)
        return ""

    def _message(self, taken: _Taken) -> SignedMessage:
        at = to_milliseconds(datetime.fromtimestamp(taken.asked, UTC))
        body = {
            "type": "run.asks",
            "timestamp": at,
            "data": {
                "repository": self._name,
                "plan": taken.plan,
                "run": taken.run,
                "question": taken.question,
                "text": taken.text[:LONGEST_TEXT],
                "answer": f"hornbook answer {taken.run}",
            },
        }
        name = f"{self._name}.{taken.plan}.{taken.question}"
        return SignedMessage(name, int(taken.now), json.dumps(body, ensure_ascii=False).encode())

    def _note(self, taken: _Taken, problem: str) -> None:
        pause = min(FIRST_PAUSE * 2 ** min(taken.attempts - 1, 20), LONGEST_PAUSE)
        late = taken.now - taken.asked > self._settings.hours * 3600
        state = NoticeState.SENT
        if problem:
            state = NoticeState.FAILED if late else NoticeState.WAITING
        values = {"state": state, "problem": problem, "due": self._now + pause}
        with self._engine.begin() as connection:
            # One that was answered while it was sent stays over.
            mine = sql.and_(
                self._is(taken.plan, taken.question), NOTICES.c.state == NoticeState.WAITING
            )
            connection.execute(sql.update(NOTICES).where(mine).values(**values))

    def _is(self, plan: str, question: int) -> "sql.ColumnElement[bool]":
        return sql.and_(
            NOTICES.c.repository == self._repository,
            NOTICES.c.plan == plan,
            NOTICES.c.question == question,
        )
