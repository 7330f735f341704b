"""Which gates fit a repository: by manifests, in folders too, and only for tools it uses."""

import pytest

from hornbook.gates.cannot_fail import refusals
from hornbook.gates.detect import Stack, block, detect, is_manifest


def found(files: dict[str, str]) -> tuple[Stack, ...]:
    def read(path: str) -> bytes | None:
        return files[path].encode() if path in files else None

    return detect((path for path in files if is_manifest(path)), read)


def stacks(files: dict[str, str]) -> list[tuple[str, str]]:
    return [(stack.preset, stack.folder) for stack in found(files)]


def changes(files: dict[str, str]) -> dict[str, str]:
    (stack,) = found(files)
    return {change.gate: f"{change.key}: {change.value}" for change in stack.changes}


TS = '{"devDependencies": {"typescript": "5"}}'


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, []),
        ({"README.md": ""}, []),
        ({"go.mod": ""}, [("go", ".")]),
        ({"pyproject.toml": ""}, [("python", ".")]),
        ({"setup.py": ""}, [("python", ".")]),
        ({"requirements-dev.txt": ""}, [("python", ".")]),
        ({"pyproject.toml": "", "setup.py": "", "requirements.txt": ""}, [("python", ".")]),
        ({"Cargo.toml": "", "crates/a/Cargo.toml": ""}, [("rust", ".")]),
        ({"package.json": "{}", "tsconfig.json": ""}, [("typescript", ".")]),
        ({"package.json": TS}, [("typescript", ".")]),
        ({"package.json": '{"scripts": {"test": "node --test"}}'}, [("typescript", ".")]),
        ({"package.json": "{}"}, []),
        ({"package.json": "not json"}, []),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, []),
        ({"backend/go.mod": "", "web/package.json": TS}, [("go", "backend"), ("typescript", "web")]),
        ({"go.mod": "", "web/package.json": TS}, [("go", "."), ("typescript", "web")]),
        ({"a/go.mod": "", "b/go.mod": "", "a/x/go.mod": ""}, [("go", "a"), ("go", "b")]),
        ({"node_modules/x/package.json": TS, "vendor/y/go.mod": ""}, []),
        ({"a/b/c/d/go.mod": ""}, []),
        ({"a/b/c/go.mod": ""}, [("go", "a/b/c")]),
    ],
)  # fmt: skip
def test_presets_are_found_by_their_manifests(
    files: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    assert stacks(files) == expected


def test_a_tool_without_a_sign_gets_no_gate() -> None:
    assert changes({"pyproject.toml": ""}) == {
        "lint": "enabled: false",
        "types": "enabled: false",
        "test": "command: python -m unittest",
        "coverage": "enabled: false",
    }
    assert changes({"go.mod": ""}) == {"lint": "enabled: false"}
    assert changes({"Cargo.toml": ""}) == {"coverage": "enabled: false"}
    assert changes({"package.json": TS}) == {
        "build": "enabled: false",
        "lint": "enabled: false",
        "coverage": "enabled: false",
    }


@pytest.mark.parametrize(
    "files",
    [
        {"pyproject.toml": "[tool.ruff]\n[tool.mypy]\n[tool.pytest]\n[tool.coverage.run]\n"},
        {"setup.py": "", "requirements-dev.txt": "ruff\nmypy\npytest\npytest-cov\n"},
        {"setup.py": "", "ruff.toml": "", "mypy.ini": "", "conftest.py": "", ".coveragerc": ""},
        {"go.mod": "", ".golangci.yml": ""},
        {"go.mod": "", "Makefile": "lint:\n\tgolangci-lint run\n"},
        {"go.mod": "", ".github/workflows/ci.yml": "- uses: golangci/golangci-lint-action@v6\n"},
        {"Cargo.toml": "", ".github/workflows/ci.yml": "run: cargo llvm-cov"},
        {
            "package.json": '{"devDependencies": {"eslint": "9", "jest": "30"}}',
            "tsconfig.json": "{}",
        },
    ],
)
def test_a_sign_keeps_the_gate(files: dict[str, str]) -> None:
    assert changes(files) == {}


def test_a_sign_must_be_the_tools_own_name() -> None:
    assert "lint" in changes({"pyproject.toml": "name = 'truffle'\npytest\ncoverage\nmypy\n"})


@pytest.mark.parametrize("tool", ["vitest", "c8", "nyc"])
def test_coverage_is_measured_with_the_tool_that_is_there(tool: str) -> None:
    package = f'{{"scripts": {{"test": "x"}}, "devDependencies": {{"{tool}": "1", "eslint": "9"}}}}'
    (change,) = changes({"package.json": package, "tsconfig.json": ""}).items()
    assert change[0] == "coverage"
    assert "json-summary" in change[1]
    assert refusals(change[1].removeprefix("command: ").strip('"')) == []


def test_the_block_names_each_gate_and_says_why() -> None:
    text = block(found({"go.mod": "", "web/package.json": TS, "web/tsconfig.json": ""}))
    assert "    - name: go-lint\n      enabled: false  # no sign of golangci-lint here\n" in text
    assert '    - preset: typescript\n      folder: "web"\n' in text
    assert block(()) == ""


def test_detected_commands_can_fail() -> None:
    for files in ({"setup.py": ""}, {"setup.py": "", ".coveragerc": ""}):
        for stack in found(files):
            for change in stack.changes:
                if change.key == "command":
                    assert refusals(change.value.strip('"'), name=change.gate) == []
