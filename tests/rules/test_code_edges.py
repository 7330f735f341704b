"""Import edges: only those that surely lead to a known file."""

from hypothesis import given
from hypothesis import strategies as st

from hornbook.rules.code.edges import Imports
from hornbook.rules.code.file import CodeFile
from hornbook.rules.code.summary import summarise


def edges(
    path: str, source: str, *known: str, go_modules: dict[str, str] | None = None
) -> tuple[str, ...]:
    return imported(summarise(path, source.encode()), Imports([*known, path], go_modules))


def imported(file: CodeFile, imports: Imports) -> tuple[str, ...]:
    """The known files that a file imports, in order and each once."""
    found = [imports.targets(file.language, file.path, each) for each in file.imports]
    return tuple(sorted({target for targets in found for target in targets}))


def test_python_follows_packages_below_src() -> None:
    source = "import pack.a\nfrom pack.sub import b, name\nfrom pack import c\nimport os.path\n"
    known = ("__init__.py", "a.py", "sub/__init__.py", "sub/b.py", "c/__init__.py")
    assert edges("tests/test_x.py", source, *(f"src/pack/{path}" for path in known)) == (
        "src/pack/a.py",
        "src/pack/c/__init__.py",
        "src/pack/sub/__init__.py",
        "src/pack/sub/b.py",
    )


def test_python_follows_relative_imports() -> None:
    source = "from . import a, name\nfrom .b import x\nfrom ..up import y\nfrom .... import far\n"
    known = ("p/q/__init__.py", "p/q/a.py", "p/q/b/__init__.py", "p/up.py", "p/__init__.py")
    assert edges("p/q/m.py", source, *known) == (
        "p/q/__init__.py",
        "p/q/a.py",
        "p/q/b/__init__.py",
        "p/up.py",
    )


def test_python_prefers_its_own_root_and_refuses_to_guess_between_others() -> None:
    known = ("x/tests/__init__.py", "x/tests/h.py", "y/tests/__init__.py", "y/tests/h.py")
    assert edges("x/tests/t.py", "from tests.h import f", *known) == ("x/tests/h.py",)
    assert edges("z/t.py", "from tests.h import f", *known) == ()


def test_python_follows_stubs_and_namespace_packages() -> None:
    assert edges("run.py", "import space.mod\nimport typed", "space/mod.py", "typed.pyi") == (
        "space/mod.py",
        "typed.pyi",
    )


def test_ecmascript_follows_relative_specifiers_with_extension_and_index() -> None:
    source = """
        import a from "./a"; import b from "../lib"; import c from "./c.js"; import d from "react";
        import e from "./data.json"; export * from "."; const f = require("../../../out");
    """
    known = ("web/a.tsx", "lib/index.ts", "web/c.ts", "web/data.json", "web/index.ts", "react.ts")
    assert edges("web/m.ts", source, *known) == (
        "lib/index.ts",
        "web/a.tsx",
        "web/c.ts",
        "web/data.json",
        "web/index.ts",
    )


def test_ecmascript_takes_the_neighbour_of_its_own_kind() -> None:
    assert edges("m.js", "import './a'", "a.js", "a.ts") == ("a.js",)
    assert edges("m.ts", "import './a'", "a.js", "a.ts") == ("a.ts",)


def test_go_follows_packages_of_its_modules_without_their_tests() -> None:
    source = 'package main\nimport (\n "x.com/m/p"\n "x.com/m/tool/q"\n "fmt"\n "x.com/mother"\n)\n'
    known = ("p/a.go", "p/b.go", "p/a_test.go", "p/deep/c.go", "tool/q/q.go", "other/q/q.go")
    modules = {"go.mod": "// x\nmodule x.com/m\n\ngo 1.22\n", "other/go.mod": "module x.com/m/tool"}
    assert edges("main.go", source, *known, go_modules=modules) == (
        "other/q/q.go",
        "p/a.go",
        "p/b.go",
    )
    assert edges("main.go", source, *known) == ()


def test_java_follows_classes_by_the_end_of_their_path() -> None:
    source = "import a.b.C; import static a.b.D.max; import a.b.*; import two.E; import a.b.C.In;"
    known = ("src/main/java/a/b/C.java", "src/main/java/a/b/D.java", "x/two/E.java", "y/two/E.java")
    assert edges("src/main/java/M.java", source, *known) == (
        "src/main/java/a/b/C.java",
        "src/main/java/a/b/D.java",
    )


def test_rust_follows_modules_of_its_crate() -> None:
    source = "mod own; use crate::net::Http; use super::side::f; use self::own::g; use serde::De;"
    known = ("src/lib.rs", "src/a/own.rs", "src/net/mod.rs", "src/side.rs", "src/serde.rs")
    assert edges("src/a.rs", source, *known) == ("src/a/own.rs", "src/net/mod.rs", "src/side.rs")


def test_rust_test_crates_have_their_modules_beside_them() -> None:
    assert edges("tests/t.rs", "mod common;", "tests/common/mod.rs") == ("tests/common/mod.rs",)


def test_a_file_does_not_import_itself_and_unknown_languages_import_nothing() -> None:
    file = summarise("p/__init__.py", b"from . import nothing")
    text = summarise("a.md", b"import a")
    imports = Imports(["p/__init__.py", "a.md"])
    assert imported(text, imports) == imported(file, imports) == ()


LANGUAGES = st.sampled_from(["python", "go", "javascript", "tsx", "java", "rust", ""])
PIECES = st.sampled_from([".", "..", "/", "::", "a", "b", "*", "super", "self", "crate", "x.com"])
REFERENCES = st.lists(PIECES, max_size=6).map("".join)
PATHS = st.lists(st.sampled_from(["a", "b", "src", "tests"]), min_size=1, max_size=3).map("/".join)
ENDINGS = st.sampled_from([".py", "/__init__.py", ".ts", ".go", ".java", ".rs", "/mod.rs"])
FILES = st.builds(str.__add__, PATHS, ENDINGS)


@given(LANGUAGES, FILES, st.lists(REFERENCES), st.sets(FILES))
def test_every_edge_leads_to_another_known_file(
    language: str, path: str, references: list[str], known: set[str]
) -> None:
    file = CodeFile(path, language, "", imports=tuple(references))
    modules = {"go.mod": "module x.com"}
    assert set(imported(file, Imports(known, modules))) <= known - {path}
    for reference in references:
        targets = Imports(known, modules).targets(language, path, reference)
        assert list(targets) == sorted(targets)
