"""Which gates fit a repository: by manifests, in folders too, and only for tools it uses."""

import pytest

from hornbook.gates.cannot_fail import refusals
from hornbook.gates.detect import Stack, block, detect, is_manifest


def found(files: dict[str, str]) -> tuple[Stack, ...]:
    def read(path: str) -> bytes | None:
        return files[path].encode() if path in files else None

    return detect((path for path in files if is_manifest(path)), read).stacks


def stacks(files: dict[str, str]) -> list[tuple[str, str]]:
    return [(stack.preset, stack.folder) for stack in found(files)]


def changes(files: dict[str, str]) -> dict[str, str]:
    (stack,) = found(files)
    return {change.gate: f"{change.key}: {change.value}" for change in stack.changes}


def notes(files: dict[str, str]) -> tuple[str, ...]:
    return detect(files, lambda path: files[path].encode() if path in files else None).notes


def runs(files: dict[str, str]) -> dict[str, list[str]]:
    """The gates that run, by folder."""
    return {stack.folder: sorted(stack.runs()) for stack in found(files)}


TS = '{"scripts": {"test": "vitest run"}, "devDependencies": {"typescript": "5"}}'
TYPED = '{"devDependencies": {"typescript": "5"}}'
NONE = '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'


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
        ({"Cargo.toml": "[workspace]", "crates/a/Cargo.toml": "", "crates/a/tests/a.rs": ""}, [("rust", ".")]),
        ({"package.json": "{}", "tsconfig.json": ""}, [("typescript", ".")]),
        ({"package.json": TS}, [("typescript", ".")]),
        ({"package.json": '{"scripts": {"test": "node --test"}}'}, [("typescript", ".")]),
        ({"package.json": TYPED}, []),
        ({"package.json": "{}"}, []),
        ({"package.json": "not json"}, []),
        ({"package.json": NONE}, []),
        ({"backend/go.mod": "", "web/package.json": TS}, [("go", "backend"), ("typescript", "web")]),
        ({"go.mod": "", "web/package.json": TS}, [("go", "."), ("typescript", "web")]),
        ({"a/go.mod": "", "b/go.mod": "", "a/x/go.mod": ""}, [("go", "a"), ("go", "b")]),
        ({"node_modules/x/package.json": TS, "vendor/y/go.mod": ""}, []),
        ({"a/b/c/d/go.mod": ""}, []),
        ({"a/b/c/go.mod": ""}, [("go", "a/b/c")]),
        ({"pom.xml": "", "core/pom.xml": "", "it/pom.xml": ""}, [("maven", ".")]),
        ({"settings.gradle.kts": "", "app/build.gradle.kts": ""}, [("gradle", ".")]),
        ({"composer.json": "{}", "phpunit.xml.dist": ""}, [("php", ".")]),
        ({"Gemfile": "gem 'rspec'", "spec/a_spec.rb": ""}, [("ruby", ".")]),
        ({"a.gemspec": "", "Rakefile": "", "test/a_test.rb": ""}, [("ruby", ".")]),
        ({"CMakeLists.txt": "", "src/CMakeLists.txt": ""}, [("cmake", ".")]),
        ({"Shop.sln": "", "src/Shop/Shop.csproj": ""}, [("dotnet", ".")]),
        ({"CMakeLists.txt": "", "support/build.gradle": ""}, [("cmake", ".")]),
        ({"ios/Gemfile": "gem 'fastlane'", "docs/requirements.txt": "sphinx", "api/go.mod": ""}, [("go", "api")]),
    ],
)  # fmt: skip
def test_presets_are_found_by_their_manifests(
    files: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    assert stacks(files) == expected


def test_a_tool_without_a_sign_gets_no_gate() -> None:
    assert changes({"pyproject.toml": "", "tests/test_a.py": ""}) == {
        "lint": "enabled: false",
        "types": "enabled: false",
        "test": 'command: "python -m unittest"',
        "coverage": "enabled: false",
    }
    assert changes({"go.mod": "", "a_test.go": ""}) == {"lint": "enabled: false"}
    assert changes({"Cargo.toml": "", "tests/a.rs": ""}) == {"coverage": "enabled: false"}
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
        {"go.mod": "", "a_test.go": "", ".golangci.yml": ""},
        {"go.mod": "", "a_test.go": "", "Makefile": "lint:\n\tgolangci-lint run\n"},
        {
            "go.mod": "",
            "x/a_test.go": "",
            ".github/workflows/ci.yml": "- uses: golangci/golangci-lint-action@v6\n",
        },
        {
            "Cargo.toml": "",
            "src/lib.rs": "#[cfg(test)]\nmod tests {}\n",
            ".github/workflows/ci.yml": "run: cargo llvm-cov",
        },
        {
            "package.json": '{"scripts": {"test": "jest"}, '
            '"devDependencies": {"eslint": "9", "jest": "30"}}',
            "tsconfig.json": "{}",
        },
        {"pom.xml": "", "core/src/test/java/a/ATest.java": ""},
        {"build.gradle": "", "src/test/java/a/ATest.java": ""},
        {"composer.json": '{"require-dev": {"phpunit/phpunit": "9", "phpstan/phpstan": "1"}}'},
        {"Gemfile": "gem 'rubocop'", "spec/a_spec.rb": ""},
        {"CMakeLists.txt": "", "tests/CMakeLists.txt": "gtest_discover_tests(all)\n"},
        {"a.sln": "", "t/t.csproj": '<PackageReference Include="Microsoft.NET.Test.Sdk" />'},
    ],
)
def test_a_sign_keeps_the_gate(files: dict[str, str]) -> None:
    assert changes(files) == {}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"go.mod": ""}, "go: no file *_test.go here, so no gate tests it."),
        ({"setup.py": ""}, "python: no test file and no sign of pytest here, so no gate tests it."),
        ({"Cargo.toml": "", "src/lib.rs": ""}, "rust: no test in any file here, so no gate tests it."),
        ({"package.json": TYPED, "tsconfig.json": ""}, "typescript: no test script in package.json, so no gate tests it."),
        ({"pom.xml": ""}, "maven: no file in src/test here, so no gate tests it."),
        ({"api/build.gradle": ""}, "gradle in api: no file in src/test here, so no gate tests it."),
        ({"composer.json": "{}"}, "php: no sign of phpunit or pest here, so it gets no gates."),
        ({"Gemfile": ""}, "ruby: no sign of rspec, and no Rakefile with tests here, so it gets no gates."),
        ({"CMakeLists.txt": ""}, "cmake: no CMakeLists.txt adds a test, so no gate tests it."),
    ],
)  # fmt: skip
def test_a_language_without_a_sign_of_tests_is_told(files: dict[str, str], said: str) -> None:
    assert notes(files) == (said,)
    assert all("test" not in stack.runs() for stack in found(files))


