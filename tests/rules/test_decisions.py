"""Decision records: status, date, deciders and what they say of each other."""

import pytest

from hornbook.rules.document import DecisionFacts, Link
from hornbook.rules.document_reader import Reading, read, resolve_links
from hornbook.vocabulary.terms import Activation, Category
from tests.kit.paths import CORPUS

RECORDS = CORPUS / "docs" / "adr"

NYGARD = """# 3. Networking Outline

Date: 2017-06-30

## Status

Superceded by [33. IP ranges](0033-ip-ranges.md)

Amends [2. Foo](0002-foo.md)

## Context

We need addresses.

## Decision

We take these.
"""

MADR_2 = """# Use Markdown

* Status: superseded by [ADR-0005](0005-example.md)
* Deciders: Ada, Grace <!-- optional -->
* Date: 2020-01-31

Technical Story: x

## Context and Problem Statement

How do we write?
"""

MADR_4 = """---
status: "superseded by ADR-0123"
date: 2024-01-31
decision-makers: [Ada, Grace]
---

# Use Plain Text

## Context and Problem Statement

How do we write?
"""


def decision(text: str, path: str = "docs/adr/0003-net.md") -> Reading:
    return read(path, text.encode())


def links(found: Reading) -> list[tuple[str, str, int | None]]:
    return [(link.relation, link.reference, link.line) for link in found.links]


def test_nygard() -> None:
    found = decision(NYGARD)
    assert found.title == "Networking Outline"
    assert found.decision == DecisionFacts("superseded", "2017-06-30")
    assert found.summary == "We need addresses."
    assert links(found) == [("superseded_by", "0033-ip-ranges.md", 7), ("amends", "0002-foo.md", 9)]
    assert found.activation is Activation.MANUAL
    assert not found.problems


def test_madr_2() -> None:
    found = decision(MADR_2)
    assert found.decision == DecisionFacts("superseded", "2020-01-31", ("Ada", "Grace"))
    assert links(found) == [("superseded_by", "0005-example.md", 3)]
    assert found.summary == "How do we write?"


def test_madr_4() -> None:
    found = decision(MADR_4)
    assert found.decision == DecisionFacts("superseded", "2024-01-31", ("Ada", "Grace"))
    assert links(found) == [("superseded_by", "0123", 2)]
    assert found.title == "Use Plain Text"
    assert not found.problems


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("Accepted", "accepted"),
        ("ACCEPTED.", "accepted"),
        ("**Accepted**", "accepted"),
        ("- Proposed", "proposed"),
        ("Accepted on 2020-01-01", "accepted"),
        ("Partly superseded", "Partly superseded"),
        ("Pending", "Pending"),
        ("Approved", "Approved"),
        ("[Deprecated](x.md)", "deprecated"),
        ("Supersedes [1. A](0001-a.md)\n\nAccepted", "accepted"),
        ("Accepted\n\nSuperseded by [1. A](0001-a.md)", "superseded"),
        ("~~Proposed~~\n\nAccepted", "accepted"),
    ],
)
def test_the_status_is_their_word(status: str, expected: str) -> None:
    found = decision(f"# 1. T\n\n## Status\n\n{status}\n\n## Context\n")
    assert found.decision is not None
    assert found.decision.status == expected


@pytest.mark.parametrize(
    "line", ["Status: Accepted", "- **Status:** Accepted", "**Status**: Accepted"]
)
def test_the_status_may_stand_below_the_title(line: str) -> None:
    found = decision(f"# T\n\n{line}\n\n## Context\n\nText.\n")
    assert found.decision == DecisionFacts("accepted")


def test_a_decision_without_status_is_told() -> None:
    found = decision("# T\n\n## Context\n\nText.\n")
    assert found.decision == DecisionFacts("unknown")
    assert [problem.code for problem in found.problems] == ["no_status"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "Supersedes [2. A](0002-a.md) and [3. B](0003-b.md)",
            ["supersedes 0002-a.md", "supersedes 0003-b.md"],
        ),
        ("Superseded by ADR-7, ADR 8", ["superseded_by 7", "superseded_by 8"]),
        ("Superseded by #12", ["superseded_by 12"]),
        ("Superseded by 0012 on 2020-01-01", ["superseded_by 0012"]),
        ("Superseded by nothing in 2020", []),
        ("Amended by [x](../adr/0009-x.md#part)", ["amended_by ../adr/0009-x.md#part"]),
        ("Supercedes [x](<0009 x.md>)", ["supersedes 0009 x.md"]),
        ("Accepted, supersedes ADR 2, amended by ADR 3", ["supersedes 2", "amended_by 3"]),
    ],
)
def test_links_of_a_status(line: str, expected: list[str]) -> None:
    found = decision(f"# T\n\n## Status\n\n{line}\n\n## Context\n")
    assert [f"{link.relation} {link.reference}" for link in found.links] == expected


