"""Decisions and risks of a plan as Markdown: structured bullets that are read back without loss.

A value's further lines are indented by two blanks, so no text can pass for an entry.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from hornbook.model.plan import PlanDecision, Risk

DECISIONS = "# Decisions\n"
RISKS = "# Risks\n"

Entry = Sequence[tuple[str, str]]


def render_decisions(decisions: Iterable[PlanDecision]) -> str:
    """The decisions, oldest first; a later one only adds to the text."""
    return _rendered(DECISIONS, (_decision_entry(each) for each in decisions))


def parse_decisions(text: str) -> tuple[PlanDecision, ...]:
    """The decisions that `render_decisions` wrote.

    Raises:
        ValueError: The text is not as it writes; the message names the line.
    """
    found: list[PlanDecision] = []
    for entry in _entries(text, "Decision", {"Reason", "Impact", "At", "Id"}, {"Supersedes"}):
        made = PlanDecision(
            id=entry["Id"],
            decision=entry["Decision"],
            reason=entry["Reason"],
            impact=entry["Impact"],
            at=entry["At"],
            supersedes=entry.get("Supersedes"),
        )
        found = [
            replace(each, superseded_by=made.id) if each.id == made.supersedes else each
            for each in found
        ]
        found.append(made)
    return tuple(found)


def render_risks(risks: Iterable[Risk]) -> str:
    """The risks, one entry for each id."""
    return _rendered(
        RISKS,
        (
            (("Risk", risk.text), ("Severity", risk.severity), ("At", risk.at), ("Id", risk.id))
            for risk in risks
        ),
    )


def parse_risks(text: str) -> tuple[Risk, ...]:
    """The risks that `render_risks` wrote.

    Raises:
        ValueError: The text is not as it writes; the message names the line.
    """
    return tuple(
        Risk(entry["Id"], entry["Severity"], entry["Risk"], entry["At"])
        for entry in _entries(text, "Risk", {"Severity", "At", "Id"}, set())
    )


def _decision_entry(each: PlanDecision) -> Entry:
    entry = [
        ("Decision", each.decision),
        ("Reason", each.reason),
        ("Impact", each.impact),
        ("At", each.at),
        ("Id", each.id),
    ]
    return entry if each.supersedes is None else [*entry, ("Supersedes", each.supersedes)]


def _rendered(heading: str, entries: Iterable[Entry]) -> str:
    texts = [heading]
    for entry in entries:
        bullets = [f"- {name}: {_indented(value)}\n" for name, value in entry]
        texts.append("\n" + "".join(bullets))
    return "".join(texts)


def _indented(value: str) -> str:
    return value.replace("\n", "\n  ")


def _entries(text: str, first: str, required: set[str], optional: set[str]) -> list[dict[str, str]]:
    entries: list[dict[str, str]] = []
    name = ""
    for number, line in enumerate(text.split("\n")[1:], 2):
        if line.startswith("  ") and name:
            entries[-1][name] += f"\n{line[2:]}"
        elif line.startswith("- "):
            name, _, value = line[2:].partition(":")
            if name == first:
                entries.append({})
            known = name in {first, *required, *optional}
            if not entries or not known or name in entries[-1]:
                raise ValueError(f"line {number}: `{name}` does not belong here")
            entries[-1][name] = value.removeprefix(" ")
        elif line:
            raise ValueError(f"line {number}: no entry: write `- {first}: …`")
        else:
            name = ""
    lacking = [entry for entry in entries if not required <= entry.keys()]
    if lacking:
        missing = ", ".join(sorted(required - lacking[0].keys()))
        raise ValueError(f"the entry `{first}: {lacking[0][first]}` lacks {missing}")
    return entries
