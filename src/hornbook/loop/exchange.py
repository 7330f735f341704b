"""What machines that share a database hand each other: commits, files, and where branches stand.

A step counts when its event is in the log, and from then on any machine may take the next one. So
what a step makes is in the database before that event: its commits as packs (or, with
`engine.exchange: git`, at a remote), what it keeps as files, by their path below `.hornbook`. Who
begins a step first takes over what of its plan is missing there. Refs say where a plan began and
where its branch stands. They move by comparing with what stood there before, so that of two
machines one is told that it was late.
"""

import json
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from hornbook.commits import packs
from hornbook.commits.git import has_commit
from hornbook.commits.writer import keep_blob
from hornbook.disk import write_whole
from hornbook.errors import KeyTaken, UsageError
from hornbook.plans.databases.database import Database, TableForm, Transaction
from hornbook.plans.log import open_database
from hornbook.plans.workspace_log import repository_of
from hornbook.settings.places import CANARIES, Places
from hornbook.settings.settings import Settings

ATTEMPTS = "refs/hornbook/attempts"
MOST_BYTES = 500_000_000
FOLDERS = ("plans/", "records/", f"{CANARIES}/")
"""What files of a plan may lie in, below `.hornbook`."""
BRANCH = "branch/"
DAY = 24 * 3600.0
PACK, PUSHED, FILE, BLOB = "pack", "pushed", "file", "blob"


_ROW = "FROM hornbook_shared WHERE repository = ? AND plan = ? AND kind = ? AND name = ?"


class _GivenUpError(Exception):
    """A pack builds on a commit that was shared, and is no more."""


class SharedCommit(NamedTuple):
    """A commit that a plan shares, and what else a clone needs for it."""

    plan: str
    name: str
    needs: tuple[str, ...]


_SHARED = TableForm(
    "hornbook_shared",
    ("repository", "plan", "kind", "name", "needs", "sha256", "data", "at"),
    """
CREATE TABLE IF NOT EXISTS hornbook_shared (
    repository TEXT NOT NULL,
    plan TEXT NOT NULL,
    kind TEXT NOT NULL, -- pack, pushed, file or blob
    name TEXT NOT NULL, -- of a commit or blob its hash, of a file its path below .hornbook
    needs TEXT NOT NULL, -- commits that a pack builds on, as JSON
    sha256 TEXT NOT NULL,
    data BYTEA NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (repository, plan, kind, name)
)
""",
)
_REFS = TableForm(
    "hornbook_refs",
    ("repository", "name", "value", "at"),
    """
CREATE TABLE IF NOT EXISTS hornbook_refs (
    repository TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (repository, name)
)
""",
)


