"""Which presets fit a repository: by its manifests, and by the tools that it shows signs of."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from hornbook.gates.definitions import name_prefixes

Read = Callable[[str], bytes | None]
"""The bytes of a file by its path from the root; none if there is none."""

DEEPEST = 3
"""Folders below the root in which a manifest counts."""

MANIFESTS = {
    "go": ("go.mod",),
    "python": ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"),
    "typescript": ("package.json",),
    "rust": ("Cargo.toml",),
}
_REQUIREMENTS = re.compile(r"requirements[-_.\w]*\.(txt|in)")
_SKIPPED = frozenset(
    {"node_modules", "vendor", "third_party", "testdata", "fixtures", "dist", "build", "target"}
)
_EVERYWHERE = ("Makefile", "justfile", "Taskfile.yml", ".pre-commit-config.yaml", ".gitlab-ci.yml")
_WORKFLOW = re.compile(r"\.github/workflows/[^/]+\.ya?ml")
_MEASURING = {
    "vitest": "npm test -- --coverage --coverage.reporter=text --coverage.reporter=json-summary",
    "c8": "npx --no-install c8 --reporter=text --reporter=json-summary npm test",
    "nyc": "npx --no-install nyc --reporter=text --reporter=json-summary npm test",
}
"""How each tool leaves a report that can be read; jest does so by itself."""
_PYTHON_FILES = ("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py", "Pipfile")


@dataclass(frozen=True, slots=True)
class PresetDifference:
    """What a preset's gate needs to fit: a key, its value as YAML, and why."""

    gate: str
    key: str
    value: str
    why: str


@dataclass(frozen=True, slots=True)
class Stack:
    """A preset that fits a folder, and what is different there."""

    preset: str
    folder: str = "."
    changes: tuple[PresetDifference, ...] = ()


def is_manifest(path: str) -> bool:
    """Whether a path says which language its folder is written in, or which tools it uses."""
    name = path.rpartition("/")[2]
    known = {each for names in MANIFESTS.values() for each in names}
    return name in known or _REQUIREMENTS.fullmatch(name) is not None or _is_sign(path)


def detect(paths: Iterable[str], read: Read) -> tuple[Stack, ...]:
    """The presets that fit, in the order of folders; of one language only the outermost folders.

    A gate whose tool shows no sign, neither a configuration nor a dependency, is switched off.
    """
    files = sorted(filter(_is_reached, paths))
    found = [stack for preset in MANIFESTS for stack in _stacks(preset, files, read)]
    return tuple(sorted(found, key=lambda stack: (stack.folder != ".", stack.folder, stack.preset)))


def _stacks(preset: str, files: list[str], read: Read) -> list[Stack]:
    found: list[Stack] = []
    folders = {_folder(path) for path in files if _fits(preset, path, read)}
    for folder in sorted(folders, key=lambda each: (each.count("/"), each)):
        if not any(_is_below(folder, stack) for stack in found):
            changes = _CHANGES[preset](_Signs(files, folder, read))
            found.append(Stack(preset, folder, tuple(changes)))
    return found


def _is_reached(path: str) -> bool:
    folders = path.split("/")[:-1]
    return len(folders) <= DEEPEST and not _SKIPPED & set(folders)


def _is_sign(path: str) -> bool:
    name = path.rpartition("/")[2]
    if name in _EVERYWHERE or name in _PYTHON_FILES or _WORKFLOW.fullmatch(path) is not None:
        return True
    tools = (".golangci.", "ruff.toml", ".ruff.toml", "mypy.ini", ".mypy.ini", "pytest.ini")
    scripts = ("conftest.py", ".coveragerc", "tsconfig.json", "eslint.config.", ".eslintrc")
    return name.startswith((*tools, *scripts))


def _folder(path: str) -> str:
    return path.rpartition("/")[0] or "."


def _is_below(folder: str, stack: Stack) -> bool:
    return stack.folder == "." or f"{folder}/".startswith(f"{stack.folder}/")


def _fits(preset: str, path: str, read: Read) -> bool:
    name = path.rpartition("/")[2]
    if preset == "python" and _REQUIREMENTS.fullmatch(name):
        return True
    if name not in MANIFESTS[preset]:
        return False
    if preset != "typescript":
        return True
    package = _package(path, read)
    script = _table(package, "scripts").get("test")
    tested = isinstance(script, str) and "no test specified" not in script
    typed = read(path.removesuffix("package.json") + "tsconfig.json") is not None
    return typed or tested or "typescript" in _dependencies(package)


