"""What each role may touch while it works."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from hornbook.agents.assignment import Role
from hornbook.commits.trees import top_of
from hornbook.commits.writer import common_folder
from hornbook.process.confinement import Confinement

RULE_FOLDERS = (".hornbook", ".semspec")


@dataclass(frozen=True, slots=True)
class AgentSurroundings:
    """Where a worktree lies: the workspace's root, the top of its repository and its git folder.

    `blind` is whether a developer must not read rules: then it cannot read the history either,
    since that holds them too.
    """

    root: Path
    top: Path
    history: Path
    blind: bool = True

    @classmethod
    def of(cls, root: Path, *, blind: bool) -> Self:
        """Those of a workspace.

        Raises:
            UsageError: The root is in no repository.
        """
        return cls(root.resolve(), top_of(root), common_folder(root), blind=blind)


def confinement_of(
    role: Role,
    folder: Path,
    surroundings: AgentSurroundings | None = None,
    *,
    worktree: Path | None = None,
    state: Sequence[Path] = (),
    shown: Sequence[Path] = (),
) -> Confinement:
    """What a role may do in a folder of a worktree.

    A developer writes the worktree, everyone else nothing. `state` is where the agent keeps its
    own log-in and sessions, which stays writable; `shown` must be readable wherever it lies.
    """
    whole = worktree or folder
    around = [] if surroundings is None else [surroundings.top, surroundings.history]
    if role is not Role.DEVELOPER:
        return Confinement(folder, tuple(state), (*around, whole, *shown))
    hidden: list[Path] = []
    if surroundings is not None and surroundings.blind:
        hidden = [surroundings.root / name for name in RULE_FOLDERS]
        hidden.append(surroundings.history)
        around.remove(surroundings.history)
    kept = (*around, whole / ".git", *shown)
    return Confinement(folder, (whole, *state), kept, tuple(hidden))
