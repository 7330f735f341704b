"""One examination of a repository's rules: everything is read once, nothing is written."""

from datetime import date
from pathlib import Path

from hornbook.commits import git
from hornbook.doctor.baseline import PLACE, accepted, read_baseline
from hornbook.doctor.checks.likeness import contradictions, duplicates
from hornbook.doctor.checks.owners import PLACES, unowned
from hornbook.doctor.checks.read_problems import not_written, read_problems
from hornbook.doctor.checks.recorded import from_records
from hornbook.doctor.checks.references import References
from hornbook.doctor.checks.scopes import dead_scopes, no_rules, uncovered
from hornbook.doctor.checks.sizes import always_on_weight, over_reserve, over_tool_limit
from hornbook.doctor.checks.stale import stale
from hornbook.doctor.finding import Finding, Health, NotJudged, in_order
from hornbook.doctor.repository_files import RepositoryFiles
from hornbook.doctor.rule_set import rule_set
from hornbook.settings.places import Places
from hornbook.settings.reserve import reserve_for
from hornbook.settings.settings import Settings


def examine(places: Places, settings: Settings, *, baseline: Path | None, today: date) -> Health:
    """What is wrong with the rules of a work tree, and what nobody could judge.

    Without a baseline it is that of the workspace, where there is one.

    Raises:
        ConfigError: The baseline is wrong.
    """
    if baseline is None and (places.root / PLACE).is_file():
        baseline = places.root / PLACE
    entries = read_baseline(baseline) if baseline is not None else ()
    rules = rule_set(places, settings)
    files = RepositoryFiles(places.root)
    references = References(rules, files)
    reserve = reserve_for(settings).tokens
    told = [
        *from_records(rules, places),
        *stale(rules, references.mentions, files),
    ]
    findings: list[Finding] = [
        *read_problems(rules),
        *over_reserve(rules, reserve),
        *no_rules(rules),
        *dead_scopes(rules, files),
        *references.findings(),
        *duplicates(rules),
        *over_tool_limit(rules),
        *contradictions(rules, references.mentions),
        *always_on_weight(rules, reserve),
        *unowned(rules, places.root),
        *uncovered(rules, files),
        *(each for each in told if isinstance(each, Finding)),
    ]
    not_judged = [*references.not_judged(), *(e for e in told if isinstance(e, NotJudged))]
    not_judged += [*_without_facts(places.root), *not_written(rules)]
    return Health(
        rules=len(rules.rules),
        findings=accepted(in_order(findings), entries, today),
        not_judged=tuple(sorted(not_judged, key=lambda each: each.code)),
    )


def _without_facts(root: Path) -> list[NotJudged]:
    found = []
    if not any((root / place).is_file() for place in PLACES):
        found.append(NotJudged("unowned", "There is no CODEOWNERS file."))
    if not git.inside_repository(root):
        reason = "This is no git repository, so nobody knows what changed since."
        found.append(NotJudged("stale", reason))
    return found
