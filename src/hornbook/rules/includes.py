"""Which files a rule file includes, as the tool that reads it would: in order, and recursively.

An include is what a tool's own documentation calls one. Claude Code, Gemini, Qwen and goose read
`@path` anywhere outside code, relative to the file that says it, and go on in what they include;
Amp does so in AGENTS.md, but its manual does not say that it goes on; a list of `globs` in the
metadata of what it includes says for which files it is read. Cursor reads `@path` and Kiro
`#[[file:path]]` in the rule itself, from the root of the repository. A word behind `@` for which
there is no file is prose; what looks like a path and leads to no file is an include that is broken;
the home of whoever works and absolute paths are nobody else's.

Included texts are read from the same tree as the rules, so that a commit and its work tree agree.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import sha256

from hornbook.errors import BadGlob
from hornbook.rules.chunks.outline import outline
from hornbook.rules.discover import SKIPPED_FOLDERS, TEXT_ENDINGS
from hornbook.rules.document import Include, Problem, Unread
from hornbook.rules.document_reader import including_tool
from hornbook.rules.links import LeadsNowhere, PathKind, Tree, resolve
from hornbook.rules.metadata.frontmatter import split
from hornbook.rules.units import highest, severity_of
from hornbook.text.globs import parse_set
from hornbook.vocabulary.terms import Level, Severity

_AT = re.compile(r"(?:^|(?<=\s))@(?P<path>(?:\\ |[^\s\\])+)", re.MULTILINE)
_FILE = re.compile(r"#\[\[file:(?P<path>[^\]\n]+)\]\]")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)((?:(?!\n\s*\n).)+?)(?<!`)\1(?!`)", re.DOTALL)
_WILDCARD = re.compile(r"[*?\[{]")
_BEHIND_PATTERN = ".,;:!?)>'\""
_BEHIND = ".,;:!?)]}>'\"*_"
_HEADING_OR_BULLET = re.compile(r"^\s*(?:#{1,6}\s.*|[-*+]|\d{1,9}[.)]|=+|-{2,})?\s*$")
_TEXT_LOOKED_AT = 8000
_PERSONAL_NAMES = frozenset({"CLAUDE.local.md"})


class Base(StrEnum):
    """What an included path is relative to."""

    FILE = "file"
    ROOT = "root"


@dataclass(frozen=True, slots=True)
class IncludeSyntax:
    """How a tool writes includes, where it looks for them, and how deep it goes.

    With `globs` one include may name many files by a pattern, and an included file says itself
    for which files it is read. With `prose` only texts count: what else a conversation is given
    along (code, settings) says nothing that a change can be judged by.
    """

    tool: str
    pattern: re.Pattern[str]
    bases: tuple[Base, ...]
    depth: int
    globs: bool = False
    prose: bool = False


SYNTAX = {
    each.tool: each
    for each in (
        IncludeSyntax("claude", _AT, (Base.FILE,), 5),
        IncludeSyntax("codebuddy", _AT, (Base.FILE,), 5),
        IncludeSyntax("gemini", _AT, (Base.FILE,), 5),
        IncludeSyntax("qwen", _AT, (Base.FILE,), 5),
        IncludeSyntax("goose", _AT, (Base.FILE,), 3),
        IncludeSyntax("agents", _AT, (Base.FILE,), 1, globs=True, prose=True),
        IncludeSyntax("cursor", _AT, (Base.ROOT, Base.FILE), 1),
        IncludeSyntax("kiro", _FILE, (Base.ROOT, Base.FILE), 1),
    )
}
"""The tools that include, by the names of their readers."""


@dataclass(frozen=True, slots=True)
class Inclusion:
    """All that one rule file includes: files and what could not be read, in order."""

    includes: tuple[Include, ...] = ()
    problems: tuple[Problem, ...] = ()
    nothing_else: bool = False
    """Whether the file holds nothing but includes, headings and comments."""
    links: Mapping[str, str] = field(default_factory=dict)
    """The files by the paths at which they were named, each with the path without links."""
    severity: Severity | None = None
    """What the gravest word of all that is included stands for; None until it is measured."""


@dataclass(frozen=True, slots=True)
class _Reference:
    path: str
    line: int
    written: str


@dataclass(frozen=True, slots=True)
class IncludeSource:
    """Where included texts come from.

    `ignored` says of a path whether git leaves it out, so that no commit has it; a file over
    `largest` bytes is not read. `not_written` says whether a sparse checkout leaves a file out.
    """

    tree: Tree
    ignored: Callable[[str], bool]
    largest: int
    not_written: Callable[[str], bool] = lambda _path: False


def inclusions(source: IncludeSource, files: Mapping[str, str]) -> dict[str, Inclusion]:
    """What each rule file includes, by its path; `files` has where the text of each path lies."""
    found: dict[str, Inclusion] = {}
    for path, real in files.items():
        syntax = SYNTAX.get(including_tool(path))
        if syntax is not None:
            inclusion = _Walk(source, syntax, path).inclusion(real)
            if inclusion.includes or inclusion.problems:
                found[path] = inclusion
    return found


def measured(
    found: Mapping[str, Inclusion], tree: Tree, measure: Callable[[str, bytes], int]
) -> dict[str, Inclusion]:
    """The same with the tokens of each file, by the hash and the bytes of its text, and how grave
    it is.
    """

    def whole(inclusion: Inclusion) -> Inclusion:
        texts = {path: tree.read(real) for path, real in inclusion.links.items()}
        sized = (
            each if each.unread else replace(each, tokens=measure(each.sha256, texts[each.path]))
            for each in inclusion.includes
        )
        grave = highest(severity_of(_decoded(each)) for each in texts.values()) if texts else None
        return replace(inclusion, includes=tuple(sized), severity=grave)

    return {path: whole(each) for path, each in found.items()}


def included_files(found: Mapping[str, Inclusion], files: Mapping[str, str]) -> dict[str, str]:
    """The included files that are no documents already: path, and where the text lies."""
    named = {path: real for each in found.values() for path, real in each.links.items()}
    return {path: named[path] for path in sorted(named) if path not in files}


class _Walk:
    """The includes of one rule file in the making; each file once, depth first."""

    def __init__(self, source: IncludeSource, syntax: IncludeSyntax, path: str) -> None:
        self._source = source
        self._tree = source.tree
        self._syntax = syntax
        self._path = path
        self._found: list[Include] = []
        self._problems: list[Problem] = []
        self._links: dict[str, str] = {}
        self._seen: set[str] = set()

    def inclusion(self, real: str) -> Inclusion:
        self._seen.add(real)
        text = _prose(_decoded(self._tree.read(real)))
        included = self._follow(self._path, real, text, 1)
        rest = _without(text, included)
        alone = bool(included) and all(map(_HEADING_OR_BULLET.match, rest.split("\n")))
        return Inclusion(tuple(self._found), tuple(self._problems), alone, self._links)

    def _follow(self, path: str, real: str, text: str, depth: int) -> set[str]:
        """Take up what a text includes; the references as written that are includes."""
        taken: set[str] = set()
        for reference in _references(self._syntax.pattern, text):
            if self._take(reference, path, real, depth):
                taken.add(reference.written)
        return taken

    def _take(self, reference: _Reference, path: str, real: str, depth: int) -> bool:
        if _is_personal(reference.path):
            self._note(reference, path, reference.path, Unread.PERSONAL)
            return True
        by_pattern = self._syntax.globs and _WILDCARD.search(reference.path) is not None
        take = self._take_all if by_pattern else self._take_file
        return take(reference, path, real, depth)

    def _take_file(self, reference: _Reference, path: str, real: str, depth: int) -> bool:
        """Include the file that is named; what must have meant one and leads to none is broken."""
        why = ""
        for candidate in self._candidates(reference.path, path, real):
            found = resolve(self._tree, candidate)
            if isinstance(found, LeadsNowhere):
                why = why or found.why
            elif self._source.ignored(candidate) or self._source.ignored(found.path):
                why = why or f"{found.path} is ignored by git, so that no commit has it"
            elif found.folder:
                why = why or f"{found.path} is a folder"
            elif len(self._tree.read(found.path)) > self._source.largest:
                why = why or f"{found.path} is larger than `largest_file`"
            elif self._syntax.prose and not _is_prose(found.path):
                self._note(reference, path, candidate, Unread.NOT_PROSE)
                return False
            else:
                self._include(reference, path, candidate, found.path, depth)
                return True
        if not _is_path(reference.path, self._syntax):
            return False
        self._miss(reference, path, why or "it leads out of the repository")
        return True

    def _miss(self, reference: _Reference, path: str, why: str) -> None:
        """Tell of a file that cannot be read, or that a sparse checkout leaves out."""
        candidates = [*self._candidates(reference.path, path, path)]
        elsewhere = next(filter(self._source.not_written, candidates), None)
        if elsewhere is not None:
            self._leave_out(reference, path, elsewhere)
            return
        missing = next(iter(candidates), reference.path)
        self._note(reference, path, missing, Unread.BROKEN_INCLUDE)
        message = (
            f"`{reference.path}` is included by {path}, line {reference.line}, and cannot be "
            f"read: {why}. Correct the path, or put it in "
            "backticks if no include is meant."
        )
        line = reference.line if path == self._path else None
        self._problems.append(Problem(self._path, line, "broken_include", Level.ERROR, message))

    def _take_all(self, reference: _Reference, path: str, real: str, depth: int) -> bool:
        """Include every file that a pattern fits; one that fits none is prose."""
        pattern = _normal(_beside(real, reference.path.rstrip(_BEHIND_PATTERN)))
        try:
            globs = parse_set([f"/{pattern}"])
        except BadGlob:
            return False
        fixed = _WILDCARD.split(pattern, maxsplit=1)[0].rpartition("/")[0]
        fit = (each for each in self._files(fixed) if globs.match(each) is not None)
        readable = [each for each in fit if self._is_readable(each)]
        found = [each for each in readable if _is_prose(each) or not self._syntax.prose]
        if len(found) < len(readable):
            self._note(reference, path, pattern, Unread.NOT_PROSE)
        for each in found:
            self._include(reference, path, each, each, depth)
        return bool(found)

    def _files(self, folder: str) -> Iterator[str]:
        """The files of a folder at any depth; dependencies and the like are not looked into."""
        for name in self._tree.names(folder):
            path = f"{folder}/{name}" if folder else name
            kind = self._tree.kind(path)
            if kind is PathKind.FILE:
                yield path
            elif kind is PathKind.FOLDER and name not in SKIPPED_FOLDERS:
                yield from self._files(path)

    def _is_readable(self, path: str) -> bool:
        small = len(self._tree.read(path)) <= self._source.largest
        return small and not self._source.ignored(path)

    def _candidates(self, written: str, path: str, real: str) -> Iterator[str]:
        """The paths that a reference may mean, from the root of the repository."""
        names = [written, written.partition("#")[0]]
        for name in dict.fromkeys([*names, *(each.rstrip(_BEHIND) for each in names)]):
            for base in self._syntax.bases:
                # A tool that follows a link to a rule file is where the file lies.
                near = ("",) if base is Base.ROOT else (real, path)
                for place in dict.fromkeys(near):
                    candidate = _normal(_beside(place, name) if place else name)
                    if candidate:
                        yield candidate

    def _include(
        self, reference: _Reference, by: str, candidate: str, real: str, depth: int
    ) -> None:
        if real in self._seen:
            return
        if depth > self._syntax.depth:
            self._remark(reference, by, f"lies more than {self._syntax.depth} includes deep")
            return
        data = self._tree.read(real)
        if b"\0" in data[:_TEXT_LOOKED_AT]:
            self._remark(reference, by, "is not text")
            return
        self._seen.add(real)
        self._links[candidate] = real
        digest = sha256(data).hexdigest()
        globs = _globs(candidate, data) if self._syntax.globs else ()
        self._found.append(Include(candidate, by, reference.line, digest, globs=globs))
        if _is_prose(real):
            self._follow(candidate, real, _prose(_decoded(data)), depth + 1)

    def _remark(self, reference: _Reference, by: str, why: str) -> None:
        message = f"`{reference.path}`, which {by} includes, {why}, so the tool does not read it."
        line = reference.line if by == self._path else None
        self._problems.append(Problem(self._path, line, "include_not_read", Level.INFO, message))

    def _leave_out(self, reference: _Reference, by: str, path: str) -> None:
        """Nobody knows here what a file says that a sparse checkout leaves out."""
        self._note(reference, by, path, Unread.NOT_WRITTEN)
        message = (
            f"`{reference.path}` is included by {by}, line {reference.line}, and this sparse "
            "checkout leaves it out, so that what it says is not known here: add its folder to "
            "the checkout."
        )
        line = reference.line if by == self._path else None
        self._problems.append(Problem(self._path, line, "not_written", Level.WARNING, message))

    def _note(self, reference: _Reference, by: str, missing: str, unread: Unread) -> None:
        if missing not in {each.path for each in self._found if each.unread}:
            self._found.append(Include(missing, by, reference.line, unread=unread))


def _globs(path: str, data: bytes) -> tuple[str, ...]:
    """The files for which Amp reads what is included; none: all, as where one is no pattern.

    A pattern that starts with neither `./` nor `../` is meant at any depth.
    """
    written = split(data, path).metadata.get("globs")
    if not isinstance(written, list) or not all(isinstance(each, str) for each in written):
        return ()
    found = []
    for each in map(str, written):
        beside = each.startswith(("./", "../"))
        found.append(f"/{_normal(_beside(path, each))}" if beside else f"**/{each.lstrip('/')}")
    try:
        parse_set(found)
    except BadGlob:
        return ()
    return tuple(found)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")


def _prose(text: str) -> str:
    """The text with code and comments blanked out, line by line where it was."""
    lines = "\n".join(outline(text).lines)
    return _CODE_SPAN.sub(lambda code: "\n" * code[0].count("\n"), lines)


def _references(pattern: re.Pattern[str], text: str) -> Iterator[_Reference]:
    for found in pattern.finditer(text):
        line = text.count("\n", 0, found.start("path")) + 1
        yield _Reference(found["path"].replace("\\ ", " ").strip(), line, found[0])


def _without(text: str, written: Iterable[str]) -> str:
    for each in sorted(written, key=len, reverse=True):
        text = text.replace(each, "")
    return text


def _is_prose(path: str) -> bool:
    return path.lower().endswith(TEXT_ENDINGS)


def _is_personal(path: str) -> bool:
    """Whether a file of whoever works is meant; `@/` alone begins the imports of many projects."""
    if path.rpartition("/")[2] in _PERSONAL_NAMES or path.startswith("~/"):
        return True
    return path.startswith("/") and path.rstrip(_BEHIND).lower().endswith(TEXT_ENDINGS)


def _is_path(path: str, syntax: IncludeSyntax) -> bool:
    """Whether a reference for which there is no file must have meant one."""
    if syntax.pattern is _FILE:
        return True
    bare = path.partition("#")[0].rstrip(_BEHIND)
    if bare.lower().endswith(TEXT_ENDINGS):
        return not any(character in bare for character in "*<>{}|")
    return bare.startswith(("./", "../")) and re.search(r"\w\.\w{1,6}$", bare) is not None


def _beside(file: str, path: str) -> str:
    folder = file.rpartition("/")[0]
    return f"{folder}/{path}" if folder else path


def _normal(path: str) -> str:
    """The path without `.` and `..`; empty if it leads out of the repository."""
    done: list[str] = []
    for name in path.split("/"):
        if name == "..":
            if not done:
                return ""
            done.pop()
        elif name not in {"", "."}:
            done.append(name)
    return "/".join(done)
