"""Floors: what holds for every change without any command. Values in, results out."""

import configparser
import json
import posixpath
import re
import tomllib
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from hornbook.commits.change import Touched
from hornbook.gates.gate import Gate, GateResult, GateStatus
from hornbook.gates.scripts import named_scripts
from hornbook.gates.test_files import companion, is_test, same_kind, wants_test
from hornbook.plans.plan import Constraints
from hornbook.text.globs import parse_set

SCOPE, TESTS, ARTEFACTS, RULES = "floor:scope", "floor:tests", "floor:artefacts", "floor:rules"
_MOST_HOPS = 40
_MOST_TOLD = 100


class Strictness(StrEnum):
    """What comes of changed code without tests."""

    OFF = "off"
    WARN = "warn"
    REQUIRED = "required"


def scope(
    files: Sequence[Touched],
    constraints: Constraints | None,
    links: Mapping[str, str],
    present: Collection[str] = (),
) -> GateResult:
    """Whether every touched path, old names and what links point to included, is in scope.

    `links` are all symbolic links of the tree with what they point to, `present` all its files: a
    link to a folder reaches what is in it, and a name that differs only in case is the same file
    on some disks. Without constraints only links that leave the repository are refused.

    Raises:
        BadGlob: A constraint is not in the dialect.
    """
    limits = constraints or Constraints()
    why_not = _judge_of(limits)
    closed = _closed(limits, present)
    alike = {_folded(path): path for path in closed}
    problems: list[str] = []
    for file in files:
        problems += _name_problems(file, why_not)
        same = alike.get(_folded(file.path), file.path)
        if same != file.path:
            problems.append(f"{file.path} differs from {same} only in case, which {closed[same]}")
        if file.target is not None:
            problems += _link_problem(file.path, file.target, links, why_not, closed)
    said = "every touched path is in scope"
    if constraints is None:
        said = "no plan limits the change; no link leaves the repository"
    return _result(SCOPE, problems, "outside the scope", said)


def _name_problems(file: Touched, why_not: Callable[[str], str | None]) -> Iterator[str]:
    """Why a touched file may not have its name, or the one that it had."""
    names = [(file.path, " (a submodule)" if file.is_submodule else "")]
    names += [(file.before, f", the old name of {file.path},")] if file.before else []
    for path, what in names:
        reason = why_not(path)
        if reason is not None:
            yield f"{path}{what} {reason}"


def _judge_of(constraints: Constraints) -> Callable[[str], str | None]:
    inside = parse_set(constraints.inside)
    refused = (
        (parse_set(constraints.do_not_touch), "is not to be touched"),
        (parse_set(constraints.outside), "is excluded from the scope"),
    )

    def why_not(path: str) -> str | None:
        for globs, words in refused:
            fits = globs.match(path)
            if fits is not None:
                return f"{words} ({fits.pattern})"
        if constraints.inside and inside.match(path) is None:
            return f"is not in scope ({', '.join(constraints.inside)})"
        return None

    return why_not


def _closed(limits: Constraints, present: Collection[str]) -> dict[str, str]:
    """The files of the tree that are excluded or not to be touched, each with the reason."""
    judge = _judge_of(replace(limits, inside=()))
    reasons = ((path, judge(path)) for path in sorted(present))
    return {path: reason for path, reason in reasons if reason is not None}


def _folded(path: str) -> str:
    """What a disk that ignores case, and how letters are composed, makes of a path."""
    return unicodedata.normalize("NFC", path).casefold()


def _link_problem(
    path: str,
    target: str,
    links: Mapping[str, str],
    why_not: Callable[[str], str | None],
    closed: Mapping[str, str],
) -> list[str]:
    end = _followed(path, links)
    if end is None:
        return [f"{path} links to {target}, which leaves the repository or never ends"]
    reason = why_not(end)
    if reason is not None:
        return [f"{path} links to {end}, which {reason}"]
    start = "" if end == "." else f"{end}/"
    held = next((each for each in closed if each.startswith(start)), None)
    if held is None:
        return []
    return [f"{path} links to {end}, which holds {held}, which {closed[held]}"]


def _followed(path: str, links: Mapping[str, str]) -> str | None:
    """Where a path really is once every link on the way is followed; none outside the root."""
    for _ in range(_MOST_HOPS):
        parts = path.split("/")
        prefixes = ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
        link = next((prefix for prefix in prefixes if prefix in links), None)
        if link is None:
            return path
        rest = path[len(link) :].lstrip("/")
        if links[link].startswith("/"):
            return None
        path = posixpath.normpath(posixpath.join(posixpath.dirname(link), links[link], rest))
        if path.split("/")[0] == "..":
            return None
    return None


