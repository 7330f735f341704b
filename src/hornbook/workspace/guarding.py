"""Compiles the guard of a workspace from its settings and its active plan."""

from pathlib import Path

from hornbook.execute.hooks.active import Active
from hornbook.execute.hooks.compiling import compile_active
from hornbook.workspace.settings import load


def compile_guard(root: Path) -> Active:
    """What binds an agent in this workspace now; `.hornbook/active.json` is written anew.

    Call it after each change of the active plan, so that no hook has to.

    Raises:
        UsageError: The settings, the pointer or the plan cannot be read.
    """
    settings = load(root)
    return compile_active(root, tools=settings.guard.tools, scratch=settings.guard.scratch)
