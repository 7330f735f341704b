"""Which rules bind a change: every touched file with its rules, and every rule with its files."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from hornbook.commits import git
from hornbook.graph.catalog_view import CatalogView, FileAnswer
from hornbook.settings.reserve import Reserve, ReserveFrom, reserve_for

if TYPE_CHECKING:
    from hornbook.commits.change import Change


class FileStatus(StrEnum):
    """What a change does to a file; the old path of a renamed one is deleted."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"


_BY_LETTER = {"A": FileStatus.ADDED, "D": FileStatus.DELETED, "R": FileStatus.RENAMED}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFileAnswer(FileAnswer):
    """The rules of a file that a change touches."""

    status: FileStatus


@dataclass(frozen=True, slots=True)
class ChangeRule:
    """A rule that binds a change, with all that it includes there, and the files that it binds.

    `inferred` says that the severity is told from the words of the rule.
    """

    id: str
    path: str
    severity: str
    inferred: bool
    tokens: int
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangeAnswer:
    """The rules of a whole change, by file and by rule, beside the room that a review has.

    `notes` say what of the change git does not show, so that rules may be missing.
    """

    base: str
    head: str
    files: tuple[ChangedFileAnswer, ...]
    rules: tuple[ChangeRule, ...]
    tokens: int
    reserve: int
    reserve_from: ReserveFrom
    fits: bool
    notes: tuple[str, ...] = ()


def why_change(root: Path, span: str, reserve: str | int | None = None) -> ChangeAnswer:
    """The rules that bind the change `BASE..HEAD`, by the rules and settings of BASE.

    They are those of the packet that `context review` makes of it: old paths of renamed files
    count too.

    Raises:
        UsageError: The span names no change, or the reserve is none.
        ConfigError: The settings of BASE are wrong.
    """
    # Every door loads the answer's types; only this needs to read changes.
    from hornbook.commits.change import change  # noqa: PLC0415  # start-up
    from hornbook.graph.commit_graph import graph_at, settings_of_base  # noqa: PLC0415  # start-up

    with git.operation(root):
        found = change(root, span)
        judge = graph_at(root, found.base)
        base = settings_of_base(root, found.base)
    return _answer(found, judge, reserve_for(judge.settings, option=reserve, base=base))


def _answer(found: "Change", judge: CatalogView, room: Reserve) -> ChangeAnswer:
    status = dict.fromkeys(found.paths, FileStatus.DELETED)
    status |= {each.path: _BY_LETTER.get(each.status, FileStatus.MODIFIED) for each in found.files}
    rules = _rules(judge, found.paths)
    tokens = sum(rule.tokens for rule in rules)
    return ChangeAnswer(
        base=found.base,
        head=found.head,
        files=tuple(
            _with_status(answer, status[answer.path]) for answer in judge.why(found.paths, room)
        ),
        rules=rules,
        tokens=tokens,
        reserve=room.tokens,
        reserve_from=room.source,
        fits=tokens <= room.tokens,
        notes=tuple(_unseen(found)),
    )


def _unseen(found: "Change") -> Iterator[str]:
    if len(found.merge_bases) > 1:
        yield (
            f"the two sides have {len(found.merge_bases)} merge bases, and the files are those "
            "that differ from the first: merge BASE into the branch."
        )
    if found.incomplete:
        yield f"{found.incomplete}, so that files may be missing here."
    if found.outside:
        more = len(found.outside)
        yield f"{more} changed {'file lies' if more == 1 else 'files lie'} outside the root."


def _with_status(answer: FileAnswer, status: FileStatus) -> ChangedFileAnswer:
    facts = {each.name: getattr(answer, each.name) for each in fields(FileAnswer)}
    return ChangedFileAnswer(**facts, status=status)


def _rules(judge: CatalogView, paths: tuple[str, ...]) -> tuple[ChangeRule, ...]:
    """Each rule that binds one of the files, in id order.

    What a rule includes may bind one file anyway and not another: where one needs it, it counts.
    """
    found = []
    for binding, files in judge.rules.bind_all(paths):
        rule, ordered = binding.rule, tuple(path for path in paths if path in files)
        found.append(
            ChangeRule(
                id=rule.id,
                path=rule.path,
                severity=rule.severity,
                inferred="severity" in rule.inferred,
                tokens=binding.tokens,
                files=ordered,
            )
        )
    return tuple(found)
