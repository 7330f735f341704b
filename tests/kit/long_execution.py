"""A plan that is executed by the embedded developer over many steps, against a scripted server."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hornbook import Workspace
from hornbook.loop.engine.plan_engine import Execution, PlanEngine
from tests.kit.chat_server import Reply, chat_server
from tests.kit.git import start
from tests.kit.step_runs import COUNT, act

PLAN = """\
## Situation

The ledger in `src/ledger.py` is not marked.

## Mission

Mark it.

Success criteria:

- every part is marked (gate: check)

## Execution

1. Mark every part of the ledger
   - Files: src/ledger.py
   - Criteria: every part is marked

## Constraints

- IN: src/**

## Coordination

None.
"""
# Green on the base: it judges a ledger that somebody has begun to mark.
CHECK = """\
grep -q '^part_1 = 0$' src/ledger.py && exit 0
left=$(grep -c ' = 0$' src/ledger.py)
echo "left: $left parts of the ledger that nobody has marked until now"
shown=$(( (left + 4) / 5 ))
grep -n ' = 0$' src/ledger.py | head -n $shown | sed 's/^\\([0-9]*\\):.*/src\\/ledger.py:\\1: a part is not marked/'
test "$left" -eq 0
"""
LINES = 1200


@dataclass(frozen=True, slots=True)
class LongExecution:
    """How an execution ended, and the tokens of each step that the server was asked for."""

    execution: Execution
    tokens: list[int]
    messages: set[tuple[str, ...]]
    steps: int


def _settings(url: str) -> str:
    endpoint = {"provider": "openai-compatible", "model": "tiny", "max_tokens": 200000, "url": url}
    models = {"endpoints": {"ours": endpoint}, "capabilities": {"developing": ["ours"]}}
    gates = {
        "tests": "off",
        "confine": "never",
        "additional": [{"name": "check", "command": "sh check.sh"}],
    }
    return json.dumps({"gates": gates, "models": models})


def long_execution(root: Path, steps: int) -> LongExecution:
    """A plan executed in so many steps: every fourth looks, all others mark a part."""
    parts = steps - 1 - (steps - 1) // 4

    def reply(body: dict[str, Any]) -> Reply:
        del body
        asked = len(server.requests)
        if asked == steps:
            return Reply(act("complete", summary="all parts are marked"))
        if asked % 4 == 0:
            return Reply(act("read_file", path="src/ledger.py", start=asked, end=asked + 400))
        part = asked - asked // 4
        text = {"search": f"part_{part} = 0\n", "replace": f"part_{part} = 1\n"}
        return Reply(act("edit_file", path="src/ledger.py", **text))

    with chat_server(reply) as server:
        ledger = "".join(f"part_{n} = {int(n > parts)}\n" for n in range(1, LINES))
        start(
            root,
            {
                ".hornbook/config.yaml": _settings(server.url),
                "check.sh": CHECK,
                "src/ledger.py": ledger,
            },
        )
        with Workspace.open(root) as work:
            work.ingest()
            work.plan_book().commit("Ledger", PLAN)
            ended = PlanEngine(work).execute("ledger", agent="embedded,scripted")
    pairs = [[each["content"] for each in body["messages"]] for body in server.requests]
    return LongExecution(
        ended,
        [sum(map(COUNT, pair)) for pair in pairs],
        {tuple(each["role"] for each in body["messages"]) for body in server.requests},
        len(server.requests),
    )
