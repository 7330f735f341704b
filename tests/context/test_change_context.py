"""Contexts of real changes in real git repositories, judged by the rules of their base."""

import json
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hornbook import Workspace
from hornbook.commits.change import change
from hornbook.context.prompt import SHOWN_LINES, Outcome, Pressure, patch_shown
from hornbook.context.receipt import receipt, verify
from hornbook.errors import UsageError
from hornbook.text.tokens import counter
from tests.kit.commands import run
from tests.kit.workspaces import ERROR_HANDLING, SOPS, with_the_example_sop, write

ERRORS = "source.doc.sops.error-handling"
COVERAGE = "source.doc.sops.test-coverage"


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    command = ["git", *identity, "-C", str(root), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(root: Path, message: str = "work") -> str:
    git(root, "add", "-A")
    git(root, "commit", "-qm", message)
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    with_the_example_sop(tmp_path)
    write(tmp_path, {"main.go": "package main\n", "handlers/user.go": "package handlers\n"})
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path, "base")
    git(tmp_path, "checkout", "-qb", "work")
    return tmp_path


def packet(root: Path, span: str = "main..work"):  # type: ignore[no-untyped-def]
    with Workspace.open(root) as work:
        return work.review_packet(diff=span)


def test_a_change_is_judged_whole_with_its_patch(root: Path) -> None:
    write(root, {"main.go": "package main\n\nfunc main() {}\n"})
    head = commit(root)
    found = packet(root)
    assert found.context.outcome is Outcome.COMPLETE
    assert found.context.sop_ids == (ERRORS,)
    assert "+func main() {}" in found.context.text
    assert ERROR_HANDLING.split("---\n", 2)[2] in found.context.text
    assert found.made_for.head == head
    facts = receipt(found.context, found.made_for)
    assert verify(facts, found.context.text.encode(), counter) == []


def test_a_change_with_the_value_of_a_secret_is_refused_with_path_and_line(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, {"main.go": 'package main\n\nvar key = "sk-12345678-secret"\n'})
    commit(root)
    assert packet(root).context.outcome is Outcome.COMPLETE
    monkeypatch.setenv("MY_API_KEY", "sk-12345678-secret")
    found = packet(root).context
    assert (found.outcome, found.text) == (Outcome.FAILED, None)
    assert [each.code for each in found.reasons] == ["secret_in_prompt"]
    assert found.reasons[0].message.startswith("main.go, line ")
    assert "MY_API_KEY" in found.reasons[0].message
    assert "sk-12345678" not in str(found)


def test_rules_that_a_change_edits_do_not_judge_it_and_are_findings(root: Path) -> None:
    write(root, {f"{SOPS}/error-handling.md": "---\napplies_to: '*.nothing'\n---\n# Gone\n"})
    write(root, {"main.go": "package main\n\nvar x = 1\n"})
    commit(root)
    found = packet(root)
    assert ERRORS in found.context.sop_ids
    assert "All errors must include context" in found.context.text
    assert found.made_for.findings == (f"{SOPS}/error-handling.md",)
    assert f'- "{SOPS}/error-handling.md"' in found.context.text


def test_settings_come_from_the_base_too(root: Path) -> None:
    write(root, {".hornbook/config.yaml": "reserve: 1\n", "main.go": "package main // x\n"})
    commit(root)
    context = packet(root).context
    assert (context.reserve, context.reserve_from) == (30_000, "default")


def test_a_refusal_says_where_the_reserve_came_from_and_what_the_work_tree_says(
    root: Path,
) -> None:
    base = git(root, "rev-parse", "HEAD").strip()
    write(root, {".hornbook/config.yaml": "reserve: 30\n", "main.go": "package main // x\n"})
    commit(root)
    with Workspace.open(root) as work:
        room = work.review_packet(diff="HEAD~1..HEAD").room
        assert room.reserve_said == (
            f"BASE {base[:12]} has no .hornbook/config.yaml, so it is `auto` in a window of 200000; "
            "your work tree says 30"
        )
        write(root, {"main.go": "package main // y\n"})
        commit(root)
        refused = work.review_context(diff="HEAD~1..HEAD")
        assert (refused.reserve, refused.reserve_from) == (30, "base")
        assert "has `reserve: 30`" in refused.reasons[0].message
        once = work.review_context(diff="HEAD~1..HEAD", reserve="20%")
        assert (once.reserve, once.reserve_from, once.outcome) == (40_000, "option", "complete")


def test_the_change_is_taken_from_the_merge_base_and_rules_from_the_tip(root: Path) -> None:
    write(root, {"main.go": "package main // work\n"})
    commit(root)
    git(root, "checkout", "-q", "main")
    write(root, {f"{SOPS}/new.md": "---\napplies_to: '*.go'\n---\n# New\n", "other.go": "x\n"})
    commit(root)
    found = packet(root)
    assert found.made_for.files == ("main.go",)
    assert "source.doc.sops.new" in found.context.sop_ids


