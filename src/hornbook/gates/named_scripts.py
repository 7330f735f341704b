"""Which files a command runs, or is configured by: its programs, scripts and settings."""

import posixpath
import re
import shlex
from collections.abc import Iterator

_INTERPRETERS = re.compile(
    r"(?:ba|da|z|k)?sh|python[\d.]*|node|deno|bun|tsx|ts-node|ruby|perl|php|source|\."
    r"|env|exec|time|nice|xargs|sudo|command|timeout|npx|uv|poetry|pipenv|run"
)
_SETTINGS = re.compile(
    r"-c|-f|--file|--makefile|--(?:[\w-]*-)?(?:config|rcfile|conf|settings)(?:-\w+)?"
)
_PASSED_OVER = re.compile(r"\w+=.*|[\d.]+[smhd]?", re.DOTALL)
_APART = frozenset("();<>|&\n")


def named_scripts(command: str) -> Iterator[str]:
    """The paths as the command writes them; other arguments, such as files to check, are not."""
    expected, settings = True, False
    for word in _words(command):
        if set(word) <= _APART:
            expected, settings = True, False
        elif settings:
            yield from _unfolded(word)
            settings = False
        elif word.startswith("-"):
            option, equals, value = word.partition("=")
            settings = _SETTINGS.fullmatch(option) is not None
            if settings and equals:
                yield value
                settings = False
        elif expected and not _PASSED_OVER.fullmatch(word):
            yield from _unfolded(word)
            expected = _INTERPRETERS.fullmatch(posixpath.basename(word)) is not None


def _unfolded(word: str) -> Iterator[str]:
    """What a word names: it may be a command of its own, in quotes."""
    if len(word.split()) > 1:
        yield from named_scripts(word)
    else:
        yield word


def _words(command: str) -> list[str]:
    """The words of a command, operators apart.

    A quote that is not closed is refused by the shell: then all that looks like a word starts one.
    """
    reader = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars="();<>|&")
    reader.whitespace_split = True
    reader.commenters = ""
    try:
        return list(reader)
    except ValueError:
        return [word for part in re.split(r"[\s'\"]+", command) for word in ("&", part)]
