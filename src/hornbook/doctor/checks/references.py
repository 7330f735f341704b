"""References that lead nowhere: paths, documents, rules and commands that a rule names."""

import posixpath
import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cached_property
from urllib.parse import unquote

from hornbook.doctor.command_claims import CommandClaim, scripts_run, wrong_commands
from hornbook.doctor.finding import Edit, Finding, NotJudged
from hornbook.doctor.manifests import Manifests
from hornbook.doctor.mentions import Mention, Mentions, mentions
from hornbook.doctor.path_claims import (
    Places,
    excused,
    folders_above,
    is_host,
    is_placeholder,
    wrong_claims,
)
from hornbook.doctor.repository_files import RepositoryFiles
from hornbook.doctor.rule_set import Rule, RuleSet
from hornbook.rules.discover import is_text
from hornbook.rules.document_reader import is_rule_file

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_RULE_NAME = re.compile(r"@?(?:\.{1,2}/)*((?:[\w.-]+/)*[\w.-]+\.mdc)")
_RULE_ID = re.compile(r"source\.doc\.[a-z0-9-]+\.[a-z0-9][a-z0-9.-]*[a-z0-9]")
_OF_EXAMPLES = re.compile(r"(?:^|[_.-])(?:examples?|templates?)(?=[_.-])", re.IGNORECASE)
"""The name of a file whose paths are made up."""
_LINE_BEHIND = re.compile(r":\d+(?:[-:,]\d+)*$")
_NO_TARGET = re.compile(r"[<>{}*$|…]|\.\.\.|^(?:url|link|path|href|file)$", re.IGNORECASE)


