"""Which presets fit a repository: by its manifests, and by the tools that it shows signs of.

Of one language the outermost folder with a manifest is a stack. A folder below it is one of its own
where the outer one does not look into it: a Go module, a crate outside of the workspace, a package
of a JavaScript workspace with tools of its own, a Python package that the root's tests leave out.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from hornbook.errors import BadGlob
from hornbook.gates.definitions import preset_gates
from hornbook.gates.detection import javascript, no_preset, tools
from hornbook.gates.detection.block import Stack, block
from hornbook.gates.detection.javascript import fans_out
from hornbook.gates.detection.signs import (
    REQUIREMENTS,
    PresetDifference,
    Read,
    Signs,
    folder_of,
    is_below,
    is_sign,
    package_at,
    table,
)
from hornbook.gates.gate_list import read_below
from hornbook.gates.test_files import is_test
from hornbook.rules.discover import FileKind, walk
from hornbook.text.globs import parse_set

DEEPEST = 3
"""Folders below the root in which a manifest counts."""
MOST_PACKAGES = 12
"""With more packages than this below a folder with a script for all, that script is the gate."""
MOST_NAMED = 5
"""Folders that one note names; of more the rest is counted."""

MANIFESTS = {
    "go": ("go.mod",),
    "python": ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"),
    "typescript": ("package.json",),
    "rust": ("Cargo.toml",),
    "maven": ("pom.xml",),
    "gradle": ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"),
    "php": ("composer.json",),
    "ruby": ("Gemfile", "Rakefile", "*.gemspec"),
    "cmake": ("CMakeLists.txt",),
    "dotnet": ("*.sln", "*.slnx", "*.csproj", "*.fsproj"),
}
_SKIPPED_TEXT = """
node_modules bower_components vendor vendored _vendor third_party third-party thirdparty external
extern deps testdata test-data test_data fixtures fixture __fixtures__ __mocks__ __snapshots__
snapshots dist build target out example examples sample samples demo demos playground playgrounds
sandbox template templates cookbook tutorials
"""
_SKIPPED = frozenset(_SKIPPED_TEXT.split())
_OF_TESTS = frozenset({"test", "tests", "spec", "specs", "__tests__", "e2e"})
_KOTLIN = re.compile(
    r"org\.jetbrains\.kotlin|kotlin\(\"|kotlin-(?:gradle|maven)-plugin|\bkotlin \{"
)
_LITTLE = frozenset({"build", "vet", "coverage"})
_PARSED = frozenset({"python", "ruby", "php"})
"""Presets whose build only parses."""


@dataclass(frozen=True, slots=True)
class Detection:
    """The presets that fit, and what a person should know of them."""

    stacks: tuple[Stack, ...] = ()
    notes: tuple[str, ...] = ()


def is_manifest(path: str) -> bool:
    """Whether a path says in which language its folder is written, with which tools, or tested."""
    name = path.rpartition("/")[2]
    known = any(_is_named(name, preset) for preset in MANIFESTS) or no_preset.is_manifest(name)
    return known or is_sign(path) or is_test(path) or name.endswith(".rs")


def detect(paths: Iterable[str], read: Read) -> Detection:
    """The presets that fit, in the order of folders.

    A gate whose tool shows no sign, neither a configuration nor a dependency, is switched off. A
    stack of which no gate would run is left out, and told.
    """
    files = sorted(path for path in paths if not _is_skipped(path))
    found = [stack for preset in MANIFESTS for stack in _Language(preset, files, read).stacks()]
    found.sort(key=lambda stack: (stack.folder != ".", stack.folder, stack.preset))
    at_root = any(stack.folder == "." for stack in found)
    used = [stack for stack in found if _is_worth_it(stack, at_root=at_root)]
    notes = [*_untested(found, used), *_untried_notes(used)]
    manifests = [path for path in files if _is_shallow(path)]
    notes += no_preset.notes(manifests, {stack.folder for stack in used})
    return Detection(tuple(used), tuple(notes))


def _is_shallow(path: str) -> bool:
    folders = path.split("/")[:-1]
    return len(folders) <= DEEPEST and _OF_TESTS.isdisjoint(folders)


def _is_skipped(path: str) -> bool:
    folders = path.split("/")[:-1]
    hidden = any(each.startswith(".") and each != ".github" for each in folders)
    return hidden or not _SKIPPED.isdisjoint(folders)


def _is_named(name: str, preset: str) -> bool:
    if preset == "python" and REQUIREMENTS.fullmatch(name):
        return True
    return any(
        name.endswith(each[1:]) if each.startswith("*") else name == each
        for each in MANIFESTS[preset]
    )


def _is_worth_it(stack: Stack, *, at_root: bool) -> bool:
    """Whether enough is left to check.

    A build that only parses is too little, but for Python at the root; a build beside the stack of
    the root is too, unless it checks types.
    """
    left = stack.runs() - {"coverage"}
    if stack.preset in _PARSED and (stack.preset, stack.folder) != ("python", "."):
        return not left <= _LITTLE
    beside = at_root and stack.folder != "." and stack.preset != "typescript"
    return bool(left) and not (beside and left <= _LITTLE)


def _untested(found: Sequence[Stack], used: Sequence[Stack]) -> Iterator[str]:
    """What no gate tests, each reason once for a preset; not where another gate tests it."""
    folders: dict[tuple[str, str, bool], list[str]] = {}
    for stack in found:
        change = stack.off("test")
        if change is not None and not change.elsewhere:
            folders.setdefault((stack.preset, change.why, stack in used), []).append(stack.folder)
    for (preset, why, gated), names in folders.items():
        end = "no gate tests it" if gated else "it gets no gates"
        yield f"{_named(preset, names)}: {why}, so {end}."


def _untried_notes(used: Sequence[Stack]) -> Iterator[str]:
    folders: dict[tuple[str, str], list[str]] = {}
    for stack in used:
        if stack.untried:
            folders.setdefault((stack.preset, stack.untried), []).append(stack.folder)
    yield from (
        f"{_named(preset, names)}: untried, {why}." for (preset, why), names in folders.items()
    )


def _named(preset: str, folders: Sequence[str]) -> str:
    if list(folders) == ["."]:
        return preset
    shown = ["the root" if each == "." else each for each in folders[:MOST_NAMED]]
    more = len(folders) - len(shown)
    return f"{preset} in {', '.join(shown)}" + (f" and {more} more" if more else "")


_CHANGES: dict[str, Callable[[Signs], Iterable[PresetDifference]]] = {
    "go": tools.go,
    "python": tools.python,
    "typescript": javascript.typescript,
    "rust": tools.rust,
    "maven": tools.maven,
    "gradle": tools.gradle,
    "php": tools.php,
    "ruby": tools.ruby,
    "cmake": tools.cmake,
    "dotnet": tools.dotnet,
}


class _Language:
    """The stacks of one preset in a repository."""

    def __init__(self, preset: str, files: Sequence[str], read: Read) -> None:
        self._preset = preset
        self._files = files
        self._read = read
        self._seen: dict[str, Signs] = {}

    def stacks(self) -> list[Stack]:
        """One for each outermost folder with a manifest, and for those that it does not cover."""
        folders = {folder_of(path) for path in self._files if self._fits(path)}
        found: list[Stack] = []
        inner: dict[str, list[Stack]] = {}
        for folder in sorted(folders, key=lambda each: (each.count("/"), each)):
            outer = next((each for each in found if is_below(folder, each.folder)), None)
            stack = self._stack(folder)
            if outer is None:
                found.append(stack)
            elif outer.folder != folder:
                below = _INNER.get(self._preset, _covered)(outer, stack, self._signs(outer.folder))
                inner.setdefault(outer.folder, []).extend(below)
        return [
            each for outer in found for each in self._together(outer, inner.get(outer.folder, []))
        ]

    def _together(self, outer: Stack, inner: list[Stack]) -> list[Stack]:
        """A stack with those below it, each gate in one place.

        A script of the outer folder that only starts those of the packages is left to them; with
        many packages it is the gate for all.
        """
        if self._preset != "typescript":
            return [outer, *inner]
        package = self._signs(outer.folder).package
        for gate, names in _SCRIPTS_FOR_ALL.items():
            running = [each for each in inner if gate in each.runs()]
            scripts = {name: javascript.script(package, name) for name in names}
            name = next((name for name, script in scripts.items() if fans_out(script)), None)
            if name is not None and len(running) > MOST_PACKAGES:
                line = javascript.run_script(self._signs(outer.folder), name)
                outer = outer.with_change(
                    PresetDifference(gate, line, f"for all {len(running)} packages")
                )
                why = f"the folder above starts it, with its script `{name}`"
                inner = [each.without(_with_coverage(gate) & each.runs(), why) for each in inner]
            elif running and (name is not None or gate == "test") and gate != "build":
                outer = _left_to_packages(outer, gate, by_script=name is not None)
        return [each for each in (outer, *inner) if each.runs() - {"coverage"}]

    def _signs(self, folder: str) -> Signs:
        if folder not in self._seen:
            self._seen[folder] = Signs(self._files, folder, self._read)
        return self._seen[folder]

    def _stack(self, folder: str) -> Stack:
        signs = self._signs(folder)
        changes = tuple(_CHANGES[self._preset](signs))
        return Stack(self._preset, folder, changes, _untried(self._preset, signs))

    def _fits(self, path: str) -> bool:
        folders = path.split("/")[:-1]
        name = path.rpartition("/")[2]
        if not _is_named(name, self._preset) or len(folders) > DEEPEST:
            return False
        if not _OF_TESTS.isdisjoint(folders):
            return False
        return self._preset != "typescript" or self._is_tested_or_typed(path)

    def _is_tested_or_typed(self, path: str) -> bool:
        package = package_at(path, self._read)
        typed = self._read(path.removesuffix("package.json") + "tsconfig.json") is not None
        uses = javascript.dependencies(package) & {"typescript", "vitest", "jest", "eslint"}
        scripted = bool(javascript.script(package, "test", "lint"))
        return typed or scripted or bool(uses) or "workspaces" in package


_SCRIPTS_FOR_ALL = {
    "build": ("typecheck", "type-check", "check-types", "tsc"),
    "lint": ("lint",),
    "test": ("test",),
}


def _with_coverage(gate: str) -> set[str]:
    return {"test", "coverage"} if gate == "test" else {gate}


def _left_to_packages(outer: Stack, gate: str, *, by_script: bool) -> Stack:
    """A stack whose gate does nothing but what those of its packages do."""
    if by_script:
        why = "its script starts those of the packages, which are gates of their own"
        return outer.without(sorted(_with_coverage(gate)), why)
    if gate in outer.runs():
        return outer
    return outer.without(sorted(_with_coverage(gate)), "the packages have gates of their own")


def _untried(preset: str, signs: Signs) -> str:
    if preset == "dotnet":
        return "nobody here has had the .NET SDK"
    files = ("build.gradle", "build.gradle.kts", "settings.gradle.kts", "pom.xml")
    kotlin = preset in {"gradle", "maven"} and any(
        _KOTLIN.search(signs.text(each)) for each in files
    )
    return "Kotlin was not tried with it" if kotlin else ""


def _covered(_outer: Stack, _stack: Stack, _signs: Signs) -> Iterator[Stack]:
    """A build of the outer folder builds what is below it."""
    yield from ()


def _go_module(outer: Stack, stack: Stack, signs: Signs) -> Iterator[Stack]:
    """A module is no part of the module around it; a workspace says which belong to it."""
    used = re.findall(r"^\s*(?:use\s+)?\.?/?([\w./-]*)\s*$", signs.text("go.work"), re.MULTILINE)
    named = not signs.has("go.work") or _from(outer.folder, stack.folder) in {
        each.removeprefix("./").rstrip("/") for each in used
    }
    if named and "test" in stack.runs():
        yield stack


def _crate(outer: Stack, stack: Stack, signs: Signs) -> Iterator[Stack]:
    """A workspace holds the crates below it but for those that it excludes."""
    workspace = _toml(signs.text("Cargo.toml")).get("workspace")
    excluded = workspace.get("exclude", []) if isinstance(workspace, dict) else []
    inside = _from(outer.folder, stack.folder)
    left_out = any(is_below(inside, str(each).rstrip("/")) for each in excluded)
    if "test" in stack.runs() and (workspace is None or left_out):
        yield stack


def _python_package(outer: Stack, stack: Stack, signs: Signs) -> Iterator[Stack]:
    """The root's linters look into packages; its tests do so where pytest is configured there."""
    tool = _toml(signs.text("pyproject.toml")).get("tool")
    tools = tool if isinstance(tool, dict) else {}
    configured = "pytest" in tools or signs.has("pytest.ini", "conftest.py", "tox.ini")
    workspace = table(table(tools, "uv"), "workspace")
    if configured or not _is_member(workspace, _from(outer.folder, stack.folder)):
        return
    if not any(is_test(path) and is_below(path, stack.folder) for path in signs.below):
        return
    looked_into = [
        gate for gate in ("build", "lint", "types") if gate in outer.runs() & stack.runs()
    ]
    if "test" in stack.runs():
        yield _inner(stack).without(looked_into, "the gate above looks in here too")


