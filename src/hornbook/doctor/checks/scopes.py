"""Scopes held against the files: patterns that match nothing, and folders that no rule binds."""

import re
from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches

from hornbook.doctor.finding import Finding
from hornbook.doctor.repository_files import RepositoryFiles
from hornbook.doctor.rule_set import Rule, RuleSet
from hornbook.rules.binding import globs_of
from hornbook.rules.document import Pattern
from hornbook.text.globs import parse
from hornbook.vocabulary.terms import Activation

_WILD = re.compile(r"[*?\[{]")
_FEWEST_FILES = 5
_MOST_FOLDERS = 10


def no_rules(rules: RuleSet) -> Iterator[Finding]:
    """That nothing binds any file, where that is so: there is nothing that could be wrong."""
    if rules.book.enforced:
        return
    known = len(rules.rules)
    held = f"{known} known, of which none says which files it is for" if known else "there is none"
    message = f"No rule binds a file here: {held}."
    remedy = "Write an AGENTS.md, or a rule in .hornbook/sources/docs/sops."
    yield Finding("no_rules", ".", None, None, message, remedy)


def dead_scopes(rules: RuleSet, files: RepositoryFiles) -> list[Finding]:
    """The patterns that match no file.

    A pattern without a folder (`*.jsx`), or one that differs only by its ending (`a/**/*.yaml`
    beside `a/**/*.yml`), is part of a list of endings, written for files to come: beside others
    that match it is not told.
    """
    dead: list[tuple[Rule, Pattern]] = []
    dead_by_exclusion: list[Finding] = []
    for rule in rules.texts:
        patterns = [p for p in rule.document.patterns if not p.glob.startswith("!")]
        if rule.document.activation is not Activation.GLOB:
            continue
        excluded = _excludes_all(rule, files)
        if excluded is not None:
            dead_by_exclusion.append(excluded)
            continue
        lost = [pattern for pattern in patterns if not _matches(pattern, files)]
        alive = {_without_ending(each.glob) for each in patterns if each not in lost}
        dead += [
            (rule, pattern)
            for pattern in lost
            if not alive or (_folder(pattern.glob) and _without_ending(pattern.glob) not in alive)
        ]
    ignored = files.ignored({_sample(pattern.glob) for _, pattern in dead})
    told = [_dead(r, p, files) for r, p in dead if _sample(p.glob) not in ignored]
    return [*told, *dead_by_exclusion]


def _excludes_all(rule: Rule, files: RepositoryFiles) -> Finding | None:
    """That a rule excludes every file that it names, where that is so."""
    patterns = rule.document.patterns
    exclusions = [each for each in patterns if each.glob.startswith("!")]
    if not exclusions or not any(_matches(p, files) for p in patterns if p not in exclusions):
        return None
    globs = globs_of(rule.entry)
    if any(globs.match(path) is not None for path in files.files):
        return None
    message = f"`{exclusions[0].raw}` excludes every file that the rule names, so it binds none."
    remedy = "Narrow the exclusion, or delete the rule."
    return Finding("dead_scope", rule.path, exclusions[0].line, rule.id, message, remedy)


def _matches(pattern: Pattern, files: RepositoryFiles) -> bool:
    """Whether a pattern fits a file, or a submodule: what lies in that is not known."""
    glob = parse(pattern.glob)
    if any(glob.matches(path) for path in files.files):
        return True
    inside = f"{_folder(pattern.glob)}/".startswith(files.submodules)
    return inside or any(glob.matches(path.rstrip("/")) for path in files.submodules)


def _without_ending(glob: str) -> str:
    return re.sub(r"\.(?:\{[^{}/]*\}|\w+)$", "", glob)


def _folder(glob: str) -> str:
    """The folders that a pattern names before its first wildcard."""
    named: list[str] = []
    for part in glob.strip("/").split("/")[:-1]:
        if part == "**" and not named:
            continue
        if _WILD.search(part):
            break
        named.append(part)
    return "/".join(named)


