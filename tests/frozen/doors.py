"""The only inner names that the frozen tests know: whoever moves one of them mends one line here."""

from collections.abc import Mapping
from pathlib import Path

from fastapi import FastAPI

COUNTED: Mapping[str, tuple[str, ...]] = {
    # what is counted: functions, each call of which counts
    "whole-log reads": ("hornbook.execute.event_log:EventLog.events",),
    "projections": ("hornbook.execute.run_state:project",),
}


def create_app(root: Path, *, host: str = "127.0.0.1") -> FastAPI:
    """The HTTP application over a repository."""
    from hornbook.serve.app import create_app as made

    return made(root, host=host)


def gate_refusals(command: str) -> tuple[str, ...]:
    """Why a gate with this command is refused; empty if it is accepted."""
    from hornbook.gates.shell import refusals

    return tuple(str(each) for each in refusals(command))
