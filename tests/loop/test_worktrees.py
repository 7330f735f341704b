"""Worktrees of tasks: without rules, back at their base after anything, and judged by git."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hornbook.agents.command import AgentSurroundings
from hornbook.commits.change import links
from hornbook.commits.git_tampering import broken
from hornbook.commits.plan_branch import (
    ApprovalProof,
    BranchMoved,
    land,
    merge_onto,
    start_of,
)
from hornbook.commits.worktrees import (
    Worktree,
    change_set,
    discard,
    find,
    listed,
    prepare,
    reset,
    worktree_place,
)
from hornbook.commits.writer import Conflict, branch_tip, make_commit, merged
from hornbook.errors import UsageError
from hornbook.gates.floors import scope
from hornbook.gates.gate import GateStatus
from hornbook.loop.task_worktrees import TaskWorktrees
from hornbook.plans.plan import Constraints
from tests.kit.workspaces import SOPS, with_the_example_sop, write

PROOF = ApprovalProof("plan.auth", "task.auth.1", "run.1", "sha256:ab", "sha256:cd")


def approved(root: Path, tree: str, base: str, message: str, proof: ApprovalProof = PROOF) -> str:
    return make_commit(root, tree, (base,), message, trailers=proof.trailers)


def git(root: Path, *arguments: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    command = ["git", "-C", str(root), *who, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = with_the_example_sop(tmp_path / "repository")
    write(
        place,
        {
            ".hornbook/config.yaml": "reserve: 4000\n",
            ".hornbook/.gitignore": "/worktrees/\n",
            "services/.hornbook/sources/rule.md": "# Another rule\n",
            "app.py": "def run():\n    return 1\n",
            "docs/guide.md": "# Guide\n",
            ".gitignore": "*.log\n.venv/\n",
        },
    )
    git(place, "init", "-q", "-b", "main")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "first")
    return place


def files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".git"
    }


def start(root: Path, task: str = "1") -> Worktree:
    return prepare(root, "auth", task, "HEAD")


def test_a_worktree_has_the_files_of_its_base_without_the_rules(root: Path) -> None:
    tree = start(root)
    assert tree.path == root / ".hornbook/worktrees/auth/1"
    assert sorted(files(tree.path)) == [".gitignore", "app.py", "docs/guide.md"]
    assert git(tree.path, "status", "--porcelain") == ""
    assert git(root, "status", "--porcelain") == ""
    nothing = change_set(tree, "HEAD")
    assert (nothing.files, nothing.intruding, nothing.nested) == ((), (), ())
    assert nothing.tree == git(root, "rev-parse", "HEAD^{tree}")


def test_the_users_configuration_stays_as_it_was(root: Path) -> None:
    before = (root / ".git/config").read_bytes()
    tree = start(root)
    write(tree.path, {"new.py": "x = 1\n"})
    changes = change_set(tree, "HEAD")
    approved(root, changes.tree, "HEAD", "work")
    discard(root, "auth", "1")
    assert (root / ".git/config").read_bytes() == before
    assert git(root, "worktree", "list", "--porcelain").count("worktree ") == 1


def test_the_change_set_is_gits_and_leaves_the_rules_as_they_are(root: Path) -> None:
    tree = start(root)
    write(tree.path, {"app.py": "def run():\n    return 2\n", "new/deep.py": "x = 1\n"})
    (tree.path / "docs/guide.md").rename(tree.path / "docs/manual.md")
    (tree.path / "tool.sh").write_text("#!/bin/sh\n")
    (tree.path / "tool.sh").chmod(0o755)
    (tree.path / "link").symlink_to("app.py")
    write(tree.path, {"noise.log": "ignored\n"})
    changes = change_set(tree, "HEAD")
    found = {each.path: each for each in changes.files}
    assert sorted(found) == ["app.py", "docs/manual.md", "link", "new/deep.py", "tool.sh"]
    assert found["docs/manual.md"].before == "docs/guide.md"
    assert found["tool.sh"].mode == "100755"
    assert found["link"].target == "app.py"
    kept = git(root, "ls-tree", "-r", "--name-only", changes.tree).splitlines()
    assert f"{SOPS}/error-handling.md" in kept
    assert "services/.hornbook/sources/rule.md" in kept


def test_a_change_of_mode_alone_is_a_change(root: Path) -> None:
    tree = start(root)
    (tree.path / "app.py").chmod(0o755)
    (only,) = change_set(tree, "HEAD").files
    assert (only.path, only.old_mode, only.mode) == ("app.py", "100644", "100755")


def test_writing_where_the_rules_would_be_is_told_and_not_taken(root: Path) -> None:
    tree = start(root)
    write(tree.path, {".hornbook/config.yaml": "gates: {}\n", "services/.hornbook/x.md": "x\n"})
    (tree.path / ".semspec").symlink_to(root)
    changes = change_set(tree, "HEAD")
    assert changes.intruding == (".hornbook/config.yaml", ".semspec", "services/.hornbook/x.md")
    assert changes.files == ()
    reset(tree, "HEAD")
    assert change_set(tree, "HEAD").intruding == ()


def test_a_repository_inside_of_a_worktree_is_told(root: Path) -> None:
    tree = start(root)
    (tree.path / "inner").mkdir()
    git(tree.path / "inner", "init", "-q")
    write(tree.path, {"inner/hidden.py": "x = 1\n"})
    changes = change_set(tree, "HEAD")
    assert (changes.nested, changes.files) == (("inner",), ())


def test_git_does_not_run_what_a_repository_inside_a_submodule_configures(
    root: Path, tmp_path: Path
) -> None:
    inner, ran = tmp_path / "inner", tmp_path / "ran"
    write(inner, {"code.py": "1\n"})
    git(inner, "init", "-q")
    git(inner, "add", ".")
    git(inner, "commit", "-qm", "inner")
    at = git(inner, "rev-parse", "HEAD")
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{at},lib")
    git(root, "commit", "-qm", "with a submodule")
    tree = prepare(root, "plan.auth", "task.auth.1", "HEAD")
    lib = tree.path / "lib"
    lib.rmdir()
    shutil.copytree(inner, lib)
    git(lib, "config", "filter.evil.clean", f"touch {ran}; cat")
    git(lib, "config", "core.fsmonitor", f"touch {ran}; false")
    write(lib, {".gitattributes": "* filter=evil\n", "code.py": "2\n"})
    assert change_set(tree, "HEAD").files == ()  # its commit is as it was
    assert not ran.exists()
    git(inner, "commit", "-q", "--allow-empty", "-m", "moved on")
    (lib / ".git" / "HEAD").write_text(git(inner, "rev-parse", "HEAD"), encoding="ascii")
    assert [(each.path, each.status) for each in change_set(tree, "HEAD").files] == [("lib", "M")]
    shutil.rmtree(lib)
    assert [(each.path, each.status) for each in change_set(tree, "HEAD").files] == [("lib", "D")]
    assert not ran.exists()


def test_a_submodule_is_seen_as_one(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write(other, {"lib.py": "x = 1\n"})
    git(other, "init", "-q", "-b", "main")
    git(other, "add", "-A")
    git(other, "commit", "-qm", "lib")
    tree = start(root)
    git(tree.path, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "lib")
    changes = change_set(tree, "HEAD")
    assert "lib" in changes.nested or any(each.is_submodule for each in changes.files)
    assert ".gitmodules" in changes.paths


def test_do_not_touch_is_held_through_a_link(root: Path) -> None:
    tree = start(root)
    (tree.path / "notes").symlink_to("docs", target_is_directory=True)
    write(tree.path, {"notes/guide.md": "# Touched\n"})
    changes = change_set(tree, "HEAD")
    limits = Constraints(do_not_touch=("docs/**",))
    judged = scope(changes.files, limits, links(root, changes.tree))
    assert judged.status is GateStatus.FAILED
    assert "docs/guide.md is not to be touched" in judged.message


@pytest.mark.parametrize(
    "damage",
    [
        "rm -rf ./* .gitignore",
        "rm -f .git && git init -q . && git add -A",
        "rm -f .git && mkdir -p .git/hooks",
        "rm -f .git && ln -s / .git",
        "touch {admin}/index.lock {admin}/HEAD.lock",
        "echo garbage > {admin}/index",
        "mkdir -p deep/er && touch deep/er/x && chmod 000 deep",
        "echo x > noise.log && mkdir .venv && touch .venv/x",
        "git checkout -q -b mine && git commit -q --allow-empty -m mine",
        "git update-index --assume-unchanged app.py && echo x > app.py",
        "ln -s {root}/docs out && rm app.py && ln -s {root}/app.py app.py",
    ],
)
def test_a_reset_makes_the_base_again_after(root: Path, damage: str) -> None:
    tree = start(root)
    pristine = files(tree.path)
    command = damage.format(admin=tree.administration, root=root)
    identity = {
        "GIT_AUTHOR_NAME": "t",
        "GIT_AUTHOR_EMAIL": "t@t",
        "GIT_COMMITTER_NAME": "t",
        "GIT_COMMITTER_EMAIL": "t@t",
    }
    subprocess.run(["sh", "-c", command], cwd=tree.path, check=True, env={**os.environ, **identity})
    main = files(root / "docs")
    again = prepare(root, "auth", "1", "main")
    assert again == tree
    assert files(tree.path) == pristine
    assert change_set(tree, "main").files == ()
    assert files(root / "docs") == main
    assert git(tree.path, "status", "--porcelain") == ""


CUT_OFF = """
import os, signal, sys
from pathlib import Path
from hornbook.commits import worktrees, writer as writing
real = writing.write
left = [int(sys.argv[2])]
def counted(*arguments, **rest):
    left[0] -= 1
    if left[0] < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*arguments, **rest)
