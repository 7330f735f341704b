"""Which of the names in a rule claim that a path exists here, and which of those are wrong.

A name counts as a claim only if much speaks for it, because people stop reading a list in which
every third line is noise. It must look like a path, some of it must be there (a folder that it
begins with), and nothing around it may say that the file is yet to be made, an example, a pattern,
written by a tool, or gone on purpose. What is left over is counted as not judged, never guessed.
"""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from hornbook.doctor.mentions import Mention
from hornbook.doctor.repository_files import RepositoryFiles

_MOST_PACKAGES = 20
_PLACE_BEHIND = re.compile(r"(?::\d+(?:[-:,]\d+)*|#L?\d+(?:-L?\d+)?|#[\w.-]+|::[\w.:\[\]-]+)$")
_FOREIGN = re.compile(r"[<>{}*$|?&=%!\"'(),;\\\s…^+]|\.\.\.|://|^[~@#-]|^mailto:|\[|\]|^//")
_PART = re.compile(r"[\w.@~+-]+")
_ENDING = re.compile(r"\.([A-Za-z][A-Za-z0-9]{0,9})$")
_DOMAIN = re.compile(r"[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|ai|sh|co|app|edu|gov|me|so)$")
_PLACEHOLDER = re.compile(
    r"(?:^|[/._-])(?:foo|bar|baz|qux|quux|[xX]x+|yyy+|your\w*|placeholder|nnn+|yyyy\w*|path/to|some"
    r"|my(?=[A-Z_-])|namespace(?=\.)|v[NVXY](?=[._/-]|$)|example(?=[._-]|$)|new(?=[A-Z_-]))|YYYY|MM[_-]DD|NNN|[A-Z]{3,}_[A-Z_]+(?=/)"
)
_MADE_BY_TOOLS = frozenset(
    [
        "node_modules",
        "dist",
        "build",
        "out",
        "target",
        "coverage",
        "tmp",
        "temp",
        "bin",
        "obj",
        ".git",
        ".venv",
        "venv",
        "env",
        "vendor",
        "__pycache__",
        "htmlcov",
        "artifacts",
        "logs",
        "log",
        "_build",
        "site-packages",
        ".next",
        ".turbo",
        ".cache",
        ".nx",
        ".tox",
        "playwright-report",
        "test-results",
        "generated",
        "__generated__",
        "storybook-static",
        ".hornbook",
        ".output",
    ]
)
_NO_CLAIM = re.compile(
    r"""
    \b(?:
        # it is yet to be made, or by somebody else
        creat(?:e[sd]?|ing) | add(?:s|ing)? | new | introduc\w+ | generat\w+ | outputs? | emit\w*
      | produc\w+ | writ(?:e|es|ten|ing)\ (?:\w+\ ){0,3}(?:to|in|into)
      | sav(?:e|es|ed|ing)\ (?:\w+\ ){0,3}(?:to|in|as)
      | stor(?:e|es|ed)\ (?:\w+\ ){0,3}(?:in|at|under|as)
      | download\w* | clon(?:e|ed|ing) | cop(?:y|ied|ies) | scaffold\w* | mount\w* | runtime
      | temporary | gitignored? | ignored | container
        # it stands for others
      | e\.g\. | eg\. | i\.e\. | for\ (?:example|instance) | such\ as | examples? | like
      | name[ds]? | naming | template | placeholders? | hypothetical | imagine | suppose
      | convention | suffix | prefix | extension | maps?\ to | becomes? | resolves?\ to
        # it may be there or not
      | if\ (?:it|they|present|there|any|you|the|a|one|needed) | exists? | optional(?:ly)?
      | wh(?:en|ere)\ (?:present|available) | would | may\ (?:use|be|also|have)
        # it is gone, and the text knows
      | deprecated | remov(?:e|ed|al|ing) | delet(?:e|ed|ing) | legacy | no\ longer | formerly
      | previous(?:ly)? | old | renam\w+ | mov(?:e|ed|ing) | migrat\w+ | instead\ of | rather\ than
      | not\ exist | there\ (?:is|are|was|were)\ no | no\ such | missing
      | absent | vs\.? | wrong | bad
        # it is somewhere else, or no path
      | upstream | external | other\ repos? | (?<!this\ )(?<!our\ )(?<!the\ )repo(?:sitory)?'s
      | branch(?:es)? | import(?:s|ed|ing)? | package | module | namespace
    )\b
    | → | -> | => | ❌ | ✗ | ✅ | 例如 | 比如 | 示例 | 新建 | 创建 | 例えば | たとえば | 作成
    | \b(?:por\ ejemplo | par\ exemple | z\.\s?B\. | zum\ Beispiel | per\ esempio)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_ADDRESS = re.compile(r"\b(?:routes?|endpoints?|urls?|served)\b", re.IGNORECASE)
"""What is said of an address: it begins with `/`, or has no ending as a file has."""
_NO_CLAIM_BELOW = re.compile(
    r"\b(?:examples?|templates?|creat\w+|add(?:ing)?|new|naming|scaffold\w*|migrat\w+|legacy"
    r"|deprecated"
    r"|anti-?patterns?|bad|wrong|output|writing|future|planned|proposed|roadmap|todo)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PathClaim:
    """A path that a rule says is there and that is not: as it was written, and cleaned."""

    mention: Mention
    path: str


@dataclass(frozen=True, slots=True)
class PathClaims:
    """The claims of one rule that do not hold, and how many names could not be judged."""

    wrong: tuple[PathClaim, ...]
    unclear: int


def cleaned(text: str) -> str | None:
    """A name in backticks as a path, without what stands behind it; none if it cannot be one."""
    path = text.strip().rstrip(".,;:")
    path = _PLACE_BEHIND.sub("", path)
    if "/" not in path.rstrip("/") or _FOREIGN.search(path):
        return None
    parts = path.strip("/").split("/")
    if not all(_PART.fullmatch(part) for part in parts) or is_host(parts[0]):
        return None
    return path


class Places:
    """Looks a path up in every way in which a rule's author may have meant it."""

    def __init__(self, files: RepositoryFiles) -> None:
        self.files = files

    def finds(self, path: str, folder: str) -> bool:
        """Whether a path is there: from the root, a folder above the rule, or as the end of one."""
        bare = path.rstrip("/")
        near = posixpath.normpath(posixpath.join(folder, bare)) if bare else ""
        if self.files.has(near) or near.startswith(".."):
            return True
        inner = re.sub(r"^(?:\.{1,2}/)+|^/", "", bare)
        return self._anywhere(inner)

    def _anywhere(self, path: str) -> bool:
        if self.files.has(path) or self.files.ending_with(path):
            return True
        if self.files.without_ending(path) or self.files.ending_with(f"{path}/__init__.py"):
            return True
        # `a/module.member` names what a file holds, `a/file.js` may be written for `a/file.ts`.
        stem = re.sub(r"\.(?:(?:m|c)?jsx?|[a-z]\w*_\w*)$", "", path, flags=re.IGNORECASE)
        return stem != path and bool(self.files.without_ending(stem))

    def anchor(self, path: str, folder: str) -> int:
        """How many of the folders that a path begins with are there, from the root or nearby."""
        parts = re.sub(r"^(?:\.{1,2}/)+|^/", "", path.rstrip("/")).split("/")[:-1]
        starts = ["", *folders_above(folder)]
        best = 0
        for start in starts:
            place, count = start, 0
            for part in parts:
                place = f"{place}/{part}" if place else part
                if place not in self.files.folders:
                    break
                count += 1
            best = max(best, count)
        if best == 0 and len(parts) >= 2 and self.files.ending_with("/".join(parts[:2])):
            return 2
        return best

    def possible(self, path: str, folder: str) -> set[str]:
        """Where a path would lie if it were there: from the root, nearby, or in a package."""
        inner = re.sub(r"^(?:\.{1,2}/)+|^/", "", path)
        found = {inner, *(f"{each}/{inner}" for each in folders_above(folder))}
        parts = inner.rstrip("/").split("/")[:-1]
        for count in range(len(parts), 0, -1):
            begun = self.files.ending_with("/".join(parts[:count]))
            if begun:
                rest = inner.split("/", count)[count]
                return found | {f"{each}/{rest}" for each in begun[:_MOST_PACKAGES]}
        return found


def folders_above(folder: str) -> Iterator[str]:
    """A folder and those above it, without the root."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]


def wrong_claims(
    spans: tuple[Mention, ...], folder: str, places: Places, endings: frozenset[str]
) -> PathClaims:
    """The paths that a rule names, that are not there, and that nothing excuses."""
    wrong: list[PathClaim] = []
    unclear = 0
    for mention in spans:
        path = cleaned(mention.text)
        if path is None or places.finds(path, folder):
            continue
        if _may_be_meant(path, places.anchor(path, folder), endings) and not excused(mention):
            wrong.append(PathClaim(mention, re.sub(r"^(?:\./)+|^/", "", path)))
        elif _ENDING.search(path) or path.endswith("/"):
            unclear += 1
    return PathClaims(tuple(wrong), unclear)


def _may_be_meant(path: str, anchor: int, endings: frozenset[str]) -> bool:
    parts = path.strip("/").split("/")
    if not _MADE_BY_TOOLS.isdisjoint(parts) or is_placeholder(path) or anchor == 0:
        return False
    if path.startswith("/") and anchor < 2:
        return False
    ending = _ENDING.search(parts[-1])
    if ending:
        return ending[1].lower() in endings and not _is_personal(parts)
    return path.endswith("/") or anchor >= 2


def _is_personal(parts: list[str]) -> bool:
    """Whether a file is one that a tool reads where somebody has it: settings, a `.env`."""
    name = parts[-1]
    in_tool_folder = parts[0].startswith(".") and parts[0] != ".github"
    return (
        name.startswith(".env")
        or ".local." in name
        or (in_tool_folder and name.endswith((".json", ".jsonc", ".toml", ".yaml", ".yml")))
    )


def is_placeholder(path: str) -> bool:
    """Whether a path stands for others, as `path/to/file` does."""
    return _PLACEHOLDER.search(path) is not None


def is_host(name: str) -> bool:
    """Whether the first part of a path looks like the name of a host."""
    return _DOMAIN.fullmatch(name) is not None


def excused(mention: Mention) -> bool:
    """Whether the words around a name say that it need not be there."""
    around = mention.around.replace(mention.text, " ")
    said = (around, mention.lead)
    if any(map(_NO_CLAIM.search, said)) or _NO_CLAIM_BELOW.search(mention.heading):
        return True
    like_address = mention.text.startswith("/") or not _ENDING.search(mention.text)
    return like_address and any(map(_ADDRESS.search, said))
