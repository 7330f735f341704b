"""One version of the graph with everything derived from it: what all answers are made from."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

from hornbook.errors import NotFound, UsageError
from hornbook.graph import documents
from hornbook.graph.extracts import Extracts, Pairs, in_order
from hornbook.graph.ingest.report import BoundRule, FileAnswer, NotEnforced, ReserveReport
from hornbook.graph.selection import Filter, Selection
from hornbook.graph.statements import entity, iri
from hornbook.graph.store import GraphStore
from hornbook.rules.binding import NOT_ENFORCED_BECAUSE, Binding, RuleBook, by_subject
from hornbook.rules.catalog import Catalog, Entry
from hornbook.rules.code.file import CodeFile, code_id
from hornbook.rules.document import Document, revision_id
from hornbook.settings.values import Settings
from hornbook.vocabulary import predicates as p
from hornbook.vocabulary.names import META_GRAPH, within
from hornbook.vocabulary.terms import Category, Scope


@dataclass(frozen=True, slots=True)
class EntityTriples:
    """An entity with what the graph says of it, sorted."""

    id: str
    triples: Pairs


@dataclass(frozen=True, slots=True)
class Registry:
    """What the store says of itself; prefixes are expanded against it."""

    schema: int
    version: str
    predicates: tuple[str, ...]
    collections: tuple[str, ...]


class Snapshot:
    """Answers questions about one version of the graph; it never changes."""

    def __init__(
        self,
        store: GraphStore,
        catalog: Catalog,
        settings: Settings,
        extracts: Extracts | None = None,
    ) -> None:
        self.store = store
        self.catalog = catalog
        self.settings = settings
        self._extracts = extracts

    @property
    def version(self) -> str:
        """The version of the graph."""
        return self.catalog.version

    @cached_property
    def by_id(self) -> dict[str, Entry]:
        """The current documents by id."""
        return {entry.id: entry for entry in self.catalog.entries}

    @cached_property
    def rules(self) -> RuleBook:
        """The rules, compiled."""
        nearest = self.settings.agents_merge == "nearest"
        return RuleBook(self.catalog.entries, nearest=nearest)

    @cached_property
    def rules_by_subject(self) -> dict[tuple[str, str], list[Entry]]:
        """Every rule by its domains and keywords."""
        return by_subject((*self.rules.enforced, *self.rules.not_enforced))

    @cached_property
    def superseded(self) -> dict[str, str]:
        """The decisions that are replaced, each with the one that replaces it."""
        found: dict[str, str] = {}
        for entry in self.catalog.entries:
            for link in entry.links if entry.category is Category.DECISION else ():
                if link.target is not None and link.relation == "supersedes":
                    found[link.target] = entry.id
                elif link.target is not None and link.relation == "superseded_by":
                    found[entry.id] = link.target
        return found

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of all current documents, sorted."""
        return tuple(entry.id for entry in self.catalog.entries)

    @cached_property
    def _not_enforced(self) -> tuple[NotEnforced, ...]:
        listed = [
            NotEnforced(rule.id, rule.activation, NOT_ENFORCED_BECAUSE[rule.activation])
            for rule in self.rules.not_enforced
        ]
        listed += [
            NotEnforced(rule.id, rule.activation, "scope is plan: it judges plans, not code")
            for rule in self.rules.for_plans
        ]
        return tuple(sorted(listed, key=lambda each: each.id))

    def why(self, paths: Iterable[str]) -> list[FileAnswer]:
        """The rules that bind each file, and why; the files need not exist."""
        reserve = self.settings.reserve_tokens
        answers = []
        for path in paths:
            rules = tuple(map(bound_rule, self.rules.bind(path)))
            tokens = sum(rule.tokens for rule in rules)
            answers.append(
                FileAnswer(path, rules, tokens, reserve, tokens <= reserve, self._not_enforced)
            )
        return answers

    def reserve_report(self, paths: Iterable[str]) -> ReserveReport:
        """How the rules of some files, and each rule alone, sit with the reserve."""
        reserve = self.settings.reserve_tokens
        enforced = [rule for rule in self.rules.enforced if rule.scope is not Scope.PLAN]
        largest = sorted(enforced, key=lambda rule: (-rule.tokens, rule.id))
        everywhere = [rule for rule in enforced if self.rules.everywhere(rule)]
        sizes = {
            path: sum(binding.rule.tokens for binding in self.rules.bind(path)) for path in paths
        }
        over = sorted(
            ((path, size) for path, size in sizes.items() if size > reserve),
            key=lambda pair: (-pair[1], pair[0]),
        )
        return ReserveReport(
            reserve=reserve,
            rules=len(enforced),
            always=len(everywhere),
            always_tokens=sum(rule.tokens for rule in everywhere),
            files=len(sizes),
            files_over=len(over),
            examples=tuple(over[:5]),
            too_large=tuple(rule for rule in largest if rule.tokens > reserve),
            largest=tuple(largest[:5]),
        )

    def document(self, document_id: str) -> Document:
        """One current document whole.

        Raises:
            NotFound: There is none with this id.
        """
        found = documents.document(self.store, document_id)
        if found is None:
            raise self._missing(document_id)
        return found

    def code(self, path: str, data: bytes) -> CodeFile | None:
        """What the graph knows of a source file, if it knows this very content."""
        entry = self.by_id.get(code_id(path))
        if entry is None or entry.problems or entry.sha256 != sha256(data).hexdigest():
            return None
        return documents.code_file(self.document(entry.id))

    def plan_family(self, plan_id: str) -> dict[str, dict[str, list[str]]]:
        """A plan and its tasks, decisions, risks, runs and reviews, as the graph has them.

        Of anything that is no plan it is empty.
        """
        if not plan_id.startswith("plan."):
            return {}
        found: dict[str, dict[str, list[str]]] = {}
        for subject, name, value in sorted(self.store.rows("plan_family", plan=entity(plan_id))):
            found.setdefault(subject, {}).setdefault(name, []).append(value)
        return found

    def related_files(self, path: str) -> list[str]:
        """The source files that a file imports or that import it, as far as the graph has them."""
        start = code_id(path)
        found = {
            end
            for inbound in (True, False)
            for source, name, target in self.edges([start], inbound=inbound)
            for end in (source, target)
            if name == p.CODE_IMPORTS.name
        }
        return sorted(self.by_id[each].path for each in found - {start} if each in self.by_id)

    def thing(self, entity_id: str) -> EntityTriples:
        """Whatever has this id: a document, chunk, revision, or what is left of a removed one.

        Raises:
            NotFound: Nothing has it.
        """
        extracted = self._extracted(entity_id)
        if extracted is not None:
            return EntityTriples(entity_id, extracted)
        rows = self.store.rows("entity", subject=entity(entity_id))
        if not rows:
            raise self._missing(entity_id)
        return EntityTriples(entity_id, in_order((name, value) for name, value in rows))

    def describe(self, ids: Sequence[str]) -> list[EntityTriples]:
        """Several entities at once, in the order asked for."""
        found = {each: self._extracted(each) for each in ids}
        asked: dict[str, list[tuple[str, str]]] = {
            each: [] for each, extracted in found.items() if extracted is None
        }
        for subject, predicate, value in (
            self.store.rows("describe", subjects=" ".join(map(entity, asked))) if asked else ()
        ):
            asked[subject].append((predicate, value))
        found.update({each: in_order(pairs) for each, pairs in asked.items()})
        return [EntityTriples(each, found[each] or ()) for each in ids]

    def _extracted(self, entity_id: str) -> Pairs | None:
        """What the graph says of a current document, if it was extracted."""
        if self._extracts is None:
            return None
        place = bisect_left(self.ids, entity_id)
        if place == len(self.ids) or self.ids[place] != entity_id:
            return None
        return self._extracts.of(place)

    def select(self, asked: Filter, first: int, after: str | None) -> tuple[list[str], bool]:
        """A page of ids in id order, and whether more follow."""
        selection = Selection(self.store, self.catalog, self.ids, lambda: self.rules)
        return selection.page(asked, first, after)

    @cached_property
    def registry(self) -> Registry:
        """What the store says of itself."""
        said: dict[str, list[str]] = {}
        for name, value in self.store.rows("meta", graph=iri(META_GRAPH)):
            said.setdefault(name, []).append(value)
        return Registry(
            schema=int(next(iter(said.get(p.STORE_SCHEMA.name, ())), "0")),
            version=next(iter(said.get(p.STORE_VERSION.name, ())), ""),
            predicates=tuple(sorted(said.get(p.STORE_PREDICATE.name, ()))),
            collections=tuple(sorted(said.get(p.STORE_COLLECTION.name, ()))),
        )

    def predicates(self, prefix: str | None = None) -> list[str]:
        """The predicates that something in the graph carries, below a prefix, sorted."""
        return [name for name in self._carried if not prefix or within(name, prefix)]

    @cached_property
    def _carried(self) -> list[str]:
        past = (row[0] for row in self.store.rows("history_predicates"))
        return sorted({*self.registry.predicates, *past})

    def edges(self, ids: Sequence[str], *, inbound: bool) -> list[tuple[str, str, str]]:
        """The edges that end in (or leave) some entities: source, predicate, target."""
        if not ids:
            return []
        terms = " ".join(map(entity, ids))
        if inbound:
            rows = self.store.rows("inbound", objects=terms)
        else:
            rows = self.store.rows("outbound", subjects=terms)
        return sorted(
            (source, name, target) for source, name, target in rows if name != p.RDF_TYPE.name
        )

    def _missing(self, entity_id: str) -> NotFound:
        near = [each for each in self.ids if entity_id.rpartition(".")[2] in each][:3]
        hint = (
            f"did you mean {', '.join(near)}?"
            if near
            else "`hornbook query --text '{ entities { id } }'` lists what is there."
        )
        return NotFound(f"nothing has the id {entity_id!r}: {hint}")


def bound_rule(binding: Binding) -> BoundRule:
    """A binding as an answer."""
    rule = binding.rule
    return BoundRule(
        id=rule.id,
        path=rule.path,
        title=rule.title,
        category=rule.category,
        severity=rule.severity,
        activation=rule.activation,
        pattern=binding.pattern,
        pattern_line=binding.line,
        revision=revision_id(rule.id, rule.sha256),
        tokens=rule.tokens,
    )


def clean_path(path: str) -> str:
    """A path as the globs want it: relative, with forward slashes, without `.` parts.

    Raises:
        UsageError: It leads out of the root.
    """
    parts: list[str] = []
    for part in path.replace("\\", "/").split("/"):
        if part == "..":
            if not parts:
                raise UsageError(f"{path!r} leads out of the root: name a path inside it.")
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)
