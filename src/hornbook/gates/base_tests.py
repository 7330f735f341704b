"""BASE's tests over HEAD's code: what a change that edits tests is judged by as well.

A change may edit the tests that judge it, or what says which of them run. Where it does, the files
of the tests are put back as they were at the merge base, in a copy of HEAD, and the required gates
that run tests are run once more. What only passes in the new form shows there, by its name.

A required gate that is red on the base says nothing of a change by being red. Where a person took
that as known, such a gate stops a change only by what it complains of now and did not then: tests
by their names, anything else by the lines of its output. Where neither can be compared, because an
output was cut, the gate stops the change as ever.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hornbook.commits import git
from hornbook.commits.change import Touched
from hornbook.commits.commit import Commit
from hornbook.errors import UsageError
from hornbook.gates.gate import BaseTests, Gate, GateReport, GateResult, GateStatus
from hornbook.gates.scripts import Read, named_scripts
from hornbook.gates.test_files import OWN_TESTS, is_test
from hornbook.gates.test_output import NO_TESTS, plain, tools_run
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
_NO_TEST = frozenset({"__init__.py", "conftest.py"})

RED = frozenset({GateStatus.FAILED, GateStatus.SKIPPED})
MOST_NAMED = 5
_CUT = re.compile(r"^\[\d+ lines omitted\]$|\[\d+ characters omitted\]", re.MULTILINE)
# Times, counts, line numbers, addresses and the folder differ from run to run.
_VARYING = re.compile(
    r"0x[0-9a-f]+"
    r"|/\S*/(?:hornbook-tree-[^/\s]+/[^/\s]+|\.hornbook/worktrees/[^/\s]+/[^/\s]+|hornbook-[^/\s]+)"
    r"|\b\d+(?:\.\d+)? ?(?:ms|s|seconds?|µs)\b|:\d+(?::\d+)?\b"
    r"|\bline \d+|\b\d+ (?:passed|passing|total|ok)\b|\bcollected \d+ items?|\bRan \d+ tests?"
)
_RULER = re.compile(r"[=_─-]{2,}")
# Progress, and tests that passed: whoever adds a test adds such lines.
_FINE = re.compile(
    r"^[.FEsxX]+(?: +\[ *\d+%\])?$|\bPASSED\b|^ok\b|\.\.\. ok$"
    r"|^[✓✔√] |^--- PASS: |^=== (?:RUN|PAUSE|CONT) "
)


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
    failed = [gate for gate in report.gates if gate.stops]
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


# What was red on the base


@dataclass(frozen=True, slots=True)
class BaseResults:
    """What the gates said to the base of a plan, by which results on a change are told apart.

    `accepted` is who took what is red there as known, and why; without it nothing that is required
    is let pass.
    """

    gates: tuple[GateResult, ...] = ()
    accepted: str = ""

    def told(self, now: GateResult) -> GateResult:
        """A result with what was red on the base already told as such."""
        before = next((each for each in self.gates if each.name == now.name), None)
        if before is None or not _is_red(before) or now.status not in {*RED, GateStatus.WARNED}:
            return now
        added = news(before, now)
        if added:
            old = f"red on the base as well; new since then: {_some(added)}"
            return replace(now, message=f"{now.message} {old}".strip())
        same = f"as on the base, where nothing else failed: {now.message}"
        if not now.required:
            return replace(now, message=same)
        if not self.accepted:
            return now
        message = f"known to be red ({self.accepted}), {same}"
        return replace(now, status=GateStatus.WARNED, known_red=True, message=message)

    def mended(self, results: Iterable[GateResult]) -> tuple[str, ...]:
        """A note of the gates that were red on the base and pass now, if there are any."""
        red = {each.name for each in self.gates if _is_red(each)}
        names = [
            each.name for each in results if each.status is GateStatus.PASSED and each.name in red
        ]
        return (f"red on the base and green now: {', '.join(names)}",) if names else ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a developer should know of the base, a line for each gate."""
        red = red_on_base(self.gates) if self.accepted else ()
        known = f"Known ({self.accepted}): it need not be mended, and nothing may be added to it."
        lines = [f"{each.name}: {_complaint(each)} {known}" for each in red]
        lines += [f"{each.name}: {each.message}" for each in self.gates if is_untested(each)]
        return tuple(lines)


NOTHING_KNOWN = BaseResults()


def red_on_base(results: Iterable[GateResult]) -> tuple[GateResult, ...]:
    """The required gates that did not pass, or that a person takes as known since then."""
    return tuple(
        each for each in results if each.required and (each.status in RED or each.known_red)
    )


def _complaint(result: GateResult) -> str:
    message = result.message or f"exit code {result.exit_code}"
    return f"{message} Failing: {_some(result.failing)}." if result.failing else message


def _is_red(before: GateResult) -> bool:
    return before.status in {*RED, GateStatus.WARNED} and not is_untested(before)


UNTESTED = "there is no test yet, so that none ran: it passes once a change brings one."


def with_untested(report: GateReport, base: Commit) -> GateReport:
    """The report on a base, where a gate that lacks tests is not red if there are none at all.

    Nobody has broken anything there, and every change is held to the gate as ever.
    """
    idle = {each.name for each in red_on_base(report.gates) if each.message.startswith(NO_TESTS)}
    if not idle or _has_tests(base):
        return report
    gates = tuple(
        replace(each, status=GateStatus.WARNED, message=UNTESTED) if each.name in idle else each
        for each in report.gates
    )
    stopped = any(each.stops and not is_untested(each) for each in gates)
    return replace(report, gates=gates, passed=not stopped)


def is_untested(result: GateResult) -> bool:
    """Whether a gate had no test to run on a base that has none."""
    return result.required and result.status is GateStatus.WARNED and result.message == UNTESTED


def _has_tests(base: Commit) -> bool:
    """Whether a commit has a file of tests, or one of Rust with tests of its own."""
    if any(is_test(path) and posixpath.basename(path) not in _NO_TEST for path in base.files):
        return True
    rust = (base.text(path) for path in base.files if path.endswith(".rs"))
    return any(mark in text for text in rust if text is not None for mark in OWN_TESTS)


def news(before: GateResult, now: GateResult) -> list[str]:
    """What a gate complains of now and did not on the base.

    It ends in the same way, and every line that it prints stood there as often: a name alone may be
    that of another test, and a gate may run several tools. What was not run, or cannot be compared
    whole, is new.
    """
    if GateStatus.SKIPPED in {before.status, now.status}:
        return [now.message or "it was not run"]
    if before.exit_code != now.exit_code:
        return [now.message or f"exit code {now.exit_code}"]
    if _CUT.search(before.output) or _CUT.search(now.output):
        return ["its output is too long to be compared"]
    added = [name for name in now.failing if name not in before.failing]
    known = Counter(map(_plain, before.output.splitlines()))
    for line in now.output.splitlines():
        same = _plain(line)
        known[same] -= 1
        if same and known[same] < 0:
            added.append(line.strip())
    return list(dict.fromkeys(added))


def _plain(line: str) -> str:
    """A line without what differs from run to run, or tells only of what is fine: then nothing."""
    told = plain(line).strip()
    if _FINE.search(told):
        return ""
    return _RULER.sub("=", _VARYING.sub("#", told)).strip()


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return "; ".join(names[:MOST_NAMED]) + more
