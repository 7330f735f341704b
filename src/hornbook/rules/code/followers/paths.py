"""POSIX paths of a repository as text; the root is the empty path."""

from posixpath import normpath


def folder_of(path: str) -> str:
    """The folder that a file or folder lies in."""
    return path.rpartition("/")[0]


def joined(*parts: str) -> str:
    """The parts as one path, those that are empty left out."""
    return "/".join(part for part in parts if part)


def relative(folder: str, reference: str) -> str | None:
    """The path that `reference` means in `folder`; none if it leads out of the repository."""
    path = normpath(joined(folder, reference))
    if path == "." or not path:
        return ""
    return None if path == ".." or path.startswith(("../", "/")) else path


def ancestors(path: str) -> list[str]:
    """The folders that a path lies in, the innermost first and the root last."""
    found = []
    while path:
        path = folder_of(path)
        found.append(path)
    return found
