"""What the files of a repository say about its tools, and what a preset's gate makes of it."""

import json
import re
from collections.abc import Callable, Sequence
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
pyrightconfig.json biome.json biome.jsonc .oxlintrc.json oxlint.json dprint.json dprint.jsonc
.dprint.json .dprint.jsonc rustfmt.toml .rustfmt.toml .flake8
"""
_NAMES = frozenset(_NAMES_TEXT.split())
_STARTS_TEXT = """
.golangci. ruff.toml .ruff.toml mypy.ini .mypy.ini pytest.ini conftest.py .coveragerc tsconfig.json
eslint.config. .eslintrc oxlint.config. vitest.config. vitest.workspace. jest.config. phpunit.xml
phpunit.dist.xml phpstan.
"""
_STARTS = tuple(_STARTS_TEXT.split())
_ENDS = (".gemspec", ".csproj", ".fsproj")
_UNREAD = re.compile(r".*lock(?:\.json|\.yaml|b)?|mvnw|gradlew")
_LOCKS = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
}


@dataclass(frozen=True, slots=True)
class PresetDifference:
    """What is different here in a preset's gate: its command, or that it does not run, and why.

    A gate that the preset does not have is one more. `elsewhere` is set where a gate is switched
    off because another one does its work.
    """

    gate: str
    command: str
    why: str
    elsewhere: bool = False

    @property
    def switches_off(self) -> bool:
        """Whether the gate does not run here."""
        return not self.command


def off(gate: str, why: str, *, elsewhere: bool = False) -> PresetDifference:
    """A gate that does not run here."""
    return PresetDifference(gate, "", why, elsewhere)


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
        self.root_package = package_at("package.json", read)
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

    def says(self, pattern: str) -> bool:
        """Whether such a text stands in a manifest, a Makefile or a workflow."""
        return any(map(re.compile(pattern).search, self._texts))

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
