"""Proves that gates can fail: each is run on a copy, clean and with a failure injected."""

import os
import posixpath
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from hornbook.gates.gate import Gate, GateResult, GateStatus
from hornbook.gates.runner import Progress, run_gate, run_gates, silent
from hornbook.gates.test_files import companion, is_named_test, is_test, wants_test
from hornbook.gates.test_output import tools_run

NAME = "hornbook_injected"
_LEAST_UNTESTED = 50
Read = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Injection:
    """A file to write, whole, and what it breaks."""

    path: str
    text: str
    what: str


_JVM = (".java", ".kt", ".groovy", ".scala")
_C = (".c", ".cc", ".cpp", ".cxx")
_PYTHON = re.compile(
    r"\b(?:ruff|mypy|pyright|flake8|pylint|black|python3?|bandit|ty|compileall|isort)\b"
)
_SCRIPT = re.compile(r"\b(?:tsc|eslint|biome|prettier|npm|npx|pnpm|yarn|node|bun|deno)\b")
_SUFFIXES: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"\b(?:go|gofmt|golangci-lint|staticcheck)\b"), (".go",)),
    (re.compile(r"\b(?:cargo|rustc|rustfmt)\b"), (".rs",)),
    (re.compile(r"\b(?:mvnw?|mvnd|gradlew?)\b"), _JVM),
    (re.compile(r"\b(?:php|phpstan|psalm|phpcs|php-cs-fixer)\b"), (".php",)),
    (re.compile(r"\b(?:ruby|rubocop|standardrb)\b"), (".rb",)),
    (re.compile(r"\b(?:cmake|ctest)\b"), _C),
    (re.compile(r"\b(?:dotnet)\b"), (".cs", ".fs")),
    (_PYTHON, (".py",)),
    (re.compile(r"\b(?:tsc)\b"), (".ts", ".tsx", ".mts")),
    (_SCRIPT, (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs")),
)
_STACK: dict[str, tuple[str, ...]] = {
    "pytest": (".py",),
    "unittest": (".py",),
    "go test": (".go",),
    "cargo": (".rs",),
}
# A test of these needs its framework's own form: one that is there is broken instead.
_BROKEN_TESTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("maven", "gradle"), _JVM),
    **dict.fromkeys(("phpunit", "pest", "artisan"), (".php",)),
    **dict.fromkeys(("rspec", "minitest", "rake"), (".rb",)),
    "ctest": _C,
    "dotnet": (".cs", ".fs"),
}
_PYTHON_TEST = f"""\
import unittest


class TestInjected(unittest.TestCase):
    def test_{NAME}(self):
        assert 1 == 2
"""
_JAVASCRIPT = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs")
_EVERY = (".py", ".go", ".rs", *_JAVASCRIPT)


def injections(gate: Gate, files: Collection[str], read: Read) -> tuple[Injection, ...]:
    """What must make the gate fail, in files below its folder; none if there is no place for it.

    A gate with a threshold gets code that no test reaches, one that runs a test tool a failing
    test, one that names another tool a file that does not parse. A command that names nothing
    known gets a failing test and a file that does not parse for each language at hand.
    """
    folder = posixpath.normpath(gate.folder)
    mine = sorted(path for path in files if folder == "." or path.startswith(folder + "/"))
    tools = tools_run(gate.command)
    if tools and tools[0] in _BROKEN_TESTS:
        suffixes = _BROKEN_TESTS[tools[0]]
        tests = [path for path in mine if is_named_test(path)]
        return _first(_broken(tests, suffixes, read) or _broken(mine, suffixes, read))
    if tools:
        suffixes = _STACK.get(tools[0], _JAVASCRIPT)
        if gate.threshold is not None:
            return _first(_untested(mine, suffixes, read, gate.threshold))
        return _first(_failing_test(mine, suffixes, read, folder))
    for named, suffixes in _SUFFIXES:
        if named.search(gate.command):
            return _first(_broken(mine, suffixes, read))
    return tuple(_for_every_language(mine, read, folder))


def _for_every_language(files: Sequence[str], read: Read, folder: str) -> Iterator[Injection]:
    for suffix in _EVERY:
        yield from _first(_broken(files, (suffix,), read))
        if any(path.endswith(suffix) for path in files):
            yield from _first(_failing_test(files, (suffix,), read, folder))


