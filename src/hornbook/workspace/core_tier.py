"""The core tier: the files that hold for every step, in their fixed order."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from hornbook.git import reader as git
from hornbook.model.context import LeftOut, Unit
from hornbook.model.tiers import CORE_FILES, LOADED_BY_HOST


@dataclass(frozen=True, slots=True)
class CoreTier:
    """The core files that a step is given, and those that it has from elsewhere."""

    units: tuple[Unit, ...]
    left_out: tuple[LeftOut, ...]


def core_tier(root: Path, *, at: str | None = None, rules: Collection[str] = ()) -> CoreTier:
    """The core tier of the files here, or of a commit; `rules` are paths that are given as rules.

    Nothing is given twice: what is among the rules, or is loaded by the host, is left out.
    """
    read = _reader(root, at)
    units, left_out = [], []
    for path in CORE_FILES:
        data = read(path)
        if data is None:
            continue
        if path in rules:
            left_out.append(LeftOut(path, "it is among the rules"))
        elif path in LOADED_BY_HOST:
            left_out.append(LeftOut(path, "the agent's host loads it itself"))
        else:
            text = data.decode("utf-8-sig", "replace")
            units.append(Unit(path, sha256(data).hexdigest()[:12], text))
    return CoreTier(tuple(units), tuple(left_out))


def _reader(root: Path, at: str | None) -> Callable[[str], bytes | None]:
    if at is None:
        return lambda path: (root / path).read_bytes() if (root / path).is_file() else None
    held = git.files_at(root, at)
    blobs = git.blobs(root, [held[path] for path in CORE_FILES if path in held])
    return lambda path: blobs[held[path]] if path in held else None
