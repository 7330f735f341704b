"""Which gates fit a repository: by manifests, in folders too, and only for tools it uses."""

import pytest

from hornbook.gates.cannot_fail import refusals
from hornbook.gates.definitions import check_gates, define
from hornbook.gates.detection.block import Stack, block
from hornbook.gates.detection.detect import detect, is_manifest
from hornbook.settings.load import parse_settings


def found(files: dict[str, str]) -> tuple[Stack, ...]:
    def read(path: str) -> bytes | None:
        return files[path].encode() if path in files else None

    return detect((path for path in files if is_manifest(path)), read).stacks


def stacks(files: dict[str, str]) -> list[tuple[str, str]]:
    return [(stack.preset, stack.folder) for stack in found(files)]


def changes(files: dict[str, str]) -> dict[str, str]:
    (stack,) = found(files)
    return {change.gate: change.command or "off" for change in stack.changes}


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
        "lint": "off",
        "types": "off",
        "test": "python -m unittest",
        "coverage": "off",
    }
    assert changes({"go.mod": "", "a_test.go": ""}) == {"lint": "off"}
    assert changes({"Cargo.toml": "", "tests/a.rs": ""}) == {"coverage": "off"}
    assert changes({"package.json": TS}) == {
        "build": "off",
        "lint": "off",
        "coverage": "off",
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
        "build": "./mvnw -B test-compile",
        "test": "./mvnw -B test",
    }
    assert changes({"build.gradle": "", "gradlew": "", **tested})["test"].startswith(
        "./gradlew --no-daemon"
    )
    uses = '{"require-dev": {"pestphp/pest": "3", "vimeo/psalm": "5"}}'
    assert changes({"composer.json": uses}) == {
        "lint": "vendor/bin/psalm --no-progress",
        "test": "vendor/bin/pest",
    }
    assert changes({"Rakefile": "", ".standard.yml": "", "test/test_a.rb": ""}) == {
        "lint": "standardrb",
        "test": "rake test",
    }


# Repositories of many packages

ROOT = '{"scripts": {"test": "turbo run test"}, "devDependencies": {"turbo": "2"}}'
PACKAGE = '{"scripts": {"test": "vitest run"}, "devDependencies": {"eslint": "9", "vitest": "3"}}'