worktrees.write = counted
remove = worktrees.remove_tree
def cut(folder):
    for path in sorted(folder.rglob("*"))[:1]:
        if path.is_file():
            path.unlink()
    left[0] -= 1
    if left[0] < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    remove(folder)
worktrees.remove_tree = cut
worktrees.prepare(Path(sys.argv[1]), "auth", "1", "HEAD")
"""


@pytest.mark.parametrize("calls", range(8))
@pytest.mark.parametrize("there", [False, True])
def test_a_process_killed_at_any_call_leaves_nothing_that_matters(
    root: Path, calls: int, *, there: bool
) -> None:
    if there:
        write(start(root).path, {"app.py": "half\n", "more/x.py": "x\n", "more/y.py": "y\n"})
    command = [sys.executable, "-c", CUT_OFF, str(root), str(calls)]
    ended = subprocess.run(command, check=False, capture_output=True)
    assert ended.returncode in {0, -signal.SIGKILL}, ended.stderr.decode()
    tree = start(root)
    assert sorted(files(tree.path)) == [".gitignore", "app.py", "docs/guide.md"]
    assert change_set(tree, "HEAD").files == ()
    assert listed(root) == [("auth", "1")]
    assert git(root, "status", "--porcelain") == ""


def test_a_worktree_that_git_was_cut_off_making_is_made_anew(root: Path) -> None:
    place = worktree_place(root, "auth", "1")
    with subprocess.Popen(["git", "-C", root, "worktree", "add", "-q", "--detach", place]) as child:
        child.kill()
    tree = start(root)
    (tree.administration / "locked").write_text("initializing\n")
    assert find(root, "auth", "1") is None
    assert sorted(files(start(root).path)) == [".gitignore", "app.py", "docs/guide.md"]
    (start(root).administration / "HEAD").unlink()
    assert sorted(files(start(root).path)) == [".gitignore", "app.py", "docs/guide.md"]


@pytest.mark.parametrize(
    ("tampering", "told"),
    [
        ("git config core.pager evil", "config was changed"),
        ("printf '#!/bin/sh\\n' > {git}/hooks/post-commit", "hooks/post-commit was added"),
        ("chmod 777 {git}/config", "config was changed"),
        ("echo 'gitdir: /elsewhere' > .git", "worktree/.git was changed"),
        ("rm .git", "worktree/.git was removed"),
        ("echo evil >> {git}/info/attributes", "info/attributes was added"),
        (
            "git replace $(git rev-parse HEAD) $(git commit-tree HEAD^{{tree}} -m x)",
            "refs/replace was added",
        ),
        ("echo '[core]' > {admin}/config.worktree", "worktree/config.worktree was added"),
    ],
)
def test_tampering_with_git_is_told(root: Path, tampering: str, told: str) -> None:
    tree = start(root)
    sealed = tree.seal()
    assert broken(sealed, tree.seal()) == ()
    command = tampering.format(git=root / ".git", admin=tree.administration)
    who = {
        "GIT_AUTHOR_NAME": "t",
        "GIT_AUTHOR_EMAIL": "t@t",
        "GIT_COMMITTER_NAME": "t",
        "GIT_COMMITTER_EMAIL": "t@t",
    }
    subprocess.run(["sh", "-c", command], cwd=tree.path, check=True, env={**os.environ, **who})
    assert broken(sealed, tree.seal()) == (told,)


def test_git_of_another_repository_is_never_run_on_our_worktree(root: Path, tmp_path: Path) -> None:
    """A `.git` file that leads to a repository with a program in its configuration runs nothing."""
    evil = tmp_path / "evil"
    evil.mkdir()
    git(evil, "init", "-q")
    git(evil, "config", "filter.run.clean", f"touch {tmp_path}/ran; cat")
    tree = start(root)
    (tree.path / ".git").write_text(f"gitdir: {evil / '.git'}\n")
    write(tree.path, {".gitattributes": "* filter=run\n", "new.py": "x = 1\n"})
    changes = change_set(tree, "HEAD")
    assert changes.paths == (".gitattributes", "new.py")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("ignored", [False, True])
def test_a_worktree_is_put_back_however_deep_it_was_made(root: Path, ignored: bool) -> None:
    """Deeper than any path may be long, and shut."""
    tree = start(root)
    write(tree.path, {".gitignore": "deep/\n"} if ignored else {})
    deep = "; ".join(
        ["mkdir -p " + "/".join(["deep"] * 200) + " && cd " + "/".join(["deep"] * 200)] * 6
    )
    subprocess.run(["sh", "-c", f"{deep}; touch x; cd ..; chmod 0 deep"], cwd=tree.path, check=True)
    change_set(tree, "HEAD")
    tree.path.chmod(0)
    reset(tree, git(root, "rev-parse", "HEAD"))
    assert not (tree.path / "deep").exists()
    assert change_set(tree, "HEAD").paths == ()
    discard(root, "auth", "1")
    assert not tree.path.exists()


def test_filters_of_the_user_run_nothing_that_lies_in_our_worktree(
    root: Path, tmp_path: Path
) -> None:
    """Such as nbstripout's, which is `python -m nbstripout`: that looks in the folder first."""
    ran = tmp_path / "ran"
    write(root, {".gitattributes": "* filter=run\n", "a.py": "x = 1\n"})
    git(root, "add", ".")
    git(root, "commit", "-qm", "filtered")
    for kind in ("clean", "smudge"):
        git(root, "config", f"filter.run.{kind}", "./run.sh")
    git(root, "config", "filter.run.required", "true")
    tree = start(root)
    script = tree.path / "run.sh"
    script.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    script.chmod(0o755)
    write(tree.path, {"a.py": "x = 2\n", "new.py": "y = 1\n"})
    changes = change_set(tree, "HEAD")
    assert changes.paths == ("a.py", "new.py", "run.sh")
    assert git(root, "cat-file", "blob", f"{changes.tree}:a.py") == "x = 2"
    reset(tree, git(root, "rev-parse", "HEAD"))
    assert (tree.path / "a.py").read_text() == "x = 1\n"
    assert not ran.exists()


