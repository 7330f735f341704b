"""What kind of file a changed one is: code, prose, data, settings, or settings that are run.

Settings beside code need no look of their own, as a rule. But what they say may be run: a script of
`package.json`, a step of a workflow, the command of a container. Such lines are code, wherever they
stand; a version that is bumped is none.
"""

import re
from collections.abc import Sequence


def words_of(text: str) -> frozenset[str]:
    """The words of a text as a set: a long list is easier to read so."""
    return frozenset(text.split())


PROSE = frozenset(["adoc", "md", "mdc", "mdx", "pdf", "rst", "txt", "LICENSE"])
"""Kinds of files that hold prose."""
_PICTURES = words_of("bin gif ico jpeg jpg png webp")
SETTINGS = words_of("cfg conf ini json toml xml yaml yml")
NO_CODE = PROSE | _PICTURES | SETTINGS | frozenset(["csv", "lock", "svg", "tsv"])
"""Kinds of files that hold prose, data or pictures, and no code."""

# Files that are run from the first line to the last.
_RUN = re.compile(
    r"(?:^|/)(?:\.github/(?:workflows|actions)/.*|\.circleci/.*|action\.ya?ml|"
    r"\.(?:gitlab-ci|travis|drone|pre-commit-config|pre-commit-hooks)\.ya?ml|"
    r"(?:azure-pipelines|bitbucket-pipelines|cloudbuild|buildspec|appveyor|lefthook|Taskfile|"
    r"(?:docker-)?compose)(?:[.-][\w.-]+)?\.ya?ml|CMakeLists\.txt|devcontainer\.json|"
    r"\.vscode/(?:tasks|launch)\.json|(?:playbooks|roles|chart|charts|helm)/.*\.ya?ml)$"
)
# Settings of what judges code: what is switched off there is never found.
_JUDGES = re.compile(
    r"(?:^|/)(?:\.eslintrc(?:\.\w+)?|\.?(?:ruff|pylintrc|rubocop|golangci|stylelintrc|flake8|"
    r"coveragerc|codecov|semgrep|bandit|mypy|pytest|jest\.config|sonar-project)"
    r"(?:\.(?:toml|json|ya?ml|ini|cfg|properties))?|tsconfig[\w.-]*\.json)$"
)
_LOCKS = re.compile(
    r"(?:^|/)(?:poetry|Cargo|yarn|Gemfile|composer|uv|Pipfile|flake|bun|deno|mix|pdm|pixi|Podfile|"
    r"pubspec|packages|paket|Chart|Brewfile|conda|buf|pnpm|rebar|shard|Berksfile|terraform|"
    r"\.terraform)(?:[.-][\w-]+)?\.lock$"
)
# Files that name what is built, installed and run, beside versions and descriptions.
_MANIFEST = re.compile(
    r"(?:^|/)(?:package\.json|composer\.json|deno\.jsonc?|pyproject\.toml|setup\.cfg|tox\.ini|"
    r"Cargo\.toml|pom\.xml|[\w.-]+\.(?:cs|fs|vb)proj|requirements[\w.-]*\.txt|\.npmrc|pip\.conf|"
    r"netlify\.toml|vercel\.json|Pipfile)$"
)
# Lines of such files that run nothing, without blanks around them and with single ones within.
_NUMBER = r"[\^~<>=!]{0,3} ?v?\d[\w.+*-]*"
_NUMBERS = rf"{_NUMBER}(?:(?: - | ?\|\| ?|, ?| ){_NUMBER})*"
_VERSION = rf"[\"']?(?:{_NUMBERS}|\*|latest|workspace:[\w.^~*-]*)[\"']?"
_KEY = r"[\"']?[\w@/.-]+[\"']?"
_BUMP = re.compile(
    rf"(?:{_KEY} ?[:=] ?{_VERSION},?|"
    rf"{_KEY} ?= ?\{{ ?version ?= ?{_VERSION}"
    r"(?:, ?(?:features ?= ?\[[\w\"', -]*\]|(?:optional|default-features) ?= ?\w+))* ?\},?|"
    rf"[\"']?[\w.-]+(?:\[[\w, -]+\])? ?(?:{_NUMBERS})?(?: ?;[\w .<>=!]*)?[\"']?,?(?: ?#.*)?)",
    re.IGNORECASE,
)
_SCALAR = r"(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\"'{}\[\]]*)"
_WORDS = r"\[ ?(?:(?:\"[^\"\\]*\"|'[^']*')(?: ?, ?|(?= ?\])))* ?\]"
_REQUIREMENTS = r"\[ ?(?:(?:\"[^\"\\@/:|]*\"|'[^'@/:|]*')(?: ?, ?|(?= ?\])))* ?\]"
_HARMLESS = re.compile(
    r"(?:[\[\]{}(), ]*|\[[\w.\"'-]+\]|[#;].*|<!--(?:(?!-->).)*(?:-->)?|"
    r"[\"']?(?:name|description|license|authors?|keywords|homepage|repository|bugs|readme|"
    r"classifiers|private|funding|maintainers|urls?|edition|rust-version|requires-python|engines|"
    rf"files|line-length|target-version)[\"']? ?[:=] ?(?:{_SCALAR}|[\[{{]|{_WORDS}),?|"
    r"[\"']?(?:dependencies|devDependencies|peerDependencies|optionalDependencies)[\"']? ?[:=] ?"
    rf"(?:[\[{{]|\{{ ?\}}|{_REQUIREMENTS})?,?|"
    r"</?(?:dependenc(?:y|ies)|groupId|artifactId|version|scope|optional|type|name|description)"
    r"(?: [^<>]*)?>(?:[^<>]*</\w+>)?|"
    r"<PackageReference\b[^<>]*>)",
    re.IGNORECASE,
)
_COMMAND = re.compile(
    r"(?:^|[\s\"'{,-])(?:commands?|cmd|run|scripts?|exec\w*|entrypoint|shell|args|local-exec|"
    r"\w+Command)[\"']?\s*[:=]|hooks?[\"']?\s*[:=]|\b(?:curl|wget)\s+\S|\b(?:ba|z)?sh\s+-c\b|"
    r"\|\s*(?:sudo\s+)?(?:ba|z)?sh\b",
    re.IGNORECASE,
)
_ACTIVE = re.compile(r"<script\b|javascript:|\bon[a-z]+\s*=|<foreignObject\b", re.IGNORECASE)
_FIXTURES = re.compile(r"(?:^|/)(?:tests?|__tests__|specs?|fixtures?|testdata|__snapshots__)/")


