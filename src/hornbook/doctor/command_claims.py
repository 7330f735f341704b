"""Which commands that a rule names are not defined in the repository that should define them.

Only commands whose definition lies in the repository are judged: `npm run x` needs a script,
`make x` a target. Whether a program is installed is not asked. Where a name could be a program of
a dependency (`yarn eslint`) it is not judged either.
"""

import posixpath
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hornbook.doctor.manifests import Manifests, NodePackage
from hornbook.doctor.mentions import CommandLine, Mention

_NAME = re.compile(r"[A-Za-z_@][\w@./:+-]*")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_INTERPRETERS = frozenset(("python", "python3", "node", "bash", "sh", "tsx", "ruby", "perl"))
_SCRIPT = re.compile(r"/[^/]+\.(?:py|sh|[cm]?[jt]s|rb|pl)$")
_PARTS = re.compile(r"\s*(?:&&|\|\||;|\|(?!\|))\s*")
# What people write as scripts, not as programs: `yarn lint` means a script, `yarn eslint` may not.
_SCRIPT_WORDS = frozenset(
    [
        "test",
        "tests",
        "lint",
        "build",
        "dev",
        "start",
        "format",
        "typecheck",
        "type-check",
        "check",
        "clean",
        "codegen",
        "e2e",
    ]
)
_NO_CLAIM = re.compile(
    r"\b(?:add|create|define|e\.g\.|for example|such as|no longer|removed|deprecated|there is no"
    r"|does(?: not|n't) exist|instead of|do not|don't|never|not)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class CommandClaim:
    """A command that is not defined: where it is named, its name, and those that are."""

    line: int
    shown: str
    name: str
    where: str
    known: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Call:
    """One program call: its words, and the folder that the commands before went to."""

    words: tuple[str, ...]
    folder: str | None


def wrong_commands(
    commands: Sequence[CommandLine], folder: str, manifests: Manifests
) -> Iterator[CommandClaim]:
    """The commands that a rule in `folder` names and that nothing here defines."""
    for command in commands:
        if _NO_CLAIM.search(command.around.replace(command.text, " ")):
            continue
        for call in _calls(command):
            found = _JUDGES.get(call.words[0])
            claim = found(call, folder, manifests) if found else None
            if claim is not None:
                name, where, known = claim
                yield CommandClaim(command.line, " ".join(call.words), name, where, known)


def scripts_run(commands: Sequence[CommandLine]) -> Iterator[Mention]:
    """The files that commands would run: `./run.sh`, `python tools/run.py`."""
    for command in commands:
        for call in _calls(command):
            first = call.words[0]
            rest = [word for word in call.words[1:] if not word.startswith("-")]
            named = first if first.startswith("./") else next(iter(rest), "")
            if (first.startswith("./") or first in _INTERPRETERS) and _SCRIPT.search(named):
                around = command.around.replace(named, " ")
                yield Mention(named, command.line, around, command.heading)


def _calls(command: CommandLine) -> Iterator[_Call]:
    """The calls of a line. A `cd` holds for its line, and for those below only if it is alone."""
    folder: str | None = None
    for text in command.before:
        words = _words(text)
        folder = _entered(folder, words) if _PARTS.search(text) is None else folder
    for part in _PARTS.split(command.text):
        words = _words(part)
        if words and words[0] != "cd":
            yield _Call(tuple(words), folder)
        folder = _entered(folder, words)


def _entered(folder: str | None, words: Sequence[str]) -> str | None:
    if words[:1] != ["cd"] or len(words) != 2:
        return folder
    return posixpath.normpath(posixpath.join(folder or "", words[1]))


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        return []
    while words and (_ASSIGNMENT.match(words[0]) or words[0] in {"sudo", "time", "env", "exec"}):
        words.pop(0)
    return words


_Claim = tuple[str, str, frozenset[str]]
_Judge = Callable[[_Call, str, Manifests], _Claim | None]


def _plain(name: str | None) -> bool:
    return name is not None and _NAME.fullmatch(name) is not None


_NODE_VALUES = frozenset(
    {"-w", "--workspace", "--filter", "-F", "-C", "--dir", "--prefix", "--cwd", "--loglevel"}
)


@dataclass(frozen=True, slots=True)
class _NodeCall:
    """A call of a package manager: the words that are no options, and the options with values."""

    words: tuple[str, ...]
    options: tuple[tuple[str, str], ...]

    def option(self, *names: str) -> str | None:
        return next((value for name, value in self.options if name in names), None)


def _node_call(words: Sequence[str]) -> _NodeCall:
    rest, options = list[str](), list[tuple[str, str]]()
    pending = iter(words)
    for word in pending:
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if name in _NODE_VALUES:
            options.append((name, value if equals else next(pending, "")))
        elif word.startswith("-"):
            options.append((word, ""))
        else:
            rest.append(word)
    return _NodeCall(tuple(rest), tuple(options))


def _judge_node(call: _Call, folder: str, manifests: Manifests) -> _Claim | None:
    program = call.words[0]
    node = _node_call(call.words[1:])
    words = node.words
    wanted = node.option("-w", "--workspace", "--filter", "-F")
    if words[:1] == ("workspace",) and program == "yarn" and len(words) > 2:
        wanted, words = words[1], words[2:]
    script, sure = _script(program, words)
    if script is None or not _plain(script) or not manifests.packages:
        return None
    place = node.option("-C", "--dir", "--prefix", "--cwd")
    where = place if place is not None else call.folder
    packages = _meant(manifests.packages, wanted, where)
    known = frozenset(name for each in packages for name in each.scripts)
    programs = {name for each in manifests.packages for name in each.binaries}
    if not packages or script in known or (not sure and script in programs):
        return None
    # Yarn runs a script with a colon from every workspace.
    if program == "yarn" and any(":" in script and script in p.scripts for p in manifests.packages):
        return None
    return script, _where(packages, wanted, where), known


def _script(program: str, words: tuple[str, ...]) -> tuple[str | None, bool]:
    """The script that a call would run, and whether it can be nothing else."""
    if words[:1] in (("run",), ("run-script",)) and len(words) > 1:
        # bun and yarn run programs of dependencies and files by `run` too.
        sure = program in {"npm", "pnpm"} or ":" in words[1] or words[1] in _SCRIPT_WORDS
        return (words[1], sure) if sure else (None, False)
    if not words:
        return None, False
    if program == "npm":
        return (words[0], True) if words[0] == "test" else (None, False)
    if program == "bun":
        return None, False
    told = ":" in words[0] or words[0] in _SCRIPT_WORDS
    return (words[0], False) if told else (None, False)


def _meant(
    packages: Sequence[NodePackage], wanted: str | None, where: str | None
) -> list[NodePackage]:
    """The packages in which a script may be: the one that is named, else any."""
    if wanted is not None:
        bare = wanted.strip("./")
        return [p for p in packages if _is_called(p, wanted, bare)]
    if where is not None:
        bare = where.strip("./")
        below = [p for p in packages if p.folder == bare or p.folder.endswith(f"/{bare}")]
        # A folder that has no package of its own belongs to one above, or is no folder of ours.
        return below or []
    return list(packages)


def _is_called(package: NodePackage, wanted: str, folder: str) -> bool:
    return wanted in {package.name, package.name.rpartition("/")[2]} or package.folder == folder


def _where(packages: Sequence[NodePackage], wanted: str | None, where: str | None) -> str:
    if wanted is None and where is None:
        return "no package.json" if len(packages) > 1 else "package.json"
    return f"{packages[0].folder}/package.json".lstrip("/")


def _first(call: _Call, *, after: tuple[str, ...] = ()) -> str | None:
    words = call.words[1:]
    if after and words[: len(after)] != after:
        return None
    names = [word for word in words[len(after) :] if not word.startswith("-") and "=" not in word]
    return names[0] if names and _plain(names[0]) else None


def _judge_make(call: _Call, folder: str, manifests: Manifests) -> _Claim | None:
    known = manifests.make_targets if manifests.has_makefile else None
    values = {"-C", "-f", "-j", "--directory", "--file", "-I", "-o", "-W"}
    words = list(call.words[1:])
    if known is None or values & set(words) - {"-C", "--directory", "-j"}:
        return None
    names = []
    while words:
        word = words.pop(0)
        if word in values and words and not (word == "-j" and not words[0].isdigit()):
            words.pop(0)
        elif not word.startswith("-") and "=" not in word:
            names.append(word)
    plain = (name for name in names if _plain(name) and "/" not in name and "." not in name)
    lost = next((name for name in plain if name not in known), None)
    return None if lost is None else (lost, "no Makefile", known)


def _by_first_word(
    known_of: Callable[[Manifests], frozenset[str] | None], where: str, *after: str
) -> _Judge:
    """A judge for programs whose first word is a name that a manifest defines."""

    def judge(call: _Call, folder: str, manifests: Manifests) -> _Claim | None:
        name = _first(call, after=after)
        if name is None:
            return None
        known = known_of(manifests)
        return None if known is None or name in known else (name, where, known)

    return judge


def _by_option(
    known_of: Callable[[Manifests], frozenset[str] | None], where: str, *options: str
) -> _Judge:
    """A judge for programs that take such names behind an option."""

    def judge(call: _Call, folder: str, manifests: Manifests) -> _Claim | None:
        for option, value in zip(call.words, call.words[1:], strict=False):
            known = known_of(manifests) if option in options and _plain(value) else None
            lost = [
                name for name in re.split(r",", value) if known is not None and name not in known
            ]
            if known is not None and lost and not re.fullmatch(r"py\d*.*|pypy.*", lost[0]):
                return lost[0], where, known
        return None

    return judge


def _judge_hatch(call: _Call, folder: str, manifests: Manifests) -> _Claim | None:
    name = _first(call, after=("run",))
    if name is None or ":" not in name:
        return None
    known = manifests.hatch_scripts
    environments = {each.partition(":")[0] for each in known or ()}
    if known is None or name in known or name.partition(":")[0] not in environments:
        return None
    return name, "no hatch environment", known


def _judge_composer(call: _Call, folder: str, manifests: Manifests) -> _Claim | None:
    run = _by_first_word(lambda m: m.composer_scripts, "composer.json", "run")
    script = _by_first_word(lambda m: m.composer_scripts, "composer.json", "run-script")
    return run(call, folder, manifests) or script(call, folder, manifests)


def _unwrapped(call: _Call, folder: str, manifests: Manifests) -> _Claim | None:
    """What `uv run poe x`, `poetry run nox -s x` and their like run."""
    words = call.words[2:] if call.words[1:2] == ("run",) else ()
    while words and words[0].startswith("-"):
        words = words[1:]
    found = _JUDGES.get(words[0]) if words and words[0] in {"poe", "nox", "tox", "make"} else None
    return found(_Call(words, call.folder), folder, manifests) if found else None


_JUDGES: dict[str, _Judge] = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _judge_node),
    **dict.fromkeys(("make", "gmake"), _judge_make),
    **dict.fromkeys(("uv", "poetry", "pdm", "rye"), _unwrapped),
    "just": _by_first_word(lambda m: m.recipes, "no justfile"),
    "task": _by_first_word(lambda m: m.go_tasks, "no Taskfile"),
    "poe": _by_first_word(lambda m: m.poe_tasks, "no pyproject.toml"),
    "deno": _by_first_word(lambda m: m.deno_tasks, "deno.json", "task"),
    "composer": _judge_composer,
    "hatch": _judge_hatch,
    "tox": _by_option(lambda m: m.tox_environments, "tox.ini", "-e"),
    "nox": _by_option(lambda m: m.nox_sessions, "noxfile.py", "-s", "--session", "--sessions"),
    "cargo": _by_option(lambda m: m.cargo_packages, "no Cargo.toml", "-p", "--package"),
}
