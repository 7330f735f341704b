"""One archive of all that Hornbook keeps of a repository, and a folder made from one.

A backup is taken while others work. It holds the lock of the one who ingests and the lock on the
files of plans, so that index, journal, texts and exports are of one moment; databases are copied by
SQLite itself. An event is written after what it cites and before what is projected from it. So the
events are copied first, and the rest after them: nothing that they cite can be missing, and what is
projected from them is made anew when the archive is restored.

```
state/…             `.hornbook/`, without locks, worktrees and secrets of the service
sources/…           the documents of the graph, as they were ingested
git/bundle          every commit and name of git; git/head is what is checked out
database/…          rows of a database that several machines share, one JSON object a line
manifest.json       the sha256 of each of these, which `restore` holds them against, and where the
                    symbolic links below `.hornbook/` lead
```
"""

import gzip
import json
import os
import re
import shutil
import sqlite3
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import IO

from hornbook.commits import git
from hornbook.commits.writer import write
from hornbook.disk import FileFault, locked, now, temporary_folder
from hornbook.errors import EventLogError, UsageError
from hornbook.graph.generations import Generations
from hornbook.graph.ingest.history import INCOMING, Objects
from hornbook.graph.repository import generation_store
from hornbook.graph.store import GenerationStore
from hornbook.loop.verification import StateCheck, Verification, verify_state
from hornbook.plans.checkpoint import HOLDERS
from hornbook.plans.databases.shared_rows import rows_of_repository
from hornbook.plans.workspace_log import open_log, repository_of
from hornbook.rules.catalog import Entry
from hornbook.rules.ids import slug
from hornbook.settings.load import load
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings
from hornbook.version import __version__

FORMAT = 1
MANIFEST = "manifest.json"
_LEFT_OUT = frozenset(
    {"worktrees", "active.json", "spool", "store", HOLDERS.as_posix(), f"objects/{INCOMING}"}
)
_DRAFT = re.compile(r"\..+\.\d+(-\d+)?\.draft")
_DATABASES = ("events.db", "engine.db")
_ROWS = "database/hornbook_events.jsonl"
_MISFORMED = (ValueError, KeyError, TypeError, sqlite3.Error)


@dataclass(frozen=True, slots=True)
class BackupMade:
    """An archive that was written: how many files are in it, and how many bytes it has."""

    file: str
    files: int
    size: int


@dataclass(frozen=True, slots=True)
class Restored:
    """A folder that was made from an archive, and what `verify` says of it."""

    folder: str
    made_at: str
    files: int
    verification: Verification


class _Archive:
    """Writes files into a tar, and what their hashes are."""

    def __init__(self, file: IO[bytes]) -> None:
        self._tar = tarfile.open(fileobj=file, mode="w|")  # noqa: SIM115  # `finish` closes it
        self.hashes: dict[str, str] = {}
        self.links: dict[str, str] = {}

    def add(self, name: str, data: bytes, mode: int = 0o644) -> None:
        import io  # noqa: PLC0415  # start-up: only a backup needs it

        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = len(data), mode
        self._tar.addfile(entry, io.BytesIO(data))
        self.hashes[name] = sha256(data).hexdigest()

    def finish(self, facts: Mapping[str, object]) -> None:
        told = {**facts, "files": self.hashes, "links": self.links}
        self.add(MANIFEST, json.dumps(told, indent=1, sort_keys=True).encode())
        self._tar.close()


def backup(places: Places, settings: Settings, target: Path) -> BackupMade:
    """Write an archive of everything, consistent whoever works meanwhile; only its owner reads it.

    Raises:
        UsageError: The target is there already.
    """
    if target.exists():
        raise UsageError(f"{target} is there already: name a file that is not.")
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}.draft")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1, filename="") as packed:
                archive = _Archive(packed)  # type: ignore[arg-type]  # it writes bytes
                _fill(archive, places, settings)
                facts = {"format": FORMAT, "hornbook": __version__, "at": now()}
                archive.finish(facts)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return BackupMade(str(target), len(archive.hashes) - 1, target.stat().st_size)


