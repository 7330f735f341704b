"""Tells the team's address what waits for a person: each question once, however often it is tried.

A question is entered with the transaction that notes that its run asks. Whoever works tells what
is due: it takes a question for `TAKEN_SECONDS`, sends it, and notes that it arrived. Who is killed
in between leaves it to the next; then it may arrive a second time, under the same id. What does not
arrive is tried again after 5, 10, 20 … seconds, at most an hour, for `notify.hours`. A question
that was answered meanwhile, or that its run asks no more, is not told any more.

The message is signed, so that who gets it can prove where it comes from. The form is that of
Standard Webhooks: the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`, which is
`v1,` and the HMAC-SHA256 of `<id>.<timestamp>.<body>` in base64. A secret that begins with `whsec_`
is base64 behind that. No redirect is followed.
"""

import base64
import hashlib
import hmac
import http.client
import json
import os
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit

import sqlalchemy as sql

from hornbook.disk import to_milliseconds
from hornbook.errors import HornbookError
from hornbook.loop.engine.engine_runs import ANSWERED, NoticeState, RunPhase
from hornbook.loop.engine.workers import NOTICES, RUNS, clock
from hornbook.process.egress import HostPort, NotReachedError, connect_to
from hornbook.settings.surroundings import NotifySettings
from hornbook.version import __version__

SECONDS = 10.0
"""How long a connection, and an answer, may take if nothing else is said."""
_PREFIX = "whsec_"
_DONE = range(200, 300)


class NotDelivered(Exception):  # it is an outcome: whoever sends tries again
    """Why a message did not arrive."""


@dataclass(frozen=True, slots=True)
class SignedMessage:
    """What is sent: the same id means the same message, whenever it was sent."""

    id: str
    timestamp: int
    body: bytes

    def signature(self, secret: str) -> str:
        """What proves that whoever knows the secret sent this body with this id at this time."""
        signed = f"{self.id}.{self.timestamp}.".encode() + self.body
        digest = hmac.new(_key(secret), signed, hashlib.sha256).digest()
        return f"v1,{base64.b64encode(digest).decode('ascii')}"


def _key(secret: str) -> bytes:
    if secret.startswith(_PREFIX):
        return base64.b64decode(secret.removeprefix(_PREFIX))
    return secret.encode()


def deliver(
    url: str,
    message: SignedMessage,
    secret: str,
    private: Sequence[str],
    seconds: float = SECONDS,
) -> None:
    """Send a message, and be told that it arrived; connection and answer may take `seconds` each.

    Raises:
        NotDelivered: It did not, or the address may not be used.
    """
    target, parts = HostPort.of_url(url), urlsplit(url)
    if target is None:
        raise NotDelivered(f"{url} is no address")
    headers = {
        "content-type": "application/json",
        "user-agent": f"hornbook/{__version__}",
        "webhook-id": message.id,
        "webhook-timestamp": str(message.timestamp),
        "webhook-signature": message.signature(secret),
    }
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection = http.client.HTTPConnection(target.host, target.port, timeout=seconds)
    try:
        listed = [HostPort.read(each) for each in private]
        connection.sock = connect_to(target, listed, "notify.private", seconds)
        connection.sock.settimeout(seconds)
        if parts.scheme == "https":
            context = ssl.create_default_context()
            connection.sock = context.wrap_socket(connection.sock, server_hostname=target.host)
        connection.request("POST", path, message.body, headers)
        status = connection.getresponse().status
    except NotReachedError as problem:
        raise NotDelivered(f"{target}: {problem}") from problem
    except (OSError, http.client.HTTPException) as problem:
        raise NotDelivered(f"{target}: {type(problem).__name__}: {problem}") from problem
    finally:
        connection.close()
    if status not in _DONE:
        raise NotDelivered(f"{target} answered with status {status}")


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
