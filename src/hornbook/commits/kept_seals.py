"""What decides how git behaves, kept whole before others work, so that it can be put back.

A seal lies in git's own folder, `.git/hornbook/seals/`, under the sha256 of its bytes: whoever
notes that hash elsewhere knows what git's configuration was. It holds what `.git/config` holds,
which may be a secret, and so is its owner's alone to read. What was put in the place of something
sealed is not lost: it is moved aside before the sealed thing takes its place again.
"""

import socket
from hashlib import sha256
from pathlib import Path

import msgspec

from hornbook.commits.git import replacements, run
from hornbook.commits.git_tampering import broken, sealed_places
from hornbook.commits.git_tampering import seal as hashes_now
from hornbook.commits.writer import common_folder
from hornbook.disk import write_whole
from hornbook.errors import UsageError

FOLDER = Path("hornbook", "seals")
MOST_KEPT = 32
_OWNER_ONLY = 0o600


class SealedFile(msgspec.Struct):
    """A file as it was sealed: where a link leads, or a mode and bytes."""

    link: str = ""
    mode: int = 0
    data: bytes = b""


class KeptSeal(msgspec.Struct):
    """Files and their hashes by name, and the objects that stood in the place of others."""

    files: dict[str, SealedFile]
    hashes: dict[str, str]
    replaced: str


def clone_of(root: Path) -> str:
    """What tells this clone from one on another machine, or in another place: a hash."""
    return sha256(f"{socket.gethostname()}\0{common_folder(root)}".encode()).hexdigest()


def keep_seal(root: Path) -> str:
    """The hash of a seal of git's configuration as it is now, which is kept.

    Raises:
        UsageError: The root is in no repository.
    """
    common = common_folder(root)
    files = {}
    for name, path in sealed_places(common).items():
        if path.is_symlink():
            files[name] = SealedFile(link=str(path.readlink()))
        elif path.is_file():
            files[name] = SealedFile("", path.stat().st_mode & 0o777, path.read_bytes())
    replaced = replacements(root, common).decode("utf-8", "surrogateescape")
    text = msgspec.json.encode(KeptSeal(files, dict(hashes_now(root)), replaced), order="sorted")
    digest = sha256(text).hexdigest()
    place = common / FOLDER / digest
    if not place.exists():
        write_whole(place, text, _OWNER_ONLY)
        _prune(place.parent)
    return digest


def broken_seal(root: Path, digest: str) -> tuple[str, ...]:
    """What is not as it was sealed, in words.

    Raises:
        UsageError: The seal itself is gone or was changed.
    """
    return broken(_read(root, digest).hashes, hashes_now(root))


def put_back(root: Path, digest: str, aside: Path) -> None:
    """Make everything as it was sealed; what is in its place goes into the folder `aside`.

    Done again, it does nothing.

    Raises:
        UsageError: The seal itself is gone or was changed.
    """
    kept, common, now = _read(root, digest), common_folder(root), hashes_now(root)
    for name, path in {**{n: common / n for n in kept.files}, **sealed_places(common)}.items():
        if now.get(name) == kept.hashes.get(name):
            continue
        if path.is_symlink() or path.exists():
            target = aside / name
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
        facts = kept.files.get(name)
        if facts is not None and facts.link:
            path.symlink_to(facts.link)
        elif facts is not None:
            write_whole(path, facts.data, facts.mode)
    _replace_again(root, common, kept.replaced)


def _replace_again(root: Path, common: Path, wanted: str) -> None:
    """Have the objects that stand in the place of others be those of the seal."""
    before = dict(line.split(" ", 1) for line in wanted.splitlines())
    now = replacements(root, common).decode("utf-8", "surrogateescape")
    after = dict(line.split(" ", 1) for line in now.splitlines())
    for name in after.keys() - before.keys():
        run(root, "update-ref", "-d", name)
    for name, target in before.items():
        if after.get(name) != target:
            run(root, "update-ref", name, target)


def _read(root: Path, digest: str) -> KeptSeal:
    place = common_folder(root) / FOLDER / digest
    data = place.read_bytes() if place.is_file() else b""
    if sha256(data).hexdigest() != digest:
        raise UsageError(
            f"{place}: the seal of git's configuration is gone or was changed: look at .git/config "
            "and .git/hooks yourself before you go on."
        )
    return msgspec.json.decode(data, type=KeptSeal)


def _prune(folder: Path) -> None:
    kept = sorted(folder.iterdir(), key=lambda each: each.stat().st_mtime_ns)
    for each in kept[:-MOST_KEPT]:
        each.unlink(missing_ok=True)