def _fill(archive: _Archive, places: Places, settings: Settings) -> None:
    generations = generation_store(places, settings)
    with ExitStack() as held, temporary_folder("backup") as scratch:
        if places.store.is_dir():
            held.enter_context(locked(places.store / "lock"))
        if _has_plans(places, settings):
            log = held.enter_context(closing(open_log(places, settings, now)))
            for plan in log.plans():
                log.sync(plan)
            held.enter_context(log.alone())
        _add_database(archive, places, scratch, _DATABASES[0])
        if settings.engine.database:
            repository = repository_of(places, settings)
            for table, lines in rows_of_repository(settings.engine.database, repository):
                archive.add(f"database/{table}.jsonl", lines)
        _add_state(archive, places, settings)
        _add_index(archive, places, generations)
        _add_database(archive, places, scratch, _DATABASES[1])
        if git.inside_repository(places.root):
            _add_git(archive, places.root, scratch)


def _has_plans(places: Places, settings: Settings) -> bool:
    return bool(settings.engine.database) or (places.state / _DATABASES[0]).exists()


def _read(path: Path) -> tuple[bytes, int]:
    return path.read_bytes(), path.stat().st_mode & 0o777


def _add_state(archive: _Archive, places: Places, settings: Settings) -> None:
    for path in _state_files(places, settings):
        below = path.relative_to(places.state).as_posix()
        if path.is_symlink():
            archive.links[below] = str(path.readlink())
        else:
            archive.add(f"state/{below}", *_read(path))


def _is_secret(path: Path, secrets: Iterable[Path]) -> bool:
    """Whether a file is one of these, or lies beside it as a draft or with when it was used."""
    return any(
        path.parent == each.parent
        and (path.name == each.name or path.name.startswith(f"{each.name}."))
        for each in secrets
    )


def _state_files(places: Places, settings: Settings) -> Iterator[Path]:
    """Every file that is not made anew by itself, not of this machine alone, and no secret."""
    tokens = Path(os.path.normpath(places.root / settings.serve.tokens))
    secrets = (places.secret, places.state / "tokens", tokens)
    for above, folders, names in os.walk(places.state):
        here = Path(above)
        below = here.relative_to(places.state)
        folders[:] = sorted(name for name in folders if (below / name).as_posix() not in _LEFT_OUT)
        links = [name for name in folders if (here / name).is_symlink()]
        for name in sorted([*names, *links]):
            path = here / name
            passing = (
                (below / name).as_posix() in _LEFT_OUT
                or _DRAFT.fullmatch(name)
                or (here == places.state and _is_database(name))
                or _is_secret(path, secrets)
            )
            if not passing and (path.is_symlink() or path.is_file()):
                yield path


def _is_database(name: str) -> bool:
    return name.startswith(_DATABASES) and not name.endswith("-written")


def _add_database(archive: _Archive, places: Places, scratch: Path, name: str) -> None:
    """A copy that SQLite makes of its file, whoever writes there."""
    source = places.state / name
    if not source.exists():
        return
    with (
        closing(sqlite3.connect(f"{source.as_uri()}?mode=ro", uri=True)) as here,
        closing(sqlite3.connect(scratch / name)) as there,
    ):
        here.backup(there)
        there.execute("PRAGMA journal_mode=DELETE")
    archive.add(f"state/{name}", (scratch / name).read_bytes())


def _add_index(archive: _Archive, places: Places, generations: GenerationStore) -> None:
    """The published generation, and the documents as it has them; a remote store is not archived.

    What lies there is made anew from the files, the history and the documents by the next ingest.
    """
    if not isinstance(generations, Generations):
        catalog = generations.last_catalog()
        _add_sources(archive, places, catalog.entries if catalog is not None else ())
        return
    published = generations.published() if places.store.is_dir() else None
    if published is None:
        return
    archive.add("state/store/CURRENT", published.encode())
    folder = generations.folder_of(published)
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        if path.name != "LOCK":
            below = path.relative_to(generations.folder).as_posix()
            archive.add(f"state/store/{below}", path.read_bytes())
    if places.seen.exists():
        archive.add("state/store/seen", places.seen.read_bytes())
    generation = generations.open()
    if generation is not None:
        with closing(generation):
            _add_sources(archive, places, generation.catalog.entries)


