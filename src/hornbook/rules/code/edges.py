"""Import edges among the files of a repository: only those that surely lead to a known file."""

from collections.abc import Iterable, Mapping

from hornbook.rules.code.file import CodeFile
from hornbook.rules.code.followers import (
    Follower,
    ecmascript_follower,
    go_follower,
    java_follower,
    python_follower,
    rust_follower,
)


def resolve_imports(
    files: Iterable[CodeFile],
    known_paths: Iterable[str],
    *,
    go_modules: Mapping[str, str] | None = None,
) -> dict[str, tuple[str, ...]]:
    """The known files that each file imports, sorted; a file that imports none has an empty tuple.

    `go_modules` are the texts of the `go.mod` files by their paths; without them no Go import can
    be told from a foreign one.
    """
    known = frozenset(known_paths)
    follow_ecmascript = ecmascript_follower(known)
    followers: dict[str, Follower] = {
        "python": python_follower(known),
        "go": go_follower(known, go_modules or {}),
        "javascript": follow_ecmascript,
        "typescript": follow_ecmascript,
        "tsx": follow_ecmascript,
        "java": java_follower(known),
        "rust": rust_follower(known),
    }
    edges: dict[str, tuple[str, ...]] = {}
    for file in sorted(files, key=lambda each: each.path):
        follow = followers.get(file.language)
        targets = {
            target
            for reference in (file.imports if follow else ())
            for target in (follow(file.path, reference) if follow else ())
        }
        edges[file.path] = tuple(sorted(targets - {file.path}))
    return edges


def importers(edges: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """The same edges backwards: for each imported file those that import it, sorted."""
    backwards: dict[str, list[str]] = {}
    for source in sorted(edges):
        for target in edges[source]:
            backwards.setdefault(target, []).append(source)
    return {target: tuple(backwards[target]) for target in sorted(backwards)}
