"""A large rule is judged section by section: packets, receipts, answers, formats and records."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from hornbook import Workspace
from hornbook.context.receipt import receipt, verify
from hornbook.context.review_packet import Packet
from hornbook.review.formats import github, junit, sarif, text
from hornbook.review.judgement import Judgement
from hornbook.review.printed_review import PrintedReview, review_schema
from hornbook.review.review_history import rule_records
from hornbook.review.review_record import JudgedReview
from hornbook.text.tokens import counter
from tests.kit.git import commit, start
from tests.kit.reviews import AT, check, codes, resigned
from tests.kit.workspaces import write

AGENTS = "source.doc.sops.agents-agents"
SMALL = "source.doc.sops.naming"
HEAD, SETUP, STYLE, TESTS = (
    f"{AGENTS}.section.{slug}" for slug in ("head", "set-up", "style", "tests")
)
FILLER = " ".join(f"word{number}" for number in range(300))
BODY = f"""\
# For agents

Read this first. It says how we work here, in some words that are not few.

## Set up

Everything MUST be installed once. {FILLER}

## Style

Names SHOULD be short. {FILLER}

## Tests

You MAY run them all. {FILLER}
"""
RULES = {
    "AGENTS.md": BODY,
    ".hornbook/sources/docs/sops/naming.md": (
        "---\napplies_to: '**'\nseverity: error\n---\n# Naming\n\nNames say what they hold.\n"
    ),
}
CODE = "".join(f"def function_{number}(): return {number}\n" for number in range(8))
RESERVE = 1900


def repository(root: Path, reserve: int) -> Path:
    start(root, {**RULES, ".hornbook/config.yaml": f"reserve: {reserve}\n"})
    commit(root, {"app/prices.py": CODE})
    return root


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repository(tmp_path_factory.mktemp("units"), 9000)


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repository(tmp_path_factory.mktemp("passes"), RESERVE)


def packets(root: Path) -> list[Packet]:
    with Workspace.open(root) as work:
        packet = work.review_packet(diff="main..work")
        return packet.passes() if packet.context.passes else [packet]


def entry(name: str, place: int, status: str = "passed") -> dict[str, Any]:
    said = f"def function_{place}(): return {place}"
    return {
        "sop_id": name,
        "status": status,
        "evidence": f"app/prices.py:{place + 1} is number {place} of 1-8, app/prices.py:1-8: `{said}`",
        "violations": [f"number {place} goes against it"] if status == "violated" else [],
    }


def printed(names: list[str] | tuple[str, ...], **status: str) -> bytes:
    entries = [
        entry(name, place, status.get(name.rpartition(".")[2], "passed"))
        for place, name in enumerate(names)
    ]
    return review(entries)


def review(entries: list[dict[str, Any]], verdict: str = "approved") -> bytes:
    facts = {
        "verdict": verdict,
        "rejection_type": None if verdict == "approved" else "fixable",
        "sop_review": entries,
        "confidence": 0.9,
        "feedback": "Every section was looked at.",
    }
    return json.dumps(facts).encode()


def judged(root: Path, answer: bytes) -> Judgement:
    (packet,) = packets(root)
    return check(root, [receipt(packet.context, packet.made_for)], answer)


def items(packet: Packet) -> dict[str, str]:
    data = (packet.context.text or "").encode()
    (rules,) = (each for each in packet.context.sections if each.name == "sops")
    return {item.id: data[item.offset : item.offset + item.length].decode() for item in rules.items}


# The packet


def test_a_large_rule_is_listed_by_its_units_and_a_small_one_is_not(root: Path) -> None:
    (packet,) = packets(root)
    context = packet.context
    assert context.sop_ids == (AGENTS, SMALL)
    assert [(unit.id, unit.sop_id, unit.severity, unit.inferred) for unit in context.units] == [
        (HEAD, AGENTS, "warning", True),
        (SETUP, AGENTS, "error", True),
        (STYLE, AGENTS, "warning", True),
        (TESTS, AGENTS, "info", True),
    ]
    assert {unit.files for unit in context.units} == {("app/prices.py",)}
    assert context.answer_ids == (HEAD, SETUP, STYLE, TESTS, SMALL)


def test_the_prompt_names_every_section_and_holds_the_rule_byte_for_byte(root: Path) -> None:
    (packet,) = packets(root)
    held = items(packet)
    assert "".join(held[name] for name in (HEAD, SETUP, STYLE, TESTS)).endswith(BODY)
    said = packet.context.text or ""
    assert f"severity error (inferred). Answer it as {SETUP}:\n[begin {SETUP} " in said
    assert f"Answer it as {SMALL}" not in said
    assert "- Severity: error (inferred)\n" in held[HEAD]
    assert "- Severity: error\n" in held[SMALL]


def test_the_schema_of_a_review_has_just_what_is_to_be_answered(root: Path) -> None:
    (packet,) = packets(root)
    schema = review_schema(packet.context.answer_ids)
    assert schema["$defs"]["entry"]["properties"]["sop_id"]["enum"] == sorted(
        [HEAD, SETUP, STYLE, TESTS, SMALL]
    )


def test_the_receipt_verifies_and_one_with_other_units_does_not(root: Path) -> None:
    (packet,) = packets(root)
    facts = receipt(packet.context, packet.made_for)
    prompt = (packet.context.text or "").encode()
    assert verify(facts, prompt, counter) == []
    units = facts["units"]
    assert isinstance(units, list)
    fewer = resigned(facts, units=units[:-1])
    assert any("to be answered" in each for each in verify(fewer, prompt, counter))
    milder = resigned(facts, units=[{**units[0], "severity": "info"}, *units[1:]])
    assert any("severity" in each for each in verify(milder, prompt, counter))


def test_a_receipt_of_before_is_refused_and_not_misread(root: Path) -> None:
    (packet,) = packets(root)
    facts = receipt(packet.context, packet.made_for)
    old = {key: value for key, value in facts.items() if key != "units"}
    found = check(root, [resigned(old)], printed(packet.context.answer_ids))
    assert codes(found) == {"no_context"}
    assert "no `units`" in found.problems[0].message
    assert "no `units`" in verify(old, b"", counter)[0]


# Passes


def test_a_rule_over_the_reserve_is_split_into_passes_by_whole_sections(narrow: Path) -> None:
    with Workspace.open(narrow) as work:
        whole = work.review_packet(diff="main..work").context
    assert whole.outcome == "sop_overflow"
    assert "section_over_reserve" not in {reason.code for reason in whole.reasons}
    assert sorted(name for names in whole.passes for name in names) == [
        HEAD, SETUP, STYLE, TESTS, SMALL
    ]  # fmt: skip
    made = packets(narrow)
    assert len(made) == len(whole.passes) > 1
    covered: dict[str, str] = {}
    for packet in made:
        facts = receipt(packet.context, packet.made_for)
        assert verify(facts, (packet.context.text or "").encode(), counter) == []
        (rules,) = (each for each in packet.context.sections if each.name == "sops")
        assert rules.tokens <= RESERVE
        held = items(packet)
        if AGENTS in packet.context.sop_ids:
            assert "# For agents\n\nRead this first." in held[HEAD]
            assert "- SOP: source.doc.sops.agents-agents\n" in held[HEAD]
        covered |= held
    assert "".join(covered[name] for name in (HEAD, SETUP, STYLE, TESTS)).endswith(BODY)


def test_passes_are_judged_together_and_the_head_is_answered_once(narrow: Path) -> None:
    made = packets(narrow)
    receipts = [receipt(each.context, each.made_for) for each in made]
    places = iter(range(8))
    answers = [review([entry(n, next(places)) for n in each.context.answer_ids]) for each in made]
    found = check(narrow, receipts, *answers)
    assert found.outcome == "approved", found.problems
    assert "5 of 5 rules and sections are answered" in found.explanation
    one_missing = check(narrow, receipts, *answers[:-1])
    assert {each.sop_id for each in one_missing.problems if each.code == "missing_sop"} == set(
        made[-1].context.answer_ids
    )


def test_a_pass_may_answer_the_head_that_it_is_shown(narrow: Path) -> None:
    made = packets(narrow)
    receipts = [receipt(each.context, each.made_for) for each in made]
    places = iter(range(20))
    answers = []
    for each in made:
        names = dict.fromkeys([*each.context.answer_ids, *items(each)])
        answers.append(review([entry(name, next(places) % 8) for name in names]))
    found = check(narrow, receipts, *answers)
    assert not codes(found) & {"unknown_sop", "missing_sop", "duplicate_sop"}, found.problems


def test_a_section_that_no_pass_holds_is_named_with_what_helps(tmp_path: Path) -> None:
    root = repository(tmp_path, 400)
    with Workspace.open(root) as work:
        context = work.review_packet(diff="main..work").context
    assert (context.outcome, context.passes) == ("sop_overflow", ())
    said = [each.message for each in context.reasons if each.code == "section_over_reserve"]
    assert [each.partition(" ")[0] for each in said] == [SETUP, STYLE, TESTS]
    assert "Give it headings" in said[0]


def test_a_smaller_rule_over_the_reserve_can_be_made_to_have_sections(tmp_path: Path) -> None:
    start(
        tmp_path,
        {**RULES, ".hornbook/config.yaml": "reserve: 1900\nreview:\n  section_tokens: 9000\n"},
    )
    commit(tmp_path, {"app/prices.py": CODE})
    with Workspace.open(tmp_path) as work:
        context = work.review_packet(diff="main..work").context
    assert (context.units, context.passes) == ((), ())
    (said,) = (each.message for each in context.reasons if each.code == "section_over_reserve")
    assert said.startswith(f"{AGENTS} alone needs")
    assert "review.section_tokens" in said


# The review


def test_every_section_is_answered(root: Path) -> None:
    found = judged(root, printed((HEAD, SETUP, STYLE, TESTS, SMALL)))
    assert found.outcome == "approved", found.problems
    assert [(each.sop_id, each.unit) for each in found.findings] == [
        (AGENTS, HEAD), (AGENTS, SETUP), (AGENTS, STYLE), (AGENTS, TESTS), (SMALL, None),
    ]  # fmt: skip
    assert [each.severity for each in found.findings] == [
        "warning", "error", "warning", "info", "error"
    ]  # fmt: skip


def test_an_entry_with_the_documents_id_answers_its_head_only(root: Path) -> None:
    found = judged(root, printed((AGENTS, SMALL)))
    missing = [each.sop_id for each in found.problems if each.code == "missing_sop"]
    assert (found.outcome, missing) == ("invalid", [SETUP, STYLE, TESTS])
    assert judged(root, printed((AGENTS, SETUP, STYLE, TESTS, SMALL))).outcome == "approved"
    both = judged(root, printed((AGENTS, HEAD, SETUP, STYLE, TESTS, SMALL)))
    assert codes(both) == {"duplicate_sop"}


def test_a_section_of_a_smaller_rule_is_unknown(root: Path) -> None:
    section = f"{SMALL}.section.head"
    found = judged(root, printed((HEAD, SETUP, STYLE, TESTS, section)))
    assert {(each.code, each.sop_id) for each in found.problems} == {
        ("missing_sop", SMALL),
        ("unknown_sop", section),
    }


def test_the_severity_of_the_section_decides(root: Path) -> None:
    names = (HEAD, SETUP, STYLE, TESTS, SMALL)
    assert judged(root, printed(names, tests="violated", style="violated")).outcome == "approved"
    found = judged(root, printed(names, **{"set-up": "violated"}))
    assert [(each.code, each.sop_id) for each in found.problems] == [
        ("violated_but_approved", SETUP)
    ]


def test_sections_answered_with_the_same_words_are_stamped(root: Path) -> None:
    entries = [entry(name, 1) for name in (HEAD, SETUP, STYLE, TESTS)] + [entry(SMALL, 2)]
    assert codes(judged(root, review(entries))) == {"rubber_stamp"}


def test_sections_may_rest_on_the_one_line_that_there_is(root: Path) -> None:
    entries = [entry(name, 1) for name in (HEAD, SETUP, STYLE, TESTS)] + [entry(SMALL, 2)]
    words = ("How we work is kept", "Installed once", "Names are short", "Tests were run")
    for each, said in zip(entries, words, strict=False):
        each["evidence"] = f"{said}: {each['evidence']}"
    found = judged(root, review(entries))
    assert found.outcome == "approved", found.problems
    assert "shared_evidence" in {each.code for each in found.warnings}


def test_a_section_of_severity_error_needs_a_quote(root: Path) -> None:
    entries = [entry(name, place) for place, name in enumerate((HEAD, SETUP, STYLE, TESTS, SMALL))]
    for each in entries[:3]:
        each["evidence"] = each["evidence"].partition(": `")[0]
    found = judged(root, review(entries))
    assert [(each.code, each.sop_id) for each in found.problems] == [("unresolved_evidence", SETUP)]


# Formats and records


def test_every_format_tells_the_rule_and_the_section(root: Path) -> None:
    names = (HEAD, SETUP, STYLE, TESTS, SMALL)
    found = judged(root, printed(names, style="violated"))
    (run,) = json.loads(sarif.render(found, version="1"))["runs"]
    result = next(each for each in run["results"] if each["kind"] == "fail")
    assert (result["ruleId"], result["level"]) == (AGENTS, "warning")
    assert result["properties"] == {"sop_id": AGENTS, "unit": STYLE}
    whole = next(each for each in run["results"] if each["ruleId"] == SMALL)
    assert whole["properties"] == {"sop_id": SMALL, "unit": None}
    assert f'name="{STYLE}"' in junit.render(found)
    assert f"violated%3A {STYLE}" in github.annotations(found)
    assert STYLE in text.render(found)
    assert len({each["partialFingerprints"]["hornbookFinding/v1"] for each in run["results"]}) == 6


def test_a_section_that_was_not_answered_is_told_as_such(root: Path) -> None:
    found = judged(root, printed((HEAD, SETUP, STYLE, SMALL)))
    assert any(TESTS in line and "not judged" in line for line in text.render(found).splitlines())
    assert f'name="{TESTS}"' in junit.render(found)


def test_a_record_tells_what_was_said_of_each_section(tmp_path: Path) -> None:
    root = repository(tmp_path, 9000)
    (packet,) = packets(root)
    facts = receipt(packet.context, packet.made_for)
    answer = printed((AGENTS, SETUP, STYLE, TESTS, SMALL), style="violated")
    reviews = [PrintedReview("review", answer)]
    with Workspace.open(root) as work:
        judgement = work.check_review(reviews, [facts])
        path = work.record_review(JudgedReview(judgement, reviews, [facts]), at=AT)
        record = json.loads(path.read_text())
        work.ingest()
        counted = {each.id: each for each in rule_records(work.ingested(), "2026-01-01")}
    rules = {rule["id"]: rule for rule in record["rules"]}
    assert rules[AGENTS]["statuses"] == ["violated"]
    assert {unit["id"]: unit["statuses"] for unit in rules[AGENTS]["units"]} == {
        HEAD: ["passed"], SETUP: ["passed"], STYLE: ["violated"], TESTS: ["passed"]
    }  # fmt: skip
    assert rules[SMALL]["units"] == []
    assert (counted[AGENTS].violated, counted[AGENTS].passed) == (1, 0)


def test_a_document_is_as_severe_as_its_gravest_section(tmp_path: Path) -> None:
    body = f"# T\n\n## A\n\nYou MAY do it. {FILLER}\n\n## B\n\n{FILLER}\n\n{FILLER}\n"
    write(tmp_path, {"AGENTS.md": body, "app/AGENTS.md": "# T\n\nYou MAY do it.\n"})
    with Workspace.open(tmp_path) as work:
        work.ingest()
        (answer,) = work.why(["app/x.py"])
    assert {rule.path: rule.severity for rule in answer.rules} == {
        "AGENTS.md": "warning",
        "app/AGENTS.md": "info",
    }


def test_the_units_of_the_receipt_hash_to_what_the_prompt_holds(root: Path) -> None:
    (packet,) = packets(root)
    (rules,) = (each for each in packet.context.sections if each.name == "sops")
    held = items(packet)
    assert all(sha256(held[item.id].encode()).hexdigest() == item.sha256 for item in rules.items)
    severities = {item.id: item.severity for item in rules.items}
    assert severities == {unit.id: unit.severity for unit in packet.context.units} | {
        SMALL: "error"
    }