def _add_sources(archive: _Archive, places: Places, entries: Iterable[Entry]) -> None:
    """The documents of a graph; what a link leads to is there itself, or is in git."""
    objects = Objects(places.objects)
    for entry in entries:
        file, kept = places.root / entry.path, objects.path(entry.sha256)
        if entry.link or entry.path.startswith(".hornbook/"):
            continue
        if kept.is_file():
            mode = file.stat().st_mode & 0o777 if file.exists() else 0o644
            archive.add(f"sources/{entry.path}", kept.read_bytes(), mode)
        elif file.is_file():
            archive.add(f"sources/{entry.path}", *_read(file))


def _add_git(archive: _Archive, root: Path, scratch: Path) -> None:
    """Every commit that has a name, the attempts' too."""
    bundle = scratch / "bundle"
    if git.run(root, "rev-parse", "-q", "--verify", "HEAD").returncode:
        return  # nothing was ever committed
    write(root, "bundle", "create", "-q", str(bundle), "--all", "HEAD")
    archive.add("git/bundle", bundle.read_bytes())
    named = git.run(root, "symbolic-ref", "-q", "HEAD").stdout
    archive.add("git/head", named or git.run(root, "rev-parse", "HEAD").stdout)


def restore(source: Path, into: Path) -> Restored:
    """Make a folder from an archive, which must be whole; the folder must be empty or not be there.

    Raises:
        UsageError: The archive is damaged or none of ours, or the folder holds something.
    """
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise UsageError(f"{into} is not empty: name a folder that is, or that is not there.")
    into = into.resolve()
    nearest = next(each for each in into.parents if each.is_dir())  # on the disk of the folder
    with temporary_folder("restore", nearest) as scratch:
        facts = _unpack(source, scratch)
        into.mkdir(parents=True, exist_ok=True)
        _restore_git(scratch, into)
        shutil.rmtree(into / ".hornbook", ignore_errors=True)
        (scratch / "state").mkdir(exist_ok=True)
        (scratch / "state").replace(into / ".hornbook")
        refused = _restore_links(facts["links"], into)
        _restore_sources(scratch / "sources", into)
        _restore_exports(_rows_by_plan(scratch / _ROWS), into)
    places = Places(into)
    places.prepare()
    settings = load(into)
    _level_exports(places, settings)
    StateCheck(places, settings).project_again()
    _level_engine(places, settings)
    found = verify_state(places, settings)
    found = replace(found, problems=(*refused, *found.problems))
    return Restored(str(into), str(facts["at"]), len(facts["files"]), found)


def _unpack(source: Path, target: Path) -> "dict[str, dict[str, str]]":
    """The facts of an archive, whose files now lie in a folder and are those that it names."""
    try:
        with tarfile.open(source, "r:gz") as tar:
            tar.extractall(target, filter="data")
        facts = json.loads((target / MANIFEST).read_bytes())
        files: dict[str, str] = facts["files"]
        links: dict[str, str] = facts["links"]
        form = facts["format"]
        plans = {*_rows_by_plan(target / _ROWS), *_plans_in_table(target / "state" / _DATABASES[0])}
    except FileNotFoundError as problem:
        raise UsageError(f"{source}: {problem.strerror}: name a backup of Hornbook.") from problem
    except (OSError, EOFError, tarfile.TarError, *_MISFORMED) as problem:
        raise UsageError(f"{source} is damaged, or no backup of Hornbook: {problem}.") from problem
    if form != FORMAT:
        raise UsageError(f"{source} has the form {form}, this Hornbook reads {FORMAT}: update it.")
    wrong = [name for name in sorted(links) if not _is_below(name)]
    wrong += [
        name
        for name, digest in sorted(files.items())
        if not (target / name).is_file()
        or sha256((target / name).read_bytes()).hexdigest() != digest
    ]
    strange = sorted(plan for plan in plans if slug(plan) != plan)
    if strange:
        raise UsageError(f"{source} is damaged: {strange[0]!r} is not the slug of a plan.")
    if wrong:
        raise UsageError(f"{source} is damaged: {wrong[0]} is not what was backed up.")
    found: dict[str, dict[str, str]] = facts
    return found


