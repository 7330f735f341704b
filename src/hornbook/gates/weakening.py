"""What a change takes away from the tests: files, functions, and tests that no longer run."""

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_JS = (
    re.compile(
        r"\b(?:it|test)(?:\.(?:only|concurrent|each\([^)]*\)))?"
        r"\(\s*(?P<quote>['\"`])(?P<name>.+?)(?P=quote)"
    ),
    re.compile(
        r"\b(?:it|test|describe|suite)\.(?:skip|skipIf|todo|fails|only)\b"
        r"|\bx(?:it|test|describe)\("
    ),
)
_JVM = (
    re.compile(r"@(?:Parameterized)?Test\b[^{;]*?\b(?P<name>\w+)\s*\("),
    re.compile(r"@(?:Disabled|Ignore)\b"),
)
_FORMS: dict[str, tuple[re.Pattern[str], re.Pattern[str]]] = {
    ".py": (
        re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(?P<name>test\w*)[ \t]*\(", re.MULTILINE),
        re.compile(
            r"\bmark\.(?:skip|skipif|xfail)\b|\bpytest\.(?:skip|xfail|importorskip)\(|\bskipTest\("
            r"|\bunittest\.(?:skip\w*|expectedFailure)|^__test__ *= *False|\bcollect_ignore",
            re.MULTILINE,
        ),
    ),
    ".go": (
        re.compile(r"^func[ \t]+(?P<name>(?:Test|Fuzz|Example)\w*)\(", re.MULTILINE),
        re.compile(r"\.Skip(?:f|Now)?\("),
    ),
    ".rs": (
        re.compile(
            r"#\[(?:\w+::)?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*"
            r"(?:pub )?(?:async )?fn (?P<name>\w+)"
        ),
        re.compile(r"#\[ignore\b"),
    ),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"), _JS),
    **dict.fromkeys((".java", ".kt", ".scala"), _JVM),
}


@dataclass(frozen=True, slots=True)
class TestFile:
    """A touched file with tests: its text before and after, none where it was not or is not."""

    __test__ = False

    path: str
    before: str | None
    after: str | None


def weakened(files: Iterable[TestFile]) -> list[str]:
    """What the change takes away, a line for each file; tests that moved are still there."""
    known = list(files)
    there = {name for file in known if file.after for name in _tests(file.path, file.after)}
    return [line for file in known for line in _lost(file, there)]


def _lost(file: TestFile, there: set[str]) -> Iterator[str]:
    before = _tests(file.path, file.before or "")
    after = _tests(file.path, file.after or "")
    gone = [name for name in before if name not in there]
    if file.after is None:
        if gone or not before:
            yield f"{file.path} is removed{_counted(gone)}"
        return
    if gone and len(after) < len(before):
        yield f"{file.path} loses{_counted(gone).removeprefix(' with')}"
    more = _skips(file.path, file.after) - _skips(file.path, file.before or "")
    if more > 0:
        marks = "mark that keeps" if more == 1 else "marks that keep"
        yield f"{file.path} has {more} more {marks} tests from running or failing"


def _counted(names: list[str]) -> str:
    if not names:
        return ""
    tests = "test" if len(names) == 1 else "tests"
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f" with {len(names)} {tests}: {', '.join(names[:3])}{more}"


def _tests(path: str, text: str) -> list[str]:
    form = _FORMS.get(posixpath.splitext(path)[1])
    return [found["name"] for found in form[0].finditer(text)] if form is not None else []


def _skips(path: str, text: str) -> int:
    form = _FORMS.get(posixpath.splitext(path)[1])
    return len(form[1].findall(text)) if form is not None else 0
