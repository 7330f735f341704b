"""What the files looked like when they were read, and whether the graph still says what they say.

Whether a rule is new, changed or gone is answered without a parser and without git. An ingest notes
every folder that it walks, with its times and a hash of the names in it, and every file whose bytes
decide something: rules, what they include, what git ignores. As long as all of these are as they
were, another ingest would find the same. A time stamp proves nothing if it is younger than our look
was: then names and bytes are compared. Everything is noted before it is read, so that what changes
meanwhile is found the next time.
"""

import os
import time
from collections.abc import Iterable, Mapping
from hashlib import file_digest, sha256
from pathlib import Path

import msgspec

from hornbook.disk import write_whole
from hornbook.rules.discover import STATE_FOLDERS, FileKind, FoundFile, entered, is_text
from hornbook.settings.settings import Settings
from hornbook.version import __version__

# A file that changes again within this time of our look may keep its time stamp.
_RACY = 2_000_000_000

FileFacts = tuple[int, int, int, str]
"""Size, time of modification, time of change, and the hash of the bytes; "" if unreadable."""
FolderFacts = tuple[int, int, str]
"""Time of modification, time of change, and a hash of what lies there; "" if unreadable."""
_UNKNOWN = (-1, -1, -1)
_DIGEST = 32
"""Bytes of the hash that stands before what was seen."""


class SeenFiles(msgspec.Struct):
    """Sizes, times and hashes, as of the moment `looked`.

    `files` are the documents by path. The rest is there only if everything was looked at: `by` says
    with which settings, `folders` and `texts` are all that decides what an ingest finds.
    """

    looked: int = 0
    files: dict[str, FileFacts] = {}
    by: str = ""
    folders: dict[str, FolderFacts] = {}
    texts: dict[str, FileFacts] = {}

    def digest(self, found: FoundFile) -> str | None:
        """The hash that the file had when it was read, if it cannot have changed since."""
        entry = self.files.get(found.path)
        if entry is None or max(found.modified, found.changed) + _RACY > self.looked:
            return None
        same = entry[:3] == (found.size, found.modified, found.changed)
        return entry[3] if same else None


def load(path: Path) -> SeenFiles:
    """What was seen, or nothing if that is not known."""
    return read(path) or SeenFiles()


def read(path: Path) -> SeenFiles | None:
    """What was seen; None if there is nothing, or not what was written."""
    try:
        data = path.read_bytes()
        if data[:_DIGEST] != sha256(data[_DIGEST:]).digest():
            return None
        return msgspec.msgpack.decode(data[_DIGEST:], type=SeenFiles)
    except (OSError, msgspec.MsgspecError):
        return None


def save(path: Path, seen: SeenFiles) -> None:
    """Remember what was seen; losing it only costs time.

    So it is lost where the name of a folder is not UTF-8 and cannot be written down.
    """
    try:
        data = msgspec.msgpack.encode(seen)
    except UnicodeEncodeError:
        path.unlink(missing_ok=True)
        return
    write_whole(path, sha256(data).digest() + data, durable=False)


def look_around(
    root: Path, settings: Settings, starts: Iterable[str], beside: Iterable[Path]
) -> SeenFiles:
    """The folders that an ingest will walk, and the files that decide what counts there.

    Those that lie elsewhere are `beside`.
    """
    seen = SeenFiles(looked=time.time_ns(), by=_maker(settings))
    pending = [*starts, ""]
    while pending:
        path = pending.pop()
        if path in seen.folders:
            continue
        # The times first: what comes after them is seen when the folder is looked at again.
        times = _folder_times(root, path)
        entries = _entries(root, path)
        seen.folders[path] = (*times, _names_in(path, entries)) if times else (0, 0, "")
        prefix = f"{path}/" if path else ""
        for entry in entries or ():
            if entry.is_dir(follow_symlinks=False):
                pending += [prefix + entry.name] if entered(prefix + entry.name, entry.name) else []
            elif entry.name == ".gitignore":
                seen.texts[entry.path] = _file_facts(entry.path, None, 0)
    seen.texts |= {str(path): _file_facts(str(path), None, 0) for path in beside}
    return seen