def _first(found: Injection | None) -> tuple[Injection, ...]:
    return (found,) if found is not None else ()


def _source(files: Sequence[str], suffixes: tuple[str, ...]) -> str | None:
    """A file to break: code that is no test if there is one."""
    for suffix in suffixes:
        fitting = [path for path in files if path.endswith(suffix)]
        for wanted in (wants_test, lambda path: not is_test(path), lambda _path: True):
            chosen = next(filter(wanted, fitting), None)
            if chosen is not None:
                return chosen
    return None


def _broken(files: Sequence[str], suffixes: tuple[str, ...], read: Read) -> Injection | None:
    path = _source(files, suffixes)
    if path is None:
        return None
    return Injection(path, f"{read(path)}\n)]}} {NAME} {{[(\n", f"{path} does not parse")


_FUNCTIONS: dict[str, tuple[str, str, str]] = {
    ".py": (f"def {NAME}(value):\n", "    value = value + 1\n", "    return value\n"),
    ".go": (f"func {NAME}(value int) int {{\n", "\tvalue = value + 1\n", "\treturn value\n}\n"),
    ".rs": (
        f"pub fn {NAME}(mut value: u64) -> u64 {{\n",
        "    value = value + 1;\n",
        "    value\n}\n",
    ),
    ".js": (f"function {NAME}(value) {{\n", "  value = value + 1;\n", "  return value;\n}\n"),
    ".ts": (
        f"export function {NAME}(value: number) {{\n",
        "  value = value + 1;\n",
        "  return value;\n}\n",
    ),
}


_SAME_FORM = {
    **dict.fromkeys((".tsx", ".mts"), ".ts"),
    **dict.fromkeys((".jsx", ".mjs", ".cjs"), ".js"),
}


def _untested(
    files: Sequence[str], suffixes: tuple[str, ...], read: Read, threshold: int
) -> Injection | None:
    """A function that nothing calls, long enough that the threshold is missed even so.

    It goes where tests most likely see it: into the longest file that has a test of its name.
    """
    fitting = [path for path in files if path.endswith(suffixes) and wants_test(path)]
    if not fitting:
        return None
    path = _longest_tested(fitting, files, read)
    suffix = posixpath.splitext(path)[1]
    start, step, end = _FUNCTIONS[_SAME_FORM.get(suffix, suffix)]
    there = sum(read(each).count("\n") for each in fitting)
    wanted = max(threshold, 1)
    lines = _LEAST_UNTESTED + there * (100 - wanted) // wanted + there // 10
    text = f"{read(path)}\n\n{start}{step * lines}{end}"
    return Injection(path, text, f"{path} has {lines} more lines that no test reaches")


def _longest_tested(fitting: Sequence[str], files: Sequence[str], read: Read) -> str:
    tests = list(filter(is_test, files))
    loaded = [path for path in fitting if companion(path, tests) is not None]
    return max(loaded or fitting, key=lambda each: (len(read(each)), each))


def _failing_test(
    files: Sequence[str], suffixes: tuple[str, ...], read: Read, folder: str
) -> Injection | None:
    tests = [path for path in files if path.endswith(suffixes) and is_test(path)]
    model = next(filter(is_named_test, tests), None)
    if model is None:
        place, name, suffix = folder, "x.test.js", suffixes[-1]
    else:
        place, name = posixpath.split(model)
        suffix = posixpath.splitext(name)[1]
    if suffix == ".py":
        return _test(place, f"test_{NAME}.py", _PYTHON_TEST)
    if suffix == ".go":
        return _go_test(files, model, read)
    if suffix == ".rs":
        return _rust_test(files)
    ending = re.sub(r"^.*?(?=\.(?:test|spec)\.|_test\.|\.)", "", name)
    return _test(place, NAME + ending, f'throw new Error("{NAME}");\n')


def _test(place: str, name: str, text: str) -> Injection:
    path = posixpath.normpath(posixpath.join(place, name))
    return Injection(path, text, f"{path} is a test that fails")