def test_hooks_do_not_run_when_we_write(root: Path, tmp_path: Path) -> None:
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        hook = root / ".git/hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        hook.chmod(0o755)
    tree = start(root)
    write(tree.path, {"new.py": "x = 1\n"})
    commit = approved(root, change_set(tree, "HEAD").tree, "HEAD", "work")
    land(root, "auth", commit, base=git(root, "rev-parse", "HEAD"))
    assert not (tmp_path / "ran").exists()


def test_approved_work_is_a_commit_with_its_proof(root: Path) -> None:
    tree = start(root)
    write(tree.path, {"new.py": "x = 1\n"})
    tree_hash = change_set(tree, "HEAD").tree
    base = git(root, "rev-parse", "HEAD")
    commit = approved(root, tree_hash, base, "auth: add new")
    assert approved(root, tree_hash, base, "auth: add new") == commit
    assert git(root, "log", "-1", "--format=%(trailers)", commit).splitlines() == [
        "Hornbook-Plan: plan.auth",
        "Hornbook-Task: task.auth.1",
        "Hornbook-Run: run.1",
        "Hornbook-Receipt: sha256:ab",
        "Hornbook-Events: sha256:cd",
    ]
    assert git(root, "show", "-s", "--format=%s", commit) == "auth: add new"
    assert git(root, "diff", "--name-only", base, commit) == "new.py"
    assert land(root, "auth", commit, base=base) == commit
    assert branch_tip(root, "hornbook/auth") == commit
    assert git(root, "branch", "--show-current") == "main"


