"""Rules that do not bind but are about the same subject: told, never added."""

from collections.abc import Iterable, Mapping, Sequence

from hornbook.model import Entry
from hornbook.model.context import LeftOut

MOST_LISTED = 20

Subject = tuple[str, str]


def subjects(rule: Entry) -> set[Subject]:
    """The domains and keywords of a rule."""
    domains = {("domain", word.casefold()) for word in rule.domains}
    return domains | {("keyword", word.casefold()) for word in rule.keywords}


def by_subject(rules: Iterable[Entry]) -> dict[Subject, list[Entry]]:
    """Rules by each of their domains and keywords."""
    found: dict[Subject, list[Entry]] = {}
    for rule in rules:
        for subject in subjects(rule):
            found.setdefault(subject, []).append(rule)
    return found


def related(bound: Sequence[Entry], index: Mapping[Subject, Sequence[Entry]]) -> list[LeftOut]:
    """The rules that share a domain or keyword with those that bind, and the reason for each.

    Beyond the first twenty only their number is told.
    """
    taken = {rule.id for rule in bound}
    shared: dict[str, list[str]] = {}
    for kind, word in sorted({subject for rule in bound for subject in subjects(rule)}):
        for rule in index.get((kind, word), ()):
            if rule.id not in taken:
                shared.setdefault(rule.id, []).append(f"{kind} {word}")
    listed = [
        LeftOut(rule_id, f"related, not binding: it shares {', '.join(shared[rule_id])}")
        for rule_id in sorted(shared)[:MOST_LISTED]
    ]
    if len(shared) > MOST_LISTED:
        more = f"{len(shared) - MOST_LISTED} more rules are related and not binding"
        listed.append(LeftOut("…", more))
    return listed
