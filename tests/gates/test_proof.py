"""Gates are given failures that they must see, on copies of real little projects."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hornbook.commits.trees import content, copy_of
from hornbook.gates.gate import Gate
from hornbook.gates.gate_run import prove_for
from hornbook.gates.proof import GateProof, Injection, ProofVerdict, injections
from tests.kit import pytest_command
from tests.kit.workspaces import write

PYTHON = sys.executable
PYTEST = " ".join((*pytest_command.PYTEST, "-q"))
COUNTER = """\
import json, pathlib, subprocess, sys
lines = {}
code = pathlib.Path("app.py").read_text().splitlines()
ran = set()
def trace(frame, event, _):
    if frame.f_code.co_filename.endswith("app.py"):
        ran.add(frame.f_lineno)
    return trace
sys.settrace(trace)
import app
assert app.one() == 1
sys.settrace(None)
total = len([line for line in code if line.strip()])
pathlib.Path("coverage.json").write_text(json.dumps({"totals": {"covered_lines": len(ran), "num_statements": total}}))
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    write(
        folder,
        {
            "app.py": "def one():\n    return 1\n",
            "tests/test_app.py": "import sys\nsys.path.insert(0, '.')\nimport app\n\n\ndef test_a():\n    assert app.one() == 1\n",
            "measure.py": COUNTER,
            "web/sum.js": "module.exports = (a, b) => a + b;\n",
            "web/sum.test.js": "const test = require('node:test');\nconst sum = require('./sum.js');\ntest('sum', () => { if (sum(1, 2) !== 3) throw new Error('sum'); });\n",
            ".gitignore": "node_modules/\n",
            "node_modules/x/index.js": "module.exports = 1;\n",
        },
    )
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def proofs(root: Path, *gates: Gate) -> dict[str, str]:
    return {proof.gate: proof.verdict.value for proof in prove_for(root, gates)}


def snapshot(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".hornbook" not in path.parts
    }


def test_python_gates_that_look_are_proven_and_the_project_is_untouched(root: Path) -> None:
    before = snapshot(root)
    found = proofs(
        root,
        Gate("test", f"{PYTEST} tests"),
        Gate("compile", f"{PYTHON} -m compileall -q app.py"),
        Gate("lint", f"{PYTHON} -m ruff check --no-cache --isolated app.py"),
        Gate("coverage", f"{PYTEST} tests && {PYTHON} measure.py", threshold=90),
        Gate("optional", "true", required=False),
    )
    assert found == {"test": "proven", "compile": "proven", "lint": "proven", "coverage": "proven"}
    assert snapshot(root) == before


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_node_gates_that_look_are_proven(root: Path) -> None:
    found = proofs(
        root,
        Gate("test", "node --test", folder="web"),
        Gate("syntax", "node --check sum.js", folder="web"),
    )
    assert found == {"test": "proven", "syntax": "proven"}


def test_gates_that_look_at_nothing_are_unproven(root: Path) -> None:
    kept = f"{PYTEST} tests/test_app.py"
    found = prove_for(root, [Gate("test", kept), Gate("script", "echo fine")])
    assert [proof.verdict for proof in found] == [ProofVerdict.UNPROVEN, ProofVerdict.UNPROVEN]
    assert "tests/test_hornbook_injected.py is a test that fails" in found[0].message
    assert any("app.py does not parse" in what for what in found[1].injected)


def test_a_gate_that_fails_anyway_or_whose_gates_before_fail_is_broken(root: Path) -> None:
    found = prove_for(
        root,
        [
            Gate("bad", "test -e nothing.txt"),
            Gate("later", f"{PYTEST} tests", after=("bad",)),
            Gate("missing", "golangci-lint-that-is-not-here run"),
        ],
    )
    assert [proof.verdict for proof in found] == [ProofVerdict.BROKEN] * 3
    assert found[2] == GateProof(
        "missing",
        ProofVerdict.BROKEN,
        "missing fails without any injected failure: "
        "golangci-lint-that-is-not-here is not installed or not on PATH.",
    )


def test_gates_before_are_run_first_in_the_copy(root: Path) -> None:
    made = Gate("make", "cp app.py made.py")
    used = Gate("use", f"{PYTHON} -m compileall -q made.py app.py", after=("make",))
    assert proofs(root, made, used)["use"] == "proven"


