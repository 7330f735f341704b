"""Tells one state of a work tree from another."""

from hashlib import sha256
from pathlib import Path

from hornbook.git.reader import run

_OURS_ASIDE = (".", ":(exclude).hornbook")


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