def _go_test(files: Sequence[str], model: str | None, read: Read) -> Injection | None:
    beside = model or _source(files, (".go",))
    package = re.search(r"^package (\w+)", read(beside), re.MULTILINE) if beside else None
    if beside is None or package is None:
        return None
    body = f'func TestHornbookInjected(t *testing.T) {{ t.Fatal("{NAME}") }}'
    text = f'package {package[1]}\n\nimport "testing"\n\n{body}\n'
    return _test(posixpath.dirname(beside), f"{NAME}_test.go", text)


def _rust_test(files: Sequence[str]) -> Injection | None:
    manifest = next((path for path in files if posixpath.basename(path) == "Cargo.toml"), None)
    if manifest is None:
        return None
    text = f'#[test]\nfn {NAME}() {{\n    panic!("{NAME}");\n}}\n'
    return _test(posixpath.join(posixpath.dirname(manifest), "tests"), f"{NAME}.rs", text)


_LATER = 2_000_000_000


class ProofVerdict(StrEnum):
    """What a proof found: the gate said no as it must, survived, or fails even without it."""

    PROVEN = "proven"
    UNPROVEN = "unproven"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class GateProof:
    """Whether one gate can fail, with the failure that it was given."""

    gate: str
    verdict: ProofVerdict
    message: str
    injected: tuple[str, ...] = ()


class Copies(Protocol):
    """Where a fresh copy of the tree comes from."""

    def __call__(self) -> AbstractContextManager[Path]:
        """A folder with the files of the tree, gone when the block is left."""


def prove(
    gates: Sequence[Gate],
    copies: Copies,
    files: Collection[str],
    *,
    logs: Path,
    progress: Progress = silent,
) -> tuple[GateProof, ...]:
    """A proof for each required gate, in their order; `files` are the paths of the tree.

    Each gets a copy of its own, in which the gates that it comes after are run first.
    """
    found = []
    for gate in gates:
        if gate.required:
            progress(gate.name, None)
            with copies() as root:
                found.append(_proof(gate, gates, root, files, logs))
            fine = found[-1].verdict is ProofVerdict.PROVEN
            progress(gate.name, GateStatus.PASSED if fine else GateStatus.FAILED)
    return tuple(found)


def _last_stopped(gate: Gate, gates: Sequence[Gate], root: Path, logs: Path) -> GateResult | None:
    """The last required gate, of this one and those it needs, that stops before any injection."""
    needed = _needed(gate, gates)
    clean = run_gates([each for each in gates if each.name in needed], root, logs=logs)
    stopped = [
        each for each in clean.gates if each.status is not GateStatus.PASSED and each.required
    ]
    return stopped[-1] if stopped else None


def _proof(
    gate: Gate, gates: Sequence[Gate], root: Path, files: Collection[str], logs: Path
) -> GateProof:
    stopped = _last_stopped(gate, gates, root, logs / "clean")
    if stopped is not None:
        words = f"{stopped.name} fails without any injected failure: {stopped.message}"
        return GateProof(gate.name, ProofVerdict.BROKEN, words)
    wanted = injections(gate, files, lambda path: _text(root / path))
    if not wanted:
        words = f"nothing in {gate.folder} to break that `{gate.command}` would look at"
        return GateProof(gate.name, ProofVerdict.UNPROVEN, words)
    for each in wanted:
        _write(root, each)
    told = tuple(each.what for each in wanted)
    result = run_gate(gate, root, logs / "injected")
    if result.status is GateStatus.PASSED:
        words = f"it passes although {'; '.join(told)}: it may not be able to fail"
        return GateProof(gate.name, ProofVerdict.UNPROVEN, words, told)
    return GateProof(gate.name, ProofVerdict.PROVEN, result.message, told)


def _needed(gate: Gate, gates: Sequence[Gate]) -> set[str]:
    """The gate and all that it comes after, however far."""
    after = {each.name: each.after for each in gates}
    found: set[str] = set()
    waiting = [gate.name]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(after.get(name, ()))
    return found


def _write(root: Path, injection: Injection) -> None:
    path = root / injection.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(injection.text, encoding="utf-8", errors="surrogateescape")
    # Tools that compare times in whole seconds must see that it changed since the clean run.
    later = path.stat().st_mtime_ns + _LATER
    os.utime(path, ns=(later, later))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="surrogateescape") if path.is_file() else ""
