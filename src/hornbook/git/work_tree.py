"""Tells one state of a work tree from another."""

from hashlib import sha256
from pathlib import Path

from hornbook.git.reader import run

_OURS_ASIDE = (".", ":(exclude).hornbook")
_RULES_ASIDE = (*_OURS_ASIDE, ":(exclude).semspec")
_MOST_PATCHES = 50


def fingerprint(root: Path) -> str | None:
    """A hash of what the work tree holds: the commit, what differs from it, and new files.

    Files that git ignores and our own do not count. None outside a repository, or before its
    first commit.
    """
    try:
        head = run(root, "rev-parse", "--verify", "HEAD^{tree}")
    except FileNotFoundError:
        return None
    if head.returncode != 0:
        return None
    digest = sha256(head.stdout)
    plain = ("--binary", "--no-ext-diff", "--no-textconv")
    digest.update(run(root, "diff", "HEAD", *plain, "--", *_OURS_ASIDE).stdout)
    new = run(root, "ls-files", "--others", "--exclude-standard", "-z", "--", *_OURS_ASIDE).stdout
    names = sorted(name for name in new.split(b"\0") if name)
    digest.update(new)
    hashed = run(root, "hash-object", "--no-filters", "--stdin-paths", stdin=b"\n".join(names))
    digest.update(hashed.stdout)
    return digest.hexdigest()


def patches(root: Path) -> dict[str, str]:
    """What differs from HEAD, file by file in path order; our own files and new ones aside."""
    try:
        listing = ("--name-only", "--relative", "--no-renames", "-z")
        named = run(root, "diff", "HEAD", *listing, "--", *_RULES_ASIDE)
    except FileNotFoundError:
        return {}
    if named.returncode != 0:
        return {}
    paths = sorted(name.decode("utf-8", "surrogateescape") for name in named.stdout.split(b"\0"))
    plain = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--relative")
    found = {}
    for path in filter(None, paths[: _MOST_PATCHES + 1]):
        shown = run(root, "diff", "HEAD", *plain, "--", f":(literal){path}")
        found[path] = shown.stdout.decode("utf-8", "replace")
    return found
