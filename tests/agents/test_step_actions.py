"""Reading a model's answer, and doing what it asks for inside the worktree and its scope."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hornbook.agents.embedded.actions import Misread, StepAction, load_item, read_action
from hornbook.agents.embedded.developer import StepSituation, baseline, perform
from hornbook.agents.embedded.progress import (
    FailedTest,
    Verification,
    is_test_gate,
    issues,
    obstacles,
    read_tests,
)
from hornbook.agents.embedded.scoped_worktree import (
    EditRefused,
    LoadedFiles,
    ProposedEdit,
    ScopedWorktree,
)
from hornbook.agents.embedded.step import Phase, Result, StepRecord, StepTask, as_json, from_json
from hornbook.gates.gate import GateReport, GateResult, GateStatus
from hornbook.plans.plan import Constraints
from tests.kit.step_runs import act, gate, report
from tests.kit.workspaces import write

EDIT = StepAction("edit_file", (("path", "a.py"), ("search", "x = 1\n"), ("replace", "x = 2\n")))
YAML_EDIT = "action: edit_file\nparameters:\n  path: a.py\n  search: |\n    x = 1\n  replace: |\n    x = 2\n"


# Reading


@pytest.mark.parametrize(
    "answer",
    [
        YAML_EDIT,
        f"```yaml\n{YAML_EDIT}```",
        f"I will change it.\n\n```\n{YAML_EDIT}```\n\nThat should do.",
        f"First I think: this is wrong.\n\n{YAML_EDIT}\nThis makes the test pass.",
        '{"action": "edit_file", "parameters": {"path": "a.py", "search": "x = 1\\n", "replace": "x = 2\\n"}}',
        'Here:\n```json\n{"action": "edit_file", "parameters": {"path": "a.py", "search": "x = 1\\n", "replace": "x = 2\\n"}}\n```',
        f"```python\nx = 2\n```\n\n```yaml\n{YAML_EDIT}```",
        YAML_EDIT.replace("\n", "\r\n"),
        f"reason: it is wrong\n{YAML_EDIT}",
    ],
)
def test_an_action_is_read_through_fences_and_prose(answer: str) -> None:
    assert read_action(answer) == EDIT


def test_a_fence_inside_a_parameter_is_text() -> None:
    content = "# Title\n\n```sh\nmake\n```\n"
    block = yaml.safe_dump({"action": "edit_file", "parameters": {"path": "a.md", "content": content}}, default_style="|")  # fmt: skip
    assert read_action(f"```yaml\n{block}```").given["content"] == content


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("I am done.", "no action was found"),
        ("", "no action was found"),
        (f"{YAML_EDIT}---\n{YAML_EDIT}", "2 actions were found"),
        (f"```yaml\n{YAML_EDIT}```\n```yaml\naction: complete\n```", r"2 actions were found \(edit_file, complete\)"),
        ("- action: run_check\n- action: complete\n", "2 actions were found"),
        ("action: edit_fil\n", "did you mean 'edit_file'"),
        ("action: [a]\n", "no action"),
        ("action: read_file\nparameters:\n  file: a.py\n", r"unknown parameter 'file'.*path is missing"),
        ("action: read_file\nparameters:\n  pth: a.py\n", "did you mean 'path'"),
        ("action: read_file\npath: a.py\n", "parameters go below `parameters:`"),
        ("action: read_file\nparameters: a.py\n", "must be a mapping"),
        ("action: read_file\nparameters:\n  path: [a]\n", "path must be one text"),
        ("action: read_file\nparameters:\n  path: a\n  start: two\n", "start must be a number, not 'two'"),
        ("action: load_context\nparameters:\n  item: test_output\n  pinned: maybe\n", "pinned must be a flag"),
        ("action: escalate\n", "reason is missing"),
        ("action: edit_file\nparameters:\n  path: 'a\n", "not YAML: line"),
        ('action: read_file\nparameters:\n  path: "\\uD800"\n', "half of a surrogate pair"),
        ('action: read_file\nparameters:\n  path: "\\UFFFFFFFF"\n', "not YAML"),
        ("action: " + "[" * 20_000, "not YAML"),
        ('{"action": ' + "[" * 200_000, "not YAML"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_told(answer: str, said: str) -> None:
    with pytest.raises(Misread, match=said):
        read_action(answer)


@given(st.text())
def test_any_answer_is_read_or_told(answer: str) -> None:
    try:
        name = read_action(answer).name
    except Misread as problem:
        name = str(problem)
    assert name


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]) | st.just("\n"), min_size=1))
def test_a_parameter_arrives_as_it_was_written(content: str) -> None:
    assert read_action(act("edit_file", path="a", content=content)).given["content"] == content


def test_items_to_load_are_known() -> None:
    assert load_item("full_file:src/a.py") == ("full_file", "src/a.py")
    assert load_item("related_files") == ("related_files", "")
    for item in ("full_file", "test_output:x", "ful_file:a"):
        with pytest.raises(Misread):
            load_item(item)


# The workbench


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    (tmp_path / "outside.txt").write_text("secret\n")
    write(
        root,
        {
            "src/a.py": "import helper\nx = 1\ny = 1\n",
            "src/helper.py": "def help() -> None: ...\n",
            "src/user.py": "from a import x\n",
            "docs/a.md": "# A\n",
            ".git/config": "[core]\n",
            ".hornbook/config.yaml": "a: 1\n",
        },
    )
    return root


@pytest.mark.parametrize("path", ["/etc/passwd", "../outside.txt", "src/../../outside.txt", "", ".git/config", ".hornbook/config.yaml", "link", "linked/a.py", "a\0b"])  # fmt: skip
def test_nothing_outside_the_worktree_is_read_or_written(tree: Path, path: str) -> None:
    (tree / "link").symlink_to(tree.parent / "outside.txt")
    (tree / "linked").symlink_to(tree.parent)
    worktree = ScopedWorktree(tree)
    with pytest.raises(EditRefused):
        worktree.read(path)
    with pytest.raises(EditRefused):
        worktree.edit(path, {"content": "x"})
    assert (tree.parent / "outside.txt").read_text() == "secret\n"


def test_a_link_into_what_is_not_to_be_touched_is_judged_by_where_it_leads(tree: Path) -> None:
    (tree / "way").symlink_to("docs")
    worktree = ScopedWorktree(tree, Constraints(do_not_touch=("docs/**",)))
    with pytest.raises(EditRefused, match="DO NOT TOUCH"):
        worktree.edit("way/a.md", {"content": "x"})


@pytest.mark.parametrize(
    ("scope", "said"),
    [
        (Constraints(inside=("docs/**",)), "IN: docs/"),
        (Constraints(outside=("src/*.py",)), "OUT: src/"),
        (Constraints(do_not_touch=("src/",)), "DO NOT TOUCH: src/"),
    ],
)
def test_an_edit_out_of_scope_is_refused_and_reading_is_not(
    tree: Path, scope: Constraints, said: str
) -> None:
    worktree = ScopedWorktree(tree, scope)
    assert "x = 1" in worktree.read("src/a.py")
    with pytest.raises(EditRefused, match=said):
        worktree.edit("src/a.py", {"content": "x"})


def test_an_edit_replaces_the_one_place_and_keeps_mode_and_line_ends(tree: Path) -> None:
    path = tree / "src/run.sh"
    path.write_bytes(b"#!/bin/sh\r\necho a\r\necho b")
    path.chmod(0o755)
    worktree = ScopedWorktree(tree)
    worktree.apply(worktree.edit("src/run.sh", {"search": "echo a\n", "replace": "echo c\n"}))
    assert path.read_bytes() == b"#!/bin/sh\r\necho c\r\necho b"
    worktree.apply(worktree.edit("src/run.sh", {"search": "echo b\n", "replace": "echo d\n"}))
    assert path.read_bytes() == b"#!/bin/sh\r\necho c\r\necho d"
    assert path.stat().st_mode & 0o777 == 0o755
    assert [each.name for each in path.parent.iterdir() if each.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"search": " = 1", "replace": " = 2"}, "stands 2 times in src/a.py, in lines 2, 3"),
        ({"search": "z = 1", "replace": "z"}, "is not in src/a.py"),
        ({"search": "", "replace": "z"}, "`search` is empty"),
        ({"search": "x = 1", "replace": "x = 1"}, "leaves src/a.py as it is"),
        ({"search": "x = 1"}, "give `search` and `replace`"),
        ({"content": "a", "search": "x = 1", "replace": "b"}, "or `content` alone"),
    ],
)
def test_an_edit_that_is_not_clear_is_refused(tree: Path, given: dict[str, str], said: str) -> None:
    with pytest.raises(EditRefused, match=said):
        ScopedWorktree(tree).edit("src/a.py", given)


def test_a_binary_file_a_folder_and_a_missing_file_are_told(tree: Path) -> None:
    (tree / "b.bin").write_bytes(b"\xff\xfe\x00")
    worktree = ScopedWorktree(tree)
    for path, said in (("b.bin", "not UTF-8"), ("src", "it holds: a.py"), ("no.py", "not there")):
        with pytest.raises(EditRefused, match=said):
            worktree.read(path)


def test_what_git_ignores_is_not_searched(tree: Path) -> None:
    import shutil
    import subprocess

    shutil.rmtree(tree / ".git")
    write(tree, {".gitignore": "build/\n", "build/out.py": "x = 1\n", "new.py": "x = 1\n"})
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    assert ScopedWorktree(tree).search("^x = 1$") == ["new.py:1: x = 1", "src/a.py:2: x = 1"]


@pytest.mark.parametrize("path", ["loop", "a" * 5000, "src/a.py/below.py"])
def test_a_path_that_cannot_be_opened_is_refused(tree: Path, path: str) -> None:
    (tree / "loop").symlink_to("loop")
    worktree = ScopedWorktree(tree)
    with pytest.raises(EditRefused):
        worktree.read(path)
    with pytest.raises(EditRefused):
        worktree.apply(worktree.edit(path, {"content": "x"}))


def test_a_pattern_that_takes_too_long_is_refused(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hornbook.agents.embedded.scoped_worktree.SEARCH_SECONDS", 0.05)
    write(tree, {"long.txt": "a" * 4000})
    with pytest.raises(EditRefused, match="takes too long"):
        ScopedWorktree(tree).search("(a|aa)+$(?<=b)")


def test_a_search_is_bounded_and_leaves_closed_folders_out(tree: Path) -> None:
    write(tree, {"many.txt": "hit\n" * 500})
    worktree = ScopedWorktree(tree)
    assert worktree.search("x = 1") == ["src/a.py:2: x = 1"]
    assert worktree.search(r"core|a: 1") == []
    hits = worktree.search("hit", "*.txt")
    assert len(hits) == 61
    assert "narrow the search" in hits[-1]
    with pytest.raises(EditRefused, match="no regular expression"):
        worktree.search("(")


# Doing


def situation(
    root: Path,
    check: Callable[[Sequence[str]], GateReport],
    *records: StepRecord,
    task: StepTask | None = None,
    kept: list[ProposedEdit] | None = None,
) -> StepSituation:
    made = task or StepTask("t", "g", Phase.IMPLEMENT_GREEN, files=("src/a.py",), specification="# Spec\n\n## Paging\n\nTile.\n\n## Other\n\nREQ-7 holds.\n")  # fmt: skip
    keep = [] if kept is None else kept
    return StepSituation(made, records, LoadedFiles(ScopedWorktree(root), made), check, keep.append)


def passing(names: Sequence[str]) -> GateReport:
    return report(*(gate(name, passed=True) for name in names or ("build", "test")))


def do(answer: str, at: StepSituation, step: int = 1) -> StepRecord:
    return perform(read_action(answer), at, step)


def test_a_change_is_kept_made_and_verified(tree: Path) -> None:
    asked: list[Sequence[str]] = []

    def check(names: Sequence[str]) -> GateReport:
        asked.append(names)
        return report(gate("build", passed="x = 2" in (tree / "src/a.py").read_text()))

    kept: list[ProposedEdit] = []
    at = situation(tree, check, kept=kept)
    done = do(act("edit_file", path="src/a.py", search="x = 1", replace="x = 2"), at)
    assert (done.result, done.error, asked) == (Result.SUCCESS, None, [()])
    assert done.change == kept[0].change
    assert kept[0].before is not None
    assert done.summary == "changed src/a.py (+0 lines), 1 of 1 checks passing"


def test_a_change_without_any_check_is_not_a_success(tree: Path) -> None:
    done = do(act("edit_file", path="new.py", content="x\n"), situation(tree, lambda _: report()))
    assert done.result is Result.FAILING
    assert "no checks are configured" in done.summary


def test_an_unknown_check_is_told_with_those_that_there_are(tree: Path) -> None:
    at = situation(tree, lambda names: passing([n for n in names if n != "tst"] or ["x"]) if not names else report(), baseline(passing))  # fmt: skip
    done = do(act("run_check", name="tst"), at)
    assert done.error == "no check 'tst'; there are: build, test."


LOADS = {
    "full_file:src/a.py": "   2  x = 1",
    "related_files": "== src/helper.py ==",
    "test_output": "FAILED tests/test_a.py::test_x",
    "spec_section:paging": "## Paging\n\nTile.",
    "spec_section:REQ-7": "REQ-7 holds.",
    "error_details": "FAILED tests/test_a.py::test_x",
}


@pytest.mark.parametrize("item", LOADS)
def test_every_item_is_loaded(tree: Path, item: str) -> None:
    failing = gate("test", passed=False, output="FAILED tests/test_a.py::test_x - boom\n")
    at = situation(tree, passing, StepRecord(0, "run_check", gates=(failing,)))
    done = do(act("load_context", item=item), at)
    assert (done.error, done.loads) == (None, item)
    assert LOADS[item] in at.loaded.content(done, at.records)


def test_the_whole_output_of_a_test_comes_from_its_log(tree: Path, tmp_path: Path) -> None:
    log = tmp_path / "test.log"
    log.write_text("all of it\n" * 50)
    result = GateResult("test", True, GateStatus.FAILED, 1, 0.1, "end of it", "", str(log))
    at = situation(tree, passing, StepRecord(0, "run_check", gates=(result,)))
    done = do(act("load_context", item="test_output"), at)
    assert at.loaded.content(done, at.records).count("all of it") == 50


def test_related_files_import_or_are_imported(tree: Path) -> None:
    at = situation(tree, passing)
    content = at.loaded.content(do(act("load_context", item="related_files"), at), ())
    assert "== src/helper.py ==" in content
    assert "== src/user.py ==" in content
    assert "docs/a.md" not in content


def test_lines_of_a_file_are_read_with_their_numbers(tree: Path) -> None:
    at = situation(tree, passing)
    done = do(act("read_file", path="src/a.py", start=2, end=2), at)
    assert at.loaded.content(done, ()) == "   2  x = 1"
    assert done.loads == "read_file:src/a.py:2-2"
    assert "has 4 lines" in (do(act("read_file", path="src/a.py", start=9), at).error or "")


def test_when_both_slots_are_pinned_nothing_more_is_loaded(tree: Path) -> None:
    records: tuple[StepRecord, ...] = ()
    for step, path in enumerate(("src/a.py", "src/helper.py"), 1):
        at = situation(tree, passing, *records)
        records += (do(act("load_context", item=f"full_file:{path}", pinned=True), at, step),)
    at = situation(tree, passing, *records)
    assert "every slot" in (do(act("read_file", path="docs/a.md"), at, 3).error or "")
    again = do(act("load_context", item="full_file:src/a.py", pinned=True), at, 3)
    assert again.error is None
    assert "no loaded item 'x'" in (do(act("clear_context", item="x"), at, 3).error or "")


def test_complete_needs_a_change_and_every_required_gate(tree: Path) -> None:
    done = act("complete", summary="Done.")
    start = baseline(passing)
    assert "no check has run" in (do(done, situation(tree, passing)).error or "")
    assert "no file was changed" in (do(done, situation(tree, passing, start)).error or "")
    at = situation(tree, passing, start)
    changed = do(act("edit_file", path="src/a.py", search="x = 1", replace="x = 2"), at)
    assert do(done, situation(tree, passing, start, changed), 2).error is None
    broken = situation(tree, lambda _: report(gate("build", passed=False, message="3 errors")), start)  # fmt: skip
    failed = do(act("edit_file", path="src/a.py", search="x = 2", replace="x = 3"), broken)
    told = do(done, situation(tree, passing, start, failed), 2).error or ""
    assert "build fails: 3 errors" in told


def test_optional_gates_do_not_stop_completion_and_skipped_ones_prove_nothing() -> None:
    task = StepTask("t", "g", Phase.REFINE)
    warned = GateResult("lint", False, GateStatus.WARNED)
    skipped = GateResult("build", True, GateStatus.SKIPPED)
    assert obstacles(task, Verification((gate("test", passed=True), warned)), ["a"]) == []
    assert obstacles(task, Verification((skipped, warned)), ["a"]) == ["no check passed"]


@given(st.text(), st.text(), st.booleans())
def test_a_record_is_read_back_from_its_line(word: str, output: str, passed: bool) -> None:
    import json

    made = StepRecord(3, "edit_file", (("path", word),), word, Result.FAILING, word, word or None, None, (gate(word, passed=passed, output=output),), word)  # fmt: skip
    assert from_json(json.loads(json.dumps(as_json(made)))) == made


# Tests that must fail for the right reason


def red(output: str, before: str = "", changed: Sequence[str] = ("tests/test_a.py",), **more: Any) -> list[str]:  # fmt: skip
    task = StepTask("t", "g", Phase.IMPLEMENT_RED, files=("src/paging.py", "tests/test_a.py"))
    gates = (gate("build", passed=True), gate("test", passed=False, output=output), *more.get("others", ()))  # fmt: skip
    start = (gate("test", passed=not before, output=before),)
    return obstacles(task, Verification(gates, start), changed)


NEW = "FAILED tests/test_a.py::test_tile - AssertionError: assert 1 == 2\n"
PYTEST = """\
=================================== FAILURES ===================================
___________________________________ test_tile __________________________________

    def test_tile():