class References:
    """Holds what rules name against what the repository has."""

    def __init__(self, rules: RuleSet, files: RepositoryFiles) -> None:
        self._rules = rules
        self._files = files
        self._places = Places(files)
        self._manifests = Manifests(files)
        self._ids = frozenset(rule.id for rule in rules.rules)
        self._endings = frozenset(p.rpartition(".")[2].lower() for p in files.files if "." in p)
        self._unclear = 0

    @cached_property
    def mentions(self) -> dict[str, Mentions]:
        """What each rule mentions, by its id."""
        return {r.id: mentions(r.document.body, r.body_line) for r in self._rules.texts}

    def findings(self) -> list[Finding]:
        """Everything that is named and not there; what git ignores is made by somebody."""
        found: list[tuple[set[str], Finding]] = []
        for rule in self._rules.texts:
            named = self.mentions[rule.id]
            found += self._paths(rule, named)
            found += self._documents(rule, named)
            found += [(set(), each) for each in self._missing_rules(rule, named)]
            found += [(set(), each) for each in self._commands(rule, named)]
        ignored = self._files.ignored({path for paths, _ in found for path in paths})
        return [finding for paths, finding in found if paths.isdisjoint(ignored)]

    def not_judged(self) -> Iterator[NotJudged]:
        """How many names may be paths or not."""
        if self._unclear:
            reason = (
                f"{self._unclear} names that look like paths are not here, but the words around "
                "them, or a beginning that is not here either, say that they need not be."
            )
            yield NotJudged("missing_path", reason)
        if self._manifests.has_makefile and self._manifests.make_targets is None:
            reason = "A makefile computes its targets or includes, so `make` was not judged."
            yield NotJudged("missing_command", reason)

    def _paths(self, rule: Rule, named: Mentions) -> Iterator[tuple[set[str], Finding]]:
        named_paths = (*named.spans, *scripts_run(named.commands))
        if _OF_EXAMPLES.search(rule.path.rpartition("/")[2]):
            self._unclear += len(named_paths)
            return
        claims = wrong_claims(named_paths, rule.folder, self._places, self._endings)
        self._unclear += claims.unclear
        lists_formats = self._lists_formats(named)
        for claim in claims.wrong:
            path = claim.path.rstrip("/")
            if path.endswith(".mdc"):
                continue
            code = "missing_rule" if is_rule_file(path) else "missing_path"
            if code == "missing_rule" and lists_formats:
                self._unclear += 1
                continue
            message = f"`{claim.mention.text}` is named, but there is no such path here."
            places = self._places.possible(claim.path, rule.folder)
            yield places, self._about(rule, claim.mention, code, message, path)

    def _lists_formats(self, named: Mentions) -> bool:
        """Whether a text names rule files of many tools, as those that some tool would read."""
        names = {each.text.strip() for each in named.spans}
        return sum(is_rule_file(each) and not self._files.has(each) for each in names) >= 3

    def _about(self, rule: Rule, mention: Mention, code: str, message: str, path: str) -> Finding:
        """A finding with the path that was most likely meant."""
        other_case = self._files.in_other_case(path)
        near = other_case or self._files.nearest(path)
        remedy = f"Write `{near}` if that is meant; else" if near else "Correct the path, or"
        edit = Edit(mention.line, path, other_case) if other_case else None
        remedy = f"{remedy} take it out of the rule."
        return Finding(code, rule.path, mention.line, rule.id, message, remedy, edit)

    def _documents(self, rule: Rule, named: Mentions) -> Iterator[tuple[set[str], Finding]]:
        for link in named.links:
            target = self._target(link)
            if target is None or self._is_there(target, rule):
                continue
            path = posixpath.normpath(posixpath.join(rule.folder, target)).lstrip("/")
            if path.startswith("..") or is_placeholder(path):
                continue
            # Roo reads every file of its folder: only a text is missed as a rule.
            is_rule = is_rule_file(path) and is_text(path, path.rpartition("/")[2])
            code = "missing_rule" if is_rule else "missing_document"
            message = f"The link to `{target}` leads to nothing here."
            places = {path, *self._from_above(target, rule)}
            if is_host(target.partition("/")[0]):
                remedy = f"Write `https://{target}` if that is meant; else take it out of the rule."
                yield places, Finding(code, rule.path, link.line, rule.id, message, remedy)
                continue
            found = self._about(rule, link, code, message, path)
            yield places, self._with_a_safe_edit(found, link, target, rule)

    def _target(self, link: Mention) -> str | None:
        text = link.text.removeprefix("mdc:")
        if _SCHEME.match(text) or text.startswith(("#", "//", "@", "~")) or excused(link):
            return None
        target = _LINE_BEHIND.sub("", unquote(re.split(r"[#?]", text)[0]))
        if not target or _NO_TARGET.search(target) or not ("/" in target or "." in target):
            return None
        return target

    def _is_there(self, target: str, rule: Rule) -> bool:
        """Whether a link leads somewhere: from its file, or from the root or a folder between."""
        near = posixpath.normpath(posixpath.join(rule.folder, target.strip("/")))
        # What lies outside of the repository is not ours to judge.
        return near.startswith("..") or any(map(self._has, (near, *self._from_above(target, rule))))

    def _from_above(self, target: str, rule: Rule) -> list[str]:
        """Where a link leads if it is written from the root or a folder above its rule."""
        folders = (*folders_above(rule.folder), "")
        paths = (posixpath.normpath(posixpath.join(each, target.strip("/"))) for each in folders)
        return [path for path in paths if not path.startswith("..")]

    def _has(self, path: str) -> bool:
        return path == "." or self._files.has(path) or self._files.has(f"{path}.md")

    def _with_a_safe_edit(
        self, finding: Finding, link: Mention, target: str, rule: Rule
    ) -> Finding:
        """With the edit that corrects a link, where only one file can be meant."""
        path = posixpath.normpath(posixpath.join(rule.folder, target)).lstrip("/")
        other_case = self._files.in_other_case(path)
        bare = re.sub(r"^(?:\.{1,2}/)+|^/", "", target)
        ends = self._files.ending_with(bare) if "/" in bare else []
        meant = other_case or (ends[0] if len(ends) == 1 else None)
        if meant is None or link.text.startswith("mdc:"):
            return Finding(
                finding.code,
                finding.path,
                finding.line,
                finding.rule,
                finding.message,
                finding.remedy,
            )
        new = posixpath.relpath(meant, rule.folder or ".")
        remedy = f"Link `{new}`, which is the only file that can be meant."
        edit = Edit(link.line, f"]({target}", f"]({new}")
        return Finding(
            finding.code, finding.path, finding.line, finding.rule, finding.message, remedy, edit
        )

    def _missing_rules(self, rule: Rule, named: Mentions) -> Iterator[Finding]:
        for mention in named.spans:
            name = _RULE_NAME.fullmatch(mention.text.strip())
            lost = (
                name is not None
                and not self._files.ending_with(name[1])
                and not is_placeholder(name[1])
            )
            if lost and not excused(mention):
                yield self._lost_rule(rule, mention.line, mention.text)
        for line in named.prose:
            for rule_id in _RULE_ID.findall(line.text):
                if not any(rule_id == each or rule_id.startswith(f"{each}.") for each in self._ids):
                    yield self._lost_rule(rule, line.line, rule_id)

    def _lost_rule(self, rule: Rule, line: int, name: str) -> Finding:
        known = [*self._ids, *(r.path.rpartition("/")[2] for r in self._rules.texts)]
        near = get_close_matches(name, known, 1)
        remedy = f"Write `{near[0]}` if that is meant; else" if near else "Correct the name, or"
        message = f"`{name}` is named, but there is no such rule."
        return Finding("missing_rule", rule.path, line, rule.id, message, f"{remedy} take it out.")

    def _commands(self, rule: Rule, named: Mentions) -> Iterator[Finding]:
        for claim in wrong_commands(named.commands, rule.folder, self._manifests):
            yield _missing_command(rule, claim)


def _missing_command(rule: Rule, claim: CommandClaim) -> Finding:
    near = get_close_matches(claim.name, sorted(claim.known), 1, 0.6)
    remedy = f"Write `{near[0]}` if that is meant; else" if near else "Define it, or"
    lacks = (
        f"{claim.where} defines"
        if claim.where.startswith("no ")
        else f"{claim.where} does not define"
    )
    message = f"`{claim.shown}` is named, but {lacks} `{claim.name}`."
    return Finding(
        "missing_command",
        rule.path,
        claim.line,
        rule.id,
        message,
        f"{remedy} take it out of the rule.",
    )