def has_tests(
    files: Sequence[Touched],
    present: Collection[str],
    *,
    strictness: Strictness,
    self_tested: Collection[str] = (),
    weaker: Sequence[str] = (),
) -> GateResult | None:
    """Whether changed code comes with tests: changed with it, or there by name; none if off.

    `present` are all files of the tree, `self_tested` those that hold their own tests, `weaker`
    says what the change takes away from tests, which is told and never stops it.
    """
    if strictness is Strictness.OFF:
        return None
    edited = [file.path for file in files if file.is_edited]
    code = list(filter(wants_test, edited))
    checked = [path for path in code if path not in self_tested]
    problems = [
        f"{path} has no test of its name, and no test changed with it"
        for path in _untested(checked, list(filter(is_test, edited)), present)
    ]
    required = strictness is Strictness.REQUIRED
    count = len(code)
    said = f"all changed code has tests ({count})" if count else "no code changed"
    result = _result(TESTS, problems, "without a test", said, required=required)
    return _told_weaker(result, weaker) if weaker else result


def _untested(
    code: Sequence[str], changed: Sequence[str], present: Collection[str]
) -> Iterator[str]:
    """The code that no changed test is of the kind of, and no test there has the name of."""
    known = [path for path in present if is_test(path)]
    for path in code:
        tested = any(same_kind(path, test) for test in changed)
        if not tested and companion(path, known) is None:
            yield path


def _told_weaker(result: GateResult, weaker: Sequence[str]) -> GateResult:
    """The result with what tests lost; where nothing else was found it is a warning."""
    lines = [_readable(line) for line in weaker[:_MOST_TOLD]]
    more = f" and {len(weaker) - 1} more" if len(weaker) > 1 else ""
    words = f"the change weakens tests: {lines[0]}{more}"
    fine = result.status is GateStatus.PASSED
    return replace(
        result,
        status=GateStatus.WARNED if fine else result.status,
        message=words if fine else f"{result.message}; {words}",
        output="\n".join(filter(None, (result.output, *lines))),
    )


_JUNK_TEXT = """
*.orig *.rej *.swp *.swo *~ .#* .DS_Store Thumbs.db desktop.ini .idea/ __pycache__/ *.pyc
.pytest_cache/ .mypy_cache/ .ruff_cache/ .nyc_output/ htmlcov/ .coverage coverage.out cover.out
coverage.xml lcov.info node_modules/ .venv/ npm-debug.log nohup.out *.bak
"""
_JUNK = parse_set(_JUNK_TEXT.split())
_STRAY = parse_set(["*.patch", "*.diff", "!patches/", "!patch/", "!testdata/", "!fixtures/"])


def artefacts(files: Sequence[Touched]) -> GateResult:
    """Whether the change brings files that no change should: leftovers of tools and editors."""
    problems = []
    for file in files:
        if file.status in "ARC":
            fits = _JUNK.match(file.path) or _STRAY.match(file.path)
            if fits is not None:
                problems.append(f"{file.path} is a leftover ({fits.pattern})")
    return _result(ARTEFACTS, problems, "that should not be there", "no leftover files")


_JUDGES_TEXT = """
.hornbook/ .semspec/ Makefile makefile GNUmakefile *.mk justfile Taskfile.yml Taskfile.yaml
.github/workflows/ .github/actions/ .gitlab-ci.yml .circleci/ .travis.yml Jenkinsfile
azure-pipelines.yml .buildkite/ .pre-commit-config.yaml .husky/
pytest.ini tox.ini noxfile.py conftest.py setup.cfg .coveragerc pyproject.toml mypy.ini .mypy.ini
ruff.toml .ruff.toml .flake8 .pylintrc jest.config.* vitest.config.* vite.config.* .mocharc.*
playwright.config.* karma.conf.* .nycrc .nycrc.* package.json tsconfig.json tsconfig.*.json
.eslintrc .eslintrc.* eslint.config.* biome.json .golangci.yml .golangci.yaml .golangci.toml
clippy.toml .clippy.toml rustfmt.toml .cargo/ nextest.toml codecov.yml .codecov.yml
pom.xml .mvn/ build.gradle build.gradle.kts init.gradle checkstyle.xml
composer.json phpunit.xml phpunit.xml.dist phpunit.dist.xml phpstan.neon phpstan.neon.dist
phpstan.dist.neon phpstan-baseline.neon psalm.xml psalm.xml.dist phpcs.xml phpcs.xml.dist .phpcs.xml
.php-cs-fixer.php .php-cs-fixer.dist.php
Rakefile rakefile Rakefile.rb .rspec .rubocop.yml .rubocop_todo.yml
CMakeLists.txt CMakePresets.json CTestConfig.cmake CTestCustom.cmake .clang-tidy
*.runsettings Directory.Build.props
"""
_JUDGES = parse_set(_JUDGES_TEXT.split())
# These hold much besides: they count only where the caller knows that the part that judges changed.
_BUILDS = frozenset({"pom.xml", "build.gradle", "build.gradle.kts", "CMakeLists.txt"})
SHARED = _BUILDS | {"pyproject.toml", "package.json", "setup.cfg", "composer.json"}


