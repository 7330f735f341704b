"""What the rules did to past changes, and that it is what separate questions would have said."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from hornbook import Workspace
from hornbook.commits import git as asked
from hornbook.commits.history import carry_entries, steps
from hornbook.doctor.replay import Replay, answer
from hornbook.errors import UsageError
from tests.kit.git import git
from tests.kit.histories import Made, make_history
from tests.kit.workspaces import write

GO = "---\nglobs: '**/*.go'\n---\n\n# Go\n\nWrap every error.\n"
ALWAYS = "# House rules\n\nWrite whole sentences.\n"
GO_ID = "source.doc.sops.cursor-go"
AGENTS = "source.doc.sops.agents-agents"

PATHS = ("main.go", "web/app.ts", "docs/guide.md", "a/b/c.go", "picture.png", "new\tname.go")
RULES = ("AGENTS.md", ".cursor/rules/go.mdc", "a/AGENTS.md", ".hornbook/config.yaml")
TEXTS = {
    ".hornbook/config.yaml": (
        "reserve: 40\n",
        "reserve: 9000\n",
        "reserve: nonsense\n",
        "agents_merge: nearest\n",
    ),
    ".cursor/rules/go.mdc": (GO, GO + "\nName the operation. " * 30),
}
CONTENTS = (
    "one\n",
    "one\ntwo\n",
    "package main\n\nfunc main() {}\n",
    b"\0\1\2",
    "-> main.go",
    "x " * 4000,
)


@some.composite
def commits(draw: Any) -> list[Made]:
    """A history with edits, deletions, rules that come and go, bad settings, and merges."""
    made = [Made({"main.go": "package main\n", "AGENTS.md": ALWAYS})]
    there = [{"main.go", "AGENTS.md"}]
    for place in range(1, draw(some.integers(2, 9))):
        parent = draw(some.sampled_from([place - 1, place - 1, max(0, place - 3)]))
        held = set(there[parent])
        files: dict[str, str | bytes | None] = {}
        for path in draw(some.lists(some.sampled_from(PATHS + RULES), max_size=4, unique=True)):
            if path in held and draw(some.integers(0, 3)) == 0:
                files[path] = None
                held.discard(path)
            else:
                texts = TEXTS.get(path, (ALWAYS, ALWAYS * 9) if path in RULES else CONTENTS)
                files[path] = draw(some.sampled_from(texts))
                held.add(path)
        merged = [place - 1] if parent != place - 1 else []
        made.append(Made(files, f"change {place}", parent, merged))
        there.append(held)
    return made


def replayed(root: Path, **asked: Any) -> Replay:
    with Workspace.open(root) as work:
        return work.replay(**asked)


def separately(root: Path, base: str, commit: str) -> tuple[object, ...]:
    """What `context review` and `why --at` say of one change."""
    with Workspace.open(root) as work:
        try:
            context = work.review_context(diff=f"{base}..{commit}")
        except UsageError:
            return ("not_judged",)
        files = [each.path for each in work.why(context_files(root, base, commit), at=base)]
        rules = {rule.id for each in work.why(files, at=base) for rule in each.rules}
        return (
            context.outcome,
            context.sop_ids,
            context.tokens,
            len(context.passes),
            tuple(sorted(rules)),
        )


def context_files(root: Path, base: str, commit: str) -> list[str]:
    names = git(root, "diff", "--name-only", "--no-renames", "-z", base, commit)
    return [name for name in names.split("\0") if name]


def first_parents(root: Path, *limits: str) -> list[list[str]]:
    return [
        line.split()
        for line in git(root, "rev-list", "--first-parent", "--parents", *limits).splitlines()
    ]


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(made=commits())
def test_a_replay_says_what_separate_questions_say(made: Sequence[Made]) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder) / "repo"
        make_history(root, made)
        (root / ".hornbook/config.yaml").unlink(missing_ok=True)  # only commits are asked here
        found = {each.step.commit: each for each in replayed(root, last=100).changes}
        steps = first_parents(root, "HEAD")
        assert list(found) == [commit for commit, *_ in reversed(steps)]
        for commit, *parents in steps:
            each = found[commit]
            assert each.step.base == (parents[0] if parents else None)
            if not parents:
                assert each.packet.outcome == "not_judged"
                continue
            packet = each.packet
            said = separately(root, parents[0], commit)
            if said == ("not_judged",):
                assert packet.outcome == "not_judged"
            else:
                bound = tuple(sorted(packet.rules))
                assert said == (packet.outcome, packet.rules, packet.tokens, packet.passes, bound)
                assert set(context_files(root, parents[0], commit)) == set(each.files)


HISTORY = (
    Made({"main.go": "package main\n", "AGENTS.md": ALWAYS}, "Begin"),
    Made({"main.go": "package main\n\nfunc main() {}\n"}, "Add main"),
    Made({".cursor/rules/go.mdc": GO}, "Write a rule for Go"),
    Made({"web/app.ts": "export {}\n"}, "On a branch", parent=1),
    Made({"web/app.ts": "export {}\n", ".cursor/rules/go.mdc": GO}, "Merge it", 2, (3,)),
    Made({"main.go": "package main\n\nfunc main() { run() }\n"}, "Run"),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_history(tmp_path / "repo", HISTORY)
    return tmp_path / "repo"


def subjects(found: Replay) -> list[str]:
    return [each.step.subject for each in found.changes]


def test_changes_are_first_parent_steps_and_a_merge_is_one(root: Path) -> None:
    found = replayed(root)
    assert subjects(found) == ["Begin", "Add main", "Write a rule for Go", "Merge it", "Run"]
    assert found.changes[3].files == ("web/app.ts",)
    assert subjects(replayed(root, last=2)) == ["Merge it", "Run"]
    assert subjects(replayed(root, span="HEAD~3..HEAD~1")) == ["Write a rule for Go", "Merge it"]
    assert replayed(root, span="HEAD..HEAD").changes == ()


def test_a_change_is_judged_by_the_rules_of_its_parent(root: Path) -> None:
    rules = {each.step.subject: each.packet.rules for each in replayed(root).changes}
    assert rules["Add main"] == (AGENTS,)
    assert rules["Write a rule for Go"] == (AGENTS,)
    assert rules["Run"] == (AGENTS, GO_ID)


def test_the_first_commit_is_judged_only_by_rules_that_are_named(root: Path) -> None:
    first = replayed(root).changes[0].packet
    assert (first.outcome, first.reasons[0].code) == ("not_judged", "no_base")
    named = replayed(root, against="HEAD").changes[0]
    assert named.packet.outcome == "complete"
    assert named.packet.rules == (AGENTS, GO_ID)
    assert not named.changed


def test_other_rules_judge_every_change_beside_those_of_the_tip(root: Path) -> None:
    found = replayed(root, span="HEAD~4..HEAD", against="HEAD~3")
    changed = {each.step.subject: each for each in found.changes if each.changed}
    assert list(changed) == ["Add main", "Run"]
    for each in changed.values():
        assert each.packet.rules == (AGENTS, GO_ID)
        assert each.against is not None
        assert each.against.rules == (AGENTS,)
        assert each.against.tokens < each.packet.tokens
    assert found.never_bound == ()
    assert answer(found)["summary"] == {
        "changes": 4, "complete": 4, "passes": 0, "refused": 0, "too_big": 0, "not_judged": 0,
        "never_bound": [], "changed": 2,
    }  # fmt: skip


def test_the_rules_of_the_work_tree_are_tried_before_they_are_committed(root: Path) -> None:
    write(
        root, {".cursor/rules/web.mdc": GO.replace("*.go", "*.ts"), "AGENTS.md": ALWAYS + "More.\n"}
    )
    write(root, {".cursor/rules/sql.mdc": GO.replace("*.go", "*.sql")})
    found = replayed(root, last=3, worktree=True)
    assert not (root / ".hornbook").exists()
    merged = found.changes[1]
    assert merged.packet.rules == (AGENTS,)
    assert merged.against is not None
    assert merged.against.rules == (AGENTS, "source.doc.sops.cursor-web")
    assert all(each.changed for each in found.changes)  # a text that all are judged by is another
    assert found.never_bound == ("source.doc.sops.cursor-sql",)


def test_a_packet_that_no_longer_fits_is_told(root: Path) -> None:
    write(root, {"AGENTS.md": ALWAYS * 8000})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Write much")
    found = replayed(root, span="HEAD~4..HEAD~1", against="HEAD")
    assert [each.packet.fits for each in found.changes] == [True] * 3
    assert [each.against and each.against.outcome for each in found.changes] == ["sop_overflow"] * 3


def test_a_rule_that_bound_no_change_is_listed(root: Path) -> None:
    assert replayed(root, last=2).never_bound == ()
    assert replayed(root, span="HEAD~2..HEAD~1").never_bound == (GO_ID,)


def test_where_a_shallow_clone_ends_the_change_is_not_judged(root: Path, tmp_path: Path) -> None:
    clone = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=2", root.as_uri(), str(clone))
    found = replayed(clone)
    assert subjects(found) == ["Merge it", "Run"]
    end = found.changes[0].packet
    assert (end.outcome, end.reasons[0].code) == ("not_judged", "missing_parent")
    assert "--unshallow" in end.reasons[0].message
    assert found.changes[1].packet.outcome == "complete"


def test_an_object_that_is_missing_costs_its_changes_only(root: Path) -> None:
    whole = replayed(root).changes
    blob = git(root, "rev-parse", "HEAD~1:web/app.ts")
    lose(root, blob)
    found = replayed(root)
    lost = [each.step.subject for each in found.changes if each.packet.outcome == "not_judged"]
    assert lost == ["Begin", "Merge it"]
    reason = found.changes[3].packet.reasons[0]
    assert reason.code == "unreadable_change"
    assert f"lacks the object {blob}" in reason.message
    assert "git fetch --refetch" in reason.message
    assert [found.changes[place] for place in (1, 2, 4)] == [whole[place] for place in (1, 2, 4)]


def lose(root: Path, blob: str) -> None:
    """Take one object out of a repository."""
    pack = next((root / ".git/objects/pack").glob("*.pack"), None)
    if pack is not None:
        data = pack.read_bytes()
        pack.with_suffix(".idx").unlink()
        pack.unlink()
        subprocess.run(["git", "-C", str(root), "unpack-objects", "-q"], input=data, check=True)
    (root / ".git/objects" / blob[:2] / blob[2:]).unlink()


def test_settings_that_cannot_be_read_cost_the_changes_after_them(tmp_path: Path) -> None:
    bad = Made({".hornbook/config.yaml": "reserve: nonsense\n"}, "Break")
    mended = Made({".hornbook/config.yaml": None}, "Mend")
    make_history(tmp_path, [*HISTORY, bad, mended, Made({"main.go": "package main\n"}, "Go on")])
    found = replayed(tmp_path, last=3)
    assert [each.packet.outcome for each in found.changes] == ["complete", "not_judged", "complete"]
    reason = found.changes[1].packet.reasons[0]
    assert reason.code == "unreadable_rules"
    assert "config.yaml, line 1" in reason.message


def test_what_is_no_range_is_refused_with_what_to_write(root: Path) -> None:
    with pytest.raises(UsageError, match=r"write A\.\.B"):
        replayed(root, span="HEAD")
    with pytest.raises(UsageError, match="names no commit"):
        replayed(root, against="nowhere")
    with pytest.raises(UsageError, match="not both"):
        replayed(root, against="HEAD", worktree=True)


def test_nothing_is_written_where_there_is_no_workspace(root: Path) -> None:
    before = git(root, "status", "--porcelain", "--ignored")
    replayed(root)
    assert git(root, "status", "--porcelain", "--ignored") == before
    assert not (root / ".hornbook").exists()


def test_what_commits_hold_follows_from_their_parents(root: Path) -> None:
    chain = steps(root)
    with asked.operation(root):
        carried = [
            (step, asked.entries_of(root, step.commit)) for step in carry_entries(root, chain)
        ]
    for step, entries in carried:
        assert entries == asked.entries_of(root, step.commit)
