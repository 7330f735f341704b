"""The graph of a commit as it would be with another rule: a text or patterns that nobody wrote yet.

Nothing is written: the draft is read where the rule's file would stand in the commit's tree.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from hornbook.commits import git
from hornbook.commits.commit import Commit
from hornbook.errors import UsageError
from hornbook.graph.commit_graph import build, settings_of, snapshot_of, sources_in
from hornbook.graph.snapshot import Snapshot
from hornbook.rules.document import Pattern
from hornbook.vocabulary.terms import Activation

MOST_DOCUMENTS = 2000
"""A draft has the rules read anew; of more it would keep its reader waiting too long."""


class DraftCommit(Commit):
    """A commit in whose place one file has another text."""

    def __init__(self, root: Path, sha: str, path: str, text: bytes) -> None:
        super().__init__(root, sha)
        self._path = path
        self._text = text
        self._blob = f"draft {sha256(text).hexdigest()}"

    @cached_property
    def files(self) -> Mapping[str, str]:
        """Path to blob of every regular file, the draft among them."""
        return {**git.files_at(self.root, self.sha), self._path: self._blob}

    def blobs(self, names: Iterable[str]) -> Mapping[str, bytes]:
        """What blobs hold by their names."""
        asked = set(names)
        found = super().blobs(asked - {self._blob})
        return {**found, self._blob: self._text} if self._blob in asked else found


def draft_graph(root: Path, revision: str, path: str, text: bytes) -> Snapshot:
    """The graph of a commit with one file in the form of a draft.

    Raises:
        UsageError: The revision names no commit, or it has too many rules to be read for this.
        ConfigError: The settings of the commit are wrong.
    """
    with git.operation(root):
        commit = DraftCommit(root, git.commit(root, revision), path, text)
        sources = sources_in(commit)
        if len(sources.files) > MOST_DOCUMENTS:
            raise UsageError(
                f"{len(sources.files)} documents would be read anew for this draft, more than "
                f"{MOST_DOCUMENTS}: write it into {path}, and run `hornbook replay --worktree`."
            )
        settings = settings_of(commit)
        return snapshot_of(commit, settings, build(commit, settings, sources))


def with_patterns(snapshot: Snapshot, path: str, globs: Sequence[str]) -> Snapshot:
    """A graph in which the rule of a file binds by other patterns."""
    patterns = tuple(Pattern(each, each, None) for each in globs)
    catalog = snapshot.catalog
    entries = tuple(
        replace(each, patterns=patterns, activation=Activation.GLOB) if each.path == path else each
        for each in catalog.entries
    )
    return Snapshot(lambda: snapshot.store, replace(catalog, entries=entries), snapshot.settings)