def test_a_repository_without_an_identity_still_gets_a_commit(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    tree = git(root, "rev-parse", "HEAD^{tree}")
    anonymous = make_commit(root, tree, ("HEAD",), "work")
    assert (
        git(root, "show", "-s", "--format=%an <%ae>", anonymous) == "Hornbook <hornbook@localhost>"
    )
    git(root, "config", "user.name", "Ann")
    git(root, "config", "user.email", "ann@example.org")
    git(root, "config", "commit.gpgsign", "true")
    named = make_commit(root, tree, ("HEAD",), "work")
    assert git(root, "show", "-s", "--format=%cn <%ce>", named) == "Ann <ann@example.org>"


def test_a_trailer_cannot_smuggle_in_another_line(root: Path) -> None:
    proof = ApprovalProof("plan.auth", "task.auth.1\nSigned-off-by: x", "run.1", "a", "b")
    with pytest.raises(UsageError, match="does not stand on one line"):
        approved(root, "HEAD^{tree}", "HEAD", "work", proof)


def work(root: Path, task: str, changed: dict[str, str], base: str = "main") -> str:
    tree = prepare(root, "auth", task, base)
    write(tree.path, changed)
    return approved(root, change_set(tree, base).tree, git(root, "rev-parse", base), task)


def test_a_task_builds_on_all_that_it_depends_on(root: Path) -> None:
    one, two = work(root, "1", {"one.py": "1\n"}), work(root, "2", {"two.py": "2\n"})
    base = start_of(root, "auth", "main", [one, two])
    assert isinstance(base, str)
    assert start_of(root, "auth", "main", [two, one]) == base
    assert {"one.py", "two.py"} < set(files(prepare(root, "auth", "3", base).path))
    assert start_of(root, "auth", "main", []) == git(root, "rev-parse", "main")
    assert start_of(root, "auth", "main", [one]) == one
    on_top = work(root, "4", {"four.py": "4\n"}, base=one)
    assert start_of(root, "auth", "main", [one, on_top]) == on_top


def test_work_comes_onto_a_branch_that_moved_only_as_it_was_judged_there(root: Path) -> None:
    begun = git(root, "rev-parse", "main")
    one, two = work(root, "1", {"one.py": "1\n"}), work(root, "2", {"two.py": "2\n"})
    assert land(root, "auth", one, base=begun) == one
    assert land(root, "auth", two, base=begun) == BranchMoved(one)
    assert land(root, "auth", two, base=begun, judged=(begun, "0" * 40)) == BranchMoved(one)
    found = merge_onto(root, one, two, begun, "attempt")
    assert (found.files, found.conflicts, found.same) == (("two.py",), (), True)
    assert branch_tip(root, "hornbook/auth") == one
    tip = land(root, "auth", two, base=begun, judged=(one, found.tree))
    assert isinstance(tip, str)
    assert git(root, "rev-parse", f"{tip}^{{tree}}") == found.tree
    assert git(root, "rev-parse", f"{tip}^1", f"{tip}^2").split() == [one, two]
    for each in (one, two):  # asked again, as after a kill
        assert land(root, "auth", each, base=begun) == tip
    on_top = work(root, "4", {"four.py": "4\n"}, base=tip)
    assert land(root, "auth", on_top, base=tip) == on_top


LINES = "".join(f"line {number}\n" for number in range(20))


def test_merged_work_is_the_same_only_if_each_of_its_files_is(root: Path) -> None:
    write(root, {"long.py": LINES})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "long")
    begun = git(root, "rev-parse", "main")
    one = work(root, "1", {"long.py": LINES.replace("line 0\n", "first\n")})
    two = work(root, "2", {"long.py": LINES.replace("line 19\n", "last\n"), "two.py": "2\n"})
    found = merge_onto(root, one, two, begun, "attempt")
    assert (found.files, found.conflicts, found.same) == (("long.py", "two.py"), (), False)
    text = git(root, "show", f"{found.commit}:long.py")
    assert text.startswith("first\n")
    assert text.endswith("\nlast")
    twin = work(root, "3", {"long.py": LINES.replace("line 0\n", "first\n"), "3.py": "3\n"})
    assert not merge_onto(root, one, twin, begun, "attempt").same


