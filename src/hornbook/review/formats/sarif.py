"""A judgement as a SARIF 2.1.0 log: what was checked, what passed and what did not."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from urllib.parse import quote

from hornbook.review.formats.plain_text import clipped, inside, one_line, plain
from hornbook.review.formats.text import OUTCOMES, judged_rules
from hornbook.review.judgement import Finding, JudgedRule, Judgement, ReviewProblem, Ruling

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
CONFIGURATION = ".hornbook/config.yaml"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}
KINDS = {"passed": "pass", "not_applicable": "notApplicable"}
OUTCOME_KINDS = {Ruling.APPROVED: "pass", Ruling.ESCALATE: "review"}
# Findings that are no rule's, by their status.
OWN_RULES = {
    "failed": ("hornbook/gate", "A gate that must pass did not."),
    "edited": ("hornbook/rules-edited", "The change edits the rules or gates that judge it."),
}
OUTCOME_RULE = ("hornbook/review", "The outcome of the review, as Hornbook derives it.")
OTHER_RULE = ("hornbook/finding", "Something that the judgement rests on and that is no rule's.")
# What GitHub code scanning keeps of a text.
NAME_LIMIT = 255
DESCRIPTION_LIMIT = 1024
MESSAGE_LIMIT = 8000
_LINK = re.compile(r"\[(?=[^\[\]\n]*\]\()")


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
    places = {rule["id"]: index for index, rule in enumerate(rules)}
    seen: Counter[tuple[str, str, str]] = Counter()
    for result in results:
        result["ruleIndex"] = places[result["ruleId"]]
        result["partialFingerprints"] = {"hornbookFinding/v1": _fingerprint(result, seen)}
    run: dict[str, object] = {
        "tool": {
            "driver": {
                "name": "hornbook",
                "version": version,
                "rules": rules,
            }
        },
        "automationDetails": {"id": "hornbook/review/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(judgement)],
        "originalUriBaseIds": {
            "%SRCROOT%": {"description": {"text": "The root of the reviewed repository."}}
        },
        "results": results,
        "properties": _properties(judgement),
    }
    if repository and judgement.head:
        run["versionControlProvenance"] = [
            {
                "repositoryUri": repository,
                "revisionId": judgement.head,
                "mappedTo": {"uriBaseId": "%SRCROOT%"},
            }
        ]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


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
        *(_own_descriptor(*each) for each in sorted(own)),
    )
    return list({str(rule["id"]): rule for rule in named}.values())


def _descriptor(rule: JudgedRule, base: str | None) -> dict[str, object]:
    rule_id = one_line(rule.id)
    title = one_line(rule.title) or rule_id
    told = f"{title} ({one_line(rule.path)})" if rule.path else title
    facts = {"severity": rule.severity, "revision": rule.revision, "path": rule.path}
    descriptor: dict[str, object] = {
        "id": rule_id,
        "name": _identifier(rule_id),
        "shortDescription": {"text": clipped(title, DESCRIPTION_LIMIT)},
        "fullDescription": {"text": clipped(told, DESCRIPTION_LIMIT)},
        "help": {"text": clipped(told, DESCRIPTION_LIMIT)},
        "defaultConfiguration": {"level": _level(rule.severity)},
        "properties": {key: plain(value) for key, value in facts.items() if value},
    }
    if base and inside(rule.path):
        descriptor["helpUri"] = f"{base}/{_uri(rule.path)}"
    return descriptor


def _own_descriptor(rule_id: str, meaning: str) -> dict[str, object]:
    return {
        "id": rule_id,
        "name": _identifier(rule_id),
        "shortDescription": {"text": meaning},
        "fullDescription": {"text": meaning},
        "help": {"text": meaning},
        "defaultConfiguration": {"level": "error"},
    }


def _identifier(rule_id: str) -> str:
    last = re.split(r"[./]", rule_id)[-1]
    words = re.findall(r"[^\W_]+", last) or re.findall(r"[^\W_]+", rule_id)
    return "".join(word[:1].upper() + word[1:] for word in words)[:NAME_LIMIT] or "Rule"


def _level(severity: str) -> str:
    return LEVELS.get(severity, "error")


def _own_rule(finding: Finding) -> tuple[str, str]:
    return OWN_RULES.get(finding.status, OTHER_RULE)


# Results


def _outcome(judgement: Judgement) -> dict[str, object]:
    said = [OUTCOMES[judgement.outcome], *judgement.explanation, judgement.feedback]
    cited = [(each.path, each.line) for each in judgement.findings]
    places = [*cited, *((rule.path, None) for rule in judgement.rules), (CONFIGURATION, None)]
    path, line = next(each for each in places if inside(each[0]))
    return _as_result(
        OUTCOME_RULE[0],
        OUTCOME_KINDS.get(judgement.outcome, "fail"),
        "error",
        "\n".join(filter(None, said)),
        _location(str(path), line),
    )


def _result(finding: Finding, judgement: Judgement) -> dict[str, object]:
    path, line = finding.path, finding.line
    if not inside(path):
        own = (rule.path for rule in judgement.rules if rule.id == finding.sop_id)
        path, line = next(filter(inside, own), CONFIGURATION), None
    return _as_result(
        one_line(finding.sop_id) if finding.sop_id else _own_rule(finding)[0],
        KINDS.get(finding.status, "fail"),
        _level(finding.severity),
        finding.message or finding.status,
        _location(str(path), line),
    )


def _as_result(
    rule_id: str, kind: str, level: str, message: str, location: dict[str, object]
) -> dict[str, object]:
    return {
        "ruleId": rule_id,
        "kind": kind,
        "level": level if kind == "fail" else "none",
        "message": {"text": _message(message)},
        "locations": [location],
    }


def _location(path: str, line: int | None) -> dict[str, object]:
    """A place; a whole file is shown at its first line."""
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(path), "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": max(line or 1, 1)},
        }
    }


def _uri(path: str) -> str:
    """The path percent-encoded byte for byte, those that are not UTF-8 included."""
    return quote(path.encode("utf-8", "surrogateescape" if _escaped(path) else "surrogatepass"))


def _escaped(path: str) -> bool:
    return not re.search("[\ud800-\udc7f\udd00-\udfff]", path)


def _message(text: str) -> str:
    """Plain text; a link in it is no link, because it is a model's."""
    return _LINK.sub(r"\\[", clipped(plain(text).strip(), MESSAGE_LIMIT)) or "(no message)"


def _fingerprint(result: dict[str, object], seen: Counter[tuple[str, str, str]]) -> str:
    """Stable while lines move and models reword: the rule, the file, the n-th one there."""
    place = json.dumps(result["locations"]).partition('"region"')[0]
    key = (str(result["ruleId"]), str(result["kind"]), place)
    seen[key] += 1
    return sha256(json.dumps([*key, seen[key]]).encode()).hexdigest()[:32]


# Invocation


def _invocation(judgement: Judgement) -> dict[str, object]:
    return {
        "executionSuccessful": judgement.outcome is not Ruling.INVALID,
        "exitCode": 0 if judgement.outcome is Ruling.APPROVED else 1,
        "toolExecutionNotifications": [
            {
                "descriptor": {"id": name},
                "level": level,
                "message": {"text": _message(text)},
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
