"""Judges a shell command by what it would write.

What a text cannot tell is left to the host for a role that may write, because the scope gate over
the git diff holds afterwards; a role that is read-only is refused it.
"""

import os
from collections.abc import Iterable, Sequence
from itertools import islice

from hornbook.hooks.write_scope import STATE_FOLDERS, Denial, WriteScope
from hornbook.shell.guard.effects import Effect, effects
from hornbook.shell.guard.syntax import ShellSyntax
from hornbook.shell.guard.words import UNKNOWN

# ruff: noqa: PTH111, PTH118, PTH207  # pathlib costs start-up time

_MOST_MATCHES = 500
_GLOBAL_WITH_VALUE = frozenset({"--root"})
_RECORDS = frozenset(["explore", "plan", "propose", "design", "spec", "decide", "risk"])
_FOR_PEOPLE = frozenset(
    ["promote", "answer", "execute", "auto", "resume", "worker", "init", "checkpoint", "hook"]
)
_PARTS_FOR_PEOPLE = {
    "plans": frozenset(["use", "import"]),
    "conventions": frozenset(["promote", "retire"]),
    "invariants": frozenset(["promote"]),
    "recover": frozenset(["--repair"]),
}
_RECORDED_PARTS = {"invariants": frozenset(["propose"])}


def judge_command(command: str, folder: str, scope: WriteScope) -> Denial | None:
    """The first denial among the things that the command would do."""
    try:
        found = effects(command, folder, os.path.expanduser("~"))
    except (ShellSyntax, RecursionError) as problem:
        if scope.active.plan is None and not _names_state(command, scope):
            return None
        reason = f"The command cannot be read ({problem}): write it in a simpler form."
        return Denial("unreadable_command", None, reason)
    return _first_denial(_judge_effect(effect, scope) for effect in found)


def _judge_effect(effect: Effect, scope: WriteScope) -> Denial | None:
    if effect.kind == "write":
        return _judge_write(effect, scope)
    if effect.kind == "code":
        return _judge_code(effect, scope)
    if scope.active.plan is None:
        return None
    if effect.kind == "hornbook":
        refused = refusal(effect.text.split("\n"), scope.role)
        if refused is None:
            return None
        reason = (
            f"`hornbook {refused}` is not for the {scope.role}, who would change what binds it: "
            "ask a person, or say what you need."
        )
        return Denial("own_command", None, reason)
    return _undecided(effect.text, scope)


def _undecided(what: str, scope: WriteScope) -> Denial | None:
    """The denial of what cannot be judged: only for a role that may write nothing."""
    if not scope.read_only:
        return None
    reason = (
        f"The {scope.role} is read-only, and {what!r} may write: "
        "use a tool or a command that only reads."
    )
    return Denial("read_only", None, reason)


def _known_part(effect: Effect, scope: WriteScope) -> tuple[str, str]:
    """The path that is written as far as it is known, and how it is written."""
    how = "into" if UNKNOWN in effect.how else effect.how
    if UNKNOWN not in effect.text or _names_state(effect.text, scope):
        return effect.text, how
    # Of a path whose end is not known, the folder is; something in it is written.
    known, slash, _ = effect.text.partition(UNKNOWN)[0].rpartition("/")
    return (known or "/", "into") if slash else (effect.text, how)


def _judge_write(effect: Effect, scope: WriteScope) -> Denial | None:
    if not effect.text:
        return None
    text, how = _known_part(effect, scope)
    if UNKNOWN in text or (effect.folder is None and not text.startswith("/")):
        return _judge_unknown(text, scope)
    path = os.path.join(effect.folder or "/", text)
    if effect.wild:
        return _judge_matches(path, how, scope)
    return scope.judge(path, how, effect.names)


def _judge_unknown(text: str, scope: WriteScope) -> Denial | None:
    """The denial of a path that is not all there: if it names our folder, or for a reader."""
    shown = text.replace(UNKNOWN, "…")
    if _names_state(text, scope):
        reason = f"The command writes {shown}, in a folder of Hornbook's: leave it."
        return Denial("protected_state", shown, reason)
    return _undecided(shown, scope)


def _judge_matches(pattern: str, how: str, scope: WriteScope) -> Denial | None:
    """The first denial among the files that the shell would put for a pattern."""
    from glob import iglob  # noqa: PLC0415  # the shell's dialect, and only where a target is wild

    matches = list(islice(iglob(pattern), _MOST_MATCHES)) or [pattern]
    return _first_denial(scope.judge(each, how) for each in matches)


def _judge_named(folder: str | None, paths: Iterable[str], scope: WriteScope) -> Denial | None:
    """The denial of a path that inline code names; in a folder that is not known, none."""
    if folder is None:
        return None
    absolute = (os.path.join(folder or "/", os.path.expanduser(path)) for path in paths)
    return _first_denial(map(scope.judge, absolute))


def _judge_code(effect: Effect, scope: WriteScope) -> Denial | None:
    """The denial of inline code: the paths it names, our folders, or a role that only reads."""
    from hornbook.shell.guard import inline_code  # noqa: PLC0415  # its regexes take start-up time

    code = effect.text
    denial = _judge_named(effect.folder, inline_code.written(code), scope)
    if denial is not None:
        return denial
    writes = inline_code.seems_to_write(code)
    if writes and _names_state(code, scope):
        reason = "The code names a folder of Hornbook's and may write there: read it with a tool."
        return Denial("protected_state", None, reason)
    harmless = scope.active.plan is None or (effect.how == "awk" and not writes)
    return None if harmless else _undecided(f"{effect.how} code", scope)


def _first_denial(denials: Iterable[Denial | None]) -> Denial | None:
    return next((denial for denial in denials if denial is not None), None)


def _names_state(text: str, scope: WriteScope) -> bool:
    folders = STATE_FOLDERS if scope.active.plan is not None else STATE_FOLDERS[:1]
    lowered = text.casefold()
    return any(folder in lowered for folder in folders)


def refusal(arguments: Sequence[str], role: str) -> str | None:
    """The command as it is called if this role may not run it, else None."""
    command, *words = _words(arguments) or [""]
    records = role == "planner"
    if command in _FOR_PEOPLE or (command in _RECORDS and not records):
        return command
    if command == "query" and "mutation" in "\n".join(arguments):
        return "query with a mutation"
    options = [each for each in arguments if each.startswith("-")]
    part = _closed_part(command, [*words[:1], *options], records=records)
    return None if part is None else f"{command} {part}"


def _closed_part(command: str, given: Sequence[str], *, records: bool) -> str | None:
    """The first word by which a command does what is left to people, or to the planner."""
    closed = set(_PARTS_FOR_PEOPLE.get(command, ()))
    if not records:
        closed |= _RECORDED_PARTS.get(command, frozenset())
    return next((each for each in given if each in closed), None)


def _words(arguments: Sequence[str]) -> list[str]:
    """The arguments without the options before the command."""
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        taken = rest.pop(0)
        if taken in _GLOBAL_WITH_VALUE and rest:
            rest.pop(0)
    return [each for each in rest if not each.startswith("-")]