def test_merged_work_that_conflicts_has_the_branchs_side_and_all_else_of_its_own(
    root: Path,
) -> None:
    begun = git(root, "rev-parse", "main")
    one = work(root, "1", {"app.py": "one\n", "one.py": "1\n"})
    two = work(root, "2", {"app.py": "two\n", "two.py": "2\n"})
    found = merge_onto(root, one, two, begun, "attempt")
    assert (found.files, found.conflicts, found.same) == (("two.py",), ("app.py",), False)
    assert git(root, "show", f"{found.commit}:app.py") == "one"
    assert git(root, "rev-parse", f"{found.commit}^") == one


def test_dependencies_that_conflict_are_told_as_a_value(root: Path) -> None:
    one = work(root, "1", {"app.py": "one\n"})
    two = work(root, "2", {"app.py": "two\n"})
    found = start_of(root, "auth", "main", [one, two])
    assert isinstance(found, Conflict)
    assert found.paths == ("app.py",)
    assert "both change app.py" in found.message
    both = make_commit(root, git(root, "rev-parse", f"{one}^{{tree}}"), (one, two), "both")
    git(root, "branch", "hornbook/auth", both)
    assert start_of(root, "auth", "main", [one, two]) == both, "on the branch they go together"


def test_a_plans_branch_survives_a_stale_lock(root: Path) -> None:
    begun = git(root, "rev-parse", "HEAD")
    git(root, "branch", "hornbook/auth")
    (root / ".git/refs/heads/hornbook/auth.lock").touch()
    commit = work(root, "1", {"one.py": "1\n"})
    assert land(root, "auth", commit, base=begun) == commit
    assert branch_tip(root, "hornbook/auth") == commit


