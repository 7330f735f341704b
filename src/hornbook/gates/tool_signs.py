"""What is different in a preset's gates where a repository shows other tools, or none.

Each function takes the signs of a folder and answers with the differences. A gate whose tool shows
no sign, neither a configuration nor a dependency, is switched off; so is a gate for tests where no
test is to be seen. Nothing is guessed.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

Read = Callable[[str], bytes | None]
"""The bytes of a file by its path from the root; none if there is none."""

WORKFLOW = re.compile(r"\.github/workflows/[^/]+\.ya?ml")
REQUIREMENTS = re.compile(r"requirements[-_.\w]*\.(txt|in)")
_NAMES_TEXT = """
Makefile justfile Taskfile.yml .pre-commit-config.yaml .gitlab-ci.yml
pyproject.toml setup.py setup.cfg tox.ini noxfile.py Pipfile go.work
Gemfile Rakefile composer.json pom.xml build.gradle build.gradle.kts CMakeLists.txt mvnw gradlew
package-lock.json pnpm-lock.yaml pnpm-workspace.yaml yarn.lock bun.lock bun.lockb
.rspec .rubocop.yml .standard.yml psalm.xml phpcs.xml phpcs.xml.dist
"""
_NAMES = frozenset(_NAMES_TEXT.split())
_STARTS_TEXT = """
.golangci. ruff.toml .ruff.toml mypy.ini .mypy.ini pytest.ini conftest.py .coveragerc tsconfig.json
eslint.config. .eslintrc vitest.config. jest.config. phpunit.xml phpunit.dist.xml phpstan.
"""
_STARTS = tuple(_STARTS_TEXT.split())
_ENDS = (".gemspec", ".csproj", ".fsproj")
_UNREAD = re.compile(r".*lock(?:\.json|\.yaml|b)?|mvnw|gradlew")
_MEASURING = {
    "vitest": " --coverage --coverage.reporter=text --coverage.reporter=json-summary",
    "jest": " --coverage",
}
_AROUND = {
    "c8": "npx --no-install c8 --reporter=text --reporter=json-summary ",
    "nyc": "npx --no-install nyc --reporter=text --reporter=json-summary ",
}
"""How each tool leaves a report that can be read."""
_LOCKS = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
}
_TESTING = {"npm": "npm test", "pnpm": "pnpm test", "yarn": "yarn test", "bun": "bun run test"}
_FANS_OUT = re.compile(
    r"\b(?:turbo|nx|lerna|rush|moon)\b|--workspaces\b|(?<!\S)-ws\b|\bworkspaces? (?:foreach|run)\b"
    r"|\bpnpm\b.*\s(?:-r|--recursive|--filter)\b|\bbun\b.*\s--filter\b"
)


@dataclass(frozen=True, slots=True)
class PresetDifference:
    """What a preset's gate needs to fit: a key, its value as YAML, and why."""

    gate: str
    key: str
    value: str
    why: str

    @property
    def switches_off(self) -> bool:
        """Whether the gate does not run here."""
        return self.key == "enabled"


def is_sign(path: str) -> bool:
    """Whether a file may say which tools are used."""
    name = path.rpartition("/")[2]
    known = name in _NAMES or name.startswith(_STARTS) or name.endswith(_ENDS)
    return known or WORKFLOW.fullmatch(path) is not None or bool(REQUIREMENTS.fullmatch(name))


