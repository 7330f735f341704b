"""Lists that are read a page at a time: what stands in each, in which order, and their cursors.

A cursor is the place of the last item that was given, by the key that the list is ordered by, not
its number: what is added or removed before it in the meantime moves nothing, and an item that is
gone since is no reason to begin anew.
"""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Generic, TypeVar

from hornbook.errors import NotFound, UsageError
from hornbook.graph.selection import Filter
from hornbook.graph.snapshot import Snapshot
from hornbook.rules.binding import not_enforced_because
from hornbook.rules.catalog import Entry
from hornbook.rules.document import Document, Problem, Unread, revision_id
from hornbook.vocabulary.predicates import DERIVED_FROM
from hornbook.vocabulary.terms import Activation, Category, Scope, Severity

PAGE = 100
LARGEST_PAGE = 1000
LONGEST_CURSOR = 20_000

Item = TypeVar("Item")
Key = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class ListPage(Generic[Item]):
    """Some items of a list; `next` is the cursor behind them, if more follow."""

    items: tuple[Item, ...]
    next: str | None
    total: int


def page(
    name: str,
    items: Sequence[Item],
    key: Callable[[Item], Key],
    first: int = PAGE,
    after: str | None = None,
    *,
    descending: bool = False,
) -> ListPage[Item]:
    """The `first` items behind the cursor `after`; `items` are in the order of `key`.

    Raises:
        UsageError: The cursor is none of this list.
    """
    start = 0
    if after is not None:
        place = _place(name, after, key(items[0]) if items else ())
        given = (key(each) >= place if descending else key(each) <= place for each in items)
        start = next((number for number, each in enumerate(given) if not each), len(items))
    found = tuple(items[start : start + first])
    more = start + len(found) < len(items)
    return ListPage(found, _cursor(name, key(found[-1])) if more else None, len(items))


def _cursor(name: str, key: Key) -> str:
    return base64.urlsafe_b64encode(json.dumps([name, *key]).encode()).decode("ascii")


def _place(name: str, cursor: str, like: Key) -> Key:
    """The key that a cursor stands for, which has as many parts as `like`, of the same kinds.

    Raises:
        UsageError: It is no cursor of this list.
    """
    try:
        data = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
        told = json.loads(data)
    except (binascii.Error, ValueError, RecursionError):
        told = None
    if isinstance(told, list) and told[:1] == [name]:
        place = tuple(told[1:])
        if not like or [*map(type, place)] == [*map(type, like)]:
            return place
    raise UsageError(
        f"after: {cursor[:40]!r} is no cursor of {name}: pass `next` of a page of it as it came."
    )


@dataclass(frozen=True, slots=True)
class RulePattern:
    """A pattern of a rule: as its file has it, in our dialect, and its line."""

    raw: str
    pattern: str
    line: int | None


@dataclass(frozen=True, slots=True)
class ListedRule:
    """A rule without its text; `reason` says why one that binds nothing does not."""

    id: str
    path: str
    title: str
    category: Category
    severity: Severity
    activation: Activation
    scope: Scope
    tool: str
    summary: str
    patterns: tuple[RulePattern, ...]
    revision: str
    tokens: int
    enforced: bool
    reason: str | None


def listed_rule(entry: Entry) -> ListedRule:
    """A rule as lists have it."""
    enforced = entry.activation.enforced
    return ListedRule(
        id=entry.id,
        path=entry.path,
        title=entry.title,
        category=entry.category,
        severity=entry.severity,
        activation=entry.activation,
        scope=entry.scope,
        tool=entry.tool,
        summary=entry.summary,
        patterns=tuple(RulePattern(each.raw, each.glob, each.line) for each in entry.patterns),
        revision=revision_id(entry.id, entry.sha256),
        tokens=entry.tokens,
        enforced=enforced,
        reason=None if enforced else not_enforced_because(entry),
    )


