"""Rules, decisions and plans as resources: listed, completed and read whole."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, unquote

from hornbook.errors import NotFound
from hornbook.graph.snapshot import Snapshot
from hornbook.rules.catalog import Entry
from hornbook.serve.mcp.arguments import cursor_for, place_of
from hornbook.vocabulary.terms import Category
from hornbook.workspace import Workspace

PAGE = 100
MOST_COMPLETIONS = 100
_PLAN = "plan."


@dataclass(frozen=True, slots=True)
class ResourceTemplate:
    """A kind of resource: its scheme, what its variable is called, and what it gives."""

    scheme: str
    variable: str
    title: str
    description: str

    @property
    def address(self) -> str:
        """The URI template."""
        return f"{self.scheme}://{{{self.variable}}}"


TEMPLATES = (
    ResourceTemplate(
        "decision", "id", "Decision", "A decision of the team, whole, by its entity id."
    ),
    ResourceTemplate("plan", "slug", "Plan", "A plan, whole, by its slug."),
    ResourceTemplate("rule", "id", "Rule", "A rule (SOP) of the team, whole, by its entity id."),
)


@dataclass(frozen=True, slots=True)
class ListedResource:
    """A resource in a listing."""

    address: str
    entry: Entry


@dataclass(frozen=True, slots=True)
class ResourceListing:
    """A page of resources, and the cursor of the next one, if there is more."""

    resources: tuple[ListedResource, ...]
    next_cursor: str | None


def address_of(scheme: str, name: str) -> str:
    """The address of a resource: whatever its name holds is encoded."""
    return f"{scheme}://{quote(name, safe='')}"


def resources(work: Workspace, cursor: str | None) -> ResourceListing:
    """A page of every rule, decision and plan, in order of their addresses.

    Raises:
        UsageError: The cursor is none of ours.
    """
    after = place_of(cursor)
    snapshot = work.snapshot()
    listed = sorted(
        (
            ListedResource(address_of(template.scheme, name), entry)
            for template in TEMPLATES
            for name, entry in _named(snapshot, template.scheme)
        ),
        key=lambda each: each.address,
    )
    start = bisect_right(listed, after, key=lambda each: each.address) if after is not None else 0
    page = tuple(listed[start : start + PAGE])
    more = start + PAGE < len(listed)
    return ResourceListing(page, cursor_for(page[-1].address) if more else None)


def _named(snapshot: Snapshot, scheme: str) -> Iterator[tuple[str, Entry]]:
    """The names that a scheme has, each with its document."""
    if scheme == "rule":
        for rule in (*snapshot.rules.enforced, *snapshot.rules.not_enforced):
            yield rule.id, rule
        return
    for entry in snapshot.catalog.entries:
        if scheme == "decision" and entry.category is Category.DECISION:
            yield entry.id, entry
        elif scheme == "plan" and entry.id.startswith(_PLAN):
            yield entry.id.removeprefix(_PLAN), entry


def completions(work: Workspace, address: str, typed: str) -> list[str]:
    """The names that a template's variable can have, those that begin as typed.

    Raises:
        NotFound: There is no such template.
    """
    for template in TEMPLATES:
        if template.address == address:
            names = (name for name, _ in _named(work.snapshot(), template.scheme))
            return sorted(name for name in names if _begins(name, typed))
    raise NotFound(f"no template {address!r}: there are {', '.join(_addresses())}.")


def _begins(name: str, typed: str) -> bool:
    """Whether a name, or its last part, begins as typed."""
    return name.startswith(typed) or name.rpartition(".")[2].startswith(typed)


def read(work: Workspace, address: str) -> str:
    """The text of a resource, whole: the document as it was ingested.

    Raises:
        NotFound: There is none at this address.
    """
    scheme, mark, rest = address.partition("://")
    name = unquote(rest)
    if not mark or scheme not in {template.scheme for template in TEMPLATES}:
        raise NotFound(f"no resource {address!r}: there are {', '.join(_addresses())}.")
    snapshot = work.ingested()
    entity_id = f"{_PLAN}{name}" if scheme == "plan" else name
    if _kind(snapshot, entity_id) != scheme:
        raise NotFound(_elsewhere(snapshot, scheme, entity_id))
    document = snapshot.document(entity_id)
    return document.head + document.body


def _kind(snapshot: Snapshot, entity_id: str) -> str | None:
    """The scheme that a document is read by, if there is one."""
    entry = snapshot.by_id.get(entity_id)
    if entry is None:
        return None
    if entry.category is Category.DECISION:
        return "decision"
    if entry.id.startswith(_PLAN):
        return "plan"
    rules = (snapshot.rules.enforced, snapshot.rules.not_enforced)
    return "rule" if any(rule is entry for kept in rules for rule in kept) else None


def _elsewhere(snapshot: Snapshot, scheme: str, entity_id: str) -> str:
    """Why there is no such resource, and where it is instead."""
    found = f"no {scheme} has the id {entity_id!r}: "
    kind = _kind(snapshot, entity_id)
    if kind is not None:
        return f"{found}it is a {kind}, read {address_of(kind, entity_id)}."
    if entity_id in snapshot.by_id:
        return f"{found}it is another kind of document, get_entity shows it."
    last = entity_id.rpartition(".")[2]
    names = (name for name, _ in _named(snapshot, scheme))
    near = [address_of(scheme, name) for name in names if last and last in name]
    if near:
        return f"{found}did you mean {', '.join(sorted(near)[:3])}?"
    return f"{found}resources/list has those that there are."


def _addresses() -> list[str]:
    return [template.address for template in TEMPLATES]