def test_what_nobody_tried_is_marked() -> None:
    kotlin = {"build.gradle.kts": 'plugins { kotlin("jvm") }', "src/test/kotlin/ATest.kt": ""}
    assert notes(kotlin) == ("gradle: untried, Kotlin was not tried with it.",)
    assert "  preset: gradle  # untried: Kotlin was not tried with it\n" in block(found(kotlin))
    assert "# untried: nobody here has had the .NET SDK" in block(found({"a.csproj": ""}))


def test_wrappers_and_other_tools_of_a_language_are_used() -> None:
    tested = {"src/test/java/ATest.java": ""}
    assert changes({"pom.xml": "", "mvnw": "", **tested}) == {
        "build": 'command: "./mvnw -B test-compile"',
        "test": 'command: "./mvnw -B test"',
    }
    assert changes({"build.gradle": "", "gradlew": "", **tested})["test"].startswith(
        'command: "./gradlew --no-daemon'
    )
    uses = '{"require-dev": {"pestphp/pest": "3", "vimeo/psalm": "5"}}'
    assert changes({"composer.json": uses}) == {
        "lint": 'command: "vendor/bin/psalm --no-progress"',
        "test": 'command: "vendor/bin/pest"',
    }
    assert changes({"Rakefile": "", ".standard.yml": "", "test/test_a.rb": ""}) == {
        "lint": 'command: "standardrb"',
        "test": 'command: "rake test"',
    }


# Repositories of many packages

ROOT = '{"scripts": {"test": "turbo run test"}, "devDependencies": {"turbo": "2"}}'
PACKAGE = '{"scripts": {"test": "vitest run"}, "devDependencies": {"eslint": "9", "vitest": "3"}}'


def test_packages_of_a_workspace_have_the_gates_of_their_tools() -> None:
    files = {
        "package.json": ROOT,
        "pnpm-lock.yaml": "",
        "pnpm-workspace.yaml": "packages:\n  - web\n  - 'packages/**'\n  - '!**/old'\n",
        "web/package.json": PACKAGE,
        "web/tsconfig.json": "{}",
        "web/eslint.config.mjs": "",
        "packages/shared/package.json": TYPED,
        "packages/shared/tsconfig.json": "{}",
        "packages/old/package.json": PACKAGE,
        "packages/playground/package.json": PACKAGE,
        "website/package.json": PACKAGE,
    }
    assert runs(files) == {
        "packages/shared": ["build"],
        "web": ["build", "coverage", "lint", "test"],
    }
    assert '    - name: typescript-web-test\n      command: "pnpm test"' in block(found(files))