def test_running_text_links_only_for_the_decision_itself() -> None:
    text = (
        "# T\n\n## Status\n\nAccepted\n\n## Decision\n\n"
        "**These ranges have been superseded by [ADR #0033](0033-ip.md).**\n"
        "[ADR 2](0002-a.md) was superseded by [ADR 5](0005-b.md).\n"
        "The tool was superseded by ADR-9 in spirit.\n"
        "```\nSuperseded by [x](code.md)\n```\n"
    )
    assert links(decision(text)) == [("superseded_by", "0033-ip.md", 9)]


def test_links_in_metadata() -> None:
    found = decision(
        "---\nstatus: accepted\nsupersedes: [0001-a.md, 2]\nsuperseded-by: ADR-9\n---\n# T\n"
    )
    assert links(found) == [
        ("supersedes", "0001-a.md", 3),
        ("supersedes", "2", 3),
        ("superseded_by", "9", 4),
    ]


def test_a_decision_may_bind_files() -> None:
    found = decision("---\nstatus: accepted\napplies_to: src/**\n---\n# T\n")
    assert (found.activation, found.category) == (Activation.GLOB, Category.DECISION)


KNOWN = {
    "docs/adr/0003-net.md": "decision.0003-net",
    "docs/adr/0033-ip-ranges.md": "decision.0033-ip-ranges",
    "docs/adr/0040-a.md": "decision.0040-a",
    "docs/adr/40-b.md": "decision.40-b",
    "docs/guide.md": "source.doc.reference.docs-guide",
    "pkg/docs/adr/0033-x.md": "decision.0033-x",
}


@pytest.mark.parametrize(
    ("reference", "target"),
    [
        ("0033-ip-ranges.md", "decision.0033-ip-ranges"),
        ("./0033-ip-ranges.md#status", "decision.0033-ip-ranges"),
        ("0033-ip-ranges", "decision.0033-ip-ranges"),
        ("../guide.md", "source.doc.reference.docs-guide"),
        ("/docs/guide.md", "source.doc.reference.docs-guide"),
        ("0033", "decision.0033-ip-ranges"),
        ("33", "decision.0033-ip-ranges"),
    ],
)
def test_references_resolve(reference: str, target: str) -> None:
    link = Link("superseded_by", reference, 7)
    found, problems = resolve_links("docs/adr/0003-net.md", [link], KNOWN)
    assert [one.target for one in found] == [target]
    assert not problems


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("0099-gone.md", "unresolved_link"),
        ("99", "unresolved_link"),
        ("3", "unresolved_link"),
        ("40", "ambiguous_link"),
        ("../../../x.md", "unresolved_link"),
        ("https://example.org/0033.md", None),
    ],
)
def test_a_reference_that_does_not_resolve_is_told(reference: str, code: str | None) -> None:
    link = Link("superseded_by", reference, 7)
    found, problems = resolve_links("docs/adr/0003-net.md", [link], KNOWN)
    assert [one.target for one in found] == [None]
    assert [(p.code, p.line, p.path) for p in problems] == (
        [(code, 7, "docs/adr/0003-net.md")] if code else []
    )


@pytest.mark.corpus
@pytest.mark.skipif(not RECORDS.is_dir(), reason="the corpus is not here")
def test_every_real_decision_has_status_and_date() -> None:
    readings = [
        read(f"docs/adr/{file.name}", file.read_bytes()) for file in sorted(RECORDS.glob("*.md"))
    ]
    assert all(found.decision and found.decision.status != "unknown" for found in readings)
    assert all(found.decision and found.decision.date for found in readings)
    superseded = [found for found in readings if found.links]
    assert [found.desired_id for found in superseded] == ["decision.0003-aws-networking-outline"]