def _script_package(outer: Stack, stack: Stack, signs: Signs) -> Iterator[Stack]:
    """A package of the workspace; the outer linter looks into it unless it has its own."""
    inside = _from(outer.folder, stack.folder)
    if not _is_member(_script_workspace(signs), inside):
        return
    own = any(
        folder_of(path) == stack.folder and path.rpartition("/")[2].startswith(_OWN_LINTER)
        for path in signs.below
    )
    package = _inner(stack)
    lints = "lint" in outer.runs() and not fans_out(javascript.script(signs.package, "lint"))
    if lints and not own:
        why = "the linter of the folder above looks in here too"
        package = package.without({"lint"} & package.runs(), why)
    if "test" in outer.runs() and not fans_out(javascript.test_script(signs.package)):
        why = "the test script of the folder above is taken to test it"
        package = package.without(sorted({"test", "coverage"} & package.runs()), why)
    if package.runs() - {"coverage"}:
        yield package


_OWN_LINTER = ("eslint.config.", ".eslintrc", ".oxlintrc", "oxlint.", "biome.json")


def _inner(stack: Stack) -> Stack:
    """A stack below another, without gates that no preset has: those of the outer one see it."""
    preset = {gate.name for gate in preset_gates(stack.preset)}
    return replace(stack, changes=tuple(each for each in stack.changes if each.gate in preset))


