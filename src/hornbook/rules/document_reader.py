"""A file read by the first reader that claims it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile
from pathlib import PurePosixPath

from hornbook.rules.binding import is_rule
from hornbook.rules.code.edges import Imports
from hornbook.rules.code.file import code_id
from hornbook.rules.code.parsing import grammar_of
from hornbook.rules.document import Link, Pattern, Problem, Problems
from hornbook.rules.ids import slug
from hornbook.rules.metadata.frontmatter import decode, split
from hornbook.rules.readers.compose import mime_type
from hornbook.rules.readers.decision import resolve_links as resolve_decision_links
from hornbook.rules.readers.imported import RulePlace
from hornbook.rules.readers.protocol import Reader, Reading, SourceFile
from hornbook.rules.readers.registry import BY_SETTING, NATIVE, READERS
from hornbook.rules.tool_setup import NO_SETUP, ToolSetup, settled
from hornbook.vocabulary.terms import Activation, Category, Level, Scope, Severity

__all__ = ["Reading", "is_rule_file", "read", "resolve_links"]


# Every native format has a dot folder or file, a folder of decisions, or one of these names.
_HINT = re.compile(
    r"(?:^|/)(?:\.|(?:adr|decisions)/|(?:AGENTS?|CLAUDE|CODEBUDDY|CRUSH|GEMINI|QWEN|REVIEW|WARP)\b[^/]*$|rules\.md$"
    r"|(?i:agents?|claude|gemini|qwen|warp)\.(?i:md)$)"
    r"|^(?:(?:opencode|kilo)\.jsonc?|(?:best_practices|replit)\.md|greptile\.json|pr_compliance_checklist\.yaml|openspec/config\.yaml"
    r"|(?:cubic|ellipsis)\.yaml)$"
)


def is_rule_file(path: str | PurePosixPath, setup: ToolSetup = NO_SETUP) -> bool:
    """Whether a file at this path is in a format that is found anywhere in a repository.

    The setup of its tree may make it one where its place does not.
    """
    # A walk asks this of every text: most of them are told by their names alone.
    if setup.names_any and setup.names(PurePosixPath(path)) is not None:
        return True
    if _HINT.search(str(path)) is None:
        return False
    place = PurePosixPath(path)
    return any(reader.claims(place) for reader in NATIVE)


_INCLUDING = re.compile(
    r"(?:^|/)(?:\.(?:claude|cursor|kiro)/|\.(?:cursorrules|goosehints)$"
    r"|(?:CLAUDE(?:\.local)?|CODEBUDDY|GEMINI|QWEN|AGENTS?)\.md$)"
)


def including_tool(path: str) -> str:
    """The tool whose reader takes this path, if it is one that includes files; else empty."""
    if _INCLUDING.search(path) is None:
        return ""
    place = PurePosixPath(path)
    return next(reader.tool for reader in READERS if reader.claims(place))


_PROBES = (
    "x.md", "x.mdc", "x.instructions.md", "0001-x.md", "rules/x.md", "rules/x.mdc",
    "steering/x.md", "instructions/x.instructions.md", "guidelines.md", "guidelines/x.md",
    "styleguide.md", "airules.md",
)  # fmt: skip
"""Names of which some tool reads one in every folder of its own."""


@lru_cache(maxsize=10_000)  # every commit of a range has the same links
def is_rule_folder(path: str) -> bool:
    """Whether a folder at this path is one that some tool keeps its rules in."""
    return any(is_rule_file(f"{path}/{probe}") for probe in _PROBES)


def resolve_links(
    path: str, links: Sequence[Link], known: Mapping[str, str], imports: Imports | None = None
) -> tuple[tuple[Link, ...], tuple[Problem, ...]]:
    """Return a document's links with the ids they lead to, and what is wrong with them.

    `known` maps the paths of all documents to their ids; who asks for many documents hands the
    `imports` among them from one to the next. An import that leads to no known file is no problem:
    most lead outside; what a plan names and is not there, the check of the plan tells.
    """
    if links and links[0].relation == "references":
        return tuple(_referred(links, known)), ()
    if not links or links[0].relation != "imports":
        return resolve_decision_links(path, links, known)
    grammar = grammar_of(path)
    language = grammar.name if grammar is not None else ""
    imports = imports or Imports(known)
    resolved: list[Link] = []
    for link in links:
        targets = imports.targets(language, path, link.reference)
        resolved += [replace(link, target=known[target]) for target in targets] or [link]
    return tuple(resolved), ()


def _referred(links: Sequence[Link], known: Mapping[str, str]) -> Iterator[Link]:
    """What a plan names, as the document that it is or is a part of; a path is a file at least."""
    ids = set(known.values())
    for link in links:
        whole = _PART.split(link.reference, maxsplit=1)[0]
        target = whole if whole in ids else known.get(link.reference)
        is_path = target is None and "/" in link.reference
        yield replace(link, target=code_id(link.reference) if is_path else target)


_PART = re.compile(r"\.(?:section|chunk|rev)\.")


def read(path: str | PurePosixPath, data: bytes, setup: ToolSetup = NO_SETUP) -> Reading:
    """Return what the file at `path` (relative to the repository) says; never raises.

    Where the setup of its tree has its tool pass the file over, it binds nothing.
    """
    place = PurePosixPath(path)
    file = SourceFile(place, split(data, str(path)))
    reading = settled(_reader(place, setup).read(file), setup)
    if data.startswith(_LFS) and is_rule(reading.category, reading.tool):
        return read_broken_link(str(path), IN_LFS)
    return reading


def _reader(place: PurePosixPath, setup: ToolSetup) -> Reader:
    """The first reader that claims a path; a tool's settings come after every format."""
    native = next((reader for reader in NATIVE if reader.claims(place)), None)
    if native is not None:
        return native
    by_setting = setup.names(place)
    if by_setting is not None:
        return BY_SETTING[by_setting]
    return next(reader for reader in READERS if reader.claims(place))


