"""The commands that were refused and accepted as gates, and denied and let through by the guard.

Both lists are those of the tests of their day. One `gates list` answers for all gates at once.
"""

import json
from pathlib import Path
from typing import Any

from tests.frozen.kept import DATA, hold
from tests.frozen.stories import Story, tell

COMMANDS = DATA / "commands"
PLAN = """\
---
slug: guarded
---
# Plan: Guarded

## Situation

It is open.

## Mission

Close it.

## Constraints

"""
SCOPES = {
    "guarded": "- IN: src/**, tests/**\n- OUT: src/generated/**\n- DO NOT TOUCH: src/core/**\n",
    "shared": "- IN: src/**, tests/**\n- DO NOT TOUCH: src/core/**\n",
}
FILES = {
    "README.md": "# Readme\n",
    "docs/page.md": "A page.\n",
    "src/a.py": "a = 1\n",
    "src/core/kernel.py": "k = 1\n",
    "src/pkg/b.py": "b = 1\n",
    "src/pkg/cache.pyc": "",
    "tests/test_a.py": "",
}


def test_gates_are_refused_and_accepted_as_stored(tmp_path: Path) -> None:
    stored = json.loads((COMMANDS / "gates.json").read_text(encoding="utf-8"))
    plain = tell(tmp_path, "plain")
    _judge_gates(plain, [gate for gate in stored["gates"] if not gate["files"]])
    scripts = tell(tmp_path, "scripts")
    scripts.write(stored["files"])
    _judge_gates(scripts, [gate for gate in stored["gates"] if gate["files"]])
    _hold("gates", stored)


def test_the_guard_denies_and_lets_through_as_stored(tmp_path: Path) -> None:
    stored = json.loads((COMMANDS / "guard.json").read_text(encoding="utf-8"))
    for scope in ("guarded", "shared", "none"):
        story = tell(tmp_path, scope)
        _guarded(story, scope)
        for call in stored["calls"]:
            if call["scope"] == scope:
                call["decision"] = _decision(story, call)
    _hold("guard", stored)


def _judge_gates(story: Story, gates: list[dict[str, Any]]) -> None:
    """Put beside each gate what `gates list` says of it."""
    named = {
        f"{gate['name'] or 'gate'}-{place}": gate
        for place, gate in enumerate(gates)
        if gate["command"].strip()
    }
    config = [{"name": name, "command": gate["command"]} for name, gate in named.items()]
    story.write({".hornbook/config.yaml": json.dumps({"gates": {"additional": config}})})
    played = story.play("gates", "list", "--json")
    listed = {gate["name"]: gate for gate in json.loads(played.out)["gates"]}
    for name, gate in named.items():
        gate["status"] = listed[name]["status"]
        gate["reasons"] = listed[name]["reasons"]


def _guarded(story: Story, scope: str) -> None:
    (story.root / ".git").mkdir()
    (story.root / ".hornbook").mkdir()
    if scope == "none":
        return
    plan = {".hornbook/ACTIVE_PLAN": "guarded\n", ".hornbook/plans/guarded/plan.md": PLAN + SCOPES[scope]}  # fmt: skip
    story.write({**FILES, **plan})


def _decision(story: Story, call: dict[str, Any]) -> str:
    root = str(story.root)
    sent = {
        "session_id": "s",
        "transcript_path": "/x.jsonl",
        "cwd": root,
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": call["tool"],
        "tool_input": call["input"],
        "tool_use_id": "toolu_1",
    }
    text = json.dumps(sent).replace("<root>", root)
    played = story.play("hook", "pre-tool-use", stdin=text, HORNBOOK_ROLE=call["role"])
    if played.code:
        return f"exit {played.code}"
    if not played.out:
        return "silent"
    decision: str = json.loads(played.out)["hookSpecificOutput"]["permissionDecision"]
    return decision


def _hold(name: str, judged: dict[str, Any]) -> None:
    others = {
        path.stem: json.loads(path.read_text(encoding="utf-8")) for path in COMMANDS.glob("*.json")
    }
    hold("commands", {**others, name: judged})