def _package(path: str, read: Read) -> dict[str, object]:
    try:
        found = json.loads((read(path) or b"{}").decode("utf-8", "replace"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _table(package: dict[str, object], key: str) -> dict[str, object]:
    found = package.get(key)
    return found if isinstance(found, dict) else {}


def _dependencies(package: dict[str, object]) -> set[str]:
    return {*_table(package, "dependencies"), *_table(package, "devDependencies")}


class _Signs:
    """What the files of a folder, and those of the root, say about tools."""

    def __init__(self, files: list[str], folder: str, read: Read) -> None:
        self.folder = folder
        self._read = read
        here = [path for path in files if _folder(path) in {folder, "."}]
        self._names = {path.rpartition("/")[2] for path in here}
        self._texts = [
            (path, (read(path) or b"").decode("utf-8", "replace"))
            for path in (*here, *filter(_WORKFLOW.fullmatch, files))
            if _is_sign(path) or _REQUIREMENTS.fullmatch(path.rpartition("/")[2])
        ]
        self.package = _package(self._path("package.json"), read)

    def _path(self, name: str) -> str:
        return name if self.folder == "." else f"{self.folder}/{name}"

    def has(self, name: str) -> bool:
        """Whether the folder has a file."""
        return self._read(self._path(name)) is not None

    def named(self, *beginnings: str) -> bool:
        """Whether a file of the folder or of the root has such a name."""
        return any(name.startswith(beginnings) for name in self._names)

    def mentioned(self, tool: str) -> bool:
        """Whether a manifest, a Makefile or a workflow names a tool."""
        word = re.compile(rf"(?<![\w-]){re.escape(tool)}(?![\w])")
        return any(word.search(text) for _, text in self._texts)

    @property
    def dependencies(self) -> set[str]:
        """The packages that package.json names."""
        return _dependencies(self.package)


def _off(gate: str, tool: str) -> PresetDifference:
    return PresetDifference(gate, "enabled", "false", f"no sign of {tool} here")


def _go(signs: _Signs) -> Iterable[PresetDifference]:
    if not signs.named(".golangci.") and not signs.mentioned("golangci-lint"):
        yield _off("lint", "golangci-lint")


def _python(signs: _Signs) -> Iterable[PresetDifference]:
    if not signs.named("ruff.toml", ".ruff.toml") and not signs.mentioned("ruff"):
        yield _off("lint", "ruff")
    if not signs.named("mypy.ini", ".mypy.ini") and not signs.mentioned("mypy"):
        yield _off("types", "mypy")
    yield from _python_tests(signs)


def _python_tests(signs: _Signs) -> Iterable[PresetDifference]:
    pytest = signs.named("pytest.ini", "conftest.py") or signs.mentioned("pytest")
    measured = signs.named(".coveragerc") or any(map(signs.mentioned, ("coverage", "pytest-cov")))
    if not pytest:
        yield PresetDifference("test", "command", "python -m unittest", "no sign of pytest here")
    if not measured:
        yield _off("coverage", "coverage")
    elif not pytest:
        command = '"coverage run -m unittest && coverage report"'
        yield PresetDifference("coverage", "command", command, "no sign of pytest here")


def _typescript(signs: _Signs) -> Iterable[PresetDifference]:
    dependencies = signs.dependencies
    if not signs.has("tsconfig.json"):
        yield _off("build", "tsconfig.json")
    if "eslint" not in dependencies and not signs.named("eslint.config.", ".eslintrc"):
        yield _off("lint", "eslint")
    if "jest" in dependencies:
        return
    tool = next((each for each in _MEASURING if each in dependencies), None)
    if tool is None:
        yield _off("coverage", "jest, vitest, c8 or nyc")
    else:
        yield PresetDifference(
            "coverage", "command", f'"{_MEASURING[tool]}"', f"{tool} is a dependency"
        )


def _rust(signs: _Signs) -> Iterable[PresetDifference]:
    if not signs.mentioned("llvm-cov") and not signs.mentioned("cargo-llvm-cov"):
        yield _off("coverage", "cargo-llvm-cov")


_CHANGES: dict[str, Callable[[_Signs], Iterable[PresetDifference]]] = {
    "go": _go,
    "python": _python,
    "typescript": _typescript,
    "rust": _rust,
}


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
        lines.append(f"  preset: {chosen[0].preset}")
    else:
        lines.append("  preset:")
        for each in chosen:
            lines.append(f"    - preset: {each.preset}")
            lines.append(f"      folder: {json.dumps(each.folder, ensure_ascii=False)}")
    overrides = list(_overrides(chosen))
    if overrides:
        lines += ["  overrides:", *overrides]
    return "\n".join([*lines, ""])


def _overrides(stacks: Sequence[Stack]) -> Iterator[str]:
    prefixes = name_prefixes([(each.preset, each.folder) for each in stacks])
    for stack, prefix in zip(stacks, prefixes, strict=True):
        for change in stack.changes:
            yield f"    - name: {prefix}{change.gate}"
            yield f"      {change.key}: {change.value}  # {change.why}"
