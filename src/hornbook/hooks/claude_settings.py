"""The hooks block of Claude Code's `.claude/settings.json`, added to what is there."""

import json
import re
from pathlib import Path
from typing import Any

from hornbook.disk import write_whole
from hornbook.errors import UsageError
from hornbook.hooks.entry import EVENTS

SETTINGS = Path(".claude") / "settings.json"
_SECONDS = {"session-start": 30, "pre-compact": 60}
_MATCHED = frozenset({"pre-tool-use", "post-tool-use", "post-tool-use-failure"})
_INDENT = re.compile(r"\n([ \t]+)\"")


def host_event(event: str) -> str:
    """The name that the host has for an event: `pre-tool-use` is `PreToolUse`."""
    return "".join(part.capitalize() for part in event.split("-"))


def hook_entry(event: str) -> dict[str, object]:
    """The hook that calls us for an event.

    A guard that cannot start, hangs or dies must block: `onFailure` says so to hosts from 2.1.295
    on, and `|| exit 2` to those before, where any other code lets the call through.
    """
    command = f"hornbook hook {event}"
    guards = event == "pre-tool-use"
    entry: dict[str, object] = {
        "type": "command",
        "command": f"{command} || exit 2" if guards else command,
        "timeout": _SECONDS.get(event, 10),
    }
    return {**entry, "onFailure": "block"} if guards else entry


def install(root: Path) -> list[str]:
    """Add our hooks to the host's settings; the host's names of the events that were added.

    What is there stays, in its order and with its indentation; hooks of ours that are there
    already stay as they are, but for a guard that would not block when it fails.

    Raises:
        UsageError: The file is no JSON object, or its hooks have another shape.
    """
    path = root / SETTINGS
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    settings = _settings(before)
    added = [host_event(event) for event in EVENTS if _add(settings["hooks"], event)]
    if added:
        found = _INDENT.search(before)
        indent = found[1] if found else "  "
        text = json.dumps(settings, indent=indent, ensure_ascii=False) + "\n"
        _replace(path, text)
    return added


def _settings(text: str) -> dict[str, Any]:  # any JSON: other keys are not ours
    try:
        found = json.loads(text, object_pairs_hook=_without_repeats) if text.strip() else {}
    except ValueError as problem:
        raise UsageError(
            f"{SETTINGS}: not readable as JSON ({problem}): mend it first."
        ) from problem
    if not isinstance(found, dict) or not isinstance(found.setdefault("hooks", {}), dict):
        raise UsageError(f"{SETTINGS}: `hooks` must be an object in an object: mend it first.")
    return found


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key `{twice}` stands twice")
    return found


def _add(hooks: dict[str, Any], event: str) -> bool:  # as above
    """Add the hook of an event unless it is there; whether anything changed."""
    name = host_event(event)
    groups = hooks.setdefault(name, [])
    entry = hook_entry(event)
    ours = [hook for hook in _commands(groups, name) if _calls_us(hook, event)]
    if ours:
        return _add_on_failure(ours) if "onFailure" in entry else False
    matcher = {"matcher": "*"} if event in _MATCHED else {}
    groups.append({**matcher, "hooks": [entry]})
    return True


def _add_on_failure(hooks: list[dict[str, Any]]) -> bool:  # as above
    """Make the hooks block when they fail; whether anything changed."""
    if all("onFailure" in hook for hook in hooks):
        return False
    for hook in hooks:
        hook["onFailure"] = "block"
    return True


def _commands(groups: object, name: str) -> list[dict[str, Any]]:  # as above
    """The hooks of an event, whatever they match."""
    found: list[dict[str, Any]] = []
    for group in _objects(groups, name):
        found += _objects(group.get("hooks"), name)
    return found


def _objects(listed: object, name: str) -> list[dict[str, Any]]:  # as above
    if isinstance(listed, list) and all(isinstance(each, dict) for each in listed):
        return listed
    shape = "a list of objects, each with a list `hooks` of objects"
    raise UsageError(f"{SETTINGS}: `hooks.{name}` must be {shape}: mend it first.")


def _calls_us(hook: dict[str, Any], event: str) -> bool:  # as above
    command = str(hook.get("command", ""))
    return re.search(rf"\bhornbook\b.*\bhook {event}(?![\w-])", command) is not None


def _replace(path: Path, text: str) -> None:
    target = path.resolve()
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
    write_whole(target, text.encode(), mode, durable=False)