def test_packages_of_a_workspace_have_the_gates_of_their_tools() -> None:
    files = {
        "package.json": ROOT,
        "pnpm-lock.yaml": "",
        "pnpm-workspace.yaml": "packages:\n  - web\n  - 'packages/**'\n  - '!**/old'\n",
        "web/package.json": PACKAGE.replace('vitest": "3', '@vitest/coverage-v8": "3'),
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
    assert '        test: "pnpm test"  # pnpm has the lock file' in block(found(files))


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
    measured = ["coverage"] if script == "jest" else []
    assert runs(files) == {
        ".": [*measured, "lint", "test"],
        "packages/a": ["build"],
        "packages/b": ["lint"],
    }


def test_with_very_many_packages_the_scripts_for_all_are_the_gates() -> None:
    scripts = '"test": "turbo run test", "lint": "turbo run lint", "typecheck": "turbo run tc"'
    files = {
        "package.json": f'{{"workspaces": ["p/*"], "scripts": {{{scripts}}}}}',
        "yarn.lock": "",
    }
    files |= {
        f"p/{n}/{name}": PACKAGE for n in range(20) for name in ("package.json", "tsconfig.json")
    }
    (stack,) = found(files)
    assert (stack.folder, sorted(stack.runs())) == (".", ["build", "lint", "test"])
    assert 'lint: "yarn run lint"  # for all 20 packages' in block([stack])
    assert notes(files) == ()


@pytest.mark.parametrize(
    ("lint", "gates"),
    [
        ("oxlint --fix && eslint . --fix && pnpm --filter a typecheck", {".": ["lint", "test"]}),
        ("turbo lint && knip", {".": ["test"], "p/a": ["lint"]}),
        ("pnpm --filter './p/*' lint", {".": ["test"], "p/a": ["lint"]}),
    ],
)
def test_a_script_starts_those_of_the_packages_only_where_it_calls_no_tool_itself(
    lint: str, gates: dict[str, list[str]]
) -> None:
    scripts = f'"scripts": {{"test": "node --test", "lint": "{lint}"}}'
    files = {
        "package.json": f'{{"workspaces": ["p/*"], {scripts}, "devDependencies": {{"eslint": "9"}}}}',
        "p/a/package.json": PACKAGE,
    }
    assert runs(files) == gates


def test_a_root_whose_packages_are_tested_is_not_told_as_untested() -> None:
    files = {
        "package.json": '{"workspaces": ["p/*"]}',
        "eslint.config.js": "",
        "p/a/package.json": TS,
    }
    assert runs(files) == {".": ["lint"], "p/a": ["test"]}
    assert notes(files) == ()


def test_a_tsconfig_that_only_refers_to_others_is_built() -> None:
    files = {"package.json": TS, "tsconfig.json": '{ "files": [], "references": [{}] }'}
    assert changes(files)["build"] == "npx --no-install tsc -b"


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


@pytest.mark.parametrize(
    ("scripts", "uses", "command"),
    [
        ('"test": "vitest run"', "vitest @vitest/coverage-v8", "npm test -- --coverage --coverage.reporter=text --coverage.reporter=json-summary"),
        ('"test": "vitest run"', "vitest", "off"),
        ('"test": "NODE_ENV=test npx jest --ci"', "jest", ""),
        ('"test": "node x.js"', "c8", "npx --no-install c8 --reporter=text --reporter=json-summary npm test"),
        ('"test": "node x.js"', "nyc", "npx --no-install nyc --reporter=text --reporter=json-summary npm test"),
        ('"test": "turbo test", "test:coverage": "vitest --coverage"', "turbo", "npm run test:coverage -- --coverage.reporter=text --coverage.reporter=json-summary"),
        ('"test": "jest", "coverage": "jest --coverage"', "jest", "npm run coverage"),
        ('"test": "turbo test"', "vitest @vitest/coverage-v8 turbo", "off"),
        ('"test": "pnpm test:all", "test:all": "node m.mjs pnpm exec turbo run test"', "vitest @vitest/coverage-v8 c8", "off"),
        ('"test": "vitest run --project a && vitest run --project b"', "vitest @vitest/coverage-v8", "off"),
        ('"test": "turbo test", "coverage": "turbo coverage"', "jest", "off"),
    ],
)  # fmt: skip
def test_coverage_is_measured_with_a_script_or_the_one_call_of_a_runner(
    scripts: str, uses: str, command: str
) -> None:
    named = ", ".join(f'"{each}": "1"' for each in ("eslint", *uses.split()))
    package = f'{{"scripts": {{{scripts}}}, "devDependencies": {{{named}}}}}'
    (stack,) = found({"package.json": package, "tsconfig.json": ""})
    told = {each.gate: each.command or "off" for each in stack.changes}
    assert told.get("coverage", "") == command


@pytest.mark.parametrize(
    "script",
    [
        "echo 'do not run tests from root' && exit 1",
        'echo \\"Error: no test specified\\" && exit 1',
        "echo 'a && b; c' ; exit 1",
        "exit 1",
        "echo none",
        "printf no >&2; false",
    ],
)
def test_a_test_script_that_only_speaks_leaves_the_tests_to_the_packages(script: str) -> None:
    files = {
        "package.json": f'{{"workspaces": ["p/*"], "scripts": {{"test": "{script}", "lint": "oxlint"}}}}',
        "bun.lock": "",
        "p/a/package.json": PACKAGE,
    }
    assert runs(files) == {".": ["lint"], "p/a": ["test"]}


@pytest.mark.parametrize(
    ("scripts", "more", "command"),
    [
        ('"lint": "oxlint --deny-warnings"', {}, "npm run lint"),
        ('"lint": "oxlint --fix"', {}, "npx --no-install oxlint"),
        ("", {".oxlintrc.json": ""}, "npx --no-install oxlint"),
        ("", {"biome.jsonc": ""}, "npx --no-install biome lint"),
        ('"lint": "biome check --write ."', {}, "npx --no-install biome lint"),
        ('"lint": "vp lint"', {"pnpm-lock.yaml": ""}, "pnpm run lint"),
        ('"lint": "prettier --write ."', {}, "off"),
        ('"lint": "echo none"', {}, "off"),
        ('"lint": "biome ci"', {"eslint.config.mjs": ""}, "npx --no-install eslint ."),
    ],
)
def test_the_linter_of_a_package_is_the_one_that_it_uses(
    scripts: str, more: dict[str, str], command: str
) -> None:
    package = f'{{"scripts": {{{scripts}}}, "devDependencies": {{"typescript": "5"}}}}'
    told = changes({"package.json": package, "tsconfig.json": "", **more})
    assert told.get("lint", "npx --no-install eslint .") == command


@pytest.mark.parametrize(
    ("files", "gate", "command"),
    [
        ({"setup.py": "", ".flake8": "", "tox.ini": "[flake8]"}, "lint", "flake8"),
        ({"pyproject.toml": "[tool.pyright]"}, "types", "pyright"),
        ({"pyproject.toml": "[tool.ty.rules]"}, "types", "ty check"),
        ({"pyproject.toml": "[tool.uv]\ndev-dependencies = ['pyrefly']"}, "types", "pyrefly check"),
        ({"setup.py": "", "Makefile": "lint:\n\truff format --check ."}, "format", "ruff format --check ."),
        ({"pyproject.toml": "[tool.black]"}, "format", "black --check ."),
        ({"Cargo.toml": "", "rustfmt.toml": ""}, "format", "cargo fmt --all --check"),
        ({"package.json": TS, "dprint.json": ""}, "format", "dprint check"),
        ({"package.json": '{"scripts": {"test": "x", "format:check": "prettier -c ."}}'}, "format", "npm run format:check"),
        ({"composer.json": '{"require-dev": {"laravel/pint": "1", "pestphp/pest": "3"}}'}, "lint", "vendor/bin/pint --test"),
        ({"build.gradle.kts": "", "gradlew": "", "app/build.gradle.kts": "alias(libs.plugins.ktlint)"}, "lint", "./gradlew --no-daemon --console=plain ktlintCheck"),
        ({"build.gradle": "id 'io.gitlab.arturbosch.detekt'"}, "lint", "gradle --no-daemon --console=plain detekt"),
    ],
)  # fmt: skip
def test_other_tools_of_a_language_are_found(
    files: dict[str, str], gate: str, command: str
) -> None:
    assert changes(files)[gate] == command
    assert refusals(command, name=gate) == []
    settings = parse_settings(block(found(files)).encode(), check_gates).gates
    assert command in {each.command for each in define(settings).gates}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"Project.toml": "", "src/A.jl": "", "test/Project.toml": ""}, "Julia: Project.toml is here, but no preset is for it: write gates of your own under `additional`, such as `julia --project -e 'using Pkg; Pkg.test()'`."),
        ({"mix.exs": ""}, "Elixir: mix.exs is here, but no preset"),
        ({"app/pubspec.yaml": "", "go.mod": "", "a_test.go": ""}, "Dart: app/pubspec.yaml is here, but no preset"),
        ({"Makefile": "", "src/Makefile": ""}, "Make: Makefile is here, but no preset"),
    ],
)  # fmt: skip
def test_a_language_without_a_preset_is_told(files: dict[str, str], said: str) -> None:
    assert all(is_manifest(path) for path in files if not path.endswith(".jl"))
    (told,) = notes(files)
    assert told.startswith(said)


