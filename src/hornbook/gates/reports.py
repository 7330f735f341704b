"""A report of gates as JUnit XML, the form that CI systems show."""

import json
import re
from functools import cache
from typing import Any
from xml.etree import ElementTree as ET

from hornbook.gates.gate import GateReport, GateResult, GateStatus
from hornbook.gates.test_output import plain
from hornbook.resources import PACKAGE

# Beyond what `plain` takes out, XML 1.0 has no place for these.
_NOT_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")
_FAILURES = frozenset({GateStatus.FAILED, GateStatus.REFUSED})


def junit(report: GateReport) -> str:
    """The gates as test cases: failed and refused as failures, skipped as skipped.

    A warning of an optional gate is no failure; it stands in the case's output.
    """
    suites = ET.Element("testsuites", name="hornbook")
    suite = ET.SubElement(
        suites,
        "testsuite",
        name="hornbook gates",
        tests=str(len(report.gates)),
        failures=str(sum(gate.status in _FAILURES for gate in report.gates)),
        errors="0",
        skipped=str(sum(gate.status is GateStatus.SKIPPED for gate in report.gates)),
        time=f"{sum(gate.seconds for gate in report.gates):.3f}",
    )
    _add_commits(suite, report)
    for gate in report.gates:
        _case(suite, gate)
    ET.indent(suites)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"
    )


def _add_commits(suite: ET.Element, report: GateReport) -> None:
    facts = (("tree", report.tree), ("base", report.base), ("head", report.head))
    known = [(name, value) for name, value in facts if value is not None]
    if known:
        properties = ET.SubElement(suite, "properties")
        for name, value in known:
            ET.SubElement(properties, "property", name=name, value=value)


def _case(suite: ET.Element, gate: GateResult) -> None:
    name = _clean(gate.name)
    time = f"{gate.seconds:.3f}"
    case = ET.SubElement(suite, "testcase", name=name, classname="hornbook.gates", time=time)
    message = _clean(gate.message)
    if gate.status in _FAILURES:
        failure = ET.SubElement(case, "failure", message=message, type=gate.status)
        failure.text = _clean(gate.output)
    elif gate.status is GateStatus.SKIPPED:
        ET.SubElement(case, "skipped", message=message)
    elif gate.output or message:
        ET.SubElement(case, "system-out").text = _clean(
            "\n".join(filter(None, (message, gate.output)))
        )


def _clean(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", plain(text))


SCHEMA = "structural-gates.v1.json"


@cache
def schema() -> dict[str, Any]:
    """The schema of `gates run` and `gates list`, as shipped."""
    text = (PACKAGE / "gates/schemas" / SCHEMA).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)  # JSON of any shape
    return found