class SharedExchange:
    """The exchange through a database, for one repository; several threads may use it."""

    def __init__(self, places: Places, settings: Settings) -> None:
        self._root, self._state = places.root, places.state
        self._repository = repository_of(places, settings)
        self._remote = settings.engine.remote
        self._pushes = settings.engine.exchange == "git"
        self._database: Database = open_database(settings.engine.database, Path())
        for table in (_SHARED, _REFS):
            self._database.make_table(table, self._repository)

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    # Refs

    def ref(self, name: str) -> str | None:
        """What a ref of the repository says."""
        asked = "SELECT value FROM hornbook_refs WHERE repository = ? AND name = ?"
        with self._database.reading() as transaction:
            found = transaction.execute(asked, self._repository, name)
        return str(found[0][0]) if found else None

    def move(self, name: str, to: str, before: str | None) -> bool:
        """Have a ref say something else, if it still says what it did; whether it does now."""
        if before is None:
            new = "INSERT INTO hornbook_refs VALUES (?, ?, ?, ?)"
            now = self._database.now()
            try:
                with self._database.writing() as transaction:
                    transaction.execute(new, self._repository, name, to, now)
            except KeyTaken:
                return self.ref(name) == to
            return True
        changed = (
            "UPDATE hornbook_refs SET value = ?, at = ? "
            "WHERE repository = ? AND name = ? AND value = ? RETURNING value"
        )
        now = self._database.now()
        with self._database.writing() as transaction:
            moved = transaction.execute(changed, to, now, self._repository, name, before)
        return bool(moved) or self.ref(name) == to

    def settle(self, name: str, make: Callable[[], str]) -> str:
        """What a ref says; made by the first who asks, and the same for all from then on."""
        known = self.ref(name)
        if known is not None:
            return known
        self.move(name, make(), None)
        return str(self.ref(name))

    def moved_since(self, before: float | None) -> tuple[float, list[str]]:
        """The database's time, and the plans whose branches moved since another of its times.

        Without one, those that moved in the last day.
        """
        now = self._database.now()
        before = now - DAY if before is None else before
        asked = "SELECT name FROM hornbook_refs WHERE repository = ? AND at > ? AND name LIKE ?"
        with self._database.reading() as transaction:
            rows = transaction.execute(asked, self._repository, before, f"{BRANCH}%")
        return now, [str(name).removeprefix(BRANCH) for (name,) in rows]

    # Commits

    def share(self, plan: str, commit: str) -> None:
        """Have every machine be able to take over a commit of a plan.

        Raises:
            UsageError: It is too large for a database, or the remote cannot be reached.
        """
        kind = PUSHED if self._pushes else PACK
        known = self._names(plan, kind)
        if commit in known:
            return
        if self._pushes:
            packs.push_commit(self._root, self._remote, _name(plan, commit), commit)
            self._insert(plan, kind, commit, (), b"")
            return
        while not self._share_pack(plan, commit):
            pass  # what it builds on was just given up: with that in it

    def _share_pack(self, plan: str, commit: str) -> bool:
        """Share what others lack of a commit; False if something that they had is gone by now."""
        shared = packs.present(self._root, sorted(self._names(plan, PACK)))
        pushed = [] if shared else packs.remote_tips(self._root, self._remote)
        shared = shared or packs.present(self._root, self._names_of_all_plans())
        pack = packs.pack_of(self._root, commit, [*pushed, *shared])
        if len(pack.data) > MOST_BYTES:
            raise UsageError(
                f"commit {commit[:12]} has {len(pack.data)} bytes that "
                f"{self._remote} has not: push what it builds on, or set `engine.exchange: git`."
            )
        needs_of_ours = {*shared} & {*pack.needs}
        return self._insert(plan, PACK, commit, pack.needs, pack.data, on=needs_of_ours)

    def _names_of_all_plans(self) -> list[str]:
        asked = "SELECT DISTINCT name FROM hornbook_shared WHERE repository = ? AND kind = ?"
        with self._database.reading() as transaction:
            return [str(name) for (name,) in transaction.execute(asked, self._repository, PACK)]

    def need(self, plan: str, commit: str) -> None:
        """Take over a commit that is missing here.

        Raises:
            UsageError: Nobody shared it.
        """
        if has_commit(self._root, commit):
            return
        self.fetch(plan)
        if not has_commit(self._root, commit):
            self._fetch_needed(commit)

    def fetch(self, plan: str) -> None:
        """Take over the commits, files and blobs of a plan that are missing here.

        Raises:
            UsageError: Something cannot be taken over whole.
        """
        asked = (
            "SELECT kind, name, sha256 FROM hornbook_shared WHERE repository = ? AND plan = ? "
            "ORDER BY at, name"
        )
        with self._database.reading() as transaction:
            rows = transaction.execute(asked, self._repository, plan)
        objects = [name for kind, name, _ in rows if kind != FILE]
        here = set(packs.present(self._root, objects))
        for kind, name, digest in rows:
            if kind == FILE:
                self._take_file(plan, name, digest)
            elif name in here:
                continue
            elif kind == BLOB:
                keep_blob(self._root, self._row(plan, BLOB, name)[1])
            else:
                self._take_over(plan, kind, name)

    def _take_over(self, plan: str, kind: str, commit: str) -> None:
        if has_commit(self._root, commit):
            return
        if kind == PUSHED:
            packs.fetch_commit(self._root, self._remote, _name(plan, commit))
            packs.require_whole(self._root, commit)
            return
        needs, data = self._row(plan, kind, commit)
        for each in json.loads(needs):
            if not has_commit(self._root, each):
                self._fetch_needed(each)
        pack = packs.CommitPack(commit, tuple(json.loads(needs)), data)
        packs.unpack(self._root, pack, _name(plan, commit))

    def _fetch_needed(self, commit: str) -> None:
        """Get a commit that packs build on: from another plan, else from the remote."""
        asked = (
            "SELECT plan, kind FROM hornbook_shared WHERE repository = ? AND name = ? "
            "AND kind IN (?, ?) AND needs <> ? ORDER BY at LIMIT 1"
        )
        itself = json.dumps([commit])
        with self._database.reading() as transaction:
            values = (self._repository, commit, PACK, PUSHED, itself)
            rows = transaction.execute(asked, *values)
        if rows:
            self._take_over(rows[0][0], rows[0][1], commit)
            return
        with _explained(commit, self._remote):
            packs.fetch_branches(self._root, self._remote)
        if not has_commit(self._root, commit):
            raise UsageError(
                f"commit {commit} is neither in the database nor on a branch of {self._remote}: "
                "push what the plan was begun on, from the machine where that was; of a plan that "
                "is over it may have been given up (`engine.keep_days`)."
            )

    # Files

    def put(self, plan: str, path: Path) -> None:
        """Share a file below `.hornbook`."""
        name = path.relative_to(self._state).as_posix()
        self._insert(plan, FILE, name, (), path.read_bytes())

    def put_blob(self, plan: str, name: str, data: bytes) -> None:
        """Share an object of git that no commit has."""
        self._insert(plan, BLOB, name, (), data)

    def _take_file(self, plan: str, name: str, digest: str) -> None:
        """Have a file here as it was last shared: a step that is done again may write another."""
        parts = PurePosixPath(name).parts
        if not name.startswith(FOLDERS) or ".." in parts:
            raise UsageError(f"the database shares a file {name!r}, which is none of a plan's.")
        path = self._state.joinpath(*parts)
        if _digest_of(path) == digest:
            return
        secret = parts[0] == CANARIES  # what was planted, which only its owner reads
        if secret:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(path.parent / ".gitignore", b"*\n")
        write_whole(path, self._row(plan, FILE, name)[1], 0o600 if secret else 0o644)

    # Rows

    def _names(self, plan: str, kind: str) -> set[str]:
        asked = "SELECT name FROM hornbook_shared WHERE repository = ? AND plan = ? AND kind = ?"
        with self._database.reading() as transaction:
            return {str(name) for (name,) in transaction.execute(asked, *self._of(plan, kind))}

    def _of(self, *values: str) -> tuple[str, ...]:
        return (self._repository, *values)

    def _row(self, plan: str, kind: str, name: str) -> tuple[str, bytes]:
        asked = f"SELECT needs, sha256, data {_ROW}"
        with self._database.reading() as transaction:
            rows = transaction.execute(asked, *self._of(plan, kind, name))
        if not rows:
            raise UsageError(f"{kind} {name} of plan {plan} is not in the database any more.")
        needs, wanted, data = rows[0]
        if sha256(bytes(data)).hexdigest() != wanted:
            raise UsageError(f"{kind} {name} of plan {plan} is damaged in the database.")
        return str(needs), bytes(data)

    def _insert(
        self,
        plan: str,
        kind: str,
        name: str,
        needs: tuple[str, ...],
        data: bytes,
        *,
        on: Collection[str] = (),
    ) -> bool:
        """Have a row; False, and nothing is kept, if commits that it builds `on` are gone."""
        digest = sha256(data).hexdigest()
        new = (
            "INSERT INTO hornbook_shared VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (repository, plan, kind, name) DO UPDATE "
            "SET sha256 = excluded.sha256, data = excluded.data, needs = excluded.needs "
            "WHERE hornbook_shared.sha256 <> excluded.sha256"
        )
        values = (json.dumps(needs), digest, data, self._database.now())
        try:
            with self._database.writing() as transaction:
                transaction.execute(new, *self._of(plan, kind, name), *values)
                # `give_up` waits from here on until the row is there for it to see.
                self._require(transaction, on, plan, kind, name)
        except _GivenUpError:
            return False
        return True

    # Giving up

    def _require(
        self, transaction: Transaction, commits: Collection[str], plan: str, kind: str, name: str
    ) -> None:
        """Raise if commits are not shared any more, but in the row of another one.

        One plan may begin where another did: then what it needs has the same name as it, in the
        other plan.
        """
        asked = (
            "SELECT 1 FROM hornbook_shared "
            "WHERE repository = ? AND kind = ? AND name = ? AND NOT (plan = ? AND name = ?)"
        )
        for each in commits:
            if not transaction.execute(asked, self._repository, kind, each, plan, name):
                raise _GivenUpError

    def time(self) -> float:
        """The database's time, by which rows are dated."""
        return self._database.now()

    def untouched_since(self, before: float) -> list[str]:
        """The plans of which nothing was shared since a time."""
        asked = (
            "SELECT plan FROM hornbook_shared WHERE repository = ? "
            "GROUP BY plan HAVING max(at) < ? ORDER BY plan"
        )
        with self._database.reading() as transaction:
            return [str(row[0]) for row in transaction.execute(asked, self._repository, before)]

    def commits(self) -> list[SharedCommit]:
        """The commits of all plans that are shared."""
        with self._database.reading() as transaction:
            return self._commits(transaction)

    def _commits(self, transaction: Transaction) -> list[SharedCommit]:
        asked = (
            "SELECT plan, name, needs FROM hornbook_shared "
            "WHERE repository = ? AND kind IN (?, ?) ORDER BY plan, name"
        )
        rows = transaction.execute(asked, self._repository, PACK, PUSHED)
        return [SharedCommit(plan, name, tuple(json.loads(needs))) for plan, name, needs in rows]

    def give_up(self, plan: str, kept: Collection[str], seen: Collection[SharedCommit]) -> int:
        """Forget what is shared of a plan but for the commits that are kept; how much that was.

        Nothing, if others shared commits that were not `seen` meanwhile: one may need what goes.
        """
        forgotten = f"DELETE {_ROW}"
        listed = "SELECT kind, name FROM hornbook_shared WHERE repository = ? AND plan = ?"
        with self._database.writing_alone("hornbook_shared") as transaction:
            if not {*self._commits(transaction)} <= {*seen}:
                return 0
            rows = transaction.execute(listed, self._repository, plan)
            gone = [(k, n) for k, n in rows if k not in {PACK, PUSHED} or n not in kept]
            for kind, name in gone:
                transaction.execute(forgotten, *self._of(plan, kind, name))
        pushed = [_name(plan, name) for kind, name in gone if kind == PUSHED]
        if pushed:
            packs.drop_pushed(self._root, self._remote, pushed)
        return len(gone)


@contextmanager
def _explained(commit: str, remote: str) -> Iterator[None]:
    try:
        yield
    except UsageError as problem:
        raise UsageError(
            f"commit {commit[:12]} is missing here and not in the database, and {remote} cannot be "
            f"asked for it: {problem}"
        ) from problem


_digests: dict[Path, tuple[int, int, str]] = {}
"""The hashes of files that were read already, each with their time and size then."""


def _digest_of(path: Path) -> str | None:
    """The hash of a file; None if there is none."""
    try:
        stood = path.stat()
        known = _digests.get(path)
        if known is None or known[:2] != (stood.st_mtime_ns, stood.st_size):
            found = sha256(path.read_bytes()).hexdigest()
            known = _digests[path] = (stood.st_mtime_ns, stood.st_size, found)
        return known[2]
    except FileNotFoundError:
        return None


def _name(plan: str, commit: str) -> str:
    return f"{ATTEMPTS}/{plan}/{commit}"
