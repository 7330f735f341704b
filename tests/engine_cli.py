"""`hornbook` with the scripted loop in the place of the real one; `plan.md` is what is planned."""

import sys
import types
from pathlib import Path

from hornbook.cli.main import main
from hornbook.workspace.workspace import Workspace
from tests.engine_loop import ScriptedLoop


class Planner:
    """Answers every topic with the text of a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, topic: str) -> str:
        return self._path.read_text().replace("any", topic, 1)


def loop_of(work: Workspace) -> ScriptedLoop:
    return ScriptedLoop(work.places.state, "limits", work.settings.engine.database)


def planner_of(work: Workspace) -> Planner | None:
    path = work.root / "planned.md"
    return Planner(path) if path.exists() else None


if __name__ == "__main__":
    staffing = types.ModuleType("hornbook.workspace.staffing")
    vars(staffing).update(loop_of=loop_of, planner_of=planner_of)
    sys.modules["hornbook.workspace.staffing"] = staffing
    main()