def rules(
    files: Sequence[Touched],
    gates: Iterable[Gate],
    *,
    is_rule: Callable[[str], bool],
    harmless: Collection[str] = (),
) -> GateResult:
    """Whether the change edits what judges it: rules, gates, their scripts, test configuration.

    It never stops a change: it is told, so that a reviewer looks. `harmless` are the touched
    files of `SHARED` in which no part that judges changed.
    """
    scripts = _scripts(gates)
    problems = []
    for file in files:
        for path in dict.fromkeys(filter(None, (file.before, file.path))):
            reason = _judging(path, scripts, is_rule)
            if reason is not None and path not in harmless:
                did = "removes" if file.is_removed or path == file.before else "edits"
                problems.append(f"the change {did} {path} ({reason})")
    return _result(
        RULES, problems, "of what judges it", "it edits nothing that judges it", required=False
    )


def _judging(path: str, scripts: Mapping[str, str], is_rule: Callable[[str], bool]) -> str | None:
    if is_rule(path):
        return "a rule"
    if path in scripts:
        return f"run by the gate {scripts[path]}"
    return "configuration of gates or tests" if _JUDGES.match(path) is not None else None


def _scripts(gates: Iterable[Gate]) -> dict[str, str]:
    """The scripts and settings that the gates' commands name, each with the first such gate."""
    found: dict[str, str] = {}
    for gate in gates:
        for word in named_scripts(gate.command):
            path = posixpath.normpath(posixpath.join(gate.folder, word))
            found.setdefault(path, gate.name)
    return found


def _result(
    name: str, problems: list[str], what: str, fine: str, *, required: bool = True
) -> GateResult:
    if not problems:
        return GateResult(name, required, GateStatus.PASSED, message=fine)
    status = GateStatus.FAILED if required else GateStatus.WARNED
    problems = [_readable(problem) for problem in problems]
    count = f"{len(problems)} path{'s' if len(problems) > 1 else ''} {what}: {problems[0]}"
    more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
    told = problems[:_MOST_TOLD]
    if len(problems) > _MOST_TOLD:
        told.append(f"[{len(problems) - _MOST_TOLD} more]")
    return GateResult(name, required, status, output="\n".join(told), message=count + more)


def _readable(text: str) -> str:
    """A path that is not UTF-8 can still be told."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


_CHECKERS = "black coverage flake8 hatch mypy nox pdm poe pylint pyright pytest ruff tox ty"
_PYPROJECT = frozenset(_CHECKERS.split())
_PACKAGE = frozenset(
    ("scripts", "jest", "vitest", "mocha", "ava", "c8", "nyc", "eslintConfig", "prettier", "babel")
)


_OF_TESTS = re.compile(r"test|check|skip|ignore|surefire|failsafe|verif|exclude", re.IGNORECASE)


def judging_part(path: str, text: str) -> object:
    """What in a file of `SHARED` configures tests and checks; of a build file, lines about them.

    Two texts with the same answer judge alike. A text that cannot be read is its own answer, so
    that any change of it counts.
    """
    name = path.rsplit("/", 1)[-1]
    if name in _BUILDS:
        return [line.strip() for line in text.splitlines() if _OF_TESTS.search(line)]
    try:
        if name == "pyproject.toml":
            return _chosen(tomllib.loads(text).get("tool"), _PYPROJECT)
        if name in {"package.json", "composer.json"}:
            return _chosen(json.loads(text), _PACKAGE)
        read = configparser.RawConfigParser(strict=False)
        read.read_string(text)
    except (ValueError, configparser.Error):
        return text
    return {
        section: dict(read[section])
        for section in read.sections()
        if section not in {"metadata", "options"} and not section.startswith("options.")
    }


def _chosen(table: object, names: frozenset[str]) -> object:
    if not isinstance(table, Mapping):
        return table
    return {key: value for key, value in table.items() if key in names}
