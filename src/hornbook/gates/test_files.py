"""Which files are code, which are tests, and which test belongs to which code by its name."""

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

CODE_TEXT = """
.c .cc .cpp .cs .cts .cxx .ex .exs .go .h .hpp .java .js .jsx .kt .m .mjs .cjs .mts .php .py
.rb .rs .scala .swift .ts .tsx
"""
CODE = frozenset(CODE_TEXT.split())
OWN_TESTS = (b"#[test]", b"#[cfg(test)]", b"::test]")
"""What shows that a file of Rust has tests of its own."""
_TEST_FOLDERS = frozenset({"test", "tests", "__tests__", "spec", "specs", "e2e"})
_TEST_NAME = re.compile(
    r"test_.+\.|.+_(?:test|spec)\.|.+\.(?:test|spec)\.|.*[a-z0-9](?:Test|Tests|Spec|IT)\."
    r"|Test[A-Z].*\.|conftest\.py$"
)
_EXEMPT_NAME = re.compile(
    r"(?:__init__|__main__|setup|conftest|noxfile|version|_version)\.py$|build\.rs$|doc\.go$"
    r"|.*\.d\.[cm]?ts$|.*\.config\.[cm]?[jt]s$|.*rc\.[cm]?js$|(?:Gulp|Grunt)file\.js$|.*\.stories\.[jt]sx?$"
    r"|.*(?:_pb2(?:_grpc)?\.pyi?|\.pb\.go|_gen\.go|\.gen\.go|_generated\.\w+|\.generated\.\w+|\.g\.cs"
    r"|\.min\.js|_mock\.go|_string\.go)$"
)
_EXEMPT_FOLDERS_TEXT = """
build dist docs doc examples generated gen migrations node_modules third_party vendor
"""
_EXEMPT_FOLDERS = frozenset(_EXEMPT_FOLDERS_TEXT.split())


def is_test(path: str) -> bool:
    """Whether a file is part of the tests, by its name or folder."""
    *folders, name = path.split("/")
    code = posixpath.splitext(name)[1] in CODE
    return code and (is_named_test(name) or not _TEST_FOLDERS.isdisjoint(folders))


def is_named_test(path: str) -> bool:
    """Whether a file's name alone says that it is a test."""
    return bool(_TEST_NAME.match(posixpath.basename(path)))


def wants_test(path: str) -> bool:
    """Whether a file is code that tests are expected for: no test, settings or generated code."""
    *folders, name = path.split("/")
    if posixpath.splitext(name)[1] not in CODE or is_test(path):
        return False
    return not _EXEMPT_NAME.match(name) and _EXEMPT_FOLDERS.isdisjoint(folders)


def same_kind(first: str, second: str) -> bool:
    """Whether two files are of languages that test each other."""
    return _family(first) == _family(second)


def _family(path: str) -> str:
    suffix = posixpath.splitext(path)[1]
    if suffix in {".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"}:
        return "javascript"
    if suffix in {".c", ".cc", ".cpp", ".cxx", ".h", ".hpp"}:
        return "c"
    return "jvm" if suffix in {".java", ".kt", ".scala"} else suffix


def _stems(path: str) -> set[str]:
    """What a test of a file may be named after: the file, and its folder where that says more."""
    folder, name = posixpath.split(path)
    stem = posixpath.splitext(name)[0]
    parent = posixpath.basename(folder)
    if not parent:
        return {stem}
    stands_for_folder = stem in {"index", "mod", "lib", "main"}
    return {stem, f"{parent}_{stem}", *([parent] if stands_for_folder else [])}


def companion(path: str, tests: Collection[str]) -> str | None:
    """The first of the tests that belongs to a file by its name: `foo.py` to `test_foo.py`."""
    folder = posixpath.dirname(path)
    stems = _stems(path)
    for test in sorted(tests):
        test_folder, test_name = posixpath.split(test)
        if not same_kind(path, test) or (path.endswith(".go") and test_folder != folder):
            continue
        if _subject(test_name) in stems:
            return test
    return None


_AROUND = re.compile(
    r"^(?:test_)?(?P<stem>.+?)(?:_test|_spec|\.test|\.spec|Tests?|Spec|IT)?(?:\.[a-z]+)?$"
)


def _subject(test_name: str) -> str:
    """What a test is about, by its name."""
    found = _AROUND.match(test_name)
    stem = found["stem"] if found else test_name
    leading = re.match(r"Test(?=[A-Z])(.+)", stem)
    return leading[1] if leading else stem


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
    old = file.before or ""
    before = _tests(file.path, old)
    gone = [name for name in before if name not in there]
    if file.after is not None:
        yield from _weakened(file.path, old, file.after, gone)
    elif gone or not before:
        yield f"{file.path} is removed{_counted(gone)}"


def _weakened(path: str, old: str, new: str, gone: list[str]) -> Iterator[str]:
    if gone and len(_tests(path, new)) < len(_tests(path, old)):
        yield f"{path} loses{_counted(gone).removeprefix(' with')}"
    more = _skips(path, new) - _skips(path, old)
    if more > 0:
        marks = "mark that keeps" if more == 1 else "marks that keep"
        yield f"{path} has {more} more {marks} tests from running or failing"


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
