"""What a rule includes is part of it: in the prompt, the receipt, its sections and its judgement."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from hornbook import Workspace
from hornbook.context.receipt import receipt, verify
from hornbook.context.review_packet import Packet
from hornbook.review.judgement import Judgement
from hornbook.text.tokens import counter
from tests.kit.git import commit, start
from tests.kit.reviews import check, codes, resigned

CLAUDE = "source.doc.sops.claude-claude"
FILLER = " ".join(f"word{number}" for number in range(300))
STYLE = f"# Style\n\nNames say what they hold.\n\n## Names\n\n{FILLER}\n\n## Style\n\n{FILLER}\n"
DEEP = f"Every error MUST be wrapped. {FILLER}\n"
OWN = f"# Ours\n\nRead @docs/style.md.\n\n## Style\n\nShort names. {FILLER}\n"
CODE = "".join(f"def function_{number}(): return {number}\n" for number in range(8))


def packet_of(root: Path) -> Packet:
    with Workspace.open(root) as work:
        return work.review_packet(diff="main..work")


def facts_of(packet: Packet) -> dict[str, Any]:
    return receipt(packet.context, packet.made_for)


def items(facts: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for part in facts["sections"] if part["name"] == "sops" for each in part["items"]]


def repository(root: Path, files: dict[str, str]) -> Path:
    start(root, files)
    commit(root, {"app/prices.py": CODE})
    return root


def answered(root: Path, facts: dict[str, Any]) -> Judgement:
    names = sorted(
        {unit["id"] for unit in facts["units"]}
        or {item["id"] for item in items(facts) if item["included_by"] is None}
    )
    entries = [
        {
            "sop_id": name,
            "status": "passed",
            "evidence": f"app/prices.py:{place + 1} is number {place} of app/prices.py:1-8, well named: "
            f"`def function_{place}(): return {place}`",
            "violations": [],
        }
        for place, name in enumerate(names)
    ]
    said = {
        "verdict": "approved",
        "rejection_type": None,
        "sop_review": entries,
        "confidence": 0.9,
        "feedback": "Looked at each.",
    }
    return check(root, [facts], json.dumps(said).encode())


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = {
        "CLAUDE.md": "# Ours\n\nRead @docs/style.md.\n",
        "docs/style.md": "Names say it. See @deep.md\n",
        "docs/deep.md": "Every error MUST be wrapped.\n",
    }
    return repository(tmp_path_factory.mktemp("small"), files)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = {"CLAUDE.md": OWN, "docs/style.md": STYLE + "\n@deep.md\n", "docs/deep.md": DEEP}
    return repository(tmp_path_factory.mktemp("large"), files)


def test_each_included_file_has_an_item_of_its_own_bytes(small: Path) -> None:
    packet = packet_of(small)
    facts, prompt = facts_of(packet), (packet.context.text or "").encode()
    found = items(facts)
    assert [(each["id"], each["path"], each["included_by"]) for each in found] == [
        (CLAUDE, "CLAUDE.md", None),
        (f"{CLAUDE}.include.1", "docs/style.md", "CLAUDE.md"),
        (f"{CLAUDE}.include.2", "docs/deep.md", "docs/style.md"),
    ]
    for each in found[1:]:
        data = (small / each["path"]).read_bytes()
        assert prompt[each["offset"] : each["offset"] + each["length"]] == data
        assert each["sha256"] == sha256(data).hexdigest()
        assert each["revision"].endswith(each["sha256"][:12])
    assert verify(facts, prompt, counter) == []


def test_a_rule_is_as_grave_as_what_it_includes(small: Path) -> None:
    facts = facts_of(packet_of(small))
    assert [each["severity"] for each in items(facts)] == ["error", "warning", "error"]
    judgement = answered(small, facts)
    assert judgement.problems == ()
    assert {rule.severity for rule in judgement.rules} == {"error"}
    with Workspace.open(small) as work:
        for [answer] in (work.why(["app/prices.py"]), work.why(["app/prices.py"], at="main")):
            assert [rule.severity for rule in answer.rules] == ["error"]


@pytest.mark.parametrize("root", ["small", "large"])
def test_why_size_context_and_receipt_count_the_same(
    root: str, request: pytest.FixtureRequest
) -> None:
    folder: Path = request.getfixturevalue(root)
    with Workspace.open(folder) as work:
        work.ingest()
        (why,) = work.why(["app/prices.py"])
        assert work.why(["app/prices.py"], at="main")[0].tokens == why.tokens
        (over,) = work.size(["app/prices.py"], reserve=why.tokens - 1).reasons
        assert f"need {why.tokens} tokens" in over.message
        assert work.size(["app/prices.py"], reserve=why.tokens).fits
        context = work.review_packet(diff="main..work").context
    (rules,) = (each for each in context.sections if each.name == "sops")
    cut = len(context.units)  # a cut may take a token more
    assert abs(rules.tokens - why.tokens) <= cut


def test_sections_are_cut_over_every_file_of_a_rule(large: Path) -> None:
    packet = packet_of(large)
    facts, prompt = facts_of(packet), (packet.context.text or "").encode()
    found = items(facts)
    section = f"{CLAUDE}.section"
    assert [(each["id"], each["path"], each["included_by"]) for each in found] == [
        (f"{section}.head", "CLAUDE.md", None),
        (f"{section}.style", "CLAUDE.md", None),
        (f"{section}.style-2", "docs/style.md", "CLAUDE.md"),
        (f"{section}.names", "docs/style.md", "CLAUDE.md"),
        (f"{section}.style-3", "docs/style.md", "CLAUDE.md"),
        (f"{section}.deep", "docs/deep.md", "docs/style.md"),
    ]
    texts = [prompt[each["offset"] :][: each["length"]].decode() for each in found]
    assert "".join(texts[:2]).endswith(OWN)
    assert "".join(texts[2:5]) == STYLE + "\n@deep.md\n"
    assert texts[5] == DEEP
    assert verify(facts, prompt, counter) == []
    assert answered(large, facts).problems == ()


def test_a_file_of_nothing_but_includes_is_shown_and_not_answered(tmp_path: Path) -> None:
    files = {"CLAUDE.md": "@docs/style.md\n", "docs/style.md": STYLE + DEEP}
    packet = packet_of(repository(tmp_path, files))
    section = f"{CLAUDE}.section"
    assert packet.context.answer_ids == (
        f"{section}.names",
        f"{section}.style",
        f"{section}.style-2",
    )
    head, *others = items(facts_of(packet))
    assert (head["id"], head["path"]) == (CLAUDE, "CLAUDE.md")
    assert {each["included_by"] for each in others} == {"CLAUDE.md"}
    assert verify(facts_of(packet), (packet.context.text or "").encode(), counter) == []


@pytest.mark.parametrize("change", [{"path": "docs/other.md"}, {"included_by": "AGENTS.md"}])
def test_a_receipt_with_another_origin_is_not_of_the_change(
    small: Path, change: dict[str, str]
) -> None:
    facts = facts_of(packet_of(small))
    for section in facts["sections"]:
        for item in section["items"]:
            if item["included_by"] is not None:
                item.update(change)
    assert "no_context" in codes(answered(small, resigned(facts)))


def test_a_receipt_without_an_included_file_is_not_of_the_change(small: Path) -> None:
    facts = facts_of(packet_of(small))
    for section in facts["sections"]:
        section["items"] = [each for each in section["items"] if not each["included_by"]]
    judgement = answered(small, resigned(facts))
    assert any(f"{CLAUDE}.include.1" in problem.message for problem in judgement.problems)


def test_other_paths_of_the_same_text_stand_in_the_receipt(tmp_path: Path) -> None:
    files = {"AGENTS.md": "Names say it.\n", "CLAUDE.md": "Names say it.\n"}
    (item,) = items(facts_of(packet_of(repository(tmp_path, files))))
    assert (item["path"], item["also"]) == ("AGENTS.md", ["CLAUDE.md"])
