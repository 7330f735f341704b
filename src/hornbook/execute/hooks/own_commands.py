"""Which of our own commands an agent may run: none that would change what binds it."""

from collections.abc import Sequence

_GLOBAL_WITH_VALUE = frozenset({"--root"})
_RECORDS = frozenset(["explore", "plan", "propose", "design", "spec", "decide", "risk"])
_FOR_PEOPLE = frozenset(
    ["promote", "answer", "execute", "auto", "resume", "worker", "init", "checkpoint", "hook"]
)
_PARTS_FOR_PEOPLE = {
    "plans": {"use", "import"},
    "conventions": {"promote", "retire"},
    "invariants": {"promote"},
}
_RECORDED_PARTS = frozenset([("invariants", "propose")])
_OPTIONS_FOR_PEOPLE = {"recover": {"--repair"}}


def refusal(arguments: Sequence[str], role: str) -> str | None:
    """The command as it is called if this role may not run it, else None."""
    words = _words(arguments)
    command = words[0] if words else ""
    part = words[1] if len(words) > 1 else ""
    if command in _FOR_PEOPLE or (command in _RECORDS and role != "planner"):
        return command
    recorded = (command, part) in _RECORDED_PARTS and role != "planner"
    if part in _PARTS_FOR_PEOPLE.get(command, ()) or recorded:
        return f"{command} {part}"
    for option in sorted(_OPTIONS_FOR_PEOPLE.get(command, set()).intersection(arguments)):
        return f"{command} {option}"
    if command == "query" and any("mutation" in each for each in arguments):
        return "query with a mutation"
    return None


def _words(arguments: Sequence[str]) -> list[str]:
    """The arguments without the options before the command."""
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        taken = rest.pop(0)
        if taken in _GLOBAL_WITH_VALUE and rest:
            rest.pop(0)
    return [each for each in rest if not each.startswith("-")]