def test_a_rename_is_bound_under_both_names(root: Path) -> None:
    git(root, "mv", "handlers/user.go", "plain.go")
    commit(root)
    found = packet(root)
    assert found.made_for.files == ("handlers/user.go", "plain.go")
    assert found.context.sop_ids == (ERRORS, COVERAGE)


def test_a_deletion_is_bound_by_the_rules_of_what_was_deleted(root: Path) -> None:
    git(root, "rm", "-q", "main.go")
    commit(root)
    found = packet(root)
    assert found.context.sop_ids == (ERRORS,)
    assert "deleted file" in found.context.text


def test_binary_files_links_and_mode_changes_are_part_of_the_change(root: Path) -> None:
    (root / "logo.png").write_bytes(b"\x89PNG\0\0")
    (root / "link.go").symlink_to("main.go")
    (root / "main.go").chmod(0o755)
    commit(root)
    found = packet(root)
    assert found.made_for.files == ("link.go", "logo.png", "main.go")
    assert "Binary files" in found.context.text
    assert "new mode 100755" in found.context.text


def test_a_file_that_becomes_a_link_keeps_both_pieces_of_its_patch(root: Path) -> None:
    (root / "main.go").unlink()
    (root / "main.go").symlink_to("handlers/user.go")
    write(root, {"z.go": "package z\n"})
    commit(root)
    found = change(root, "main..work")
    assert "deleted file" in found.patches["main.go"]
    assert "new file mode 120000" in found.patches["main.go"]
    assert "package z" in found.patches["z.go"]


def test_a_dirty_tree_changes_nothing(root: Path) -> None:
    write(root, {"main.go": "package main // work\n"})
    commit(root)
    before = packet(root).context
    write(root, {"main.go": "dirty\n", f"{SOPS}/error-handling.md": "dirty\n", "new.go": "x\n"})
    assert packet(root).context == before


def test_the_context_is_the_same_wherever_it_is_made(root: Path) -> None:
    write(root, {"main.go": "package main // é\n"})
    commit(root)
    seen = set()
    for zone, locale, seed in (("Asia/Tokyo", "C", "1"), ("America/Lima", "C.UTF-8", "77")):
        environment = {
            "TZ": zone,
            "LC_ALL": locale,
            "PYTHONHASHSEED": seed,
            "PATH": "/usr/bin:/bin",
        }
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "hornbook",
                "context",
                "review",
                "--diff",
                "main..work",
                "--json",
            ],
            cwd=root,
            check=True,
            capture_output=True,
            env=environment,
        )
        seen.add(done.stdout)
    assert len(seen) == 1
    assert json.loads(seen.pop())["outcome"] == "complete"


LINES = st.lists(
    st.sampled_from(["a", "b", "", "-- c", "++ d", "@@ -1 +1 @@", "\\ e"]), max_size=60
)


@given(LINES, LINES, st.booleans())
def test_a_patch_in_short_hunks_is_the_same_patch(
    old: list[str], new: list[str], ended: bool
) -> None:
    before, after = ("\n".join(each) + "\n" * ended for each in (old, new))
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("a", before), ("b", after)):
            Path(folder, name).write_text(text)
        command = ["git", "-C", folder, "diff", "--no-index", "a", "b"]
        patch = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        assume("\n@@" in patch)
        shown = patch_shown(patch).partition("\n")[2].rpartition("```")[0]
        subprocess.run(
            ["git", "-C", folder, "apply", "--unidiff-zero", "-p1", "-"],
            input=shown.replace("b/b", "b/a"),
            text=True,
            check=True,
        )
        assert Path(folder, "a").read_text() == after
    heads = [place for place, line in enumerate(shown.split("\n")) if line.startswith("@@")]
    assert all(later - first <= SHOWN_LINES + 2 for first, later in pairwise(heads))


def test_git_configuration_does_not_change_the_patch(root: Path) -> None:
    write(root, {"main.go": "package main\n\nvar x = 1\n"})
    commit(root)
    before = change(root, "main..work").patches
    for key, value in (
        ("core.abbrev", "20"),
        ("diff.suppressBlankEmpty", "true"),
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("color.ui", "always"),
        ("diff.algorithm", "patience"),
        ("diff.context", "9"),
        ("diff.external", "/bin/false"),
    ):
        git(root, "config", key, value)
    assert change(root, "main..work").patches == before


def test_an_empty_change_has_no_rules(root: Path) -> None:
    found = packet(root, "main..main")
    assert found.context.outcome is Outcome.COMPLETE
    assert found.context.sop_ids == ()
    assert "No rule binds these files." in found.context.text


def test_a_shallow_clone_without_the_base_is_told_so(root: Path, tmp_path_factory) -> None:  # type: ignore[no-untyped-def]
    write(root, {"main.go": "package main // a\n"})
    commit(root)
    clone = tmp_path_factory.mktemp("clone") / "shallow"
    git(root, "clone", "-q", "--depth", "1", "--no-single-branch", f"file://{root}", str(clone))
    with pytest.raises(UsageError, match="unshallow"):
        change(clone, "origin/main..origin/work")