def test_a_gate_with_nothing_to_break_says_so(root: Path) -> None:
    write(root, {"empty/notes.txt": "x"})
    (found,) = prove_for(root, [Gate("notes", "test -s notes.txt", folder="empty")])
    assert found.verdict is ProofVerdict.UNPROVEN
    assert found.message == "nothing in empty to break that `test -s notes.txt` would look at"
    assert injections(Gate("vet", "go vet ./..."), ["app.py"], lambda _path: "") == ()


def test_a_copy_holds_what_the_files_are_with_dependencies_linked(root: Path) -> None:
    write(root, {"app.py": "changed = True\n"})
    with content(root, lambda _path: False) as now, copy_of(root, now.tree, made=now) as copy:
        assert (copy / "app.py").read_text() == "changed = True\n"
        assert (copy / "node_modules").is_symlink()
        assert (copy / "node_modules/x/index.js").is_file()
        place = copy
    assert not place.exists()
    assert (root / "node_modules/x/index.js").is_file()


def first(gate: Gate, files: dict[str, str]) -> Injection:
    (found,) = injections(gate, files, lambda path: files[path])
    return found


GO = {
    "go.mod": "module x\n",
    "pkg/a.go": "package pkg\n\nfunc A() int { return 1 }\n",
    "pkg/a_test.go": "package pkg_test\n",
}
RUST = {"Cargo.toml": "[package]\n", "src/lib.rs": "pub fn a() {}\n"}


def test_go_and_rust_get_failures_of_their_kind() -> None:
    test = first(Gate("test", "go test ./..."), GO)
    assert test.path == "pkg/hornbook_injected_test.go"
    assert test.text.startswith('package pkg_test\n\nimport "testing"\n')
    assert first(Gate("vet", "go vet ./..."), GO).path == "pkg/a.go"
    cover = first(Gate("coverage", "go test -coverprofile=coverage.out ./...", threshold=80), GO)
    assert cover.path == "pkg/a.go"
    assert "func hornbook_injected(value int) int {" in cover.text
    assert first(Gate("test", "cargo test"), RUST).path == "tests/hornbook_injected.rs"
    assert first(Gate("lint", "cargo clippy -- -D warnings"), RUST).path == "src/lib.rs"


def test_typescript_gets_a_test_named_like_its_own() -> None:
    files = {"src/a.ts": "export const a = 1;\n", "src/a.spec.ts": "test('a', () => {});\n"}
    assert first(Gate("test", "npx vitest run"), files).path == "src/hornbook_injected.spec.ts"
    assert first(Gate("types", "npx tsc --noEmit"), files).path == "src/a.ts"


@pytest.mark.skipif(
    shutil.which("cargo") is None or not os.environ.get("HOME"), reason="cargo is not installed"
)
def test_rust_gates_that_look_are_proven(tmp_path: Path) -> None:
    manifest = '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n'
    code = "pub fn one() -> i32 {\n    1\n}\n\n#[test]\nfn it() {\n    assert_eq!(one(), 1);\n}\n"
    write(tmp_path, {"Cargo.toml": manifest, "src/lib.rs": code, ".gitignore": "target/\n"})
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    probe = ["cargo", "check", "--offline", "-q", "--manifest-path", str(tmp_path / "Cargo.toml")]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("cargo cannot build here")
    found = proofs(
        tmp_path, Gate("build", "cargo build --offline"), Gate("test", "cargo test --offline")
    )
    assert found == {"build": "proven", "test": "proven"}


@pytest.mark.parametrize(
    ("command", "broken"),
    [
        ("mvn -B test", "src/test/java/CalcTest.java"),
        ("mvn -B test-compile", "src/main/java/Calc.java"),
        ("vendor/bin/phpunit", "tests/CalcTest.php"),
        ("vendor/bin/phpstan analyse", "src/Calc.php"),
        ("bundle exec rake test", "test/calc_test.rb"),
        ("cmake -S . -B build && cmake --build build", "calc.c"),
    ],
)
def test_gates_of_other_languages_get_a_file_of_theirs_that_does_not_parse(
    command: str, broken: str
) -> None:
    files = ["src/main/java/Calc.java", "src/test/java/CalcTest.java", "src/Calc.php", "calc.c"]
    files += ["tests/CalcTest.php", "lib/calc.rb", "test/calc_test.rb", "web/a.test.js"]
    (found,) = injections(Gate("test", command, threshold=80), files, lambda _path: "text\n")
    assert (found.path, found.what) == (broken, f"{broken} does not parse")
