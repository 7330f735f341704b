"""`hornbook` with the scripted loop in the place of the real one; `plan.md` is what is planned."""

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from hornbook.cli.main import main
from hornbook.loop.planner import PlanDraft
from hornbook.workspace import Workspace
from tests.kit.engine_loop import ScriptedLoop


class Planner:
    """Answers every topic with the text of a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, topic: str, drafts: Sequence[PlanDraft] = ()) -> str:
        """The text of the file, or of one that is named for a later try."""
        later = self._path.with_name(f"planned-{len(drafts) + 1}.md")
        path = later if later.exists() else self._path
        return path.read_text().replace("any", topic, 1)


def loop_of(work: Workspace) -> ScriptedLoop:
    return ScriptedLoop(work.places.state, "limits", work.settings.engine.database)


def planner_of(work: Workspace, agent: str | None = None) -> Planner | None:
    del agent
    path = work.root / "planned.md"
    return Planner(path) if path.exists() else None


def run() -> None:
    """The command of the arguments."""
    import_module("hornbook.loop.planner")
    for name, module in sorted(sys.modules.items()):  # those that took the real ones by name, too
        if name.startswith("hornbook."):
            ours = {"loop_of": loop_of, "planner_of": planner_of}
            vars(module).update({key: ours[key] for key in ours.keys() & vars(module).keys()})
    main()


if __name__ == "__main__":
    run()
