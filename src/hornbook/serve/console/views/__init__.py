"""The views of the console: a module for each, with the routes of its pages and forms."""

from fastapi import APIRouter

from hornbook.serve.console.views import (
    changes,
    doctor,
    file_map,
    files,
    graph,
    inbox,
    plans,
    replay,
    rules,
    runs,
    trends,
)

ROUTERS: tuple[APIRouter, ...] = (
    inbox.router,
    runs.router,
    plans.router,
    files.router,
    changes.router,
    rules.router,
    doctor.router,
    replay.router,
    file_map.router,
    trends.router,
    graph.router,
)
"""Those of all views; a new one is added here."""
