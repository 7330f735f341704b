"""Looks at the files and says which documents are new, changed, gone or as they were."""

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from hashlib import file_digest, sha256
from pathlib import Path

from hornbook.commits import git
from hornbook.disk import remedy_of
from hornbook.errors import DiskFailed, NotFound, StoreError, UsageError
from hornbook.graph.ingest.builder import too_large
from hornbook.graph.ingest.history import Objects
from hornbook.graph.ingest.report import Progress
from hornbook.graph.ingest.seen_files import SeenFiles, load, look_around, with_documents
from hornbook.graph.ingest.work_list import DocumentFacts, DocumentWork
from hornbook.rules.code.parsing import grammar_of
from hornbook.rules.discover import (
    SKIPPED_FOLDERS,
    STATE_FOLDERS,
    FileKind,
    FoundFile,
    entered,
    found_at,
    in_path_order,
    included_at,
    is_text,
    may_be_rule,
    reached,
    walk,
)
from hornbook.rules.document import Problem
from hornbook.rules.document_reader import (
    NOT_READABLE,
    NOT_WRITTEN,
    SHUT_FOLDER,
    SHUT_SOURCES,
    broken_link,
    included_text,
    is_rule_file,
    is_rule_folder,
    read_broken_link,
    read_included,
)
from hornbook.rules.document_reader import read as read_document
from hornbook.rules.includes import (
    IncludeSource,
    Inclusion,
    included_files,
    inclusions,
    measured,
)
from hornbook.rules.links import DiskTree, LinkedFile, Place, Wanted, follow, resolve
from hornbook.rules.readers.protocol import Reading
from hornbook.rules.tool_setup import ASKED, NO_SETUP, ToolSetup, present_among, tool_setup
from hornbook.settings.load import CONFIG
from hornbook.settings.places import Places, other_repository
from hornbook.settings.settings import Settings
from hornbook.text.globs import Glob, parse
from hornbook.text.tokens import counter
from hornbook.vocabulary.terms import Level

EVERY_RULE = "*"
"""Followed like a folder: the configured sources and every rule format in the repository."""

