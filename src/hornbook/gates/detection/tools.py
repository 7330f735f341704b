"""What is different in a preset's gates where a repository shows other tools, or none.

Each function takes the signs of a folder and answers with the differences. A gate whose tool shows
no sign, neither a configuration nor a dependency, is switched off; so is a gate for tests where no
test is to be seen. Nothing is guessed.
"""

from collections.abc import Iterable, Iterator, Mapping

from hornbook.gates.detection.signs import PresetDifference, Signs, off, table


def go(signs: Signs) -> Iterable[PresetDifference]:
    """Linted where golangci-lint shows."""
    if not signs.named(".golangci.") and not signs.mentioned("golangci-lint"):
        yield off("lint", "no sign of golangci-lint here")
    if not signs.lies(r"_test\.go$"):
        yield from (off(gate, "no file *_test.go here") for gate in ("test", "coverage"))


def python(signs: Signs) -> Iterable[PresetDifference]:
    """Linted with ruff or flake8, typed with mypy or its like, tested with pytest or unittest."""
    if not signs.named("ruff.toml", ".ruff.toml") and not signs.mentioned("ruff"):
        linters = {"flake8": "flake8"}
        yield _other(signs, "lint", linters, "no sign of ruff or flake8 here")
    if not signs.named("mypy.ini", ".mypy.ini") and not signs.mentioned("mypy"):
        yield _other(signs, "types", _TYPED, "no sign of mypy, pyright, ty or pyrefly here")
    if signs.says(r"ruff[ -]format\b"):
        yield PresetDifference("format", "ruff format --check .", "ruff formats here")
    elif signs.says(r"\[tool\.black\b|psf/black|\bblack\b.* --check"):
        yield PresetDifference("format", "black --check .", "black formats here")
    yield from _python_tests(signs)


_TYPED = {
    "basedpyright": "basedpyright",
    "pyright": "pyright",
    "tool.ty": "ty check",
    "ty check": "ty check",
    "pyrefly": "pyrefly check",
}


def _other(signs: Signs, gate: str, tools: Mapping[str, str], without: str) -> PresetDifference:
    """A gate with the first tool that is mentioned; switched off without one."""
    found = next((each for each in tools if signs.mentioned(each)), None)
    if found is None:
        return off(gate, without)
    line = tools[found]
    return PresetDifference(gate, line, f"{line.partition(' ')[0]} is used here")


def _python_tests(signs: Signs) -> Iterator[PresetDifference]:
    pytest = signs.named("pytest.ini", "conftest.py") or signs.mentioned("pytest")
    measured = signs.named(".coveragerc") or any(map(signs.mentioned, ("coverage", "pytest-cov")))
    if not pytest and not signs.lies(r"(?:^|/)(?:test_[^/]*|[^/]*_test|tests?)\.py$"):
        why = "no test file and no sign of pytest here"
        yield from (off(gate, why) for gate in ("test", "coverage"))
        return
    if not pytest:
        yield PresetDifference("test", "python -m unittest", "no sign of pytest here")
    if not measured:
        yield off("coverage", "no sign of coverage here")
    elif not pytest:
        command = "coverage run -m unittest && coverage report"
        yield PresetDifference("coverage", command, "no sign of pytest here")


def rust(signs: Signs) -> Iterable[PresetDifference]:
    """Tested where a test is to be seen, measured where cargo-llvm-cov shows."""
    measured = signs.mentioned("llvm-cov") or signs.mentioned("cargo-llvm-cov")
    if not measured:
        yield off("coverage", "no sign of cargo-llvm-cov here")
    if not signs.lies(r"(?:^|/)tests/[^/]+\.rs$") and not signs.found_in(
        r"\.rs$", r"#\[(?:\w+::)*(?:test|rstest)\b|#\[cfg\(test|//[/!] *```"
    ):
        yield off("test", "no test in any file here")
        if measured:
            yield off("coverage", "no test in any file here")
    if signs.named("rustfmt.toml", ".rustfmt.toml") or signs.says(r"cargo fmt\b.* --check"):
        yield PresetDifference("format", "cargo fmt --all --check", "rustfmt is used here")


_JVM_TESTS = r"(?:^|/)src/(?:\w*[tT]est\w*|it)/.*\.(?:java|kt|groovy|scala)$"


def maven(signs: Signs) -> Iterable[PresetDifference]:
    """Run with the wrapper where there is one."""
    yield from _wrapped(signs, "mvnw", ("build", "mvn -B test-compile"), ("test", "mvn -B test"))


_GRADLE_LINTERS = {
    r"org\.jlleitschuh\.gradle\.ktlint|plugins\.ktlint": "ktlintCheck",
    r"org\.jmailen\.kotlinter|plugins\.kotlinter": "lintKotlin",
    r"io\.gitlab\.arturbosch\.detekt|dev\.detekt|plugins\.detekt": "detekt",
    r"com\.diffplug\.(?:gradle\.)?spotless|plugins\.spotless": "spotlessCheck",
}
"""By a plugin's name in a build script, or in the catalog of versions: its task that checks."""


