"""Compiles the guard of a workspace from its settings and its active plan."""

from dataclasses import replace
from pathlib import Path

from hornbook.errors import UsageError
from hornbook.execute.hooks.active import Active
from hornbook.execute.hooks.compiling import compile_active
from hornbook.execute.plan_store import PlanView
from hornbook.model import Level, Problem
from hornbook.workspace.places import Places
from hornbook.workspace.plan_pointer import active_plan
from hornbook.workspace.settings import Settings
from hornbook.workspace.settings_loading import load


def compile_guard(root: Path) -> Active:
    """What binds an agent in this workspace now; `.hornbook/active.json` is written anew.

    Call it after each change of the active plan, so that no hook has to.

    Raises:
        UsageError: The settings, the pointer or the plan cannot be read.
    """
    settings = load(root)
    return compile_active(root, tools=settings.guard.tools, scratch=settings.guard.scratch)


def guarded(root: Path, settings: Settings, view: PlanView) -> PlanView:
    """The plan, with the guard compiled anew if it is the active one.

    A guard that cannot be compiled blocks every write, so that is a problem of the plan.
    """
    try:
        if view.plan.slug == active_plan(Places(root).state):
            compile_active(root, tools=settings.guard.tools, scratch=settings.guard.scratch)
    except UsageError as problem:
        message = f"The guard blocks every write, because it cannot be compiled: {problem}"
        path = f".hornbook/plans/{view.plan.slug}/plan.md"
        told = Problem(path, None, "guard_not_compiled", Level.WARNING, message)
        return replace(view, problems=(*view.problems, told))
    return view
