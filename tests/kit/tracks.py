"""Tracks of another layout, and what they become."""

import json
from pathlib import Path

from hornbook import Workspace
from hornbook.loop.track_import import (
    ImportReport,
    import_tracks,
)

SPEC = """\
# Limit the rate

Intro.

## Background

Anybody asks as often as they like.

## Goals

Limit it.

## Acceptance Criteria

- request 101 gets 429
- nobody waits

## Notes

See the wiki.
"""
STEPS = """\
# Plan

1. Count the requests
2. Refuse the rest

## Phase two

Later.

## Constraints

- IN: handlers/**
- DO NOT TOUCH: handlers/legacy.go
Be careful.

## Dependencies

The counter service.
"""
DECIDED = """\
# Decisions

## 2026-01-02

- **Decision:** A token bucket
- **Reason:** bursts are fine
  for us
- **Impact:** state in memory

- Decision: In memory
- Impact: a restart forgets
- At: 2026-01-03T10:00:00Z

An afterthought.
"""
RISKY = """\
# Risks

- Risk: The counter is slow
- Severity: High
- Id: slow
- Mitigation: measure it

- R7 [critical] It forgets
- Somebody cheats
"""
FILES = {
    "CLAUDE.md": "# Claude\n",
    "docs/context/CONTEXT_CORE.md": "# Core\n",
    "docs/context/CONTEXT_TIERS.md": "# Tiers\n",
    "docs/tracks/ACTIVE_TRACK": "Rate_Limits\n",
    "docs/tracks/Rate_Limits/SPEC.md": SPEC,
    "docs/tracks/Rate_Limits/PLAN.md": STEPS,
    "docs/tracks/Rate_Limits/DECISIONS.md": DECIDED,
    "docs/tracks/Rate_Limits/RISKS.md": RISKY,
    "docs/tracks/Rate_Limits/sketch.txt": "a sketch\n",
    "docs/tracks/bare/PLAN.md": "Just do it.\n",
    "docs/tracks/empty/notes.txt": "none\n",
    "artifacts/sessions/s1/test_output.txt": "ok\n",
    "artifacts/sessions/s0/test_output.txt": "old\n",
    "artifacts/checkpoints/Rate_Limits/latest.json": json.dumps(
        {
            "track": "Rate_Limits",
            "transient": {"test_output": "artifacts/sessions/s1/test_output.txt"},
            "other": ["../../etc/passwd", "artifacts/sessions/gone.txt"],
        }
    ),
}


def taken_over(root: Path, folder: Path) -> ImportReport:
    with Workspace.open(root) as work:
        return import_tracks(work.memory(), work.plan_book(), work.root, folder)
