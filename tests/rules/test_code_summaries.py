"""Summaries of source files: headers in file order, what is imported, and why something misses."""

import subprocess
import sys
from hashlib import sha256
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbook.rules.code import parsing
from hornbook.rules.code.file import CodeFile, Signature
from hornbook.rules.code.parsing import GRAMMARS, Grammar, query
from hornbook.rules.code.summary import HOPELESS, LARGEST, spelt_out, summarise
from hornbook.rules.rendering import render_summary

PYTHON = '''
"""A module."""
from __future__ import annotations
import os.path as p, q
from . import sibling, other as renamed
from ..up.there import thing
from stars import *

LIMIT: int = 3
Alias = dict[str, int]
lower = 4
type Pair[T] = tuple[T, T]

@dataclass(frozen=True)
class Box[T](Base, metaclass=Meta):
    """Doc."""

    size: int = 3

    @property
    async def area(
        self,
        scale: float = 1.0,  # why
        *rest: int,
    ) -> float:
        import late
        def inner(): ...
        return 1.0

if LIMIT:
    def guarded(x): return x
'''

GO = """
package main

import "fmt"
import (
    alias "example.com/m/x"
    . `raw`
)

const (
    A = iota
    B
)
var V, W int = 1, 2

type Store[T any] struct {
    Name string `json:"name"`
    *Embedded
}
type (
    Reader interface {
        Read(p []byte) (int, error)
        ~int | string
    }
    ID = int
)

func New[T any](a T) (*Store[T], error) {
    type local struct{ hidden int }
    return nil, nil
}
func (s *Store[T]) Close() error { return nil }
"""

TYPESCRIPT = """
import a, { b } from "./a";
import type { T } from './t';
import old = require("old");
export * from './z';
export { q as r } from './q';
const lazy = await import("./lazy");
const plain = 1;
export const K: number = 1, L = 2;
export const run = async (x: number): Promise<void> => { const hidden = () => 1; };

@Component({ selector: "x" })
export abstract class C<T> extends D implements E {
  @Input() private readonly a: number = 1;
  constructor(private x: string) { super(); }
  get v(): number { return 1; }
  abstract m(): void;
  h = (e: Event) => { this.x = e; };
}
interface I extends J { a: string; m(x: number): void; [k: string]: unknown }
type Shape = { kind: "a" };
type Either = { a: string } | B;
enum E { A = 1, B }
declare module "ambient" { export function g(): void; }
export default function (x: string): void {}
"""

JAVASCRIPT = """
const fs = require('fs');
import x from "./x.js";
class A extends B { static #count = 1; go(a, cb = () => {}) { function hidden() {} } }
function* numbers(a, b = 2) {}
const double = (n) => n * 2;
export { A as default };
module.exports = { A, numbers };
exports.named = function (a) {};
element.addEventListener("click", function () { function hidden() {} });
"""

JAVA = """
package a.b;
import java.util.List;
import java.util.*;
import static a.B.c;

@Service(name = "x")
public abstract class A<T> extends B implements C, D {
  @Inject private static final int X = 1, Y = 2;
  static { class Hidden {} }
  public A(int x) throws E { }
  @Override public <U> List<U> m(@NonNull int a) throws E {
    return new Object() { void hidden() {} };
  }
  interface Inner { void f(); }
}
enum Color implements I { RED(1), BLUE { void f() {} }; int code; }
record Point(int x, int y) { static int zero() { return 0; } }
"""

RUST = """
use std::collections::{HashMap, hash_map::{self, Entry as E}};
pub use self::b::C;
pub mod files;
mod inline { use super::q; mod deeper; pub fn f() {} }
#[derive(Debug)]
pub struct S<T: Clone> where T: Copy { pub a: T }
struct Pair(pub u8, i32);
pub enum En { A, B(u8), C { x: i32 } }
pub trait Tr: Send { type Item; fn a(&self) -> u8; fn b() {} }
impl<T> Tr for S<T> { fn a(&self) -> u8 { fn hidden() {} 1 } }
pub const X: u8 = 1;
macro_rules! mac { () => {} }
pub(crate) async fn f<'a>(x: &'a str) -> impl Fn() { }
"""


def lines(path: str, source: str) -> list[str]:
    file = summarise(path, source.encode())
    assert file.problem is None
    return ["  " * each.depth + each.text for each in file.signatures]


def imports(path: str, source: str) -> tuple[str, ...]:
    return summarise(path, source.encode()).imports


