"""BASE's tests over HEAD's code: what a change that edits tests is judged by as well.

A change may edit the tests that judge it, or what says which of them run. Where it does, the files
of the tests are put back as they were at the merge base, in a copy of HEAD, and the required gates
that run tests are run once more. What only passes in the new form shows there, by its name.
"""

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from hornbook.commits import git
from hornbook.commits.change import Touched
from hornbook.errors import UsageError
from hornbook.gates.gate import BaseTests, Gate, GateReport, GateResult, GateStatus
from hornbook.gates.scripts import Read, named_scripts
from hornbook.gates.test_files import is_test
from hornbook.gates.test_output import tools_run
from hornbook.text.globs import parse_set

_CONFIGURES_TEXT = """
Makefile makefile GNUmakefile *.mk justfile Taskfile.yml Taskfile.yaml
pytest.ini tox.ini noxfile.py conftest.py setup.cfg .coveragerc pyproject.toml
jest.config.* vitest.config.* vite.config.* .mocharc.* playwright.config.* karma.conf.* package.json
nextest.toml .cargo/ pom.xml .mvn/ build.gradle build.gradle.kts composer.json phpunit.xml
phpunit.xml.dist phpunit.dist.xml Rakefile rakefile Rakefile.rb .rspec CMakeLists.txt
CTestConfig.cmake CTestCustom.cmake *.runsettings
"""
_CONFIGURES = parse_set(_CONFIGURES_TEXT.split())
_OF_TESTS = frozenset(
    {"test", "tests", "__tests__", "spec", "specs", "e2e", "testdata", "__snapshots__"}
)
_REGULAR = frozenset({"100644", "100755"})


def edited_tests(
    files: Sequence[Touched], gates: Sequence[Gate], harmless: Collection[str] = ()
) -> tuple[Touched, ...]:
    """The touched files that are tests or say how they run; a new test alone edits none.

    `harmless` are files that hold other settings too, in which only those changed.
    """
    scripts = {
        posixpath.normpath(posixpath.join(gate.folder, word))
        for gate in gates
        for word in named_scripts(gate.command)
    }
    return tuple(file for file in files if _edits(file, scripts, harmless))


def _edits(file: Touched, scripts: Collection[str], harmless: Collection[str]) -> bool:
    if file.is_submodule or file.path.startswith("../") or file.path in harmless:
        return False
    names = [name for name in (file.before, file.path) if name is not None]
    if any(name in scripts or _CONFIGURES.match(name) is not None for name in names):
        return True
    return file.status != "A" and any(map(_is_of_tests, names))


def _is_of_tests(path: str) -> bool:
    return is_test(path) or not _OF_TESTS.isdisjoint(path.split("/")[:-1])


def gates_of_tests(gates: Sequence[Gate], read: Callable[[Gate], Read]) -> tuple[Gate, ...]:
    """The required gates that run tests, with those that must have ended before them."""
    wanted = {
        gate.name
        for gate in gates
        if gate.required and ("test" in gate.name.lower() or tools_run(gate.command, read(gate)))
    }
    waiting = list(wanted)
    by_name = {gate.name: gate for gate in gates}
    while waiting:
        before = set(by_name[waiting.pop()].after) & by_name.keys() - wanted
        wanted |= before
        waiting += before
    return tuple(gate for gate in gates if gate.name in wanted)


def put_back(root: Path, copy: Path, edited: Sequence[Touched]) -> None:
    """Give the edited files in a copy of HEAD the content that they had before the change.

    Raises:
        UsageError: A file lies behind a link that leads out of the copy.
    """
    old = {file.before or file.path: file for file in edited if file.old_mode in _REGULAR}
    held = git.blobs(root, {file.old_blob for file in old.values()})
    for file in edited:
        _inside(copy, file.path).unlink(missing_ok=True)
    for path, file in old.items():
        place = _inside(copy, path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(held[file.old_blob])
        place.chmod(0o755 if file.old_mode == "100755" else 0o644)


def _inside(copy: Path, path: str) -> Path:
    place = copy / path
    if not place.parent.resolve().is_relative_to(copy.resolve()):
        raise UsageError(f"{path} lies behind a link that leads out of the tree.")
    return place


def told(edited: Sequence[Touched], report: GateReport, own: Sequence[str]) -> BaseTests:
    """What the gates said to BASE's tests, with the names of tests that failed or were skipped.

    `own` are the tests that were skipped in HEAD's own form. One that is skipped in both forms is
    no news; one that only one form skips is not tried by the other.
    """
    from hornbook.gates.test_names import failed_tests  # noqa: PLC0415  # only where tests fail

    paths = tuple(sorted(file.path for file in edited))
    if report.passed:
        return BaseTests(GateStatus.PASSED, paths)
    failed = [gate for gate in report.gates if gate.status is not GateStatus.PASSED]
    names = tuple(dict.fromkeys(name for text in outputs(failed) for name in failed_tests(text)))
    message = "; ".join(f"{each.name}: {each.message}" for each in failed)
    idle = dict.fromkeys(own) | dict.fromkeys(skipped_in(report.gates))
    both = set(own) & set(skipped_in(report.gates))
    skipped = tuple(name for name in idle if name not in both)
    return BaseTests(GateStatus.FAILED, paths, names, message, skipped)


def outputs(results: Iterable[GateResult]) -> list[str]:
    """What the commands of some results printed, whole."""
    return [Path(each.log).read_text("utf-8", "replace") for each in results if each.log]


def skipped_in(results: Iterable[GateResult]) -> tuple[str, ...]:
    """The names of the tests that some gates skipped."""
    from hornbook.gates.test_names import skipped_tests  # noqa: PLC0415  # only for edited tests

    return tuple(dict.fromkeys(name for text in outputs(results) for name in skipped_tests(text)))


def unanswered(failed: Sequence[str], said: str) -> list[str]:
    """The tests that nobody names, by their last word."""
    return [name for name in failed if not _is_named(_short(name), said)]


def _is_named(name: str, said: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said) is not None if name else False


def _short(name: str) -> str:
    plain = re.split(r"[(\[]| with data set ", name)[0]
    return re.split(r"::|(?<=\w)#(?=\w)|\s[›>]\s|/", plain)[-1].strip()
