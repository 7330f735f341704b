"""The least that a developer can do: a line in each file of the task, and a test for new code."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from hornbook.model.agents import Assignment
from hornbook.text.globs import parse_set

_HASH = (".py", ".rb", ".sh", ".yaml", ".yml", ".toml", ".cfg", ".r", ".pl")
_SLASHES = (".go", ".js", ".jsx", ".ts", ".tsx", ".rs", ".java", ".c", ".h", ".cpp", ".cs", ".kt")


def default_work(assignment: Assignment, exists: dict[str, str | None]) -> dict[str, str]:
    """Path to text of every file that is to be written; `exists` has the texts that are there."""
    written: dict[str, str] = {}
    for path in assignment.files:
        written[path] = _edited(path, exists.get(path), assignment)
    for path in assignment.files:
        if exists.get(path) is None:
            for test, text in _tests(path):
                if test not in written and exists.get(test) is None and _allowed(test, assignment):
                    written[test] = text
    return written


def tests_for(assignment: Assignment) -> list[str]:
    """Where the tests of the task's files would stand."""
    return [test for path in assignment.files for test, _ in _tests(path)]


def _edited(path: str, text: str | None, assignment: Assignment) -> str:
    note = f"{assignment.task_id}, attempt {assignment.attempt}"
    if text is None:
        return _created(path, note)
    body = text if not text or text.endswith("\n") else text + "\n"
    return body + _comment(path, note)


def _created(path: str, note: str) -> str:
    pure = PurePosixPath(path)
    name = _name(pure)
    if pure.suffix == ".py":
        if _is_test(pure):
            return f'"""Made for {note}."""\n\n\ndef {name}() -> None:\n    assert __file__\n'
        says = f'    """Say what it is for."""\n    return "{note}"\n'
        return f'"""Made for {note}."""\n\n\ndef {name}() -> str:\n{says}'
    if pure.suffix == ".go":
        package = pure.parent.name.replace("-", "") or "main"
        says = f'func {name.title()}() string {{\n\treturn "{note}"\n}}\n'
        return f"package {package}\n\n// {name.title()} says what it is for.\n{says}"
    return _comment(path, note)


def _comment(path: str, note: str) -> str:
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in _HASH:
        return f"# Worked on for {note}.\n"
    if suffix in _SLASHES:
        return f"// Worked on for {note}.\n"
    if suffix in {".md", ".html", ".xml"}:
        return f"<!-- Worked on for {note}. -->\n"
    if suffix in {".css", ".sql"}:
        return f"/* Worked on for {note}. */\n"
    return f"Worked on for {note}.\n"


def _tests(path: str) -> Iterator[tuple[str, str]]:
    """A test beside new code that really runs it."""
    pure = PurePosixPath(path)
    name = _name(pure)
    if _is_test(pure):
        return
    if pure.suffix == ".py":
        text = (
            f'"""What {pure.name} answers."""\n\n'
            "import runpy\nfrom pathlib import Path\n\n\n"
            f"def test_{name}_answers() -> None:\n"
            f'    path = Path(__file__).parents[1] / "{path}"\n'
            f'    assert runpy.run_path(str(path))["{name}"]()\n'
        )
        yield f"tests/test_{name}.py", text
    elif pure.suffix == ".go":
        package = pure.parent.name.replace("-", "") or "main"
        title = name.title()
        text = (
            f'package {package}\n\nimport "testing"\n\n'
            f"func Test{title}(t *testing.T) {{\n"
            f'\tif {title}() == "" {{\n\t\tt.Fatal("it says nothing")\n\t}}\n}}\n'
        )
        yield pure.with_name(f"{pure.stem}_test.go").as_posix(), text


def _name(path: PurePosixPath) -> str:
    plain = "".join(letter if letter.isalnum() else "_" for letter in path.stem).strip("_")
    return plain if plain and not plain[0].isdigit() else f"made_{plain}"


def _is_test(path: PurePosixPath) -> bool:
    return path.stem.startswith("test_") or path.stem.endswith("_test")


def _allowed(path: str, assignment: Assignment) -> bool:
    limits = assignment.constraints
    if limits.inside and parse_set(limits.inside).match(path) is None:
        return False
    return all(
        parse_set(globs).match(path) is None for globs in (limits.outside, limits.do_not_touch)
    )
