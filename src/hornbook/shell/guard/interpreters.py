"""What interpreters do with code on their command line, or in the text they are given to read."""

import re
from collections.abc import Sequence

from hornbook.shell.cheap_tuple import NamedTuple
from hornbook.shell.guard.words import Arguments, WordText, arguments
from hornbook.shell.programs import AWKS, INLINE_CODE, SAME_INTERPRETER


class Interpreted(NamedTuple):
    """What an interpreter is given: inline code, files to edit, or our own command's arguments."""

    language: str
    code: Sequence[WordText] = ()
    edited: Sequence[WordText] = ()
    hornbook: Sequence[str] | None = None


def interpreted(name: str, rest: Sequence[WordText], body: str | None) -> Interpreted:
    """What an interpreter does; `body` is the text that it can read."""
    language = name.rstrip("0123456789.")
    language = SAME_INTERPRETER.get(language, language)
    if language in AWKS:
        return _awk(rest)
    found = arguments(rest, f"{INLINE_CODE[language]} -m -W -X -I -r", until_operand=True)
    if [each.text for each in found.values("-m")] == ["hornbook"]:
        return Interpreted(language, hornbook=_behind_module(rest))
    return Interpreted(language, _code(language, found, rest, body), _edited(language, rest))


def _code(
    language: str, found: Arguments, rest: Sequence[WordText], body: str | None
) -> Sequence[WordText]:
    if language == "deno":
        return rest[1:] if rest and rest[0].text == "eval" else []
    code = found.values(*INLINE_CODE[language].split())
    if code or found.has("-m") or not body:
        return code
    reads_stdin = [each.text for each in found.operands] in ([], ["-"])
    return [WordText(body)] if reads_stdin else []


def _behind_module(rest: Sequence[WordText]) -> list[str]:
    """The arguments of a Python module: all that stands behind its name is its own."""
    plain = [each.text for each in rest]
    named = next(n for n, text in enumerate(plain) if text.endswith("hornbook"))
    return plain[named + 1 :]


def _edited(language: str, rest: Sequence[WordText]) -> list[WordText]:
    """The files that `perl -i` and `ruby -i` edit."""
    in_place = any(re.match(r"-[a-zA-Z0]*i", each.text) for each in rest)
    edits = in_place and language in {"perl", "ruby"}
    return arguments(rest, "-e -E -I -M").operands if edits else []


def _awk(rest: Sequence[WordText]) -> Interpreted:
    found = arguments(rest, "-F -v -f -i")
    in_place = any(each.text == "inplace" for each in found.values("-i"))
    return Interpreted("awk", found.operands[:1], found.operands[1:] if in_place else ())
