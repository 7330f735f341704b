"""Which presets fit a repository: by its manifests, and by the tools that it shows signs of.

Of one language the outermost folder with a manifest is a stack. A folder below it is one of its own
where the outer one does not look into it: a Go module, a crate outside of the workspace, a package
of a JavaScript workspace with tools of its own, a Python package that the root's tests leave out.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from hornbook.errors import BadGlob
from hornbook.gates import tool_signs
from hornbook.gates.definitions import name_prefixes, preset_gates
from hornbook.gates.gate_list import read_below
from hornbook.gates.test_files import is_test
from hornbook.gates.tool_signs import (
    REQUIREMENTS,
    PresetDifference,
    Read,
    Signs,
    dependencies,
    fans_out,
    folder_of,
    is_below,
    is_sign,
    off,
    package_at,
    table,
    test_script,
)
from hornbook.rules.discover import FileKind, walk
from hornbook.text.globs import parse_set

DEEPEST = 3
"""Folders below the root in which a manifest counts."""
MOST_PACKAGES = 12
"""With more packages than this below a folder with a script for all, that script is the gate."""

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
class Stack:
    """A preset that fits a folder, and what is different there."""

    preset: str
    folder: str = "."
    changes: tuple[PresetDifference, ...] = ()
    untried: str = ""

    def off(self, gate: str) -> PresetDifference | None:
        """Why a gate does not run here; none if it does."""
        found = (each for each in self.changes if each.gate == gate and each.switches_off)
        return next(found, None)

    def runs(self) -> set[str]:
        """The gates that run here."""
        return {gate.name for gate in preset_gates(self.preset) if self.off(gate.name) is None}


@dataclass(frozen=True, slots=True)
class Detection:
    """The presets that fit, and what a person should know of them."""

    stacks: tuple[Stack, ...] = ()
    notes: tuple[str, ...] = ()


def is_manifest(path: str) -> bool:
    """Whether a path says in which language its folder is written, with which tools, or tested."""
    name = path.rpartition("/")[2]
    known = any(_is_named(name, preset) for preset in MANIFESTS)
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
    notes = [_untested(stack, used=stack in used) for stack in found if stack.off("test")]
    notes += [f"{_named(each)}: untried, {each.untried}." for each in used if each.untried]
    return Detection(tuple(used), tuple(notes))


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


def _untested(stack: Stack, *, used: bool) -> str:
    change = stack.off("test")
    why = change.why if change is not None else ""
    end = "no gate tests it" if used else "it gets no gates"
    return f"{_named(stack)}: {why}, so {end}."


def _named(stack: Stack) -> str:
    return stack.preset if stack.folder == "." else f"{stack.preset} in {stack.folder}"


_CHANGES: dict[str, Callable[[Signs], Iterable[PresetDifference]]] = {
    "go": tool_signs.go,
    "python": tool_signs.python,
    "typescript": tool_signs.typescript,
    "rust": tool_signs.rust,
    "maven": tool_signs.maven,
    "gradle": tool_signs.gradle,
    "php": tool_signs.php,
    "ruby": tool_signs.ruby,
    "cmake": tool_signs.cmake,
    "dotnet": tool_signs.dotnet,
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
        """A stack with those below it; tests that its script only starts there are left to them."""
        signs = self._signs(outer.folder)
        one_for_all = self._preset == "typescript" and fans_out(test_script(signs.package))
        if not one_for_all or not any("test" in each.runs() for each in inner):
            return [outer, *inner]
        if len(inner) > MOST_PACKAGES:
            return [_by_scripts(outer, signs, len(inner))]
        why = "its script runs the packages' tests, which are gates of their own"
        kept = tuple(each for each in outer.changes if each.gate not in {"test", "coverage"})
        left = replace(outer, changes=(*kept, off("test", why), off("coverage", why)))
        return [left, *inner] if left.runs() else inner

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
        uses = dependencies(package) & {"typescript", "vitest", "jest", "eslint"}
        return typed or bool(test_script(package)) or bool(uses) or "workspaces" in package


_SCRIPTS_FOR_ALL = {
    "build": ("typecheck", "type-check", "check-types", "tsc"),
    "lint": ("lint",),
}


def _by_scripts(outer: Stack, signs: Signs, packages: int) -> Stack:
    """A workspace with too many packages for gates of each: its scripts for all are the gates."""
    scripts = table(signs.package, "scripts")
    for gate, names in _SCRIPTS_FOR_ALL.items():
        script = next((each for each in names if fans_out(str(scripts.get(each, "")))), None)
        if script is not None:
            command = json.dumps(f"{signs.manager()} run {script}")
            kept = tuple(each for each in outer.changes if each.gate != gate)
            change = PresetDifference(gate, "command", command, f"for all {packages} packages")
            outer = replace(outer, changes=(*kept, change))
    return outer


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
        yield _without(stack, looked_into, "the gate above looks in here too")


def _script_package(outer: Stack, stack: Stack, signs: Signs) -> Iterator[Stack]:
    """A package of the workspace; the outer eslint looks into it unless it has its own."""
    inside = _from(outer.folder, stack.folder)
    if not _is_member(_script_workspace(signs), inside):
        return
    own = any(
        folder_of(path) == stack.folder
        and path.rpartition("/")[2].startswith(("eslint.config.", ".eslintrc"))
        for path in signs.below
    )
    linted = ["lint"] if not own and "lint" in outer.runs() & stack.runs() else []
    package = _without(stack, linted, "eslint of the folder above looks in here too")
    if "test" in outer.runs() and not fans_out(test_script(signs.package)):
        why = "the test script of the folder above is taken to test it"
        package = _without(package, sorted({"test", "coverage"} & package.runs()), why)
    if package.runs() - {"coverage"}:
        yield package


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


def _without(stack: Stack, gates: Iterable[str], why: str) -> Stack:
    """A stack in which some gates do not run."""
    gone = list(gates)
    kept = tuple(each for each in stack.changes if each.gate not in gone)
    return replace(stack, changes=(*kept, *(off(gate, why) for gate in gone)))


def _toml(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def block(stacks: Iterable[Stack]) -> str:
    """The `gates:` block of a configuration file for these presets, with comments."""
    chosen = list(stacks)
    if not chosen:
        return ""
    lines = [
        "# `hornbook gates list` shows every gate and where each of its values comes from.",
        "gates:",
    ]
    if len(chosen) == 1 and chosen[0].folder == ".":
        lines.append(f"  preset: {chosen[0].preset}{_marked(chosen[0])}")
    else:
        lines.append("  preset:")
        for each in chosen:
            lines.append(f"    - preset: {each.preset}{_marked(each)}")
            lines.append(f"      folder: {json.dumps(each.folder, ensure_ascii=False)}")
    overrides = list(_overrides(chosen))
    if overrides:
        lines += ["  overrides:", *overrides]
    return "\n".join([*lines, ""])


def _marked(stack: Stack) -> str:
    return f"  # untried: {stack.untried}" if stack.untried else ""


def _overrides(stacks: Sequence[Stack]) -> Iterator[str]:
    prefixes = name_prefixes([(each.preset, each.folder) for each in stacks])
    for stack, prefix in zip(stacks, prefixes, strict=True):
        for change in stack.changes:
            yield f"    - name: {prefix}{change.gate}"
            yield f"      {change.key}: {change.value}  # {change.why}"


def chosen_gates(root: Path, choice: str) -> tuple[str, tuple[str, ...]]:
    """The block to configure, of a preset or of what fits (`auto`), and what to know of it."""
    found = _detected(root) if choice == "auto" else Detection((Stack(choice),))
    return block(found.stacks), found.notes


def _detected(root: Path) -> Detection:
    """The presets that fit the repository."""
    found = walk(root, "", lambda path, _name: is_manifest(path))
    return detect((each.path for each in found if each.kind is FileKind.FILE), read_below(root))
