"""The only inner names that the frozen tests know: whoever moves one of them mends one line here."""

from collections.abc import Mapping
from pathlib import Path

from fastapi import FastAPI

COUNTED: Mapping[str, tuple[str, ...]] = {
    "whole-log reads": ("hornbook.execute.events:verify",),
    "projections": (
        "hornbook.execute.plan_state:project",
        "hornbook.execute.run_state:project_run",
        "hornbook.execute.task_ledger:ledger_of",
    ),
    "run-record writes": (
        "hornbook.execute.run_records:write_run_records",
        "hornbook.execute.run_files:write_task_files",
        "hornbook.execute.run_snapshots:write_snapshots",
    ),
    "commit-graph builds": ("hornbook.workspace.judging:graph_at",),
    "settings parses": (
        "hornbook.workspace.settings_loading:parse_settings",
        "hornbook.workspace.settings_loading:parse_foreign_gates",
    ),
}
"""What is counted, and the functions whose calls count: `module:function` or `module:Class.method`."""

LOOP_STEP = "hornbook.workspace.looping:_Loop.step"
"""One step of a run, to which some counts are held."""


def create_app(root: Path, *, host: str = "127.0.0.1") -> FastAPI:
    """The HTTP application over a repository."""
    from hornbook.serve.app import create_app as made

    return made(root, host=host)
