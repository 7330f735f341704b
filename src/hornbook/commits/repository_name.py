"""What a repository is called wherever several are kept together: one name for all its clones."""

import re
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote, urlsplit

from hornbook.commits.git import once, run, surely_outside
from hornbook.errors import UsageError

_DIGITS = 6
_SCP = re.compile(r"(?:[^@/:]+@)?(?P<host>\[[^\]]+\]|[^:/]+):(?P<path>[^/].*|/[^/].*|/)")
"""`git@host:path`, as git writes ssh without a scheme."""


def repository_name(root: Path, stated: str = "") -> str:
    """The name of a repository: what its settings state, else that of `origin` or its first commit.

    A clone over ssh and one over https have the same.

    Raises:
        UsageError: Nothing is stated, and there is neither an `origin` nor a commit.
    """
    return stated or once(root, "repository name", lambda: _found_name(root))


def _found_name(root: Path) -> str:
    outside = surely_outside(root)
    origin = b"" if outside else run(root, "config", "--get", "remote.origin.url").stdout.strip()
    if origin:
        return name_of_remote(origin.decode("utf-8", "replace"))
    first = None if outside else first_commit(root)
    if first is None:
        raise UsageError(
            f"{root} has neither a remote named origin nor a commit to take a name from: "
            "write `repository: NAME` into .hornbook/config.yaml."
        )
    return _named(first)


def first_commit(root: Path) -> str | None:
    """The commit that the history of HEAD begins with; none in a clone that lacks it."""
    shallow = run(root, "rev-parse", "--is-shallow-repository").stdout.strip() != b"false"
    listed = run(root, "rev-list", "--max-parents=0", "HEAD").stdout.decode("ascii").split()
    return None if shallow or not listed else min(listed)


def name_of_remote(url: str) -> str:
    """The name that host and path of a remote give, whatever way leads there."""
    host, path = _host_and_path(url)
    clean = path.strip("/").removesuffix(".git").strip("/")
    return _named(f"{host.lower()}/{clean}" if host else f"/{clean}")


def _host_and_path(url: str) -> tuple[str, str]:
    if "://" in url:
        parts = urlsplit(url)
        return parts.hostname or "", unquote(parts.path)
    short = _SCP.fullmatch(url)
    if short is not None:
        return short["host"].strip("[]"), short["path"]
    return "", url  # a folder


def _named(text: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return f"{slug[:200]}-{sha256(text.encode()).hexdigest()[:_DIGITS]}".lstrip("-")
