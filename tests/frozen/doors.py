"""The only inner names that the frozen tests know: whoever moves one of them mends one line here."""

from collections.abc import Mapping
from pathlib import Path

from fastapi import FastAPI

COUNTED: Mapping[str, tuple[str, ...]] = {
    "whole-log reads": ("hornbook.plans.events:verify",),
    "projections": (
        "hornbook.plans.state:project",
        "hornbook.loop.runs.state:project_run",
        "hornbook.plans.tasks:ledger_of",
    ),
    "run-record writes": (
        "hornbook.plans.run_records:write_run_records",
        "hornbook.loop.runs.files:write_task_files",
        "hornbook.loop.runs.files:write_snapshots",
    ),
    "commit-graph builds": ("hornbook.graph.commit_graph:build",),
    "settings parses": (
        "hornbook.settings.load:read_settings",
        "hornbook.settings.load:parse_foreign_gates",
    ),
}
"""What is counted, and the functions whose calls count: `module:function` or `module:Class.method`."""

LOOP_STEP = "hornbook.loop.loop:_Loop.step"
"""One step of a run, to which some counts are held."""


def create_app(root: Path, *, host: str = "127.0.0.1") -> FastAPI:
    """The HTTP application over a repository."""
    from hornbook.serve.app import create_app as made

    return made(root, host=host)
