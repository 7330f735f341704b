"""Rules behind links and includes that nobody can read, and changes of what rules are made of."""

import json
from datetime import date
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.context.receipt import receipt
from hornbook.context.review_packet import Contexts
from hornbook.errors import ConfigError, UsageError
from hornbook.review.judgement import Judgement
from hornbook.review.printed_review import PrintedReview
from hornbook.settings.load import parse_settings
from tests.kit.git import commit, git, start
from tests.kit.workspaces import write

TODAY = date(2026, 6, 1)
CODE = "def price(): return 1\n"
CLAUDE = "# Ours\n\nNames say what they hold.\n"
ACCEPTED = "review:\n  unread:\n  - {{path: {path}, until: {until}, reason: it comes back}}\n"


def repository(root: Path, files: dict[str, str], links: dict[str, str]) -> Path:
    git(root, "init", "-q", "-b", "main")
    write(root, files)
    for path, target in links.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).symlink_to(target)
    commit(root, {})
    git(root, "checkout", "-qb", "work")
    commit(root, {"app/prices.py": CODE})
    return root


def broken(root: Path, kind: str, config: str = "") -> Path:
    """A repository whose base has a link, or an include, that leads nowhere."""
    files = {"AGENTS.md": CLAUDE} | ({".hornbook/config.yaml": config} if config else {})
    if kind == "broken_link":
        return repository(root, files, {"CLAUDE.md": "docs/gone.md"})
    return repository(root, {**files, "CLAUDE.md": "See @docs/gone.md\n"}, {})


PATHS = {"broken_link": "CLAUDE.md", "broken_include": "docs/gone.md"}


def judged(root: Path) -> Judgement:
    with Workspace.open(root) as work:
        packet = work.review_packet(diff="main..work")
        assert "could not be read" in (packet.context.text or "")
        entries = [
            {
                "sop_id": name,
                "status": "passed",
                "evidence": f"app/prices.py:1 holds for {name}: `def price(): return 1`",
                "violations": [],
            }
            for name in packet.context.answer_ids
        ]
        said = {
            "verdict": "approved",
            "rejection_type": None,
            "sop_review": entries,
            "confidence": 0.9,
            "feedback": "Looked at it.",
        }
        printed = [PrintedReview("review", json.dumps(said).encode())]
        facts = receipt(packet.context, packet.made_for)
        return work.check_review(printed, [facts], diff="main..work", today=TODAY)


@pytest.mark.parametrize("kind", PATHS)
def test_a_rule_that_nobody_could_read_goes_to_a_person(kind: str, tmp_path: Path) -> None:
    judgement = judged(broken(tmp_path, kind))
    assert judgement.outcome == "escalate"
    (problem,) = (each for each in judgement.problems if each.code == "rule_not_read")
    assert PATHS[kind] in problem.message
    assert kind in problem.message


@pytest.mark.parametrize("kind", PATHS)
def test_the_work_tree_and_the_commit_leave_out_the_same(kind: str, tmp_path: Path) -> None:
    with Workspace.open(broken(tmp_path, kind)) as work:
        work.ingest()
        here = work.review_context(["app/prices.py"])
        there = work.review_packet(diff="main..work").context
    told = {(each.path, each.reason) for each in here.left_out if each.path}
    assert told == {(PATHS[kind], kind)}
    assert told == {(each.path, each.reason) for each in there.left_out if each.path}


@pytest.mark.parametrize("kind", PATHS)
def test_what_the_base_accepts_may_stay_unread(kind: str, tmp_path: Path) -> None:
    config = ACCEPTED.format(path=PATHS[kind], until="2026-06-01")
    judgement = judged(broken(tmp_path, kind, config))
    assert judgement.problems == ()
    assert judgement.outcome == "approved"


