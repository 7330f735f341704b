"""A plan to try things on, and the repository that it speaks of."""

from pathlib import Path

from tests.kit.workspaces import with_the_example_sop, write

PLAN = """\
# Plan: any

## Situation

`handlers/user.go` answers as often as it is asked.

## Mission

Limit the rate.

Success criteria:

- request 101 gets 429 (gate: test)
- the limit feels fair (human)

## Execution

A token bucket in memory.

1. Count the requests
   - Files: handlers/limit.go (new)
   - Criteria: request 101 gets 429
2. Ask the counter in `handlers/user.go`
   - Depends on: 1

## Constraints

- IN: handlers/**
- OUT: handlers/admin/**
- DO NOT TOUCH: handlers/legacy.go

## Coordination

None.
"""


def with_a_plan(root: Path) -> Path:
    """The example SOPs, some handlers, and the plan in `limits.md`."""
    with_the_example_sop(root)
    return write(
        root,
        {
            "limits.md": PLAN,
            "handlers/user.go": "package handlers\n",
            "handlers/legacy.go": "package handlers\n",
            "main.go": "package main\n",
        },
    )
