"""The languages whose signatures can be read: their file extensions, grammars and queries.

The next language is one row here, its grammar's wheel, and one query file. Queries capture:

- `@declaration`: a node that has a signature, and `@name`, the node whose line is cited;
- `@body`: where the header ends, and nothing within is looked at (a function's statements);
- `@members`: where the header ends, but what is within has signatures of its own;
- `@cut`: left out of the header, and not looked at either (values, arguments of decorators);
  `@keep` spares a node that another pattern cuts;
- `@wrapper` and `@wrapped`: a header that begins at `@wrapped` really begins at `@wrapper`;
- `@import`, `@from`: a reference, and what to put before it; see `references` for `@use`.

`(#set! prefix "const")` writes a word before the header, where a grammar groups declarations.
"""

import importlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tree_sitter import Language, Query


@dataclass(frozen=True, slots=True)
class Grammar:
    """One language: the extensions of its files, and where its grammar and queries are."""

    name: str
    extensions: tuple[str, ...]
    module: str
    queries: tuple[str, ...]
    function: str = "language"


GRAMMARS = (
    Grammar("python", ("py", "pyi"), "tree_sitter_python", ("python",)),
    Grammar("go", ("go",), "tree_sitter_go", ("go",)),
    Grammar(
        "javascript",
        ("js", "mjs", "cjs", "jsx"),
        "tree_sitter_javascript",
        ("ecmascript", "javascript"),
    ),
    Grammar(
        "typescript",
        ("ts", "mts", "cts"),
        "tree_sitter_typescript",
        ("ecmascript", "typescript"),
        "language_typescript",
    ),
    Grammar(
        "tsx", ("tsx",), "tree_sitter_typescript", ("ecmascript", "typescript"), "language_tsx"
    ),
    Grammar("java", ("java",), "tree_sitter_java", ("java",)),
    Grammar("rust", ("rs",), "tree_sitter_rust", ("rust",)),
)

_BY_EXTENSION = {extension: grammar for grammar in GRAMMARS for extension in grammar.extensions}


def grammar_of(path: str) -> Grammar | None:
    """The grammar for a path by its extension, whatever the case of that."""
    stem, dot, extension = path.rpartition("/")[2].rpartition(".")
    return _BY_EXTENSION.get(extension.lower()) if stem and dot else None


@cache
def language(grammar: Grammar) -> Language:
    """The compiled grammar, imported on first use: a reader of Go never loads TypeScript."""
    module = importlib.import_module(grammar.module)
    return Language(getattr(module, grammar.function)())


@cache
def query(grammar: Grammar) -> Query:
    """The compiled patterns of a language."""
    folder = files(__package__).joinpath("queries")
    texts = [folder.joinpath(f"{name}.scm").read_text("utf-8") for name in grammar.queries]
    return Query(language(grammar), "\n".join(texts))