>       assert tile(1) == 2
E       AssertionError: a gap

tests/test_a.py:2: AssertionError
=========================== short test summary info ============================
FAILED tests/test_a.py::test_tile - Asser...
"""


@pytest.mark.parametrize(
    "output",
    [
        NEW,
        PYTEST,
        "FAILED tests/test_a.py::test_tile - NotImplementedError\n",
        "FAILED tests/test_a.py::test_tile - ModuleNotFoundError: No module named 'src.paging'\n",
        "FAILED tests/test_a.py::test_tile - AttributeError: module 'src.paging' has no attribute 'tile'\n",
        "FAILED tests/test_a.py::test_tile - AttributeError: 'Pages' object has no attribute 'tile'\n",
        "FAILED tests/test_a.py::test_tile - ImportError: cannot import name 'tile' from 'src.paging' (src/paging.py)\n",
        "FAILED tests/test_a.py::test_tile - assert 1 == 2\n",
        "FAILED tests/test_a.py::test_tile - TypeError: f() got an unexpected keyword argument 'page'\n",
        "FAILED tests/test_a.py::test_tile - Failed: DID NOT RAISE <class 'ValueError'>\n",
        "FAIL: test_tile (tests.test_a.TestTile.test_tile)\n---\nTraceback (most recent call last):\nAssertionError: 1 != 2\n",
    ],
)
def test_new_tests_that_fail_on_the_missing_feature_are_complete(output: str) -> None:
    assert red(output) == []


def test_go_and_rust_tests_are_understood() -> None:
    go = "--- FAIL: TestTile (0.00s)\n    tile_test.go:9: got 1, want 2\nFAIL\n"
    assert red(go, changed=("pkg/tile_test.go",)) == []
    rust = "test tests::tile ... FAILED\n\nthread 'tests::tile' panicked at src/tile.rs:9:5:\nassertion `left == right` failed\n"
    assert red(rust, changed=("src/tile.rs",)) == []


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("3 passed in 0.1s\n", "no new test fails"),
        ("no tests ran in 0.01s\n", "not collected: no tests ran"),
        ("ERROR tests/test_a.py - SyntaxError: invalid syntax\n", "not collected: tests/test_a.py"),
        ("ERROR tests/test_a.py::test_tile - fixture 'x' not found\n", "not collected"),
        ("FAILED tests/test_a.py::test_tile - NameError: name 'tlie' is not defined\n", "wrong reason: it fails with NameError"),
        ("FAILED tests/test_a.py::test_tile - ModuleNotFoundError: No module named 'pytset'\n", "pytset is none of the task's files"),
        ("FAILED tests/test_a.py::test_tile - AttributeError: module 'json' has no attribute 'lods'\n", "json is none of the task's files"),
        ("FAILED tests/test_a.py::test_tile - NameError: name 'assert_x' is not defined\n", "wrong reason"),
        ("FAILED tests/test_a.py::test_tile - Failed: Timeout >1.0s\n", "wrong reason"),
        ("FAILED tests/test_a.py::test_tile - TypeError: unsupported operand\n", "wrong reason"),
        ("FAILED tests/test_a.py::test_tile\n", "no reason in the output"),
        (f"{NEW}FAILED tests/test_old.py::test_b - AssertionError\n", "test_old.py::test_b failed in a file that was not changed"),
        ("FAIL\tpkg/tile [build failed]\n", "pkg/tile: it does not build"),
        ("error: could not compile `tile` (lib test)\n", "could not compile"),
        ("ERROR: tests.test_a (unittest.loader._FailedTest.tests.test_a)\n", "could not be imported"),
    ],
)  # fmt: skip
def test_tests_that_prove_nothing_are_not_complete(output: str, said: str) -> None:
    assert said in "; ".join(red(output))


def test_a_test_that_failed_before_is_not_new_and_other_gates_must_pass() -> None:
    assert red(NEW, before=NEW) == ["no new test fails: write tests that fail until the feature is there"]  # fmt: skip
    assert red(NEW, others=(gate("lint", passed=False, message="E1"),)) == ["lint fails: E1"]


@pytest.mark.parametrize(
    ("name", "runs_tests"),
    [("test", True), ("unit-tests", True), ("pytest", True), ("go test", True), ("test_api", True), ("latest", False), ("contest", False), ("build", False)],
)  # fmt: skip
def test_a_gate_that_runs_tests_is_known_by_its_name(name: str, runs_tests: bool) -> None:
    assert is_test_gate(gate(name, passed=True)) is runs_tests


def test_without_a_gate_that_runs_tests_nothing_is_proved() -> None:
    task = StepTask("t", "g", Phase.IMPLEMENT_RED)
    told = obstacles(task, Verification((gate("build", passed=True),)), ["a"])
    assert "no gate runs tests" in told[0]


def test_places_in_an_output_are_issues() -> None:
    found = issues("src/a.py:3:1: E501 too long\nsrc/a.py:3:1: E501 too long\nok\n" + NEW)
    assert [(each.path, each.line) for each in found] == [
        ("src/a.py", 3),
        ("tests/test_a.py", None),
    ]
    assert read_tests("whatever").failed == ()
    assert read_tests(NEW).failed == (FailedTest("tests/test_a.py::test_tile", "tests/test_a.py", "AssertionError: assert 1 == 2"),)  # fmt: skip


def test_an_edit_is_made_all_at_once(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(28, "no space", str(descriptor))

    worktree = ScopedWorktree(tree)
    edit = worktree.edit("src/a.py", {"content": "new\n"})
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(EditRefused, match="cannot be written: no space"):
        worktree.apply(edit)
    assert (tree / "src/a.py").read_text() == "import helper\nx = 1\ny = 1\n"
    assert sorted(each.name for each in (tree / "src").iterdir()) == ["a.py", "helper.py", "user.py"]  # fmt: skip
