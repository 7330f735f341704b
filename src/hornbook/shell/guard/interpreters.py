"""What interpreters do with code on their command line, or in the text they are given to read."""

import re
from collections.abc import Sequence

from hornbook.shell.guard.effect import Effect
from hornbook.shell.guard.options import Arguments, arguments
from hornbook.shell.guard.words import WordText

_CODE_OPTIONS = {
    "python": "-c",
    "node": "-e -p --eval --print",
    "bun": "-e --eval",
    "deno": "",
    "ruby": "-e",
    "perl": "-e -E",
    "php": "-r",
    "lua": "-e",
    "Rscript": "-e",
    "osascript": "-e",
}
_AWKS = frozenset({"awk", "gawk", "mawk", "nawk"})
_SAME = {"pypy": "python", "nodejs": "node"}


def interpreted(
    name: str, rest: Sequence[WordText], body: str | None, folder: str | None
) -> list[Effect]:
    """The inline code that an interpreter is given, and the files it edits in place."""
    language = name.rstrip("0123456789.")
    language = _SAME.get(language, language)
    if language in _AWKS:
        return _awk(rest, folder)
    options = _CODE_OPTIONS[language]
    found = arguments(rest, f"{options} -m -W -X -I -r", until_operand=True)
    if [each.text for each in found.values("-m")] == ["hornbook"]:
        return [Effect("hornbook", "\n".join(_behind_module(rest)))]
    edits = _edited(language, rest, folder)
    code = _code(language, found, rest, body)
    return [*edits, *(Effect("code", each.text, language, folder) for each in code)]


def _code(
    language: str, found: Arguments, rest: Sequence[WordText], body: str | None
) -> Sequence[WordText]:
    if language == "deno":
        return rest[1:] if [each.text for each in rest[:1]] == ["eval"] else []
    code = found.values(*_CODE_OPTIONS[language].split())
    reads_stdin = [each.text for each in found.operands] in ([], ["-"])
    if not code and not found.has("-m") and body and reads_stdin:
        return [WordText(body)]
    return code


def _behind_module(rest: Sequence[WordText]) -> list[str]:
    """The arguments of a Python module: all that stands behind its name is its own."""
    plain = [each.text for each in rest]
    named = next(n for n, text in enumerate(plain) if text.endswith("hornbook"))
    return plain[named + 1 :]


def _edited(language: str, rest: Sequence[WordText], folder: str | None) -> list[Effect]:
    """The files that `perl -i` and `ruby -i` edit."""
    in_place = any(re.match(r"-[a-zA-Z0]*i", each.text) for each in rest)
    if language not in {"perl", "ruby"} or not in_place:
        return []
    operands = arguments(rest, "-e -E -I -M").operands
    return [Effect("write", each.text, "file", folder, each.wild) for each in operands]


def _awk(rest: Sequence[WordText], folder: str | None) -> list[Effect]:
    found = arguments(rest, "-F -v -f -i")
    in_place = any(each.text == "inplace" for each in found.values("-i"))
    edited = found.operands[1:] if in_place else []
    return [
        *(Effect("write", each.text, "file", folder, each.wild) for each in edited),
        *(Effect("code", each.text, "awk", folder) for each in found.operands[:1]),
    ]
