"""What reading the rules showed: problems of ingestion as findings of an examination."""

import re
from collections.abc import Iterator
from dataclasses import replace

from hornbook.doctor.finding import Edit, Finding, NotJudged
from hornbook.doctor.rule_set import RuleSet
from hornbook.rules.document import Document, Problem
from hornbook.vocabulary.terms import ENFORCED, Level

# Metadata that were meant to say which files a rule is for, or when, and do not.
_IGNORED = frozenset({"unknown_key", "not_a_key", "bad_value", "pattern_not_used", "copilot_list"})
_AS_THEY_ARE = frozenset({"broken_link", "broken_include"})
_WINDOWS = re.compile(r"Pattern `([^`]+)` has a `\\` between names")
_WRITTEN_ANEW = frozenset({"frontmatter_late", "not_utf8"})
"""Problems that are gone when the file is UTF-8 and begins with its first text."""


def read_problems(rules: RuleSet) -> Iterator[Finding]:
    """The rules that cannot be read or bound as they were meant."""
    for problem in rules.problems:
        if problem.level is Level.ERROR:
            yield _finding(problem, None)
    for rule in rules.rules:
        for problem in rule.document.problems:
            if problem.level is Level.ERROR:
                yield _finding(problem, rule.id)
            elif problem.level is Level.WARNING and problem.code in _IGNORED:
                yield replace(_finding(problem, rule.id), code="ignored_key")
        if rule.document.activation in ENFORCED and _says_nothing(rule.document):
            message = "The rule binds files and says nothing."
            remedy = "Write what it demands, or delete the file."
            yield Finding("empty_rule", rule.path, None, rule.id, message, remedy)


def not_written(rules: RuleSet) -> list[NotJudged]:
    """The rule files that a sparse checkout leaves out: what they say is not known."""
    found = [
        next((each.path for each in rule.document.includes if each.unread), rule.path)
        for rule in rules.rules
        if any(problem.code == "not_written" for problem in rule.document.problems)
    ]
    if not found:
        return []
    files = "rule file" if len(found) == 1 else "rule files"
    said = f"This sparse checkout leaves out {len(found)} {files}, as {found[0]}."
    return [NotJudged("unreadable_rule", said)]


def _says_nothing(document: Document) -> bool:
    return not document.includes and not any(each.content.strip() for each in document.chunks)


def _finding(problem: Problem, rule: str | None) -> Finding:
    code = problem.code if problem.code in _AS_THEY_ARE else "unreadable_rule"
    code = "bad_pattern" if problem.code == "bad_glob" else code
    message, remedy = _parts(problem)
    edit = _edit(problem)
    return Finding(code, problem.path, problem.line, rule, message, remedy, edit)


def _parts(problem: Problem) -> tuple[str, str]:
    """What is wrong, and the remedy: behind the last colon, of links in the last sentence."""
    text, end = problem.message, ". " if problem.code in _AS_THEY_ARE else ": "
    places = [each.start() for each in re.finditer(re.escape(end), text)]
    places = [each for each in places if text.count("`", 0, each) % 2 == 0]  # none in code
    if not places:
        return text, "See docs/problems.md."
    said, remedy = f"{text[: places[-1]]}.", text[places[-1] + 2 :]
    starts_with_a_word = re.match(r"[a-z]+[ ,]", remedy) is not None
    return said, remedy[:1].upper() + remedy[1:] if starts_with_a_word else remedy


def _edit(problem: Problem) -> Edit | None:
    if problem.code in _WRITTEN_ANEW:
        return Edit(None)
    windows = _WINDOWS.match(problem.message)
    if windows and problem.line is not None:
        return Edit(problem.line, windows[1], windows[1].replace("\\", "/"))
    return None
