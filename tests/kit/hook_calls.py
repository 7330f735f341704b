"""Hooks as a host calls them: a workspace with an active plan, payloads, answers."""

import json
from pathlib import Path
from typing import Any

from hornbook.hooks.compiler import compile_guard
from hornbook.hooks.entry import HookAnswer, HookEnvironment, respond
from tests.kit.workspaces import write

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

- IN: src/**, tests/**
- OUT: src/generated/**
- DO NOT TOUCH: src/core/**
"""


def guarded(root: Path, plan: str = PLAN) -> Path:
    """A workspace whose active plan bounds what may be written."""
    (root / ".git").mkdir()
    return write(
        root,
        {
            ".hornbook/ACTIVE_PLAN": "guarded\n",
            ".hornbook/plans/guarded/plan.md": plan,
            "README.md": "# Readme\n",
            "docs/page.md": "A page.\n",
            "src/a.py": "a = 1\n",
            "src/core/kernel.py": "k = 1\n",
            "src/pkg/b.py": "b = 1\n",
            "src/pkg/cache.pyc": "",
            "tests/test_a.py": "",
        },
    )


def payload(root: Path, tool: str, **given: object) -> dict[str, object]:
    """What the host sends before and after a call of a tool."""
    return {
        "session_id": "s",
        "transcript_path": "/x.jsonl",
        "cwd": str(root),
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": given,
        "tool_use_id": "toolu_1",
    }


def ask(root: Path, event: str, sent: object, **environment: str) -> HookAnswer:
    """The answer to an event, in process; bytes are sent as they are."""
    data = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
    return respond(
        event,
        data,
        HookEnvironment(environment, str(root), str(root), lambda at: compile_guard(Path(at))),
    )


def decision(answer: HookAnswer) -> str:
    """`deny`, `silent` or `blocked`; anything else is a fault of the guard."""
    if answer.code == 2:
        assert not answer.out
        assert answer.err
        return "blocked"
    assert answer.code == 0
    if not answer.out:
        return "silent"
    said = json.loads(answer.out)["hookSpecificOutput"]
    assert said["hookEventName"] == "PreToolUse"
    assert said["permissionDecisionReason"]
    assert said["permissionDecision"] == "deny"
    return "deny"


def events(root: Path, session: str = "s") -> list[dict[str, Any]]:  # JSON lines
    """What was appended to the spool of a session."""
    path = root / ".hornbook" / "spool" / f"{session}.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]
