"""Checkpoints a plan inside of a run: once each time that its growing tiers become due."""

from hornbook.errors import PlanHeld
from hornbook.execute import run_kinds as kinds
from hornbook.execute.checkpointing import write_checkpoint
from hornbook.execute.run_state import RunState
from hornbook.execute.workflow.subjects import DEVELOP
from hornbook.workspace.loop_ground import Scene


def checkpoint_when_due(scene: Scene, name: str, *, due: bool) -> None:
    """Checkpoint the plan if this attempt is the first of its run that finds it due.

    Where another process holds the plan nothing is written, and the next attempt tries again.
    """
    what, ground = f"checkpoint-{name}", scene.ground
    if not due or scene.known(what) is not None or _is_checkpointed(scene.run):
        return
    try:
        made = write_checkpoint(
            ground.places.state, ground.log, scene.run.plan, at=ground.clock(), automatic=True
        )
    except PlanHeld:
        return
    data = {
        "path": made.path,
        "seq": made.seq,
        "event_hash": made.event_hash,
        "written": list(made.written),
        "left": list(made.left),
        "quarantined": list(made.quarantined),
    }
    scene.note(kinds.CHECKPOINTED, what, data)


def _is_checkpointed(run: RunState) -> bool:
    """Whether the run was checkpointed since it was last not due."""
    for event in reversed(run.of(DEVELOP, kinds.CHECKPOINTED)):
        if event.kind == kinds.CHECKPOINTED:
            return True
        if not event.data.get("due"):
            return False
    return False
