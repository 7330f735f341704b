"""Which files are code, which are tests, and which test belongs to which code by its name."""

import posixpath
import re
from collections.abc import Collection

CODE_TEXT = """
.c .cc .cpp .cs .cts .cxx .ex .exs .go .h .hpp .java .js .jsx .kt .m .mjs .cjs .mts .php .py
.rb .rs .scala .swift .ts .tsx
"""
CODE = frozenset(CODE_TEXT.split())
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
_EXEMPT_FOLDERS = frozenset(
    [
        "build",
        "dist",
        "docs",
        "doc",
        "examples",
        "generated",
        "gen",
        "migrations",
        "node_modules",
        "third_party",
        "vendor",
    ]
)


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


def companion(path: str, tests: Collection[str]) -> str | None:
    """The first of the tests that belongs to a file by its name: `foo.py` to `test_foo.py`."""
    folder, name = posixpath.split(path)
    stem = posixpath.splitext(name)[0]
    parent = posixpath.basename(folder)
    stems = {stem, f"{parent}_{stem}"} if parent else {stem}
    if stem in {"index", "mod", "lib", "main"} and parent:
        stems.add(parent)
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