def folder_of(path: str) -> str:
    """The folder of a path, `.` for the root."""
    return path.rpartition("/")[0] or "."


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies in it."""
    return folder == "." or f"{path}/".startswith(f"{folder}/")


def package_at(path: str, read: Read) -> dict[str, object]:
    """What a package.json or composer.json says; nothing if it cannot be read."""
    try:
        found = json.loads((read(path) or b"{}").decode("utf-8", "replace"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def table(package: dict[str, object], key: str) -> dict[str, object]:
    """A table of a manifest; an empty one if it has none."""
    found = package.get(key)
    return found if isinstance(found, dict) else {}


def test_script(package: dict[str, object]) -> str:
    """The script that runs the tests; none if it only says that there are none."""
    script = table(package, "scripts").get("test")
    return script if isinstance(script, str) and "no test specified" not in script else ""


class Signs:
    """What the files of a folder, and those of the root, say about tools."""

    def __init__(self, files: Sequence[str], folder: str, read: Read) -> None:
        self.folder = folder
        self._read = read
        self.below = [path for path in files if is_below(path, folder)]
        self._own = {path.rpartition("/")[2] for path in files if folder_of(path) == folder}
        top = [path for path in files if folder_of(path) == "."]
        self._names = self._own | {path.rpartition("/")[2] for path in top}
        here = [path for path in files if folder_of(path) in {folder, "."}]
        self._texts = [
            (read(path) or b"").decode("utf-8", "replace")
            for path in (*here, *filter(WORKFLOW.fullmatch, files))
            if is_sign(path) and not _UNREAD.fullmatch(path.rpartition("/")[2])
        ]
        self.package = package_at(self.path("package.json"), read)
        self.composer = package_at(self.path("composer.json"), read)

    def path(self, name: str) -> str:
        """The path of a file of the folder."""
        return name if self.folder == "." else f"{self.folder}/{name}"

    def text(self, name: str) -> str:
        """The text of a file of the folder; empty if there is none."""
        return (self._read(self.path(name)) or b"").decode("utf-8", "replace")

    def has(self, *beginnings: str) -> bool:
        """Whether the folder has a file of such a name."""
        return any(name.startswith(beginnings) for name in self._own)

    def named(self, *beginnings: str) -> bool:
        """Whether a file of the folder or of the root has such a name."""
        return any(name.startswith(beginnings) for name in self._names)

    def mentioned(self, tool: str) -> bool:
        """Whether a manifest, a Makefile or a workflow names a tool."""
        word = re.compile(rf"(?<![\w-]){re.escape(tool)}(?![\w])")
        return any(map(word.search, self._texts))

    def lies(self, pattern: str) -> bool:
        """Whether a path below the folder, as seen from the root, is of such a form."""
        return any(map(re.compile(pattern).search, self.below))

    def found_in(self, names: str, text: str) -> bool:
        """Whether a file below the folder, of a name of such a form, has such a text."""
        name, wanted = re.compile(names), re.compile(text.encode())
        paths = (path for path in self.below if name.search(path))
        return any(wanted.search(self._read(path) or b"") for path in paths)

    def manager(self) -> str:
        """The package manager whose lock file the folder or the root has."""
        locks = (self._own, self._names)
        found = (_LOCKS[name] for names in locks for name in _LOCKS if name in names)
        return next(found, "npm")


def off(gate: str, why: str) -> PresetDifference:
    """A gate that does not run here."""
    return PresetDifference(gate, "enabled", "false", why)


def _command(gate: str, command: str, why: str) -> PresetDifference:
    return PresetDifference(gate, "command", json.dumps(command), why)


def go(signs: Signs) -> Iterable[PresetDifference]:
    """Linted where golangci-lint shows."""
    if not signs.named(".golangci.") and not signs.mentioned("golangci-lint"):
        yield off("lint", "no sign of golangci-lint here")
    if not signs.lies(r"_test\.go$"):
        yield from (off(gate, "no file *_test.go here") for gate in ("test", "coverage"))


def python(signs: Signs) -> Iterable[PresetDifference]:
    """Linted with ruff, typed with mypy, tested with pytest or unittest."""
    if not signs.named("ruff.toml", ".ruff.toml") and not signs.mentioned("ruff"):
        yield off("lint", "no sign of ruff here")
    if not signs.named("mypy.ini", ".mypy.ini") and not signs.mentioned("mypy"):
        yield off("types", "no sign of mypy here")
    yield from _python_tests(signs)


def _python_tests(signs: Signs) -> Iterator[PresetDifference]:
    pytest = signs.named("pytest.ini", "conftest.py") or signs.mentioned("pytest")
    measured = signs.named(".coveragerc") or any(map(signs.mentioned, ("coverage", "pytest-cov")))
    if not pytest and not signs.lies(r"(?:^|/)(?:test_[^/]*|[^/]*_test|tests?)\.py$"):
        why = "no test file and no sign of pytest here"
        yield from (off(gate, why) for gate in ("test", "coverage"))
        return
    if not pytest:
        yield _command("test", "python -m unittest", "no sign of pytest here")
    if not measured:
        yield off("coverage", "no sign of coverage here")
    elif not pytest:
        command = "coverage run -m unittest && coverage report"
        yield _command("coverage", command, "no sign of pytest here")


def typescript(signs: Signs) -> Iterable[PresetDifference]:
    """Type-checked by tsconfig.json, linted with eslint, tested by the script of package.json."""
    if not signs.has("tsconfig.json"):
        yield off("build", "no sign of tsconfig.json here")
    elif re.search(r'"files"\s*:\s*\[\s*\]', signs.text("tsconfig.json")):
        why = "its tsconfig.json only refers to others"
        yield _command("build", "npx --no-install tsc -b", why)
    if "eslint" not in dependencies(signs.package) and not signs.named(
        "eslint.config.", ".eslintrc"
    ):
        yield off("lint", "no sign of eslint here")
    yield from _script_tests(signs)


def _script_tests(signs: Signs) -> Iterator[PresetDifference]:
    uses = dependencies(signs.package)
    manager = signs.manager()
    if test_script(signs.package):
        if manager != "npm":
            yield _command("test", _TESTING[manager], f"{manager} has the lock file")
        yield from _measured(uses, manager)
        return
    runner = next(
        (each for each in ("vitest", "jest") if each in uses or signs.has(f"{each}.config.")), None
    )
    if runner is None:
        why = "no test script in package.json"
        yield from (off(gate, why) for gate in ("test", "coverage"))
        return
    command = {"vitest": "npx --no-install vitest run", "jest": "npx --no-install jest"}[runner]
    yield _command("test", command, "no test script in package.json")
    yield _command("coverage", command + _MEASURING[runner], f"{runner} is here")


def _measured(uses: set[str], manager: str) -> Iterator[PresetDifference]:
    tool = next((each for each in ("jest", *_MEASURING, *_AROUND) if each in uses), None)
    if tool is None:
        yield off("coverage", "no sign of jest, vitest, c8 or nyc here")
    elif tool in _AROUND:
        yield _command("coverage", _AROUND[tool] + _TESTING[manager], f"{tool} is a dependency")
    elif tool != "jest" or manager != "npm":
        passed_on = " --" if manager == "npm" else ""
        command = _TESTING[manager] + passed_on + _MEASURING[tool]
        yield _command("coverage", command, f"{tool} is a dependency")


def dependencies(package: dict[str, object]) -> set[str]:
    """The packages that a package.json names."""
    return {*table(package, "dependencies"), *table(package, "devDependencies")}


def fans_out(script: str) -> bool:
    """Whether a script only starts those of the packages below."""
    return _FANS_OUT.search(script) is not None


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


_JVM_TESTS = r"(?:^|/)src/(?:\w*[tT]est\w*|it)/.*\.(?:java|kt|groovy|scala)$"


def maven(signs: Signs) -> Iterable[PresetDifference]:
    """Run with the wrapper where there is one."""
    yield from _wrapped(signs, "mvnw", ("build", "mvn -B test-compile"), ("test", "mvn -B test"))


def gradle(signs: Signs) -> Iterable[PresetDifference]:
    """Run with the wrapper where there is one."""
    start = "gradle --no-daemon --console=plain "
    test = f"{start}--info --no-build-cache cleanTest test"
    yield from _wrapped(signs, "gradlew", ("build", f"{start}testClasses"), ("test", test))


def _wrapped(signs: Signs, wrapper: str, *gates: tuple[str, str]) -> Iterator[PresetDifference]:
    tested = signs.lies(_JVM_TESTS)
    for gate, command in gates:
        if gate == "test" and not tested:
            yield off("test", "no file in src/test here")
        elif signs.has(wrapper):
            arguments = command.partition(" ")[2]
            yield _command(gate, f"./{wrapper} {arguments}", "the wrapper is here")


def php(signs: Signs) -> Iterable[PresetDifference]:
    """Analysed with phpstan, psalm or phpcs, tested with phpunit or pest."""
    uses = {*table(signs.composer, "require"), *table(signs.composer, "require-dev")}
    if "phpstan/phpstan" not in uses and not signs.has("phpstan."):
        others = {
            "vimeo/psalm": "vendor/bin/psalm --no-progress",
            "squizlabs/php_codesniffer": "vendor/bin/phpcs",
        }
        other = next((each for each in others if each in uses), None)
        if other is None:
            yield off("lint", "no sign of phpstan, psalm or phpcs here")
        else:
            yield _command("lint", others[other], f"{other} is a dependency")
    if "pestphp/pest" in uses:
        yield _command("test", "vendor/bin/pest", "pestphp/pest is a dependency")
    elif not {"phpunit/phpunit", "symfony/phpunit-bridge"} & uses and not signs.has("phpunit."):
        if table(signs.composer, "scripts").get("test"):
            yield _command("test", "composer test", "no sign of phpunit here, but a test script")
        else:
            yield off("test", "no sign of phpunit or pest here")


def ruby(signs: Signs) -> Iterable[PresetDifference]:
    """Linted with rubocop or standard, tested with rspec or by the Rakefile."""
    start = "bundle exec " if signs.has("Gemfile") else ""
    if signs.has(".rubocop.yml") or signs.mentioned("rubocop"):
        if not start:
            yield _command("lint", "rubocop", "no Gemfile here")
    elif signs.has(".standard.yml") or signs.mentioned("standard"):
        yield _command("lint", f"{start}standardrb", "standard is used here")
    else:
        yield off("lint", "no sign of rubocop here")
    if signs.has(".rspec") or signs.lies(r"_spec\.rb$"):
        if not start:
            yield _command("test", "rspec", "no Gemfile here")
    elif signs.has("Rakefile") and signs.lies(r"(?:^|/)(?:test|spec)_[^/]*\.rb$|_test\.rb$"):
        yield _command(
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
