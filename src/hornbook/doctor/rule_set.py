"""The rules of a work tree as they stand now, read in memory: nothing is written anywhere."""

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

from hornbook.errors import StoreError
from hornbook.graph.documents import entry_of
from hornbook.graph.ingest.builder import Builder, too_large
from hornbook.graph.ingest.survey import EVERY_RULE, HEAD_OF_LARGE, Survey, include, reading_of
from hornbook.graph.ingest.work_list import DocumentFacts, LastIngest, work_to_do
from hornbook.graph.repository import last_catalog
from hornbook.rules.binding import RuleBook, is_rule
from hornbook.rules.catalog import Entry
from hornbook.rules.document import Document, Problem
from hornbook.rules.document_reader import broken_link
from hornbook.rules.readers.protocol import Reading
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings
from hornbook.vocabulary.terms import Level


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with its text: `body_line` is the line of its file on which the body begins.

    `path` is the file that holds the text; of a rule that is a link that is where it leads.
    """

    document: Document
    entry: Entry
    body_line: int
    path: str

    @property
    def id(self) -> str:
        """The rule's id."""
        return self.document.id

    @property
    def folder(self) -> str:
        """The folder of that file; "" is the root."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True)
class RuleSet:
    """All rules of a repository, and what is wrong with files that could not become one."""

    rules: tuple[Rule, ...]
    problems: tuple[Problem, ...]
    settings: Settings

    @cached_property
    def texts(self) -> tuple[Rule, ...]:
        """One rule for each text: what links lead to is judged once."""
        found: dict[str, Rule] = {}
        for rule in sorted(self.rules, key=lambda each: each.document.path != each.path):
            found.setdefault(rule.path, rule)
        return tuple(sorted(found.values(), key=lambda each: each.path))

    @cached_property
    def book(self) -> RuleBook:
        """Which of them bind a file."""
        nearest = self.settings.agents_merge == "nearest"
        return RuleBook([rule.entry for rule in self.rules], nearest=nearest)


def rule_set(places: Places, settings: Settings) -> RuleSet:
    """Every rule that an ingest would bring into the graph now."""
    survey = Survey(places, settings)
    look = survey.everything(_followed(places, settings))
    inclusions = include(places.root, settings, look, {}, {})
    problems = list(look.problems)
    readings: dict[str, Reading] = {}
    facts: dict[str, DocumentFacts] = {}
    for path, found in look.files.items():
        large = found.size > settings.largest_file
        try:
            if found.linked is not None and found.linked.broken:
                data = broken_link(found.linked.broken)
            else:
                with (places.root / found.real).open("rb") as file:
                    data = file.read(HEAD_OF_LARGE) if large else file.read()
        except OSError as problem:
            message = f"cannot be read ({problem.strerror}): check its permissions."
            problems.append(Problem(path, None, "unreadable_file", Level.ERROR, message))
            continue
        reading = reading_of(found, data, survey.setup)
        readings[path] = too_large(reading, settings.largest_file) if large else reading
        digest = sha256(data).hexdigest()
        facts[path] = DocumentFacts(path, digest, reading.desired_id, reading.links)
    builder = Builder(settings)
    rules = []
    for work in work_to_do(LastIngest(None), facts, (), dict, inclusions).work:
        reading = readings[work.path]
        if not is_rule(reading.category, reading.tool) or _is_of_no_tool(reading):
            continue
        document = builder.build(reading, work)
        entry = entry_of(document, carried=(), triples=0, wanted_id=work.wanted_id, formerly=())
        rules.append(Rule(document, entry, reading.body_line, look.files[work.path].real))
    return RuleSet(tuple(rules), tuple(problems), settings)


def _is_of_no_tool(reading: Reading) -> bool:
    """Whether a file has only the name of a rule, or the place of one and holds none."""
    return any(each.code in {"no_rules", "tool_not_shown"} for each in reading.problems)


def _followed(places: Places, settings: Settings) -> list[str]:
    """What was ingested by name before, and every rule format."""
    try:
        catalog = last_catalog(places, settings)
    except StoreError:
        catalog = None
    if catalog is None:
        return [EVERY_RULE]
    roots = list(catalog.roots)
    return roots if EVERY_RULE in roots else [*roots, EVERY_RULE]
