"""Whether tests really ran: what each test tool says about itself when it ends.

A test may print anything: as soon as a tool counts a test that ran, what else is printed does not
matter, unless it is an account of a test that failed. That is believed, whoever started the tool
and however it ended; only the last one counts where a command tries a tool again. A tool that a
command runs and that gives no account has died before its end, or was kept from telling.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, takewhile

from hornbook.gates.scripts import recipes
from hornbook.gates.test_accounts import ACCOUNTS, Account
from hornbook.shell.bash_tree import NotShell, commands, parse, source, words
from hornbook.shell.command_kind import inner_shell, unwrapped
from hornbook.shell.programs import names, program_name

_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_OVERWRITTEN = re.compile(r"^.*\r(?!$)", re.MULTILINE)
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def plain(text: str) -> str:
    """The text without colours, overwritten progress lines and control characters."""
    without = _SEQUENCE.sub("", text).replace("\r\n", "\n")
    return _STEERING.sub("", _OVERWRITTEN.sub("", without))


Read = Callable[[str], bytes | None]

NO_TESTS = "no tests ran"
"""How the message of a gate begins whose tool ran no test."""

_DEEPEST = 4
# They name tools without running them.
_MENTIONS = names(
    """
    [ alias apk apt apt-get brew cat command conda dnf echo export git grep hash head ls mypy pip
    pip3 pipx printf pyright rg ruff tail test touch type uvx which yum
    """
)
_INSTALLS = names("add ci i install pip remove require sync uninstall update")
_NO_RUN = frozenset({"--no-run", "-c", "clean", "report", "show-env"})
_PAIRS = {
    "go test": ("go", frozenset({"test"})),
    "cargo": ("cargo", frozenset({"test", "t", "nextest", "llvm-cov"})),
    "dotnet": ("dotnet", frozenset({"test"})),
    "artisan": ("artisan", frozenset({"test"})),
    "minitest": ("rails", frozenset({"test"})),
    "ctest": ("--target", frozenset({"test"})),
}
_WORDS = {
    "pytest": names("pytest py.test"),
    "unittest": names("unittest"),
    "jest": names("jest"),
    "vitest": names("vitest"),
    "mocha": names("mocha"),
    "phpunit": names("phpunit phpunit.phar simple-phpunit paratest"),
    "pest": names("pest"),
    "rspec": names("rspec"),
    "ctest": names("ctest"),
}
# Builds that run tests by a task, with options before, between and behind.
_TASKS = {
    "maven": (names("mvn mvnw mvnd"), re.compile(r"test|integration-test|verify")),
    "gradle": (
        names("gradle gradlew"),
        re.compile(r"(?:.*:)?(?:test|(?!clean|compile)[a-z]\w*Test)"),
    ),
    "rake": (names("rake"), re.compile(r"(?:.*:)?(?:test|spec)")),
}
_WITHOUT_TESTS = re.compile(r"-D(?:skipTests|maven\.test\.skip)(?:=true)?")


def tools_run(command: str, read: Read | None = None) -> tuple[str, ...]:
    """The test tools that a command runs, in their order; `read` gives the recipes it names."""
    return tuple(dict.fromkeys(_tools(command, read, 0)))


def _tools(text: str, read: Read | None, depth: int) -> Iterator[str]:
    for meant in _meant(text) if depth <= _DEEPEST else []:
        texts = _texts(meant, read)
        for each in texts:
            yield from _tools(each, read, depth + 1)
        if not texts:
            yield from _named(meant)


def _meant(text: str) -> list[list[str]]:
    """The words of the commands of a text."""
    try:
        found = [unwrapped(words(node)) for node in commands(parse(text))]
    except (NotShell, RecursionError):
        found = [re.findall(r"[\w./+-]+", text)]
    return [each for each in found if each]


def _texts(meant: list[str], read: Read | None) -> list[str]:
    """The shell texts that a command hands to a shell, or names."""
    return _inner(meant) + (recipes(meant, read) if read is not None else [])


def _tried_again(text: str, read: Read | None, depth: int = 0) -> bool:
    """Whether a tool is run until it passes: in a loop, or again after `||`."""
    try:
        waiting = [parse(text)]
    except (NotShell, RecursionError):
        return False
    while waiting:
        node = waiting.pop()
        if node.type == "do_group" and any(_tools(source(node)[2:-4], read, depth)):
            return True
        if node.type == "list" and node.children[1].type == "||":
            sides = [set(_tools(source(side), read, depth)) for side in node.children[::2]]
            if not sides[0].isdisjoint(sides[-1]):
                return True
        waiting.extend(node.children)
    deeper = (each for meant in _meant(text) for each in _texts(meant, read))
    return depth < _DEEPEST and any(_tried_again(each, read, depth + 1) for each in deeper)


def _inner(meant: list[str]) -> list[str]:
    if program_name(meant[0]) == "eval":
        return [" ".join(meant[1:])]
    inner = inner_shell(meant) if program_name(meant[0]) != "echo" else None
    return [inner.script] if inner is not None and inner.script else []


def _named(meant: Sequence[str]) -> Iterator[str]:
    if program_name(meant[0]) in _MENTIONS or not _INSTALLS.isdisjoint(meant[1:2]):
        return
    given = [program_name(word) for word in meant]
    yield from (tool for tool, known in _WORDS.items() if not known.isdisjoint(given))
    if _NO_RUN.isdisjoint(takewhile(lambda word: word != "--", given)):
        yield from _named_by_verb(given)
    if {"node", "--test"} <= set(given):
        yield "node --test"
    if not any(map(_WITHOUT_TESTS.fullmatch, meant)):
        yield from _named_by_task(given[0], meant[1:])


def _named_by_task(program: str, tasks: Sequence[str]) -> Iterator[str]:
    for tool, (programs, task) in _TASKS.items():
        if program in programs and any(map(task.fullmatch, tasks)):
            yield tool


def _named_by_verb(given: list[str]) -> Iterator[str]:
    """The tools that run tests by a verb: `go test`, `cargo +nightly test`."""
    pairs = set(pairwise(word for word in given if not word.startswith("+")))
    for tool, (program, verbs) in _PAIRS.items():
        if any((program, verb) in pairs for verb in verbs):
            yield tool


def _said_by_code(tools: Sequence[str], code: int | None) -> list[str]:
    """The tools whose exit code says that no test ran."""
    return [name for name in tools if code == 5 and name in {"pytest", "unittest"}]


def problem_with_tests(
    command: str, code: int | None, output: str, read: Read | None = None
) -> str | None:
    """Why the tests of a command that ended with 0, 4 or 5 prove nothing; none if they do.

    A test tool that the command runs, itself or by a recipe that `read` finds, must tell that a
    test ran. A command that runs none that is known is judged by all accounts in its output
    together. No account of any tool may tell of a failure.
    """
    text = plain(output)
    named = tools_run(command, read)
    told = {name: list(account(text)) for name, account in ACCOUNTS.items()}
    known = {name: told[name] for name in named or told}
    empty = _without_a_run(known) or _said_by_code(named, code)
    if empty and (named or not any(map(_any_ran, known.values()))):
        return f"{NO_TESTS} ({empty[0]}): a run without a test proves nothing."
    if code != 0:
        return None
    return (_silent(known) if named else None) or _failed(
        told, last=_failing(told) and _tried_again(command, read)
    )


def _without_a_run(told: dict[str, list[Account]]) -> list[str]:
    """The tools that gave an account of no test that ran."""
    return [name for name, accounts in told.items() if accounts and not _any_ran(accounts)]


def _any_ran(accounts: list[Account]) -> bool:
    return any(account.ran for account in accounts)


def _failing(told: dict[str, list[Account]]) -> bool:
    return any(account.failed for accounts in told.values() for account in accounts)


def _silent(told: dict[str, list[Account]]) -> str | None:
    """Which tool that was run gave no account."""
    for name, accounts in told.items():
        if not accounts:
            return (
                f"{name} gave no account of tests that ran, although it ended with 0: it ended "
                "early, or its summary is hidden (`-qq`, a redirection, a reporter of its own); "
                "let the summary reach the output."
            )
    return None


def _failed(told: dict[str, list[Account]], *, last: bool) -> str | None:
    """The account that tells of failed tests; with `last` only the last one of each tool counts."""
    for name, accounts in told.items():
        failed = sum(each.failed for each in (accounts[-1:] if last else accounts))
        if failed:
            tests = "test" if failed == 1 else "tests"
            return f"{name} tells of {failed} failed {tests}, although it ended with 0."
    return None
