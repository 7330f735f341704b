"""What git follows and a sparse checkout leaves out of the work tree."""

import os
from pathlib import Path

from hornbook.commits.git import require_success, run


def not_written(root: Path) -> list[str]:
    """The files below a folder that git follows and a sparse checkout leaves out."""
    if not _has_patterns(root):
        return []
    listed = require_success(root, run(root, "ls-files", "-z", "-t")).stdout.split(b"\0")
    return [os.fsdecode(each[2:]) for each in listed if each.startswith(b"S ")]


def _has_patterns(root: Path) -> bool:
    """Whether the work tree of a folder has, or once had, the patterns of a sparse checkout."""
    for folder in (root, *root.parents):
        place = folder / ".git"
        if place.is_file():  # a worktree's or a submodule's: it says where its own things lie
            said = place.read_text(encoding="utf-8", errors="surrogateescape")
            place = folder / said.removeprefix("gitdir:").strip()
        if place.is_dir():
            return (place / "info" / "sparse-checkout").exists()
    return False
