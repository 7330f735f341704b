"""A judgement as a SARIF 2.1.0 log: what was checked, what passed and what did not."""

import json
from collections.abc import Iterator, Sequence

from hornbook.review.formats.plain_text import clipped, inside, one_line, plain
from hornbook.review.formats.sarif_log import (
    DESCRIPTION_LIMIT,
    Part,
    descriptor,
    identifier,
    level_of,
    location,
    log,
    message_text,
    result,
    uri,
)
from hornbook.review.formats.text import OUTCOMES, judged_rules
from hornbook.review.judgement import Finding, JudgedRule, Judgement, ReviewProblem, Ruling

CONFIGURATION = ".hornbook/config.yaml"
KINDS = {"passed": "pass", "not_applicable": "notApplicable"}
OUTCOME_KINDS = {Ruling.APPROVED: "pass", Ruling.ESCALATE: "review"}
# Findings that are no rule's, by their status.
OWN_RULES = {
    "failed": ("hornbook/gate", "A gate that must pass did not."),
    "edited": ("hornbook/rules-edited", "The change edits the rules or gates that judge it."),
}
OUTCOME_RULE = ("hornbook/review", "The outcome of the review, as Hornbook derives it.")
OTHER_RULE = ("hornbook/finding", "Something that the judgement rests on and that is no rule's.")


def render(judgement: Judgement, *, version: str, repository: str | None = None) -> str:
    """The SARIF log as text; the same judgement gives the same bytes.

    `repository` is the address that people browse, for links to the rules; without it there
    are none.
    """
    log = sarif_log(judgement, version=version, repository=repository)
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def sarif_log(
    judgement: Judgement, *, version: str, repository: str | None = None
) -> dict[str, object]:
    """The SARIF log: the outcome as its first result, then one result for each finding.

    Every result has a place, because GitHub refuses a file that has one without: the cited one,
    else the rule's own file, else the configuration.
    """
    rules = _descriptors(judgement, repository)
    results = [_outcome(judgement), *(_result(each, judgement) for each in judgement.findings)]
    more: Part = {"properties": _properties(judgement)}
    if repository and judgement.head:
        more["versionControlProvenance"] = [
            {
                "repositoryUri": repository,
                "revisionId": judgement.head,
                "mappedTo": {"uriBaseId": "%SRCROOT%"},
            }
        ]
    return log(
        "review", rules, results, version=version, invocation=_invocation(judgement), more=more
    )


def _properties(judgement: Judgement) -> dict[str, object]:
    facts = {
        "outcome": judgement.outcome.value,
        "rejection_type": judgement.rejection_type and judgement.rejection_type.value,
        "route": judgement.route and judgement.route.value,
        "base": judgement.base,
        "head": judgement.head,
    }
    return {key: plain(value) for key, value in facts.items() if value is not None}


# Rules


def _descriptors(judgement: Judgement, repository: str | None) -> list[dict[str, object]]:
    own = {_own_rule(each) for each in judgement.findings if not each.sop_id} | {OUTCOME_RULE}
    base = f"{repository}/blob/{judgement.base}" if repository and judgement.base else None
    named = (
        *(_descriptor(rule, base) for rule in judged_rules(judgement).values()),
        *(descriptor(*each, "error") for each in sorted(own)),
    )
    return list({str(rule["id"]): rule for rule in named}.values())


def _descriptor(rule: JudgedRule, base: str | None) -> dict[str, object]:
    rule_id = one_line(rule.id)
    title = one_line(rule.title) or rule_id
    told = f"{title} ({one_line(rule.path)})" if rule.path else title
    facts = {"severity": rule.severity, "revision": rule.revision, "path": rule.path}
    descriptor: dict[str, object] = {
        "id": rule_id,
        "name": identifier(rule_id),
        "shortDescription": {"text": clipped(title, DESCRIPTION_LIMIT)},
        "fullDescription": {"text": clipped(told, DESCRIPTION_LIMIT)},
        "help": {"text": clipped(told, DESCRIPTION_LIMIT)},
        "defaultConfiguration": {"level": level_of(rule.severity)},
        "properties": {key: plain(value) for key, value in facts.items() if value},
    }
    if base and inside(rule.path):
        descriptor["helpUri"] = f"{base}/{uri(rule.path)}"
    return descriptor


def _own_rule(finding: Finding) -> tuple[str, str]:
    return OWN_RULES.get(finding.status, OTHER_RULE)


# Results


def _outcome(judgement: Judgement) -> dict[str, object]:
    said = [OUTCOMES[judgement.outcome], *judgement.explanation, judgement.feedback]
    cited = [(each.path, each.line_after) for each in judgement.findings]
    places = [*cited, *((rule.path, None) for rule in judgement.rules), (CONFIGURATION, None)]
    path, line = next(each for each in places if inside(each[0]))
    return result(
        OUTCOME_RULE[0],
        OUTCOME_KINDS.get(judgement.outcome, "fail"),
        "error",
        "\n".join(filter(None, said)),
        location(str(path), line),
    )


def _result(finding: Finding, judgement: Judgement) -> dict[str, object]:
    path, line = finding.path, finding.line_after
    if not inside(path):
        own = (rule.path for rule in judgement.rules if rule.id == finding.sop_id)
        path, line = next(filter(inside, own), CONFIGURATION), None
    found = result(
        one_line(finding.sop_id) if finding.sop_id else _own_rule(finding)[0],
        KINDS.get(finding.status, "fail"),
        level_of(finding.severity),
        finding.message or finding.status,
        location(str(path), line),
    )
    if finding.sop_id:
        unit = one_line(finding.unit) if finding.unit else None
        found["properties"] = {"sop_id": one_line(finding.sop_id), "unit": unit}
    return found


# Invocation


def _invocation(judgement: Judgement) -> dict[str, object]:
    return {
        "executionSuccessful": judgement.outcome is not Ruling.INVALID,
        "exitCode": 0 if judgement.outcome is Ruling.APPROVED else 1,
        "toolExecutionNotifications": [
            {
                "descriptor": {"id": name},
                "level": level,
                "message": {"text": message_text(text)},
                **({"associatedRule": {"id": one_line(sop_id)}} if sop_id else {}),
            }
            for name, level, text, sop_id in _notifications(judgement)
        ],
    }


def _notifications(judgement: Judgement) -> Iterator[tuple[str, str, str, str | None]]:
    """What the check says of the review itself: name, level, text and rule."""
    level = "error" if judgement.outcome is Ruling.INVALID else "warning"
    for problem in judgement.problems:
        yield _problem_name(problem), level, problem.message, problem.sop_id
    for warning in judgement.warnings:
        yield _problem_name(warning), "warning", warning.message, warning.sop_id
    yield from _notes("hornbook/disagreement", judgement.disagreements)
    yield from _notes("hornbook/note", judgement.notes)


def _problem_name(problem: ReviewProblem) -> str:
    return f"hornbook/{one_line(problem.code)}"


def _notes(name: str, texts: Sequence[str]) -> Iterator[tuple[str, str, str, None]]:
    for text in texts:
        yield name, "note", text, None