def test_locks_that_killed_processes_left_beside_names_of_ours_go(root: Path) -> None:
    trees = TaskWorktrees(root, lambda _path: False)
    begun = trees.begin("auth")
    place = root / ".git/refs/hornbook/begin"
    for name in ("auth", "other"):
        (place / f"{name}.lock").touch()
    commit = work(root, "1", {"one.py": "1\n"})
    trees.begin_at("auth", commit)
    assert git(root, "rev-parse", "refs/hornbook/begin/auth") == commit != begun
    assert not list((root / ".git").rglob("*.lock"))


def test_a_plans_branch_that_is_checked_out_is_left_alone(root: Path) -> None:
    git(root, "checkout", "-q", "-b", "hornbook/auth")
    base = git(root, "rev-parse", "HEAD")
    with pytest.raises(UsageError, match="is checked out"):
        land(root, "auth", work(root, "1", {"one.py": "1\n"}), base=base)


def test_worktrees_are_listed_and_removed(root: Path) -> None:
    start(root, "1")
    start(root, "2")
    prepare(root, "other", "1", "HEAD")
    assert listed(root) == [("auth", "1"), ("auth", "2"), ("other", "1")]
    discard(root, "auth", "2")
    discard(root, "auth", "2")
    assert listed(root) == [("auth", "1"), ("other", "1")]
    assert git(root, "worktree", "list", "--porcelain").count("worktree ") == 3


