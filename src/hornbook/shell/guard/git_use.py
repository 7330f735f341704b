"""Which files a git command writes in the work tree."""

from collections.abc import Callable, Sequence

from hornbook.shell.cheap_tuple import NamedTuple
from hornbook.shell.guard.words import UNKNOWN, Arguments, Target, WordText, arguments
from hornbook.shell.programs import names

_GLOBAL = "-C -c --git-dir --work-tree --namespace --exec-path"
_READING = names(
    """
    annotate blame cat-file check-attr check-ignore describe diff diff-tree for-each-ref fsck grep
    help log ls-files ls-remote ls-tree merge-base name-rev range-diff rev-list rev-parse shortlog
    show show-ref status var verify-commit version whatchanged
    """
)
_MAY_LIST = names("branch tag remote stash worktree config notes reflog")
_LISTS = names("list show -l --list -v -vv --show-current -a --get")
_UNDECIDED = names("am apply cherry-pick merge pull rebase reset revert stash switch")


class GitUse(NamedTuple):
    """What a git command does: files it writes, and whether it only reads."""

    folder: str
    targets: list[Target]
    reads: bool


def git_use(given: Sequence[WordText]) -> GitUse:
    """The files that a git command writes; an unknown one where only its data tells."""
    found = arguments(given, _GLOBAL, until_operand=True)
    folder = "/".join(each.text for each in found.values("-C"))
    if not found.operands:
        return GitUse(folder, [], reads=True)
    name, *rest = found.operands
    return GitUse(folder, _targets(name.text, rest), reads=_reads(name.text, rest))


def _reads(name: str, rest: Sequence[WordText]) -> bool:
    if name in _MAY_LIST:
        return rest[0].text in _LISTS if rest else name != "stash"
    return name in _READING


def _targets(name: str, rest: Sequence[WordText]) -> list[Target]:
    if name in _READERS:
        return _READERS[name](rest)
    if name in _UNDECIDED and not _reads(name, rest):
        return [(WordText(UNKNOWN), "file")]
    return []


def _removed(rest: Sequence[WordText]) -> list[Target]:
    found = arguments(rest, "--pathspec-from-file")
    return [] if found.has("--cached") else _moved(rest)


def _moved(rest: Sequence[WordText]) -> list[Target]:
    found = arguments(rest, "--pathspec-from-file")
    return [] if found.has("-n", "--dry-run") else _trees(found.operands)


def _cleaned(rest: Sequence[WordText]) -> list[Target]:
    found = arguments(rest, "-e --exclude")
    forced = found.has("-f", "--force") and not found.has("-n", "--dry-run")
    return [(WordText(UNKNOWN), "file")] if forced else []


def _restored(rest: Sequence[WordText]) -> list[Target]:
    found = _behind_dashes(rest)
    staged = found.has("--staged", "-S") and not found.has("--worktree", "-W")
    return [] if staged else _trees(found.operands)


def _checked_out(rest: Sequence[WordText]) -> list[Target]:
    found = _behind_dashes(rest)
    if found.has("--"):
        return _trees(found.operands)
    if found.has("-b", "-B", "--orphan"):
        return []
    # `git checkout NAME` may name a branch or a path; a path is judged as one.
    if len(found.operands) == 1 and found.operands[0].text not in {".", ":/"}:
        return [(found.operands[0], "file-if-there")]
    return _trees(found.operands[1:] or found.operands)


def _behind_dashes(rest: Sequence[WordText]) -> Arguments:
    """The arguments; where `--` stands, it is an option and all operands stand behind it."""
    plain = [each.text for each in rest]
    if "--" in plain:
        return Arguments({"--": []}, list(rest[plain.index("--") + 1 :]))
    return arguments(rest, "-b -B -s --source --orphan")


def _trees(paths: Sequence[WordText]) -> list[Target]:
    return [(each, "tree") for each in paths]


def _new_tree_arguments(rest: Sequence[WordText]) -> list[WordText]:
    takes = "-b -B --branch --depth -o --origin --reference --template"
    return arguments(rest, takes).operands


def _worktree(rest: Sequence[WordText]) -> list[Target]:
    operands = _new_tree_arguments(rest)
    adds = bool(operands) and operands[0].text == "add"
    return [(each, "into") for each in operands[1:2]] if adds else []


def _initialised(rest: Sequence[WordText]) -> list[Target]:
    return [(each, "folder") for each in _new_tree_arguments(rest)[:1]]


def _cloned(rest: Sequence[WordText]) -> list[Target]:
    operands = _new_tree_arguments(rest)
    if len(operands) > 1:
        return [(operands[1], "into")]
    names = (each.text.rstrip("/").rpartition("/")[2].removesuffix(".git") for each in operands)
    return [(WordText(each), "into") for each in names]


_READERS: dict[str, Callable[[Sequence[WordText]], list[Target]]] = {
    "checkout": _checked_out,
    "clean": _cleaned,
    "clone": _cloned,
    "init": _initialised,
    "mv": _moved,
    "restore": _restored,
    "rm": _removed,
    "worktree": _worktree,
}
