"""An examination of the rules as a SARIF 2.1.0 log, for code scanning."""

import json

from hornbook.doctor.finding import CODES, Finding, Health
from hornbook.review.formats.sarif_log import Part, descriptor, location, log, result


def render(health: Health, *, version: str) -> str:
    """The SARIF log as text; the same findings give the same bytes."""
    return json.dumps(sarif_log(health, version=version), indent=2, ensure_ascii=False) + "\n"


def sarif_log(health: Health, *, version: str) -> Part:
    """One result for each finding; one that is accepted is suppressed."""
    rules = [descriptor(_name(code), facts.meaning, facts.level) for code, facts in CODES.items()]
    results = list(map(_result, health.findings))
    return log(
        "doctor",
        rules,
        results,
        version=version,
        invocation={"executionSuccessful": True, "exitCode": int(health.counts["error"] > 0)},
        more={"properties": {"grade": health.grade}},
    )


def _name(code: str) -> str:
    return f"hornbook/{code}"


def _result(finding: Finding) -> Part:
    level = {"info": "note"}.get(finding.level, finding.level)
    text = f"{finding.message}\n{finding.remedy}"
    made = result(_name(finding.code), "fail", level, text, location(finding.path, finding.line))
    if finding.accepted_until is not None:
        until = f"Accepted by the baseline until {finding.accepted_until}."
        made["suppressions"] = [{"kind": "external", "justification": until}]
    return made