HEAD_OF_LARGE = 65_536
_UNREADABLE = "cannot be read ({}): check its permissions."


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at the files found."""

    files: dict[str, FoundFile]
    problems: list[Problem]
    scope: tuple[str, ...] | None
    """The paths that were looked at; None is everything that is followed."""
    shut: tuple[str, ...] = ()
    """Folders that could not be looked into, each with a slash behind it."""

    def covers(self, path: str) -> bool:
        """Whether the look would have found this path if it were there."""
        if path.startswith(self.shut):
            return False
        if self.scope is None:
            return True
        return any(not each or path == each or path.startswith(each + "/") for each in self.scope)


@dataclass(slots=True)
class Contents:
    """The hashes of the files, and which of them had to be read."""

    digests: dict[str, str] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)
    seen: SeenFiles = field(default_factory=SeenFiles)


Taken = Callable[[str, str, bytes, bool], None]
"""Called with path, hash and bytes of each file that was read, and whether that is all of it."""


class Survey:
    """Finds and reads the files of one workspace."""

    def __init__(self, places: Places, settings: Settings, seen: Path | None = None) -> None:
        """`seen` is the file that says what the last ingest saw, if it is not the usual one."""
        self._places = places
        self._seen = seen or places.seen
        self._settings = settings
        self._excluded = [parse(pattern) for pattern in settings.exclude]

    @cached_property
    def setup(self) -> ToolSetup:
        """What the work tree shows about the tools in use; what git ignores shows nothing."""
        root = self._places.root
        tree = DiskTree(root)
        files = [
            path
            for path in ASKED
            if not path.endswith("/")
            and (root / path).is_file()
            and isinstance(resolve(tree, path), Place)
        ]
        for folder in ASKED:
            if folder.endswith("/"):
                below = walk(root, folder.rstrip("/"), lambda _path, _name: True)
                files += [found.path for found in below]
        if not present_among(files):
            return NO_SETUP
        hidden = git.ignored(root, files)
        present = present_among(path for path in files if path not in hidden)
        return tool_setup(present, lambda path: (root / path).read_bytes())

    def relative(self, paths: Iterable[str | Path]) -> list[str]:
        """Paths that a user named, relative to the root.

        Raises:
            UsageError: One lies outside the root or does not exist.
        """
        root = self._places.root
        found = []
        for named in paths:
            path = Path(named).absolute()
            resolved = path.parent.resolve() / path.name if path.name != ".." else path.resolve()
            if not resolved.is_relative_to(root):
                raise UsageError(
                    f"{named} lies outside the root {root}: name a path inside it, "
                    "or another root with --root."
                )
            relative = resolved.relative_to(root).as_posix()
            found.append("" if relative == "." else relative)
        return found

    def around(self, roots: Sequence[str]) -> SeenFiles | None:
        """What decides which files a look finds; None if it looks only where it was told to."""
        if EVERY_RULE not in roots:
            return None
        starts = [root for root in roots if root != EVERY_RULE] + list(self._settings.starts)
        beside = git.ignore_settings(self._places.root)
        return look_around(self._places.root, self._settings, starts, beside)

    def seen(self, around: SeenFiles | None, look: Look, contents: Contents) -> SeenFiles:
        """What to remember, so that it can be told later whether anything changed."""
        if around is None or look.scope is not None:
            return contents.seen
        found = look.files.values()
        return with_documents(around, self._places.root, contents.seen.files, found)

    def everything(self, roots: Sequence[str]) -> Look:
        """All that is followed; `EVERY_RULE` among the roots stands for what is configured and
        for every file in a rule format that Hornbook knows.
        """
        starts = [root for root in roots if root != EVERY_RULE]
        if EVERY_RULE not in roots:
            return self._look([each for start in starts for each in self._below(start)], None)
        starts += self._settings.starts
        prefixes = tuple(f"{start}/" if start else "" for start in starts if start != "")
        whole = "" in starts
        code = [parse(pattern) for pattern in self._settings.code]
        wanted = _wanted(prefixes, code, self.setup, whole=whole)
        linked = _linked_folder(prefixes, whole=whole)
        found = list(walk(self._places.root, "", wanted, linked))
        found += self._not_written(found, wanted)
        rules = set() if whole else {e.path for e in found if not e.path.startswith(prefixes)}
        found = self._not_ignored(self._ours(found, rules), rules)
        for start in starts:
            if not _walked(start) or not (self._places.root / start).is_dir():
                found += self._below(start)
        look = self._look(found, None)
        look.problems.extend(self._missing_sources())
        return look

    def _not_written(
        self, found: list[FoundFile], wanted: Callable[[str, str], bool]
    ) -> Iterator[FoundFile]:
        """The rules that a sparse checkout leaves out: nobody knows here what they say."""
        there = {each.path for each in found}
        for path in _not_written(self._places.root):
            if path not in there and reached(path) and wanted(path, path.rpartition("/")[2]):
                yield found_at(self._places.root, LinkedFile(path, path, broken=NOT_WRITTEN))

    def _ours(self, found: list[FoundFile], rules: set[str]) -> list[FoundFile]:
        """The files without the rules that lie in another repository, such as a submodule.

        No commit of ours has them, and they are not followed through links or includes either.
        """
        root = self._places.root
        if git.surely_outside(root):
            return found
        folders = {each.path.rpartition("/")[0] for each in found if each.path in rules}
        theirs = {folder for folder in folders if other_repository(root, f"{folder}/x")}
        return [e for e in found if e.path not in rules or e.path.rpartition("/")[0] not in theirs]

    def _not_ignored(self, found: list[FoundFile], rules: set[str]) -> list[FoundFile]:
        """The files without the rules that git ignores, so that no commit has them.

        A link that is not ignored and leads to what is, is broken for everybody else.
        """
        asked = {each.path for each in found if each.linked is None and each.path in rules}
        links = [each.linked for each in found if each.linked is not None]
        asked.update(path for each in links for path in (each.link, each.leads_to, each.target))
        hidden = git.ignored(self._places.root, sorted(asked - {""}))
        kept = []
        for each in found:
            link = each.linked
            if link is None or each.path not in rules:
                if each.path not in hidden or each.path not in rules:
                    kept.append(each)
            elif link.leads_to in hidden and link.link not in hidden:
                why = f"git ignores {link.leads_to}, so that no commit has it"
                kept.append(
                    found_at(self._places.root, LinkedFile(link.link, link.link, broken=why))
                )
            elif hidden.isdisjoint((link.link, link.target)):
                kept.append(each)
        return kept

    def _missing_sources(self) -> Iterator[Problem]:
        for start in self._settings.starts:
            if not (self._places.root / start).exists():
                message = f"`sources` names {start}, which does not exist: correct the path."
                yield Problem(CONFIG.as_posix(), None, "missing_source", Level.WARNING, message)

    def only(self, starts: Sequence[str]) -> Look:
        """The files that were named, and those in folders that were named."""
        found = [each for start in starts for each in self._below(start)]
        return self._look(found, tuple(starts))

    def _below(self, start: str) -> list[FoundFile]:
        root = self._places.root
        path = root / start
        if path.is_symlink():
            wanted = Wanted(lambda each, name: each == start or is_text(each, name), _any, entered)
            return [found_at(root, e) for e in follow(DiskTree(root), start, start, wanted)]
        if path.is_dir():
            return list(walk(root, start, is_text, _any))
        try:
            facts = path.stat()
        except FileNotFoundError:
            return []
        if not stat.S_ISREG(facts.st_mode):
            return [FoundFile(start, 0, 0, kind=FileKind.OTHER)]
        return [FoundFile(start, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)]

    def _look(self, found: list[FoundFile], scope: tuple[str, ...] | None) -> Look:
        problems: list[Problem] = []
        kept = {}
        for path, at_path in in_path_order(found).items():
            if self._excluded and _matches(self._excluded, path):
                continue
            each = self._or_unread(at_path)
            if each.kind in {FileKind.FILE, FileKind.BROKEN} and path.isascii():
                kept[path] = each
                continue
            problem = _unusable(each)
            if problem is None:
                kept[path] = each
            else:
                problems.append(problem)
        shut = tuple(
            f"{each.path}/" if each.path else "" for each in found if each.kind is FileKind.SHUT
        )
        return Look(kept, problems, scope, shut)

    def _or_unread(self, found: FoundFile) -> FoundFile:
        """A file as it was found, or, where nobody may read it, one that is known to be missing."""
        why = ""
        if found.kind is FileKind.SHUT and found.path:
            starts = (f"{found.path}/".startswith(f"{each}/") for each in self._settings.starts)
            why = SHUT_SOURCES if any(starts) else SHUT_FOLDER
        elif found.kind is FileKind.FILE:
            readable = os.access(f"{self._places.root}/{found.real}", os.R_OK)
            why = "" if readable else NOT_READABLE
        if not why:
            return found
        return found_at(self._places.root, LinkedFile(found.path, found.path, broken=why))

    def problems(self, roots: Sequence[str]) -> list[Problem]:
        """What is wrong with files that cannot become documents; nothing is read for that."""
        return self.everything(roots).problems

    def read(self, look: Look, known: dict[str, str], taken: Taken, progress: Progress) -> Contents:
        """The hash of every file; the bytes of those that differ from what is known are `taken`.

        `known` has the hash of each path as the graph has it now; a file whose size and time
        did not change is not read at all. Of a file that is too large only the start is taken.
        """
        before = load(self._seen)
        contents = Contents(seen=SeenFiles(looked=time.time_ns(), files=dict(before.files)))
        for number, (path, found) in enumerate(look.files.items(), 1):
            digest = None if found.kind is FileKind.BROKEN else before.digest(found)
            if digest is None or known.get(path) != digest:
                digest = self._load(found, known.get(path), contents, taken)
                progress("reading", number, len(look.files))
                if digest is None:
                    contents.seen.files.pop(path, None)
                    if path in known:
                        contents.digests[path] = known[path]
                    continue
                contents.seen.files[path] = (found.size, found.modified, found.changed, digest)
            contents.digests[path] = digest
        for path in contents.seen.files.keys() - look.files.keys():
            if look.covers(path):
                del contents.seen.files[path]
        return contents

    def _load(
        self, found: FoundFile, known: str | None, contents: Contents, taken: Taken
    ) -> str | None:
        if found.linked is not None and found.linked.broken:
            data = broken_link(found.linked.broken)
            digest = sha256(data).hexdigest()
            if digest != known:
                contents.read.add(found.path)
                taken(found.path, digest, data, True)
            return digest
        try:
            with (self._places.root / found.real).open("rb") as file:
                whole = found.size <= self._settings.largest_file
                if not whole:
                    data = file.read(HEAD_OF_LARGE)
                    file.seek(0)
                    digest = file_digest(file, "sha256").hexdigest()
                else:
                    data = file.read()
                    digest = sha256(data).hexdigest()
        except OSError as problem:
            remedy = remedy_of(problem)
            if remedy is not None and not isinstance(problem, PermissionError):
                # It is not this file: without it the rules would silently be others.
                message = f"{found.path} cannot be read ({problem.strerror}): {remedy}."
                raise DiskFailed(message) from problem
            message = _UNREADABLE.format(problem.strerror)
            contents.problems.append(
                Problem(found.path, None, "unreadable_file", Level.ERROR, message)
            )
            return None
        if digest != known:
            contents.read.add(found.path)
            taken(found.path, digest, data, whole)
        return digest


def _not_written(root: Path) -> list[str]:
    """The files below a folder that git follows and a sparse checkout leaves out."""
    if not _is_sparse(root):
        return []
    listed = git.require_success(root, git.run(root, "ls-files", "-z", "-t")).stdout.split(b"\0")
    return [os.fsdecode(each[2:]) for each in listed if each.startswith(b"S ")]


def _is_sparse(root: Path) -> bool:
    """Whether the work tree of a folder has, or once had, the patterns of a sparse checkout."""
    for folder in (root, *root.parents):
        place = folder / ".git"
        if place.is_file():  # a worktree's or a submodule's: it says where its own things lie
            said = place.read_text(encoding="utf-8", errors="surrogateescape")
            place = folder / said.removeprefix("gitdir:").strip()
        if place.is_dir():
            return (place / "info" / "sparse-checkout").exists()
    return False


def _wanted(
    prefixes: tuple[str, ...], code: list[Glob], setup: ToolSetup, *, whole: bool
) -> Callable[[str, str], bool]:
    """Rule files anywhere, every text below a folder that is followed, and the code asked for."""

    def wanted(path: str, name: str) -> bool:
        text = is_text(path, name)
        if text and (whole or path.startswith(prefixes)):
            return True
        if code and _matches(code, path) and grammar_of(path) is not None:
            return True
        return (text or may_be_rule(path, name)) and is_rule_file(path, setup)

    return wanted


def _linked_folder(prefixes: tuple[str, ...], *, whole: bool) -> Callable[[str], bool]:
    """Folders of rules anywhere, and every folder below one that is followed."""
    return lambda path: whole or f"{path}/".startswith(prefixes) or is_rule_folder(path)


def _any(_path: str) -> bool:
    return True


def _walked(start: str) -> bool:
    """Whether a walk of the whole repository comes by this folder."""
    parts = start.split("/")
    return SKIPPED_FOLDERS.isdisjoint(parts) and not set(STATE_FOLDERS) & set(parts)


def _matches(globs: list[Glob], path: str) -> bool:
    return any(glob.matches(path) for glob in globs)


def _unusable(found: FoundFile) -> Problem | None:
    if found.kind is FileKind.SHUT:
        message = "is a folder that cannot be read: check its permissions."
        return Problem(found.path, None, "unreadable_folder", Level.ERROR, message)
    if found.kind is FileKind.OTHER:
        message = "is neither a file nor a folder and was not read: name a file."
        return Problem(found.path, None, "not_a_file", Level.WARNING, message)
    try:
        found.path.encode()
    except UnicodeEncodeError:
        shown = found.path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        message = "has a name that is not UTF-8: rename the file."
        return Problem(shown, None, "bad_path", Level.ERROR, message)
    return None


def include(
    root: Path,
    settings: Settings,
    look: Look,
    beyond: Mapping[str, str],
    sizes: Mapping[str, int],
) -> dict[str, Inclusion]:
    """What the files of a look, and those `beyond` it, include.

    The look gets the files that are read only because of that; `sizes` are tokens by hash that are
    known already.
    """
    files = {e.path: e.real for e in look.files.values() if e.kind is FileKind.FILE}
    files = {**beyond, **files}

    @cache
    def ignored(path: str) -> bool:
        return path not in files and bool(git.ignored(root, [path]))

    def measure(digest: str, data: bytes) -> int:
        return sizes[digest] if digest in sizes else counter(settings.counter)(included_text(data))

    @cache
    def left_out() -> set[str]:
        return set(_not_written(root))

    tree = DiskTree(root)
    source = IncludeSource(tree, ignored, settings.largest_file, lambda path: path in left_out())
    found = inclusions(source, files)
    for path, real in included_files(found, files).items():
        linked = LinkedFile(path, path, real, real) if real != path else None
        look.files[path] = included_at(root, path, linked)
    return measured(found, tree, measure)


def reading_of(found: FoundFile, data: bytes, setup: ToolSetup = NO_SETUP) -> Reading:
    """What a file says where it stands: as a rule, at a link's place, or as part of a rule."""
    if found.linked is not None and found.linked.broken:
        return read_broken_link(found.path, found.linked.broken)
    if found.included:
        reading = read_included(found.path, data)
    else:
        reading = read_document(found.path, data, setup)
    return replace(reading, link=found.target)


