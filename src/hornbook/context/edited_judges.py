"""The files of a change that judge changes: rules, settings, and whatever Hornbook keeps.

What the base has judges a change, so that an edit of it has no say in its own judgement; it goes to
a person all the same. Two kinds of files only tell what happened, and prove it themselves: records
that are added with a seal that holds, and the files of a plan, whose log is chained by hashes and
gives every other file of the plan byte for byte.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from hornbook.commits.change import Change, is_empty_tree
from hornbook.commits.commit import commit_at
from hornbook.commits.content import LINK, FileChange
from hornbook.graph.commit_graph import tree_of
from hornbook.graph.snapshot import Snapshot
from hornbook.rules.binding import is_broken_link, of_no_tool
from hornbook.rules.document_reader import is_rule_file, is_rule_folder, read
from hornbook.rules.links import links_on_the_way
from hornbook.rules.tool_setup import NAMING_RULES
from hornbook.settings.places import IGNORED
from hornbook.vocabulary.terms import Activation

if TYPE_CHECKING:
    from hornbook.context.plan_proof import PlanProof

OURS = (".hornbook/", ".semspec/")
_RECORDS = ".hornbook/records/"
_IGNORE = ".hornbook/.gitignore"
_ACTIVE = ".hornbook/ACTIVE_PLAN"
_PLAN = re.compile(r"\.hornbook/plans/([^/]+)/.+")


def edited_judges(root: Path, found: Change, snapshot: Snapshot) -> Iterator[str]:
    """The paths of a change that judge changes, sorted; those that prove themselves are none.

    The rules that judge it say which files are rules by more than their place, and which only
    look like one.
    """
    files = _Files(root, found)
    bind = _rule_texts(snapshot) | files.passed_links(snapshot)
    idle = {rule.path for rule in snapshot.rules.not_enforced if of_no_tool(rule)}
    for path in found.paths:
        if path.startswith(OURS):
            if not files.proves_itself(path):
                yield path
        elif path in bind or (path not in idle and files.is_of_rules(path)):
            yield path


def _rule_texts(snapshot: Snapshot) -> set[str]:
    """Every path that decides what the enforced rules say.

    These are the rule files, what they include, what is read at the place of a link, and the links
    themselves: a link of a folder lies above the paths at which its files are read.
    """
    found = set()
    for rule in (*snapshot.rules.enforced, *filter(is_broken_link, snapshot.rules.not_enforced)):
        read = [one for one in rule.includes if one.unread is None or not one.unread.is_meant]
        included = [snapshot.by_id[each.id] for each in read if each.id]
        found |= {rule.path, *(each.path for each in read)}
        for each in (rule, *included):
            if each.link:
                found |= {each.link, *map(str, PurePosixPath(each.path).parents)}
    return found - {"."}


class _Files:
    """What the commits of a change say of its files: which are rules, and which prove themselves.

    Only what lies below `.hornbook/` can prove itself.
    """

    def __init__(self, root: Path, found: Change) -> None:
        # Before a first commit there is nothing.
        before = (each for each in (found.base, found.merge_base) if not is_empty_tree(each))
        self._before = tuple(commit_at(root, each) for each in before)
        self._head = commit_at(root, found.head)
        self._files: Mapping[str, FileChange] = {each.path: each for each in found.files}
        self._plans: dict[str, PlanProof] = {}

    def proves_itself(self, path: str) -> bool:
        """Whether a file judges nothing, and shows that it is what it says."""
        data = self._head.text(path)
        if data is None or path not in self._files or self._files[path].before is not None:
            return False  # removed, a link, or renamed
        if path == _IGNORE:
            return _same_effect(data, self._before[0].text(path) if self._before else None)
        if path.startswith(_RECORDS):
            return self._files[path].status == "A" and _is_sealed(path, data)
        if path == _ACTIVE:
            named = data.decode("utf-8", "replace").strip()
            return self._plan(named).is_whole
        plan = _PLAN.fullmatch(path)
        return plan is not None and self._plan(plan[1]).tells(path, data)

    def passed_links(self, snapshot: Snapshot) -> set[str]:
        """The links in the middle of a chain that ends in a rule of the base."""
        rules = (*snapshot.rules.enforced, *filter(is_broken_link, snapshot.rules.not_enforced))
        included = (snapshot.by_id[i.id] for rule in rules for i in rule.includes if i.id)
        linked = {each.path for each in (*rules, *included) if each.link or is_broken_link(each)}
        if not linked or not self._before:
            return set()
        tree = tree_of(self._before[0])
        return {link for path in linked for link in links_on_the_way(tree, path)}

    def is_of_rules(self, path: str) -> bool:
        """Whether rules lie there by the place: a rule file, or a link of a folder with some."""
        if path in NAMING_RULES or is_rule_file(path):
            return True
        modes = {each.modes.get(path) for each in (*self._before, self._head)}
        return LINK in modes and is_rule_folder(path)

    def _plan(self, plan: str) -> "PlanProof":
        """The log of a plan, and whether it holds."""
        from hornbook.context.plan_proof import PlanProof, log_of  # noqa: PLC0415  # loads the log's database

        if plan not in self._plans:
            name = log_of(plan)
            before = [each.text(name) or b"" for each in self._before]
            self._plans[plan] = PlanProof(plan, self._head.text(name), before)
        return self._plans[plan]


def _is_sealed(path: str, data: bytes) -> bool:
    """Whether a record reads as one that Hornbook wrote, and tells reviewers nothing."""
    reading = read(path, data)
    return (
        reading.tool == "record"
        and not reading.problems
        and reading.activation is Activation.MANUAL  # a promoted convention is told to reviewers
    )


def _same_effect(now: bytes, before: bytes | None) -> bool:
    """Whether git ignores the same; a new file must be the one that Hornbook writes."""
    old = before if before is not None else IGNORED.encode()
    return _patterns(now) == _patterns(old)


def _patterns(data: bytes) -> list[bytes]:
    lines = [line.rstrip() for line in data.splitlines()]
    kept = [line for line in lines if line and not line.startswith(b"#")]
    negated = any(line.startswith(b"!") for line in kept)
    return kept if negated else sorted(set(kept))
