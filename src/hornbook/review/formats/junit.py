"""A judgement as a JUnit report: a test case for each rule, for the review and for its outcome.

A rule that is judged by its sections has a case for each of them.
"""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from hornbook.review.formats.plain_text import one_line, plain
from hornbook.review.formats.text import OUTCOMES, judged_units, place
from hornbook.review.judgement import Finding, Judgement, ReviewProblem, Ruling

SUITE = "hornbook.review"
COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def render(judgement: Judgement) -> str:
    """The report as text.

    It has a failure or an error exactly when the change is not approved: what is flagged but
    does not block stands in the output of a test that passed.
    """
    suites = ET.Element("testsuites", name="hornbook")
    suite = ET.SubElement(suites, "testsuite", name=SUITE)
    _properties(suite, judgement)
    _outcome(suite, judgement)
    _integrity(suite, judgement)
    for name in judged_units(judgement):
        _rule(suite, name, judgement)
    for finding in judgement.findings:
        if not finding.sop_id:
            _add_finding(_case(suite, f"{finding.status}: {_title(finding)}"), finding, judgement)
    for case in suite.findall("testcase"):
        case[:] = sorted(case, key=lambda element: element.tag == "system-out")
    for counted in (suites, suite):
        _count(counted, suite)
    ET.indent(suites)
    body = ET.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _properties(suite: ET.Element, judgement: Judgement) -> None:
    properties = ET.SubElement(suite, "properties")
    for name in ("outcome", "rejection_type", "route", "base", "head"):
        value = getattr(judgement, name)
        if value is not None:
            ET.SubElement(properties, "property", name=name, value=one_line(str(value)))


def _outcome(suite: ET.Element, judgement: Judgement) -> None:
    case = _case(suite, "outcome")
    said = "\n".join(text for text in (*judgement.explanation, judgement.feedback) if text)
    if judgement.outcome is Ruling.APPROVED:
        _output(case, said)
    else:
        _element(case, "failure", judgement.outcome.value, OUTCOMES[judgement.outcome])
        case[0].text = plain(said)


def _integrity(suite: ET.Element, judgement: Judgement) -> None:
    case = _case(suite, "integrity")
    for problem in judgement.problems:
        _element(case, "error", problem.code, f"{_about(problem)}{problem.message}")
    warnings = (f"warning: {_about(each)}{each.message}" for each in judgement.warnings)
    _output(case, "\n".join((*warnings, *judgement.disagreements, *judgement.notes)))


def _about(problem: ReviewProblem) -> str:
    return f"{problem.sop_id}: " if problem.sop_id else ""


def _add_findings(case: ET.Element, findings: Sequence[Finding], judgement: Judgement) -> None:
    disputed = len({each.status for each in findings}) > 1
    for finding in findings:
        if disputed and finding.status == "not_applicable":
            _output(case, f"not applicable, says one reviewer: {finding.message}")
        else:
            _add_finding(case, finding, judgement)


def _rule(suite: ET.Element, name: str, judgement: Judgement) -> None:
    findings = [each for each in judgement.findings if each.sop_id and each.about == name]
    case = _case(suite, name)
    path = next((each.path for each in findings if each.path), None)
    if path:
        case.set("file", one_line(path))
    _add_findings(case, findings, judgement)
    if not findings and judgement.outcome is not Ruling.APPROVED:
        _element(case, "error", "not_judged", "The review has no accepted answer for this rule.")


def _add_finding(case: ET.Element, finding: Finding, judgement: Judgement) -> None:
    where = place(finding)
    said = f"{where}: {finding.message}" if where else finding.message
    if finding.status == "passed":
        _output(case, said)
    elif finding.status == "not_applicable":
        ET.SubElement(case, "skipped", message=one_line(said))
    elif judgement.outcome is Ruling.APPROVED:
        _output(case, f"flagged, does not block ({finding.severity}): {said}")
    else:
        _element(case, "failure", f"{finding.status} {finding.severity}".strip(), said)


def _case(suite: ET.Element, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=SUITE, name=one_line(name))


def _element(case: ET.Element, tag: str, kind: str, message: str) -> None:
    attributes = {"type": one_line(kind), "message": one_line(message)}
    ET.SubElement(case, tag, attributes).text = plain(message)


def _output(case: ET.Element, text: str) -> None:
    if not text:
        return
    output = case.find("system-out")
    if output is None:
        output = ET.SubElement(case, "system-out")
    output.text = "\n".join(filter(None, (output.text, plain(text))))


def _title(finding: Finding) -> str:
    return finding.path or finding.message.partition("\n")[0]


def _count(element: ET.Element, suite: ET.Element) -> None:
    cases = suite.findall("testcase")
    element.set("tests", str(len(cases)))
    for name, tag in COUNTED.items():
        element.set(name, str(sum(case.find(tag) is not None for case in cases)))
