"""A review as a careful reader would write it, from the prompt alone, or with one known defect."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from hornbook.agents.scripted.script import Act

_SECTION = re.compile(r"^# (.+)$", re.MULTILINE)
_QUOTED = re.compile(r"^\[begin (\S.*) (\S+)\]\n(.*?)^\[end \1 \2\]$", re.MULTILINE | re.DOTALL)
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_SHORTEST = 8
RULES = "Rules that bind this change"
CHANGE = "The change under review"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the change that can be cited."""

    path: str
    number: int
    text: str


def write_review(prompt: str, act: Act) -> str:
    """The review of a prompt's change: one entry for each rule, each citing a line of its own."""
    rules = [name for name, _ in _quoted(prompt, RULES)]
    lines = sorted(cited_lines(prompt), key=lambda each: (each.path, each.number))
    entries = [_entry(rule, place, rules, lines, act) for place, rule in enumerate(rules)]
    review: dict[str, object] = {
        "verdict": "approved" if act.verdict == "approved" else "rejected",
        "rejection_type": None if act.verdict == "approved" else act.verdict,
        "sop_review": entries,
        "confidence": act.confidence,
        "feedback": _feedback(act, lines),
        "patterns": [],
    }
    return _spoilt(review, entries, act.defect)


def cited_lines(prompt: str) -> Iterator[Line]:
    """Every line that the change leaves behind and that is long enough to be quoted."""
    for path, patch in _quoted(prompt, CHANGE):
        number = 0
        for line in patch.split("\n"):
            hunk = _HUNK.match(line)
            if hunk is not None:
                number = int(hunk[1])
            elif number and line[:1] in {"+", " "}:
                if len("".join(line[1:].split())) >= _SHORTEST:
                    yield Line(path, number, line[1:].strip())
                number += 1


def _quoted(prompt: str, heading: str) -> list[tuple[str, str]]:
    """The quoted units of one section, by id; a heading inside of a unit is no section."""
    found: list[tuple[str, str]] = []
    masked = _QUOTED.sub(lambda unit: re.sub(r"[^\n]", " ", unit[0]), prompt)
    sections = list(_SECTION.finditer(masked))
    for place, section in enumerate(sections):
        if section[1] != heading:
            continue
        end = sections[place + 1].start() if place + 1 < len(sections) else len(prompt)
        found += [(unit[1], unit[3]) for unit in _QUOTED.finditer(prompt, section.end(), end)]
    return found


def _entry(
    rule: str, place: int, rules: list[str], lines: list[Line], act: Act
) -> dict[str, object]:
    violated = rule in act.violated
    counted = f"rule {place + 1} of {len(rules)}"
    if not lines:
        reason = f"The change leaves no line behind that {counted} could be judged by."
        return _as_entry(rule, "not_applicable", reason, [])
    line = lines[place % len(lines)]
    words = f"{line.path}:{line.number} was read for {counted}."
    cited = {"path": line.path, "start": line.number, "end": line.number, "quote": line.text}
    found = _as_entry(rule, "violated" if violated else "passed", words, [cited])
    if violated:
        found["violations"] = [f"{line.path} line {line.number} goes against it."]
    return found


def _as_entry(
    rule: str, status: str, evidence: str, citations: list[dict[str, object]]
) -> dict[str, object]:
    return {
        "sop_id": rule,
        "status": status,
        "evidence": evidence,
        "violations": [],
        "citations": citations,
        "search": None,
    }


def _feedback(act: Act, lines: list[Line]) -> str:
    if act.feedback is not None:
        return act.feedback
    if act.verdict == "approved":
        return "Every rule was looked at."
    where = f"{lines[0].path}:{lines[0].number}" if lines else "the change"
    return f"The change is {act.verdict}: begin at {where}."


def _spoilt(review: dict[str, object], entries: list[dict[str, object]], defect: str | None) -> str:
    """The review as text, with the one thing wrong that was asked for."""
    if defect == "empty":
        return ""
    if defect == "unparsable":
        return json.dumps(review)[:-20]
    if defect == "low_confidence":
        review["confidence"] = 0.3
    elif defect == "missing_feedback":
        review |= {"verdict": "rejected", "rejection_type": "fixable", "feedback": ""}
    elif defect is not None:
        _spoil_coverage(entries, defect)
        _spoil_evidence(entries, defect)
    return json.dumps(review, ensure_ascii=False, indent=2)


def _spoil_coverage(entries: list[dict[str, object]], defect: str) -> None:
    if defect == "missing_sop":
        entries[:] = entries[:-1]
    elif defect == "unknown_sop":
        entries.append(_as_entry("source.doc.sops.no-such-rule", "not_applicable", "None.", []))
    elif defect == "duplicate_sop":
        entries.extend(entries[:1])


def _spoil_evidence(entries: list[dict[str, object]], defect: str) -> None:
    for entry in entries if defect == "rubber_stamp" else entries[:1]:
        if defect == "no_evidence":
            entry |= {"evidence": " ", "citations": []}
        elif defect == "unresolved_evidence":
            entry |= {"evidence": "Seen at lines 45, 67.", "citations": []}
        elif defect == "rubber_stamp":
            entry |= {key: entries[0][key] for key in ("status", "evidence", "citations")}
        elif defect == "violated_but_approved":
            entry |= {"status": "violated", "violations": ["It goes against the rule."]}
