"""Which test tools a command runs: by its own words, and by the recipes that it names."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from hornbook.gates.scripts import recipes
from hornbook.gates.shell_tree import NotShell, commands, parse, words
from hornbook.gates.shell_words import base, inner_shell, unwrapped

Read = Callable[[str], bytes | None]

_DEEPEST = 4
# They name tools without running them.
_MENTIONS = frozenset(
    [
        "[",
        "alias",
        "apk",
        "apt",
        "apt-get",
        "brew",
        "cat",
        "command",
        "conda",
        "dnf",
        "echo",
        "export",
        "git",
        "grep",
        "hash",
        "head",
        "ls",
        "mypy",
        "pip",
        "pip3",
        "pipx",
        "printf",
        "pyright",
        "rg",
        "ruff",
        "tail",
        "test",
        "touch",
        "type",
        "uvx",
        "which",
        "yum",
    ]
)
_INSTALLS = frozenset({"add", "ci", "i", "install", "pip", "remove", "sync", "uninstall"})
_NO_RUN = frozenset({"--no-run", "-c", "clean", "report", "show-env"})
_PAIRS = {
    "go test": ("go", frozenset({"test"})),
    "cargo": ("cargo", frozenset({"test", "t", "nextest", "llvm-cov"})),
}
_WORDS = {
    "pytest": frozenset({"pytest", "py.test"}),
    "unittest": frozenset({"unittest"}),
    "jest": frozenset({"jest"}),
    "vitest": frozenset({"vitest"}),
    "mocha": frozenset({"mocha"}),
}


def tools_run(command: str, read: Read | None = None) -> tuple[str, ...]:
    """The test tools that a command runs, in their order; `read` gives the recipes it names."""
    return tuple(dict.fromkeys(_tools(command, read, 0)))


def _tools(text: str, read: Read | None, depth: int) -> Iterator[str]:
    try:
        found = [unwrapped(words(node)) for node in commands(parse(text))]
    except (NotShell, RecursionError):
        found = [re.findall(r"[\w./+-]+", text)]
    for meant in found:
        if not meant or depth > _DEEPEST:
            continue
        texts = _inner(meant)
        if read is not None:
            texts += recipes(meant, read)
        for each in texts:
            yield from _tools(each, read, depth + 1)
        if not texts:
            yield from _named(meant)


def _inner(meant: Sequence[str]) -> list[str]:
    if base(meant[0]) == "eval":
        return [" ".join(meant[1:])]
    inner = inner_shell(list(meant)) if base(meant[0]) != "echo" else None
    return [inner.script] if inner is not None and inner.script else []


def _named(meant: Sequence[str]) -> Iterator[str]:
    if base(meant[0]) in _MENTIONS or not _INSTALLS.isdisjoint(meant[1:2]):
        return
    names = [base(word) for word in meant]
    for tool, known in _WORDS.items():
        if not known.isdisjoint(names):
            yield tool
    bare = [name for name in names if not name.startswith("+")]
    for tool, (program, verbs) in _PAIRS.items():
        if any(first == program and second in verbs for first, second in pairwise(bare)):
            ours = names[: names.index("--")] if "--" in names else names
            if _NO_RUN.isdisjoint(ours):
                yield tool
    if "node" in names and "--test" in names:
        yield "node --test"