def test_an_unborn_branch_names_no_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    with pytest.raises(UsageError, match="names no commit"):
        change(tmp_path, "main..HEAD")


def test_a_superseded_decision_is_not_served_as_current(root: Path) -> None:
    write(
        root,
        {
            "docs/adr/0001-go.md": "---\nstatus: superseded by [2](0002-rust.md)\napplies_to: '*.go'\n---\n# Go\n\nUse Go.\n",
            "docs/adr/0002-rust.md": "---\nstatus: accepted\napplies_to: '*.go'\n---\n# Rust\n\nUse Rust.\n",
        },
    )
    with Workspace.open(root) as work:
        work.ingest()
        context = work.review_context(["main.go"])
    assert "Use Rust." in (context.text or "")
    assert "Use Go." not in (context.text or "")
    assert [each.id for each in context.left_out] == ["decision.0001-go"]


def test_a_packet_on_disk_verifies_and_a_changed_one_does_not(root: Path) -> None:
    write(root, {"main.go": "package main // a\n"})
    commit(root)
    out = root / "packet"
    done = run(root, "context", "review", "--diff", "main..work", "--output", str(out))
    assert done.returncode == 0, done.stderr
    files = (str(out / "receipt.json"), str(out / "prompt.md"))
    assert run(root, "context", "verify", *files).returncode == 0
    prompt = out / "prompt.md"
    prompt.write_bytes(prompt.read_bytes().replace(b"identifiers", b"identifierz", 1))
    done = run(root, "context", "verify", *files)
    assert done.returncode == 1
    assert "section sops" in done.stdout


def test_an_overflowing_rule_set_is_refused_and_reviewed_in_passes(root: Path) -> None:
    write(root, {".hornbook/config.yaml": "reserve: 150\n"})
    git(root, "checkout", "-q", "main")
    commit(root)
    git(root, "checkout", "-q", "-B", "work")
    write(root, {"handlers/user.go": "package handlers // a\n"})
    commit(root)
    arguments = ("context", "review", "--diff", "main..work")
    done = run(root, *arguments, "--json")
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert (answer["outcome"], answer["text"]) == ("sop_overflow", None)
    out = root / "out"
    done = run(root, *arguments, "--passes", "--output", str(out))
    assert done.returncode == 0, done.stderr
    receipts = [json.loads(path.read_text()) for path in sorted(out.glob("*/receipt.json"))]
    assert len(receipts) == 2
    assert sorted(each for facts in receipts for each in facts["sop_ids"]) == answer["sop_ids"]
    assert all(facts["whole_set"] == answer["sop_ids"] for facts in receipts)
    for folder in sorted(out.iterdir()):
        files = (str(folder / "receipt.json"), str(folder / "prompt.md"))
        assert run(root, "context", "verify", *files).returncode == 0


def test_a_receipt_becomes_an_entity_that_tells_which_revisions_it_used(root: Path) -> None:
    write(root, {"main.go": "package main // a\n", ".hornbook/config.yaml": ""})
    head = commit(root)
    out = root / "packet"
    assert (
        run(root, "context", "review", "--diff", "main..work", "--output", str(out)).returncode == 0
    )
    with Workspace.open(root) as work:
        report = work.ingest(strict=True)
        assert report.problems == ()
        text = "SELECT ?revision WHERE { ?r receipt:head ?c ; prov:wasDerivedFrom ?revision }"
        rows = json.loads(work.sparql(text))["results"]["bindings"]
        name_of = work.snapshot().store.names.name_of
        used = [name_of(row["revision"]["value"]) for row in rows]
        revision = work.snapshot().document(ERRORS).revision
        assert used == [revision]
        (entry,) = [e for e in work.snapshot().catalog.entries if e.category == "receipt"]
        assert ("receipt.head", head) in work.snapshot().thing(entry.id).triples
        before = work.export()
        work.ingest(rebuild=True)
        assert work.export() == before
        assert work.why(["main.go"])[0].not_enforced == ()


def test_a_damaged_record_is_told(root: Path) -> None:
    write(root, {".hornbook/records/receipts/x.json": '{"files": 3}'})
    with Workspace.open(root) as work:
        codes = {problem.code for problem in work.ingest().problems}
    assert codes == {"bad_record"}


def test_the_reviewer_is_told_how_hard_the_developer_was_pressed(root: Path) -> None:
    with Workspace.open(root) as work:
        work.ingest()
        pressure = Pressure(91, 42, 3, ("coverage is 71, 80 are wanted",))
        text = work.review_context(["main.go"], pressure=pressure).text or ""
    assert "91 % full, after 42 steps and 3 attempts" in text
    assert "- Gate warning: coverage is 71" in text


def test_a_context_for_files_that_are_not_there_is_failed(root: Path) -> None:
    with Workspace.open(root) as work:
        work.ingest()
        found = work.review_context(["main.go", "gone.go"])
        assert (found.outcome, found.text) == (Outcome.FAILED, None)
        assert [each.code for each in found.reasons] == ["missing_file"]
        assert work.review_context([root / "main.go"]).outcome is Outcome.COMPLETE
