"""Forbidden code as statements of a language, to be planted into a function.

A rule names what it forbids in a few words: `eval`, `fmt.Println`, `except:`. For a violation that
a reviewer could meet, these become a statement: a call, a declaration, a remark. A name becomes one
only where the sentence forbids to use or call it: to call `ValueError` breaks no rule against
raising it. A block that the rule calls bad is taken as it is, without the remark that calls it so.
Which of the statements is one of the file's language is decided later, by parsing the file with it.
"""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from hornbook.review.evidence.prohibitions import Forbidden

_NAMES = {
    "py": "python",
    "python3": "python",
    "golang": "go",
    "js": "javascript",
    "mjs": "javascript",
    "jsx": "javascript",
    "ts": "typescript",
    "rs": "rust",
}
_ALSO = {"typescript": {"javascript"}, "tsx": {"javascript", "typescript"}}
"""Languages whose code is code of another one too."""
_REMARKS = {"python": "#"}
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*[!]?")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)+!?")
_CALL = re.compile(r"[A-Za-z_][\w.:]*!?\(.*\)", re.DOTALL)
_TODO = re.compile(r"(?:TODO|FIXME|XXX|HACK)\b.*")
_CALLED_SO = re.compile(
    r"\b(?:bad|wrong|incorrect|don['’]?t|do not|never|avoid|forbidden|anti-?pattern|invalid|"
    r"must not|should not|not ok|violat\w*)\b|❌|🚫",
    re.IGNORECASE,
)
_USES = re.compile(
    r"\b(?:call\w*|use|uses|using|invok\w*|function|built-?in|statement|keyword)s?\b", re.IGNORECASE
)
_FILE = re.compile(r".*\.(?:py|pyi|go|jsx?|tsx?|rs|java|md|json|ya?ml|toml|cfg|ini|txt|lock|env)")
_SHORTEST = 3
_MOST_LINES = 12
# Names that stand for values and kinds of values: to name one is no call.
_LISTED_NO_CALLS = (
    "None True False null undefined nil true false self this super void int string str "
    "bool boolean float double number object unknown never dict list tuple set"
)
_NO_CALLS = frozenset(_LISTED_NO_CALLS.split())
_TYPED = {
    "typescript": {"any": "const held: any = null;"},
    "tsx": {"any": "const held: any = null;"},
    "python": {"Any": "held: Any = None"},
}


@dataclass(frozen=True, slots=True)
class Form:
    """Lines to plant, without indentation, and the words of the rule that stand in them."""

    text: str
    code: str


def forms(piece: Forbidden, language: str) -> Iterator[Form]:
    """The statements of a language that a forbidden piece may be, the likeliest first."""
    if piece.fence is not None:
        yield from _of_block(piece, language)
        return
    code = piece.code.strip()
    for text in _of_words(code, piece.sentence, language):
        yield Form(text, code)


def _of_block(piece: Forbidden, language: str) -> Iterator[Form]:
    named = _NAMES.get(piece.fence or "", piece.fence or "")
    if named and named != language and named not in _ALSO.get(language, ()):
        return
    mark = _REMARKS.get(language, "//")
    kept = [line for line in map(_Line(mark).without_verdict, piece.code.splitlines()) if line]
    if kept and len(kept) <= _MOST_LINES:
        text = textwrap.dedent("\n".join(kept))
        yield Form(text, text)


@dataclass(frozen=True, slots=True)
class _Line:
    """Lines of an example in a language whose remarks begin with a mark."""

    mark: str

    def without_verdict(self, line: str) -> str:
        """The line without a remark that says it is bad: that would give the plant away."""
        code, mark, remark = line.partition(self.mark)
        return code.rstrip() if mark and _CALLED_SO.search(remark) else line.rstrip()


def _of_words(code: str, sentence: str, language: str) -> Iterator[str]:
    mark = _REMARKS.get(language, "//")
    end = "" if language in {"python", "go"} else ";"
    typed = _TYPED.get(language, {})
    if code in typed:
        yield typed[code]
    elif _TODO.fullmatch(code):
        yield f"{mark} {code}: later" if code.isalpha() else f"{mark} {code}"
    elif code.startswith(mark):
        yield code
    elif language == "python" and code.startswith("except"):
        yield f"try:\n    held = 1\n{code.rstrip(':')}:\n    held = 0"
    elif code.endswith("()") and _IDENTIFIER.fullmatch(code[:-2]):
        yield f'{code[:-2]}("value"){end}'  # a call without a value would stand out
    elif _CALL.fullmatch(code):
        yield code + end
    elif _is_name(code) and _is_used(code, sentence):
        yield f'{code}("value"){end}'
        yield f"{code} held = 1{end}"
        yield f"{code} held{end}"


def _is_name(code: str) -> bool:
    return bool(_DOTTED.fullmatch(code) or _IDENTIFIER.fullmatch(code))


def _is_used(code: str, sentence: str) -> bool:
    """Whether a sentence forbids to use what a name stands for."""
    if len(code) < _SHORTEST or code in _NO_CALLS or _FILE.fullmatch(code):
        return False
    name = rf"`{re.escape(code)}(?:\(\))?`"
    banned = (
        rf"\b(?:no|avoid|bans?|forbids?|prohibits?)\s+{name}",
        rf"{name}\s+(?:is|are)\s+(?:forbidden|banned|prohibited|not allowed|not permitted)\b",
    )
    return bool(_USES.search(sentence)) or any(
        re.search(each, sentence, re.IGNORECASE) for each in banned
    )