# How many bytes of files may wait in memory; beyond that they are read again when written.
KEPT_BYTES = 256_000_000


class Readings:
    """Reads documents once for their names and once more, if memory is short, for their text."""

    def __init__(
        self,
        root: Path,
        settings: Settings,
        objects: Objects,
        setup: ToolSetup,
        files: Mapping[str, FoundFile],
    ) -> None:
        self._root = root
        self._files = files
        self._settings = settings
        self._setup = setup
        self._objects = objects
        self._room = KEPT_BYTES
        self._kept: dict[str, Reading] = {}
        self.facts: dict[str, DocumentFacts] = {}

    def note(self, path: str, digest: str, data: bytes, whole: bool) -> None:
        """Keep a text, and note what decides the document's id and links."""
        if whole:
            self._objects.keep(digest, data)
        reading = self._read(path, data, large=not whole)
        self._room -= len(data)
        if self._room > 0 or not whole:
            self._kept[path] = reading
        self.facts[path] = DocumentFacts(
            path, digest, reading.desired_id, reading.links, large=not whole
        )

    def take(self, work: DocumentWork) -> Reading:
        """The reading of a document that is to be written."""
        kept = self._kept.pop(work.path, None)
        if kept is not None:
            return kept
        try:
            return self._read(work.path, self._objects.read(work.sha256), large=False)
        except NotFound:
            return self._from_file(work)

    def _from_file(self, work: DocumentWork) -> Reading:
        """The reading of a file whose text is not kept, or kept wrongly."""
        with (self._root / self._files[work.path].real).open("rb") as file:
            large = os.fstat(file.fileno()).st_size > self._settings.largest_file
            digest = file_digest(file, "sha256").hexdigest()
            file.seek(0)
            data = file.read(HEAD_OF_LARGE) if large else file.read()
        if digest != work.sha256:
            raise StoreError(f"{work.path} changed while it was read: run `hornbook ingest` again.")
        return self._read(work.path, data, large=large)

    def _read(self, path: str, data: bytes, *, large: bool) -> Reading:
        found = self._files.get(path)
        if found is None:
            reading = read_document(path, data, self._setup)
        else:
            reading = reading_of(found, data, self._setup)
        return too_large(reading, self._settings.largest_file) if large else reading