INCLUDED = "included"
"""The tool of a document that is read only because a rule includes it."""


def included_text(data: bytes) -> str:
    """Return the text of an included file as a reviewer gets it."""
    return decode(data, Problems(""))


def read_included(path: str, data: bytes) -> Reading:
    """Return a file that binds nothing by itself: its whole text is the body."""
    place, problems = PurePosixPath(path), Problems(path)
    text = decode(data, problems)
    return Reading(
        path=path,
        tool=INCLUDED,
        desired_id=f"source.doc.{INCLUDED}.{slug(path)}",
        title=path,
        category=Category.REFERENCE,
        activation=Activation.NEVER,
        severity=Severity.WARNING,
        scope=Scope.CODE,
        mime_type=mime_type(place),
        head="",
        body=text,
        body_line=1,
        problems=problems.told(),
    )


NOT_WRITTEN = "this sparse checkout leaves it out"
"""What is said of a rule file that git follows and the work tree does not hold."""
NOT_READABLE = "the system refuses to read it"
IN_LFS = "Git LFS keeps its text, and a commit only a pointer"
_LFS = b"version https://git-lfs.github.com/spec/"
SHUT_FOLDER = "the system refuses to look into this folder"
SHUT_SOURCES = "the system refuses to look into this folder of sources"


def broken_link(why: str) -> bytes:
    """Return what stands for the text of a link that leads to nothing."""
    return f"broken link: {why}\n".encode()


def _bound_from(folder: str) -> tuple[Pattern, ...]:
    """What rules in a folder may bind: all below it, or below where its tool's folder stands."""
    parts = tuple(takewhile(lambda part: not part.startswith("."), PurePosixPath(folder).parts))
    return RulePlace(parts, ()).whole().patterns


def read_broken_link(path: str, why: str) -> Reading:
    """Return the document of a file that cannot be read: it may bind whatever it could have.

    Its patterns are those of the place, where the place alone decides what is bound.
    """
    asked = [path, *(f"{path}/{probe}" for probe in _PROBES)]
    like = next(filter(is_rule_file, asked), path)
    reading = read(like, b"")
    placed = reading.activation in {Activation.ALWAYS, Activation.DIR}
    patterns = reading.patterns if placed else ()
    return replace(
        reading,
        path=path,
        desired_id=reading.desired_id if like == path else f"source.doc.sops.{slug(path)}",
        title=path,
        category=reading.category if reading.category is Category.DECISION else Category.SOP,
        activation=Activation.UNKNOWN,
        patterns=_bound_from(path) if why == SHUT_FOLDER else patterns,
        summary="",
        inferred=(),
        problems=(_unread_because(path, why),),
    )


def _unread_because(path: str, why: str) -> Problem:
    unknown = f"{why}, so that what it says is not known here"
    if why == NOT_WRITTEN:
        message = f"{unknown}: add its folder to the checkout."
        return Problem(path, None, "not_written", Level.WARNING, message)
    if why == IN_LFS:
        message = f"{unknown}: take it out of Git LFS."
        return Problem(path, None, "lfs_pointer", Level.ERROR, message)
    message = f"{unknown}: check its permissions."
    if why == NOT_READABLE:
        return Problem(path, None, "unreadable_file", Level.ERROR, message)
    if why in {SHUT_FOLDER, SHUT_SOURCES}:
        return Problem(path, None, "unreadable_folder", Level.ERROR, message)
    message = f"is a link that cannot be read: {why}. Correct the link, or remove it."
    return Problem(path, None, "broken_link", Level.ERROR, message)