@pytest.mark.parametrize("script", ["vitest run", "jest"])
def test_a_test_script_that_tests_all_is_one_gate(script: str) -> None:
    root = f'{{"workspaces": ["packages/*"], "scripts": {{"test": "{script}"}}}}'
    files = {
        "package.json": root,
        "eslint.config.js": "",
        "packages/a/package.json": PACKAGE,
        "packages/a/tsconfig.json": "{}",
        "packages/b/package.json": PACKAGE,
        "packages/b/.eslintrc.json": "{}",
    }
    assert runs(files) == {".": ["lint", "test"], "packages/a": ["build"], "packages/b": ["lint"]}


def test_with_very_many_packages_the_scripts_for_all_are_the_gates() -> None:
    scripts = '"test": "turbo run test", "lint": "turbo run lint", "typecheck": "turbo run tc"'
    files = {
        "package.json": f'{{"workspaces": ["p/*"], "scripts": {{{scripts}}}}}',
        "yarn.lock": "",
    }
    files |= {f"p/{n}/package.json": PACKAGE for n in range(20)}
    (stack,) = found(files)
    assert (stack.folder, sorted(stack.runs())) == (".", ["build", "lint", "test"])
    assert 'command: "yarn run lint"  # for all 20 packages' in block([stack])


def test_a_tsconfig_that_only_refers_to_others_is_built() -> None:
    files = {"package.json": TS, "tsconfig.json": '{ "files": [], "references": [{}] }'}
    assert changes(files)["build"] == 'command: "npx --no-install tsc -b"'


def test_python_packages_are_tested_where_the_root_does_not() -> None:
    files = {
        "pyproject.toml": '[tool.ruff]\n[tool.uv.workspace]\nmembers = ["libs/*"]\nexclude = ["libs/x"]',
        "libs/a/pyproject.toml": "[tool.pytest.ini_options]",
        "libs/a/tests/test_a.py": "",
        "libs/x/pyproject.toml": "[tool.pytest.ini_options]",
        "libs/x/test_x.py": "",
    }
    assert runs(files)["libs/a"] == ["test"]
    assert "libs/x" not in runs(files)
    files["conftest.py"] = ""
    assert list(runs(files)) == ["."]


def test_modules_and_crates_outside_of_the_roots_build_are_stacks() -> None:
    modules = {
        "go.mod": "",
        "a_test.go": "",
        "tools/go.mod": "",
        "sdk/go.mod": "",
        "sdk/b_test.go": "",
    }
    assert list(runs(modules)) == [".", "sdk"]
    assert list(runs({**modules, "go.work": "go 1.22\n\nuse (\n\t.\n\t./tools\n)\n"})) == ["."]
    crates = {
        "Cargo.toml": "[package]",
        "src/lib.rs": "#[test]",
        "x/Cargo.toml": "",
        "x/tests/a.rs": "",
    }
    assert list(runs(crates)) == [".", "x"]
    crates["Cargo.toml"] = '[workspace]\nmembers = ["x"]'
    assert list(runs(crates)) == ["."]
    crates["Cargo.toml"] = '[workspace]\nexclude = ["x"]'
    assert list(runs(crates)) == [".", "x"]


@pytest.mark.parametrize(
    "folder",
    [
        "examples/shop",
        "playground",
        "apps/playground",
        "tests/fixtures/x",
        "tests/app",
        "testdata/m",
        "sample",
        "third_party/z",
        "packages/a/__fixtures__/b",
        ".devcontainer",
        "e2e",
    ],
)
def test_playgrounds_examples_and_test_data_are_not_taken(folder: str) -> None:
    for manifest, text in (("package.json", TS), ("go.mod", ""), ("pom.xml", ""), ("Gemfile", "")):
        assert stacks({f"{folder}/{manifest}": text, f"{folder}/spec/a_spec.rb": ""}) == []


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
    for files in (
        {"setup.py": "", "test_a.py": ""},
        {"setup.py": "", ".coveragerc": "", "test_a.py": ""},
        {"package.json": TS, "yarn.lock": "", "tsconfig.json": '{"files": []}'},
        {"package.json": "{}", "vitest.config.ts": "", "tsconfig.json": ""},
        {"pom.xml": "", "mvnw": "", "src/test/java/ATest.java": ""},
        {"build.gradle": "", "gradlew": "", "src/test/java/ATest.java": ""},
        {"composer.json": '{"require-dev": {"pestphp/pest": "3", "vimeo/psalm": "5"}}'},
        {"Rakefile": "", "test/test_a.rb": "", ".standard.yml": ""},
    ):
        for stack in found(files):
            for change in stack.changes:
                if change.key == "command":
                    assert refusals(change.value.strip('"'), name=change.gate) == []