def kind_of(path: str) -> str:
    """The end of a file's name that tells what it holds; else the name."""
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name else name


def is_code(path: str, added: Sequence[str]) -> bool:
    """Whether a file that has these lines more is to be looked at like code.

    A picture whose lines can be read is none.
    """
    kind = kind_of(path)
    if kind not in NO_CODE or kind in _PICTURES or _RUN.search(path) or _JUDGES.search(path):
        return True
    if is_script(added) or (kind == "lock" and not _LOCKS.search(path)):
        return True
    if _MANIFEST.search(path):
        return any(map(_is_run, added))
    if kind == "svg":
        return any(map(_ACTIVE.search, added))
    return kind in SETTINGS and not _FIXTURES.search(path) and any(map(_COMMAND.search, added))


def is_script(lines: Sequence[str]) -> bool:
    """Whether what begins so is run, whatever it is called."""
    return bool(lines) and lines[0].startswith("#!")


def is_lock(path: str) -> bool:
    """Whether a file that ends in `.lock` is one that a tool writes, by its name."""
    return _LOCKS.search(path) is not None


def _is_run(line: str) -> bool:
    """Whether a line of a manifest may say what is run or installed, beside a plain version."""
    said = " ".join(line.split())
    if _BUMP.fullmatch(said):
        return False
    return _COMMAND.search(said) is not None or _HARMLESS.fullmatch(said) is None