def rules(snapshot: Snapshot) -> list[Entry]:
    """Every rule, those that bind nothing too, in id order."""
    book = snapshot.rules
    return sorted((*book.enforced, *book.not_enforced), key=lambda each: each.id)


@dataclass(frozen=True, slots=True)
class RuleSection:
    """A section of a large rule, which reviewers answer by itself."""

    id: str
    title: str
    severity: Severity
    tokens: int
    text: str


@dataclass(frozen=True, slots=True)
class IncludedText:
    """A file that is part of a rule; one that could not be read has a reason and no text."""

    path: str
    included_by: str
    text: str | None
    unread: Unread | None


@dataclass(frozen=True, slots=True)
class WholeRule(ListedRule):
    """A rule with its text, as its file has it, and with all that is part of it.

    `sections` is empty where the rule is answered as a whole.
    """

    text: str
    includes: tuple[IncludedText, ...]
    sections: tuple[RuleSection, ...]
    requirements: tuple[str, ...]
    problems: tuple[Problem, ...]


def whole_rule(snapshot: Snapshot, rule_id: str) -> WholeRule:
    """One rule, whole.

    Raises:
        NotFound: There is none with this id; says what else has it.
    """
    entry = snapshot.by_id.get(rule_id)
    if entry is None or all(each is not entry for each in rules(snapshot)):
        kind = f"it is a document of the category {entry.category}" if entry else "nothing has it"
        raise NotFound(f"no rule has the id {rule_id!r}: {kind}; `rules` lists those there are.")
    document = snapshot.document(rule_id)
    line = listed_rule(entry)
    return WholeRule(
        **{field.name: getattr(line, field.name) for field in fields(ListedRule)},
        text=document.head + document.body,
        includes=tuple(_included(snapshot, document)),
        sections=tuple(
            RuleSection(each.id, each.title, each.severity, each.tokens, each.text)
            for each in snapshot.units(document)
        ),
        requirements=document.requirements,
        problems=entry.problems,
    )


def _included(snapshot: Snapshot, document: Document) -> list[IncludedText]:
    """The texts that are part of a rule beside its own, in the order in which they are read."""
    found = []
    for each in document.includes:
        text = None
        if each.unread is None:
            other = snapshot.document(each.id)
            text = other.head + other.body
        found.append(IncludedText(each.path, each.by, text, each.unread))
    return found


@dataclass(frozen=True, slots=True)
class ListedDecision:
    """A decision: a record of the team, or one that was taken for a plan, which `plan` names."""

    id: str
    path: str
    title: str
    status: str
    date: str | None
    summary: str
    plan: str | None
    supersedes: tuple[str, ...]
    superseded_by: str | None


def decisions(snapshot: Snapshot, plan: str | None = None) -> list[Entry]:
    """Every decision, those that are replaced too, in id order; of a plan if one is named."""
    derived = f"plan.{plan.removeprefix('plan.')}" if plan is not None else None
    wanted = Filter(category=Category.DECISION, derived_from=derived)
    ids, _ = snapshot.select(wanted, len(snapshot.ids) + 1, None)
    return [snapshot.by_id[each] for each in ids]


def listed_decision(snapshot: Snapshot, entry: Entry) -> ListedDecision:
    """A decision as lists have it."""
    document = snapshot.document(entry.id)
    facts = document.decision
    plans = (value for name, value in document.facts if name == DERIVED_FROM.name)
    replaced = snapshot.superseded
    return ListedDecision(
        id=entry.id,
        path=entry.path,
        title=entry.title,
        status="" if facts is None else facts.status,
        date=None if facts is None else facts.date,
        summary=entry.summary,
        plan=next((each for each in plans if each.startswith("plan.")), None),
        supersedes=tuple(sorted(old for old, new in replaced.items() if new == entry.id)),
        superseded_by=replaced.get(entry.id),
    )


def problem_key(problem: Problem) -> Key:
    """What problems are ordered by."""
    return (problem.path, problem.line or 0, problem.code, problem.message)
