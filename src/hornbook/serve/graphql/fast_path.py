"""Answers queries that only list entities from rows that are ready."""

from collections.abc import Sequence
from threading import Lock

from graphql import GraphQLError, GraphQLSchema

from hornbook.errors import HornbookError
from hornbook.graph.selection import Filter
from hornbook.graph.snapshot import Snapshot
from hornbook.serve.graphql.context import ResolverContext
from hornbook.serve.graphql.executor import Ready
from hornbook.serve.graphql.paging import page
from hornbook.serve.graphql.shapes import Compiler, Listing, NotPlain, Plain, Shape, render
from hornbook.serve.http.response import as_json

# What Python needs to keep an entity beside its bytes.
OVERHEAD = 150


class Rows:
    """The entities of one version, as far as they were asked for and fit."""

    def __init__(self, version: str, most_bytes: int) -> None:
        self.version = version
        self._most = most_bytes
        self._kept: dict[Shape, dict[str, bytes]] = {}
        self._sizes: dict[Shape, int] = {}
        self._lock = Lock()

    def known(self, shape: Shape, ids: Sequence[str]) -> list[bytes] | None:
        """The entities, if all of them are ready."""
        kept = self._kept.get(shape)
        if kept is None:
            return [] if not ids else None
        try:
            return [kept[each] for each in ids]
        except KeyError:
            return None

    def all(self, snapshot: Snapshot, shape: Shape, ids: Sequence[str]) -> list[bytes]:
        """The entities; those that are not ready are asked of the store, all at once."""
        kept = self._kept.get(shape, {})
        missing = [each for each in ids if each not in kept]
        made = {thing.id: render(shape, thing) for thing in snapshot.describe(missing)}
        self._keep(shape, made)
        return [made[each] if each in made else kept[each] for each in ids]

    def _keep(self, shape: Shape, made: dict[str, bytes]) -> None:
        size = sum(map(len, made.values())) + len(made) * OVERHEAD
        with self._lock:
            self._make_room(shape, size)
            if size <= self._most:
                # Nothing is ever taken out of it: readers without the lock lose no entity they saw.
                self._kept.setdefault(shape, {}).update(made)
                self._sizes[shape] = self._sizes.pop(shape, 0) + size

    def _make_room(self, shape: Shape, size: int) -> None:
        """Forget whole shapes, first what was added to longest ago, and this one last."""
        oldest = [each for each in self._sizes if each != shape]
        for each in (*oldest, shape):
            if sum(self._sizes.values()) + size <= self._most:
                return
            self._kept.pop(each, None)
            self._sizes.pop(each, None)


class RowCache:
    """The rows of the version that is served now."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._rows = Rows("", most_bytes)

    def of(self, version: str) -> Rows:
        """The rows of a version; those of another one are forgotten."""
        rows = self._rows
        if rows.version != version:
            rows = Rows(version, self._most)
            self._rows = rows
        return rows


class FastPath:
    """A second way to the same answers, for the queries that are asked most."""

    def __init__(self, schema: GraphQLSchema, cache_bytes: int) -> None:
        self._compiler = Compiler(schema)
        self._cache = RowCache(cache_bytes)

    def plan(self, ready: Ready) -> Plain | None:
        """The query as listings, or None if the reference executor has to answer."""
        try:
            return self._compiler.compile(ready)
        except (NotPlain, GraphQLError):
            return None

    def at_once(self, plan: Plain, context: ResolverContext) -> bytes | None:
        """The answer, if it takes no work: every page is cheap to find and its rows are ready."""
        return self._answer(plan, context, work=False)

    def answer(self, plan: Plain, context: ResolverContext) -> bytes | None:
        """The answer, or None where an argument is wrong: the reference executor says what."""
        return self._answer(plan, context, work=True)

    def _answer(self, plan: Plain, context: ResolverContext, *, work: bool) -> bytes | None:
        pieces = []
        for key, wanted in plan.keys:
            context.patience.check()
            value = (
                _simple(wanted, context)
                if isinstance(wanted, str)
                else self._listing(wanted, context, work=work)
            )
            if value is None:
                return None
            pieces.append(as_json(key) + b":" + value)
        return b'{"data":{' + b",".join(pieces) + b"}}"

    def _listing(self, wanted: Listing, context: ResolverContext, *, work: bool) -> bytes | None:
        if not work and not _is_cheap(wanted.asked):
            return None
        try:
            ids = page(context, wanted.asked, wanted.first, wanted.after).ids
            rows = self._cache.of(context.snapshot.version)
            found = (
                rows.all(context.snapshot, wanted.shape, ids)
                if work
                else rows.known(wanted.shape, ids)
            )
        except (GraphQLError, HornbookError):
            return None
        return None if found is None else b"[" + b",".join(found) + b"]"


def _simple(name: str, context: ResolverContext) -> bytes:
    return b'"Query"' if name == "__typename" else as_json(context.snapshot.version)


def _is_cheap(asked: Filter) -> bool:
    """Whether a page is found by looking at no more documents than it shows."""
    return asked == Filter(
        predicate_prefix=asked.predicate_prefix, id_prefix=asked.id_prefix, carries=asked.carries
    )