def test_an_acceptance_ends_with_its_day(tmp_path: Path) -> None:
    config = ACCEPTED.format(path="docs/gone.md", until="2026-05-31")
    judgement = judged(broken(tmp_path, "broken_include", config))
    assert judgement.outcome == "escalate"
    assert "accepted until 2026-05-31" in judgement.problems[0].message


def test_an_acceptance_in_the_change_itself_does_not_count(tmp_path: Path) -> None:
    root = broken(tmp_path, "broken_include")
    config = ACCEPTED.format(path="docs/gone.md", until="2026-12-31")
    commit(root, {".hornbook/config.yaml": config})
    assert "rule_not_read" in {each.code for each in judged(root).problems}


def test_every_problem_of_an_acceptance_is_told_with_its_line() -> None:
    text = b"review:\n  unread:\n  - path: ''\n    until: 2026-02-30\n    reason: x\n  - path: b\n"
    with pytest.raises(ConfigError) as failed:
        parse_settings(text)
    said = str(failed.value)
    for part in ("line 3: `path`", "line 4: `2026-02-30` is no day", "`review.unread[1]` lacks"):
        assert part in said


def test_a_link_to_an_empty_folder_brings_nothing_and_breaks_nothing(tmp_path: Path) -> None:
    start(tmp_path, {"AGENTS.md": CLAUDE, "shared/README": "none yet\n", "a.py": CODE})
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/rules").symlink_to("../shared")
    commit(tmp_path, {})
    with Workspace.open(tmp_path) as work:
        assert work.ingest().problems == ()
        (here,) = work.why(["a.py"])
        assert [rule.path for rule in here.rules] == ["AGENTS.md"]
        assert here.left_out == ()
        assert work.why(["a.py"], at="HEAD") == [here]


SHARED: dict[str, str] = {
    "CLAUDE.md": "See @docs/style.md\n",
    "docs/style.md": CLAUDE,
    "agents/rules/one.md": "One.\n",
    "docs/texts/house.md": "House.\n",
}
LINKS = {
    ".claude/rules": "../agents/rules",
    "AGENTS.md": "docs/style.md",
    "GEMINI.md": "shared/house.md",
    "shared/house.md": "../texts/house.md",
    "texts": "docs/texts",
    "other": "docs",
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repository(tmp_path_factory.mktemp("shared"), SHARED, LINKS)


@pytest.mark.parametrize(
    "path",
    ["docs/style.md", "agents/rules/one.md", ".claude/rules", "shared/house.md", "texts"],
)
def test_a_change_of_what_rules_are_made_of_edits_rules(path: str, shared: Path) -> None:
    git(shared, "checkout", "-qB", "edit", "work")
    if path in LINKS:
        (shared / path).unlink()
        (shared / path).symlink_to("../docs")
        commit(shared, {})
    else:
        commit(shared, {path: "Other words.\n"})
    with Workspace.open(shared) as work:
        assert work.review_packet(diff="work..edit").made_for.findings == (path,)


def test_a_new_link_of_a_folder_of_rules_edits_rules(shared: Path) -> None:
    git(shared, "checkout", "-qB", "edit", "work")
    (shared / ".cursor").mkdir()
    (shared / ".cursor/rules").symlink_to("../agents/rules")
    (shared / "plain").symlink_to("docs")
    commit(shared, {})
    with Workspace.open(shared) as work:
        assert work.review_packet(diff="work..edit").made_for.findings == (".cursor/rules",)


def test_an_included_file_that_changed_since_is_not_answered_from_the_old_text(
    tmp_path: Path,
) -> None:
    root = repository(tmp_path, {"CLAUDE.md": "See @docs/style.md\n", "docs/style.md": CLAUDE}, {})
    with Workspace.open(root) as work:
        work.ingest()
        snapshot = work.snapshot()
        write(root, {"docs/style.md": "Other words.\n"})
        with pytest.raises(UsageError, match=r"docs/style\.md changed since"):
            Contexts(root, snapshot).for_files(["app/prices.py"])
