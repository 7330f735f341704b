"""Whether the presets of gates do what they say with the tools of this machine: `make presets`.

For each preset whose tools are installed three small projects are made: one whose test holds, one
whose test fails, and one without a test. `init --gates auto` must find the preset; the
first project passes, the second does not, and in the third no test may count as passed. Nothing is
downloaded. A preset whose tools are missing is said to be untried.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HORNBOOK = (sys.executable, "-m", "hornbook")
HOLDS, FAILS, NONE = "holds", "fails", "no test"


@dataclass(frozen=True)
class Project:
    """A project for one preset: the programs it needs, its files, and those that make its test.

    `test` has `{value}` where the test holds with 1 and fails with 2.
    """

    preset: str
    needs: tuple[str, ...]
    files: Mapping[str, str]
    test: Mapping[str, str]

    def written(self, kind: str) -> dict[str, str]:
        """The files of the project whose test holds, fails, or is not there."""
        value = "1" if kind == HOLDS else "2"
        test = {} if kind == NONE else self.test
        return {
            **self.files,
            **{path: text.replace("{value}", value) for path, text in test.items()},
        }


_C = "int one(void) { return 1; }\nint main(void) { return 0; }\n"
_CMAKE = "cmake_minimum_required(VERSION 3.13)\nproject(shop C)\nenable_testing()\n"
PROJECTS = (
    Project(
        "cmake",
        ("cmake", "ctest", "cc"),
        {"CMakeLists.txt": f"{_CMAKE}add_executable(shop main.c)\ninclude(tests.cmake OPTIONAL)\n", "main.c": _C},
        {
            "tests.cmake": "add_executable(check test_one.c)\nadd_test(NAME one COMMAND check)\n",
            "test_one.c": "int main(void) { return 1 == {value} ? 0 : 1; }\n",
        },
    ),
    Project(
        "rust",
        ("cargo", "rustfmt"),
        {
            "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n',
            ".gitignore": "Cargo.lock\ntarget/\n",
            "src/lib.rs": "pub fn one() -> i32 {\n    1\n}\n",
        },
        {"tests/one.rs": "#[test]\nfn one_is_one() {\n    assert_eq!(shop::one(), {value});\n}\n"},
    ),
    Project(
        "go",
        ("go",),
        {"go.mod": "module shop\n\ngo 1.19\n", "one.go": "package shop\n\nfunc One() int { return 1 }\n"},
        {
            "one_test.go": 'package shop\n\nimport "testing"\n\nfunc TestOne(t *testing.T) {\n'
            "\tif One() != {value} {\n\t\tt.Fatal(One())\n\t}\n}\n"
        },
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Tried:
    """What came of one project: whether its gates passed, its test among them, and what was said."""

    preset: str
    kind: str
    passed: bool
    tested: bool
    said: str

    @property
    def as_it_should_be(self) -> bool:
        """Whether a test that holds passes, one that fails does not, and none counts as none."""
        if self.kind == NONE:
            return not self.tested
        return (self.passed and self.tested) == (self.kind == HOLDS)


def missing(project: Project) -> list[str]:
    """The programs that a project needs and this machine has not."""
    return [name for name in project.needs if shutil.which(name) is None]


def tried(project: Project, kind: str, folder: Path) -> Tried:
    """The outcome of the gates that `init --gates auto` finds for a project."""
    for path, text in project.written(kind).items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    for command in (
        ("git", "init", "-q"),
        ("git", "add", "."),
        (*HORNBOOK, "init", "--gates", "auto"),
    ):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    done = subprocess.run(
        [*HORNBOOK, "gates", "run", "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return Tried(project.preset, kind, passed=False, tested=False, said=done.stderr.strip())
    wrong = [f"{each['name']}: {each['status']}, {each['message']}" for each in report["gates"] if each["status"] != "passed"]  # fmt: skip
    tested = any(each["name"] == "test" and each["status"] == "passed" for each in report["gates"])
    return Tried(
        project.preset, kind, passed=report["passed"], tested=tested, said="; ".join(wrong)
    )


def trials(projects: Sequence[Project] = PROJECTS) -> Iterator[Tried | str]:
    """Every project in turn; a text says which preset is not tried, and why."""
    for project in projects:
        lacking = missing(project)
        if lacking:
            yield f"{project.preset}: not tried, there is no {' and no '.join(lacking)} here"
            continue
        for kind in (HOLDS, FAILS, NONE):
            with tempfile.TemporaryDirectory() as folder:
                yield tried(project, kind, Path(folder))


def main() -> int:
    """Print a line for each project; 1 if one is not as it should be."""
    wrong = 0
    for each in trials():
        if isinstance(each, str):
            print(each)
            continue
        verdict = "as it should be" if each.as_it_should_be else "WRONG"
        wrong += not each.as_it_should_be
        outcome = "passed" if each.passed else f"not passed ({each.said})"
        print(f"{each.preset}, {each.kind}: {outcome}: {verdict}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