def with_documents(
    around: SeenFiles, root: Path, files: Mapping[str, FileFacts], found: Iterable[FoundFile]
) -> SeenFiles:
    """The same with the documents that the ingest then read."""
    texts = dict(around.texts)
    folders = dict(around.folders)
    for each in found:
        facts = (each.size, each.modified, each.changed, "")
        if each.kind is FileKind.FILE:  # of others nothing was read: they may be readable next time
            facts = files.get(each.path) or facts
        # The times of a file at a link's place are those of the link as well.
        texts[str(root / each.real)] = facts if each.linked is None else (*_UNKNOWN, facts[3])
        folder = each.real.rpartition("/")[0]
        if folder not in folders:  # a link or an include led to where no walk comes by
            folders[folder] = _folder_facts(root, folder, None, 0)
    return SeenFiles(around.looked, dict(files), around.by, folders, texts)


def seen_again(root: Path, settings: Settings, seen: SeenFiles) -> SeenFiles | None:
    """What is seen now, if another ingest would find nothing new, changed or gone; else None."""
    if seen.by != _maker(settings):
        return None
    again = SeenFiles(time.time_ns(), seen.files, seen.by)
    for path, known in seen.folders.items():
        again.folders[path] = folder = _folder_facts(root, path, known, seen.looked)
        if folder[2] != known[2]:
            return None
    for place, facts in seen.texts.items():
        again.texts[place] = text = _file_facts(place, facts, seen.looked)
        if text[3] != facts[3]:
            return None
    unchanged = again.folders == seen.folders and again.texts == seen.texts
    return seen if unchanged and not _racy(seen) else again


def _racy(seen: SeenFiles) -> bool:
    """Whether some time stamp is too young to prove anything."""
    newest = [max(facts[:2]) for facts in seen.folders.values()]
    newest += [max(facts[1:3]) for facts in seen.texts.values()]
    return max(newest, default=0) + _RACY > seen.looked


def _maker(settings: Settings) -> str:
    return sha256(repr((__version__, settings)).encode()).hexdigest()


def _folder_facts(root: Path, path: str, known: FolderFacts | None, looked: int) -> FolderFacts:
    times = _folder_times(root, path)
    if times is None:
        return (0, 0, "")
    if known is not None and known[:2] == times and max(times) + _RACY <= looked:
        return known
    return (*times, _names_in(path, _entries(root, path)))


def _folder_times(root: Path, path: str) -> tuple[int, int] | None:
    try:
        facts = os.stat(f"{root}/{path}")  # noqa: PTH116  # thousands of them: pathlib takes longer
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_ctime_ns


def _file_facts(place: str, known: FileFacts | None, looked: int) -> FileFacts:
    try:
        facts = os.stat(place)  # noqa: PTH116  # as above
        times = facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
        if known is not None and known[:3] == times and max(times[1:]) + _RACY <= looked:
            return known
        with Path(place).open("rb") as file:
            return (*times, file_digest(file, "sha256").hexdigest())
    except OSError:
        return (0, 0, 0, "")


def _names_in(path: str, entries: "list[os.DirEntry[str]] | None") -> str:
    """A hash of what lies in a folder, as far as it can matter; "" if that cannot be told."""
    if entries is None:
        return ""
    state = path.rpartition("/")[2] in STATE_FOLDERS
    prefix = f"{path}/" if path else ""
    names = []
    for entry in entries:
        name = entry.name
        if entry.is_dir(follow_symlinks=False):
            # Of a folder that is not entered only that it is another repository's matters.
            if entered(f"{prefix}{name}", name) or name == ".git":
                names.append(f"{name}/")
        elif entry.is_symlink():
            names.append(f"{name}\0{_leads_to(entry.path)}")
        elif not state or is_text(f"{prefix}{name}", name):  # a database's files come and go
            names.append(name)
    told = "\0\0".join(sorted(names)).encode("utf-8", "surrogateescape")
    return sha256(told).hexdigest()


def _leads_to(link: str) -> str:
    try:
        return os.readlink(link)  # noqa: PTH115  # as it is written
    except OSError:
        return ""


def _entries(root: Path, path: str) -> "list[os.DirEntry[str]] | None":
    try:
        with os.scandir(f"{root}/{path}") as entries:
            return list(entries)
    except OSError:
        return None
