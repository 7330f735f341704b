"""Floors over real changes in real repositories."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook.commits.change import Touched, links, touched
from hornbook.commits.content import LINK, SUBMODULE
from hornbook.errors import BadGlob
from hornbook.gates import floors
from hornbook.gates.floors import Strictness
from hornbook.gates.gate import Gate, GateResult, GateStatus
from hornbook.gates.gate_run import judge
from hornbook.gates.scripts import named_scripts
from hornbook.gates.test_files import companion, is_test, wants_test
from hornbook.plans.plan import Constraints
from tests.kit.workspaces import write


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    command = ["git", *identity, "-C", str(root), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(root: Path, message: str = "work") -> str:
    git(root, "add", "-A")
    git(root, "commit", "-qm", message)
    return git(root, "rev-parse", "HEAD")


LONG = "".join(f"line {number}\n" for number in range(30))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    write(
        folder,
        {
            "src/app.py": "def one():\n    return 1\n",
            "src/moved.py": LONG,
            "secret/key.py": LONG + "more\n",
            "tests/test_app.py": "def test_a():\n    pass\n",
            "pyproject.toml": '[project]\nname = "x"\n\n[tool.pytest.ini_options]\naddopts = "-q"\n',
            "run.sh": "#!/bin/sh\n",
        },
    )
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "base")
    return folder


def judged(
    root: Path, constraints: Constraints | None = None, tests: Strictness = Strictness.WARN
) -> dict[str, GateResult]:
    commit(root)
    gates = [Gate("check", "./run.sh && python tools/check.py")]
    found = judge(root, "HEAD~1", "HEAD", gates, constraints, tests=tests)
    return {result.name: result for result in found}


# What git tells


def test_renames_modes_links_and_submodules_are_read(root: Path, tmp_path: Path) -> None:
    git(root, "mv", "src/moved.py", "src/new name\n.py")
    (root / "run.sh").chmod(0o755)
    (root / "src/link").symlink_to("../secret/key.py")
    (root / "src/app.py").unlink()
    inner = tmp_path / "inner"
    write(inner, {"a": "a\n"})
    git(inner, "init", "-q")
    commit(inner)
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "lib")
    commit(root)
    found = {file.path: file for file in touched(root, "HEAD~1", "HEAD")}
    renamed = found["src/new name\n.py"]
    assert (renamed.status, renamed.before, renamed.is_edited) == ("R", "src/moved.py", False)
    assert (found["run.sh"].old_mode, found["run.sh"].mode) == ("100644", "100755")
    assert (found["src/link"].mode, found["src/link"].target) == (LINK, "../secret/key.py")
    assert found["lib"].mode == SUBMODULE
    assert found["lib"].is_submodule
    assert found["src/app.py"].is_removed
    assert links(root, "HEAD") == {"src/link": "../secret/key.py"}


def test_below_the_top_paths_are_relative_and_others_are_still_seen(root: Path) -> None:
    write(root, {"src/app.py": "x = 2\n", "secret/other.py": "y = 1\n"})
    commit(root)
    found = [file.path for file in touched(root / "src", "HEAD~1", "HEAD")]
    assert found == ["../secret/other.py", "app.py"]


# Scope


def test_a_change_inside_the_scope_passes(root: Path) -> None:
    write(root, {"src/app.py": "x = 2\n"})
    scope = judged(root, Constraints(inside=("src/**",), do_not_touch=("secret/**",)))[
        "floor:scope"
    ]
    assert scope.status is GateStatus.PASSED


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Constraints(inside=("docs/**",)), "src/app.py is not in scope (docs/**)"),
        (Constraints(outside=("src/*.py",)), "src/app.py is excluded from the scope (src/*.py)"),
        (Constraints(inside=("src/**",), do_not_touch=("app.py",)), "src/app.py is not to be touched (app.py)"),
    ],
)  # fmt: skip
def test_a_path_out_of_scope_is_named_with_its_reason(
    root: Path, limits: Constraints, words: str
) -> None:
    write(root, {"src/app.py": "x = 2\n"})
    scope = judged(root, limits)["floor:scope"]
    assert (scope.status, scope.output) == (GateStatus.FAILED, words)


def test_the_old_name_of_a_rename_counts(root: Path) -> None:
    git(root, "mv", "secret/key.py", "src/key.py")
    scope = judged(root, Constraints(inside=("src/**",)))["floor:scope"]
    assert scope.output.startswith("secret/key.py, the old name of src/key.py, is not in scope")


def test_a_mode_change_is_a_touch(root: Path) -> None:
    (root / "run.sh").chmod(0o755)
    scope = judged(root, Constraints(do_not_touch=("run.sh",)))["floor:scope"]
    assert scope.status is GateStatus.FAILED


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("../secret/key.py", "links to secret/key.py, which is not in scope"),
        ("/etc/passwd", "leaves the repository"),
        ("../../elsewhere", "leaves the repository"),
        ("..", "links to ., which is not in scope"),
        ("link", "leaves the repository or never ends"),
    ],
)
def test_a_link_out_of_scope_is_refused(root: Path, target: str, words: str) -> None:
    (root / "src/link").symlink_to(target)
    scope = judged(root, Constraints(inside=("src/**",)))["floor:scope"]
    assert scope.status is GateStatus.FAILED
    assert words in scope.output


def test_a_link_is_followed_through_links_that_were_there(root: Path) -> None:
    (root / "src/door").symlink_to("../secret")
    commit(root, "door")
    (root / "src/link").symlink_to("door/key.py")
    scope = judged(root, Constraints(inside=("src/**",)))["floor:scope"]
    assert "src/link links to secret/key.py" in scope.output


def test_without_a_plan_only_links_that_leave_are_refused(root: Path) -> None:
    (root / "src/link").symlink_to("../secret/key.py")
    assert judged(root)["floor:scope"].status is GateStatus.PASSED
    (root / "src/away").symlink_to("/tmp")
    assert judged(root)["floor:scope"].status is GateStatus.FAILED


def test_a_constraint_that_is_no_glob_is_an_error(root: Path) -> None:
    write(root, {"src/app.py": "x = 2\n"})
    with pytest.raises(BadGlob):
        judged(root, Constraints(inside=("src/[",)))


PATHS = st.lists(st.sampled_from(["a", "b", "c.py", "d"]), min_size=1, max_size=3).map("/".join)


@given(st.lists(PATHS, max_size=5), PATHS)
def test_what_must_not_be_touched_is_never_passed(paths: list[str], guarded: str) -> None:
    files = [Touched(path, "M", None, "100644", "100644", "1", "2") for path in paths]
    limits = Constraints(inside=("**",), do_not_touch=(f"/{guarded}",))
    found = floors.scope(files, limits, {})
    assert (found.status is GateStatus.FAILED) == (guarded in paths)


# Tests


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("src/foo.py", "tests/test_foo.py"),
        ("src/foo.py", "src/foo_test.py"),
        ("app/api/foo.py", "tests/test_api_foo.py"),
        ("pkg/foo.go", "pkg/foo_test.go"),
        ("src/foo.ts", "src/foo.test.ts"),
        ("src/foo.ts", "src/foo.spec.ts"),
        ("src/foo.tsx", "src/__tests__/foo.tsx"),
        ("src/foo.ts", "src/__tests__/foo.test.js"),
        ("src/foo.rs", "tests/foo.rs"),
        ("src/main/java/Foo.java", "src/test/java/FooTest.java"),
        ("lib/foo.rb", "spec/foo_spec.rb"),
    ],
)
def test_a_test_belongs_to_code_by_its_name(path: str, test: str) -> None:
    assert wants_test(path)
    assert is_test(test)
    assert companion(path, [test]) == test


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("src/foo.py", "tests/test_food.py"),
        ("pkg/foo.go", "other/foo_test.go"),
        ("src/foo.py", "src/foo.test.ts"),
    ],
)
def test_a_test_of_another_name_does_not(path: str, test: str) -> None:
    assert companion(path, [test]) is None


@pytest.mark.parametrize(
    "path",
    [
        "README.md", "pyproject.toml", "a/__init__.py", "conftest.py", "x_pb2.py", "x.pb.go",
        "jest.config.js", "types.d.ts", "migrations/0001.py", "docs/conf.py", "data.json", "vendor/a.go",
    ],
)  # fmt: skip
def test_docs_settings_and_generated_code_want_no_test(path: str) -> None:
    assert not wants_test(path)


def test_code_without_a_test_is_told_as_strictly_as_wanted(root: Path) -> None:
    write(root, {"src/new.py": "x = 1\n"})
    found = judged(root)["floor:tests"]
    assert (found.status, found.required) == (GateStatus.WARNED, False)
    assert found.output == "src/new.py has no test of its name, and no test changed with it"
    write(root, {"src/newer.py": "x = 1\n"})
    assert judged(root, tests=Strictness.REQUIRED)["floor:tests"].status is GateStatus.FAILED
    write(root, {"src/newest.py": "x = 1\n"})
    assert "floor:tests" not in judged(root, tests=Strictness.OFF)


@pytest.mark.parametrize(
    "files",
    [
        {"src/app.py": "x = 2\n"},
        {"src/new.py": "x = 1\n", "tests/test_all.py": "def test_new():\n    pass\n"},
        {"README.md": "hello\n"},
        {"src/lib.rs": "pub fn a() {}\n#[cfg(test)]\nmod tests {}\n"},
    ],
)
def test_code_with_a_test_there_or_changed_passes(root: Path, files: dict[str, str]) -> None:
    write(root, files)
    assert judged(root, tests=Strictness.REQUIRED)["floor:tests"].status is GateStatus.PASSED


def test_a_deleted_test_is_no_changed_test_and_a_move_is_no_new_code(root: Path) -> None:
    write(root, {"src/new.py": "x = 1\n"})
    (root / "tests/test_app.py").unlink()
    assert judged(root, tests=Strictness.REQUIRED)["floor:tests"].status is GateStatus.FAILED
    git(root, "mv", "src/moved.py", "src/elsewhere.py")
    assert judged(root, tests=Strictness.REQUIRED)["floor:tests"].status is GateStatus.PASSED


# Artefacts


@pytest.mark.parametrize(
    ("path", "junk"),
    [
        ("a.orig", True), ("src/a.rej", True), ("fix.patch", True), ("x.diff", True), (".DS_Store", True),
        ("src/.app.py.swp", True), ("a.py~", True), (".idea/workspace.xml", True), ("coverage.out", True),
        ("src/__pycache__/a.pyc", True), ("patches/lib+1.0.patch", False), ("src/original.py", False),
        ("tests/fixtures/a.diff", False), ("src/diff.py", False),
    ],
)  # fmt: skip
def test_leftovers_are_refused_when_added(root: Path, path: str, *, junk: bool) -> None:
    write(root, {path: "x\n"})
    git(root, "add", "-f", path)
    found = judged(root)["floor:artefacts"]
    assert (found.status is GateStatus.FAILED) == junk
    assert (path in found.output) == junk


def test_removing_a_leftover_is_fine(root: Path) -> None:
    write(root, {"a.orig": "x\n"})
    judged(root)
    (root / "a.orig").unlink()
    assert judged(root)["floor:artefacts"].status is GateStatus.PASSED


# Rules


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("CLAUDE.md", "a rule"),
        (".hornbook/config.yaml", "configuration of gates or tests"),
        ("Makefile", "configuration of gates or tests"),
        (".github/workflows/ci.yml", "configuration of gates or tests"),
        ("tests/conftest.py", "configuration of gates or tests"),
        ("web/jest.config.ts", "configuration of gates or tests"),
        (".golangci.yml", "configuration of gates or tests"),
        ("run.sh", "run by the gate check"),
        ("tools/check.py", "run by the gate check"),
    ],
)
def test_a_change_of_what_judges_it_is_a_finding(root: Path, path: str, reason: str) -> None:
    write(root, {path: "changed\n"})
    found = judged(root)["floor:rules"]
    assert (found.status, found.required) == (GateStatus.WARNED, False)
    assert found.output == f"the change edits {path} ({reason})"


def test_a_shared_file_counts_only_if_its_judging_part_changed(root: Path) -> None:
    text = (root / "pyproject.toml").read_text()
    write(root, {"pyproject.toml": text.replace('"x"', '"y"')})
    assert judged(root)["floor:rules"].status is GateStatus.PASSED
    write(root, {"pyproject.toml": text.replace('"-q"', '"-q --ignore=tests"')})
    assert judged(root)["floor:rules"].status is GateStatus.WARNED
    write(root, {"package.json": '{"name": "x"}'})
    assert judged(root)["floor:rules"].status is GateStatus.PASSED
    write(root, {"package.json": '{"name": "x", "scripts": {"test": "true"}}'})
    assert judged(root)["floor:rules"].status is GateStatus.WARNED


def test_removing_or_moving_what_judges_is_a_finding(root: Path) -> None:
    (root / "pyproject.toml").unlink()
    git(root, "mv", "run.sh", "other.sh")
    assert judged(root)["floor:rules"].output == (
        "the change removes run.sh (run by the gate check)\n"
        "the change removes pyproject.toml (configuration of gates or tests)"
    )


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("./run.sh", ["./run.sh"]),
        ("python -m pytest tests/test_a.py", ["python", "pytest"]),
        ("MODE=1 bash -e scripts/check.sh src/app.py", ["bash", "scripts/check.sh"]),
        ("go vet ./... && node tools/a.js | sort", ["go", "node", "tools/a.js", "sort"]),
        ("mypy --config-file=conf/mypy.ini src", ["mypy", "conf/mypy.ini"]),
        ("pytest -c conf/pytest.ini", ["pytest", "conf/pytest.ini"]),
        ("bash -e -- 'scripts/a.sh src'", ["bash", "scripts/a.sh"]),
        ("sh -c 'timeout 60 ./c.sh src'", ["sh", "timeout", "./c.sh"]),
        ("echo 'unclosed; ./d.sh", ["echo", "unclosed;", "./d.sh"]),
        ("(cd web; ./b.sh)", ["cd", "./b.sh"]),
        ("first.sh\nsecond.sh", ["first.sh", "second.sh"]),
    ],
)
def test_a_command_names_what_it_runs_and_not_what_it_looks_at(
    command: str, named: list[str]
) -> None:
    assert list(named_scripts(command)) == named


def test_the_files_that_a_gate_looks_at_are_no_finding(root: Path) -> None:
    write(root, {"src/app.py": "x = 3\n", "tests/test_app.py": "def test_b():\n    pass\n"})
    commit(root)
    files = touched(root, "HEAD~1", "HEAD")
    gates = [Gate("test", "pytest tests/test_app.py"), Gate("lint", "ruff check src/app.py")]
    assert floors.rules(files, gates, is_rule=lambda _path: False).status is GateStatus.PASSED


def test_a_long_list_is_told_in_part() -> None:
    files = [
        Touched(f"{number:04}.orig", "A", None, "0", "100644", "", "1") for number in range(500)
    ]
    found = floors.artefacts(files)
    assert (
        found.message
        == "500 paths that should not be there: 0000.orig is a leftover (*.orig) and 499 more"
    )
    assert found.output.endswith("\n[400 more]")


# Tests that get weaker


def test_removed_and_skipped_tests_are_told(root: Path) -> None:
    write(
        root,
        {
            "tests/test_app.py": "def test_a():\n    pass\n\ndef test_b():\n    pass\n",
            "tests/test_gone.py": "def test_c():\n    pass\n",
            "web/a.test.ts": "it('adds', () => {});\nit('subtracts', () => {});\n",
            "pkg/a_test.go": "func TestA(t *testing.T) {\n}\n",
            "lib/a.rs": "#[test]\nfn adds() {}\n",
        },
    )
    commit(root)
    (root / "tests/test_gone.py").unlink()
    write(
        root,
        {
            "tests/test_app.py": "import pytest\n\n@pytest.mark.skip\ndef test_a():\n    pass\n",
            "web/a.test.ts": "it('adds', () => {});\nit.skip('subtracts', () => {});\n",
            "pkg/a_test.go": 'func TestA(t *testing.T) {\n\tt.Skip("later")\n}\n',
            "lib/a.rs": "#[test]\n#[ignore]\nfn adds() {}\n",
        },
    )
    found = judged(root, tests=Strictness.REQUIRED)["floor:tests"]
    assert found.status is GateStatus.WARNED
    assert found.output.split("\n") == [
        "lib/a.rs has 1 more mark that keeps tests from running or failing",
        "pkg/a_test.go has 1 more mark that keeps tests from running or failing",
        "tests/test_app.py loses 1 test: test_b",
        "tests/test_app.py has 1 more mark that keeps tests from running or failing",
        "tests/test_gone.py is removed with 1 test: test_c",
        "web/a.test.ts loses 1 test: subtracts",
        "web/a.test.ts has 1 more mark that keeps tests from running or failing",
    ]
    assert found.message.startswith("the change weakens tests: lib/a.rs has 1 more mark")
    assert found.message.endswith("and 6 more")


def test_tests_that_moved_or_were_renamed_are_not_told(root: Path) -> None:
    write(root, {"tests/test_two.py": "def test_x():\n    pass\n\ndef test_y():\n    pass\n"})
    commit(root)
    write(root, {"tests/test_two.py": "def test_renamed():\n    pass\n\ndef test_y():\n    pass\n"})
    (root / "tests/test_app.py").unlink()
    write(root, {"tests/test_other.py": "x = 1\n\n\ndef test_a():\n    assert x\n"})
    assert judged(root)["floor:tests"].status is GateStatus.PASSED


# Scope by other names


def test_a_link_to_a_folder_reaches_what_is_in_it(root: Path) -> None:
    limits = Constraints(do_not_touch=("secret/key.py",))
    (root / "src/all").symlink_to("../secret")
    found = judged(root, limits)["floor:scope"]
    assert found.status is GateStatus.FAILED
    assert found.output == (
        "src/all links to secret, which holds secret/key.py, which is not to be touched (secret/key.py)"
    )


def test_a_name_that_differs_only_in_case_is_the_protected_file(root: Path) -> None:
    write(root, {"secret/KEY.py": "x = 1\n"})
    found = judged(root, Constraints(do_not_touch=("secret/key.py",)))["floor:scope"]
    assert found.status is GateStatus.FAILED
    assert found.output == (
        "secret/KEY.py differs from secret/key.py only in case, which is not to be touched (secret/key.py)"
    )


@pytest.mark.parametrize(
    ("path", "before", "harmless", "judging"),
    [
        ("pom.xml", "<version>1</version>\n", "<version>2</version>\n", "<skip>true</skip>\n"),
        ("a/build.gradle", "group = 'a'\n", "group = 'b'\n", "test.ignoreFailures = true\n"),
        ("CMakeLists.txt", "project(a)\n", "project(b)\n", "add_test(NAME a COMMAND true)\n"),
        ("composer.json", '{"name": "a/b"}', '{"name": "a/c"}', '{"scripts": {"test": "true"}}'),
    ],
)
def test_of_a_build_file_what_is_about_tests_counts(
    path: str, before: str, harmless: str, judging: str
) -> None:
    assert floors.judging_part(path, before) == floors.judging_part(path, harmless)
    assert floors.judging_part(path, before) != floors.judging_part(path, judging)