def test_an_attempt_outlives_its_worktree_and_gits_own_tidying(root: Path) -> None:
    trees = TaskWorktrees(root, lambda _path: False)
    base = trees.begin("auth")
    for text in ("one\n", "two\n"):
        folder = Path(trees.ensure("auth", "task.auth.1", base))
        write(folder, {"src/new.py": text})
        last = trees.change("auth", "task.auth.1", base)
    trees.release("auth", "task.auth.1")
    trees.release("auth", "task.auth.1")
    assert listed(root) == []
    git(root, "reflog", "expire", "--expire=now", "--all")
    git(root, "gc", "-q", "--prune=now")
    attempts = git(root, "for-each-ref", "--format=%(objectname)", "refs/hornbook/attempts/auth")
    texts = {git(root, "show", f"{each}:src/new.py") for each in attempts.split()}
    assert texts == {"one", "two"}
    assert last.commit in attempts


@pytest.mark.parametrize("name", ["..", "a/b", "", "-x", "a..b"])
def test_a_name_that_leads_elsewhere_is_refused(root: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a worktree"):
        worktree_place(root, "auth", name)


def test_dependencies_are_linked_and_no_part_of_the_change(root: Path) -> None:
    write(root, {".venv/bin/tool": "x\n"})
    tree = start(root)
    assert (tree.path / ".venv/bin/tool").read_text() == "x\n"
    assert change_set(tree, "HEAD").files == ()
    reset(tree, "HEAD")
    assert (root / ".venv/bin/tool").exists()
    (tree.path / ".venv").unlink()
    (tree.path / ".venv").symlink_to("/")
    assert change_set(tree, "HEAD").paths == (".venv",)


def test_a_workspace_below_the_top_has_its_folder_in_the_worktree(root: Path) -> None:
    below = root / "services"
    tree = prepare(below, "auth", "1", "HEAD")
    assert tree.folder == tree.path / "services"
    write(tree.path, {"services/made.txt": "x\n", "services/new.py": "x = 1\n", "app.py": "y\n"})
    changes = change_set(tree, "HEAD", lambda path: path == "made.txt")
    assert changes.paths == ("../app.py", "new.py")


def test_a_worktrees_surroundings_are_those_of_its_workspace(root: Path) -> None:
    tree = start(root)
    found = AgentSurroundings.of(root, blind=True)
    assert (found.root, found.top, found.history) == (root, root, root / ".git")
    assert AgentSurroundings.of(tree.path, blind=True).history == root / ".git"


def test_the_merge_of_no_commit_is_refused(root: Path) -> None:
    with pytest.raises(UsageError, match="no commit was given"):
        merged(root, [])
