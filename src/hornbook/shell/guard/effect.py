"""One thing that a shell command would do."""

from hornbook.shell.guard.values import NamedTuple


class Effect(NamedTuple):
    """One thing that a command would do.

    `kind` is `write` (`text` is the path, `how` as in `shell_programs`), `code` (`text` is inline
    code), `hornbook` (its arguments), `repository` (git's own state) or `undecided`. `folder` is
    where it happens, None if that cannot be known; `names` filters what `find` finds.
    """

    kind: str
    text: str
    how: str = "file"
    folder: str | None = None
    wild: bool = False
    names: tuple[str, ...] = ()
