"""Reads, searches and edits that stay inside a worktree and the scope of its plan.

What a step loads is read anew for each step that shows it, so that none sees an old file.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Final

import regex

from hornbook.agents.embedded.actions import load_item
from hornbook.agents.embedded.progress import is_test_gate, verified
from hornbook.agents.embedded.step import FileEdit, StepRecord, StepTask
from hornbook.commits.git import inside_repository, require_success, run
from hornbook.disk import write_whole
from hornbook.gates.gate import GateResult
from hornbook.plans.plan import Constraints
from hornbook.plans.text import outside_fences
from hornbook.text.globs import GlobSet, parse, parse_set

CLOSED: Final = frozenset({".git", ".hornbook", ".semspec"})
MOST_BYTES: Final = 2_000_000
MOST_FILES: Final = 20_000
MOST_HITS: Final = 60
MOST_SEARCHED: Final = 50_000_000
SEARCH_SECONDS: Final = 5.0


class EditRefused(Exception):
    """Something that the workbench does not do; the model is told why in its next step."""


@dataclass(frozen=True, slots=True)
class ProposedEdit:
    """A change of one file that is possible but not made; without `before` it is created."""

    path: str
    before: bytes | None
    after: bytes

    @property
    def change(self) -> FileEdit:
        """The change as it is recorded."""
        before = None if self.before is None else sha256(self.before).hexdigest()
        return FileEdit(self.path, before, sha256(self.after).hexdigest())


@dataclass(frozen=True, slots=True)
class ScopedWorktree:
    """A worktree, and how far edits in it may reach. Paths are POSIX and relative to it."""

    root: Path
    scope: Constraints = field(default=Constraints())

    def read(self, path: str) -> str:
        """The text of a file.

        Raises:
            EditRefused: It is not there, lies outside, is a folder, or is not UTF-8 text.
        """
        place = self._place(path)
        if place.is_dir():
            names = ", ".join(sorted({each.name for each in place.iterdir()} - CLOSED)[:40])
            raise EditRefused(f"{path} is a folder; it holds: {names or 'nothing'}.")
        if not place.is_file():
            raise EditRefused(f"{path} is not there: search for it, or create it with edit_file.")
        if place.stat().st_size > MOST_BYTES:
            raise EditRefused(f"{path} has more than {MOST_BYTES} bytes: search in it instead.")
        try:
            return _decoded(path, place.read_bytes())
        except OSError as problem:
            raise EditRefused(f"{path} cannot be read: {problem.strerror}.") from None

    def exists(self, path: str) -> bool:
        """Whether the path is a file inside the worktree."""
        try:
            return self._place(path).is_file()
        except EditRefused:
            return False

    def files(self) -> Iterator[str]:
        """Every file of the worktree that git does not ignore, in order; links are not followed."""
        seen = 0
        for path in _listed(self.root):
            place = self.root / path
            if CLOSED & set(PurePosixPath(path).parts) or place.is_symlink() or not place.is_file():
                continue
            seen += 1
            if seen > MOST_FILES:
                return
            yield path

    def search(self, pattern: str, paths: str | None = None) -> list[str]:
        """The lines in which a match starts, as `path:line: text`, the first sixty of them.

        Raises:
            EditRefused: The pattern is no regular expression, takes too long, or the glob is wrong.
        """
        try:
            wanted = regex.compile(pattern, regex.MULTILINE)
        except regex.error as problem:
            raise EditRefused(f"{pattern!r} is no regular expression: {problem}.") from None
        hits: list[str] = []
        searched = 0
        for path in self._chosen(paths):
            try:
                text = self.read(path)
            except EditRefused:
                continue  # a binary or a huge file has no lines to show
            searched += len(text)
            if searched > MOST_SEARCHED:
                return [*hits, f"# ... {path} and what follows was not searched: give paths ..."]
            hits += (f"{path}:{line}" for line in _matching(wanted, path, text))
            if len(hits) > MOST_HITS:
                return [*hits[:MOST_HITS], "# ... more lines fit: narrow the search ..."]
        return hits

    def edit(self, path: str, given: dict[str, str]) -> ProposedEdit:
        """The change that the parameters ask for, checked but not made.

        Raises:
            EditRefused: It reaches outside, is not in scope, fits no or several places, or is none.
        """
        name = self._writable(path)
        place = self.root / name
        before = place.read_bytes() if place.is_file() else None
        if "content" in given and not {"search", "replace"} & given.keys():
            after = given["content"].encode()
        elif given.keys() >= {"search", "replace"} and "content" not in given:
            if before is None:
                raise EditRefused(f"{path} is not there: create it with `content`.")
            after = _replaced(path, _decoded(path, before), given["search"], given["replace"])
        else:
            raise EditRefused("give `search` and `replace`, or `content` alone.")
        if after == before:
            raise EditRefused(f"the edit leaves {path} as it is.")
        return ProposedEdit(name, before, after)

    def apply(self, edit: ProposedEdit) -> None:
        """Make the change, all at once; a file keeps its mode.

        Raises:
            EditRefused: The file cannot be written.
        """
        try:
            self.put(edit.path, edit.after)
        except OSError as problem:
            raise EditRefused(f"{edit.path} cannot be written: {problem.strerror}.") from None

    def put(self, path: str, data: bytes | None) -> None:
        """Give a file these bytes, or remove it.

        Raises:
            EditRefused: The path lies outside the worktree or its scope.
        """
        place = self.root / self._writable(path)
        if data is None:
            place.unlink(missing_ok=True)
            return
        write_whole(place, data, place.stat().st_mode & 0o7777 if place.exists() else 0o644)

    def _place(self, path: str) -> Path:
        """Where a path really leads, links followed.

        Raises:
            EditRefused: Outside the worktree, or into a folder that is closed.
        """
        pure = PurePosixPath(path)
        if not path.strip() or pure.is_absolute() or ".." in pure.parts or "\0" in path:
            raise EditRefused(
                f"{path!r} is no path below the root: write it relative, without `..`."
            )
        root = self.root.resolve()
        try:
            real = (root / pure).resolve()
            real.is_file()
        except (OSError, RuntimeError) as problem:
            raise EditRefused(f"{path[:80]} is no path that can be opened: {problem}.") from None
        if not real.is_relative_to(root):
            raise EditRefused(f"{path} leads outside the worktree.")
        if CLOSED & {*pure.parts, *real.relative_to(root).parts}:
            raise EditRefused(f"{path} is closed to agents.")
        return real

    def _writable(self, path: str) -> str:
        """The real path of a file that may be edited, relative to the root."""
        real = self._place(path).relative_to(self.root.resolve()).as_posix()
        if (self.root / real).is_dir():
            raise EditRefused(f"{path} is a folder.")
        for name in {PurePosixPath(path).as_posix(), real}:
            self._in_scope(name)
        return real

    def _in_scope(self, path: str) -> None:
        for word, patterns in (
            ("DO NOT TOUCH", self.scope.do_not_touch),
            ("OUT", self.scope.outside),
        ):
            hit = next((each for each in patterns if parse(each).matches(path)), None)
            if hit is not None:
                raise EditRefused(f"{path} is out of scope: the plan says {word}: {hit}.")
        if self.scope.inside and parse_set(self.scope.inside).match(path) is None:
            said = ", ".join(self.scope.inside)
            raise EditRefused(f"{path} is out of scope: the plan says IN: {said}.")

    def _chosen(self, paths: str | None) -> Iterator[str]:
        if paths is None:
            yield from self.files()
            return
        wanted: GlobSet = parse_set([paths])
        yield from (path for path in self.files() if wanted.match(path))


def _listed(root: Path) -> list[str]:
    """The paths of all files, without those that git ignores where there is a repository."""
    if inside_repository(root):
        told = require_success(root, run(root, "ls-files", "-z", "-c", "-o", "--exclude-standard"))
        return sorted({name for name in _texts(told.stdout.split(b"\0")) if name})
    found: list[bytes] = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in CLOSED]
        found += (os.fsencode(Path(folder, name).relative_to(root)) for name in names)
    return sorted(_texts(found))


def _texts(names: Iterable[bytes]) -> Iterator[str]:
    """The names that are text; no answer of a model can hold another."""
    for name in names:
        with suppress(UnicodeDecodeError):
            yield name.decode()


def _matching(wanted: "regex.Pattern[str]", path: str, text: str) -> list[str]:
    """The lines in which a match starts, each once, as many as are shown at most."""
    lines = text.split("\n")
    numbers: dict[int, None] = {}
    line, counted = 1, 0
    try:
        for found in wanted.finditer(text, timeout=SEARCH_SECONDS):
            line += text.count("\n", counted, found.start())
            counted = found.start()
            numbers[line] = None
            if len(numbers) > MOST_HITS:
                break
    except TimeoutError:
        raise EditRefused(
            f"{wanted.pattern!r} takes too long in {path}: make it simpler."
        ) from None
    return [f"{number}: {lines[number - 1].strip()[:200]}" for number in numbers]


def _decoded(path: str, data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise EditRefused(f"{path} is not UTF-8 text.") from None
    if "\0" in text:
        raise EditRefused(f"{path} is binary.")
    return text


def _replaced(path: str, text: str, search: str, replacement: str) -> bytes:
    """The text with the one place replaced; line ends are those of the file."""
    if not search:
        raise EditRefused("`search` is empty: give the text that stands there.")
    # YAML ends a block with a line end that the last line of a file may not have
    added = "\n" if search.endswith("\n") and not text.endswith("\n") else ""
    body = text + added
    for end in ("\n", "\r\n"):
        old, new = search.replace("\n", end), replacement.replace("\n", end)
        times = body.count(old)
        if times == 1:
            return body.replace(old, new).removesuffix(added).encode()
        if times > 1:
            lines = [str(number) for number in _lines_of(body, old)][:10]
            raise EditRefused(
                f"`search` stands {times} times in {path}, in lines {', '.join(lines)}: "
                "give more of its surroundings."
            )
    raise EditRefused(f"`search` is not in {path}: copy the text exactly, without line numbers.")


def _lines_of(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield text.count("\n", 0, at) + 1
        at = text.find(part, at + 1)


Related = Callable[[Sequence[str]], Sequence[str]]

MOST_RELATED: Final = 5
MOST_LOG_BYTES: Final = 200_000
_HEADING: Final = re.compile(r"(#{1,6}) +(.+?) *#*")
_IMPORTS: Final = re.compile(
    r"^\s*(?:import|from|use|mod|require|#include|export .* from|(?:const|let|var) .*require)\b.*$",
    re.MULTILINE,
)
_ID: Final = re.compile(r"[A-Za-z]+[-.]?\d[\w.-]*")
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class LoadedFiles:
    """Where loaded items come from; `related` tells the neighbours of files, best first."""

    worktree: ScopedWorktree
    task: StepTask
    related: Related | None = None

    def content(self, record: StepRecord, records: Sequence[StepRecord]) -> str:
        """What the item that a record loaded shows now.

        Raises:
            EditRefused: It cannot be shown; the message says why.
            Misread: There is no such item.
        """
        given = record.given
        if record.action == "read_file":
            return self._lines(given)
        if record.action == "search":
            hits = self.worktree.search(given["pattern"], given.get("paths"))
            return "\n".join(hits) or "nothing fits"
        kind, argument = load_item(given["item"])
        if kind == "full_file":
            return numbered(self.worktree.read(argument))
        if kind == "spec_section":
            return self._specified(argument)
        if kind == "related_files":
            return self._related()
        return _outputs(records, tests_only=kind == "test_output")

    def _specified(self, wanted: str) -> str:
        """A part of the specification: what the context calls so, or a section by its heading."""
        parts = {name.lower(): text for name, text in self.task.named_parts.items()}
        named = parts.get(wanted.lower())
        return _section(self.task, wanted) if named is None else named

    def _lines(self, given: dict[str, str]) -> str:
        text = self.worktree.read(given["path"])
        lines = text.split("\n")
        start, end = int(given.get("start", 1)), int(given.get("end", len(lines)))
        if start > min(end, len(lines)):
            raise EditRefused(
                f"{given['path']} has {len(lines)} lines, none from {start} to {end}."
            )
        return numbered("\n".join(lines[start - 1 : end]), start)

    def _related(self) -> str:
        known = self.related(self.task.files) if self.related is not None else ()
        here = [path for path in known if self.worktree.exists(path)]
        paths = (here or related_by_imports(self.worktree, self.task.files))[:MOST_RELATED]
        if not paths:
            raise EditRefused("no file imports the task's files or is imported by them.")
        return "\n".join(f"== {path} ==\n{numbered(self.worktree.read(path))}" for path in paths)


def numbered(text: str, start: int = 1) -> str:
    """The text with a number before each line."""
    lines = text.removesuffix("\n").split("\n")
    return "\n".join(f"{number:>4}  {line}" for number, line in enumerate(lines, start))


def related_by_imports(worktree: ScopedWorktree, files: Sequence[str]) -> list[str]:
    """The files that import one of `files`, or are imported by one, as far as their names tell."""
    stems = {PurePosixPath(path).stem for path in files}
    named = {word for path in files for word in _imported_by(worktree, path)}
    return [
        path
        for path in worktree.files()
        if path not in files
        and (PurePosixPath(path).stem in named or stems & _imported_by(worktree, path))
    ]


def whole_output(gate: GateResult) -> str:
    """All that a gate said: its log where that is still there, else what was kept of it."""
    log = Path(gate.log) if gate.log else None
    if log is None or not log.is_file():
        return gate.output or gate.message
    with log.open("rb") as file:
        return file.read(MOST_LOG_BYTES).decode("utf-8", "replace")


def last_error(records: Sequence[StepRecord]) -> StepRecord | None:
    """The newest step that ended with an error."""
    return next((record for record in reversed(records) if record.error), None)


def _imported_by(worktree: ScopedWorktree, path: str) -> set[str]:
    """The words on the import lines of a file; one that is missing or binary imports nothing."""
    try:
        text = worktree.read(path)
    except EditRefused:
        return set()
    return {word for line in _IMPORTS.findall(text) for word in _WORD.findall(line)}


def _heading_names(words: str) -> set[str]:
    return {words, _slug(words), words.split(maxsplit=1)[0].rstrip(":.")}


def _section(task: StepTask, wanted: str) -> str:
    """The section whose heading is, or whose id starts, `wanted`; else the lines with that id.

    Code blocks hold files, whose lines say nothing about the specification.
    """
    lines = task.specification.split("\n")
    ours = [number for number, outside in enumerate(outside_fences(lines)) if outside]
    heads = [
        (number, len(found[1]), found[2].lower())
        for number in ours
        if (found := _HEADING.fullmatch(lines[number]))
    ]
    for place, (start, level, words) in enumerate(heads):
        if wanted.lower() in _heading_names(words):
            later = heads[place + 1 :]
            end = next((number for number, depth, _ in later if depth <= level), len(lines))
            return "\n".join(lines[start:end]).strip()
    named = re.compile(rf"(?<![\w-]){re.escape(wanted)}(?![\w-])", re.IGNORECASE)
    naming = [lines[number] for number in ours if named.search(lines[number])]
    if naming and _ID.fullmatch(wanted):
        return "\n".join(naming)
    names = ", ".join([*task.named_parts, *(_slug(words) for *_, words in heads)][:20])
    raise EditRefused(f"no section {wanted!r} in the specification; there are: {names or 'none'}.")


def _slug(heading: str) -> str:
    return "-".join(_WORD.findall(heading))


def _outputs(records: Sequence[StepRecord], *, tests_only: bool) -> str:
    now = verified(records)
    shown = filter(is_test_gate, now.gates) if tests_only else now.failing
    parts = [f"== {gate.name}: {gate.status} ==\n{whole_output(gate)}" for gate in shown]
    failed = None if tests_only else last_error(records)
    if failed is not None:
        parts.insert(0, f"== step {failed.step}: {failed.action} ==\n{failed.error}")
    if not parts:
        raise EditRefused("no gate has run tests." if tests_only else "there is no error.")
    return "\n".join(parts)