def _sample(glob: str) -> str:
    """A path that the pattern would match, to ask git whether it would be ignored."""
    plain = re.sub(r"\{([^{},]*)[^{}]*\}", r"\1", glob.lstrip("/"))
    return re.sub(r"\*+", "x", re.sub(r"\[[^\]]*\]|\?", "x", plain)).rstrip("/")


def _dead(rule: Rule, pattern: Pattern, files: RepositoryFiles) -> Finding:
    near = nearest_pattern(pattern, files)
    remedy = f"Write `{near}`, which matches files here, or" if near else "Correct it, or"
    message = f"The pattern `{pattern.raw}` matches no file here, so the rule does not bind by it."
    remedy = f"{remedy} delete the pattern."
    return Finding("dead_scope", rule.path, pattern.line, rule.id, message, remedy)


def nearest_pattern(pattern: Pattern, files: RepositoryFiles) -> str | None:
    """The pattern closest to a dead one that would match something in its place."""
    base = _base(pattern)
    inside = [path.removeprefix(base) for path in files.files if path.startswith(base)]
    folders = sorted(each.removeprefix(base) for each in files.folders if each.startswith(base))
    for candidate in _variants(pattern.raw, base, folders):
        glob = parse(candidate)
        if any(glob.matches(path) for path in inside):
            return candidate
    return None


def _base(pattern: Pattern) -> str:
    """The folder from which a pattern is read, with its slash: that of the tool's own folder."""
    bare = pattern.raw.removeprefix("./").lstrip("/")
    glob = pattern.glob.lstrip("/")
    above = glob.removesuffix(bare).removesuffix("**/") if glob.endswith(bare) else ""
    return above if above.endswith("/") and not _WILD.search(above) else ""


def _variants(raw: str, base: str, folders: list[str]) -> Iterator[str]:
    bare = raw.lstrip("/").removeprefix("./")
    if base and bare.startswith(base):
        yield bare.removeprefix(base)
    folder = _folder(bare)
    rest = bare[len(folder) :].lstrip("/") if bare.startswith(folder) else bare
    if folder:
        close = get_close_matches(folder, folders, 1, 0.8)
        yield from (f"{each}/{rest}" for each in close)
        parts = folder.split("/")
        for start in range(1, len(parts)):
            yield "/".join([*parts[start:], rest])
    if not bare.startswith("**/"):
        yield f"**/{bare}"
    for old, new in (
        (".js", ".ts"),
        (".jsx", ".tsx"),
        (".ts", ".js"),
        (".yml", ".yaml"),
        (".yaml", ".yml"),
        (".md", ".mdx"),
    ):
        if bare.endswith(old):
            yield bare.removesuffix(old) + new


def uncovered(rules: RuleSet, files: RepositoryFiles) -> list[Finding]:
    """The folders at the top, or one below, whose files no rule binds; none if one binds all."""
    if any(rules.book.everywhere(rule) for rule in rules.book.enforced):
        return []
    sources = {rule.path for rule in rules.rules}
    bound: Counter[str] = Counter()
    every: Counter[str] = Counter()
    for path in files.files:
        if path in sources or "/" not in path or path.startswith("."):
            continue
        places = _places(path)
        every.update(places)
        if rules.book.bind(path):
            bound.update(places)
    bare = [each for each in every if not bound[each] and every[each] >= _FEWEST_FILES]
    outermost = sorted(each for each in bare if each.rpartition("/")[0] not in bare)
    return [_uncovered(each, every[each]) for each in outermost[:_MOST_FOLDERS]]


def _places(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[:depth]) for depth in range(1, min(len(parts), 2) + 1)]


def _uncovered(folder: str, count: int) -> Finding:
    message = f"No rule binds any of the {count} files below {folder}/."
    remedy = "Widen a rule if one is meant for them; else none is needed."
    return Finding("uncovered", folder, None, None, message, remedy)