def gradle(signs: Signs) -> Iterable[PresetDifference]:
    """Run with the wrapper where there is one; linted by the plugins that a build applies."""
    start = "gradle --no-daemon --console=plain "
    test = f"{start}--info --no-build-cache cleanTest test"
    yield from _wrapped(signs, "gradlew", ("build", f"{start}testClasses"), ("test", test))
    scripts = r"(?:^|/)build\.gradle(?:\.kts)?$"
    tasks = [task for plugin, task in _GRADLE_LINTERS.items() if signs.found_in(scripts, plugin)]
    if tasks:
        runner = start.replace("gradle", "./gradlew", 1) if signs.has("gradlew") else start
        why = "a build script applies the plugin"
        yield PresetDifference("lint", runner + " ".join(tasks), why)


def _wrapped(signs: Signs, wrapper: str, *gates: tuple[str, str]) -> Iterator[PresetDifference]:
    tested = signs.lies(_JVM_TESTS)
    for gate, command in gates:
        if gate == "test" and not tested:
            yield off("test", "no file in src/test here")
        elif signs.has(wrapper):
            arguments = command.partition(" ")[2]
            yield PresetDifference(gate, f"./{wrapper} {arguments}", "the wrapper is here")


_ANALYSED = {
    "larastan/larastan": "vendor/bin/phpstan analyse --no-progress",
    "nunomaduro/larastan": "vendor/bin/phpstan analyse --no-progress",
    "vimeo/psalm": "vendor/bin/psalm --no-progress",
    "squizlabs/php_codesniffer": "vendor/bin/phpcs",
    "laravel/pint": "vendor/bin/pint --test",
    "friendsofphp/php-cs-fixer": "vendor/bin/php-cs-fixer fix --dry-run",
}


def php(signs: Signs) -> Iterable[PresetDifference]:
    """Analysed with phpstan or another tool, tested with phpunit or pest."""
    uses = {*table(signs.composer, "require"), *table(signs.composer, "require-dev")}
    if "phpstan/phpstan" not in uses and not signs.has("phpstan."):
        other = next((each for each in _ANALYSED if each in uses), None)
        if other is None:
            yield off("lint", "no sign of phpstan, psalm, phpcs, pint or php-cs-fixer here")
        else:
            yield PresetDifference("lint", _ANALYSED[other], f"{other} is a dependency")
    if "pestphp/pest" in uses:
        yield PresetDifference("test", "vendor/bin/pest", "pestphp/pest is a dependency")
    elif not {"phpunit/phpunit", "symfony/phpunit-bridge"} & uses and not signs.has("phpunit."):
        if table(signs.composer, "scripts").get("test"):
            yield PresetDifference(
                "test", "composer test", "no sign of phpunit here, but a test script"
            )
        else:
            yield off("test", "no sign of phpunit or pest here")


def ruby(signs: Signs) -> Iterable[PresetDifference]:
    """Linted with rubocop or standard, tested with rspec or by the Rakefile."""
    start = "bundle exec " if signs.has("Gemfile") else ""
    if signs.has(".rubocop.yml") or signs.mentioned("rubocop"):
        if not start:
            yield PresetDifference("lint", "rubocop", "no Gemfile here")
    elif signs.has(".standard.yml") or signs.mentioned("standard"):
        yield PresetDifference("lint", f"{start}standardrb", "standard is used here")
    else:
        yield off("lint", "no sign of rubocop here")
    if signs.has(".rspec") or signs.lies(r"_spec\.rb$"):
        if not start:
            yield PresetDifference("test", "rspec", "no Gemfile here")
    elif signs.has("Rakefile") and signs.lies(r"(?:^|/)(?:test|spec)_[^/]*\.rb$|_test\.rb$"):
        yield PresetDifference(
            "test", f"{start}rake test", "no sign of rspec here, but a Rakefile and tests"
        )
    else:
        yield off("test", "no sign of rspec, and no Rakefile with tests here")


def cmake(signs: Signs) -> Iterable[PresetDifference]:
    """Tested where a CMakeLists.txt adds a test."""
    adds = r"(?i)\b(?:enable_testing|add_test|\w+_discover_tests)\s*\(|include\s*\(\s*CTest\b"
    if not signs.found_in(r"(?:^|/)CMakeLists\.txt$", adds):
        yield off("test", "no CMakeLists.txt adds a test")


def dotnet(signs: Signs) -> Iterable[PresetDifference]:
    """Tested where a project is one of tests."""
    if not signs.found_in(r"\.(?:cs|fs)proj$", r"Microsoft\.NET\.Test\.Sdk|<IsTestProject>true"):
        yield off("test", "no project with tests here")
