"""Git with the objects of a repository and nothing else of it.

What a change looks like must not depend on settings, attributes, drivers, refs or grafts, whether
they are committed, part of the change, or of the machine. So git is run in an empty repository that
is made for the call and only borrows the objects.
"""

import os
import subprocess
from pathlib import Path

from hornbook.commits.git import run, whereabouts
from hornbook.disk import temporary_folder

_NO_ATTRIBUTES = ("-c", f"core.attributesFile={os.devnull}")
_NO_CONFIGURATION = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
}


def run_on_objects(
    root: Path, *arguments: str, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run git with a repository's objects and nothing else of it.

    Its settings, attributes, refs and grafts are those of an empty repository that is made for
    this call, so that none of them, committed or not, decides what is shown.

    Raises:
        UsageError: The folder is in no repository.
    """
    place = whereabouts(root)
    with temporary_folder("objects") as folder:
        _make_empty(folder, place.object_format)
        environment = {
            **_NO_CONFIGURATION,
            "GIT_DIR": str(folder),
            "GIT_OBJECT_DIRECTORY": str(place.objects),
            "GIT_LITERAL_PATHSPECS": "1",
        }
        return run(root, *_NO_ATTRIBUTES, *arguments, stdin=stdin, environment=environment)


def _make_empty(folder: Path, object_format: str) -> None:
    """A bare repository without anything in it."""
    (folder / "refs").mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
    version = "0" if object_format == "sha1" else "1"
    settings = f"[core]\n\trepositoryformatversion = {version}\n\tbare = true\n"
    if version == "1":
        settings += f"[extensions]\n\tobjectFormat = {object_format}\n"
    (folder / "config").write_text(settings, encoding="ascii")
