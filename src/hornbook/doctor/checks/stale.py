"""Names that have left the file that a rule cites for them, since the rule was last edited."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from hornbook.commits import git
from hornbook.commits.history import MOST_COMMITS, last_edits
from hornbook.doctor.finding import Finding, NotJudged
from hornbook.doctor.mentions import Mention, Mentions
from hornbook.doctor.path_claims import cleaned
from hornbook.doctor.repository_files import RepositoryFiles
from hornbook.doctor.rule_set import Rule, RuleSet

_IDENTIFIER = re.compile(r"(?:[A-Za-z_]\w*(?:\.|::|#))*([A-Za-z_]\w{3,})(?:\(\))?")
_LARGEST = 1_000_000


@dataclass(frozen=True, slots=True)
class Lost:
    """A name beside a cited file that does not hold it now."""

    rule: Rule
    line: int
    name: str
    file: str


def stale(
    rules: RuleSet, named: dict[str, Mentions], files: RepositoryFiles
) -> Iterator[Finding | NotJudged]:
    """The names that stood in the cited file when the rule was last edited, and no longer do.

    Git is asked only about rules beside whose files a name is missing now.
    """
    lost = [each for rule in rules.texts for each in _lost(rule, named[rule.id], files)]
    if not lost:
        return
    edits = last_edits(files.root, {each.rule.path for each in lost})
    yield from (_finding(each) for each in lost if _stood_there(each, edits, files))
    older = {each.rule.path for each in lost} - edits.keys()
    if older:
        reason = (
            f"{len(older)} of the rules were not edited in the last {MOST_COMMITS} commits, "
            "or are not committed."
        )
        yield NotJudged("stale", reason)


def _lost(rule: Rule, named: Mentions, files: RepositoryFiles) -> Iterator[Lost]:
    by_line: dict[int, list[Mention]] = {}
    for mention in named.spans:
        by_line.setdefault(mention.line, []).append(mention)
    for line, spans in by_line.items():
        cited = [path for span in spans if (path := _cited(span.text, rule, files))]
        if len(cited) != 1:
            continue
        text = _text(files, cited[0])
        for span in spans:
            name = _IDENTIFIER.fullmatch(span.text.strip())
            if name and _is_telling(name[1]) and name[1] not in text:
                yield Lost(rule, line, name[1], cited[0])


def _cited(text: str, rule: Rule, files: RepositoryFiles) -> str | None:
    path = cleaned(text)
    if path is None:
        return None
    path = re.sub(r"^(?:\.{1,2}/)+|^/", "", path)
    near = f"{rule.folder}/{path}"
    if near in files.files:
        return near
    found = [path] if path in files.files else files.ending_with(path)
    return found[0] if len(found) == 1 and found[0] in files.files else None


def _is_telling(name: str) -> bool:
    """Whether a word is a name in code rather than a word: it has an underscore or two cases."""
    return "_" in name.strip("_") or (
        not name.islower() and not name.isupper() and not name.istitle()
    )


def _text(files: RepositoryFiles, path: str) -> str:
    place = files.root / path
    try:
        if place.stat().st_size > _LARGEST:
            return ""
        return place.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _stood_there(lost: Lost, edits: dict[str, str], files: RepositoryFiles) -> bool:
    sha = edits.get(lost.rule.path)
    return sha is not None and lost.name in _at(str(files.root), files, sha, lost.file)


@lru_cache(maxsize=128)
def _at(_root: str, files: RepositoryFiles, sha: str, path: str) -> str:
    answer = git.run(files.root, "cat-file", "blob", f"{sha}:./{path}")
    return answer.stdout.decode("utf-8", "replace") if answer.returncode == 0 else ""


def _finding(lost: Lost) -> Finding:
    message = (
        f"`{lost.name}` stood in {lost.file} when the rule was last edited and does no longer."
    )
    remedy = "Read the file and bring the rule up to date."
    return Finding("stale", lost.rule.path, lost.line, lost.rule.id, message, remedy)