def _is_below(name: str) -> bool:
    """Whether a name can only be of something below the folder that it is looked up in."""
    parts = PurePosixPath(name).parts
    return bool(parts) and not name.startswith("/") and ".." not in parts and "\0" not in name


def _restore_git(scratch: Path, into: Path) -> None:
    bundle = scratch / "git" / "bundle"
    if not bundle.is_file():
        return
    head = (scratch / "git" / "head").read_text("ascii").strip()
    write(into, "init", "-q")
    write(into, "fetch", "-q", "--update-head-ok", str(bundle), "+refs/*:refs/*", "HEAD")
    if head.startswith("refs/"):
        write(into, "symbolic-ref", "HEAD", head)
    else:
        write(into, "update-ref", "--no-deref", "HEAD", head)
    write(into, "reset", "-q", "--hard")


def _restore_links(links: Mapping[str, str], into: Path) -> list[FileFault]:
    """Make the links below `.hornbook`, and tell of those that are not made: they lead outside."""
    state = into / ".hornbook"
    paths = {name: state / name for name in sorted(links)}
    refused = {name for name, path in paths.items() if path.parent.resolve() != path.parent}
    for name in paths.keys() - refused:
        paths[name].parent.mkdir(parents=True, exist_ok=True)
        paths[name].symlink_to(links[name])
    # One link may lead over another: where each leads is known when all are there.
    outside = {
        name
        for name in paths.keys() - refused
        if not Path(os.path.realpath(paths[name])).is_relative_to(into)
    }
    for name in outside:
        paths[name].unlink()
    remedy = "make it yourself, if you trust what it leads to."
    return [
        FileFault(
            "link_leads_outside",
            f".hornbook/{name}",
            f"is a link to {links[name]}, outside of the folder, and was not made",
            remedy,
        )
        for name in sorted(refused | outside)
    ]


def _restore_sources(folder: Path, into: Path) -> None:
    """Write documents that the commit has not, or not so; never through a link."""
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        name = PurePosixPath(path.relative_to(folder).as_posix())
        above = [into / each for each in (name, *name.parents[:-1])]
        if any(each.is_symlink() for each in above):
            continue
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_file() or target.read_bytes() != path.read_bytes():
            shutil.copy2(path, target)


def _rows_by_plan(rows: Path) -> dict[str, list[tuple[int, str]]]:
    """The numbers and lines of each plan's events, as a shared database had them."""
    lines: dict[str, list[tuple[int, str]]] = {}
    for row in map(json.loads, rows.read_text("utf-8").splitlines() if rows.is_file() else ()):
        lines.setdefault(row["plan"], []).append((row["seq"], row["line"]))
    return lines


def _plans_in_table(path: Path) -> list[str]:
    if not path.is_file():
        return []
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return [plan for (plan,) in connection.execute("SELECT DISTINCT plan FROM hornbook_events")]


def _restore_exports(lines: Mapping[str, Iterable[tuple[int, str]]], into: Path) -> None:
    """Write the exports of plans: every database is filled from those."""
    for plan, found in lines.items():
        export = into / ".hornbook" / "plans" / plan / "events.jsonl"
        export.parent.mkdir(parents=True, exist_ok=True)
        export.write_text("".join(line for _, line in sorted(found)), encoding="utf-8")


def _level_exports(places: Places, settings: Settings) -> None:
    """Have exports and table say the same: events may have come while they were copied."""
    if settings.engine.database or not (places.state / _DATABASES[0]).exists():
        return
    with closing(open_log(places, settings, now)) as log:
        for plan in log.plans():
            with suppress(EventLogError):  # they contradict each other: `verify` tells it
                log.sync(plan)


def _level_engine(places: Places, settings: Settings) -> None:
    """Have the engine know the ends that events tell; it was copied a moment later than they."""
    path = places.state / _DATABASES[1]
    ended = StateCheck(places, settings).ended_runs()
    if not path.exists() or settings.engine.database:
        return
    with closing(sqlite3.connect(path)) as connection, connection:
        for run in ended:
            said = "UPDATE hornbook_runs SET phase = 'ended' WHERE run = ?"
            connection.execute(said, (run,))