def test_python_headers_have_decorator_names_and_no_bodies() -> None:
    assert lines("a.py", PYTHON) == [
        "LIMIT: int",
        "Alias",
        "type Pair[T] = tuple[T, T]",
        "@dataclass class Box[T](Base, metaclass=Meta)",
        "  size: int",
        "  @property async def area(self, scale: float = 1.0, *rest: int) -> float",
        "def guarded(x)",
    ]


def test_the_first_and_only_member_of_a_class_is_seen() -> None:
    assert lines("a.py", "class A:\n    x: int\n") == ["class A", "  x: int"]
    assert lines("a.py", "class A:\n    def f(self): pass\n    y: int\n") == [
        "class A",
        "  def f(self)",
        "  y: int",
    ]


def test_a_function_that_is_all_of_a_body_stays_hidden() -> None:
    assert lines("a.py", "def f():\n    def g(): pass\n") == ["def f()"]


def test_python_imports_end_in_the_imported_name() -> None:
    expected = ("os.path", "q", ".sibling", ".other", "..up.there.thing", "stars.*", "late")
    assert imports("a.py", PYTHON) == expected


def test_go_groups_are_told_one_by_one() -> None:
    assert lines("a.go", GO) == [
        "const A",
        "const B",
        "var V, W int",
        "type Store[T any] struct",
        "  Name string",
        "  *Embedded",
        "type Reader interface",
        "  Read(p []byte) (int, error)",
        "  ~int | string",
        "type ID = int",
        "func New[T any](a T) (*Store[T], error)",
        "func (s *Store[T]) Close() error",
    ]
    assert imports("a.go", GO) == ("fmt", "example.com/m/x", "raw")


def test_typescript_shows_exports_classes_and_types() -> None:
    assert lines("a.ts", TYPESCRIPT) == [
        "export * from './z'",
        "export { q as r } from './q'",
        "export const K: number, L",
        "export const run = async (x: number): Promise<void> =>",
        "@Component export abstract class C<T> extends D implements E",
        "  @Input private readonly a: number",
        "  constructor(private x: string)",
        "  get v(): number",
        "  abstract m(): void",
        "  h = (e: Event) =>",
        "interface I extends J",
        "  a: string",
        "  m(x: number): void",
        "  [k: string]: unknown",
        "type Shape",
        '  kind: "a"',
        "type Either = { a: string } | B",
        "enum E",
        "  A",
        "  B",
        'declare module "ambient"',
        "  export function g(): void",
        "export default function (x: string): void",
    ]
    assert imports("a.ts", TYPESCRIPT) == ("./a", "./t", "old", "./z", "./q", "./lazy")


def test_tsx_and_jsx_read_markup() -> None:
    source = "export const App = (p: Props) => <div className='a'>{p.x}</div>;\n"
    assert lines("a.tsx", source) == ["export const App = (p: Props) =>"]
    assert lines("a.jsx", "export function App(p) { return <b>{p}</b>; }") == [
        "export function App(p)"
    ]


def test_javascript_shows_both_kinds_of_modules_and_no_callbacks() -> None:
    assert lines("a.mjs", JAVASCRIPT) == [
        "class A extends B",
        "  static #count",
        "  go(a, cb = () =>)",
        "function* numbers(a, b = 2)",
        "const double = (n) =>",
        "export { A as default }",
        "module.exports",
        "exports.named = function (a)",
    ]
    assert imports("a.cjs", JAVASCRIPT) == ("fs", "./x.js")


def test_java_shows_members_with_annotation_names() -> None:
    assert lines("A.java", JAVA) == [
        "@Service public abstract class A<T> extends B implements C, D",
        "  @Inject private static final int X, Y",
        "  public A(int x) throws E",
        "  @Override public <U> List<U> m(@NonNull int a) throws E",
        "  interface Inner",
        "    void f()",
        "enum Color implements I",
        "  RED",
        "  BLUE",
        "  int code",
        "record Point(int x, int y)",
        "  static int zero()",
    ]
    assert imports("A.java", JAVA) == ("java.util.List", "java.util.*", "a.B.c")


def test_rust_shows_items_of_modules_traits_and_impls() -> None:
    assert lines("a.rs", RUST) == [
        "pub use self::b::C",
        "pub mod files",
        "mod inline",
        "  mod deeper",
        "  pub fn f()",
        "pub struct S<T: Clone> where T: Copy",
        "  pub a: T",
        "struct Pair(pub u8, i32)",
        "pub enum En",
        "  A",
        "  B(u8)",
        "  C",
        "    x: i32",
        "pub trait Tr: Send",
        "  type Item",
        "  fn a(&self) -> u8",
        "  fn b()",
        "impl<T> Tr for S<T>",
        "  fn a(&self) -> u8",
        "pub const X: u8",
        "macro_rules! mac",
        "pub(crate) async fn f<'a>(x: &'a str) -> impl Fn()",
    ]