def test_a_build_tool_beside_a_preset_is_not_told() -> None:
    assert notes({"go.mod": "", "a_test.go": "", "Makefile": "", "MODULE.bazel": ""}) == ()


def test_very_many_packages_are_a_few_lines_and_a_note() -> None:
    files = {"package.json": '{"workspaces": ["packages/*"], "devDependencies": {"eslint": "9"}}'}
    for n in range(100):
        files[f"packages/a-name-of-some-length-{n}/package.json"] = TYPED
        files[f"packages/a-name-of-some-length-{n}/tsconfig.json"] = "{}"
    text = block(found(files))
    assert len(text.splitlines()) < 70
    assert max(map(len, text.splitlines())) <= 110
    definitions = define(parse_settings(text.encode(), check_gates).gates)
    assert len([each for each in definitions.gates if each.name.endswith("-build")]) == 100
    (told,) = notes(files)
    assert told.endswith("and 96 more: no test script in package.json, so no gate tests it.")


def test_the_block_names_each_gate_and_says_why() -> None:
    text = block(found({"go.mod": "", "web/package.json": TS, "web/tsconfig.json": ""}))
    assert "      without:\n        - lint  # no sign of golangci-lint here\n" in text
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
                if not change.switches_off:
                    assert refusals(change.command, name=change.gate) == []
