"""Which files a git command writes in the work tree."""

from collections.abc import Sequence

from hornbook.shell.guard.options import arguments
from hornbook.shell.guard.values import NamedTuple
from hornbook.shell.guard.words import UNKNOWN, WordText
from hornbook.shell.guard.writers import Target

_GLOBAL = "-C -c --git-dir --work-tree --namespace --exec-path"
_READING = frozenset(
    [
        "annotate",
        "blame",
        "cat-file",
        "check-attr",
        "check-ignore",
        "describe",
        "diff",
        "diff-tree",
        "for-each-ref",
        "fsck",
        "grep",
        "help",
        "log",
        "ls-files",
        "ls-remote",
        "ls-tree",
        "merge-base",
        "name-rev",
        "range-diff",
        "rev-list",
        "rev-parse",
        "shortlog",
        "show",
        "show-ref",
        "status",
        "var",
        "verify-commit",
        "version",
        "whatchanged",
    ]
)
_UNDECIDED = frozenset(
    ["am", "apply", "cherry-pick", "merge", "pull", "rebase", "reset", "revert", "stash", "switch"]
)


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
    if name in {"branch", "tag", "remote", "stash", "worktree", "config", "notes", "reflog"}:
        listing = {"list", "show", "-l", "--list", "-v", "-vv", "--show-current", "-a", "--get"}
        return rest[0].text in listing if rest else name != "stash"
    return name in _READING


def _targets(name: str, rest: Sequence[WordText]) -> list[Target]:
    if name in {"checkout", "restore"}:
        return _taken_back(name, rest)
    if name in {"rm", "mv"}:
        found = arguments(rest, "--pathspec-from-file")
        dry = found.has("-n", "--dry-run") or (name == "rm" and found.has("--cached"))
        return [] if dry else [(each, "tree") for each in found.operands]
    if name == "clean":
        found = arguments(rest, "-e --exclude")
        forced = found.has("-f", "--force") and not found.has("-n", "--dry-run")
        return [(WordText(UNKNOWN), "file")] if forced else []
    if name in {"clone", "worktree", "init"}:
        return _new_tree(name, rest)
    if name in _UNDECIDED and not _reads(name, rest):
        return [(WordText(UNKNOWN), "file")]
    return []


def _taken_back(name: str, rest: Sequence[WordText]) -> list[Target]:
    plain = [each.text for each in rest]
    if "--" in plain:
        return [(each, "tree") for each in rest[plain.index("--") + 1 :]]
    found = arguments(rest, "-b -B -s --source --orphan")
    if name == "restore":
        staged = found.has("--staged", "-S") and not found.has("--worktree", "-W")
        return [] if staged else [(each, "tree") for each in found.operands]
    if found.has("-b", "-B", "--orphan"):
        return []
    # `git checkout NAME` may name a branch or a path; a path is judged as one.
    if len(found.operands) == 1 and found.operands[0].text not in {".", ":/"}:
        return [(found.operands[0], "file-if-there")]
    return [(each, "tree") for each in found.operands[1 if len(found.operands) > 1 else 0 :]]


def _new_tree(name: str, rest: Sequence[WordText]) -> list[Target]:
    found = arguments(rest, "-b -B --branch --depth -o --origin --reference --template")
    if name == "worktree":
        adds = [each.text for each in found.operands[:1]] == ["add"]
        return [(each, "into") for each in found.operands[1:2]] if adds else []
    if name == "init":
        return [(each, "folder") for each in found.operands[:1]]
    if len(found.operands) > 1:
        return [(found.operands[1], "into")]
    names = [
        each.text.rstrip("/").rpartition("/")[2].removesuffix(".git") for each in found.operands
    ]
    return [(WordText(each), "into") for each in names]