def test_rust_paths_are_spelt_out_as_seen_from_the_file() -> None:
    assert imports("a.rs", RUST) == (
        "std::collections::HashMap",
        "std::collections::hash_map",
        "std::collections::hash_map::Entry",
        "self::b::C",
        "self::files",
        "self::q",
        "self::inline::deeper",
    )


def test_rust_super_climbs_out_of_inline_modules_first() -> None:
    source = "mod a { mod b { use super::super::super::x; use self::y; } }\nuse super::z;\n"
    assert imports("a.rs", source) == ("super::x", "self::a::b::y", "super::z")


def test_unbalanced_use_lists_are_read_as_far_as_they_go() -> None:
    assert list(spelt_out("a::{b, c}}, d")) == ["a::b", "a::c", "d"]
    assert list(spelt_out("a::{" * 100)) == []


@pytest.mark.parametrize("grammar", GRAMMARS, ids=lambda grammar: grammar.name)
def test_every_query_fits_its_grammar(grammar: Grammar) -> None:
    assert query(grammar).pattern_count > 5


def test_a_signature_stands_on_the_line_of_its_name() -> None:
    file = summarise("a.py", b"@decorator(\n  1,\n)\ndef f(): pass\n")
    assert file.signatures == (Signature(4, 0, "@decorator def f()"),)


def test_lines_beyond_256_are_numbered() -> None:
    file = summarise("a.go", b"package a\n" + b"\n" * 5000 + b"func F() {}\n")
    assert [each.line for each in file.signatures] == [5002]


def test_a_broken_file_says_where_and_keeps_what_can_be_read() -> None:
    file = summarise("a.py", b"def good(x): pass\n\ndef bad(:\n    pass\n\ndef also(): pass\n")
    assert file.problem == "line 3 does not parse; signatures may be incomplete"
    assert "def good(x)" in [each.text for each in file.signatures]


def test_a_missing_brace_is_a_problem() -> None:
    file = summarise("a.go", b"package a\n\nfunc F() {\n")
    assert file.problem is not None
    assert "does not parse" in file.problem


@pytest.mark.parametrize("path", ["a.py", "a.go", "a.js", "a.ts", "a.tsx", "A.java", "a.rs"])
def test_an_empty_file_has_nothing_and_no_problem(path: str) -> None:
    file = summarise(path, b"")
    assert (file.signatures, file.imports, file.problem) == ((), (), None)


@pytest.mark.parametrize("path", ["README.md", "Makefile", "py", ".py", "a.py/x", "a.PYC", ""])
def test_an_unknown_language_is_no_problem(path: str) -> None:
    data = b"\x00\xff"
    assert summarise(path, data) == CodeFile(path, "", sha256(data).hexdigest())


def test_extensions_are_read_in_any_case() -> None:
    assert summarise("A.PY", b"").language == "python"
    assert summarise("a/b.d.ts", b"").language == "typescript"


def test_line_ends_and_byte_order_marks_change_nothing() -> None:
    plain = summarise("a.py", PYTHON.encode())
    windows = summarise("a.py", b"\xef\xbb\xbf" + PYTHON.replace("\n", "\r\n").encode())
    assert windows.signatures == plain.signatures
    assert windows.imports == plain.imports
    assert windows.problem is None


def test_binary_and_badly_encoded_files_say_so() -> None:
    assert summarise("a.py", b"x = 1\0").problem == (
        "binary (a NUL byte at offset 5): no signatures were read"
    )
    assert summarise("a.py", "x = 'é'".encode("latin-1")).problem == (
        "byte 0xe9 at offset 5 is not UTF-8: no signatures were read"
    )