def _script_workspace(signs: Signs) -> dict[str, object]:
    """The packages that belong to a folder: of pnpm, npm, yarn and bun."""
    stated = signs.package.get("workspaces")
    if isinstance(stated, dict):
        stated = stated.get("packages")
    if signs.has("pnpm-workspace.yaml"):
        try:
            found = yaml.safe_load(signs.text("pnpm-workspace.yaml"))
        except yaml.YAMLError:
            found = None
        stated = found.get("packages") if isinstance(found, dict) else None
    return {"members": stated} if isinstance(stated, list) else {}


_INNER: dict[str, Callable[[Stack, Stack, Signs], Iterator[Stack]]] = {
    "go": _go_module,
    "python": _python_package,
    "typescript": _script_package,
    "rust": _crate,
}


def _from(outer: str, folder: str) -> str:
    return folder if outer == "." else folder.removeprefix(f"{outer}/")


def _is_member(workspace: dict[str, object], folder: str) -> bool:
    """Whether a workspace names a folder; without one, every folder belongs to it."""
    members, excluded = workspace.get("members"), workspace.get("exclude")
    if not isinstance(members, list):
        return True
    left_out = [f"!{each}" for each in excluded] if isinstance(excluded, list) else []
    patterns = []
    for each in (*members, *left_out):
        sign = "!" if str(each).startswith("!") else ""
        patterns.append(f"{sign}/{str(each).removeprefix('!').removeprefix('./').strip('/')}")
    try:
        return parse_set(patterns).match(folder) is not None
    except BadGlob:
        return True


def _toml(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def chosen_gates(root: Path, choice: str) -> tuple[str, tuple[str, ...]]:
    """The block to configure, of a preset or of what fits (`auto`), and what to know of it."""
    found = _detected(root) if choice == "auto" else Detection((Stack(choice),))
    return block(found.stacks), found.notes


def _detected(root: Path) -> Detection:
    """The presets that fit the repository."""
    found = walk(root, "", lambda path, _name: is_manifest(path))
    return detect((each.path for each in found if each.kind is FileKind.FILE), read_below(root))