def test_a_file_over_the_limit_is_refused_and_one_below_is_read() -> None:
    data = b"def f(x): return x\n" * (LARGEST // 19)
    file = summarise("a.py", data)
    assert file.problem is None
    assert len(file.signatures) == LARGEST // 19
    too_large = summarise("a.py", data + b"#" * 100)
    assert too_large.signatures == ()
    assert "1048576 are read at most" in (too_large.problem or "")


def test_a_very_long_header_ends_in_an_ellipsis() -> None:
    names = ", ".join(f"name_{number}" for number in range(200))
    (signature,) = summarise("a.py", f"def f({names}): pass".encode()).signatures
    assert signature.text.endswith(" …")
    assert len(signature.text) < 510


BOMBS = ["(", "[", "{", "a<", "/*\n", "a?", "a=>", "mod a {", "class A {", "use a::{", "a.b("]


@pytest.mark.parametrize("unit", BOMBS)
@pytest.mark.parametrize("path", ["a.py", "a.go", "a.js", "a.ts", "A.java", "a.rs"])
def test_nesting_bombs_are_survived(path: str, unit: str) -> None:
    bomb = unit.encode() * (20_000 // len(unit))
    assert summarise(path, bomb).problem is not None


def test_a_slow_machine_reads_the_same_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "SECONDS", 0.0)  # so slow that no parse is quick enough
    monkeypatch.setattr(parsing, "SECONDS_PER_BYTE", 0.0)
    for number, grammar in enumerate(parsing.GRAMMARS):
        tree = parsing.parse(grammar, b"x\n" * (number + 1))
        assert tree is not None, grammar.name
    assert parsing.parse(parsing.GRAMMARS[0], parsing.PLAIN * 3) is not None


@pytest.mark.parametrize(("path", "unit"), [("a.py", "/*\n"), ("a.go", "a?"), ("A.java", "a=>")])
def test_an_error_in_every_other_word_ends_it_on_every_machine(path: str, unit: str) -> None:
    few = unit.encode() * 300  # too little to take long anywhere
    assert summarise(path, few).problem == HOPELESS
    assert summarise(path, few[:400]).problem != HOPELESS


def test_balanced_nesting_is_too_deep_to_be_read() -> None:
    data = b"def f(): pass\nx = " + b"(" * 100_000 + b"1" + b")" * 100_000
    assert summarise("a.py", data).problem == HOPELESS


@settings(deadline=None)
@given(st.sampled_from(["a.py", "a.go", "a.js", "a.tsx", "A.java", "a.rs"]), st.binary())
def test_any_bytes_give_a_summary(path: str, data: bytes) -> None:
    file = summarise(path, data)
    assert file == summarise(path, data)
    assert render_summary(file).startswith(f'### "{path}" (')


SAMPLES = {
    "a.py": PYTHON,
    "a.go": GO,
    "a.ts": TYPESCRIPT,
    "a.js": JAVASCRIPT,
    "A.java": JAVA,
    "a.rs": RUST,
}


@settings(deadline=None)
@given(st.sampled_from(sorted(SAMPLES)), st.integers(0, 1500), st.integers(0, 1500), st.text())
def test_damaged_code_gives_a_summary_in_file_order(
    path: str, start: int, end: int, junk: str
) -> None:
    source = SAMPLES[path]
    damaged = source[:start] + junk + source[end:]
    file = summarise(path, damaged.encode())
    last = damaged.count("\n") + 1
    assert all(1 <= each.line <= last and "\n" not in each.text for each in file.signatures)
    assert all(
        after.depth <= before.depth + 1
        for before, after in zip(file.signatures, file.signatures[1:], strict=False)
    )


def test_only_the_grammar_that_is_asked_for_is_loaded() -> None:
    program = dedent("""
        import sys
        from hornbook.rules.code.summary import summarise
        loaded = lambda: sorted(name for name in sys.modules if name.startswith("tree_sitter_"))
        assert not loaded(), loaded()
        summarise("README.md", b"")
        assert not loaded(), loaded()
        summarise("a.go", b"package a")
        assert all(name.startswith("tree_sitter_go") for name in loaded()), loaded()
    """)
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_summary_reads_as_a_heading_and_a_block_with_lines() -> None:
    file = summarise("a.py", b"class A:\n    def f(self): pass\n")
    assert render_summary(file) == dedent("""\
        ### "a.py" (python)

        ```python
        1: class A
        2:     def f(self)
        ```
        """)


def test_a_problem_stands_above_what_could_be_read() -> None:
    file = summarise("a.py", b"def f(): pass\n)\n")
    assert render_summary(file) == dedent("""\
        ### "a.py" (python)

        Problem: line 2 does not parse; signatures may be incomplete.

        ```python
        1: def f()
        ```
        """)


def test_a_file_without_signatures_says_so() -> None:
    assert render_summary(summarise("a.py", b"")) == '### "a.py" (python)\n\nNo signatures.\n'
    assert render_summary(summarise("a.md", b"")) == (
        '### "a.md"\n\nNo signatures: unknown language.\n'
    )


def test_neither_path_nor_literal_can_leave_its_place() -> None:
    file = CodeFile("a\n# b.py", "python", "", (Signature(1, 0, "x: '````\u2028'"),))
    rendered = render_summary(file)
    assert rendered.startswith('### "a\\n# b.py" (python)\n')
    assert "`````python\n" in rendered
    assert "\\u{2028}" in rendered
